"""Quantised arrays as the newest zarr-python opens them: plain, in shards and in a consolidated group, within the bound."""

import json
import warnings
from itertools import product

import numpy as np
import zarr
from arrays import metadata

warnings.filterwarnings("ignore")

FLOATS = ["float16", "float32", "float64"]
TARGETS = ["uint8", "int8", "uint16", "int16"]
SHARDS = {"plain": ["-s", "none"], "sharded": ["-c", "8,8", "-s", "16,16"]}
# Beside 0 and far from it: in the second the encoded 0 has no code, which zarr-python 3.4.1 and 3.4.2 cast when they open shards.
FIELDS = {"from -3 to 4": (-3.0, 7.0), "from 250 to 313": (250.0, 63.0)}


def field(data_type, begin, width, holes):
    """A field of 20 x 30, some of it NaN."""
    y, x = np.meshgrid(np.arange(20), np.arange(30), indexing="ij")
    values = (begin + width * (0.5 + 0.5 * np.sin(x / 5 + y / 3))).astype(data_type)
    if holes:
        values[3:7, 10:19] = np.nan
    return values


def write(path, values):
    """The field in chunks of 16 x 16, the fill value NaN."""
    array = zarr.create_array(path, shape=values.shape, dtype=values.dtype, chunks=(16, 16), fill_value=np.nan)
    array[...] = values


def same_within(values, found, bound):
    """Fail unless `found` is within the bound of the values, and NaN where they are."""
    assert found.dtype == values.dtype and np.array_equal(np.isnan(found), np.isnan(values)), "NaN elsewhere"
    worst = np.nanmax(np.abs(found.astype("f8") - values.astype("f8")))
    assert worst <= bound, f"{worst} is beyond {bound}"


def inner_cast(path):
    """The configuration of `cast_value`, inside shards where there are some."""
    codecs = metadata(path)["codecs"]
    if codecs[0]["name"] == "sharding_indexed":
        codecs = codecs[0]["configuration"]["codecs"]
    return next(codec["configuration"] for codec in codecs if codec["name"] == "cast_value")


def quantised_readable(tally, zarrcast, folder):
    """Each float type by each type of codes, with and without NaN, plain and sharded."""
    for data_type, field_name, holes in product(FLOATS, FIELDS, [False, True]):
        values = field(data_type, *FIELDS[field_name], holes)
        source = folder / f"{data_type} {field_name} {holes}"
        write(source, values)
        for target, shards in product(TARGETS, SHARDS):
            with tally.case("readable", data_type, field_name, target, shards, "NaN" if holes else "no NaN"):
                destination = folder / f"{source.name} {target} {shards}"
                report = zarrcast.json("transcode", "--quantize", target, *SHARDS[shards], "--verify", source, destination)
                report = report["nodes"][0]["quantization"]
                same_within(values, np.asarray(zarr.open_array(destination, mode="r")[...]), report["bound"])
                # The codes of float16 are few, and so int16 has some for 0 that no element gets.
                needed = shards == "sharded" and field_name == "from 250 to 313" and (data_type, target) != ("float16", "int16")
                assert (report["reader_workaround"] is not None) == needed, report["reader_workaround"]
                zarrcast.ok("validate", "--level", "data", destination)
                # A 0 that zarr-python writes gets the code of the entry; all else that it writes is coded as it was.
                if needed:
                    array = zarr.open_array(destination, mode="r+")
                    array[:2, :2] = values[:2, :2]
                    same_within(values, np.asarray(zarr.open_array(destination, mode="r")[...]), report["bound"])


def quantised_steps_readable(tally, zarrcast, folder):
    """`--max-error` and `--step` in shards: the bound holds in zarr-python, and decimals come back as they were."""
    for data_type, holes in product(["float32", "float64"], [False, True]):
        values = np.round(field("float64", 250.0, 63.0, holes), 1).astype(data_type)
        source = folder / f"{data_type} {holes}"
        write(source, values)
        for error in [0.5, 0.04, 0.003]:
            with tally.case("max-error in shards", data_type, error, holes):
                destination = folder / f"{source.name} {error}"
                zarrcast.ok("transcode", "--max-error", error, *SHARDS["sharded"], "--verify", source, destination)
                same_within(values, np.asarray(zarr.open_array(destination, mode="r")[...]), error)
        with tally.case("step in shards", data_type, holes):
            destination = folder / f"{source.name} step"
            zarrcast.ok("transcode", "--step", "0.1", *SHARDS["sharded"], "--verify", source, destination)
            found = np.asarray(zarr.open_array(destination, mode="r")[...])
            assert np.array_equal(found, values, equal_nan=True), "decimals that are others"


def quantised_group_readable(tally, zarrcast, folder):
    """A consolidated group of all of them, opened as one."""
    source, destination = folder / "source", folder / "destination"
    zarr.create_group(source)
    fields, rules = {}, []
    for data_type, (number, field_name), target in product(FLOATS, enumerate(FIELDS), TARGETS):
        name = f"{data_type}_{number}_{target}"
        fields[name] = field(data_type, *FIELDS[field_name], True)
        write(source / name, fields[name])
        rules += ["--rule", f"{name}: --quantize {target} -c 8,8 -s 16,16"]
    zarr.consolidate_metadata(source)
    bounds = {}
    with tally.case("a group is quantised"):
        nodes = zarrcast.json("transcode", *rules, "--verify", source, destination)["nodes"]
        bounds = {node["path"].strip("/"): node["quantization"]["bound"] for node in nodes if node["quantization"]}
        assert len(bounds) == len(fields), sorted(bounds)
        assert "consolidated_metadata" in json.loads((destination / "zarr.json").read_text())
    group = zarr.open_consolidated(destination, mode="r")
    for name, values in fields.items():
        with tally.case("an array of a consolidated group", name):
            same_within(values, np.asarray(group[name][...]), bounds[name])


def quantised_without_workarounds(tally, zarrcast, folder):
    """Without the entry the chunks are the same; a release that opens such shards needs none."""
    source = folder / "source"
    write(source, field("float32", 250.0, 63.0, True))
    with_entry, without = folder / "with", folder / "without"
    zarrcast.ok("transcode", "--quantize", "uint8", *SHARDS["sharded"], source, with_entry)
    zarrcast.ok("transcode", "--quantize", "uint8", *SHARDS["sharded"], "--no-workarounds", source, without)
    with tally.case("chunks are the same"):
        chunks = [path.relative_to(with_entry) for path in with_entry.rglob("c/*/*")]
        assert chunks and all((with_entry / chunk).read_bytes() == (without / chunk).read_bytes() for chunk in chunks)
        entries = [inner_cast(path)["scalar_map"]["encode"] for path in [with_entry, without]]
        assert [len(entry) for entry in entries] == [2, 1] and entries[0][0] == entries[1][0], entries
    with tally.case("releases that need the entry are those that are named", zarr.__version__):
        try:
            zarr.open_array(without, mode="r")
            opened = True
        except ValueError:
            opened = False
        assert opened == (zarr.__version__ not in ("3.4.1", "3.4.2")), opened


SECTIONS = [quantised_readable, quantised_steps_readable, quantised_group_readable, quantised_without_workarounds]
