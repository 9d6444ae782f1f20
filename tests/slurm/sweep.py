"""A small study in a copy of the project, run by Snakemake with the profile slurm."""

import contextlib
import os
import signal
import subprocess
import threading
from pathlib import Path

import cluster as slurm
import pandas as pd
from conftest import TIMEOUT_S, experiment, run_blocks
from projects import Project

from circlet.storage import parquet
from circlet.study import planning

SHORT = {
    "system": "particles", "parameters": {"p": 5}, "steps": 20, "block": 1, "seeds": {"count": 3},
}  # fmt: skip
# One of its three points fails in a broken project.
ONE_FAILS = experiment(sweep={"train_fraction": [0.25, 0.5, 0.8]})
TRAINING = "src/circlet/training/native_run.py"
WHOLE = "    (seed,) = seeds\n"
BROKEN = """\
    if point.parameters["train_fraction"] == 0.25:
        from circlet.errors import CircletError
        raise CircletError("broken on purpose")
    (seed,) = seeds
"""

# Check often, because tests wait for it; apart from this, the profile is that of users.
FAST = ("--slurm-init-seconds-before-status-checks", "2", "--seconds-between-status-checks", "2")


class Sweep:
    """A small study in a copy of the project, run by Snakemake with the profile slurm."""

    def __init__(self, project: Project):
        self.project = project
        self.process = None
        self.lines = []

    def study(self, **experiments):
        """Write the config."""
        self.config = {"results": "results", "experiments": experiments}
        self.project.write("config/config.yaml", self.config)

    def break_one_point(self):
        """Make a point of `ONE_FAILS` fail."""
        self.project.edit(TRAINING, WHOLE, BROKEN)

    def start(self, *arguments):
        """Start Snakemake, and collect its output. Without groups in arguments there are none."""
        command = ["snakemake", *arguments, "--profile", "profiles/slurm", *FAST]
        if "--group-components" not in arguments:
            command += ["--group-components", "short=1"]
        self.lines = []
        self.process = self.project.begin(
            *command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self.reader = threading.Thread(target=self._gather, args=[self.process], daemon=True)
        self.reader.start()
        return self

    def _gather(self, process):
        with process.stdout:
            self.lines.extend(process.stdout)

    @property
    def said(self):
        return "".join(self.lines)

    def ends(self):
        """Wait until Snakemake ends; return its exit status."""
        status = self.process.wait(timeout=TIMEOUT_S)
        self.reader.join(timeout=TIMEOUT_S)
        return status

    def kill(self):
        """Send SIGKILL to Snakemake; its jobs go on."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def jobs(self):
        """Return SLURM's ids of this sweep's waiting and running jobs, and their states."""
        listed = slurm.output("squeue", "-h", "-o", "%i %T %Z")
        rows = [line.split(maxsplit=2) for line in listed.splitlines()]
        return {job: state for job, state, folder in rows if folder == str(self.project.folder)}

    def experiment(self, job):
        """Return the experiment of a job, by the wildcards in its comment."""
        comment = slurm.output("squeue", "-h", "-o", "%k", "-j", job)
        return next(name for name in self.config["experiments"] if f"_{name}_" in comment)

    def running(self):
        """Wait until a job runs; return its id."""

        def first():
            return next((job for job, state in self.jobs().items() if state == "RUNNING"), None)

        return slurm.wait(first, "a running job")

    def idle(self):
        """Wait until no job of the sweep is left."""
        slurm.wait(lambda: not self.jobs(), "the end of all jobs")

    def end_strays(self):
        """Kill processes in the sweep's folder: this cluster loses those that leave a session."""
        for link in Path("/proc").glob("[0-9]*/cwd"):
            with contextlib.suppress(FileNotFoundError, PermissionError, ProcessLookupError):
                if link.readlink() == self.project.folder:
                    os.kill(int(link.parent.name), signal.SIGKILL)

    def find(self, pattern):
        return sorted(self.project.folder.glob(pattern))

    def wait_for(self, pattern):
        """Wait until files match a pattern; return them."""
        return slurm.wait(lambda: self.find(pattern), pattern)

    def logs_with(self, text):
        """Count the text logs of blocks that contain a text."""
        count = 0
        for path in self.find("results/job_logs/*/p*/*.log"):
            with contextlib.suppress(FileNotFoundError):  # Snakemake removes it before a retry
                count += text in path.read_text()
        return count

    def embeddings(self, experiment="long"):
        return pd.concat(
            [pd.read_parquet(path) for path in self.find(f"results/logs/{experiment}/*/*/emb*")],
            ignore_index=True,
        )

    def here(self, folder, experiment="long"):
        """Train an experiment in this process, with results in a folder; return its embeddings."""
        study = planning.plan(self.config | {"results": str(folder / "here")})
        blocks = run_blocks(study.subset([experiment])).blocks
        return pd.concat([parquet.read_log(b, "embeddings") for b in blocks], ignore_index=True)

    def interruptions(self, experiment="long"):
        paths = self.find(f"results/logs/{experiment}/*/*/runs.parquet")
        return [parquet.footer(path)["interruptions"] for path in paths]

    def status(self):
        """Runs by state, as `python -m circlet status` says from another shell."""
        lines = self.project.run("circlet", "status").stdout.splitlines()
        total = next(line for line in lines if line.startswith("total")).split()
        return dict(zip(lines[0].split()[2:], map(int, total[1:]), strict=True))
