"""Where jobs of the random test write: a folder, a zip, a bucket; and their processes, which are ended or paused in the middle.

`run` takes a `Stop` that says when and by which signal. Of a bucket all requests go through a proxy, which counts them.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import zarr
from fault_proxy import Answer, Before, FaultProxy, Hang, Late
from program import TIME_LIMIT_SECONDS, shown
from remote_servers import BUCKET

OWN = ".zarrcast"
DOCUMENTS = (".json", ".zarray", ".zattrs", ".zgroup", ".zmetadata")
DENIED = b"<Error><Code>AccessDenied</Code></Error>"


@dataclass
class Stop:
    """When a process gets a signal, as a share of the whole run; what becomes of its requests from then on."""

    signal: int
    moment: float
    requests: str = "answered"
    late_after: int = 0
    """How many chunks the next run puts before late requests arrive."""
    removing: bool = False
    """Whether a run over a bucket is stopped when it first removes something instead."""
    fired: threading.Event = field(default_factory=threading.Event)

    def fire(self, process):
        """Send the signal, once; one that can be heeded as soon as the process does so."""
        for _ in range(200):
            if self.signal in (signal.SIGKILL, signal.SIGSTOP) or is_heeded(self.signal, process):
                break
            time.sleep(0.005)
        if not self.fired.is_set():
            process.send_signal(self.signal)
            self.fired.set()


@dataclass
class Ended:
    """What a process came to."""

    status: int
    stdout: str
    stderr: str

    def __str__(self):
        return f"status {self.status}: {self.stderr.strip() or self.stdout.strip()}"


class Place:
    """A DEST and its folder; `program` runs jobs on it, `direct` looks at it. `steps` are the commands so far, for whoever repeats them."""

    keeps_old = True
    """Whether the old DEST is there until the new one is complete."""

    def __init__(self, zarrcast, folder, name, seconds):
        self.program = self.direct = zarrcast
        self.folder, self.name, self.steps = folder, name, []
        self.processes = []
        self.interrupted = 0
        """How many runs a signal has ended."""
        self.seconds = seconds
        """How long a whole run takes, about."""

    def close(self):
        """End what still runs, or is paused."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.communicate()

    def run(self, *arguments, stop=None):
        """Run the program to its end, or until it is stopped."""
        return self.end(self.start(*arguments, stop=stop), stop)

    def start(self, *arguments, stop=None):
        """Start the program, and see to it that it is stopped."""
        command = [self.program.path, *map(str, arguments)]
        self.steps.append(shown(command) + (f"    # {signal.Signals(stop.signal).name} at {stop.moment:.2f} of it" if stop else ""))
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.processes.append(self.watched(lambda: subprocess.Popen(command, text=True, env=self.program.environment, **pipes), stop))
        return self.processes[-1]

    def watched(self, start, stop):
        """A process, which a timer stops."""
        process = start()
        if stop:
            timer = threading.Timer(stop.moment * self.seconds, stop.fire, [process])
            timer.daemon = True
            timer.start()
        return process

    def end(self, process, stop=None):
        """Wait for the end of a process; an end that nothing explains is a failure."""
        try:
            stdout, stderr = process.communicate(timeout=TIME_LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise AssertionError(f"it does not end: {shown(process.args)}") from None
        self.settle()
        self.steps.append(f"    # ended with {process.returncode}")
        expected = [0, 1, 2, 3, 4]
        if stop:
            self.interrupted += process.returncode not in expected
            expected += [-stop.signal if stop.signal == signal.SIGKILL else 128 + stop.signal]
        assert process.returncode in expected and "panicked at" not in stderr, f"status {process.returncode}: {stderr.strip()}"
        assert process.returncode <= 0 or stdout.strip() or stderr.strip(), "a failure without a message"
        return Ended(process.returncode, stdout, stderr)

    def settle(self):
        """Wait for what is still under way."""

    def is_begun(self):
        """Whether there is anything at DEST."""
        return self.name.exists()

    def opens(self):
        """Whether there is anything that opens, for the program and for zarr-python; with errors of SOURCE's metadata, too."""
        process = self.direct.run("inspect", self.name)
        assert process.returncode in (0, 1, 3), f"inspect ended with {process.returncode}: {process.stderr}"
        return process.returncode != 3

    def found(self):
        """What opens at DEST, by keys; None where nothing does."""
        return self.contents() if self.opens() else None

    def left(self):
        """What runs have left in DEST and beside it, of what they keep for themselves."""
        beside = [one for one in os.listdir(self.folder) if one != self.name.name]
        return beside + [str(path) for path in self.name.rglob(OWN)] if self.name.is_dir() else beside


class Folder(Place):
    """A folder of the local disk."""

    def contents(self):
        """The bytes by keys."""
        return read_folder(self.name)

    def write(self, contents):
        """Write a store as others do."""
        for key, content in contents.items():
            (self.name / key).parent.mkdir(parents=True, exist_ok=True)
            (self.name / key).write_bytes(content)

    def remove(self):
        """As `rm -r`; what a run writes meanwhile may stay."""
        shutil.rmtree(self.name, ignore_errors=True)

    def opens(self):
        """Nothing that the program does not open is opened by zarr-python."""
        found = super().opens()
        assert found or not opened_by_zarr_python(self.name), "zarr-python opens what the program does not"
        return found


class Zip(Folder):
    """A file."""

    def contents(self):
        with zipfile.ZipFile(self.name) as file:
            return {key: file.read(key) for key in file.namelist() if not key.endswith("/")}

    def write(self, contents):
        with zipfile.ZipFile(self.name, "w") as file:
            for key, content in contents.items():
                file.writestr(key, content)


class Bucket(Place):
    """A prefix of a bucket, behind a proxy."""

    keeps_old = False

    def __init__(self, zarrcast, folder, cloud, prefix):
        super().__init__(zarrcast, folder, f"{cloud.scheme}://{BUCKET}/{prefix}", 0)
        self.cloud, self.prefix, self.store = cloud, prefix, cloud.obstore(prefix)
        self.requests_expected = 20
        self.stop = self.process = self.late = self.refused_from = None
        self.begun, self.count, self.puts = threading.Event(), 0, 0
        self.chunks = self.late_from = 0
        self.proxy = FaultProxy(cloud.endpoint, self.fault)
        self.proxy.__enter__()
        self.direct = zarrcast.within(**cloud.environment)
        self.program = self.direct.within(**cloud.at(self.proxy.address))

    def close(self):
        super().close()
        self.proxy.__exit__()

    def watched(self, start, stop):
        """A process that is stopped as soon as so many requests were sent."""
        if stop is None:
            return start()
        self.begun.clear()
        self.stop, self.count = stop, 0
        self.process = start()
        self.begun.set()
        return self.process

    def fault(self, _, request):
        """What goes wrong with a request; the proxy asks."""
        stop = self.stop
        if stop:
            self.count += 1
            comes = request.method in ("POST", "DELETE") if stop.removing else self.count > stop.moment * self.requests_expected
            if comes or stop.fired.is_set():
                return self.after(stop, request)
        if request.method == "PUT":
            self.puts += 1
            if self.refused_from is not None and self.puts > self.refused_from:
                return Answer(403, DENIED)
            # What is late arrives before the last chunk does: a run can know of it.
            is_chunk = not is_own(request.path) and not is_document(request.path)
            self.chunks += is_chunk
            if self.late and is_chunk and self.chunks > self.late_from:
                return Before(self.late)
        return None

    def after(self, stop, request):
        """What becomes of a request of a process that is stopped."""
        if not stop.fired.is_set():
            self.begun.wait(5)
            stop.fire(self.process)
            self.steps.append(f"    # {signal.Signals(stop.signal).name} at request {self.count}, {request.method} {request.path}, which is {stop.requests}")
            if stop.requests == "late":
                self.late, self.late_from = Late(), self.chunks + stop.late_after
        return {"answered": None, "lost": Hang(), "late": self.late}[stop.requests]

    def settle(self):
        """Wait until the server has what was sent."""
        self.stop = None
        time.sleep(0.01)
        while self.proxy.asking:
            time.sleep(0.005)

    def contents(self):
        """The bytes by keys, without what runs keep for themselves."""
        return {key: bytes(self.store.get(key).bytes()) for key in self.keys() if not is_own(key)}

    def keys(self):
        """All keys below the prefix."""
        return [one["path"] for batch in self.store.list() for one in batch]

    def is_begun(self):
        return bool(self.keys())

    def write(self, contents):
        for key, content in contents.items():
            self.store.put(key, content)

    def remove(self):
        """As `aws s3 rm --recursive`."""
        if keys := self.keys():
            self.store.delete(keys)

    def left(self):
        return [key for key in self.keys() if is_own(key)]


def is_heeded(number, process):
    """Whether a process has a handler for a signal, or is over."""
    with contextlib.suppress(OSError, IndexError):
        caught = Path(f"/proc/{process.pid}/status").read_text().partition("SigCgt:")[2].split()[0]
        return bool(int(caught, 16) >> (number - 1) & 1)
    return True


def is_document(key):
    """Whether a key is that of metadata."""
    return key.endswith(DOCUMENTS)


def is_own(key):
    """Whether a key is of what a run keeps for itself."""
    return OWN in key.split("/")


def read_folder(folder):
    """The bytes of a folder's files by their paths below it, without what runs keep for themselves."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    found = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    return {key: content for key, content in found.items() if not is_own(key)}


def opened_by_zarr_python(path):
    """Whether zarr-python opens anything."""
    with contextlib.suppress(Exception):
        zarr.open(str(path), mode="r")
        return True
    return False
