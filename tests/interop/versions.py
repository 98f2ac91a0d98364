"""Arrays of Zarr v2 written by zarr-python, as v3 and back: chunks as they are, elements bit for bit by other readers."""

import itertools
import json
import shutil
import warnings

import numcodecs
import numpy as np
import tensorstore
import zarr
from arrays import same_bits

SHAPE, CHUNKS = (5, 7), (2, 4)
# Of numcodecs' codecs tensorstore has few, and no types of text or of times.
PLAIN = ["|b1", "|i1", "|u1", "<i2", ">i2", "<i4", ">i4", "<i8", ">i8", "<u2", ">u2", "<u4", ">u4", "<u8", ">u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "<c8", ">c8", "<c16", ">c16"]
OTHERS = ["<M8[ns]", ">M8[10us]", "<m8[s]", ">m8[D]", "|S10", "<U5", ">U5", "|V4", [("a", "<i2"), ("b", "<f8")], [("a", ">U2"), ("b", "|u1")]]
# `r32` of the core specification no zarr-python has, `struct` of the registry the newest alone.
NEWER = ["|V4", *OTHERS[-2:]]
COMPRESSORS = [
    None,
    numcodecs.Blosc("lz4", 5, numcodecs.Blosc.SHUFFLE),
    numcodecs.Blosc("zstd", 3, numcodecs.Blosc.BITSHUFFLE),
    numcodecs.Zstd(3),
    numcodecs.GZip(5),
    numcodecs.Zlib(5),
    numcodecs.BZ2(5),
    numcodecs.LZ4(),
    numcodecs.LZMA(),
]


def filter_lists(dtype):
    """Filters that numcodecs runs on the type, by name."""
    dtype = np.dtype(dtype)
    yield []
    yield [numcodecs.Shuffle(dtype.itemsize)]
    yield [numcodecs.CRC32()]
    yield [numcodecs.Fletcher32(), numcodecs.Adler32()]
    if dtype.kind in "iu":
        yield [numcodecs.Delta(dtype.str)]
        # zarr-python gives no single byte a byte order, also where the codec behind it does.
        yield [numcodecs.AsType("<f8", dtype.str)] if 1 < dtype.itemsize < 8 else []
        yield [numcodecs.Delta(dtype.str), numcodecs.Shuffle(dtype.itemsize)]
    if dtype.kind == "f" and dtype.itemsize > 2:
        yield [numcodecs.FixedScaleOffset(10, 100, dtype.str, "<i4")]
        yield [numcodecs.FixedScaleOffset(10, 100, dtype.str, ">i4"), numcodecs.Delta(">i4")]
    if dtype.kind == "f" and dtype.isnative:
        yield [numcodecs.BitRound(6)]
        # In big endian its chunks do not stay: no form of it would be read alike by every zarr-python.
        yield [numcodecs.Quantize(3, dtype.str)] if dtype.itemsize > 2 else []
    if dtype.kind == "b":
        yield [numcodecs.PackBits()]


def elements(random, dtype):
    """Elements of every kind of type."""
    dtype = np.dtype(dtype)
    if dtype.names:
        values = np.zeros(SHAPE, dtype)
        for name in dtype.names:
            values[name] = elements(random, dtype[name])
        return values
    integers = random.integers(0, 120, SHAPE)
    if dtype.kind in "SU":
        return np.array([chr(97 + value % 26) * (1 + value % 2) for value in integers.flat], dtype).reshape(SHAPE)
    if dtype.kind == "V":
        return integers.astype("<u4").view("V4").reshape(SHAPE)
    if dtype.kind in "Mm":
        return integers.astype("i8").astype(dtype)
    if dtype.kind == "b":
        return integers % 2 == 1
    values = integers / 4 if dtype.kind in "fc" else integers
    values = values.astype(dtype)
    if dtype.kind == "f":
        values[0, 0] = np.inf if dtype.itemsize == 2 else values[0, 0]
    return values


def make(path, dtype, order, filters, compressor, fill_value=None, separator="."):
    """Writes the array by zarr-python, one chunk absent; the elements that it reads back."""
    shutil.rmtree(path, ignore_errors=True)
    random = np.random.default_rng(len(str(path)))
    options = {"fill_value": fill_value} if fill_value is not None else {}
    array = zarr.create_array(
        path,
        shape=SHAPE,
        chunks=CHUNKS,
        dtype=np.dtype(dtype),
        order=order,
        filters=filters or None,
        compressors=compressor,
        zarr_format=2,
        chunk_key_encoding={"name": "v2", "separator": separator},
        attributes={"units": "K", "factor": 1.0},
        **options,
    )
    array[:4] = elements(random, dtype)[:4]
    return array[...]


def objects(path):
    """The chunks by their indices, whatever stands between these."""
    keys = {p.relative_to(path): p for p in path.rglob("*") if p.is_file() and p.suffix != ".json" and not p.name.startswith(".")}
    return {".".join(key.parts).removeprefix("c."): p.read_bytes() for key, p in keys.items()}


def by_tensorstore(path, driver):
    """The elements as tensorstore reads them."""
    spec = {"driver": driver, "kvstore": {"driver": "file", "path": str(path)}}
    return tensorstore.open(spec).result().read().result()


def there_and_back(zarrcast, folder, expected, by_others):
    """v2 -> v3 -> v2: the same chunks and elements, and the same `.zarray`."""
    source, new, back = (folder / name for name in ("source", "new", "back"))
    for path in (new, back):
        shutil.rmtree(path, ignore_errors=True)
    node = zarrcast.json("transcode", "--zarr-format", "3", "--verify", source, new)["nodes"][0]
    assert node["route"] == "copy", node["route"]
    assert objects(new) == objects(source), "other chunks in v3"
    if by_others:
        same_bits(zarr.open_array(new, mode="r")[...], expected, "zarr-python, v3")
    zarrcast.ok("transcode", "--zarr-format", "2", "--verify", new, back)
    assert objects(back) == objects(source), "other chunks, back in v2"
    same_bits(zarr.open_array(back, mode="r")[...], expected, "zarr-python, back in v2")
    a, b = (json.loads((path / ".zarray").read_text()) for path in (source, back))
    for document in (a, b):
        for codec in [document["compressor"], *(document["filters"] or [])]:
            if codec and codec["id"] == "zstd":
                codec.pop("checksum", None)
    assert a == b, f"{a} became {b}"
    a, b = (json.loads((path / ".zattrs").read_text()) for path in (source, back))
    assert a == b, f"{a} became {b}"


def types_and_orders(tally, zarrcast, folder):
    """Every type, order and compressor."""
    for dtype, order in itertools.product(PLAIN + OTHERS, "CF"):
        for compressor in COMPRESSORS:
            with tally.case(dtype, order, compressor), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = make(folder / "source", dtype, order, [], compressor)
                there_and_back(zarrcast, folder, expected, by_others=dtype not in NEWER)
                if dtype in PLAIN and (compressor is None or compressor.codec_id in ("blosc", "zstd", "gzip")):
                    same_bits(by_tensorstore(folder / "new", "zarr3"), expected, "tensorstore, v3")
                    same_bits(by_tensorstore(folder / "back", "zarr"), expected, "tensorstore, back in v2")


def filters(tally, zarrcast, folder):
    """Filters that numcodecs has, on every type that they take."""
    for dtype, order in itertools.product(PLAIN, "CF"):
        for chosen in filter_lists(dtype):
            with tally.case(dtype, order, chosen), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = make(folder / "source", dtype, order, chosen, numcodecs.Zstd(1))
                there_and_back(zarrcast, folder, expected, by_others=True)


def fill_values_and_separators(tally, zarrcast, folder):
    """Fill values of each type, and keys with either separator."""
    values = {
        "<f4": [np.nan, np.inf, -np.inf, 0.1, -0.0],
        ">f8": [np.nan, 1e300, -9999.0],
        "<i8": [-(2**63), 2**63 - 1],
        "<u8": [2**64 - 1],
        "|b1": [True, False],
        "<c8": [complex(1.5, np.nan), complex(np.inf, -0.0)],
        "<M8[ns]": [np.datetime64("NaT"), np.datetime64(5, "ns")],
        "|S4": [b"ab\0c", b""],
        "<U3": ["é", ""],
        ">U3": ["日本"],
        "|V4": [np.void(b"\0\1\2\3")],
    }
    for dtype, separator in itertools.product(values, "./"):
        for value in values[dtype]:
            with tally.case(dtype, value, separator), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = make(folder / "source", dtype, "C", [], numcodecs.Zlib(1), value, separator)
                there_and_back(zarrcast, folder, expected, by_others=dtype not in NEWER)
                other = "/" if separator == "." else "."
                shutil.rmtree(folder / "keys", ignore_errors=True)
                zarrcast.ok("transcode", "--separator", other, "--verify", folder / "source", folder / "keys")
                assert objects(folder / "keys") == objects(folder / "source")
                same_bits(zarr.open_array(folder / "keys", mode="r")[...], expected, "other keys")


def options_of_v2(tally, zarrcast, folder):
    """What changes just a part gives a v2 array again, read by zarr-python and tensorstore."""
    changes = [
        ["--compress", "zstd:3"],
        ["--compress", "blosc:lz4:5:shuffle"],
        ["--compress", "gzip:1"],
        ["--compress", "none"],
        ["--chunk-shape", "3,7"],
        ["--chunk-shape", "0,2"],
        ["--fill-value", "7"],
        ["--separator", "/"],
        ["--attributes-append", '{"a": 1}'],
    ]
    for dtype, order, change in itertools.product(["<i2", ">i2", "<f4", ">f8", "|u1"], "CF", changes):
        with tally.case(dtype, order, *change):
            expected = make(folder / "source", dtype, order, [], numcodecs.Zlib(1))
            changed = folder / "changed"
            shutil.rmtree(changed, ignore_errors=True)
            zarrcast.ok("transcode", "--verify", *change, folder / "source", changed)
            assert json.loads((changed / ".zarray").read_text())["dtype"] == np.dtype(dtype).str
            same_bits(zarr.open_array(changed, mode="r")[...], expected, "zarr-python")
            same_bits(by_tensorstore(changed, "zarr"), expected, "tensorstore")


def arrays_of_v3_as_v2(tally, zarrcast, folder):
    """What zarr-python and tensorstore write as v3, as far as v2 can express it."""
    for dtype, endian in itertools.product(["bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64"], ["little", "big"]):
        for name, keys in [("default", "/"), ("default", "."), ("v2", "."), ("v2", "/")]:
            with tally.case(dtype, endian, name, keys), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                source, old = folder / "source", folder / "old"
                for path in (source, old):
                    shutil.rmtree(path, ignore_errors=True)
                array = zarr.create_array(
                    source,
                    shape=SHAPE,
                    chunks=CHUNKS,
                    dtype=dtype,
                    filters=[zarr.codecs.TransposeCodec(order=(1, 0))],
                    serializer=zarr.codecs.BytesCodec(endian=endian),
                    compressors=[zarr.codecs.ZstdCodec(level=1), zarr.codecs.Crc32cCodec()],
                    chunk_key_encoding={"name": name, "separator": keys},
                    dimension_names=["y", "x"],
                )
                array[:4] = elements(np.random.default_rng(1), dtype)[:4]
                node = zarrcast.json("transcode", "--zarr-format", "2", "--verify", source, old)["nodes"][0]
                assert node["route"] == "copy" and objects(old) == objects(source)
                same_bits(zarr.open_array(old, mode="r")[...], array[...], "zarr-python, v2")
                document = json.loads((old / ".zarray").read_text())
                assert (document["order"], document["dimension_separator"]) == ("F", keys)
                assert json.loads((old / ".zattrs").read_text()) == {"_ARRAY_DIMENSIONS": ["y", "x"]}


SECTIONS = [types_and_orders, filters, fill_values_and_separators, options_of_v2, arrays_of_v3_as_v2]
