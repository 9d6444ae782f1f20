"""Jobs that begin in a process which has imported their libraries before."""

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from conftest import output_of, wait

from circlet import job_server

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the server needs Linux")

WORKFLOW = """
import os, signal, sys
from circlet import job_server
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: None)
job_server.start(100)
print(os.environ[job_server.TOKEN], flush=True)
sys.stdin.read()
"""
# What `python -m circlet` does in a job; the module of this name executes its argument.
COMMAND = """
import sys
from circlet import job_server
sys.path.insert(0, sys.argv.pop(1))
status = job_server.run()
sys.exit(50 if status is None else status)
"""
NO_SERVER = 50


class Server:
    """A server, its workflow, and commands that ask it for jobs."""

    def __init__(self, folder):
        self.folder = folder
        package = folder / "modules/circlet"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "__main__.py").write_text("import os, signal, sys, time\nexec(sys.argv[1])\n")
        self.workflow = subprocess.Popen(
            [sys.executable, "-c", WORKFLOW],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, process_group=0,
        )  # fmt: skip
        self.token = self.workflow.stdout.readline().strip()

    def begin(self, code, command=COMMAND, variables=(), **options):
        """Return the process of a command whose job executes some code."""
        environment = os.environ | {job_server.TOKEN: self.token, "COLOUR": "blue"}
        environment |= dict(variables)
        options = {"process_group": self.workflow.pid} | options
        return subprocess.Popen(
            [sys.executable, "-c", command, self.folder / "modules", code],
            cwd=self.folder, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
        )  # fmt: skip

    def run(self, code, **options):
        """Return exit status, output and errors of a command."""
        with self.begin(code, **options) as command:
            output, errors = command.communicate("words", timeout=100)
        return command.returncode, output, errors

    def close(self):
        self.workflow.kill()
        self.workflow.wait()
        self.workflow.stdin.close()
        self.workflow.stdout.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with closing(Server(tmp_path_factory.mktemp("server"))) as server:
        wait(lambda: server.run("print('torch' in sys.modules)")[1] == "True\n")
        yield server


def is_running(process):
    try:
        return "(zombie)" not in Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_job_has_the_place_and_the_streams_of_its_command(server):
    """It begins with the libraries, but with no module of circlet."""
    code = (
        "print(sys.argv[2:], os.getcwd(), os.environ['COLOUR'], sys.stdin.read());"
        "print('torch' in sys.modules, [name for name in sys.modules if 'circlet' in name]);"
        f"print({job_server.TOKEN!r} in os.environ, hash('the same in all jobs'));"
        "print('an error', file=sys.stderr, flush=True);"
        "sys.exit(3)"
    )
    same = "print(hash('the same in all jobs'))"
    seeded = output_of(same, env=os.environ | {"PYTHONHASHSEED": "0"})
    assert server.run(code) == (
        3,
        f"[] {server.folder} blue words\nTrue ['circlet']\nFalse {seeded}\n",
        "an error\n",
    )


def test_a_job_is_a_process_of_one_thread(server):
    """A process with several threads could not safely fork."""
    code = "parent = os.getppid(); print(open(f'/proc/{parent}/status').read())"
    _, waiting, _ = server.run(code)
    [parent] = [line.split()[1] for line in waiting.splitlines() if line.startswith("PPid:")]
    assert "job_server.py" in Path(f"/proc/{parent}/cmdline").read_text()
    assert len([*Path(f"/proc/{parent}/task").iterdir()]) == 1


def test_a_killed_job_has_the_status_that_a_shell_gives_it(server):
    assert server.run("os.kill(os.getpid(), signal.SIGKILL)")[0] == 128 + signal.SIGKILL


def test_a_terminated_command_terminates_its_job(server):
    code = (
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7));"
        "print('ready', flush=True);"
        "time.sleep(100)"
    )
    with server.begin(code) as command:
        assert command.stdout.readline() == "ready\n"
        command.terminate()
        assert command.wait() == 7


def test_a_job_ends_with_its_killed_command(server):
    with server.begin("print(os.getpid(), flush=True); time.sleep(1000)") as command:
        job = command.stdout.readline().strip()
        command.kill()
        wait(lambda: not is_running(job))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_to_all_reach_a_job_once_and_leave_the_server(server, number):
    """As ctrl-C does: the workflow, the server, commands and jobs get it."""
    code = (
        "signals = [];"
        "signal.signal(signal.SIGINT, lambda *_: signals.append(1));"
        "signal.signal(signal.SIGTERM, lambda *_: signals.append(1));"
        "print('ready', flush=True);"
        "time.sleep(2);"  # not interrupted
        "sys.exit(10 + len(signals))"
    )
    with server.begin(code) as command:
        assert command.stdout.readline() == "ready\n"
        os.killpg(server.workflow.pid, number)
        assert command.wait() == 11
    assert server.run("pass")[0] == 0


def test_a_job_outlives_its_workflow(tmp_path):
    """The server starts no others, and ends."""
    with closing(Server(tmp_path)) as server:
        wait(lambda: server.run("pass")[0] == 0)
        with server.begin("print('ready', flush=True); sys.stdin.read(); sys.exit(5)") as command:
            command.stdout.readline()
            server.close()
            wait(lambda: server.run("pass")[0] == NO_SERVER)
            assert command.poll() is None
            command.stdin.close()
            assert command.wait() == 5


def test_commands_of_another_session_or_with_other_threads_do_without(server):
    assert server.run("pass", start_new_session=True, process_group=None)[0] == NO_SERVER
    assert server.run("pass", variables={"OMP_NUM_THREADS": "2"})[0] == NO_SERVER
    assert server.run("pass")[0] == 0


def test_a_command_that_does_not_know_the_secret_gets_no_job(server):
    """The address is public: /proc lists it."""
    code = COMMAND.replace(
        "status =", "address = job_server._address; "
        f"job_server._address = lambda _: address({server.token!r}); status ="
    )  # fmt: skip
    assert server.run("pass", variables={job_server.TOKEN: "a guess"}, command=code)[0] == NO_SERVER


def test_no_process_of_another_user_is_trusted(monkeypatch):
    """All users can find the address in /proc, and use it when the server has ended."""
    ends = socket.socketpair()
    with ends[0], ends[1]:
        assert job_server._is_same_user(ends[0])
        monkeypatch.setattr(os, "getuid", lambda: os.geteuid() + 1)
        assert not job_server._is_same_user(ends[0])


def test_a_job_can_wait_for_processes_of_its_own(server):
    code = "import subprocess; sys.exit(subprocess.run(['false']).returncode)"
    assert server.run(code)[0] == 1


def test_a_large_environment_that_is_not_utf_8_arrives(server):
    large = {f"LARGE_{n}": 120_000 * "\udcff" for n in range(8)}
    code = "print(sum(value == 120_000 * chr(0xdcff) for value in os.environ.values()))"
    assert server.run(code, variables=large)[1] == "8\n"


def test_a_job_that_its_command_no_longer_waits_for_ends(server):
    """The command was killed before it read that the job has begun."""
    code = f"open({str(server.folder / 'job')!r}, 'w').write(str(os.getpid())); time.sleep(1000)"
    argv, path = ["circlet", code], [str(server.folder / "modules"), *sys.path]
    with socket.socket(socket.AF_UNIX) as command, Path(os.devnull).open() as nothing:
        command.connect(job_server._address(server.token))
        socket.send_fds(command, [b"\0"], 3 * [nothing.fileno()])
        request = [server.token, argv, path, str(server.folder), dict(os.environ)]
        command.sendall(json.dumps(request).encode() + b"\n")
        wait(lambda: (server.folder / "job").exists() and (server.folder / "job").read_text())
    job = (server.folder / "job").read_text()
    wait(lambda: not is_running(job))


def test_few_jobs_do_without(monkeypatch):
    monkeypatch.delenv(job_server.TOKEN, raising=False)
    job_server.start(job_server.FEWEST_JOBS - 1)
    assert job_server.TOKEN not in os.environ
