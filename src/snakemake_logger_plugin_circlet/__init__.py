"""Logger plugin of Snakemake, ``--logger circlet``: the display of a study in place of its jobs.

The profiles choose it. Messages of other workflows, and all messages with ``--verbose`` or
``--printshellcmds``, are printed with Snakemake's own filter and format.
"""

import logging
import os
import sys
from typing import Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

# Events that a display of the study replaces.
OF_JOBS = {
    LogEvent.RUN_INFO, LogEvent.RESOURCES_INFO, LogEvent.JOB_INFO, LogEvent.JOB_STARTED,
    LogEvent.JOB_FINISHED, LogEvent.GROUP_INFO, LogEvent.PROGRESS,
}  # fmt: skip
COLOURS = {logging.WARNING: "\x1b[33m{}\x1b[0m", logging.ERROR: "\x1b[31m{}\x1b[0m"}


class LogHandler(LogHandlerBase):
    """Prints Snakemake's messages, with its own filter and format, and begins the display."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = False
    has_formatter = False
    needs_rulegraph = False

    def __post_init__(self) -> None:
        shown = self.common_settings
        quiet = {str(getattr(kind, "name", kind)).lower() for kind in shown.quiet or ()}
        self.is_usual = not (
            shown.dryrun or shown.verbose or shown.printshellcmds or quiet & {"progress", "all"}
        )
        self.stream = "stdout" if shown.stdout else "stderr"
        self.is_coloured = getattr(sys, self.stream).isatty() and not shown.nocolor
        self.jobs: dict[str, int] = {}  # number of jobs of each rule
        self.display: Any = None
        if self.is_usual:
            os.environ["CIRCLET_DISPLAYED"] = "1"  # so that jobs do not write over it

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message, unless the display replaces it."""
        try:
            if not self._is_displayed(record) and (text := self.format(record)):
                if self.is_coloured:
                    text = COLOURS.get(record.levelno, "{}").replace("{}", text)
                # In one piece, as the display writes, too; it is printed above the display.
                print(f"{text}\n", end="", file=getattr(sys, self.stream), flush=True)
        except Exception:  # as any handler does: no message may end the study
            self.handleError(record)

    def _is_displayed(self, record: logging.LogRecord) -> bool:
        """Return whether the display replaces a message; begins the display when jobs may begin."""
        event = getattr(record, "event", None)
        pipeline = sys.modules.get("circlet.pipeline")  # only a workflow of circlet has imported it
        if not (self.is_usual and pipeline and pipeline.is_displayed()):
            return False
        if event == LogEvent.RUN_INFO:
            self.jobs = getattr(record, "stats", {})
        if self.jobs and self.display is None:
            self.display = pipeline.display(self.jobs)
        if self.display and self.display.has_failed:
            return False
        if event in OF_JOBS:
            return True
        is_plain = event is None and record.levelno <= logging.INFO
        # A failed command has written its own error to the log of its job.
        is_command = getattr(record, "exception", "") == "RuleException"
        return bool(self.display and self.display.is_on and (is_plain or is_command))
