"""A server that speaks as much of the API of Kubernetes as Snakemake's plugin uses.

A job is a process of this machine in an empty folder of its own, without the submitter's files.
"""

import base64
import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

# What a container would have from its image, or its cluster.
FROM_THE_IMAGE = ("PATH", "HOME", "LANG", "AWS_ENDPOINT_URL", "AWS_DEFAULT_REGION",
                  "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "PYTHONPATH")  # fmt: skip


class Cluster(ThreadingHTTPServer):
    """Accepts jobs and runs them; ``jobs`` are their specifications, by name."""

    def __init__(self, folder: Path):
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder, self.secrets, self.jobs = folder, {}, {}
        self.processes: dict[str, subprocess.Popen] = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def kubeconfig(self, path: Path) -> Path:
        """Write the config of a client."""
        cluster = {"server": f"http://127.0.0.1:{self.server_port}"}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "clusters": [{"name": "here", "cluster": cluster}],
            "users": [{"name": "me", "user": {}}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        }
        path.write_text(yaml.safe_dump(content))
        return path

    def begin(self, name: str, job: dict) -> None:
        """Start the container of a job."""
        [container] = job["spec"]["template"]["spec"]["containers"]
        environment = {key: os.environ[key] for key in FROM_THE_IMAGE if key in os.environ}
        for variable in container["env"]:
            place = variable["valueFrom"]["secretKeyRef"]
            text = self.secrets[place["name"]]["data"][place["key"]]
            environment[variable["name"]] = base64.b64decode(text).decode()
        folder = self.folder / name
        folder.mkdir(parents=True)
        with (folder / "output").open("wb") as output:
            self.processes[name] = subprocess.Popen(
                [*container["command"], *container["args"]],
                cwd=folder, env=environment, stdout=output, stderr=output,
            )  # fmt: skip
        self.jobs[name] = job

    def status(self, name: str) -> dict:
        """Return the status of a job."""
        code = self.processes[name].poll()
        if code is None:
            return {"active": 1}
        return {"succeeded": 1} if code == 0 else {"failed": 1}


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of the plugin."""

    server: Cluster

    def log_message(self, *_):
        """Print nothing."""

    def _content(self) -> dict:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or "{}")

    def _answer(self, content: dict) -> None:
        text = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_POST(self):
        """Make a secret or a job."""
        made = self._content()
        name = made["metadata"]["name"]
        if self.path.endswith("/secrets"):
            self.server.secrets[name] = made
        else:
            self.server.begin(name, made)
        self._answer(made)

    def do_GET(self):
        """Return the status of a job; there are no pods."""
        parts = self.path.partition("?")[0].split("/")
        if parts[-1] == "status":
            name = parts[-2]
            self._answer(self.server.jobs[name] | {"status": self.server.status(name)})
        else:
            self._answer({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": []})

    def do_DELETE(self):
        """Accept that a job or a secret is deleted."""
        self._content()
        self._answer({"kind": "Status", "apiVersion": "v1", "status": "Success"})
