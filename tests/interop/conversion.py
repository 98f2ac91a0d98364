"""Copies, other data types, fill values, attributes, keys and formats, read by other implementations, and the output
of `inspect`.

Every data type, compressor and filter in the other format and back is in `matrix.py`. Casts are in `casting.py`.
"""

import json
import math
from fractions import Fraction
from itertools import product

import numcodecs
import numpy as np
import zarr
from arrays import chunks_of, elements, fixture, fixtures, metadata, read, same_bits, same_by_both, write
from matrix_types import CHUNK, FIRST_ROW, SHAPE, values_of

FILL_VALUES = {
    "<f4": [np.nan, np.inf, -np.inf, 0.1, -0.0], ">f8": [np.nan, 1e300, -9999.0], "<i8": [-(2**63), 2**63 - 1],
    "<u8": [2**64 - 1], "|b1": [True, False], "<c8": [complex(1.5, np.nan), complex(np.inf, -0.0)],
    "<M8[ns]": [np.datetime64("NaT"), np.datetime64(5, "ns")], "|S4": [b"ab\0c", b""],
    "<U3": ["é", ""], ">U3": ["日本"], "|V4": [np.void(b"\0\1\2\3")],
}


def readable(one):
    is_regular = one.metadata["chunk_grid"]["name"] == "regular"
    foreign = ("scale_offset", "cast_value", "zfp", "numcodecs.zfpy", "zarrs.vlen_v2")
    return is_regular and one.data_type not in ("uint10", "r24") and not one.has_codecs(*foreign)


def with_literals(path):
    """Returns the metadata document with every number as its text."""
    number = {word: lambda text: f"number {text}" for word in ("parse_float", "parse_int", "parse_constant")}
    return json.loads((path / "zarr.json").read_text(encoding="utf-8"), **number)


def copies(tally, zarrcast, _folder):
    """A copy keeps every stored byte, the metadata, the order of attributes, and each number literal."""
    for one in fixtures():
        with tally.case("copy", one.name) as folder:
            zarrcast.ok("transcode", one.path, folder / "copy")
            assert chunks_of(folder / "copy") == chunks_of(one.path), "stored chunks differ"
            found, expected = with_literals(folder / "copy"), with_literals(one.path)
            for document in (found, expected):
                if document.get("storage_transformers") == []:
                    del document["storage_transformers"]
            assert found == expected, f"metadata: {found}, not {expected}"
            assert str(found["attributes"]) == str(expected["attributes"]), "the order of attributes differs"
            if readable(one):
                values = elements(one.path)
                same_bits(values[one.box], one.expected(), "the fixture")
                same_by_both(folder / "copy", values)


def data_types(tally, zarrcast, _folder):
    """`--data-type` with NaN, with missing chunks, and with codecs that have a size parameter."""
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
    """`--fill-value` keeps the values. With another fill value, missing chunks are written."""
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
    one = fixture("attribute_literals")
    given = {"units": "K", "list": [1, 2.5, None], "nested": {"a": "ü"}, "one": 2}
    appended = dict(zarr.open_array(one.path, mode="r").attrs) | given
    for option, expected in {"--attributes": given, "--attributes-append": appended}.items():
        with tally.case(option) as folder:
            (folder / "given.json").write_text(json.dumps(given), encoding="utf-8")
            zarrcast.ok("transcode", option, f"@{folder / 'given.json'}", one.path, folder / "b")
            assert dict(zarr.open_array(folder / "b", mode="r").attrs) == expected


def same_chunks(found, expected):
    index = lambda key: key.removeprefix("c/").removeprefix("c.").replace("/", ".")
    a, b = ({index(key): content for key, content in chunks_of(path).items()} for path in (found, expected))
    assert a == b, "other chunks"


def fill_values_of_version_2(tally, zarrcast, _folder):
    """Fill values of each type, and keys with either separator: v2 to v3 to v2, and other keys."""
    compressors = {"default": "auto", "blosc": numcodecs.Blosc("lz4", 5, 1)}
    for kind, separator, compressor in product(FILL_VALUES, "./", compressors):
        for value in FILL_VALUES[kind]:
            with tally.case("v2 fill value", kind, value, separator, compressor) as folder:
                source, new, back, keys = (folder / name for name in ("source", "new", "back", "keys"))
                encoding = {"name": "v2", "separator": separator}
                options = {"chunks": CHUNK, "fill_value": value, "zarr_format": 2, "chunk_key_encoding": encoding}
                options["compressors"] = compressors[compressor]
                zarr.create_array(source, shape=SHAPE, dtype=kind, **options)[FIRST_ROW:] = values_of(np.dtype(kind))[FIRST_ROW:]
                expected = read(source)
                assert zarrcast.transcode("--zarr-format", "3", "--verify", source, new)["route"] == "copy"
                # No zarr-python supports `r32` of the core specification.
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


TYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "?"]
INSPECTED = (45, 50)
LAYOUTS = [{"chunks": (7, 16)}, {"chunks": (5, 8), "shards": (20, 24)}]


def inspected_values(kind, data_type, random):
    """Returns elements of a type: small, of its whole range, far from zero, or with NaN and infinities."""
    data_type = np.dtype(data_type)
    if data_type.kind == "b":
        return random.random(INSPECTED) < 0.3
    if data_type.kind in "iu":
        limits = np.iinfo(data_type)
        ends = {"small": (0, 9), "whole": (limits.min, limits.max), "far": (limits.max - 9, limits.max), "special": (0, 1)}
        return random.integers(*ends[kind], INSPECTED, data_type, endpoint=True)
    if kind == "whole":
        return random.integers(0, 2 ** (8 * data_type.itemsize), INSPECTED, f"u{data_type.itemsize}").view(data_type)
    values = (random.standard_normal(INSPECTED) * 3).astype(data_type)
    if kind == "far":
        values = (1000 + values / 500).astype(data_type)
    if kind == "special":
        values = np.where(random.random(INSPECTED) < 0.4, np.array(np.nan, data_type), values)
        values.flat[:2] = np.inf, -np.inf
    return values


def near(found, exact, name):
    """Fails unless a float64 is within 2 units in the last place of an exact number."""
    assert abs(Fraction(found) - exact) <= 2 * Fraction(math.ulp(float(exact))), f"{name}: {found}, not {float(exact)}"


def same_stats(found, values, fill_value):
    finite = values[np.isfinite(values)]
    is_fill = np.isnan(values) if fill_value != fill_value else values == fill_value
    counts = {"count": values.size, "finite": finite.size, "nan": np.isnan(values).sum(), "fill_value": is_fill.sum()}
    counts |= {"positive_infinity": np.isposinf(values).sum(), "negative_infinity": np.isneginf(values).sum()}
    assert found.items() >= counts.items(), (found, counts)
    if finite.size:
        assert (found["min"], found["max"]) == (finite.min().item(), finite.max().item()), found
        exact = [Fraction(value) for value in finite.astype("u1" if finite.dtype.kind == "b" else finite.dtype).tolist()]
        mean = sum(exact) / len(exact)
        near(found["mean"], mean, "mean")
        # The square root of a fraction with more digits than a float64.
        square = sum((value - mean) ** 2 for value in exact) / len(exact)
        shift = max(0, 140 - (square.numerator.bit_length() - square.denominator.bit_length())) // 2 * 2
        root = Fraction(math.isqrt((square.numerator << shift) // square.denominator), 1 << (shift // 2))
        near(found["standard_deviation"], root, "standard deviation")


def figures(tally, zarrcast, _folder):
    """Statistics of every type over ragged chunks, in shards and with missing chunks, and histograms of numpy."""
    random = np.random.default_rng(11)
    for kind, data_type, layout in product(["small", "whole", "far", "special"], TYPES, LAYOUTS):
        with tally.case(kind, data_type, layout) as folder, np.errstate(all="ignore"):
            values = inspected_values(kind, data_type, random)
            fill_value = np.nan if np.dtype(data_type).kind == "f" else 1
            values[20:40, :24] = fill_value
            write(folder / "a", values, fill_value=fill_value, config={"write_empty_chunks": False}, **layout)
            same_stats(zarrcast.json("inspect", "--stats", folder / "a")["stats"], values, fill_value)
            # Nine neighbours above 2^53 are one float64, for which numpy makes no bins.
            if kind == "whole" or data_type == "?" or (kind, data_type) in (("far", "i8"), ("far", "u8")):
                continue
            for bins, bounds in [(1, None), (37, None), (8, (-1.5, 2.5)), (3, (1.0, 1.0))]:
                option = ",".join(map(str, (bins, *(bounds or ()))))
                found = zarrcast.json("inspect", "--histogram", option, folder / "a")["histogram"]
                counts, edges = np.histogram(values[np.isfinite(values)].astype("f8"), bins, bounds)
                expected = {"counts": counts.tolist(), "min": edges[0], "max": edges[-1]}
                expected |= {"below": (values < edges[0]).sum(), "above": (values > edges[-1]).sum()}
                assert found == expected, f"{found}, not {expected}"


def slices(tally, zarrcast, folder):
    """The pixels of a preview are numpy's means."""
    values = np.random.default_rng(13).random((3, 130, 200))
    values[:, 40:50, 60:90] = np.nan
    write(folder / "a", values, chunks=(1, 33, 64), fill_value=np.nan)
    for index in range(3):
        with tally.case("slice", index):
            shown = zarrcast.json("inspect", "--preview", f"0={index}", folder / "a")["preview"]["values"]
            found = np.array(shown, "f8")
            edges = [[-(-p * n // of) for p in range(of + 1)] for n, of in zip((130, 200), found.shape)]
            for y, x in np.ndindex(found.shape):
                box = values[index, edges[0][y] : edges[0][y + 1], edges[1][x] : edges[1][x + 1]]
                expected = np.nanmean(box) if np.isfinite(box).any() else math.nan
                assert np.isclose(found[y, x], expected, rtol=1e-14, atol=0, equal_nan=True), f"{y}, {x}: {found[y, x]}"


SECTIONS = [copies, data_types, fill_values, attributes, fill_values_of_version_2, version_3_as_version_2]
SECTIONS += [figures, slices]
