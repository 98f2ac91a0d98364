"""Other data types, fill values and attributes, as zarr-python and tensorstore read them.

Values of every pair of types are in `casting.py`, `random_transcode.py` and `rechunking.py`, refusals in `tests/cli`.
"""

import json

import numpy as np
import zarr
from arrays import chunks_of, elements, fixture, metadata, same_by_both, write


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
    with tally.case("a fill value that does not fit") as folder:
        zarrcast.status(1, "transcode", "--fill-value", "40000", fixture("missing_chunks_int16").path, folder / "b")
        assert not (folder / "b" / "zarr.json").exists()


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
