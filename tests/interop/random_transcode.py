#!/usr/bin/env python3
"""Sources and options of `transcode` drawn at random: what ends with 0 is right, and what does not leaves nothing that opens.

Of each combination DEST is read by zarr-python and held against what numpy makes of SOURCE's values and the options, and
`validate --level data` finds no error in it. A failure names its number: `--seed SEED --only NUMBER` repeats it alone.
"""

import json
import random
import subprocess
import warnings
from dataclasses import dataclass
from pathlib import Path

import zarr
from program import shown
from random_expected import check_array
from random_options import Asked, draw_options
from random_sources import Source, draw_source
from random_trial import Trial, checksum, first_errors, main

warnings.filterwarnings("ignore")

DOCUMENTS = ("zarr.json", ".zarray", ".zgroup")


@dataclass
class Case:
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
    """True if its plan is estimated first."""
    estimated: dict | None = None
    """The estimates by path, of a plan that could be made."""

    def arguments(self):
        return ["transcode", *self.words, "--json", self.source.path, self.destination]


class Transcode(Trial):
    name = "random transcode"

    def draw(self, group, numbers):
        folder, source, before = self.sourced(group, draw_source)
        for number in numbers:
            drawer = random.Random(f"{self.seed} case {number}")
            case = Case(number, source, before, folder / f"{number}.zarr", *draw_options(drawer, source))
            if case.asked.replaces and drawer.random() < 0.8:
                zarr.create_array(case.destination, shape=(3,), dtype="i2", fill_value=1)
                case.before = checksum(case.destination)
            case.estimates = not case.asked.dry_run and drawer.random() < 0.4
            yield case

    def run(self, case):
        """Returns the process, or the failure."""
        try:
            if case.estimates:
                planned = self.program.run(*case.arguments(), "--dry-run", "--estimate")
                if planned.returncode == 0:
                    case.estimated = {node["path"]: node["estimate"] for node in json.loads(planned.stdout)["nodes"]}
            return self.program.run(*case.arguments())
        except (AssertionError, subprocess.TimeoutExpired) as error:
            return error

    def judge(self, cases, processes):
        """Compares all results of one source with the expected ones."""
        done = [case for case, process in zip(cases, processes) if ended_well(process) and not case.asked.dry_run]
        faults = first_errors(self.program, [cases[0].source.path, *(case.destination for case in done)]) if done else {}
        for case, process in zip(cases, processes):
            try:
                found, present = (faults.get(str(path), {}) for path in (case.destination, case.source.path))
                found = {code: text for code, text in found.items() if code not in present}
                self.judge_one(case, process, found)
            except Exception as error:
                self.fail(case, "", error, shown([self.program.path, *case.arguments()]))
            except BaseException as error:
                # cast-value-rs 0.5.1 takes no buffer that is not aligned, which zarr-python hands it from within shards.
                if "AsSliceError" not in str(error):
                    raise
                self.statuses["unaligned"] += 1

    def judge_one(self, case, process, faults):
        """`faults` are the errors that `validate` finds in DEST."""
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
        """Counts the message of a refusal, without the folder that it names."""
        if process.returncode != 0:
            lines = [line.strip() for line in process.stderr.split("\n") if line.strip() and not line.startswith(("warning", "  help"))]
            self.messages[" / ".join(lines[:2]).replace(str(case.source.path), "SOURCE")[:200]] += 1


def ended_well(process):
    return not isinstance(process, Exception) and process.returncode == 0


def check_nothing_new(case):
    """Fails if anything new opens at DEST, or if the old DEST was changed."""
    if case.before is not None:
        assert checksum(case.destination) == case.before, "the old DEST was changed"
        return
    left = [name for name in DOCUMENTS if (case.destination / name).exists()]
    assert not left, f"{', '.join(left)} left at DEST"
    assert not (case.asked.dry_run and case.destination.exists()), "a dry run made DEST"


def check_estimates(case, result):
    """Fails unless the estimate of the plan came true: all chunks are in the samples."""
    assert case.estimated is not None, "the plan has no estimate, and the run ended well"
    for node in result["nodes"]:
        estimate = case.estimated[node["path"]]
        if estimate is not None:
            assert estimate["sample"]["chunks"] == estimate["sample"]["of"], estimate
            assert estimate["bytes_stored"] == node["bytes_written"], f"{node['path']}: {estimate} of {node['bytes_written']}"


if __name__ == "__main__":
    main(Transcode, __doc__.splitlines()[0])
