# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""A cluster on this machine: the distribution's slurmctld, slurmd and munged, for tests.

Each node is a slurmd in process and mount namespaces of its own, so that it can be killed as a
machine is: everything that runs on it ends at once. Needs root, who may make such namespaces.

    slurm_cluster.py FOLDER NODES COMMAND…    runs a command with a cluster around it
"""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "unshare")
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
PATIENCE = 120.0  # seconds, for anything at all

CONF = """
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdSpoolDir={folder}/%n
TmpFS={folder}/%n.tmp
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SlurmdTimeout=10
ReturnToService=2
MaxArraySize={largest_array}
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def why_not():
    """Why there can be no cluster here; "" if there can."""
    lacking = [program for program in PROGRAMS if shutil.which(program, path=PATH) is None]
    if lacking:
        return f"{', '.join(lacking)} are not installed (packages slurmctld, slurmd, munge)"
    return "" if os.geteuid() == 0 else "only root may start the nodes"


def wait_until(condition, what):
    """Its value, as soon as it is true."""
    end = time.monotonic() + PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"waited {PATIENCE:g} s until {what}")
        time.sleep(0.1)


class Cluster:
    """Nodes of so many cores; `more` are lines of slurm.conf. `environment` is what commands of
    Slurm need to find it."""

    def __init__(self, folder, nodes, largest_array=1001, cores=1, more=""):
        self.folder = Path(folder)
        self.folder.mkdir(mode=0o755)
        self.names = [f"n{i + 1}" for i in range(nodes)]
        self.processes = {}
        self.environment = {**os.environ, "PATH": PATH, "SLURM_CONF": str(self.folder / "conf")}
        port, *ports = _free_ports(nodes + 1)
        lines = [
            f"NodeName={name} NodeHostname={socket.gethostname()} NodeAddr=127.0.0.1 Port={port}"
            f" CPUs={cores} RealMemory=16000 State=UNKNOWN"
            for name, port in zip(self.names, ports)
        ]
        (self.folder / "conf").write_text(
            CONF.format(
                host=socket.gethostname(),
                port=port,
                folder=self.folder,
                nodes="\n".join([*lines, more]),
                largest_array=largest_array,
            )
        )

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in [*self.names, "slurmctld", "munged"]:
            self.kill(name)

    def _start(self):
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)
        options = [f"--{kind}-file={self.folder}/munge.{kind}" for kind in ("key", "pid", "log")]
        options += [f"--seed-file={self.folder}/munge.seed", f"--socket={self.folder}/munge.socket"]
        # What it says of folders that others may write to is true of /tmp, and no matter here.
        self._run("munged", ["munged", "--foreground", "--force", *options])
        wait_until((self.folder / "munge.socket").exists, "munged answers")
        self._run("slurmctld", ["slurmctld", "-D"])
        wait_until(lambda: "UP" in self.ask("scontrol", "ping"), "slurmctld answers")
        for name in self.names:
            self.start(name)

    def _run(self, name, command):
        with open(self.folder / f"{name}.out", "ab") as out:
            self.processes[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=self.environment,
                start_new_session=True,
            )

    def start(self, name, before="true"):
        """Starts a node, after a shell command in its own mounts, and waits until it is idle."""
        (self.folder / f"{name}.tmp").mkdir(exist_ok=True)
        script = f"mount --make-rprivate / && {before} && exec slurmd -D -N {name}"
        spaces = ["unshare", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc"]
        self._run(name, [*spaces, "/bin/sh", "-c", script])
        wait_until(lambda: self.state(name) == "idle", f"node {name} is idle")

    def kill(self, name):
        """At once, with everything that runs on it."""
        process = self.processes.pop(name, None)
        if process is not None:
            process.kill()
            process.wait()

    def state(self, name):
        return self.ask("sinfo", "--noheader", f"--nodes={name}", "--format=%T").strip()

    def ask(self, *command):
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        return done.stdout

    def tasks(self, state):
        """The tasks that are in this state, such as ("5_3", "n1"); no node where there is none."""
        text = self.ask("squeue", "--noheader", "--array", f"--states={state}", "--format=%i %N")
        return [tuple([*line.split(), ""][:2]) for line in text.splitlines()]

    def logs(self):
        """The ends of what the daemons have said, for a test that failed."""
        files = sorted([*self.folder.glob("*.log"), *self.folder.glob("*.out")])
        return "\n".join(f"{f.name}: {f.read_text(errors='replace')[-2000:]}" for f in files)


def _free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def main():
    folder, nodes, *command = sys.argv[1:]
    if why_not():
        print(f"SKIPPED: {why_not()}")
        return 77
    with Cluster(Path(folder).resolve(), int(nodes)) as cluster:
        return subprocess.run(command, env=cluster.environment).returncode


if __name__ == "__main__":
    sys.exit(main())
