"""Arrays with both codecs that zarr-python writes, read and rewritten by zarrcast, bit for bit."""

import json
import shutil

import numpy as np
import zarr
from arrays import fixtures, metadata, same_bits, stored_objects
from quantised_codecs import elements
from zarr.codecs import BytesCodec, CastValue, Crc32cCodec, ScaleOffset, ShardingCodec, TransposeCodec, ZstdCodec

SHAPE, CHUNKS, INNER = (12, 20), (6, 8), (3, 4)
LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}


def plain_chain(data_type):
    """The chain that stores elements as they are."""
    return json.dumps([LITTLE if np.dtype(data_type).itemsize > 1 else {"name": "bytes"}])


def decoded(zarrcast, source, destination):
    """What zarrcast decodes an array to, through a chain that any reader knows."""
    shutil.rmtree(destination, ignore_errors=True)
    zarrcast.ok("transcode", "--codecs", plain_chain(metadata(source)["data_type"]), source, destination)
    return elements(destination)


def fixtures_by_zarr_python(tally, zarrcast, folder):
    """Every fixture of zarr-python with the two codecs: expected elements, `--codecs`, `--unpack`, copy."""
    zarr.config.set({"array.rectilinear_chunks": True})
    for one in fixtures():
        if not one.has_codecs("scale_offset", "cast_value"):
            continue
        with tally.case("codecs", one.name):
            same_bits(elements(one.path), one.expected(), "zarr-python against the expected elements")
            same_bits(decoded(zarrcast, one.path, folder / "plain"), one.expected())
        if one.data_type.startswith("float"):
            with tally.case("unpack", one.name):
                shutil.rmtree(folder / "unpacked", ignore_errors=True)
                zarrcast.ok("transcode", "--unpack", one.path, folder / "unpacked")
                same_bits(elements(folder / "unpacked"), one.expected())
                left = json.dumps(metadata(folder / "unpacked")["codecs"])
                assert "scale_offset" not in left and "cast_value" not in left, left
        with tally.case("compress", one.name):
            shutil.rmtree(folder / "compressed", ignore_errors=True)
            zarrcast.ok("transcode", "--compress", "gzip:5", one.path, folder / "compressed")
            same_bits(elements(folder / "compressed"), one.expected(), "recompressed, by zarr-python")


def draw_chain(random, data_type):
    """A random chain of both codecs for a float type, and a fill value that survives it."""
    target = random.choice(["uint8", "int8", "int16", "uint16", "int32", "uint32", "float32"])
    scale = float(random.choice([0.5, 2, 2.5, 1, -1.5]))
    offset = float(random.choice([-60.5, -55, -50.25])) if scale > 0 else float(random.choice([50.25, 60]))
    chain = [ScaleOffset(offset=offset, scale=scale)]
    options = {"data_type": target}
    rounding = random.choice(["nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"])
    options["rounding"] = rounding
    if random.random() < 0.4 or target in ("int8", "uint8"):
        options["out_of_range"] = "clamp" if target == "float32" else random.choice(["clamp", "wrap"])
    if target != "float32":
        code = int(np.iinfo(target).min)
        options["scalar_map"] = {"encode": [["NaN", code]], "decode": [[code, "NaN"]]}
    return [*chain, CastValue(**options)]


def draw_layout(random, chain):
    """Filters and serializer: plain, transposed, big endian, the two codecs inside shards, before them, or around."""
    layout = int(random.integers(0, 6))
    index = [BytesCodec(endian="little"), Crc32cCodec()]
    bytes_codec = BytesCodec(endian=str(random.choice(["little", "big"])))
    if layout == 0:
        return "plain", chain, bytes_codec
    if layout == 1:
        return "transposed first", [TransposeCodec(order=(1, 0)), *chain], bytes_codec
    if layout == 2:
        return "transposed last", [*chain, TransposeCodec(order=(1, 0))], bytes_codec
    location = str(random.choice(["start", "end"]))
    if layout == 3:
        return (
            "inside shards",
            None,
            ShardingCodec(chunk_shape=INNER, codecs=[*chain, bytes_codec, ZstdCodec(level=1)], index_codecs=index, index_location=location),
        )
    if layout == 4:
        return "before shards", chain, ShardingCodec(chunk_shape=INNER, codecs=[bytes_codec], index_codecs=index, index_location=location)
    return (
        "around shards",
        chain[:1],
        ShardingCodec(chunk_shape=INNER, codecs=[*chain[1:], bytes_codec], index_codecs=index, index_location=location),
    )


def arrays_by_zarr_python(tally, zarrcast, folder):
    """Random chains, layouts and regions: zarrcast decodes them as zarr-python does, and encodes the same chunks."""
    random = np.random.default_rng(20)
    for number in range(150):
        data_type = str(random.choice(["float16", "float32", "float64"]))
        chain = draw_chain(random, data_type)
        layout, filters, serializer = draw_layout(random, chain)
        values = (random.uniform(-50, 50, SHAPE)).astype(data_type)
        values[random.uniform(size=SHAPE) < 0.2] = np.nan
        region = np.s_[0:6, 0:9] if random.random() < 0.4 else np.s_[:, :]
        source, again = folder / "source", folder / "again"
        for path in (source, again):
            shutil.rmtree(path, ignore_errors=True)
        array = zarr.create_array(
            source, shape=SHAPE, chunks=CHUNKS, dtype=data_type, fill_value=np.nan, filters=filters, serializer=serializer, compressors=None
        )
        array[region] = values[region]
        with tally.case(number, data_type, layout, json.dumps([codec.to_dict() for codec in chain])):
            plain = folder / "plain"
            same_bits(decoded(zarrcast, source, plain), elements(source))
            # From the decoded elements back to codes; under directed rounding these may differ from the first ones, so zarr-python does the same.
            zarrcast.ok("transcode", "--codecs", json.dumps(metadata(source)["codecs"]), plain, again)
            theirs = folder / "theirs"
            shutil.rmtree(theirs, ignore_errors=True)
            theirs.mkdir()
            (theirs / "zarr.json").write_text((source / "zarr.json").read_text())
            zarr.open_array(theirs, mode="r+")[...] = elements(plain)
            same_bits(elements(again), elements(theirs), "encoded again, by zarr-python")
            if "shards" not in layout:
                ours, others = stored_objects(again), stored_objects(theirs)
                assert all(ours[key] == others[key] for key in ours.keys() & others.keys()), "other chunks than zarr-python's"
