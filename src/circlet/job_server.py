"""Job server: jobs of a study begin in a process that has imported pandas, matplotlib and torch.

Importing them takes longer than making most tables. The workflow starts the server, which imports
them once. The command of a job, ``python -m circlet``, connects to it, and the server forks a
supervisor for the job, which forks the process of the job. The supervisor returns the exit status
of that process to the command.

Without a server, a job runs in the process of its command: on another machine, in another session
(such as that of a cluster job), with another Python or another number of threads. Linux only.
Jobs have the limits, priority and umask of the server, which are those of the workflow.

The server imports nothing of circlet, so that a job runs the code as it is when the job begins.
"""

import contextlib
import gc
import hashlib
import json
import os
import secrets
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

TOKEN = "CIRCLET_JOB_SERVER"  # environment variable with the secret of a server
FEWEST_JOBS = 10  # fewer do not pay for the imports
START_TIMEOUT_S = 10.0  # longest wait for a job to begin, as the server may import
ENDING = (signal.SIGINT, signal.SIGTERM)
PRELOADED = (  # those that most jobs need come first
    *("msgspec", "filelock", "pyarrow.parquet", "pandas", "scipy.stats", "matplotlib.pyplot"),
    *("scipy.optimize", "sklearn.linear_model", "seaborn", "torch"),
)
# Variables that Python and libraries read when they start, as jobs have them. With the last one,
# pyarrow starts no thread: a process with several threads cannot safely fork.
ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}


def start(n_jobs: int) -> None:
    """Start a server for the jobs of this process, which ends soon after this process."""
    if n_jobs < FEWEST_JOBS or sys.platform != "linux":
        return
    token = secrets.token_hex(16)
    # This end of the pipe is never closed: the system does it when this process ends.
    pipe, _ = os.pipe()
    with contextlib.suppress(OSError):  # too many processes, or too little memory
        subprocess.Popen(
            [sys.executable, "-P", __file__],  # -P: else `import collections` finds circlet's
            env=os.environ | ENVIRONMENT | {TOKEN: token},
            stdin=pipe,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.environ[TOKEN] = token
    os.close(pipe)


def run() -> int | None:
    """Let the server run this command; returns its exit status, or None without a server."""
    token = os.environ.pop(TOKEN, None)
    if token is None or any(os.environ.get(n, value) != value for n, value in ENVIRONMENT.items()):
        return None
    with socket.socket(socket.AF_UNIX) as server:
        if server.fileno() < 3:  # this process began without a standard stream
            return None

        def pass_on(number: int, _: object) -> None:
            with contextlib.suppress(OSError):  # the job has just ended
                server.send(bytes([number]))

        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # until the job can get them
        server.settimeout(START_TIMEOUT_S)
        try:
            server.connect(_address(token))
            if not _is_same_user(server):
                return None
            request = [token, sys.argv, sys.path, str(Path.cwd()), dict(os.environ)]
            socket.send_fds(server, [b"\0"], [0, 1, 2])
            server.sendall(json.dumps(request).encode() + b"\n")
            if not server.recv(1):
                return None
            server.settimeout(None)
            for number in ENDING:
                signal.signal(number, pass_on)
        except OSError:
            return None
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        status = b""
        with contextlib.suppress(OSError):
            status = server.recv(1)
    return status[0] if status else 128 + signal.SIGKILL  # its supervisor was killed


def _address(token: str) -> str:
    """Return the name of a socket without a file, for one session and one Python."""
    identity = f"{token} {os.getsid(0)} {sys.prefix} {sys.version}"
    return "\0" + hashlib.sha256(os.fsencode(identity)).hexdigest()


def _is_same_user(connection: socket.socket) -> bool:
    """Return whether the other end is a process of this user: all users can connect."""
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", peer)[1] == os.getuid()


def _serve() -> None:
    """Import libraries, and fork a supervisor for each command, until standard input is closed."""
    import importlib
    import select

    token = os.environ.pop(TOKEN)
    to_import = [*PRELOADED]
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for supervisors
    group_signals = (*ENDING, signal.SIGHUP)  # sent to all processes of a group, to jobs, too
    handlers: dict[int, Any] = {n: signal.signal(n, signal.SIG_IGN) for n in group_signals}
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(_address(token))
        listener.listen()
        while True:
            readable, _, _ = select.select([sys.stdin, listener], [], [], 0 if to_import else None)
            if sys.stdin in readable:
                return
            if readable:
                connection, _ = listener.accept()
                with connection:
                    if _is_same_user(connection) and os.fork() == 0:
                        listener.close()
                        _supervise(connection, token, handlers)
                        return
            elif to_import:
                with contextlib.suppress(Exception):  # the jobs that need it will say so
                    importlib.import_module(to_import.pop(0))
                gc.freeze()  # jobs share these objects


def _supervise(connection: socket.socket, token: str, handlers: dict[int, Any]) -> None:
    """Fork the process of a job; pass signals on to it, and its exit status back."""
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    with connection.makefile() as text:
        secret, *request = json.loads(text.readline() or "[0]")
    if secret != token:  # wrong, or the command was killed before it sent one
        os._exit(0)
    received = list[int]()

    def report_end(*_: object) -> None:
        process, status = os.waitpid(-1, os.WNOHANG)
        if process:
            code = os.waitstatus_to_exitcode(status)
            with contextlib.suppress(OSError):  # the command has been killed
                connection.send(bytes([code if code >= 0 else 128 - code]))
            os._exit(0)

    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    for number in ENDING:
        signal.signal(number, lambda number, _: received.append(number))
    signal.signal(signal.SIGCHLD, report_end)
    early = signal.sigpending()  # the job does not inherit these
    job = os.fork()
    if job == 0:
        for restored, handler in {**handlers, signal.SIGCHLD: signal.SIG_DFL}.items():
            signal.signal(restored, handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        connection.send(b"\0")  # and keep the connection, so that the command waits for the job
        _begin(streams, *request)
        return
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    for stream in streams:
        os.close(stream)
    for number in early:
        received.remove(number)
    with contextlib.suppress(ConnectionError):
        while signals := connection.recv(1):
            if signals[0] in received:  # the job got it, too
                received.remove(signals[0])
            else:
                os.kill(job, signals[0])
    os.kill(job, signal.SIGKILL)  # as its command has ended
    os.waitpid(job, 0)
    os._exit(0)


def _begin(
    streams: list[int],
    argv: list[str],
    path: list[str],
    folder: str,
    environment: dict[str, str],
) -> None:
    """Run a command in this process, with the standard streams of another one."""
    import io
    import runpy
    import tempfile

    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    assert isinstance(sys.stdout, io.TextIOWrapper)
    sys.stdout.reconfigure(line_buffering=os.isatty(1))
    sys.argv, sys.path = argv, path
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # the environment decides it
    os.chdir(folder)
    runpy.run_module("circlet", run_name="__main__")


if __name__ == "__main__":
    _serve()
