"""Arrays of Zarr v2 that zarr-python writes, as v3 and back: the chunks stay, and other readers find the same elements."""

import json
from itertools import product

import numcodecs
import numpy as np
import zarr
from arrays import by_tensorstore, chunks_of, read, same_bits
from matrix_types import CHUNK, DATA_TYPES, FIRST_ROW, SHAPE, values_of
from matrix_writers import compressors_of_version_2

TYPES = [one.numpy.newbyteorder(order) for one in DATA_TYPES if isinstance(one.numpy, np.dtype) for order in one.byte_orders]
# tensorstore has no types of text or of times.
NUMBERS = [kind for kind in TYPES if kind.kind in "biufc"]
# With two of the kinds of blosc: `matrix.py` has all.
COMPRESSORS = list(compressors_of_version_2())[:9]
FILL_VALUES = {
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
CHANGES = [
    "--compress zstd:3",
    "--compress blosc:lz4:5:shuffle",
    "--compress gzip:1",
    "--compress none",
    "--chunk-shape 3,8",
    "--chunk-shape 0,2",
    "--fill-value 7",
    "--separator /",
    '--attributes-append {"a":1}',
]


def filter_lists(kind):
    """Filters of numcodecs for a type."""
    yield [numcodecs.Shuffle(kind.itemsize)]
    yield [numcodecs.CRC32()]
    yield [numcodecs.Fletcher32(), numcodecs.Adler32()]
    if kind.kind in "iu":
        yield [numcodecs.Delta(kind.str)]
        yield [numcodecs.Delta(kind.str), numcodecs.Shuffle(kind.itemsize)]
        # zarr-python gives no single byte a byte order, also where the codec behind it does.
        if 1 < kind.itemsize < 8:
            yield [numcodecs.AsType("<f8", kind.str)]
    if kind.kind == "f" and kind.itemsize > 2:
        yield [numcodecs.FixedScaleOffset(10, 100, kind.str, "<i4")]
        yield [numcodecs.FixedScaleOffset(10, 100, kind.str, ">i4"), numcodecs.Delta(">i4")]
        # In big endian its chunks do not stay: no form of it is read alike by every zarr-python.
        if kind.isnative:
            yield [numcodecs.Quantize(3, kind.str)]
    if kind.kind == "f" and kind.isnative:
        yield [numcodecs.BitRound(6)]
    if kind.kind == "b":
        yield [numcodecs.PackBits()]


def make(path, kind, values=None, separator=".", **options):
    """Writes an array by zarr-python, with absent chunks, and returns what it reads back."""
    keys = {"name": "v2", "separator": separator}
    options = {"filters": None, "compressors": numcodecs.Zlib(1), "attributes": {"units": "K", "factor": 1.0}} | options
    array = zarr.create_array(path, shape=SHAPE, chunks=CHUNK, dtype=kind, zarr_format=2, chunk_key_encoding=keys, **options)
    array[FIRST_ROW:] = (values_of(np.dtype(kind)) if values is None else values)[FIRST_ROW:]
    return array[...]


def same_chunks(found, expected):
    """Fails unless two arrays have the same chunks at the same indices."""
    a, b = ({key.removeprefix("c/").removeprefix("c.").replace("/", "."): content for key, content in chunks_of(path).items()} for path in (found, expected))
    assert a == b, "other chunks"


def there_and_back(zarrcast, folder, expected):
    """v2 to v3 to v2: the same chunks and elements, and the same documents."""
    source, new, back = (folder / name for name in ("source", "new", "back"))
    node = zarrcast.transcode("--zarr-format", "3", "--verify", source, new)
    assert node["route"] == "copy", node["route"]
    same_chunks(new, source)
    # `r32` of the core specification no zarr-python has, `struct` of the registry the newest alone.
    if expected.dtype.kind != "V":
        same_bits(read(new), expected, "zarr-python, v3")
    zarrcast.ok("transcode", "--zarr-format", "2", "--verify", new, back)
    same_chunks(back, source)
    same_bits(read(back), expected, "zarr-python, back in v2")
    for name in (".zarray", ".zattrs"):
        a, b = (json.loads((path / name).read_text()) for path in (source, back))
        for document in (a, b):
            for codec in [document.get("compressor"), *(document.get("filters") or [])]:
                if codec and codec["id"] == "zstd":
                    codec.pop("checksum", None)
        assert a == b, f"{a} became {b}"


def types_and_orders(tally, zarrcast, _folder):
    """Every type, order and compressor."""
    for kind, order, (name, compressor) in product(TYPES, "CF", COMPRESSORS):
        with tally.case(kind, order, name) as folder:
            expected = make(folder / "source", kind, order=order, compressors=compressor)
            there_and_back(zarrcast, folder, expected)
            if kind in NUMBERS and (compressor is None or compressor.codec_id in ("blosc", "zstd", "gzip")):
                same_bits(by_tensorstore(folder / "new"), expected, "tensorstore, v3")
                same_bits(by_tensorstore(folder / "back"), expected, "tensorstore, back in v2")


def filters(tally, zarrcast, _folder):
    """Every filter on every type that it takes."""
    steps = np.arange(np.prod(SHAPE)).reshape(SHAPE) * 7 % 64
    for kind, order in product(NUMBERS, "CF"):
        values = steps % 2 == 1 if kind.kind == "b" else (steps / (4 if kind.kind in "fc" else 1)).astype(kind)
        for chosen in filter_lists(kind):
            with tally.case(kind, order, chosen) as folder:
                there_and_back(zarrcast, folder, make(folder / "source", kind, values, order=order, filters=chosen))


def fill_values_and_separators(tally, zarrcast, _folder):
    """Fill values of each type, and keys with either separator."""
    for kind, separator in product(FILL_VALUES, "./"):
        for value in FILL_VALUES[kind]:
            with tally.case(kind, value, separator) as folder:
                expected = make(folder / "source", kind, separator=separator, fill_value=value)
                there_and_back(zarrcast, folder, expected)
                zarrcast.ok("transcode", "--separator", "./".replace(separator, ""), "--verify", folder / "source", folder / "keys")
                same_chunks(folder / "keys", folder / "source")
                same_bits(read(folder / "keys"), expected, "other keys")


def options_of_v2(tally, zarrcast, _folder):
    """Options that change a part of a v2 array: zarr-python and tensorstore read the result."""
    for kind, order, change in product(["<i2", ">i2", "<f4", ">f8", "|u1"], "CF", CHANGES):
        with tally.case(kind, order, change) as folder:
            expected = make(folder / "source", kind, order=order)
            zarrcast.ok("transcode", "--verify", *change.split(), folder / "source", folder / "b")
            assert json.loads((folder / "b" / ".zarray").read_text())["dtype"] == kind
            same_bits(read(folder / "b"), expected, "zarr-python")
            same_bits(by_tensorstore(folder / "b"), expected, "tensorstore")


def arrays_of_v3_as_v2(tally, zarrcast, _folder):
    """Arrays of v3 that v2 can express."""
    codecs = zarr.codecs
    kinds = ["bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64"]
    for kind, endian, name, separator in product(kinds, ["little", "big"], ["default", "v2"], "./"):
        with tally.case(kind, endian, name, separator) as folder:
            source, old = folder / "source", folder / "old"
            array = zarr.create_array(
                source,
                shape=SHAPE,
                chunks=CHUNK,
                dtype=kind,
                filters=[codecs.TransposeCodec(order=(1, 0))],
                serializer=codecs.BytesCodec(endian=endian),
                compressors=[codecs.ZstdCodec(level=1), codecs.Crc32cCodec()],
                chunk_key_encoding={"name": name, "separator": separator},
                dimension_names=["y", "x"],
            )
            array[FIRST_ROW:] = values_of(np.dtype(kind))[FIRST_ROW:]
            assert zarrcast.transcode("--zarr-format", "2", "--verify", source, old)["route"] == "copy"
            same_chunks(old, source)
            same_bits(read(old), array[...], "zarr-python, v2")
            document = json.loads((old / ".zarray").read_text())
            assert (document["order"], document["dimension_separator"]) == ("F", separator)
            assert json.loads((old / ".zattrs").read_text()) == {"_ARRAY_DIMENSIONS": ["y", "x"]}


SECTIONS = [types_and_orders, filters, fill_values_and_separators, options_of_v2, arrays_of_v3_as_v2]
