"""A server that speaks as much of Kubernetes and of AWS Batch as their clients use here.

A job is a process of this machine in an empty folder of its own, without the submitter's files.
"""

import base64
import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

# What a container would have from its image, or its cluster.
FROM_THE_IMAGE = ("PATH", "HOME", "LANG", "PYTHONPATH", "AWS_ENDPOINT_URL", "AWS_DEFAULT_REGION",
                  "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")  # fmt: skip


class Cloud(ThreadingHTTPServer):
    """Accepts jobs and runs them; ``jobs`` are their specifications, by name."""

    def __init__(self, folder: Path):
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder = folder
        self.address = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.secrets: dict[str, dict] = {}  # of Kubernetes
        self.definitions: dict[str, dict] = {}  # of AWS Batch
        self.jobs: dict[str, dict] = {}
        self.environments: list[dict[str, str]] = []  # of the jobs
        self.processes: dict[str, subprocess.Popen] = {}

    def kubeconfig(self, path: Path) -> Path:
        """Write the config of a client of Kubernetes."""
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "clusters": [{"name": "here", "cluster": {"server": self.address}}],
            "users": [{"name": "me", "user": {}}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        }
        path.write_text(yaml.safe_dump(content))
        return path

    def begin(self, name: str, job: dict, command: list[str], variables: dict[str, str]) -> None:
        """Start a job's process."""
        environment = {key: os.environ[key] for key in FROM_THE_IMAGE if key in os.environ}
        environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
        folder = self.folder / name
        folder.mkdir(parents=True)
        with (folder / "output").open("wb") as output:
            self.processes[name] = subprocess.Popen(
                command, cwd=folder, env=environment | variables, stdout=output, stderr=output
            )
        self.jobs[name] = job
        exported = re.findall(r"export (\w+)='?([^\s';]*)", command[-1])
        self.environments.append(variables | dict(exported))

    def post(self, path: str, sent: dict) -> dict:
        """Answer a request that makes or asks for something."""
        match path.rpartition("/")[2]:
            case "secrets":
                self.secrets[sent["metadata"]["name"]] = sent
            case "jobs":
                [container] = sent["spec"]["template"]["spec"]["containers"]
                variables = {}
                for variable in container["env"]:
                    place = variable["valueFrom"]["secretKeyRef"]
                    text = self.secrets[place["name"]]["data"][place["key"]]
                    variables[variable["name"]] = base64.b64decode(text).decode()
                command = [*container["command"], *container["args"]]
                self.begin(sent["metadata"]["name"], sent, command, variables)
            case "registerjobdefinition":
                name = sent["jobDefinitionName"]
                self.definitions[f"{name}:1"] = sent
                return {"jobDefinitionName": name, "jobDefinitionArn": name, "revision": 1}
            case "submitjob":
                name, job = sent["jobName"], self.definitions[sent["jobDefinition"]]
                container = job["containerProperties"]
                variables = {v["name"]: v["value"] for v in container["environment"]}
                self.begin(name, job, container["command"], variables)
                return {"jobName": name, "jobId": name}
            case "describejobs":
                states = {"active": "RUNNING", "succeeded": "SUCCEEDED", "failed": "FAILED"}
                [name] = sent["jobs"]
                [state] = self.status(name)
                return {"jobs": [{"jobName": name, "jobId": name, "status": states[state]}]}
        return sent

    def status(self, name: str) -> dict[str, int]:
        """Return the status of a job, as Kubernetes does."""
        code = self.processes[name].poll()
        return {"active": 1} if code is None else {"failed" if code else "succeeded": 1}


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of the plugins."""

    server: Cloud

    def _content(self) -> dict:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or "{}")

    def _answer(self, answer: dict) -> None:
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self):
        """Make a secret or a job, or any request of AWS Batch."""
        self._answer(self.server.post(self.path, self._content()))

    def do_GET(self):
        """Return the status of a job of Kubernetes; there are no pods."""
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
