"""Slurm with two nodes on one host: daemons, key, ports and folders of its own, all on 127.0.0.1, stopped at the end whatever happens."""

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from parts_jobs import running, until

PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "sinfo"]
# Where Debian has daemons.
PATH = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])
# So small that arrays of more tasks have to share.
MAX_ARRAY_SIZE = 8

CONFIGURATION = """ClusterName=interop
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1,batch_sched_delay=0
ReturnToService=2
KillWait=2
MaxArraySize={max_array_size}
SlurmdParameters=config_overrides
NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 RealMemory=8000
NodeName=node2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 RealMemory=8000
PartitionName=all Nodes=node1,node2 Default=YES MaxTime=INFINITE State=UP
"""


def lacking():
    return [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [found.getsockname()[1] for found in sockets]
    for found in sockets:
        found.close()
    return ports


class Cluster:
    def __init__(self, environment):
        self.environment = environment

    def run(self, *command, folder=None, **environment):
        """Returns stdout of a client that ends with 0."""
        process = subprocess.run(
            [str(word) for word in command],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, cwd=folder, env=self.environment | environment,
        )  # fmt: skip
        assert process.returncode == 0, f"{command}: {process.returncode}: {process.stderr}{process.stdout}"
        return process.stdout

    def jobs(self, *options):
        """Names of jobs that are queued or run, and of each task of an array."""
        return self.run("squeue", "--noheader", "--array", "--format=%i", *options).split()

    def settle(self):
        until(lambda: not self.jobs(), "Slurm's queue is empty")


@contextlib.contextmanager
def cluster():
    # A socket's path may be but 107 bytes long.
    with tempfile.TemporaryDirectory(prefix="slurm-") as name, contextlib.ExitStack() as daemons:
        folder = Path(name)
        folder.chmod(0o755)
        for made in ("state", "node1", "node2"):
            (folder / made).mkdir()
        key = folder / "munge.key"
        key.touch(0o600)
        key.write_bytes(secrets.token_bytes(128))
        host = socket.gethostname().partition(".")[0]
        user = os.environ.get("USER") or Path.home().owner()
        names = {"host": host, "user": user, "folder": folder, "ports": free_ports(3), "max_array_size": MAX_ARRAY_SIZE}
        (folder / "slurm.conf").write_text(CONFIGURATION.format(**names))
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "SBATCH"))}
        environment |= {"PATH": PATH, "SLURM_CONF": str(folder / "slurm.conf")}
        sign = [f"--socket={folder}/munge.socket", f"--key-file={key}", f"--pid-file={folder}/munged.pid"]
        sign += [f"--seed-file={folder}/munge.seed", f"--log-file={folder}/munged.log"]
        commands = [["munged", "--foreground", "--force", *sign], ["slurmctld", "-D"]]
        commands += [["slurmd", "-D", "-N", node] for node in ("node1", "node2")]
        found = Cluster(environment)
        try:
            for command in commands:
                command[0] = shutil.which(command[0], path=PATH)
                daemons.enter_context(running(command, folder / "log", environment, folder))
                until((folder / "munge.socket").exists, "munged answers")
            until(lambda: idle_nodes(found) == 2, "both nodes are idle")
            yield found
            found.run("scancel", "--user", user)
        except BaseException:
            print((folder / "log").read_text()[-3000:], flush=True)
            raise


def idle_nodes(found):
    with contextlib.suppress(AssertionError):
        return len(found.run("sinfo", "--noheader", "--Node", "--states=idle").splitlines())
