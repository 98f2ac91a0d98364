"""Arrays with `scale_offset` and `cast_value`, of zarrcast and of the newest zarr-python, bit for bit.

zarr-python reads the output of `--quantize` and encodes it to the same bytes. zarrcast reads and rewrites the output
of zarr-python.
"""

import json
from itertools import product

import numpy as np
import zarr
from arrays import BIG, LITTLE, ROUNDINGS, chunks_of, fixtures, lengths, metadata, plain_codec, read, same_bits
from zarr.codecs import BytesCodec, CastValue, Crc32cCodec, ScaleOffset, ShardingCodec, TransposeCodec, ZstdCodec

TARGETS = ["uint8", "int8", "uint16", "int16", "uint32", "int32"]
FLOATS = ["float32", "float64", "float16"]
SHAPE, CHUNKS, INNER = (13, 20), (6, 8), (3, 4)
DRAWN = 60
# The fill value, the stored region, and options of zarr-python.
SOURCES = {
    "plain": (np.nan, np.s_[:, :], {"serializer": LITTLE}),
    "big endian": (np.nan, np.s_[:, :], {"serializer": BIG}),
    "zstd": (np.nan, np.s_[:, :], {"compressors": [ZstdCodec(level=1)]}),
    "missing chunks": (np.nan, np.s_[0:6, 0:16], {}),
    "fill finite": (0.0, np.s_[:, :], {}),
    "fill finite, missing chunks": (1.25, np.s_[0:6, 0:16], {}),
    "sharded": (np.nan, np.s_[0:9, 0:16], {"chunks": INNER, "shards": CHUNKS}),
    "transposed": (np.nan, np.s_[:, :], {"filters": [TransposeCodec(order=(1, 0))]}),
}


def source_values(data_type, holes=True):
    y, x = np.meshgrid(np.arange(SHAPE[0]), np.arange(SHAPE[1]), indexing="ij")
    values = 5 + 35 * np.sin(x / 3 + y / 7) + np.random.default_rng(3).uniform(0, 0.5, SHAPE)
    values = values.astype(data_type)
    if holes:
        values[4:9, 3:12] = np.nan
    return values


def write_source(path, values, fill_value, region=np.s_[:, :], options=None):
    options = {"chunks": CHUNKS, "filters": None, "compressors": None} | (options or {})
    array = zarr.create_array(path, shape=SHAPE, dtype=values.dtype, fill_value=fill_value, **options)
    array[region] = values[region]
    return read(path)


def encoded_by_zarr_python(path, like, values):
    """Writes an array with the document of another. zarr-python encodes its chunks."""
    path.mkdir()
    (path / "zarr.json").write_text((like / "zarr.json").read_text())
    zarr.open_array(path, mode="r+")[...] = values
    return path


def combinations():
    """Yields types, sources, code types and roundings: all of them for a plain float32, else some in turn."""
    for number, (data_type, kind) in enumerate(product(FLOATS, SOURCES)):
        if (data_type, kind) == ("float32", "plain"):
            yield from product([data_type], [kind], TARGETS, ROUNDINGS)
        else:
            for turn in range(3):
                yield data_type, kind, TARGETS[(number + 2 * turn) % 6], ROUNDINGS[(number + turn) % 5]


def quantised_sources(tally, zarrcast, folder):
    """The range is that of the data, or a given one for `clamp`."""
    for number, (data_type, kind, target, rounding) in enumerate(combinations()):
        fill_value, region, options = SOURCES[kind]
        source = folder / str(number)
        values = write_source(source, source_values(data_type, np.isnan(fill_value)), fill_value, region, options)
        options = ["--quantize", target, "--rounding", rounding]
        with tally.case("quantise", data_type, kind, target, rounding) as place:
            # A missing chunk's new fill value may differ from the encoded old one by a few units in the last place.
            own = kind != "fill finite, missing chunks"
            check(zarrcast, source, values, place, options, own_encoding=own, same_chunks="finite" not in kind)
        options += ["--out-of-range", "clamp", "--range", "-20,30"]
        with tally.case("quantise, clamp", data_type, kind, target, rounding) as place:
            # A value below the range gets the code above that of NaN. cast_value alone would clamp it to the NaN code.
            check(zarrcast, source, values, place, options, own_encoding=False)


def check(zarrcast, source, values, folder, options, own_encoding=True, same_chunks=True):
    """All ways to read the result agree. With `own_encoding`, zarr-python must encode `values` to the same elements.

    With `same_chunks` it must write the same chunks, too. This excludes a fill value that becomes NaN, which pads
    edges only there.
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
    check_a_chunk(zarrcast, packed, document, found, folder)
    if report["clamped"] == 0:
        usable = np.isfinite(values)  # missing elements too: they read as the fill value
        error = np.abs(found[usable].astype("f8") - values[usable].astype("f8")).max()
        assert np.isclose(report["max_abs_error"], error, rtol=1e-9, atol=0), f"{report['max_abs_error']}, not {error}"
    if own_encoding:
        theirs = encoded_by_zarr_python(folder / "theirs", packed, values)
        same_bits(read(theirs), found, "encoded by zarr-python, too")
        if same_chunks and "zstd" not in chain and "sharding_indexed" not in chain:
            same_common_chunks(packed, theirs)


def same_common_chunks(found, expected):
    ours, theirs = chunks_of(found), chunks_of(expected)
    different = [key for key in ours.keys() & theirs.keys() if ours[key] != theirs[key]]
    assert not different, f"zarr-python encodes {different} otherwise"


def check_a_chunk(zarrcast, packed, document, found, folder):
    """Decodes a stored chunk with `apply-codec --decode` and compares it with the array."""
    key = max(chunks_of(packed))
    shape = document["chunk_grid"]["configuration"]["chunk_shape"]
    chain = ["--codecs", json.dumps(document["codecs"]), "--fill-value", json.dumps(document["fill_value"])]
    typed = ["--data-type", document["data_type"], "--shape", lengths(shape)]
    zarrcast.ok("apply-codec", "--decode", *chain, *typed, packed / key, folder / "chunk.npy")
    starts = [int(part) * length for part, length in zip(key.split("/")[1:], shape)]
    box = tuple(slice(start, start + length) for start, length in zip(starts, shape))
    inside = tuple(slice(0, length) for length in found[box].shape)
    same_bits(np.load(folder / "chunk.npy")[inside], found[box], f"apply-codec --decode of {key}")


def decoded(zarrcast, source, destination):
    """Returns the elements that zarrcast decodes, from an array that any reader supports."""
    chain = json.dumps([plain_codec(metadata(source)["data_type"])])
    zarrcast.ok("transcode", "--codecs", chain, source, destination)
    return read(destination)


def fixtures_of_zarr_python(tally, zarrcast, _folder):
    """Every fixture with the two codecs: expected elements after `--codecs`, `--unpack` and `--compress`."""
    zarr.config.set({"array.rectilinear_chunks": True})
    for one in fixtures():
        if not one.has_codecs("scale_offset", "cast_value"):
            continue
        with tally.case("fixture", one.name) as folder:
            same_bits(read(one.path), one.expected(), "zarr-python against the expected elements")
            same_bits(decoded(zarrcast, one.path, folder / "plain"), one.expected())
            for option in [["--compress", "gzip:5"], ["--unpack"]][: 1 + one.data_type.startswith("float")]:
                zarrcast.ok("transcode", *option, one.path, folder / option[0])
                same_bits(read(folder / option[0]), one.expected(), f"{option[0]}, by zarr-python")
            left = json.dumps(metadata(folder / option[0])["codecs"])
            assert option != ["--unpack"] or ("_value" not in left and "scale_offset" not in left), left


def draw_chain(random):
    target = random.choice(["uint8", "int8", "int16", "uint16", "int32", "uint32", "float32"])
    scale = float(random.choice([0.5, 2, 2.5, 1, -1.5]))
    offset = float(random.choice([-60.5, -55, -50.25])) if scale > 0 else float(random.choice([50.25, 60]))
    options = {"data_type": target, "rounding": random.choice(ROUNDINGS)}
    if random.random() < 0.4 or target in ("int8", "uint8"):
        options["out_of_range"] = "clamp" if target == "float32" else random.choice(["clamp", "wrap"])
    if target != "float32":
        code = int(np.iinfo(target).min)
        options["scalar_map"] = {"encode": [["NaN", code]], "decode": [[code, "NaN"]]}
    return [ScaleOffset(offset=offset, scale=scale), CastValue(**options)]


def draw_layout(random, chain):
    """Returns filters and serializer by name: plain, transposed, the two codecs inside, before or around shards."""
    bytes_codec = BytesCodec(endian=str(random.choice(["little", "big"])))
    index = {"index_codecs": [BytesCodec(endian="little"), Crc32cCodec()]}
    index["index_location"] = str(random.choice(["start", "end"]))
    transpose = TransposeCodec(order=(1, 0))
    inner = [*chain, bytes_codec, ZstdCodec(level=1)]
    layouts = {
        "plain": (chain, bytes_codec),
        "transposed first": ([transpose, *chain], bytes_codec),
        "transposed last": ([*chain, transpose], bytes_codec),
        "inside shards": (None, ShardingCodec(chunk_shape=INNER, codecs=inner, **index)),
        "before shards": (chain, ShardingCodec(chunk_shape=INNER, codecs=[bytes_codec], **index)),
        "around shards": (chain[:1], ShardingCodec(chunk_shape=INNER, codecs=[*chain[1:], bytes_codec], **index)),
    }
    name = str(random.choice(list(layouts)))
    return name, *layouts[name]


def arrays_of_zarr_python(tally, zarrcast, _folder):
    """Random chains, layouts and regions: zarrcast decodes the same as zarr-python, and encodes the same chunks."""
    random = np.random.default_rng(20)
    for number in range(DRAWN):
        data_type = str(random.choice(["float16", "float32", "float64"]))
        chain = draw_chain(random)
        layout, filters, serializer = draw_layout(random, chain)
        values = (random.uniform(-50, 50, SHAPE)).astype(data_type)
        values[random.uniform(size=SHAPE) < 0.2] = np.nan
        region = np.s_[0:6, 0:9] if random.random() < 0.4 else np.s_[:, :]
        with tally.case(number, data_type, layout, json.dumps([codec.to_dict() for codec in chain])) as folder:
            source, plain, again = (folder / name for name in ("source", "plain", "again"))
            codecs = {"filters": filters, "serializer": serializer, "compressors": None}
            write_source(source, values, np.nan, region, codecs)
            same_bits(decoded(zarrcast, source, plain), read(source))
            # From decoded elements to codes. Directed rounding may change them, and does the same in zarr-python.
            zarrcast.ok("transcode", "--codecs", json.dumps(metadata(source)["codecs"]), plain, again)
            theirs = encoded_by_zarr_python(folder / "theirs", source, read(plain))
            same_bits(read(again), read(theirs), "encoded again, by zarr-python")
            if "shards" not in layout:
                same_common_chunks(again, theirs)


SECTIONS = [quantised_sources, fixtures_of_zarr_python, arrays_of_zarr_python]
