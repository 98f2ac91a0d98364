"""Arrays with both codecs that zarr-python writes, read and rewritten by zarrcast, bit for bit."""

import json

import numpy as np
import zarr
from arrays import ROUNDINGS, fixtures, metadata, plain_codec, read, same_bits
from quantised_codecs import encoded_by_zarr_python, same_common_chunks
from zarr.codecs import BytesCodec, CastValue, Crc32cCodec, ScaleOffset, ShardingCodec, TransposeCodec, ZstdCodec

SHAPE, CHUNKS, INNER = (12, 20), (6, 8), (3, 4)


def decoded(zarrcast, source, destination):
    """The elements that zarrcast decodes, in an array that any reader knows."""
    zarrcast.ok("transcode", "--codecs", json.dumps([plain_codec(metadata(source)["data_type"])]), source, destination)
    return read(destination)


def fixtures_by_zarr_python(tally, zarrcast, _folder):
    """Every fixture of zarr-python with the two codecs: expected elements, `--codecs`, `--unpack`, copy."""
    zarr.config.set({"array.rectilinear_chunks": True})
    for one in fixtures():
        if not one.has_codecs("scale_offset", "cast_value"):
            continue
        with tally.case("codecs", one.name) as folder:
            same_bits(read(one.path), one.expected(), "zarr-python against the expected elements")
            same_bits(decoded(zarrcast, one.path, folder / "plain"), one.expected())
        if one.data_type.startswith("float"):
            with tally.case("unpack", one.name) as folder:
                zarrcast.ok("transcode", "--unpack", one.path, folder / "b")
                same_bits(read(folder / "b"), one.expected())
                left = json.dumps(metadata(folder / "b")["codecs"])
                assert "scale_offset" not in left and "cast_value" not in left, left
        with tally.case("compress", one.name) as folder:
            zarrcast.ok("transcode", "--compress", "gzip:5", one.path, folder / "b")
            same_bits(read(folder / "b"), one.expected(), "recompressed, by zarr-python")


def draw_chain(random):
    """A random chain of both codecs for a float type."""
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
    """Filters and serializer by name: plain, transposed, the two codecs inside shards, before them, or around."""
    bytes_codec = BytesCodec(endian=str(random.choice(["little", "big"])))
    index = {"index_codecs": [BytesCodec(endian="little"), Crc32cCodec()], "index_location": str(random.choice(["start", "end"]))}
    transpose = TransposeCodec(order=(1, 0))
    layouts = {
        "plain": (chain, bytes_codec),
        "transposed first": ([transpose, *chain], bytes_codec),
        "transposed last": ([*chain, transpose], bytes_codec),
        "inside shards": (None, ShardingCodec(chunk_shape=INNER, codecs=[*chain, bytes_codec, ZstdCodec(level=1)], **index)),
        "before shards": (chain, ShardingCodec(chunk_shape=INNER, codecs=[bytes_codec], **index)),
        "around shards": (chain[:1], ShardingCodec(chunk_shape=INNER, codecs=[*chain[1:], bytes_codec], **index)),
    }
    name = str(random.choice(list(layouts)))
    return name, *layouts[name]


def arrays_by_zarr_python(tally, zarrcast, _folder):
    """Random chains, layouts and regions: zarrcast decodes them as zarr-python does, and encodes the same chunks."""
    random = np.random.default_rng(20)
    for number in range(150):
        data_type = str(random.choice(["float16", "float32", "float64"]))
        chain = draw_chain(random)
        layout, filters, serializer = draw_layout(random, chain)
        values = (random.uniform(-50, 50, SHAPE)).astype(data_type)
        values[random.uniform(size=SHAPE) < 0.2] = np.nan
        region = np.s_[0:6, 0:9] if random.random() < 0.4 else np.s_[:, :]
        with tally.case(number, data_type, layout, json.dumps([codec.to_dict() for codec in chain])) as folder:
            source, plain, again = (folder / name for name in ("source", "plain", "again"))
            codecs = {"filters": filters, "serializer": serializer, "compressors": None}
            array = zarr.create_array(source, shape=SHAPE, chunks=CHUNKS, dtype=data_type, fill_value=np.nan, **codecs)
            array[region] = values[region]
            same_bits(decoded(zarrcast, source, plain), read(source))
            # From the decoded elements back to codes; under directed rounding these may differ from the first ones, so zarr-python does the same.
            zarrcast.ok("transcode", "--codecs", json.dumps(metadata(source)["codecs"]), plain, again)
            theirs = encoded_by_zarr_python(folder / "theirs", source, read(plain))
            same_bits(read(again), read(theirs), "encoded again, by zarr-python")
            if "shards" not in layout:
                same_common_chunks(again, theirs)


SECTIONS = [fixtures_by_zarr_python, arrays_by_zarr_python]
