"""A SLURM cluster of two nodes on this machine, for tests: real daemons, on loopback.

It needs root on Debian or Ubuntu. Daemons are children of this process and end with it; packages
are installed once and stay. Differences from real clusters: there are no cgroups (the accounting
thread of the node's daemon checks memory once a second), GPU devices are files, and all nodes
share one kernel.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

from conftest import TIMEOUT_S, wait

ETC = Path("/etc/slurm")
MARK = "# made by circlet's tests, and replaced by them"
PACKAGES = ("slurm-wlm", "munge")
CPUS, MEMORY_MB, GPUS = 4, 6000, 2  # of each node, as configured
PORT = 17816
# Seconds until processes that still run after a signal are killed, and until the jobs of a silent
# node are given to others.
KILL_WAIT, SILENCE = 5, 8
# A job on all of both nodes, from a partition with priority, as arguments of sbatch.
URGENT = ("--partition=urgent", "--exclusive", "--nodes=2", "--output=/dev/null", "--wrap=true")


def output(*command):
    """Return the output of a command; empty if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    return done.stdout if done.returncode == 0 else ""


def install():
    """Install the packages that are missing, without starting their services."""
    if all(shutil.which(tool) for tool in ("slurmctld", "slurmd", "sbatch", "munged")):
        return
    policy = Path("/usr/sbin/policy-rc.d")
    mine = not policy.exists()
    if mine:
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    try:
        quiet = {"check": True, "stdout": subprocess.DEVNULL}
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-qq"], **quiet)
        command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES]
        subprocess.run(command, env=environment, **quiet)
    finally:
        if mine:
            policy.unlink()


class Cluster:
    """The daemons of the cluster, each with its log in a folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.daemons = {}

    def start(self):
        """Write the configuration, start all daemons, and wait until nodes are idle."""
        host = socket.gethostname().split(".")[0]
        for name in ("state", "spool", "devices"):
            (self.folder / name).mkdir()
        self.folder.chmod(0o755)
        devices = [self.folder / "devices" / f"gpu{i}" for i in range(GPUS)]
        for device in devices:
            os.mknod(device, 0o020666, os.makedev(1, 3))
        ETC.mkdir(exist_ok=True)
        nodes = {f"n{i}": PORT + i for i in (1, 2)}
        self._configure("slurm.conf", slurm_conf(self.folder, host, nodes))
        self._configure(
            "gres.conf",
            "".join(
                f"NodeName={n} Name=gpu Type=fake File={devices[0].parent}/gpu[0-{GPUS - 1}]\n"
                for n in nodes
            ),
        )
        self._configure("cgroup.conf", "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
        self._start_munge()
        self._start("slurmctld", "slurmctld", "-D")
        wait(lambda: "is UP" in output("scontrol", "ping"), "slurmctld")
        for node in nodes:
            self.start_node(node)
        wait(lambda: self.states() == {"n1": "idle", "n2": "idle"}, "idle nodes")

    def start_node(self, node):
        """Start the daemon of a node."""
        self._start(node, "slurmd", "-D", "-N", node)

    def kill_node(self, node, job):
        """Send SIGKILL to the daemon of a node and to all processes of a job on it."""
        daemon = self.daemons.pop(node)
        daemon.kill()
        daemon.wait()
        # First the process that would tell the scheduler how the job has ended.
        for file, mark in (
            ("cmdline", f"slurmstepd: [{job}."),
            ("environ", f"SLURM_JOB_ID={job}\0"),
        ):
            for folder in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    if mark.encode() in (folder / file).read_bytes():
                        os.kill(int(folder.name), signal.SIGKILL)

    def states(self):
        """Return the state of every node, as sinfo gives it."""
        lines = output("sinfo", "-h", "-N", "-p", "main", "-o", "%N %T").split("\n")
        return dict(line.split() for line in lines if line)

    def stop(self):
        """End all jobs and daemons that were started here."""
        if "slurmctld" in self.daemons:
            output("scancel", "--state=RUNNING,PENDING", "--user=root")
            with contextlib.suppress(AssertionError):
                wait(lambda: not output("squeue", "-h"), "the end of all jobs", KILL_WAIT + 10)
        for daemon in reversed(self.daemons.values()):
            daemon.terminate()
            try:
                daemon.wait(timeout=30)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        for path in ETC.glob("*.conf"):
            if path.read_text().startswith(MARK):
                path.unlink()

    def _configure(self, name, text):
        path = ETC / name
        if path.exists() and not path.read_text().startswith(MARK):
            raise RuntimeError(f"{path} is not of these tests: this machine has a SLURM of its own")
        path.write_text(f"{MARK}\n{text}")

    def _start_munge(self):
        if output("munge", "-n"):
            return  # munged runs already
        for folder in ("/run/munge", "/var/log/munge", "/var/lib/munge", "/etc/munge"):
            Path(folder).mkdir(exist_ok=True)
            shutil.chown(folder, "munge", "munge")
        Path("/run/munge").chmod(0o755)
        key = Path("/etc/munge/munge.key")
        if not key.exists():
            key.write_bytes(os.urandom(1024))
        shutil.chown(key, "munge", "munge")
        key.chmod(0o400)
        user = ["--reuid=munge", "--regid=munge", "--clear-groups"]
        self._start("munged", *user, "munged", "--foreground", "--force")
        wait(lambda: output("munge", "-n"), "munged")

    def _start(self, name, *command):
        with (self.folder / f"{name}.log").open("a") as log:
            self.daemons[name] = subprocess.Popen(
                # Daemons end with pytest, however it ends.
                ["setpriv", "--pdeathsig=TERM", *command],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip


def slurm_conf(folder, host, nodes):
    """Return the configuration of a cluster without accounting, with short intervals."""
    lines = [
        "ClusterName=circlet",
        f"SlurmctldHost={host}(127.0.0.1)",
        "SlurmUser=root",
        f"SlurmctldPort={PORT}",
        "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny",
        f"StateSaveLocation={folder}/state",
        f"SlurmdSpoolDir={folder}/spool/%n",
        f"SlurmctldPidFile={folder}/slurmctld.pid",
        f"SlurmdPidFile={folder}/slurmd.%n.pid",
        "MpiDefault=none",
        "SwitchType=switch/none",
        "SlurmdParameters=config_overrides",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        # Memory is checked every second; a job above its request is killed.
        "JobAcctGatherType=jobacct_gather/linux",
        "JobAcctGatherFrequency=task=1",
        "JobAcctGatherParams=OverMemoryKill",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core_Memory",
        "DefMemPerCPU=500",
        "SchedulerType=sched/backfill",
        "SchedulerParameters=sched_interval=1,batch_sched_delay=1,bf_interval=1",
        "PreemptType=preempt/partition_prio",
        "PreemptMode=REQUEUE",
        f"SlurmdTimeout={SILENCE}",
        "AuthInfo=cred_expire=5",  # seconds that a requeued job has to wait; default 120
        f"KillWait={KILL_WAIT}",
        "MinJobAge=300",
        "ReturnToService=2",
        "GresTypes=gpu",
    ]
    lines += [
        f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={CPUS} Boards=1 "
        f"SocketsPerBoard=1 CoresPerSocket={CPUS} ThreadsPerCore=1 RealMemory={MEMORY_MB} "
        f"Gres=gpu:fake:{GPUS} State=UNKNOWN"
        for name, port in nodes.items()
    ]
    lines += [
        "PartitionName=main Nodes=ALL Default=YES DefaultTime=10 MaxTime=60 State=UP GraceTime=5",
        "PartitionName=urgent Nodes=ALL DefaultTime=10 MaxTime=60 State=UP PriorityTier=10",
    ]
    return "\n".join(lines) + "\n"
