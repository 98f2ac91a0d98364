"""Arrays with codecs of numcodecs that zarr-python writes or reads, and text and other objects of any length."""

import json
from itertools import product

import numcodecs
import numpy as np
import zarr
from arrays import codec, plain_codec, read, same_bits, write
from numcodecs.pcodec import PCodec
from numcodecs_chunks import COUNT, PCODEC_TYPES, smooth, values_of


def chunk_both_ways(zarrcast, path, values, **members):
    """Decodes the single chunk of a v2 array of zarr-python. Returns it and the chunk that zarrcast encodes."""
    write(path, values, chunks=values.shape, zarr_format=2, fill_value=0, **members)
    native = values.dtype.newbyteorder("<")
    zarrcast.ok("apply-codec", "--decode", "--like", path, "--chunk", ",".join("0" * values.ndim), path / "decoded")
    decoded = np.frombuffer((path / "decoded").read_bytes(), native).reshape(values.shape)
    same_bits(decoded, read(path).astype(native), "decoded")
    (path / "elements").write_bytes(np.ascontiguousarray(values.astype(native)).tobytes())
    zarrcast.ok("apply-codec", "--like", path, path / "elements", path / "encoded")
    return (path / ".".join("0" * values.ndim)).read_bytes(), (path / "encoded").read_bytes()


def filters_of_version_2():
    """Yields name, values, order and filters: either byte order, several filters, and reinterpreted elements."""
    delta, scaled, quantized = numcodecs.Delta, numcodecs.FixedScaleOffset, numcodecs.Quantize
    for array, d, e, order in product("<>", "<>", "<>", "CF"):
        cases = [("i4", delta(f"{d}i4", f"{e}i8")), ("u2", delta(f"{d}u2", f"{e}u2"))]
        if array == d:
            cases += [("f4", scaled(5.5, 2, f"{d}f4", f"{e}i2")), ("f8", scaled(-1, 2.1, f"{d}f8", "u1"))]
            cases += [("u2", scaled(5.5, 0.5, f"{d}u2", f"{e}f4")), ("f8", quantized(2, f"{d}f8", f"{e}f4"))]
            cases += [("f8", numcodecs.AsType(f"{e}f4", f"{d}f8")), ("f4", delta(f"{d}f4", f"{e}f8"))]
        for kind, filter in cases:
            yield f"{filter} {array} {order}", smooth(f"{array}{kind}")[:60].reshape(10, 6), order, [filter]
    whole, real, bools = smooth("i4"), smooth("f4"), values_of("?")
    yield "two filters", real, "C", [scaled(0, 100, "<f4", "<i4"), delta("<i4", "<i2")]
    yield "two byte orders", real, "C", [scaled(0, 100, "<f4", ">i4"), delta("<i4", ">i4")]
    yield "floats as integers", real, "C", [delta("<i4")]
    yield "integers as unsigned", whole, "C", [delta("<u4", "<i8")]
    yield "booleans as bytes", bools, "C", [delta("|i1")]
    yield "booleans", bools, "C", [numcodecs.PackBits()]
    yield "bitround", real, "C", [numcodecs.BitRound(5)]
    yield "delta then shuffle", whole, "C", [delta("<i4"), numcodecs.Shuffle(4)]
    yield "times", np.arange(COUNT).astype("<M8[s]"), "C", [delta("<i8")]


def chunks_of_version_2(tally, zarrcast, _folder):
    """zarrcast encodes the same bytes as zarr-python's chunk, alone and with a compressor after it."""
    for name, values, order, chain in filters_of_version_2():
        with tally.case("v2 filters", name) as folder:
            members = {"order": order, "filters": chain}
            stored, encoded = chunk_both_ways(zarrcast, folder / "a", values, compressors=None, **members)
            assert encoded == stored, f"encoded {encoded[:24].hex()}, not {stored[:24].hex()}"
            if values.ndim == 1:
                both = chunk_both_ways(zarrcast, folder / "b", values, compressors=numcodecs.LZ4(), **members)
                stored, encoded = map(numcodecs.LZ4().decode, both)
                assert encoded == stored
                summary = zarrcast.json("validate", "--level", "data", folder / "b")
                assert not any(found["code"] == "ZC105" for found in summary["findings"]), summary["findings"]


def arrays_of_numcodecs(tally, zarrcast, _folder):
    """Whole arrays from and to chains of numcodecs, with ragged edges and fill values that filters cannot encode."""
    real = np.tile(smooth("f4")[:70], (50, 1)) + np.arange(50, dtype="f4")[:, None]
    whole = np.rint(real).astype("i2")
    named = lambda name, **members: {"name": f"numcodecs.{name}", "configuration": members}
    scaled = named("fixedscaleoffset", offset=50.0, scale=2, dtype="<f4", astype="<i2")
    # The filters before and the compressors after the `bytes` codec.
    chains = {
        "scaled": (real, [scaled], [named("lz4", acceleration=1)]),
        "scaled, differences": (real, [scaled, named("delta", dtype="<i2", astype="<i4")], [named("lzma", preset=1)]),
        "quantized": (real, [named("quantize", digits=2, dtype="<f4", astype="<f4")], [named("shuffle", elementsize=4), named("zlib", level=1)]),
        "cast": (real.astype("f8"), [named("astype", encode_dtype="<f4", decode_dtype="<f8")], [named("adler32")]),
        "differences": (whole, [named("delta", dtype="<i2")], [named("fletcher32"), named("bz2", level=1)]),
        "booleans": (whole % 2 == 0, [named("packbits")], [named("jenkins_lookup3", initval=3, prefix=None)]),
    }
    for name, (values, filters, compressors) in chains.items():
        for fill_value in [np.nan, 0] if values.dtype.kind == "f" else [0]:
            with tally.case("array", name, fill_value) as folder:
                array = zarr.create_array(folder / "a", shape=values.shape, chunks=(16, 32), dtype=values.dtype, fill_value=fill_value)
                array[:48] = values[:48]
                plain = plain_codec(values.dtype)
                zarrcast.ok("transcode", "--codecs", json.dumps([*filters, plain, *compressors]), "--no-fill-check", folder / "a", folder / "b")
                lossy = read(folder / "b")
                assert lossy.dtype == values.dtype and np.allclose(lossy[:48], values[:48], atol=0.3)
                assert np.array_equal(lossy[48:], array[48:], equal_nan=True), "missing chunks are missing"
                zarrcast.ok("transcode", "--codecs", json.dumps([plain]), folder / "b", folder / "c")
                same_bits(read(folder / "c"), lossy)
                zarrcast.ok("validate", "--level", "data", folder / "b")


def arrays_of_pcodec(tally, zarrcast, folder):
    """Arrays of zarr-python: read, validated, and converted between the formats without encoding a chunk again."""
    from zarr.codecs import numcodecs as named

    for kind, order in product([*PCODEC_TYPES, "M8[s]"], "CF"):
        values = np.resize(smooth("i8" if kind[0] == "M" else kind), 60 * 50).astype(f"<{kind}").reshape(60, 50)
        members = {"chunks": (16, 32), "fill_value": 0}
        with tally.case("v2 chunk", kind, order) as place:
            both = chunk_both_ways(zarrcast, place / "a", values[:10, :6].copy(), order=order, compressors=PCodec())
            assert PCodec().decode(both[0]).tobytes() == PCodec().decode(both[1]).tobytes()
        with tally.case("v2 to v3 and back", kind, order) as place:
            values[48:] = 0
            expected = write(place / "two", values, zarr_format=2, order=order, compressors=PCodec(level=3), **members)[...]
            node = zarrcast.transcode("--zarr-format", 3, "--verify", place / "two", place / "three")
            assert node["route"] in ("copy", "metadata"), node["route"]
            same_bits(read(place / "three"), expected, "v3")
            zarrcast.ok("transcode", "--zarr-format", 2, "--verify", place / "three", place / "back")
            same_bits(read(place / "back"), expected, "v2 again")
            assert zarrcast.json("validate", "--level", "data", place / "back")["valid"]
        with tally.case("v3", kind, order) as place:
            write(place / "new", values, serializer=named.PCodec(level=5), compressors=None, **members)
            assert zarrcast.json("validate", "--level", "data", place / "new")["valid"]
            plain = [codec("bytes", endian="little"), codec("zstd", level=1, checksum=False)]
            zarrcast.ok("transcode", "--codecs", json.dumps(plain), "--verify", place / "new", place / "plain")
            same_bits(read(place / "plain"), values, "without pcodec")
            pcodec = json.dumps([codec("numcodecs.pcodec", level=2)])
            zarrcast.ok("transcode", "--codecs", pcodec, "-c", "20,20", "--verify", place / "plain", place / "again")
            same_bits(read(place / "again"), values, "with pcodec")


WORDS = np.array(["né " * (number % 4) + str(number) * (number % 3) for number in range(60)], dtype=object)
CHANGES = {
    "zstd": ["--compress", "zstd:1"], "none": ["--compress", "none"], "filled": ["--fill-value", '"other"'],
    "blosc": ["--compress", "blosc:lz4:5:shuffle"], "rechunked": ["--chunk-shape", "7,3", "--compress", "gzip:1"],
    "one chunk": ["--chunk-shape", "0,0"],
}
FEW = {name: CHANGES[name] for name in ("zstd", "filled")}
GZIP = {"compressors": [{"name": "gzip", "configuration": {"level": 1}}]}
SHARDS = {"shards": ["--chunk-shape", "2,3", "--shard-shape", "4,6"], "v2": ["--zarr-format", "2"]}
V3 = {"v3": ["--zarr-format", "3"]}
# The format, options of zarr-python, and changes.
SOURCES = {
    "2": (2, {}, CHANGES | V3),
    "2 F": (2, {"order": "F"}, CHANGES | V3),
    "3": (3, {}, CHANGES | SHARDS),
    "3 gzip": (3, GZIP, FEW | SHARDS),
    "3 sharded": (3, {"shards": (8, 8)}, FEW | V3 | {"out": ["--shard-shape", "none"]}),
}


def text_of_zarr_python(tally, zarrcast, folder):
    """Text written by zarr-python is unchanged after every change. Some chunks are missing."""
    for name, (zarr_format, options, changes) in SOURCES.items():
        source, given = folder / name, {"dtype": str, "zarr_format": zarr_format, "fill_value": "", **options}
        array = zarr.create_array(source, shape=(10, 6), chunks=(4, 4), **given)
        array[:4] = WORDS.reshape(10, 6)[:4]
        array[8:, :4] = WORDS.reshape(10, 6)[8:, :4]
        for change, arguments in changes.items():
            with tally.case("text", name, change) as place:
                zarrcast.ok("transcode", "--verify", *arguments, source, place / "b")
                found, expected = (read(path).astype(object).tolist() for path in (place / "b", source))
                assert found == expected, "other elements"
                zarrcast.ok("validate", "--level", "data", "--against", source, place / "b")


def object_arrays_of_numcodecs(tally, zarrcast, _folder):
    """Chunks of every object codec contain the same bytes with another compressor."""
    lists = np.empty(60, dtype=object)
    lists[:] = [np.arange(number % 4, dtype="i4") for number in range(60)]
    codecs = {
        "vlen-utf8": (numcodecs.VLenUTF8(), WORDS),
        "vlen-bytes": (numcodecs.VLenBytes(), np.array([word.encode() for word in WORDS], dtype=object)),
        "vlen-array": (numcodecs.VLenArray("<i4"), lists),
        "json2": (numcodecs.JSON(), WORDS),
        "pickle": (numcodecs.Pickle(), WORDS),
        "categorize": (numcodecs.Categorize(["a", "b"], dtype=object), np.array(["a", "b"] * 30, dtype=object)),
    }
    blosc = numcodecs.Blosc("lz4")
    for name, (objects, values) in codecs.items():
        with tally.case("objects", name) as folder:
            (folder / "a").mkdir()
            document = {"zarr_format": 2, "shape": [60], "chunks": [20], "dtype": "|O", "fill_value": None, "order": "C"}
            document |= json.loads(json.dumps({"filters": [objects.get_config()], "compressor": blosc.get_config()}))
            (folder / "a/.zarray").write_text(json.dumps(document))
            pieces = [objects.encode(values[first : first + 20]) for first in (0, 20, 40)]
            encoded = [bytes(memoryview(np.ascontiguousarray(piece))) for piece in pieces]
            for number, chunk in enumerate(encoded):
                (folder / "a" / str(number)).write_bytes(blosc.encode(chunk))
            zarrcast.ok("transcode", "--verify", "--compress", "zstd:3", folder / "a", folder / "b")
            written = json.loads((folder / "b/.zarray").read_text())
            assert written["filters"] == document["filters"] and written["compressor"]["id"] == "zstd", written
            for number, chunk in enumerate(encoded):
                found = numcodecs.get_codec(written["compressor"]).decode((folder / "b" / str(number)).read_bytes())
                assert bytes(found) == chunk, f"chunk {number} differs"


SECTIONS = [chunks_of_version_2, arrays_of_numcodecs, arrays_of_pcodec, text_of_zarr_python, object_arrays_of_numcodecs]
