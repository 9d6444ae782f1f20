"""Logger plugin of Snakemake, ``--logger circlet``: the display of a study in place of its jobs.

The profiles choose it. Whatever is no study of circlet, or where somebody asks to see everything
(``--verbose``, ``--printshellcmds``), is printed as Snakemake itself does.
"""

import logging
import os
import sys

from rich.console import Console
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

# What a display of the study says in other words.
OF_JOBS = {
    LogEvent.RUN_INFO, LogEvent.RESOURCES_INFO, LogEvent.JOB_INFO, LogEvent.JOB_STARTED,
    LogEvent.JOB_FINISHED, LogEvent.GROUP_INFO, LogEvent.PROGRESS,
}  # fmt: skip
STYLES = {logging.WARNING: "yellow", logging.ERROR: "red", logging.CRITICAL: "red"}


class LogHandler(LogHandlerBase):
    """Prints Snakemake's messages, with its own filter and format, and begins the display."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = False
    has_formatter = False
    needs_rulegraph = False

    def __post_init__(self) -> None:
        shown = self.common_settings
        self.is_usual = not (shown.dryrun or shown.verbose or shown.printshellcmds)
        self.display = None
        if self.is_usual:
            os.environ["CIRCLET_DISPLAYED"] = "1"  # so that jobs do not write over it

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message, unless the display says it."""
        event = getattr(record, "event", None)
        pipeline = sys.modules.get("circlet.pipeline")  # only a workflow of circlet has imported it
        if event == LogEvent.RUN_INFO and self.is_usual and pipeline:
            self.display = pipeline.display(getattr(record, "stats", {}))
        if self.display and not self.display.has_failed:
            is_plain = self.display.is_on and event is None and record.levelno <= logging.INFO
            # A command that failed has an error of its own, in the log of its job.
            is_command = getattr(record, "exception", "") == "RuleException"
            if event in OF_JOBS or is_plain or is_command:
                return
        if text := self.format(record):
            stream = sys.stdout if self.common_settings.stdout else sys.stderr
            console = Console(file=stream, no_color=self.common_settings.nocolor)
            style = STYLES.get(record.levelno, "")
            console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
