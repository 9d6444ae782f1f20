"""Run of the command that a config gives for the end of its study (`notify`)."""

import os
import subprocess
import sys

from circlet.study.plan import Study

TIMEOUT_S = 60


def run(study: Study, name: str, status: str, text: str) -> None:
    """Run the command of `notify`, if the study has one, with ``text`` as its input.

    ``status`` is "success" or "failure"; ``name`` is that of the config. If the command
    fails, this prints one line.
    """
    if not study.notify:
        return
    variables = {"CIRCLET_STATUS": status, "CIRCLET_RESULTS": str(study.results)}
    error = ""
    try:
        done = subprocess.run(
            study.notify,
            shell=True,
            env=os.environ | variables,
            input=text,
            text=True,
            timeout=TIMEOUT_S,
        )
        if done.returncode:
            error = f"exit status {done.returncode}"
    except subprocess.TimeoutExpired:
        error = f"took longer than {TIMEOUT_S} s"
    except OSError as failure:
        error = str(failure)
    if error:
        print(f"{name}: notify: {error}", file=sys.stderr)
