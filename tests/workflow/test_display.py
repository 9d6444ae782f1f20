"""Snakemake's output on a study: one display, and at the end a command for the user."""

import os
import pty
import re
import subprocess
import sys
import time

import pytest
from conftest import ROOT, TIMEOUT_S, config, experiment

from circlet.study import cost, planning, targets


def study_of(project, **changes):
    """Write a small study, ``config/mine.yaml``; return its config."""
    study = config("results/mine", system="particles", seeds={"count": 4}) | changes
    project.write("config/mine.yaml", study)
    return study


class OnTerminal:
    """Snakemake on a terminal of 80 columns."""

    def __init__(self, project, *arguments):
        self.said = b""
        environment = os.environ | {
            "PYTHONPATH": str(project.folder / "src"), "TERM": "xterm", "COLUMNS": "80",
        }  # fmt: skip
        command = [sys.executable, "-m", "snakemake", *arguments,
                   "--cores", "1", "--configfile", "config/mine.yaml"]  # fmt: skip
        self.terminal, theirs = pty.openpty()
        # Not pty.fork, which processes with other threads, such as JAX's, may not call.
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *command], cwd=project.folder, env=environment,
            stdin=theirs, stdout=theirs, stderr=theirs,
        )  # fmt: skip
        os.close(theirs)

    def reads(self, until=None):
        """Return its output up to its end, or until a text appears."""
        deadline = time.monotonic() + TIMEOUT_S
        while until is None or until not in self.said:
            assert time.monotonic() < deadline, self.said.decode()
            try:
                self.said += os.read(self.terminal, 4096)
            except OSError:  # closed
                break
        return self.said.decode()

    def ends(self):
        """Return its output and its exit status."""
        said = self.reads()
        return said, self.process.wait(timeout=TIMEOUT_S)


def plain(said):
    """Return the text without cursor movements and colours."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", said)


def test_on_a_terminal_it_is_displayed(empty_project):
    study_of(empty_project)
    stale = empty_project.folder / "results/mine/report.html"
    stale.parent.mkdir(parents=True)
    stale.touch()
    said, status = OnTerminal(empty_project, "table_runs").ends()
    assert status == 0 and "report: " not in said, said
    assert "Job stats" not in said and "Finished job" not in said and "of 5 steps" not in said
    assert "100 %, done" in plain(said) and "4 of 4 runs, 1 of 1 tables" in plain(said)
    assert said.rindex("\x1b[?25h") > said.rindex("\x1b[?25l")
    # Nothing to do: no display.
    said, status = OnTerminal(empty_project, "table_runs").ends()
    assert status == 0 and "Nothing to be done" in said and "of 4 runs" not in said


@pytest.mark.slow
def test_control_c_leaves_the_terminal_and_what_is_done_as_they_were(empty_project):
    long = experiment("particles", steps=10**7)
    study_of(empty_project, experiments={"done": experiment("particles"), "long": long})
    assert OnTerminal(empty_project, "logs_done").ends()[1] == 0
    session = OnTerminal(empty_project, "logs")
    session.reads(until=b"of 4 runs")
    session.reads(until=b" %  long/")  # training has begun
    os.write(session.terminal, b"\x03")
    said, status = session.ends()
    assert status == 1, said
    assert "Traceback" not in said and "Rerun the command" in said
    assert said.rindex("\x1b[?25h") > said.rindex("\x1b[?25l")
    assert said.rindex("Rerun the command") > said.rindex("of 4 runs, 0 of")
    assert len([*empty_project.folder.glob("results/mine/logs/long/**/checkpoint.pt")]) == 1
    assert not empty_project.half_written()
    assert empty_project.would_run("config/mine.yaml")["particles"] == 1  # without being unlocked


def test_a_failure_is_told(empty_project):
    study_of(empty_project)
    file, loop = "src/circlet/sweeps/tables/runs.py", "    for block in study.blocks:\n"
    empty_project.edit(file, loop, f"    raise ValueError('on purpose')\n{loop}")
    done = empty_project.snakemake("table_runs", config="config/mine.yaml", check=False)
    assert done.returncode == 1
    said = done.stdout + done.stderr  # lines, as it is not on a terminal
    assert "4 of 4 runs, 0 of 1 tables, figures and pages; 1 failed" in said
    assert "Job stats" not in said and "Finished job" not in said
    error = "a bug, please report it: ValueError: on purpose\n"
    assert f"\nfailed: table runs: {error}" in done.stderr, done.stderr
    log = "results/mine/job_logs/tables/runs.log"
    assert f"1 failed:\n  runs: {error.strip()} (log: {log})" in done.stderr, done.stderr
    # The error comes before its traceback, and the command with its config is not shown.
    assert done.stderr.index(f"\nerror: {error}") < done.stderr.index("Traceback")
    assert '"experiments"' not in said


def test_figures_that_take_little_training_come_first_with_what_they_are_made_from():
    study = planning.plan_file(ROOT / "config/config.yaml")
    figures = targets.figures(study)
    experiments, others = targets.priorities(study, figures)

    def seconds(figure):
        points = (p for name in targets.trained_for(figure) for p in study.experiment(name))
        return sum(cost.cpu_seconds(block) for point in points for block in point.blocks)

    for figure in figures:
        least = others[f"figures/{figure.name}"]
        assert all(others[f"{t.kind}/{t.name}"] >= least for t in targets.with_dependencies(figure))
        assert all(experiments[name] >= least for name in targets.trained_for(figure))
    ordered = sorted(figures, key=lambda figure: -others[f"figures/{figure.name}"])
    takes = [seconds(figure) for figure in ordered]
    assert takes == pytest.approx(sorted(takes))  # sums in another order
    assert max(*experiments.values(), *others.values()) < targets.FOR_PAGES
    # The runs of each paper's first figures are trained long before the end.
    assert others["figures/grid_and_circle"] > others["figures/published_tables"] == 1
