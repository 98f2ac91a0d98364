"""A test job in parts: its SOURCE, the result of a plain run, its processes and its missing parts.

Slurm is one of two nodes on this host, with its own daemons, key, ports and folders. It stops at the end.
"""

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from program import free_port, running, same_files, until

PARTS = 8
# Slow enough to kill a part during its work: most parts need a large fraction of a second.
OPTIONS = ["--quantize", "uint16", "--compress", "zstd:19"]
# Quotes, text that shells, Snakefiles, Kubernetes and Python expand, and letters outside ASCII.
ODD_NAME = "it's \"$(touch pwned)\" {x} é %41"


def document(folder, node_type, **members):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": node_type, "attributes": {}} | members))


def array(folder, elements, depth):
    """Writes uncompressed chunks of `depth` levels each."""
    grid = {"name": "regular", "configuration": {"chunk_shape": [depth, *elements.shape[1:]]}}
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}]
    members = {"chunk_grid": grid, "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": codecs}
    document(folder, "array", shape=elements.shape, data_type="float32", **members)
    for index in range(elements.shape[0] // depth):
        chunk = folder / "c" / str(index) / "0" / "0"
        chunk.parent.mkdir(parents=True)
        chunk.write_bytes(elements[index * depth : (index + 1) * depth].astype("<f4").tobytes())


def make_source(folder):
    """Writes a hierarchy: an array of 32 chunks and some small arrays."""
    random = np.random.default_rng(13)
    document(folder, "group", attributes={"title": "for parts"})
    document(folder / "level", "group")
    array(folder / "level" / "temperature", np.cumsum(random.standard_normal((64, 512, 512)), axis=2), 2)
    for number in range(3):
        array(folder / f"small_{number}", random.standard_normal((4, 8, 8)), 1)


class Job:
    """A planned job in parts. `destination` is its DEST in commands."""

    def __init__(self, zarrcast, shared, folder, destination=None):
        self.source, self.plain = shared / ODD_NAME, shared / "plain"
        self.folder = folder
        self.destination = destination or folder / f"to {ODD_NAME}"
        commands = folder / "bin"
        commands.mkdir(parents=True)
        (commands / "zarrcast").symlink_to(Path(zarrcast.path).resolve())
        self.zarrcast = zarrcast.within(PATH=f"{commands}{os.pathsep}{os.environ['PATH']}")
        self.transcode(*OPTIONS, "--threads", 1, "--init", "--partitions", PARTS)

    def transcode(self, *options):
        return self.zarrcast.ok("transcode", *options, "--", self.source, self.destination)

    def script(self, engine, name, *options):
        path = self.folder / name
        path.write_text(self.transcode("--print-script", engine, *options))
        return path

    def missing(self):
        process = self.zarrcast.run("transcode", "--status", "--json", "--", self.source, self.destination)
        status = json.loads(process.stdout)
        lists = {found["name"]: found["missing"] for found in status["passes"] if found["missing"]}
        assert process.returncode == (1 if lists else 0), process
        return lists

    def is_complete(self):
        return json.loads(self.transcode("--status", "--json"))["complete"]

    def running(self, command, log):
        return running(command, log, self.zarrcast.environment, self.folder)

    def parts(self, name):
        """Returns the command lines of processes that work on a part of a pass, by process number."""
        running = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                is_part = b"--partition" in words and name.encode() in words and str(self.destination).encode() in words
                if is_part and Path(os.readlink(folder / "exe")).name == "zarrcast" and self.has_begun(folder):
                    running[int(folder.name)] = words
        return running

    def has_begun(self, process):
        """Returns whether a process has worked for a tenth of a second. A part needs several."""
        ticks = (process / "stat").read_text().rpartition(")")[2].split()[11:13]
        return sum(map(int, ticks)) >= os.sysconf("SC_CLK_TCK") // 10

    def kill_a_part(self, name):
        process, words = until(lambda: self.parts(name), f"a part of {name} runs").popitem()
        os.kill(process, signal.SIGKILL)
        return part_of(words)

    def check_done(self, written=None):
        """Checks that the result is complete and equals that of a plain run, byte for byte."""
        assert self.is_complete()
        same_files(written or self.destination, self.plain)
        assert not list(self.folder.rglob("pwned")), "a name was carried out"


def part_of(words):
    return words[words.index(b"--partition") + 1].decode()


def numbers(missing_parts):
    """Returns the numbers of a list such as 3,7-9."""
    ranges = re.findall(r"(\d+)(?:-(\d+))?", missing_parts)
    return {number for first, last in ranges for number in range(int(first), int(last or first) + 1)}


PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "sinfo"]
# Debian installs daemons here.
PATH = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])
# So small that arrays of more tasks must be split.
MAX_ARRAY_SIZE = 8

CONFIGURATION = """ClusterName=interop
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
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


class Cluster:
    def __init__(self, environment):
        self.environment = environment

    def run(self, *command, folder=None, **environment):
        process = subprocess.run(
            [str(word) for word in command],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, cwd=folder, env=self.environment | environment,
        )  # fmt: skip
        assert process.returncode == 0, f"{command}: {process.returncode}: {process.stderr}{process.stdout}"
        return process.stdout

    def jobs(self, *options):
        return self.run("squeue", "--noheader", "--array", "--format=%i", *options).split()

    def settle(self):
        until(lambda: not self.jobs(), "Slurm's queue is empty")


@contextlib.contextmanager
def cluster():
    # The maximum length of a socket's path is 107 bytes.
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
        ports = [free_port() for _ in range(3)]
        names = {"host": host, "user": user, "folder": folder, "ports": ports, "max_array_size": MAX_ARRAY_SIZE}
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
