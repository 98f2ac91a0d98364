"""Other data types, fill values, attributes, keys and formats, as zarr-python and tensorstore read them.

Every data type, compressor and filter in the other format and back is in `matrix.py`; casts are in `casting.py`.
"""

import json
from itertools import product

import numpy as np
import zarr
from arrays import chunks_of, elements, fixture, metadata, read, same_bits, same_by_both, write
from matrix_types import CHUNK, FIRST_ROW, SHAPE, values_of

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


def data_types(tally, zarrcast, _folder):
    """`--data-type`: what comes of NaN, of missing chunks and of codecs that name a size."""
    with tally.case("NaN to an integer") as folder:
        values = np.random.default_rng(5).standard_normal((9, 7)) * 100
        values[values > 50] = np.nan
        write(folder / "a", values, chunks=(4, 4), fill_value=np.nan)
        zarrcast.ok("transcode", "--data-type", "int16", "--nan-value", "-32768", folder / "a", folder / "b")
        same_by_both(folder / "b", np.where(np.isnan(values), -32768, np.rint(np.nan_to_num(values))).astype("i2"))
        assert metadata(folder / "b")["fill_value"] == -32768
    with tally.case("missing chunks stay, the fill value converts") as folder:
        one = fixture("missing_chunks_finite")
        zarrcast.ok("transcode", "--data-type", "int16", one.path, folder / "b")
        same_by_both(folder / "b", np.rint(elements(one.path)).astype("i2"))
        assert metadata(folder / "b")["fill_value"] == -999
        assert chunks_of(folder / "b").keys() == chunks_of(one.path).keys()
    with tally.case("endian and typesize follow") as folder:
        one = fixture("zarr-python_3.1.6_blosc_lz4_shuffle")
        zarrcast.ok("transcode", "--data-type", "float64", one.path, folder / "b")
        same_by_both(folder / "b", elements(one.path).astype("f8"))
        assert metadata(folder / "b")["codecs"][-1]["configuration"]["typesize"] == 8


def fill_values(tally, zarrcast, _folder):
    """`--fill-value` keeps the values: absent chunks are written out where the fill value changes."""
    for name in ["missing_chunks_nan", "missing_chunks_int16", "zarr-python_3.1.6_sharded_index_end", "sharded_twice"]:
        one = fixture(name)
        expected = elements(one.path)
        for fill_value in ["7"] if expected.dtype.kind == "i" else ["7", '"NaN"', "-1.5", '"0x7fc00001"']:
            with tally.case("fill-value", fill_value, name) as folder:
                zarrcast.ok("transcode", "--fill-value", fill_value, one.path, folder / "b")
                same_by_both(folder / "b", expected)
                found = metadata(folder / "b")["fill_value"]
                assert json.dumps(found) in (fill_value, f"{fill_value}.0"), found


def attributes(tally, zarrcast, _folder):
    """`--attributes` and `--attributes-append`, as zarr-python reads them."""
    one = fixture("attribute_literals")
    given = {"units": "K", "list": [1, 2.5, None], "nested": {"a": "ü"}, "one": 2}
    appended = dict(zarr.open_array(one.path, mode="r").attrs) | given
    for option, expected in {"--attributes": given, "--attributes-append": appended}.items():
        with tally.case(option) as folder:
            (folder / "given.json").write_text(json.dumps(given), encoding="utf-8")
            zarrcast.ok("transcode", option, f"@{folder / 'given.json'}", one.path, folder / "b")
            assert dict(zarr.open_array(folder / "b", mode="r").attrs) == expected


def same_chunks(found, expected):
    """Fails unless two arrays have the same chunks at the same indices."""
    index = lambda key: key.removeprefix("c/").removeprefix("c.").replace("/", ".")
    a, b = ({index(key): content for key, content in chunks_of(path).items()} for path in (found, expected))
    assert a == b, "other chunks"


def fill_values_of_version_2(tally, zarrcast, _folder):
    """Fill values of each type, and keys with either separator: v2 to v3 to v2, and other keys."""
    for kind, separator in product(FILL_VALUES, "./"):
        for value in FILL_VALUES[kind]:
            with tally.case("v2 fill value", kind, value, separator) as folder:
                source, new, back, keys = (folder / name for name in ("source", "new", "back", "keys"))
                encoding = {"name": "v2", "separator": separator}
                options = {"chunks": CHUNK, "fill_value": value, "zarr_format": 2, "chunk_key_encoding": encoding}
                zarr.create_array(source, shape=SHAPE, dtype=kind, **options)[FIRST_ROW:] = values_of(np.dtype(kind))[FIRST_ROW:]
                expected = read(source)
                assert zarrcast.transcode("--zarr-format", "3", "--verify", source, new)["route"] == "copy"
                # `r32` of the core specification no zarr-python has.
                if expected.dtype.kind != "V":
                    same_bits(read(new), expected, "zarr-python, v3")
                zarrcast.ok("transcode", "--zarr-format", "2", "--verify", new, back)
                other = "./".replace(separator, "")
                zarrcast.ok("transcode", "--separator", other, "--verify", source, keys)
                for path in (back, keys):
                    same_chunks(path, source)
                    same_bits(read(path), expected, path.name)
                a, b = (json.loads((path / ".zarray").read_text()) for path in (source, back))
                for document in (a, b):
                    document["compressor"].pop("checksum", None)
                assert a == b, f"{a} became {b}"


def version_3_as_version_2(tally, zarrcast, _folder):
    """Arrays of v3 that v2 can express, with names of dimensions."""
    codecs, kinds = zarr.codecs, ["bool", "int8", "uint16", "uint64", "float16", "float64", "complex64"]
    for kind, endian, name, separator in product(kinds, ["little", "big"], ["default", "v2"], "./"):
        with tally.case("v3 as v2", kind, endian, name, separator) as folder:
            source, old = folder / "source", folder / "old"
            options = {"chunks": CHUNK, "chunk_key_encoding": {"name": name, "separator": separator}}
            options |= {"filters": [codecs.TransposeCodec(order=(1, 0))], "dimension_names": ["y", "x"]}
            options |= {"compressors": [codecs.ZstdCodec(level=1), codecs.Crc32cCodec()]}
            array = write(source, values_of(np.dtype(kind)), serializer=codecs.BytesCodec(endian=endian), **options)
            assert zarrcast.transcode("--zarr-format", "2", "--verify", source, old)["route"] == "copy"
            same_chunks(old, source)
            same_bits(read(old), array[...], "zarr-python, v2")
            document = json.loads((old / ".zarray").read_text())
            assert (document["order"], document["dimension_separator"]) == ("F", separator)
            assert json.loads((old / ".zattrs").read_text()) == {"_ARRAY_DIMENSIONS": ["y", "x"]}


SECTIONS = [data_types, fill_values, attributes, fill_values_of_version_2, version_3_as_version_2]
