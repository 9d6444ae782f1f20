"""Sweeps under the events of a cluster, on a real SLURM: `make test-slurm`.

Each sweep is a small study in a copy of the project. Blocks that must be interrupted while they run
take fifteen seconds of a core of this machine or more, and tests wait for events only.
"""

import shutil
from datetime import datetime, timedelta

import cluster as slurm
import pandas as pd
import pytest
from sweep import SHORT

from circlet.study import cost, planning

pytestmark = pytest.mark.slurm
pytest_plugins = ["slurm_fixtures"]


def test_a_study_from_start_to_end(sweep, tmp_path):
    """Blocks get the plan's memory and time; then come tables, and the report on this machine."""
    # Tables of more than 2000 runs are jobs, too.
    many = {"parameters": {"p": 3}, "seeds": {"count": 2000}, "block": 2000}
    sweep.study(short=SHORT, many=SHORT | many)
    sweep.start()

    def requests():
        queue = slurm.output("squeue", "-h", "-o", "%m %l %b %Z").splitlines()
        return {tuple(x.split()[:3]) for x in queue if str(sweep.project.folder) in x}

    # Any block may be first. Two Snakemakes are in the memory of a job, too.
    assert slurm.wait(requests, "a submitted job") <= {
        (f"{cost.memory_mb(block) + 500}M", f"{cost.minutes(block)}:00", "N/A")
        for block in planning.plan(sweep.config).blocks
    }
    assert sweep.ends() == 0, sweep.said
    assert len(pd.read_parquet(sweep.project.folder / "results/tables/runs.parquet")) == 2003
    assert (sweep.project.folder / "results/report.html").exists()
    assert not sweep.project.half_written()
    assert sweep.project.would_run("config/config.yaml") == {}

    pd.testing.assert_frame_equal(sweep.embeddings("short"), sweep.here(tmp_path, "short"))


def test_preemption_scancel_and_time_limit(sweep, two, undisturbed):
    """All blocks are pre-empted; later one is cancelled, and another reaches its time limit."""
    sweep.study(long=two, cancelled=two, late=two | {"steps": 3 * two["steps"]})
    sweep.start("table_embeddings")
    slurm.wait(lambda: list(sweep.jobs().values()) == 3 * ["RUNNING"], "three running jobs")
    jobs = {sweep.experiment(job): job for job in sweep.jobs()}
    slurm.wait(lambda: sweep.logs_with("% done") == 3, "five seconds")
    assert sweep.status()["started"] == 6
    slurm.output("sbatch", *slurm.URGENT)
    slurm.wait(lambda: len(sweep.find("results/**/checkpoint.pt")) == 3, "three checkpoints")
    # SLURM has requeued them under the same numbers, and they resume.
    slurm.wait(lambda: sweep.logs_with("resumes at") == 3, "three to resume")
    assert set(sweep.jobs()) == set(jobs.values())
    slurm.output("scancel", jobs["cancelled"])
    soon = f"{datetime.now() + timedelta(seconds=2):%Y-%m-%dT%H:%M:%S}"
    slurm.output("scontrol", "update", f"JobId={jobs['late']}", f"EndTime={soon}")
    assert sweep.ends() == 0, sweep.said
    interruptions = {name: sweep.interruptions(name) for name in jobs}
    assert interruptions == {"long": [1], "cancelled": [2], "late": [2]}
    assert not sweep.find("results/**/checkpoint.pt")
    for name in ("long", "cancelled"):
        pd.testing.assert_frame_equal(sweep.embeddings(name), undisturbed)


def test_out_of_memory(sweep):
    """A block that needs more than it requested is killed; the next try requests twice as much."""
    sweep.project.edit("src/circlet/study/cost.py", "PROCESS_MB = 550", "PROCESS_MB = -250")
    # No kernel rounds products, so PyTorch runs, which takes more than half a gigabyte.
    sweep.study(one=SHORT | {"steps": 60_000, "seeds": {"count": 1}, "products": "tf32"})
    sweep.start("table_runs")
    first = sweep.running()
    asked = [slurm.output("squeue", "-h", "-o", "%m", "-j", first).strip()]
    second = slurm.wait(lambda: next((j for j in sweep.jobs() if j != first), None), "a retry")
    asked.append(slurm.output("squeue", "-h", "-o", "%m", "-j", second).strip())
    low, high = (int(text.rstrip("M")) for text in asked)
    assert low < 300 < 500 < high <= 2 * low
    log = sweep.find(f".snakemake/slurm_logs/*/*/{first}.log")[0].read_text()
    assert "memory limit" in log


def test_node_death(sweep, cluster, two, undisturbed):
    """A node dies with its processes: SLURM requeues the job, which resumes on another node."""
    sweep.study(long=two)
    sweep.start("table_embeddings")
    job = sweep.running()
    node = slurm.output("squeue", "-h", "-o", "%N", "-j", job).strip()
    sweep.wait_for("results/**/checkpoint.pt")
    try:
        cluster.kill_node(node, job)
        slurm.wait(
            lambda: slurm.output("squeue", "-h", "-o", "%N %T", "-j", job).split()
            not in ([node, "RUNNING"], []), "SLURM to notice",
        )  # fmt: skip
        assert sweep.ends() == 0, sweep.said
    finally:
        cluster.start_node(node)
        slurm.output("scontrol", "update", f"NodeName={node}", "State=RESUME")
        slurm.wait(lambda: cluster.states()[node] in ("idle", "mixed"), f"{node} to return")
    assert sweep.interruptions()[0] >= 1
    assert not sweep.project.half_written()
    pd.testing.assert_frame_equal(sweep.embeddings(), undisturbed)


def test_a_killed_snakemake_and_its_jobs(sweep, two, undisturbed):
    """Snakemake is killed and restarted at once, while its job still runs, without unlocking.

    The second job of the block waits for the first one, and has nothing left to do.
    """
    sweep.study(long=two)
    sweep.start("table_embeddings")
    first = sweep.running()
    sweep.wait_for("results/job_logs/long/*/*.log")
    sweep.kill()
    sweep.start("table_embeddings")
    slurm.wait(lambda: len(sweep.jobs()) == 2, "a second job of the same block")
    assert sweep.jobs()[first] == "RUNNING"
    assert sweep.ends() == 0, sweep.said
    assert sweep.logs_with("done by another process meanwhile")
    sweep.idle()
    assert not sweep.project.half_written()
    pd.testing.assert_frame_equal(sweep.embeddings(), undisturbed)
    # Once more, when all is done: nothing to do, whoever finished last.
    assert sweep.start("table_embeddings").ends() == 0
    assert "Nothing to be done" in sweep.said


def test_a_gpu_is_asked_for_where_it_pays(sweep):
    """SLURM gives the job one GPU; torch cannot use the fake device file, and says so."""
    network = {"system": "embedding_mlp", "steps": 5000, "block": 20, "seeds": {"count": 20}}
    sweep.study(large=network)
    sweep.start("table_runs", "--resources", "gpu=2", "max_runtime=20", "--retries", "0")
    job = slurm.wait(lambda: next(iter(sweep.jobs()), None), "a submitted job")
    assert "gres:gpu:1" in slurm.output("scontrol", "show", "job", job)
    assert slurm.output("squeue", "-h", "-o", "%l", "-j", job).strip() == "20:00"
    if not shutil.which("nvidia-smi"):
        slurm.wait(lambda: sweep.logs_with("torch sees no GPU here"), "its error")
