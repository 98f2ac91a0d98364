"""A job in parts for tests: its SOURCE, what a plain run makes of it, its processes and what is missing."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
from program import same_files

PARTS = 8
# Slow enough that a part can be killed in the middle: most of a second each.
OPTIONS = ["--quantize", "uint16", "--compress", "zstd:19"]
SECONDS_TO_WAIT = 90
# Quotes, what shells, Snakefiles, Kubernetes and Python expand, and letters beyond ASCII.
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
    """A hierarchy: an array of 32 chunks and small ones beside it."""
    random = np.random.default_rng(13)
    document(folder, "group", attributes={"title": "for parts"})
    document(folder / "level", "group")
    array(folder / "level" / "temperature", np.cumsum(random.standard_normal((64, 512, 512)), axis=2), 2)
    for number in range(3):
        array(folder / f"small_{number}", random.standard_normal((4, 8, 8)), 1)


def until(found, what):
    """Waits until a function gives something, and returns it."""
    end = time.monotonic() + SECONDS_TO_WAIT
    while not (result := found()):
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.02)
    return result


class Job:
    """A job in parts that is begun. `destination` is its DEST as commands name it."""

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
        """The missing parts of each pass that has any."""
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
        """The command lines of processes in the middle of a part of a pass, by process number."""
        running = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                is_part = b"--partition" in words and name.encode() in words and str(self.destination).encode() in words
                if is_part and Path(os.readlink(folder / "exe")).name == "zarrcast" and self.has_begun(folder):
                    running[int(folder.name)] = words
        return running

    def has_begun(self, process):
        """True if a process has worked for a tenth of a second. A part takes several."""
        ticks = (process / "stat").read_text().rpartition(")")[2].split()[11:13]
        return sum(map(int, ticks)) >= os.sysconf("SC_CLK_TCK") // 10

    def kill_a_part(self, name):
        """Kills a process in the middle of a part. Returns the part's number on its command line."""
        process, words = until(lambda: self.parts(name), f"a part of {name} runs").popitem()
        os.kill(process, signal.SIGKILL)
        return part_of(words)

    def check_done(self, written=None):
        """Complete, and byte for byte what a plain run writes."""
        assert self.is_complete()
        same_files(written or self.destination, self.plain)
        assert not list(self.folder.rglob("pwned")), "a name was carried out"


def part_of(words):
    """The number of a part on its command line."""
    return words[words.index(b"--partition") + 1].decode()


def numbers(missing_parts):
    """The numbers of a list such as 3,7-9."""
    ranges = re.findall(r"(\d+)(?:-(\d+))?", missing_parts)
    return {number for first, last in ranges for number in range(int(first), int(last or first) + 1)}


@contextlib.contextmanager
def running(command, log, environment, folder):
    """Runs a process in a session of its own, which ends with all that it started."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment, cwd=folder, start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
