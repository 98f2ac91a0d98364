"""Arrays that `transcode --quantize --as codecs` writes, read again by zarr-python and by zarrcast itself, bit for bit."""

import json
import shutil
import warnings
from itertools import product

import numpy as np
import zarr
from arrays import metadata, same_bits, stored_objects
from casting import ROUNDINGS

warnings.filterwarnings("ignore")

TARGETS = ["uint8", "int8", "uint16", "int16", "uint32", "int32"]
SHAPE, CHUNKS = (13, 20), (6, 8)
LITTLE = zarr.codecs.BytesCodec(endian="little")


def elements(path):
    """All elements of an array, as zarr-python reads them."""
    return np.asarray(zarr.open_array(path, mode="r")[...])


def source_values(data_type, holes):
    """A field from about -30 to 40, with NaN in it if there are to be holes."""
    y, x = np.meshgrid(np.arange(SHAPE[0]), np.arange(SHAPE[1]), indexing="ij")
    values = 5 + 35 * np.sin(x / 3 + y / 7) + np.random.default_rng(3).uniform(0, 0.5, SHAPE)
    values = values.astype(data_type)
    if holes:
        values[4:9, 3:12] = np.nan
    return values


SOURCES = {
    "plain": dict(holes=True, options=dict(fill_value=np.nan, serializer=LITTLE)),
    "big endian": dict(holes=True, options=dict(fill_value=np.nan, serializer=zarr.codecs.BytesCodec(endian="big"))),
    "zstd": dict(holes=True, options=dict(fill_value=np.nan, compressors=[zarr.codecs.ZstdCodec(level=1)])),
    "missing chunks": dict(holes=True, region=np.s_[0:6, 0:16], options=dict(fill_value=np.nan)),
    "fill finite": dict(holes=False, options=dict(fill_value=0.0)),
    "fill finite, missing chunks": dict(holes=False, region=np.s_[0:6, 0:16], options=dict(fill_value=1.25)),
    "sharded": dict(holes=True, region=np.s_[0:9, 0:16], options=dict(fill_value=np.nan, chunks=(3, 4), shards=CHUNKS)),
    "transposed": dict(holes=True, options=dict(fill_value=np.nan, filters=[zarr.codecs.TransposeCodec(order=(1, 0))])),
}


def write_source(path, data_type, kind):
    """Write one source array; return what it holds."""
    source = SOURCES[kind]
    values, region = source_values(data_type, source["holes"]), source.get("region", np.s_[:, :])
    options = {"chunks": CHUNKS, "filters": None, "compressors": None} | source["options"]
    array = zarr.create_array(path, shape=SHAPE, dtype=data_type, **options)
    array[region] = values[region]
    return elements(path)


def quantised_sources(tally, zarrcast, folder):
    """Types, sources, roundings and rules; the range is the data's own, or a given one for `clamp`."""
    for data_type, kind in product(["float32", "float64", "float16"], SOURCES):
        source = folder / f"{data_type} {kind}"
        values = write_source(source, data_type, kind)
        for target, rounding in product(TARGETS, ROUNDINGS):
            if kind != "plain" and ROUNDINGS.index(rounding) != TARGETS.index(target) % len(ROUNDINGS):
                continue  # the other sources take one rounding a type
            options = ["--quantize", target, "--rounding", rounding]
            with tally.case("quantise", data_type, kind, target, rounding):
                # An absent chunk's new fill value may be a few units in the last place from what its old one is encoded to.
                own = kind != "fill finite, missing chunks"
                check(zarrcast, source, values, folder / "now", options, own_encoding=own, same_chunks="finite" not in kind)
            options += ["--out-of-range", "clamp", "--range", "-20,30"]
            with tally.case("quantise, clamp", data_type, kind, target, rounding):
                # A value below the range gets the code above the NaN code, where cast_value itself would clamp to the NaN code.
                check(zarrcast, source, values, folder / "now", options, own_encoding=False)


def quantised_wrapping(tally, zarrcast, folder):
    """`--out-of-range wrap` with a given scale and offset, on values none of which wraps to the NaN code."""
    for data_type, target, rounding in product(["float32", "float64", "float16"], ["uint8", "int8", "uint16", "int16"], ROUNDINGS):
        one, bits = np.dtype(data_type).type, 8 * np.dtype(target).itemsize
        scale, offset = 2.0 ** (bits - 6), 1.5
        values = source_values(data_type, holes=True)
        values[near_the_nan_code(values, offset, scale, target)] += one(1)
        assert not near_the_nan_code(values, offset, scale, target).any()
        with tally.case("wrap", data_type, target, rounding):
            source = folder / "source"
            shutil.rmtree(source, ignore_errors=True)
            array = zarr.create_array(
                source, shape=SHAPE, chunks=CHUNKS, dtype=data_type, fill_value=np.nan, filters=None, compressors=None
            )
            array[...] = values
            options = ["--quantize", target, "--rounding", rounding, "--out-of-range", "wrap", "--scale", scale, "--offset", offset]
            check(zarrcast, source, values, folder / "now", options)


def near_the_nan_code(values, offset, scale, target):
    """Where a code comes within 2 of the NaN code, the least one, by wrapping."""
    scaled = (values.astype("f8") - offset) * scale
    period = 2 ** (8 * np.dtype(target).itemsize)
    distance = (scaled - np.iinfo(target).min + period / 2) % period - period / 2
    return np.abs(distance) < 2


def check(zarrcast, source, values, folder, options, own_encoding=True, same_chunks=True):
    """Quantise `source`; fail unless all ways to read the result agree.

    With `own_encoding` zarr-python must encode `values` to the same, with `same_chunks` also to the same stored chunks: not where
    the fill value becomes NaN, since the padding at the edges is then the old fill value here and the new one there.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    packed, unpacked, again = folder / "packed", folder / "unpacked", folder / "again"
    report = zarrcast.json("transcode", *options, source, packed)["nodes"][0]["quantization"]
    document = metadata(packed)
    chain = json.dumps(document["codecs"])
    assert '"cast_value"' in chain and document["data_type"] == values.dtype.name, "not quantised as codecs"

    found = elements(packed)
    assert np.array_equal(np.isnan(values), np.isnan(found)), "NaN in other places"
    zarrcast.ok("transcode", "--unpack", packed, unpacked)
    assert "cast_value" not in json.dumps(metadata(unpacked)["codecs"]), "not unpacked"
    same_bits(elements(unpacked), found, "zarrcast --unpack against zarr-python")
    check_chunks(zarrcast, packed, document, found, folder)
    if report["clamped"] == 0:
        usable = np.isfinite(values)  # absent elements too: they read as the fill value
        error = np.abs(found[usable].astype("f8") - values[usable].astype("f8")).max()
        assert np.isclose(report["max_abs_error"], error, rtol=1e-9, atol=0), f"greatest error {report['max_abs_error']}, not {error}"

    if own_encoding:
        again.mkdir()
        (again / "zarr.json").write_text((packed / "zarr.json").read_text())
        zarr.open_array(again, mode="r+")[...] = values
        same_bits(elements(again), found, "encoded by zarr-python, too")
        ours, theirs = stored_objects(packed), stored_objects(again)
        if same_chunks and "zstd" not in chain and "sharding_indexed" not in chain:
            different = [key for key in ours.keys() & theirs.keys() if ours[key] != theirs[key]]
            assert not different, f"zarr-python encodes {different} otherwise"


def check_chunks(zarrcast, packed, document, found, folder):
    """Decode two stored chunks by `apply-codec --decode` and compare them with the array."""
    shape = document["chunk_grid"]["configuration"]["chunk_shape"]
    fill_value = json.dumps(document["fill_value"])
    for key in sorted(stored_objects(packed))[:2]:
        index = [int(part) for part in key.split("/")[1:]]
        arguments = ["--codecs", json.dumps(document["codecs"]), "--data-type", document["data_type"], "--shape", ",".join(map(str, shape))]
        zarrcast.ok("apply-codec", "--decode", *arguments, "--fill-value", fill_value, packed / key, folder / "chunk.npy")
        chunk = np.load(folder / "chunk.npy")
        box = tuple(slice(i * n, min((i + 1) * n, size)) for i, n, size in zip(index, shape, found.shape))
        inside = tuple(slice(0, b.stop - b.start) for b in box)
        same_bits(chunk[inside], found[box], f"apply-codec --decode of {key}")
