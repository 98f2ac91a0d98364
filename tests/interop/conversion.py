"""What changes values or metadata: data types, fill values, attributes; and what is refused."""

import shutil

import numpy as np
import zarr
from arrays import fixture, metadata, stored_objects
from readers import as_text, elements, same_by_both


def array(path, values, **options):
    """Write `values` in chunks of 4 elements a side."""
    chunks = (4,) * values.ndim
    created = zarr.create_array(
        path, shape=values.shape, dtype=values.dtype, chunks=chunks, **({"fill_value": 0, "compressors": None} | options)
    )
    created[...] = values
    return path


def data_types(tally, zarrcast, folder):
    """`--data-type`: values convert as numpy converts them, where numpy's own rule is the one asked for."""
    random = np.random.default_rng(5)
    real = (random.standard_normal((9, 7)) * 100).astype("f8")
    whole = random.integers(-30000, 30000, (9, 7)).astype("i2")
    with np.errstate(over="ignore"):
        big = (real * 1e38).astype("f4")
    small_range = np.clip(np.rint(real), -128, 127)
    cases = [
        ("float64", "float32", real, real.astype("f4"), []),
        ("float64", "float16", real, real.astype("f2"), []),
        ("float32", "float64", real.astype("f4"), real.astype("f4").astype("f8"), []),
        ("float64 beyond", "float32", real * 1e37, (real * 1e37).astype("f4"), ["--out-of-range", "clamp"]),
        (
            "float32 beyond",
            "float16",
            big,
            np.where(np.abs(big) >= 65520, np.copysign(np.inf, big), big).astype("f2"),
            ["--out-of-range", "clamp"],
        ),
        ("float64", "int16", real, np.rint(real).astype("i2"), []),
        ("float64 towards-zero", "int32", real, real.astype("i4"), ["--rounding", "towards-zero"]),
        ("float64 clamp", "int8", real, small_range.astype("i1"), ["--out-of-range", "clamp"]),
        ("float32 wrap", "uint8", real.astype("f4"), np.rint(real.astype("f4")).astype("i8").astype("u1"), ["--out-of-range", "wrap"]),
        ("int16", "int32", whole, whole.astype("i4"), []),
        ("int16 wrap", "int8", whole, whole.astype("i1"), ["--out-of-range", "wrap"]),
        ("int16 clamp", "uint8", whole, np.clip(whole, 0, 255).astype("u1"), ["--out-of-range", "clamp"]),
        ("int16", "float32", whole, whole.astype("f4"), []),
        ("int64 lossy", "float32", whole.astype("i8") * 2**40 + 1, (whole.astype("i8") * 2**40 + 1).astype("f4"), ["--allow-lossy-cast"]),
        ("uint64 lossy", "float64", whole.astype("u8"), whole.astype("u8").astype("f8"), ["--allow-lossy-cast"]),
    ]
    for name, data_type, source, expected, options in cases:
        with tally.case("data-type", name, data_type):
            path, destination = folder / f"{name} {data_type}", folder / f"{name} {data_type} out"
            zarrcast.ok("transcode", "--data-type", data_type, *options, array(path, source), destination)
            same_by_both(destination, expected)
            assert metadata(destination)["data_type"] == data_type
    with tally.case("NaN to an integer"):
        values = np.where(real > 50, np.nan, real)
        path = array(folder / "NaN", values, fill_value=np.nan)
        zarrcast.status(1, "transcode", "--data-type", "int16", path, folder / "NaN refused")
        zarrcast.ok("transcode", "--data-type", "int16", "--nan-value", "-32768", path, folder / "NaN out")
        expected = np.where(np.isnan(values), -32768, np.rint(np.nan_to_num(values))).astype("i2")
        same_by_both(folder / "NaN out", expected)
        assert metadata(folder / "NaN out")["fill_value"] == -32768
    with tally.case("lossy integer to float is refused"):
        message = zarrcast.status(
            1, "transcode", "--data-type", "float32", array(folder / "int64", whole.astype("i8")), folder / "int64 refused"
        )
        assert "int64" in message and "float32" in message, message
    with tally.case("missing chunks stay, the fill value converts"):
        one = fixture("missing_chunks_finite")
        zarrcast.ok("transcode", "--data-type", "int16", one.path, folder / "missing")
        same_by_both(folder / "missing", np.rint(elements(one.path)).astype("i2"))
        assert metadata(folder / "missing")["fill_value"] == -999
        assert stored_objects(folder / "missing").keys() == stored_objects(one.path).keys()
    with tally.case("endian and typesize follow"):
        one = fixture("zarr-python_3.1.6_blosc_lz4_shuffle")
        zarrcast.ok("transcode", "--data-type", "float64", one.path, folder / "blosc")
        same_by_both(folder / "blosc", elements(one.path).astype("f8"))
        blosc = metadata(folder / "blosc")["codecs"][-1]
        assert blosc["configuration"]["typesize"] == 8, blosc


def fill_values(tally, zarrcast, folder):
    """`--fill-value`: values are kept, so absent chunks are written out where the fill value changes."""
    names = ["missing_chunks_nan", "missing_chunks_finite", "missing_chunks_int16", "zarr-python_3.1.6_sharded_index_end", "sharded_twice"]
    for name in names:
        one = fixture(name)
        expected = elements(one.path)
        for fill_value in ["7", '"NaN"', "-1.5", '"0x7fc00001"']:
            if expected.dtype.kind == "i" and fill_value != "7":
                continue
            with tally.case("fill-value", fill_value, name):
                destination = folder / f"{name} {fill_value}"
                zarrcast.ok("transcode", "--fill-value", fill_value, one.path, destination)
                same_by_both(destination, expected)
                assert as_text(metadata(destination)["fill_value"]) in (fill_value, f"{fill_value}.0"), metadata(destination)["fill_value"]
    with tally.case("a fill value that does not fit"):
        zarrcast.status(1, "transcode", "--fill-value", "40000", fixture("missing_chunks_int16").path, folder / "refused")
        assert not (folder / "refused").exists() or not (folder / "refused" / "zarr.json").exists()


def attributes(tally, zarrcast, folder):
    """`--attributes` and `--attributes-append`: what zarr-python then reads."""
    one = fixture("attribute_literals")
    before = dict(zarr.open_array(one.path, mode="r").attrs)
    given = {"units": "K", "list": [1, 2.5, None], "nested": {"a": "ü"}}
    with tally.case("attributes"):
        zarrcast.ok("transcode", "--attributes", as_text(given), one.path, folder / "replaced")
        assert dict(zarr.open_array(folder / "replaced", mode="r").attrs) == given
    with tally.case("attributes from a file"):
        (folder / "given.json").write_text(as_text(given), encoding="utf-8")
        zarrcast.ok("transcode", "--attributes", f"@{folder / 'given.json'}", one.path, folder / "from file")
        assert dict(zarr.open_array(folder / "from file", mode="r").attrs) == given
    with tally.case("attributes-append"):
        appended = given | {"one": 2}
        zarrcast.ok("transcode", "--attributes-append", as_text(appended), one.path, folder / "appended")
        assert dict(zarr.open_array(folder / "appended", mode="r").attrs) == before | appended
        text = (folder / "appended" / "zarr.json").read_text(encoding="utf-8")
        for literal in ["1e3", "2E+05", "-0.0", "123456789012345678901234567890", "0.1000000000000000055511151231257827", "1.50"]:
            assert literal in text, f"{literal} was rewritten"


def refusals(tally, zarrcast, folder):
    """What must not work leaves no destination that opens, and ends with the right status."""
    one = fixture("zarr-python_3.1.6_zstd")
    own = folder / "own"
    shutil.copytree(one.path, own)
    cases = [
        (3, "a source that is missing", [folder / "nothing", folder / "a"]),
        (3, "a destination that exists", [one.path, folder]),
        (3, "source and destination equal", [own, own]),
        (2, "codecs that are not JSON", ["--codecs", "[", one.path, folder / "c"]),
        (
            1,
            "codecs without array to bytes",
            ["--codecs", '[{"name":"zstd","configuration":{"level":1,"checksum":false}}]', one.path, folder / "d"],
        ),
        (
            1,
            "codecs in the wrong order",
            [
                "--codecs",
                '[{"name":"bytes","configuration":{"endian":"little"}},{"name":"transpose","configuration":{"order":[0,1]}}]',
                one.path,
                folder / "e",
            ],
        ),
        (2, "an unknown option", ["--no-such-option", one.path, folder / "f"]),
        (2, "quantize with data-type", ["--quantize", "uint8", "--data-type", "int8", one.path, folder / "g"]),
        (1, "an array of integers", ["--quantize", "uint8", fixture("type_int16").path, folder / "h"]),
    ]
    for status, name, arguments in cases:
        with tally.case(name):
            zarrcast.status(status, "transcode", *arguments)
            assert arguments[-1] in (folder, own) or not (arguments[-1] / "zarr.json").exists()
    with tally.case("a corrupt chunk"):
        broken = folder / "broken"
        shutil.copytree(fixture("zarr-python_3.1.6_zstd_crc32c").path, broken)
        chunk = next(path for path in broken.rglob("c/*/*") if path.is_file())
        chunk.write_bytes(bytes(byte ^ (index == 20) for index, byte in enumerate(chunk.read_bytes())))
        zarrcast.status(1, "transcode", "--compress", "none", broken, folder / "from broken")
        assert not (folder / "from broken" / "zarr.json").exists()
