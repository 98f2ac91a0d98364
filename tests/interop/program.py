"""Runs `zarrcast` and counts the cases that agree with other implementations."""

import contextlib
import itertools
import json
import os
import random
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
MAX_SHOWN_FAILURES = 40
TIME_LIMIT_SECONDS = 120
SECONDS_TO_WAIT = 90
PORTS = itertools.count(random.randrange(20_000, 30_000))


class Zarrcast:
    """The tested program. `environment` is by default that of this process. `launcher` is a command that runs it."""

    def __init__(self, path, environment=None, launcher=()):
        self.path, self.launcher = str(path), launcher
        self.environment = dict(os.environ) if environment is None else environment

    def within(self, **environment):
        """Returns the same program with other environment variables. None removes a variable."""
        known = self.environment | environment
        return Zarrcast(self.path, {name: value for name, value in known.items() if value is not None}, self.launcher)

    def run(self, *arguments, expected=(0, 1, 2, 3, 4)):
        """Returns the completed process. A panic or an unexpected status is a failure."""
        command = [*self.launcher, self.path, *map(str, arguments)]
        process = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=TIME_LIMIT_SECONDS, env=self.environment
        )
        if "panicked at" in process.stderr or process.returncode not in expected:
            raise AssertionError(f"status {process.returncode}: {process.stderr.strip()}\n    {shown(command)}")
        return process

    def start(self, *arguments):
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([*self.launcher, self.path, *map(str, arguments)], env=self.environment, **pipes)

    def ok(self, *arguments):
        """Returns stdout of a run with status 0."""
        return self.run(*arguments, expected=[0]).stdout

    def json(self, *arguments):
        return json.loads(self.ok(*arguments, "--json"))

    def transcode(self, *arguments):
        return self.json("transcode", *arguments)["nodes"][0]

    def status(self, status, *arguments):
        """Returns stderr of a run with this status. A failure must have a message."""
        message = self.run(*arguments, expected=[status]).stderr
        assert status == 0 or message.strip(), "a failure without a message"
        return message


def shown(command):
    return shlex.join(str(word) for word in command)


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file()}


def same_files(found, expected):
    found, expected = files(found), files(expected)
    differing = sorted(key for key in found.keys() | expected.keys() if found.get(key) != expected.get(key))
    assert not differing, f"{len(differing)} of {len(expected)} files differ, the first is {differing[0]}"


def until(found, what):
    end = time.monotonic() + SECONDS_TO_WAIT
    while not (result := found()):
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.02)
    return result


@contextlib.contextmanager
def running(command, log, environment, folder):
    """Runs a process in a separate session, which ends with all its children."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            list(map(str, command)), stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            env=environment, cwd=folder, start_new_session=True,
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


def free_port():
    """Returns a port below those that systems choose themselves: no other server or client gets it before it is used."""
    for port in PORTS:
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


class Tally:
    def __init__(self, folder=None):
        self.passed = self.failed = 0
        self.folder = folder
        self.lock = threading.Lock()

    @contextlib.contextmanager
    def case(self, *name):
        """Runs one case in its own empty folder. An exception is printed as a failure, and the run continues."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            yield folder
            with self.lock:
                self.passed += 1
        except Exception as error:
            with self.lock:
                self.failed += 1
                if self.failed <= MAX_SHOWN_FAILURES:
                    print(f"FAIL {' '.join(map(str, name))}: {str(error) or type(error).__name__}", flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def section(self, function, *arguments):
        passed, failed, start = self.passed, self.failed, time.monotonic()
        try:
            function(self, *arguments)
        except Exception as error:
            self.failed += 1
            print(f"FAIL {function.__name__} stopped: {type(error).__name__}: {error}", flush=True)
        seconds = time.monotonic() - start
        print(f"{function.__name__}: {self.passed - passed} passed, {self.failed - failed} failed, {seconds:.1f} s", flush=True)

    def close(self):
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed or not self.passed else 0
