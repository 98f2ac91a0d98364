"""A test by combinations drawn at random: draws, runs and judges them until a count or a time is reached.

What is drawn follows from a seed and the number of the combination, so that one that failed is repeated alone.
"""

import argparse
import contextlib
import hashlib
import json
import random
import secrets
import shutil
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from program import MAX_SHOWN_FAILURES, Zarrcast, files

CASES_PER_SOURCE = 8
PARALLEL = 2


def first_errors(program, stores):
    """The first error of each code that `validate --level data` finds, by store."""
    process = program.run("validate", "--level", "data", "--json", *stores)
    if process.returncode == 0:
        return {}
    result, faults = json.loads(process.stdout), {}
    for finding in [one for one in result["findings"] if one["severity"] == "error"] + result.get("failures", []):
        faults.setdefault(finding["store"], {}).setdefault(finding.get("code", "failure"), finding["message"])
    return faults


def described(case):
    words = [
        f"{path or 'array'}: v{one.zarr_format} {one.values.dtype} {one.values.shape}, chunks {one.chunks}, shards {one.shards}, fill value "
        f"{one.fill_value!r}{', absent chunks' * one.absent}{f', {one.lossy}' if one.lossy else ''}{', cast' * one.cast}, {one.attributes}"
        for path, one in case.source.arrays.items()
    ]
    return "; ".join(words)


def checksum(path):
    return hashlib.blake2b(repr(files(path)).encode()).hexdigest()


class Trial:
    """Draws the cases of one source, runs them and judges them."""

    def __init__(self, program, seed, folder):
        self.program, self.seed, self.folder = Zarrcast(program), seed, folder
        self.failures, self.statuses, self.messages = 0, Counter(), Counter()

    def sourced(self, group, draw):
        """A folder for a group of cases, a source in it, and the checksum of the source."""
        folder = self.folder / str(group)
        folder.mkdir()
        source = draw(random.Random(f"{self.seed} source {group}"), folder / "source.zarr")
        return folder, source, checksum(source.path)

    def fail(self, case, what, error, *lines):
        """Counts a failure, and prints it with the seed and the number that repeat it."""
        self.failures += 1
        if self.failures <= MAX_SHOWN_FAILURES:
            text = f"FAIL --seed {self.seed} --only {case.number}{what}: {str(error).strip() or type(error).__name__}"
            print("\n    ".join("\n".join([text, *lines, described(case)]).split("\n")), flush=True)


def run_trial(trial, options):
    """Draws, runs and judges cases until the count or the time is reached. Returns the number of cases."""
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
    trial.judge(cases, [one.result() for one in running])
    if not keep:
        shutil.rmtree(trial.folder / str(group))


def main(make_trial, description):
    """Runs one trial. Its status is 1 if any case failed, or if few combinations were sensible."""
    parser = argparse.ArgumentParser(description=description)
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
        trial = make_trial(shutil.which(options.program), seed, Path(folder))
        cases = run_trial(trial, options)
    for message, count in trial.messages.most_common() if options.messages else []:
        print(f"{count:5} {message}")
    statuses = ", ".join(f"{count} ended with {status}" for status, count in sorted(trial.statuses.items(), key=str))
    print(f"{trial.name}, seed {seed}: {cases} combinations, {statuses}; {trial.failures} failed, {time.monotonic() - start:.0f} s")
    sensible = options.only is not None or trial.statuses[0] * 4 > cases
    sys.exit(1 if trial.failures or not sensible else 0)
