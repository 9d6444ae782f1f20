"""The smoke study without a shared disk: its results in a storage of Snakemake."""

import os

import boto3
import pytest
from moto.server import ThreadedMotoServer

from circlet import compare
from circlet.storage import remote

pytestmark = pytest.mark.slow
PREFIXES = {"fs": "{folder}/far", "s3": "s3://bucket/far"}


@pytest.fixture
def bucket(monkeypatch):
    """A local server with an empty bucket, found by environment variables."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in (("ACCESS_KEY_ID", "me"), ("SECRET_ACCESS_KEY", "secret"),
                        ("DEFAULT_REGION", "us-east-1"),
                        ("ENDPOINT_URL", f"http://{host}:{port}")):  # fmt: skip
        monkeypatch.setenv(f"AWS_{name}", value)
    boto3.client("s3").create_bucket(Bucket="bucket")
    yield
    server.stop()


@pytest.mark.parametrize("provider", ["fs", "s3"])
def test_a_study_without_a_shared_disk_equals_one_on_this_disk(
    provider, empty_project, finished, request
):
    """Its tables equal those of a local run; then nothing is left to do, and nothing local."""
    if provider == "s3":
        request.getfixturevalue("bucket")
    prefix = PREFIXES[provider].format(folder=empty_project.folder)
    storage = ["--default-storage-provider", provider, "--default-storage-prefix", prefix]
    storage += ["--shared-fs-usage", "none"]
    if provider == "s3":
        storage += ["--storage-s3-endpoint-url", os.environ["AWS_ENDPOINT_URL"]]
    empty_project.snakemake(*storage)
    results = f"{prefix}/results/smoke"
    url = results if provider == "s3" else f"file://{results}"
    copies = empty_project.folder / "copies"
    there = remote.Remote(url)
    for name in there.listing():
        there.fetch(name, copies / name)
    text, equal = compare.folders(finished.folder / "results/smoke", copies, 0, [])
    assert equal, text
    assert not list((empty_project.folder / "results").rglob("*.parquet"))
    assert "Nothing to be done" in empty_project.snakemake("--dry-run", *storage).stdout
    config = ("--configfile", "config/smoke.yaml")
    done = empty_project.run("python", "-m", "circlet", "status", *config, "--from", url)
    assert "total" in done.stdout
