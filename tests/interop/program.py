"""Runs `zarrcast` and keeps count of what agreed with the other implementations."""

import argparse
import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
MAX_SHOWN_FAILURES = 40
TIME_LIMIT_SECONDS = 120


class Refused(AssertionError):
    """The program ended with another status than 0."""


class Zarrcast:
    """The program under test; `path` is its executable, `environment` its environment: without it, this process's own."""

    def __init__(self, path, environment=None):
        self.path = str(path)
        self.environment = dict(os.environ) if environment is None else environment

    def within(self, **environment):
        """The same program, told more by its environment; None takes a variable away."""
        known = self.environment | environment
        return Zarrcast(self.path, {name: value for name, value in known.items() if value is not None})

    def run(self, *arguments):
        """Run it and return the completed process, whatever its status; a panic is always a failure."""
        command = [self.path, *map(str, arguments)]
        process = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=TIME_LIMIT_SECONDS, env=self.environment
        )
        if "panicked at" in process.stderr or process.returncode not in (0, 1, 2, 3, 4):
            raise AssertionError(f"status {process.returncode}: {process.stderr.strip()}\n    {shown(command)}")
        return process

    def ok(self, *arguments):
        """Run it, demand success, return stdout."""
        process = self.run(*arguments)
        if process.returncode != 0:
            raise Refused(f"status {process.returncode}: {process.stderr.strip()}\n    {shown([self.path, *map(str, arguments)])}")
        return process.stdout

    def json(self, *arguments):
        """Run it with `--json` and return the document."""
        return json.loads(self.ok(*arguments, "--json"))

    def status(self, expected, *arguments):
        """Run it and demand an exit status and, if that is a failure, a message; return stderr."""
        process = self.run(*arguments)
        if process.returncode != expected:
            raise AssertionError(
                f"status {process.returncode}, not {expected}: {process.stderr.strip()}\n    {shown([self.path, *map(str, arguments)])}"
            )
        assert expected == 0 or process.stderr.strip(), "a failure without a message"
        return process.stderr


def shown(command):
    """A command line as a shell would take it."""
    return shlex.join(str(word) for word in command)


class Tally:
    """Counts cases, of several threads too. `with tally.case(name):` passes unless the block raises."""

    def __init__(self):
        self.passed = self.failed = 0
        self.sections = []
        self.lock = threading.Lock()

    @contextlib.contextmanager
    def case(self, *name):
        """One case; an exception in it is a failure that is reported, and the run goes on."""
        try:
            yield
            with self.lock:
                self.passed += 1
        except Exception as error:
            with self.lock:
                self.failed += 1
                if self.failed <= MAX_SHOWN_FAILURES:
                    text = str(error) or type(error).__name__
                    print(f"FAIL {' '.join(map(str, name))}: {text}", flush=True)

    def section(self, function, *arguments):
        """Run a section and say what it came to."""
        passed, failed, start = self.passed, self.failed, time.monotonic()
        try:
            function(self, *arguments)
        except Exception as error:
            self.failed += 1
            print(f"FAIL {function.__name__} stopped: {type(error).__name__}: {error}", flush=True)
        seconds = time.monotonic() - start
        print(f"{function.__name__}: {self.passed - passed} passed, {self.failed - failed} failed, {seconds:.1f} s", flush=True)

    def close(self):
        """Print the closing line and return the exit status."""
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed or not self.passed else 0


def run_sections(description, sections):
    """The main function of a script: its options, a temporary folder, the sections in order."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("zarrcast", nargs="?", default=os.environ.get("ZARRCAST", "zarrcast"), help="the program (default: $ZARRCAST)")
    parser.add_argument("--only", help="run only the sections whose name contains this")
    options = parser.parse_args()
    path = shutil.which(options.zarrcast)
    if path is None:
        sys.exit(f"no program at {options.zarrcast}: build it, then give its path or set ZARRCAST")
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="zarrcast-interop-") as folder:
        for section in sections:
            if not options.only or options.only in section.__name__:
                place = Path(folder) / section.__name__
                place.mkdir()
                tally.section(section, Zarrcast(path), place)
    sys.exit(tally.close())
