#!/usr/bin/env python3
"""Compares compressors and writes results.json. section.py makes its tables from that file.

    python3.13 -m venv VENV && VENV/bin/pip install -r docs/comparison/requirements.txt
    VENV/bin/python docs/comparison/measure.py target/release/zarrcast
    VENV/bin/python docs/comparison/pictures.py target/release/zarrcast
    python3 docs/comparison/section.py

It takes about 20 minutes on two cores and 1 GB in /dev/shm. `--large-only` measures only the speed on the large
field. `--only WAY` measures one way on all fields. Both keep the other results. All ways have the same measures of
quality: those of the interoperability tests, by numpy, scipy and ldcpy. For the program they must equal its
`--quality`.
"""

import argparse
import importlib.metadata
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from fields import Field, Values, fields, turbulent
from ways import Program, Way, greatest_error, ways

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "tests" / "interop"))
import quality  # noqa: E402

RESULTS = HERE / "results.json"
LEVELS = [1e-2, 1e-3, 1e-4]
RUNS = 5
LARGE_SHAPE, LARGE_CHUNKS, LARGE_LEVEL = (8, 2048, 2048), (8, 256, 256), 1e-3
PACKAGES = ["zfpy", "pysz", "numcodecs", "zarr", "numpy", "scipy", "ldcpy", "scitools-iris", "iris-sample-data"]
MEASURES = ["bias", "psnr", "pearson", "relative_error_share", "ks_p", "dssim", "zeros_kept", "signs_kept"]
# The decoded values of a way, and their measures.
Known = tuple[Values, dict[str, Any]]
COLUMNS = ["field", "level", "way", "setting", "bytes", "encode_seconds", "decode_seconds", "error", *MEASURES]


def seconds(work: Callable[[], Any]) -> float:
    """Returns the median of some runs."""
    durations = []
    for _ in range(RUNS):
        start = time.perf_counter()
        work()
        durations.append(time.perf_counter() - start)
    return statistics.median(durations)


def rounded(value: Any) -> Any:
    """Rounds to four significant digits, or near 1 to ten decimals, to differ from 1. Infinity becomes null."""
    if not isinstance(value, (float, np.floating)):
        return value
    if not np.isfinite(value):
        return None
    return round(float(value), 10) if 0.9 < value < 1 else float(f"{value:.4g}")


def measured(field: Field, level: float, name: str, way: Way, known: dict[str, Known]) -> list[Any]:
    """Returns a row: one way at one bound. Values that another way has returned already are not measured again."""
    bound = level * field.span
    tuned = way(field.values, bound)
    encoded = tuned.encode()
    decoded = tuned.values(encoded)
    error = greatest_error(field.values, decoded)
    assert error <= bound, f"{field.name}, {name}: the error is {error}, above {bound}"
    same = next((found for values, found in known.values() if np.array_equal(values, decoded, equal_nan=True)), None)
    found = same or quality.expected(field.values, decoded)
    known[name] = decoded, found
    times = [seconds(tuned.encode), seconds(lambda: tuned.decode(encoded))]
    row = [field.name, level, name, tuned.setting, tuned.size(encoded), *times, error / bound]
    # The bias is divided by the bound, so that fields can be compared.
    measures = found | {"bias": found["bias"] / bound}
    return [rounded(value) for value in [*row, *(measures[measure] for measure in MEASURES)]]


def agree(field: Field, level: float, known: dict[str, Known], program: Program) -> None:
    """Fails unless `--quality` equals numpy, scipy and ldcpy, and numcodecs rounds bits like the program."""
    again = Program(program.path, program.folder)
    again.encoding = ("--quality",)
    for name in ("codes, zstd", "steps, shuffled", "bits, zstd"):
        told = ways(again)[name](field.values, level * field.span).encode()["quantization"]["quality"]
        for measure in MEASURES:
            ours, found = told[measure], known[name][1][measure]
            # In a constant window the variance is only a rounding error of a difference, added to a term of 1e-8.
            near = measure == "dssim" and abs(ours - found) < 1e-6
            assert near or quality.agrees(measure, ours, found), f"{field.name}: {measure} is {ours}, not {found}"
    np.testing.assert_array_equal(known["bits, zstd"][0], known["BitRound"][0])


def small(program: Program, chosen: dict[str, Way]) -> list[list[Any]]:
    """Returns the rows of all fields at all levels."""
    rows = []
    for field in fields():
        for level in LEVELS:
            known: dict[str, Known] = {}
            for name, way in chosen.items():
                rows.append(measured(field, level, name, way, known))
                print(*rows[-1], flush=True)
            if len(chosen) > 1:
                agree(field, level, known, program)
    return rows


def large(path: str, folder: Path, only: str | None) -> list[list[Any]]:
    """Returns way, threads, bytes, and seconds to encode and to decode a field of 128 MiB in chunks of 2 MiB."""
    values = turbulent(LARGE_SHAPE)
    bound = LARGE_LEVEL * (float(values.max()) - float(values.min()))
    rows = []
    for threads in (1, 2):
        program = Program(path, folder, LARGE_CHUNKS)
        program.options = ("--threads", str(threads))
        for name, way in ways(program).items():
            is_ours = name.split(",")[0] in ("lossless", "codes", "predicted", "steps", "bits")
            if only not in (None, name):
                continue
            if is_ours:
                all_tuned = [way(values, bound)]
            elif threads == 1:
                all_tuned = [way(chunk, bound) for chunk in chunks(values)]
            else:
                continue
            encoded = [tuned.encode() for tuned in all_tuned]
            decode = lambda: [tuned.decode(one) for tuned, one in zip(all_tuned, encoded, strict=True)]  # noqa: B023, E731
            size = sum(tuned.size(one) for tuned, one in zip(all_tuned, encoded, strict=True))
            times = seconds(lambda: [tuned.encode() for tuned in all_tuned]), seconds(decode)  # noqa: B023
            rows.append([name, threads, size, *map(rounded, times)])
            print(*rows[-1], flush=True)
    return rows


def chunks(values: Values) -> list[Values]:
    """Yields the chunks of the large field."""
    rows, columns = (range(0, LARGE_SHAPE[axis], LARGE_CHUNKS[axis]) for axis in (1, 2))
    height, width = LARGE_CHUNKS[1:]
    return [
        np.ascontiguousarray(values[:, row : row + height, column : column + width])
        for row in rows
        for column in columns
    ]


def described(field: Field) -> dict[str, Any]:
    """Returns what the tables say about a field."""
    missing = np.isnan(field.values)
    return {
        "name": field.name,
        "source": field.source,
        "shape": list(field.values.shape),
        "bytes": field.values.nbytes,
        "least": rounded(np.nanmin(field.values)),
        "greatest": rounded(np.nanmax(field.values)),
        "missing": rounded(missing.mean()),
        "zeros": rounded(np.mean(field.values[~missing] == 0)),
    }


def write(results: dict[str, Any]) -> None:
    """Returns JSON with one row per line."""
    members = []
    for name, value in results.items():
        if isinstance(value, list) and not isinstance(value[0], (str, float)):
            text = "[\n  " + ",\n  ".join(json.dumps(row) for row in value) + "\n ]"
        else:
            text = json.dumps(value)
        members.append(f" {json.dumps(name)}: {text}")
    RESULTS.write_text("{\n" + ",\n".join(members) + "\n}\n")


def main() -> None:
    """Measures all fields and writes the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--large-only", action="store_true")
    parser.add_argument("--only", metavar="WAY", help="one of those that `ways` has, such as `codes, zstd`")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    version = subprocess.run(
        [arguments.program, "--version"], capture_output=True, text=True, check=True
    ).stdout.split()
    versions = {version[0]: version[1], "Python": platform.python_version()}
    results: dict[str, Any] = {
        "processors": os.cpu_count(),
        "versions": versions | {package: importlib.metadata.version(package) for package in PACKAGES},
        "levels": LEVELS,
    }
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        if arguments.large_only or arguments.only:
            results = json.loads(RESULTS.read_text())
        program = Program(arguments.program, Path(folder))
        if arguments.only:
            chosen = {arguments.only: ways(program)[arguments.only]}
            results["rows"] = [row for row in results["rows"] if row[2] != arguments.only] + small(program, chosen)
        elif not arguments.large_only:
            results |= {"fields": [described(field) for field in fields()], "columns": COLUMNS}
            results["rows"] = small(program, ways(program))
        results["large_bytes"] = 4 * math.prod(LARGE_SHAPE)
        kept = [row for row in results.get("large", []) if arguments.only not in (None, row[0])]
        results["large"] = kept + large(arguments.program, Path(folder), arguments.only)
    write(results)


if __name__ == "__main__":
    main()
