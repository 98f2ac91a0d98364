#!/usr/bin/env python3
"""Sources and options of `transcode` drawn at random: what ends with 0 is right, and what does not leaves nothing.

zarr-python reads the values that numpy computes from SOURCE and the options, and `validate --level data` finds no
error. Some runs are killed first, and resumed. The cases depend on a seed: `--seed SEED --only NUMBER` repeats one
alone.
"""

import argparse
import contextlib
import hashlib
import json
import random
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import zarr
from program import MAX_SHOWN_FAILURES, Zarrcast, files, shown
from random_cases import Asked, Source, check_array, draw_options, draw_source

warnings.filterwarnings("ignore")

DOCUMENTS = ("zarr.json", ".zarray", ".zgroup")
CASES_PER_SOURCE = 8
PARALLEL = 2


def checksum(path):
    return hashlib.blake2b(repr(files(path)).encode()).hexdigest()


@dataclass
class Case:
    number: int
    source: Source
    checksum: str
    destination: Path
    asked: Asked
    killed_after: float | None
    """The seconds after which a first run is killed."""

    def arguments(self):
        return ["transcode", *self.asked.words, "--json", self.source.path, self.destination]

    def __str__(self):
        return "; ".join(f"{path or 'array'}: {one.described()}" for path, one in self.source.arrays.items())


class Trial:
    def __init__(self, program, seed, folder):
        self.program, self.seed, self.folder = Zarrcast(program), seed, folder
        self.failures, self.statuses = 0, Counter()

    def draw(self, group, numbers):
        folder = self.folder / str(group)
        folder.mkdir()
        source = draw_source(random.Random(f"{self.seed} source {group}"), folder / "source.zarr")
        before = checksum(source.path)
        for number in numbers:
            drawer = random.Random(f"{self.seed} case {number}")
            asked = draw_options(drawer, source)
            killed_after = drawer.random() * 0.02 if drawer.random() < 0.2 else None
            yield Case(number, source, before, folder / f"{number}.zarr", asked, killed_after)

    def run(self, case):
        try:
            return self.program.run(*case.arguments()) if case.killed_after is None else self.killed_and_resumed(case)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            return error

    def killed_and_resumed(self, case):
        """Kills a run during its work and resumes it. If the run had already finished, returns its result."""
        process = self.program.start(*case.arguments())
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(case.killed_after)
        process.kill()
        stdout, stderr = process.communicate()
        if process.returncode >= 0:
            return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)
        self.statuses["killed"] += 1
        return self.program.run(*case.arguments(), "--overwrite" if opens(case.destination) else "--resume")

    def judge(self, cases, processes):
        done = [case for case, process in zip(cases, processes) if getattr(process, "returncode", 1) == 0]
        faults = self.errors([cases[0].source.path, *(case.destination for case in done)]) if done else {}
        for case, process in zip(cases, processes):
            try:
                found, present = (faults.get(str(path), {}) for path in (case.destination, case.source.path))
                self.judge_one(case, process, {code: text for code, text in found.items() if code not in present})
            except Exception as error:
                self.failures += 1
                if self.failures <= MAX_SHOWN_FAILURES:
                    text = f"FAIL --seed {self.seed} --only {case.number}: {str(error).strip() or type(error).__name__}"
                    print(text, shown([self.program.path, *case.arguments()]), case, sep="\n    ", flush=True)
            except BaseException as error:
                # cast-value-rs 0.5.1 accepts no unaligned buffer, which zarr-python passes to it from shards.
                if "AsSliceError" not in str(error):
                    raise
                self.statuses["unaligned"] += 1

    def errors(self, stores):
        """Returns the first error of each code that `validate --level data` finds, by store."""
        process = self.program.run("validate", "--level", "data", "--json", *stores)
        if process.returncode == 0:
            return {}
        result, faults = json.loads(process.stdout), {}
        errors = [one for one in result["findings"] if one["severity"] == "error"]
        for finding in errors + result.get("failures", []):
            faults.setdefault(finding["store"], {}).setdefault(finding.get("code", "failure"), finding["message"])
        return faults

    def judge_one(self, case, process, faults):
        """Checks one case. `faults` are the errors that `validate` finds in DEST."""
        if isinstance(process, Exception):
            self.statuses["fault"] += 1
            raise process
        self.statuses[process.returncode] += 1
        assert checksum(case.source.path) == case.checksum, "SOURCE was changed"
        if process.returncode != 0:
            assert process.stderr.strip(), "a failure without a message"
            left = [name for name in DOCUMENTS if (case.destination / name).exists()]
            assert not left, f"{', '.join(left)} left at DEST"
            return
        assert not faults, f"validate: {faults}"
        own = (".zarray", ".zattrs", ".zgroup", ".zmetadata")
        left = [str(one) for one in case.destination.rglob(".*") if one.name not in own]
        assert not left, f"left in DEST: {left}"
        result = json.loads(process.stdout)
        if any(warning["code"] == "ZC305" for warning in result["warnings"]):
            self.statuses["warned that zarr-python opens no such shards"] += 1
            return
        nodes = {node["path"].strip("/"): node for node in result["nodes"]}
        for path, source in case.source.arrays.items():
            found = zarr.open_array(case.destination / path, mode="r")
            try:
                check_array(source, case.asked, found, nodes[path])
            except Exception as error:
                raise AssertionError(f"{path or 'the array'}: {error}") from error
        if case.source.is_group:
            zarr.open_group(case.destination, mode="r").members(max_depth=None)

    def go(self, count, only, seconds):
        """Draws, runs and judges cases until the count or the time is reached. Returns the number of cases."""
        start, cases, waiting = time.monotonic(), 0, None
        groups = range(-(-count // CASES_PER_SOURCE)) if only is None else [only // CASES_PER_SOURCE]
        with ThreadPoolExecutor(PARALLEL) as pool:
            for group in groups:
                if time.monotonic() - start > seconds:
                    break
                numbers = range(group * CASES_PER_SOURCE, min((group + 1) * CASES_PER_SOURCE, count))
                drawn = list(self.draw(group, numbers if only is None else [only]))
                running = [pool.submit(self.run, case) for case in drawn]
                self.conclude(waiting)
                waiting = group, drawn, running
                cases += len(drawn)
            self.conclude(waiting)
        return cases

    def conclude(self, waiting):
        if waiting:
            group, cases, running = waiting
            self.judge(cases, [one.result() for one in running])
            shutil.rmtree(self.folder / str(group))


def opens(path):
    with contextlib.suppress(Exception):
        zarr.open(path, mode="r")
        return True
    return False


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the zarrcast to test")
    parser.add_argument("--seed", default="fresh", help="what is drawn follows from it (default: a new one)")
    parser.add_argument("--count", type=int, default=2000, help="how many combinations (default: 2000)")
    parser.add_argument("--seconds", type=float, default=600, help="draw no more after so many seconds (default: 600)")
    parser.add_argument("--only", type=int, help="run only the combination of this number")
    options = parser.parse_args()
    seed = secrets.token_hex(4) if options.seed == "fresh" else options.seed
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="zarrcast-random-") as folder:
        trial = Trial(shutil.which(options.program), seed, Path(folder))
        cases = trial.go(max(options.count, (options.only or 0) + 1), options.only, options.seconds)
    statuses = ", ".join(f"{count} ended with {status}" for status, count in sorted(trial.statuses.items(), key=str))
    seconds = time.monotonic() - start
    print(f"seed {seed}: {cases} combinations, {statuses}; {trial.failures} failed, {seconds:.0f} s")
    # The run also fails if few combinations were valid.
    sensible = options.only is not None or trial.statuses[0] * 4 > cases
    sys.exit(1 if trial.failures or not sensible else 0)
