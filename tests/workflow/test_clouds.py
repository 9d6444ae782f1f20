"""Profiles for remote machines: their jobs run here, without the submitter's files."""

import os
import uuid

import clouds
import pytest
from conftest import config, make_tables, run_blocks
from projects import edit

from circlet import compare
from circlet.cli import main
from circlet.storage import remote
from circlet.study import planning

boto3, s3fs, moto = map(pytest.importorskip, ("boto3", "s3fs", "moto.server"))

pytestmark = pytest.mark.slow
CONFIG = """\
results: results/far
experiments:
  e:
    system: constant_attention
    sweep: {weight_decay: [0, 1]}
    steps: 50
    block: 5
    seeds: {count: 5}
"""
MORE = """\
  kept:
    system: embedding_mlp
    parameters: {p: 13, d: 24, hidden: 16}
    interventions: [{keep: {strongest: [1], of: start}}]
    steps: 20
    block: 2
    seeds: {count: 2}
  start:
    system: embedding_mlp
    parameters: {p: 13, d: 24, hidden: 16}
    steps: 20
    block: 2
    seeds: {count: 2}
    log: {parameters: {every: 10}}
reproduce: {ablated_starts: kept, ablations: start}
figures: [{curves: e}]
"""


@pytest.fixture
def bucket(monkeypatch):
    """A local server with an empty bucket, found by environment variables."""
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in (("ACCESS_KEY_ID", "me"), ("SECRET_ACCESS_KEY", "secret"),
                        ("DEFAULT_REGION", "us-east-1"),
                        ("ENDPOINT_URL", f"http://{host}:{port}")):  # fmt: skip
        monkeypatch.setenv(f"AWS_{name}", value)
    name = uuid.uuid4().hex  # the servers of a process share their buckets
    boto3.client("s3").create_bucket(Bucket=name)
    s3fs.S3FileSystem.clear_instance_cache()  # of an earlier server
    yield f"s3://{name}/far"
    server.stop()


def test_a_study_without_a_shared_disk_equals_one_on_this_disk(empty_project, tmp_path):
    """Its tables equal those of a local run; then nothing is left to do, and nothing is local.

    It has runs that start from others, tables of logs and of tables, figures and both pages. A
    table may differ by rounding: products of matrices depend on where the memory begins.
    """
    folder = empty_project.folder
    (folder / "config/far.yaml").write_text(CONFIG + MORE)
    command = ["snakemake", "--profile", "profiles/storage", "--configfile", "config/far.yaml"]
    command += ["--default-storage-provider", "fs", "--default-storage-prefix", f"{folder}/far"]
    command += ["--shared-fs-usage", "none"]
    empty_project.run(*command)
    assert not list((folder / "results").rglob("*.parquet"))
    assert "Nothing to be done" in empty_project.run(*command, "--dry-run").stdout
    for page in ("report.html", "explorer.html", "figures/e_curves.svg"):
        assert (folder / "far/results/far" / page).exists()
    local = tmp_path / "local.yaml"
    local.write_text((CONFIG + MORE).replace("results/far", "results/near"))
    empty_project.snakemake("tables", config=local)
    text, equal = compare.folders(folder / "results/near", folder / "far/results/far", 1e-12, [])
    assert equal, text


@pytest.mark.parametrize("executor", ["kubernetes", "aws-batch"])
def test_blocks_and_tables_run_on_remote_machines(
    executor, empty_project, bucket, tmp_path, monkeypatch
):
    """Every block gets its own specification, and none of these asks for a GPU."""
    folder = empty_project.folder
    (folder / "config/far.yaml").write_text(CONFIG)
    cloud = clouds.Cloud(tmp_path / "cloud")
    monkeypatch.setenv("KUBECONFIG", str(cloud.kubeconfig(tmp_path / "kubeconfig")))
    monkeypatch.setenv("AWS_ENDPOINT_URL_BATCH", cloud.address)
    edit(folder / f"profiles/{executor}/config.yaml", "s3://my-bucket/circlet", bucket)
    empty_project.run("-c", "import subprocess; subprocess.run(['git', 'init', '-q'], check=True); "
                      "subprocess.run(['git', 'add', '.'], check=True)")  # fmt: skip
    empty_project.run(
        "snakemake", "table_runs", "--profile", f"profiles/{executor}",
        "--configfile", "config/far.yaml", "--seconds-between-status-checks", "1",
        "--storage-s3-endpoint-url", os.environ["AWS_ENDPOINT_URL"],
    )  # fmt: skip
    there, copies = remote.Remote(f"{bucket}/results/far"), tmp_path / "copies"
    for name in there.listing():
        there.fetch(name, copies / name)
    study = planning.plan_file(folder / "config/far.yaml").staged(copies)
    assert all(path.exists() for block in study.blocks for path in block.logs)
    local = tmp_path / "local.yaml"
    local.write_text(CONFIG.replace("results/far", "results/near"))
    empty_project.snakemake("table_runs", config=local)
    text, equal = compare.folders(folder / "results/near", copies, 0, [])
    assert equal, text
    assert len(cloud.jobs) == len(list(study.blocks))  # the table is made where Snakemake runs
    for job in cloud.jobs.values():
        if executor == "kubernetes":
            [container] = job["spec"]["template"]["spec"]["containers"]
            assert container["resources"]["requests"].keys() >= {"cpu", "memory"}
            assert "nvidia.com/gpu" not in container["resources"]["requests"]
            assert container["resources"]["limits"].keys() >= {"cpu", "memory"}
        else:
            needs = job["containerProperties"]["resourceRequirements"]
            assert {n["type"]: n["value"] for n in needs} == {"VCPU": "1", "MEMORY": "2048"}
            assert job["timeout"] == {"attemptDurationSeconds": 86400}
    plans = [job["CIRCLET_STUDY"] for job in cloud.environments if "CIRCLET_STUDY" in job]
    assert plans and all(
        planning.decode(plan).checkpoints == f"{bucket}/checkpoints" for plan in plans
    )
    cloud.shutdown()
    cloud.server_close()


READ = """\
import sys
import circlet
folder, address = sys.argv[1:]
here, there = circlet.load(folder, "arrow"), circlet.load(address, "arrow")
assert there.tables == here.tables and there.logs == here.logs
assert all(there.table(name).equals(here.table(name)) for name in here.tables)
assert there.log("curves").equals(here.log("curves"))
print(len(there.tables))
"""


def test_a_published_study_is_read_from_where_it_is_uploaded(empty_project, bucket, tmp_path):
    study = run_blocks(planning.plan(config(tmp_path / "study")))
    make_tables(study)
    main(["publish", str(study.results), "--logs"])
    folder, address = study.results / "published", f"{bucket}/published"
    for path in folder.rglob("*.*"):
        remote.Remote(address).put(path, path.relative_to(folder).as_posix())
    empty_project.run("-c", READ, folder, address)


def test_any_scheduler_with_a_submit_command(empty_project):
    """The command runs the script at once, in the background, and prints its process."""
    folder = empty_project.folder
    (folder / "config/far.yaml").write_text(CONFIG)
    submit = folder / "submit.sh"
    submit.write_text('#!/bin/sh\nsh "$1" > "$1.out" 2>&1 &\necho $!\n')
    submit.chmod(0o755)
    empty_project.run(
        "snakemake", "table_runs", "--profile", "profiles/generic",
        "--configfile", "config/far.yaml", "--latency-wait", "5",
        "--cluster-generic-submit-cmd", str(submit),
    )  # fmt: skip
    study = planning.plan_file(folder / "config/far.yaml")
    assert all((folder / path).exists() for block in study.blocks for path in block.logs)
    assert (folder / study.table("runs")).exists()
