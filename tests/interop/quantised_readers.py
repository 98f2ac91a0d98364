"""Quantised and predicted arrays, read by the newest zarr-python and by zarrita.js ($ZARRITA is its index.js).

zarr-python reads all of them. zarrita.js reads those whose report lists it as a reader, or without a warning.
"""

import json
import os
import subprocess
from itertools import permutations, product
from pathlib import Path

import numpy as np
import zarr
from arrays import FLOATS, files, lengths, metadata, read, same_bits, same_within, write
from zarr.codecs import TransposeCodec

READER = Path(__file__).with_name("read_by_zarrita.mjs")
TARGETS = ["uint8", "int8", "uint16", "int16"]
SHARDED = ["-c", "8,8", "-s", "16,16"]
# Near 0, and far from it without a code for 0: zarr-python 3.4.1 and 3.4.2 cast 0 when they open shards.
NEAR, FAR = (-3.0, 7.0), (250.0, 63.0)
WAYS = {"codecs": [], "predicted": ["--predict", "1"], "cf": ["--as", "cf"]}
CHUNKS = {
    (30,): (16,), (20, 30): (8, 16), (1, 20, 30): (1, 8, 16), (20, 1, 30): (8, 1, 16), (5, 20, 30): (3, 8, 16),
    (3, 4, 20, 30): (2, 2, 8, 16),
}
# Shape, data type, and whether the dimensions are transposed before.
PREDICTED = [
    *((shape, "uint8", False) for shape in CHUNKS),
    *(((5, 20, 30), name, False) for name in ("int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")),
    *((shape, "int16", True) for shape in ((20, 30), (5, 20, 30), (3, 4, 20, 30))),
    ((20, 30), "uint64", False),
    ((3, 4, 20, 30), "uint64", True),
]


def by_zarrita(paths, data_type, shape):
    command = ["node", str(READER), os.environ["ZARRITA"], *map(str, paths)]
    errors = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    read = lambda path: np.fromfile(f"{path}.raw", data_type).reshape(shape)
    return [error or read(path) for path, error in zip(paths, errors)]


def write_field(path, data_type, begin_and_width=FAR, holes=True, decimals=None):
    """Writes a field of 20 x 30, with some NaN if `holes`, and returns its values."""
    y, x = np.meshgrid(np.arange(20), np.arange(30), indexing="ij")
    begin, width = begin_and_width
    values = begin + width * (0.5 + 0.5 * np.sin(x / 5 + y / 3))
    if holes:
        values[3:7, 10:19] = np.nan
    values = (values if decimals is None else np.round(values, decimals)).astype(data_type)
    write(path, values, chunks=(16, 16), fill_value=np.nan)
    return values


def quantised(tally, zarrcast, _folder):
    """Each float type with each code type, plain and sharded. Predicted codes, and codes for a CF reader."""
    choices = product(FLOATS, [NEAR, FAR], [False, True], TARGETS, [False, True], WAYS)
    for data_type, begin, holes, target, is_sharded, way in choices:
        if way != "codecs" and (data_type, holes) != ("float32", True):
            continue
        with tally.case("readable", data_type, begin, target, "sharded" * is_sharded, "NaN" * holes, way) as folder:
            path, values = folder / "b", write_field(folder / "a", data_type, begin, holes)
            options = [*WAYS[way], *(SHARDED if is_sharded else ["-s", "none"]), "--verify"]
            report = zarrcast.transcode("--quantize", target, *options, folder / "a", path)["quantization"]
            zarrcast.ok("validate", "--level", "data", path)
            if holes and data_type != "float16":
                (by_other,) = by_zarrita([path], target if way == "cf" else data_type, values.shape)
            if way == "cf":
                same_bits(by_other, read(path))
                continue
            same_within(read(path), values, report["bound"])
            assert "zarrita.js >= 0.7" in report["readers"], report["readers"]
            if holes and data_type != "float16":
                same_within(by_other, values, report["bound"])
            # float16 has few codes, so int16 has unused codes for 0.
            needed = is_sharded and begin == FAR and (data_type, target) != ("float16", "int16")
            assert (report["reader_workaround"] is not None) == needed, report["reader_workaround"]
            # zarr-python writes a 0 with the code of the added entry. All other values keep their codes.
            if needed:
                zarr.open_array(path, mode="r+")[:2, :2] = values[:2, :2]
                same_within(read(path), values, report["bound"])
    with tally.case("--keep-bits") as folder:
        write_field(folder / "a", "float32")
        zarrcast.ok("transcode", "--keep-bits", "9", folder / "a", folder / "b")
        same_bits(by_zarrita([folder / "b"], "float32", (20, 30))[0], read(folder / "b"))


def steps(tally, zarrcast, _folder):
    """`--max-error` and `--step` in shards: zarr-python reads values within the bound, and decimals exactly."""
    bounds = [("--max-error", 0.5, 0.5), ("--max-error", 0.003, 0.003), ("--step", 0.1, 0)]
    for data_type, holes, (option, bound, most) in product(["float32", "float64"], [False, True], bounds):
        with tally.case(option, bound, "in shards", data_type, holes) as folder:
            values = write_field(folder / "a", data_type, FAR, holes, decimals=1)
            zarrcast.ok("transcode", option, bound, *SHARDED, "--verify", folder / "a", folder / "b")
            same_within(read(folder / "b"), values, most)


def group(tally, zarrcast, folder):
    source, destination = folder / "source", folder / "destination"
    zarr.create_group(source)
    fields, rules = {}, []
    for data_type, (number, begin), target in product(FLOATS, enumerate([NEAR, FAR]), TARGETS):
        name = f"{data_type}_{number}_{target}"
        fields[name] = write_field(source / name, data_type, begin)
        rules += ["--rule", f"{name}: --quantize {target} {' '.join(SHARDED)}"]
    zarr.consolidate_metadata(source)
    nodes = zarrcast.json("transcode", *rules, "--verify", source, destination)["nodes"]
    bounds = {node["path"].strip("/"): node["quantization"]["bound"] for node in nodes if node["quantization"]}
    opened = zarr.open_consolidated(destination, mode="r")
    for name, values in fields.items():
        with tally.case("an array of a consolidated group", name):
            same_within(np.asarray(opened[name][...]), values, bounds[name])


def without_workarounds(tally, zarrcast, folder):
    """Without the entry the chunks are the same. A release that opens such shards needs no entry."""
    write_field(folder / "a", "float32")
    with_entry, without = folder / "with", folder / "without"
    for path, options in ((with_entry, []), (without, ["--no-workarounds"])):
        zarrcast.ok("transcode", "--quantize", "uint8", *SHARDED, *options, folder / "a", path)
    with tally.case("chunks are the same"):
        chunks, others = (files(path / "c") for path in (with_entry, without))
        assert chunks and chunks == others
        casts = [metadata(path)["codecs"][0]["configuration"]["codecs"][1] for path in (with_entry, without)]
        entries = [cast["configuration"]["scalar_map"]["encode"] for cast in casts]
        assert [len(entry) for entry in entries] == [2, 1] and entries[0][0] == entries[1][0], entries
    with tally.case("releases that need the entry are those that are named", zarr.__version__):
        try:
            zarr.open_array(without, mode="r")
            opened = True
        except ValueError:
            opened = False
        assert opened == (zarr.__version__ not in ("3.4.1", "3.4.2")), opened


def predicted(tally, zarrcast, folder):
    """Differences along dimensions, also at the limits of each type: integers are restored exactly."""
    random, warned_of, misread = np.random.default_rng(7), 0, 0
    for number, (shape, data_type, is_turned) in enumerate(PREDICTED):
        limits = np.iinfo(data_type)
        values = random.integers(limits.min, limits.max, shape, dtype=data_type, endpoint=True)
        turned = [TransposeCodec(order=tuple(reversed(range(len(shape)))))] if is_turned else "auto"
        place = folder / str(number)
        write(place / "a", values, chunks=CHUNKS[shape], fill_value=0, filters=turned)
        orders = [order for count in (1, 2, 3) for order in permutations(range(len(shape)), min(count, len(shape)))]
        chosen = [*orders[:12:2], *orders[-3:], (0, 0, len(shape) - 1), tuple(reversed(range(len(shape))))]
        paths, warns = {}, {}
        for order in dict.fromkeys(chosen):
            paths[order] = place / lengths(order)
            command = ["transcode", "--predict", lengths(order), "--verify", place / "a", paths[order]]
            warnings = zarrcast.json(*command)["warnings"]
            warns[order] = any("zarrita.js" in warning["message"] for warning in warnings)
        for (order, path), found in zip(paths.items(), by_zarrita(paths.values(), data_type, shape)):
            with tally.case("predicted", data_type, shape, order, "transposed before" * is_turned):
                np.testing.assert_array_equal(read(path), values)
                right = not isinstance(found, str) and np.array_equal(found, values)
                assert right or warns[order], "zarrita.js reads other values, and the report does not say so"
                warned_of += warns[order]
                misread += warns[order] and not right
    with tally.case("zarrita.js misreads what is warned of", misread, warned_of):
        # In one dimension a transposition has no effect.
        assert misread > 0.9 * warned_of > 0, "warn of less"


def predicted_and_more(tally, zarrcast, _folder):
    random = np.random.default_rng(8)
    for shape, order in [((20, 30), "1,0"), ((20, 30), "0,1"), ((5, 20, 30), "2,0"), ((5, 20, 30), "0,1")]:
        with tally.case("predicted, in other chunks after", shape, order) as folder:
            values = random.integers(0, 65535, shape, dtype="uint16", endpoint=True)
            write(folder / "a", values, chunks=(8, *[1] * (len(shape) - 1)), fill_value=0)
            zarrcast.ok("transcode", "--predict", order, "--verify", folder / "a", folder / "b")
            chunks, shards = (lengths(length * times for length in CHUNKS[shape]) for times in (1, 2))
            for name, options in [("c", ["-c", chunks]), ("d", ["-c", chunks, "-s", shards])]:
                zarrcast.ok("transcode", *options, "--verify", folder / "b", folder / name)
                np.testing.assert_array_equal(read(folder / name), values)
    for target, is_sharded in product(["uint8", "int16"], [False, True]):
        with tally.case("predicted codes", target, "sharded" * is_sharded) as folder:
            values = write_field(folder / "a", "float32", FAR)
            options = ["--quantize", target, "--predict", "1,0", *(SHARDED if is_sharded else ["-s", "none"])]
            report = zarrcast.transcode(*options, "--verify", folder / "a", folder / "b")["quantization"]
            assert report["predict"] == ["1", "0"], report
            same_within(read(folder / "b"), values, report["bound"])
            # Codes of 8 bits are cast to 16 for pcodec, and the original order of dimensions is restored.
            pcodec = json.dumps([{"name": "numcodecs.pcodec", "configuration": {"level": 8}}])
            zarrcast.ok("transcode", "--codecs", pcodec, folder / "a", folder / "p")
            zarrcast.ok("transcode", *options, "--verify", folder / "p", folder / "c")
            same_within(read(folder / "c"), read(folder / "b"), 0)


SECTIONS = [quantised, steps, group, without_workarounds, predicted, predicted_and_more]
