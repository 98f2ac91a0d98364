"""Destinations of jobs of the random test (a folder, a zip, a bucket) and processes that are ended or paused in the middle.

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
from program import TIME_LIMIT_SECONDS, files, shown
from remote_servers import BUCKET

OWN = ".zarrcast"
DOCUMENTS = (".json", ".zarray", ".zattrs", ".zgroup", ".zmetadata")
DENIED = b"<Error><Code>AccessDenied</Code></Error>"


@dataclass
class Stop:
    """The moment of a signal, as a share of the whole run, and the fate of the requests from then on."""

    signal: int
    moment: float
    requests: str = "answered"
    late_after: int = 0
    """The number of chunks of the next run before late requests arrive."""
    removing: bool = False
    """True if a run over a bucket is instead stopped when it first removes something."""
    fired: threading.Event = field(default_factory=threading.Event)

    def fire(self, process):
        """Sends the signal once. One that a process can handle is sent when its handler is there."""
        for _ in range(200):
            if self.signal in (signal.SIGKILL, signal.SIGSTOP) or is_heeded(self.signal, process):
                break
            time.sleep(0.005)
        if not self.fired.is_set():
            process.send_signal(self.signal)
            self.fired.set()


@dataclass
class Ended:
    status: int
    stdout: str
    stderr: str

    def __str__(self):
        return f"status {self.status}: {self.stderr.strip() or self.stdout.strip()}"


class Place:
    """A DEST and its folder. `program` runs jobs on it, `direct` looks at it. `steps` are the commands so far."""

    keeps_old = True
    """True if the old DEST stays until the new one is complete."""

    def __init__(self, zarrcast, folder, name, seconds):
        self.program = self.direct = zarrcast
        self.folder, self.name, self.steps = folder, name, []
        self.processes = []
        self.interrupted = 0
        """The number of runs that a signal has ended."""
        self.seconds = seconds
        """The seconds of a whole run, about."""

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.communicate()

    def run(self, *arguments, stop=None):
        return self.end(self.start(*arguments, stop=stop), stop)

    def start(self, *arguments, stop=None):
        self.steps.append(shown([self.program.path, *arguments]) + (f"    # {signal.Signals(stop.signal).name} at {stop.moment:.2f} of it" if stop else ""))
        self.processes.append(self.watched(lambda: self.program.start(*arguments), stop))
        return self.processes[-1]

    def watched(self, start, stop):
        """Starts a process that a timer stops."""
        process = start()
        if stop:
            timer = threading.Timer(stop.moment * self.seconds, stop.fire, [process])
            timer.daemon = True
            timer.start()
        return process

    def end(self, process, stop=None):
        """Waits for the end of a process. An end that nothing explains is a failure."""
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
        """Waits for requests that are under way."""

    def is_begun(self):
        return self.name.exists()

    def opens(self):
        """True if the program opens DEST, with errors of SOURCE's metadata, too."""
        process = self.direct.run("inspect", self.name)
        assert process.returncode in (0, 1, 3), f"inspect ended with {process.returncode}: {process.stderr}"
        return process.returncode != 3

    def found(self):
        """The bytes of DEST by keys. None if it does not open."""
        return self.contents() if self.opens() else None

    def left(self):
        """The files that runs have left in DEST and beside it."""
        beside = [one for one in os.listdir(self.folder) if one != self.name.name]
        return beside + [str(path) for path in self.name.rglob(OWN)] if self.name.is_dir() else beside


class Folder(Place):
    def contents(self):
        return read_folder(self.name)

    def write(self, contents):
        for key, content in contents.items():
            (self.name / key).parent.mkdir(parents=True, exist_ok=True)
            (self.name / key).write_bytes(content)

    def remove(self):
        shutil.rmtree(self.name, ignore_errors=True)

    def opens(self):
        """zarr-python opens nothing that the program does not open."""
        found = super().opens()
        assert found or not opened_by_zarr_python(self.name), "zarr-python opens what the program does not"
        return found


class Zip(Folder):
    def contents(self):
        with zipfile.ZipFile(self.name) as file:
            return {key: file.read(key) for key in file.namelist() if not key.endswith("/")}

    def write(self, contents):
        with zipfile.ZipFile(self.name, "w") as file:
            for key, content in contents.items():
                file.writestr(key, content)


class Bucket(Place):
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
        """Starts a process that is stopped after a number of requests."""
        if stop is None:
            return start()
        self.begun.clear()
        self.stop, self.count = stop, 0
        self.process = start()
        self.begun.set()
        return self.process

    def fault(self, _, request):
        """The fault of a request, for the proxy."""
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
        """The fault of a request of a process that is stopped."""
        if not stop.fired.is_set():
            self.begun.wait(5)
            stop.fire(self.process)
            self.steps.append(f"    # {signal.Signals(stop.signal).name} at request {self.count}, {request.method} {request.path}, which is {stop.requests}")
            if stop.requests == "late":
                self.late, self.late_from = Late(), self.chunks + stop.late_after
        return {"answered": None, "lost": Hang(), "late": self.late}[stop.requests]

    def settle(self):
        """Waits until the server has all requests."""
        self.stop = None
        time.sleep(0.01)
        while self.proxy.asking:
            time.sleep(0.005)

    def contents(self):
        return {key: bytes(self.store.get(key).bytes()) for key in self.keys() if not is_own(key)}

    def keys(self):
        return [one["path"] for batch in self.store.list() for one in batch]

    def is_begun(self):
        return bool(self.keys())

    def write(self, contents):
        for key, content in contents.items():
            self.store.put(key, content)

    def remove(self):
        if keys := self.keys():
            self.store.delete(keys)

    def left(self):
        return [key for key in self.keys() if is_own(key)]


def is_heeded(number, process):
    """True if a process has a handler for a signal, or has ended."""
    with contextlib.suppress(OSError, IndexError):
        caught = Path(f"/proc/{process.pid}/status").read_text().partition("SigCgt:")[2].split()[0]
        return bool(int(caught, 16) >> (number - 1) & 1)
    return True


def is_document(key):
    return key.endswith(DOCUMENTS)


def is_own(key):
    """True if a key belongs to the journal or the lock of a run."""
    return OWN in key.split("/")


def read_folder(folder):
    """The files of a folder, without those of a journal or a lock."""
    return {key: content for key, content in files(folder).items() if not is_own(key)}


def opened_by_zarr_python(path):
    with contextlib.suppress(Exception):
        zarr.open(str(path), mode="r")
        return True
    return False
