#!/usr/bin/env python3
"""Sources and options of `transcode` drawn at random: what ends with 0 is right, and what does not leaves nothing that opens.

Of each combination DEST is read by zarr-python and held against what numpy makes of SOURCE's values and the options, and
`validate --level data` finds no error in it. A failure names its number: `--seed SEED --only NUMBER` repeats it alone.

Environment: as interop_new.py.
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
from program import MAX_SHOWN_FAILURES, Zarrcast, shown
from random_expected import check_array
from random_options import Asked, draw_options
from random_sources import Source, draw_source

warnings.filterwarnings("ignore")

CASES_PER_SOURCE = 8
PARALLEL = 2
DOCUMENTS = ("zarr.json", ".zarray", ".zgroup")


@dataclass
class Case:
    """One combination of a source and options."""

    number: int
    source: Source
    checksum: str
    destination: Path
    asked: Asked
    words: list
    by_path: dict
    before: str | None = None
    """The checksum of what was at DEST before, if anything was."""
    estimates: bool = False
    """Whether its plan is asked first what it comes to."""
    estimated: dict | None = None
    """The estimates by path, of a plan that could be made."""

    def arguments(self):
        """The arguments of the program."""
        return ["transcode", *self.words, "--json", self.source.path, self.destination]


class Trial:
    """A run of the test: what it draws, runs and finds."""

    def __init__(self, program, seed, folder):
        self.program, self.seed, self.folder = Zarrcast(program), seed, folder
        self.failures, self.statuses, self.messages = 0, Counter(), Counter()

    def draw(self, group, numbers):
        """Draw one source and the cases of it; only those of `numbers` are yielded."""
        folder = self.folder / str(group)
        folder.mkdir()
        source = draw_source(random.Random(f"{self.seed} source {group}"), folder / "source.zarr")
        before = checksum(source.path)
        for number in numbers:
            drawer = random.Random(f"{self.seed} case {number}")
            case = Case(number, source, before, folder / f"{number}.zarr", *draw_options(drawer, source))
            if case.asked.replaces and drawer.random() < 0.8:
                zarr.create_array(case.destination, shape=(3,), dtype="i2", fill_value=1)
                case.before = checksum(case.destination)
            case.estimates = not case.asked.dry_run and drawer.random() < 0.4
            yield case

    def run(self, case):
        """Run one case; what it came to, or the failure that this is already."""
        try:
            if case.estimates:
                planned = self.program.run(*case.arguments(), "--dry-run", "--estimate")
                if planned.returncode == 0:
                    case.estimated = {node["path"]: node["estimate"] for node in json.loads(planned.stdout)["nodes"]}
            return self.program.run(*case.arguments())
        except (AssertionError, subprocess.TimeoutExpired) as error:
            return error

    def judge(self, cases, processes):
        """Hold all results of one source against what they must be."""
        done = [case for case, process in zip(cases, processes) if ended_well(process) and not case.asked.dry_run]
        faults = self.validate([cases[0].source.path, *(case.destination for case in done)]) if done else {}
        for case, process in zip(cases, processes):
            try:
                found, present = (faults.get(str(path), {}) for path in (case.destination, case.source.path))
                found = {code: text for code, text in found.items() if code not in present}
                self.judge_one(case, process, found)
            except Exception as error:
                self.fail(case, error)
            except BaseException as error:
                # cast-value-rs 0.5.1 takes no buffer that is not aligned, which zarr-python hands it from within shards.
                if "AsSliceError" not in str(error):
                    raise
                self.statuses["unaligned"] += 1

    def judge_one(self, case, process, faults):
        """Fail unless a case came to what it must; `faults` are those that `validate` finds in DEST."""
        if isinstance(process, Exception):
            self.statuses["fault"] += 1
            raise process
        self.statuses[process.returncode] += 1
        assert checksum(case.source.path) == case.checksum, "SOURCE was changed"
        if process.returncode != 0 or case.asked.dry_run:
            assert process.returncode == 0 or process.stderr.strip(), "a failure without a message"
            self.note_refusal(case, process)
            check_nothing_new(case)
            return
        assert not faults, f"validate: {faults}"
        left = [str(one) for one in case.destination.rglob(".*") if one.name not in (".zarray", ".zattrs", ".zgroup", ".zmetadata")]
        assert not left, f"left in DEST: {left}"
        result = json.loads(process.stdout)
        if any(warning["code"] == "ZC305" for warning in result["warnings"]):
            self.statuses["warned that zarr-python opens no such shards"] += 1
            return
        # Beyond the edge, chunks that are tried keep the old fill value.
        if case.estimates and "--fill-value" not in case.words:
            check_estimates(case, result)
        nodes = {node["path"].strip("/"): node for node in result["nodes"]}
        for path, source in case.source.arrays.items():
            found = zarr.open_array(case.destination / path, mode="r")
            try:
                check_array(source, case.by_path[path], found, nodes[path])
            except Exception as error:
                raise AssertionError(f"{path or 'the array'}: {error}") from error
        if case.source.is_group:
            zarr.open_group(case.destination, mode="r").members(max_depth=None)

    def note_refusal(self, case, process):
        """Count the message of a refusal, without the folder that it names."""
        if process.returncode != 0:
            lines = [line.strip() for line in process.stderr.split("\n") if line.strip() and not line.startswith(("warning", "  help"))]
            self.messages[" / ".join(lines[:2]).replace(str(case.source.path), "SOURCE")[:200]] += 1

    def validate(self, stores):
        """The first error of each code that `validate --level data` finds, by store."""
        process = self.program.run("validate", "--level", "data", "--json", *stores)
        if process.returncode == 0:
            return {}
        result, faults = json.loads(process.stdout), {}
        for finding in [one for one in result["findings"] if one["severity"] == "error"] + result.get("failures", []):
            faults.setdefault(finding["store"], {}).setdefault(finding.get("code", "failure"), finding["message"])
        return faults

    def fail(self, case, error):
        """Say what failed, and how it is repeated."""
        self.failures += 1
        if self.failures <= MAX_SHOWN_FAILURES:
            text = (str(error) or type(error).__name__).strip().replace("\n", "\n    ")
            again = f"--seed {self.seed} --only {case.number}"
            print(f"FAIL {again}: {text}\n    {shown([self.program.path, *case.arguments()])}\n    {described(case)}", flush=True)


def described(case):
    """SOURCE in a few words."""
    words = [
        f"{path or 'array'}: v{one.zarr_format} {one.values.dtype} {one.values.shape}, chunks {one.chunks}, shards {one.shards}, fill value "
        f"{one.fill_value!r}{', absent chunks' * one.absent}{f', {one.lossy}' if one.lossy else ''}{', cast' * one.cast}, {one.attributes}"
        for path, one in case.source.arrays.items()
    ]
    return "; ".join(words)


def ended_well(process):
    """Whether a process ended with status 0."""
    return not isinstance(process, Exception) and process.returncode == 0


def check_nothing_new(case):
    """Fail if there is anything at DEST that opens, or anything else than what was there before."""
    if case.before is not None:
        assert checksum(case.destination) == case.before, "the old DEST was changed"
        return
    left = [name for name in DOCUMENTS if (case.destination / name).exists()]
    assert not left, f"{', '.join(left)} left at DEST"
    assert not (case.asked.dry_run and case.destination.exists()), "a dry run made DEST"


def check_estimates(case, result):
    """Fail unless a plan of what was written could be estimated, and was estimated as it came: all chunks are in the samples."""
    assert case.estimated is not None, "the plan has no estimate, and the run ended well"
    for node in result["nodes"]:
        estimate = case.estimated[node["path"]]
        if estimate is not None:
            assert estimate["sample"]["chunks"] == estimate["sample"]["of"], estimate
            assert estimate["bytes_stored"] == node["bytes_written"], f"{node['path']}: {estimate} of {node['bytes_written']}"


def checksum(path):
    """A digest of all files below a folder, with their paths."""
    digest = hashlib.blake2b()
    for one in sorted(path.rglob("*")):
        digest.update(str(one.relative_to(path)).encode() + b"\0")
        if one.is_file():
            digest.update(one.read_bytes())
    return digest.hexdigest()


def run_trial(trial, options):
    """Draw, run and judge until the count or the time is reached; how many cases there were."""
    start, cases = time.monotonic(), 0
    groups = range(-(-options.count // CASES_PER_SOURCE)) if options.only is None else [options.only // CASES_PER_SOURCE]
    with ThreadPoolExecutor(PARALLEL) as pool:
        waiting = None
        for group in groups:
            if time.monotonic() - start > options.seconds:
                break
            numbers = range(group * CASES_PER_SOURCE, min((group + 1) * CASES_PER_SOURCE, options.count))
            drawn = list(trial.draw(group, [options.only] if options.only is not None else numbers))
            running = [pool.submit(trial.run, case) for case in drawn]
            if waiting:
                conclude(trial, *waiting, options.keep)
            waiting = group, drawn, running
            cases += len(drawn)
        if waiting:
            conclude(trial, *waiting, options.keep)
    return cases


def conclude(trial, group, cases, running, keep):
    """Judge the cases of one source and remove their files."""
    trial.judge(cases, [one.result() for one in running])
    if not keep:
        shutil.rmtree(trial.folder / str(group))


def main():
    """Run one trial; status 1 if any case failed, or if hardly any combination was sensible."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the zarrcast to test")
    parser.add_argument("--seed", default="fresh", help="what is drawn follows from it (default: fresh, a new one, which is printed)")
    parser.add_argument("--count", type=int, default=2000, help="how many combinations (default: 2000)")
    parser.add_argument("--seconds", type=float, default=600, help="draw no more after so many seconds (default: 600)")
    parser.add_argument("--only", type=int, help="run only the combination of this number")
    parser.add_argument("--keep", help="work in this new folder and leave everything there")
    parser.add_argument("--messages", action="store_true", help="count the messages of refusals, too")
    options = parser.parse_args()
    seed = secrets.token_hex(4) if options.seed == "fresh" else options.seed
    options.count = max(options.count, (options.only or 0) + 1)
    start = time.monotonic()
    with contextlib.ExitStack() as stack:
        if options.keep:
            Path(options.keep).mkdir(parents=True)
        folder = options.keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="zarrcast-random-"))
        trial = Trial(shutil.which(options.program), seed, Path(folder))
        cases = run_trial(trial, options)
    for message, count in trial.messages.most_common() if options.messages else []:
        print(f"{count:5} {message}")
    statuses = ", ".join(f"{count} ended with {status}" for status, count in sorted(trial.statuses.items(), key=str))
    print(f"random transcode, seed {seed}: {cases} combinations, {statuses}; {trial.failures} failed, {time.monotonic() - start:.0f} s")
    sensible = options.only is not None or trial.statuses[0] * 4 > cases
    sys.exit(1 if trial.failures or not sensible else 0)


if __name__ == "__main__":
    main()
