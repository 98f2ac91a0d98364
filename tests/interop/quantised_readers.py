"""Quantised arrays as the newest zarr-python opens them: plain, in shards and in a consolidated group, within the bound."""

import json
from itertools import permutations, product

import numpy as np
import zarr
from arrays import files, metadata, read, same_within, write
from zarr.codecs import TransposeCodec

FLOATS = ["float16", "float32", "float64"]
TARGETS = ["uint8", "int8", "uint16", "int16"]
SHARDED = ["-c", "8,8", "-s", "16,16"]
# About 0 and far from it: in the second the encoded 0 has no code, which zarr-python 3.4.1 and 3.4.2 cast when they open shards.
NEAR, FAR = (-3.0, 7.0), (250.0, 63.0)


def write_field(path, data_type, begin_and_width=FAR, holes=True, decimals=None):
    """Writes a field of 20 x 30, with some NaN if there are holes, and returns its values."""
    y, x = np.meshgrid(np.arange(20), np.arange(30), indexing="ij")
    begin, width = begin_and_width
    values = begin + width * (0.5 + 0.5 * np.sin(x / 5 + y / 3))
    if holes:
        values[3:7, 10:19] = np.nan
    values = (values if decimals is None else np.round(values, decimals)).astype(data_type)
    write(path, values, chunks=(16, 16), fill_value=np.nan)
    return values


def quantised_readable(tally, zarrcast, _folder):
    """Each float type by each type of codes, with and without NaN, plain and sharded."""
    for data_type, begin, holes, target, is_sharded in product(FLOATS, [NEAR, FAR], [False, True], TARGETS, [False, True]):
        with tally.case("readable", data_type, begin, target, "sharded" * is_sharded, "NaN" * holes) as folder:
            values = write_field(folder / "a", data_type, begin, holes)
            shards = SHARDED if is_sharded else ["-s", "none"]
            report = zarrcast.transcode("--quantize", target, *shards, "--verify", folder / "a", folder / "b")["quantization"]
            same_within(read(folder / "b"), values, report["bound"])
            # The codes of float16 are few, and so int16 has some for 0 that no element gets.
            needed = is_sharded and begin == FAR and (data_type, target) != ("float16", "int16")
            assert (report["reader_workaround"] is not None) == needed, report["reader_workaround"]
            zarrcast.ok("validate", "--level", "data", folder / "b")
            # A 0 that zarr-python writes gets the code of the entry; all else that it writes is coded as it was.
            if needed:
                zarr.open_array(folder / "b", mode="r+")[:2, :2] = values[:2, :2]
                same_within(read(folder / "b"), values, report["bound"])


def quantised_steps_readable(tally, zarrcast, _folder):
    """`--max-error` and `--step` in shards: the bound holds in zarr-python, and decimals come back as they were."""
    for data_type, holes, (option, bound, most) in product(
        ["float32", "float64"], [False, True], [*(("--max-error", error, error) for error in (0.5, 0.04, 0.003)), ("--step", 0.1, 0)]
    ):
        with tally.case(option, bound, "in shards", data_type, holes) as folder:
            values = write_field(folder / "a", data_type, FAR, holes, decimals=1)
            zarrcast.ok("transcode", option, bound, *SHARDED, "--verify", folder / "a", folder / "b")
            same_within(read(folder / "b"), values, most)


def quantised_group_readable(tally, zarrcast, folder):
    """A consolidated group of all of them, opened as one."""
    source, destination = folder / "source", folder / "destination"
    zarr.create_group(source)
    fields, rules = {}, []
    for data_type, (number, begin), target in product(FLOATS, enumerate([NEAR, FAR]), TARGETS):
        name = f"{data_type}_{number}_{target}"
        fields[name] = write_field(source / name, data_type, begin)
        rules += ["--rule", f"{name}: --quantize {target} {' '.join(SHARDED)}"]
    zarr.consolidate_metadata(source)
    with tally.case("a group is quantised"):
        nodes = zarrcast.json("transcode", *rules, "--verify", source, destination)["nodes"]
        bounds = {node["path"].strip("/"): node["quantization"]["bound"] for node in nodes if node["quantization"]}
        assert len(bounds) == len(fields), sorted(bounds)
        assert "consolidated_metadata" in json.loads((destination / "zarr.json").read_text())
    group = zarr.open_consolidated(destination, mode="r")
    for name, values in fields.items():
        with tally.case("an array of a consolidated group", name):
            same_within(np.asarray(group[name][...]), values, bounds[name])


def quantised_without_workarounds(tally, zarrcast, folder):
    """Without the entry the chunks are the same. A release that opens such shards needs no entry."""
    write_field(folder / "a", "float32")
    with_entry, without = folder / "with", folder / "without"
    for path, options in ((with_entry, []), (without, ["--no-workarounds"])):
        zarrcast.ok("transcode", "--quantize", "uint8", *SHARDED, *options, folder / "a", path)
    with tally.case("chunks are the same"):
        chunks, others = (files(path / "c") for path in (with_entry, without))
        assert chunks and chunks == others
        casts = [metadata(path)["codecs"][0]["configuration"]["codecs"][1]["configuration"] for path in (with_entry, without)]
        entries = [cast["scalar_map"]["encode"] for cast in casts]
        assert [len(entry) for entry in entries] == [2, 1] and entries[0][0] == entries[1][0], entries
    with tally.case("releases that need the entry are those that are named", zarr.__version__):
        try:
            zarr.open_array(without, mode="r")
            opened = True
        except ValueError:
            opened = False
        assert opened == (zarr.__version__ not in ("3.4.1", "3.4.2")), opened


def predicted(tally, zarrcast, _folder):
    """Differences along dimensions, also around the ends of each type: integers come back as they were, by chunks of two, three and four dimensions, at edges and in shards."""
    random = np.random.default_rng(7)
    chunks_of = {(20, 30): (16, 16), (1, 20, 30): (1, 8, 16), (20, 1, 30): (8, 1, 16), (5, 20, 30): (3, 8, 16), (3, 4, 20, 30): (2, 2, 8, 16)}
    cases = [("uint8", shape) for shape in chunks_of] + [("int16", (20, 30))]
    cases += [(data_type, (5, 20, 30)) for data_type in ["int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]]
    for data_type, shape in cases:
        limits = np.iinfo(data_type)
        values = random.integers(limits.min, limits.max, shape, dtype=data_type, endpoint=True)
        orders = [order for count in (1, 2, 3) for order in permutations(range(len(shape)), min(count, len(shape)))]
        chosen = [*orders[:12:2], *orders[-6:], (0, 0, len(shape) - 1), tuple(reversed(range(len(shape))))]
        for order in dict.fromkeys(chosen):
            with tally.case("predicted", data_type, shape, order) as folder:
                write(folder / "a", values, chunks=chunks_of[shape], fill_value=0)
                dimensions = ",".join(map(str, order))
                zarrcast.ok("transcode", "--predict", dimensions, "--verify", folder / "a", folder / "b")
                np.testing.assert_array_equal(read(folder / "b"), values)
    for shape in [(20, 30), (5, 20, 30)]:
        values = random.integers(0, 65535, shape, dtype="uint16", endpoint=True)
        turned = TransposeCodec(order=tuple(reversed(range(len(shape)))))
        for order in permutations(range(len(shape)), 2):
            dimensions = ",".join(map(str, order))
            with tally.case("predicted, transposed before", shape, order) as folder:
                write(folder / "a", values, chunks=chunks_of[shape], fill_value=0, filters=[turned])
                zarrcast.ok("transcode", "--predict", dimensions, "--verify", folder / "a", folder / "b")
                np.testing.assert_array_equal(read(folder / "b"), values)
            with tally.case("predicted, in other chunks after", shape, order) as folder:
                write(folder / "a", values, chunks=(8, *[1] * (len(shape) - 1)), fill_value=0)
                zarrcast.ok("transcode", "--predict", dimensions, "--verify", folder / "a", folder / "b")
                chunks, shards = (",".join(str(length * times) for length in chunks_of[shape]) for times in (1, 2))
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
            # Codes of 8 bits are cast to 16 for pcodec, and the dimensions get their order again.
            pcodec = json.dumps([{"name": "numcodecs.pcodec", "configuration": {"level": 8}}])
            zarrcast.ok("transcode", "--codecs", pcodec, folder / "a", folder / "p")
            zarrcast.ok("transcode", *options, "--verify", folder / "p", folder / "c")
            same_within(read(folder / "c"), read(folder / "b"), 0)


SECTIONS = [quantised_readable, quantised_steps_readable, quantised_group_readable, quantised_without_workarounds, predicted]
