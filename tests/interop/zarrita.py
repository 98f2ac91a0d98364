"""Quantised and predicted arrays as zarrita.js reads them: right, wherever the report names it as a reader. $ZARRITA is its index.js."""

import json
import os
import subprocess
from itertools import permutations, product
from pathlib import Path

import numpy as np
from arrays import read as by_zarr_python
from arrays import same_bits, same_within, write
from quantised_readers import FAR, NEAR, SHARDED, TARGETS, write_field
from zarr.codecs import TransposeCodec

READER = Path(__file__).with_name("read_by_zarrita.mjs")


def read(path, data_type, shape):
    """The elements of an array. An error of zarrita.js is a ValueError."""
    command = ["node", str(READER), os.environ["ZARRITA"], str(path)]
    (error,) = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    if error:
        raise ValueError(error)
    return np.fromfile(f"{path}.raw", data_type).reshape(shape)


def quantised(tally, zarrcast, _folder):
    """Codes, decoded by the codecs themselves or left to a CF reader, plain and in shards; and floats of few bits."""
    ways = {"codecs": [], "predicted": ["--predict", "1"], "cf": ["--as", "cf"]}
    for data_type, begin, target, (way, options), shards in product(
        ["float32", "float64"], [NEAR, FAR], TARGETS, ways.items(), [["-s", "none"], SHARDED]
    ):
        with tally.case("zarrita.js", data_type, begin, target, way, *shards) as folder:
            values = write_field(folder / "a", data_type, begin)
            node = zarrcast.transcode("--quantize", target, *options, *shards, folder / "a", folder / "b")
            report = node["quantization"]
            if way != "cf":
                assert "zarrita.js >= 0.7" in report["readers"], report["readers"]
                same_within(read(folder / "b", data_type, values.shape), values, report["bound"])
            else:
                same_bits(read(folder / "b", target, values.shape), by_zarr_python(folder / "b"))
    with tally.case("zarrita.js", "--keep-bits") as folder:
        write_field(folder / "a", "float32")
        zarrcast.ok("transcode", "--keep-bits", "9", folder / "a", folder / "b")
        same_bits(read(folder / "b", "float32", (20, 30)), by_zarr_python(folder / "b"))


def predicted(tally, zarrcast, _folder):
    """Differences of integers along each order of dimensions: right where the report names zarrita.js, and a release that reads the others needs no warning."""
    random = np.random.default_rng(7)
    warned_of, misread = 0, 0
    for (shape, chunks), data_type, is_turned in product(
        {(30,): (16,), (20, 30): (8, 16), (5, 20, 30): (3, 8, 16), (3, 4, 20, 30): (2, 2, 8, 16)}.items(),
        ["uint8", "int16", "uint64"],
        [False, True],
    ):
        limits = np.iinfo(data_type)
        values = random.integers(limits.min, limits.max, shape, dtype=data_type, endpoint=True)
        orders = [order for count in (1, 2) for order in permutations(range(len(shape)), min(count, len(shape)))]
        for order in dict.fromkeys(orders[:8]):
            with tally.case("zarrita.js, predicted", data_type, shape, order, "transposed before" * is_turned) as folder:
                turned = [TransposeCodec(order=tuple(reversed(range(len(shape)))))] if is_turned else "auto"
                write(folder / "a", values, chunks=chunks, fill_value=0, filters=turned)
                dimensions = ",".join(map(str, order))
                warnings = zarrcast.json("transcode", "--predict", dimensions, folder / "a", folder / "b")["warnings"]
                warns = any("zarrita.js" in warning["message"] for warning in warnings)
                try:
                    same_bits(read(folder / "b", data_type, shape), values)
                    right = True
                except (ValueError, AssertionError):
                    right = False
                assert right or warns, "zarrita.js reads other values, and the report does not say so"
                warned_of += warns
                misread += warns and not right
    with tally.case("zarrita.js misreads what is warned of", misread, warned_of):
        # In one dimension a transposition turns nothing.
        assert misread > 0.9 * warned_of, "warn of less"


SECTIONS = [quantised, predicted]
