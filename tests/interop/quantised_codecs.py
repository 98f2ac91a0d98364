"""Arrays of `transcode --quantize --as codecs`, read and encoded by zarr-python and by zarrcast itself, bit for bit."""

import json
from itertools import product

import numpy as np
import zarr
from arrays import BIG, LITTLE, ROUNDINGS, chunks_of, metadata, read, same_bits
from zarr.codecs import TransposeCodec, ZstdCodec

TARGETS = ["uint8", "int8", "uint16", "int16", "uint32", "int32"]
FLOATS = ["float32", "float64", "float16"]
SHAPE, CHUNKS = (13, 20), (6, 8)
# The fill value, the stored region, and options of zarr-python.
SOURCES = {
    "plain": (np.nan, np.s_[:, :], {"serializer": LITTLE}),
    "big endian": (np.nan, np.s_[:, :], {"serializer": BIG}),
    "zstd": (np.nan, np.s_[:, :], {"compressors": [ZstdCodec(level=1)]}),
    "missing chunks": (np.nan, np.s_[0:6, 0:16], {}),
    "fill finite": (0.0, np.s_[:, :], {}),
    "fill finite, missing chunks": (1.25, np.s_[0:6, 0:16], {}),
    "sharded": (np.nan, np.s_[0:9, 0:16], {"chunks": (3, 4), "shards": CHUNKS}),
    "transposed": (np.nan, np.s_[:, :], {"filters": [TransposeCodec(order=(1, 0))]}),
}


def source_values(data_type, holes=True):
    """A field from about -30 to 40, with NaN in it if there are holes."""
    y, x = np.meshgrid(np.arange(SHAPE[0]), np.arange(SHAPE[1]), indexing="ij")
    values = 5 + 35 * np.sin(x / 3 + y / 7) + np.random.default_rng(3).uniform(0, 0.5, SHAPE)
    values = values.astype(data_type)
    if holes:
        values[4:9, 3:12] = np.nan
    return values


def write_source(path, values, fill_value, region=np.s_[:, :], options=None):
    """Writes an array, and returns what it holds."""
    options = {"chunks": CHUNKS, "filters": None, "compressors": None} | (options or {})
    array = zarr.create_array(path, shape=SHAPE, dtype=values.dtype, fill_value=fill_value, **options)
    array[region] = values[region]
    return read(path)


def encoded_by_zarr_python(path, like, values):
    """An array with the document of another, whose chunks zarr-python encodes."""
    path.mkdir()
    (path / "zarr.json").write_text((like / "zarr.json").read_text())
    zarr.open_array(path, mode="r+")[...] = values
    return path


def quantised_sources(tally, zarrcast, folder):
    """Types, sources, roundings and rules. The range is that of the data, or for `clamp` a given one."""
    for data_type, kind in product(FLOATS, SOURCES):
        fill_value, region, options = SOURCES[kind]
        source = folder / f"{data_type} {kind}"
        values = write_source(source, source_values(data_type, np.isnan(fill_value)), fill_value, region, options)
        for target, rounding in product(TARGETS, ROUNDINGS):
            if kind != "plain" and ROUNDINGS.index(rounding) != TARGETS.index(target) % len(ROUNDINGS):
                continue  # the other sources take one rounding a type
            options = ["--quantize", target, "--rounding", rounding]
            with tally.case("quantise", data_type, kind, target, rounding) as place:
                # An absent chunk's new fill value may be a few units in the last place from what its old one is encoded to.
                own = kind != "fill finite, missing chunks"
                check(zarrcast, source, values, place, options, own_encoding=own, same_chunks="finite" not in kind)
            options += ["--out-of-range", "clamp", "--range", "-20,30"]
            with tally.case("quantise, clamp", data_type, kind, target, rounding) as place:
                # A value below the range gets the code above the NaN code, where cast_value itself would clamp to the NaN code.
                check(zarrcast, source, values, place, options, own_encoding=False)


def quantised_wrapping(tally, zarrcast, _folder):
    """`--out-of-range wrap` with a given scale and offset, on values none of which wraps to the NaN code."""
    for data_type, target, rounding in product(FLOATS, TARGETS[:4], ROUNDINGS):
        scale, offset = 2.0 ** (8 * np.dtype(target).itemsize - 6), 1.5
        values = source_values(data_type)
        values[near_the_nan_code(values, offset, scale, target)] += values.dtype.type(1)
        assert not near_the_nan_code(values, offset, scale, target).any()
        with tally.case("wrap", data_type, target, rounding) as place:
            write_source(place / "source", values, np.nan)
            options = ["--quantize", target, "--rounding", rounding, "--out-of-range", "wrap", "--scale", scale, "--offset", offset]
            check(zarrcast, place / "source", values, place, options)


def near_the_nan_code(values, offset, scale, target):
    """True where a code comes within 2 of the NaN code, the least one, by wrapping."""
    period = 2 ** (8 * np.dtype(target).itemsize)
    distance = ((values.astype("f8") - offset) * scale - np.iinfo(target).min + period / 2) % period - period / 2
    return np.abs(distance) < 2


def check(zarrcast, source, values, folder, options, own_encoding=True, same_chunks=True):
    """Quantises `source`. Fails unless all ways to read the result agree.

    With `own_encoding` zarr-python must encode `values` to the same, with `same_chunks` also to the same stored chunks: not where
    the fill value becomes NaN, since the padding at the edges is then the old fill value here and the new one there.
    """
    packed, unpacked = folder / "packed", folder / "unpacked"
    report = zarrcast.transcode(*options, source, packed)["quantization"]
    document = metadata(packed)
    chain = json.dumps(document["codecs"])
    assert '"cast_value"' in chain and document["data_type"] == values.dtype.name, "not quantised as codecs"

    found = read(packed)
    assert np.array_equal(np.isnan(values), np.isnan(found)), "NaN in other places"
    zarrcast.ok("transcode", "--unpack", packed, unpacked)
    assert "cast_value" not in json.dumps(metadata(unpacked)["codecs"]), "not unpacked"
    same_bits(read(unpacked), found, "zarrcast --unpack against zarr-python")
    check_chunks(zarrcast, packed, document, found, folder)
    if report["clamped"] == 0:
        usable = np.isfinite(values)  # absent elements too: they read as the fill value
        error = np.abs(found[usable].astype("f8") - values[usable].astype("f8")).max()
        assert np.isclose(report["max_abs_error"], error, rtol=1e-9, atol=0), f"greatest error {report['max_abs_error']}, not {error}"

    if own_encoding:
        theirs = encoded_by_zarr_python(folder / "theirs", packed, values)
        same_bits(read(theirs), found, "encoded by zarr-python, too")
        if same_chunks and "zstd" not in chain and "sharding_indexed" not in chain:
            same_common_chunks(packed, theirs)


def same_common_chunks(found, expected):
    """Fails unless the chunks that both arrays store are the same."""
    ours, theirs = chunks_of(found), chunks_of(expected)
    different = [key for key in ours.keys() & theirs.keys() if ours[key] != theirs[key]]
    assert not different, f"zarr-python encodes {different} otherwise"


def check_chunks(zarrcast, packed, document, found, folder):
    """Decodes two stored chunks by `apply-codec --decode` and compares them with the array."""
    for key in sorted(chunks_of(packed))[:2]:
        shape = document["chunk_grid"]["configuration"]["chunk_shape"]
        arguments = ["--codecs", json.dumps(document["codecs"]), "--data-type", document["data_type"], "--shape", ",".join(map(str, shape))]
        fill_value = json.dumps(document["fill_value"])
        zarrcast.ok("apply-codec", "--decode", *arguments, "--fill-value", fill_value, packed / key, folder / "chunk.npy")
        index = [int(part) for part in key.split("/")[1:]]
        box = tuple(slice(i * n, min((i + 1) * n, size)) for i, n, size in zip(index, shape, found.shape))
        inside = tuple(slice(0, b.stop - b.start) for b in box)
        same_bits(np.load(folder / "chunk.npy")[inside], found[box], f"apply-codec --decode of {key}")


SECTIONS = [quantised_sources, quantised_wrapping]
