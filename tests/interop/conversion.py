"""Other data types, fill values and attributes, as zarr-python and tensorstore read them.

`random_transcode.py` and `casting.py` draw conversions of every pair of types. `tests/cli` has what is refused.
"""

import json

import numpy as np
import zarr
from arrays import chunks_of, elements, fixture, metadata, same_by_both, write


def data_types(tally, zarrcast, _folder):
    """`--data-type`: values convert as numpy converts them."""
    random = np.random.default_rng(5)
    real = (random.standard_normal((9, 7)) * 100).astype("f8")
    single, holes = real.astype("f4"), np.where(real > 50, np.nan, real)
    whole = random.integers(-30000, 30000, (9, 7)).astype("i2")
    large = whole.astype("i8") * 2**40 + 1
    with np.errstate(over="ignore"):
        huge = (real * 1e38).astype("f4")
    cases = [
        (real, real.astype("f4"), ""),
        (real, real.astype("f2"), ""),
        (single, single.astype("f8"), ""),
        (real * 1e37, (real * 1e37).astype("f4"), "--out-of-range clamp"),
        (huge, np.where(np.abs(huge) >= 65520, np.copysign(np.inf, huge), huge).astype("f2"), "--out-of-range clamp"),
        (real, np.rint(real).astype("i2"), ""),
        (real, real.astype("i4"), "--rounding towards-zero"),
        (real, np.clip(np.rint(real), -128, 127).astype("i1"), "--out-of-range clamp"),
        (single, np.rint(single).astype("i8").astype("u1"), "--out-of-range wrap"),
        (whole, whole.astype("i4"), ""),
        (whole, whole.astype("i1"), "--out-of-range wrap"),
        (whole, np.clip(whole, 0, 255).astype("u1"), "--out-of-range clamp"),
        (whole, whole.astype("f4"), ""),
        (large, large.astype("f4"), "--allow-lossy-cast"),
        (whole.astype("u8"), whole.astype("u8").astype("f8"), "--allow-lossy-cast"),
        (holes, np.where(np.isnan(holes), -32768, np.rint(np.nan_to_num(holes))).astype("i2"), "--nan-value -32768"),
    ]
    for values, expected, options in cases:
        with tally.case("data-type", values.dtype, expected.dtype, options) as folder:
            write(folder / "a", values, chunks=(4, 4), fill_value=np.nan if values is holes else 0, compressors=None)
            zarrcast.ok("transcode", "--data-type", expected.dtype.name, *options.split(), folder / "a", folder / "b")
            same_by_both(folder / "b", expected)
            assert metadata(folder / "b")["data_type"] == expected.dtype.name
            assert values is not holes or metadata(folder / "b")["fill_value"] == -32768
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
    names = ["missing_chunks_nan", "missing_chunks_finite", "missing_chunks_int16", "zarr-python_3.1.6_sharded_index_end", "sharded_twice"]
    for name in names:
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
    for option, expected in {"--attributes": given, "--attributes-append": dict(zarr.open_array(one.path, mode="r").attrs) | given}.items():
        for is_in_file in (False, True):
            with tally.case(option, is_in_file) as folder:
                (folder / "given.json").write_text(json.dumps(given), encoding="utf-8")
                zarrcast.ok("transcode", option, f"@{folder / 'given.json'}" if is_in_file else json.dumps(given), one.path, folder / "b")
                assert dict(zarr.open_array(folder / "b", mode="r").attrs) == expected
                text = (folder / "b" / "zarr.json").read_text(encoding="utf-8")
                for literal in ["1e3", "2E+05", "-0.0", "123456789012345678901234567890", "0.1000000000000000055511151231257827", "1.50"]:
                    assert option == "--attributes" or literal in text, f"{literal} was rewritten"


SECTIONS = [data_types, fill_values, attributes]
