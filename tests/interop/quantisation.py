"""Quantised arrays: codes, reports and CF attributes, compared with numpy via zarr-python and tensorstore."""

import re
from itertools import product

import arrays
import numpy as np
from arrays import ROUNDINGS, by_tensorstore, elements, fixture, metadata, round_to_integer, same_bits, same_by_both

NAMES = ["float64", "float16", "f_order", "missing_chunks_nan", "sharded_index_start", "ragged_edges"]
QUANTISED = [*(f"zarr-python_3.1.6_{name}" for name in NAMES), "tensorstore_0.1.86_sharded_transposed"]


def scaled(values, report):
    """Returns (x - offset) * scale in the array's own type."""
    one = values.dtype.type
    with np.errstate(invalid="ignore"):
        return (values - one(report["offset"])) * one(report["scale"])


def codes_of(values, report, rounding="nearest-even", out_of_range=None):
    kind, is_nan = np.iinfo(report["data_type"]), np.isnan(values)
    codes = np.where(is_nan, 0, round_to_integer(scaled(values, report), rounding)).astype("i8")
    if out_of_range == "clamp":
        # The least code is NaN, so clamped values get the next one.
        codes = np.clip(codes, kind.min + 1, kind.max)
    codes = codes.astype(report["data_type"])
    if report["nan_code"] is not None:
        codes[is_nan] = report["nan_code"]
    return codes


def decoded(codes, report, data_type):
    one = np.dtype(data_type).type
    values = codes.astype(data_type) / one(report["scale"]) + one(report["offset"])
    return values if report["nan_code"] is None else np.where(codes == report["nan_code"], one("nan"), values)


def check_report(values, report):
    finite, kind = values[np.isfinite(values)], np.iinfo(report["data_type"])
    exact = 2 ** (np.finfo(values.dtype).nmant + 1)
    first, last = max(kind.min, -exact), min(kind.max, exact)
    if report["nan_code"] is not None:
        assert report["nan_code"] == kind.min, f"NaN code {report['nan_code']}"
        first = max(first, kind.min + 1)
    assert report["codes"] == [first, last], f"codes {report['codes']}, not {[first, last]}"
    ends = [int(code) for code in codes_of(np.array([finite.min(), finite.max()]), report)]
    # 0 unless the codes are as fine as the float type itself. Then no scale reaches both ends.
    slack = 4 * (last - first) // exact
    assert first <= ends[0] <= first + slack and last - slack <= ends[1] <= last, f"the range got the codes {ends}"
    assert report["count"] - report["nan"] == finite.size and report["clamped"] == 0, "elements that are no NaN"
    back = decoded(codes_of(finite, report), report | {"nan_code": None}, values.dtype)
    error = np.abs(back.astype("f8") - finite.astype("f8"))
    for name, expected, near in [("max_abs_error", error.max(), 1e-9), ("rms_error", np.sqrt(np.mean(error**2)), 1e-6)]:
        assert np.isclose(report[name], expected, rtol=near, atol=0), f"{name} {report[name]}, not {expected}"


def quantised(tally, zarrcast, folder):
    """`--quantize` as plain codes, as CF and as codecs, and `--unpack`: codes, values and report equal numpy's."""
    for name, data_type in [(name, kind) for name in QUANTISED for kind in ("uint8", "int8", "uint16", "int16", "uint32")]:
        with tally.case("quantised", name, data_type) as place:
            source = fixture(name).path
            values = elements(source)
            command = ["transcode", "--quantize", data_type]
            report = zarrcast.json(*command, "--as", "plain", source, place / "plain")["nodes"][0]["quantization"]
            check_report(values, report)
            codes = codes_of(values, report)
            for form in ("cf", "codecs"):
                zarrcast.ok(*command, "--as", form, source, place / form)
                zarrcast.ok("transcode", "--unpack", place / form, place / f"{form} unpacked")
            same_by_both(place / "plain", codes)
            same_by_both(place / "cf", codes)
            check_cf_attributes(place / "cf", report, values.dtype)
            check_unpacked(place / "cf unpacked", place / "cf")
            same_by_both(place / "codecs unpacked", decoded(codes, report, values.dtype))


def check_cf_attributes(path, report, source_type):
    attributes = metadata(path)["attributes"]
    # The report contains the shortest decimals of the type.
    exactly = lambda member: float(source_type.type(report[member]))
    text = (path / "zarr.json").read_text(encoding="utf-8")
    for name, value in [("scale_factor", 1 / exactly("scale")), ("add_offset", exactly("offset"))]:
        assert np.isclose(attributes[name], value, rtol=1e-12), f"{name} {attributes[name]}, not about {value}"
        literal = re.search(rf'"{name}"\s*:\s*([^,\s}}]+)', text)[1]
        assert re.search(r"[.eE]", literal), f"{name} {literal} has neither fraction nor exponent"
    assert attributes.get("_FillValue") == report["nan_code"], f"_FillValue {attributes.get('_FillValue')}"
    if report["nan_code"] is not None:
        assert metadata(path)["fill_value"] == report["nan_code"], "the fill value is not the NaN code"


def check_unpacked(unpacked, packed):
    """Fails unless unpacked values have the type that CF readers choose, and are near those of the codes."""
    found = elements(unpacked)
    same_bits(by_tensorstore(unpacked), found, "by tensorstore")
    attributes, codes = metadata(packed)["attributes"], elements(packed)
    assert found.dtype == ("f4" if codes.dtype.itemsize <= 2 else "f8"), f"type {found.dtype}"
    exact = codes.astype("f8") * attributes["scale_factor"] + attributes["add_offset"]
    missing = codes == attributes["_FillValue"] if "_FillValue" in attributes else np.zeros(codes.shape, bool)
    assert np.array_equal(np.isnan(found), missing), "NaN in other places"
    greatest = np.maximum(np.abs(exact[~missing]), abs(attributes["add_offset"])).astype(found.dtype)
    difference = np.abs(found[~missing].astype("f8") - exact[~missing])
    assert np.all(difference <= 2 * np.spacing(greatest).astype("f8")), "not the unpacked value"
    left = {"scale_factor", "add_offset", "_FillValue"} & set(metadata(unpacked)["attributes"])
    assert not left, f"packing attributes left: {left}"


def given_ranges(tally, zarrcast, _folder):
    """`--range` with each rounding and `--out-of-range`, `--scale` with `--offset`, `--nan-value`, `--max-error`."""
    one = fixture("zarr-python_3.1.6_zstd")
    values = elements(one.path)

    def report_of(folder, *options):
        return zarrcast.transcode(*options, "--as", "plain", one.path, folder / "b")["quantization"]

    for rounding, out_of_range in product(ROUNDINGS, ["clamp", "wrap"]):
        with tally.case("range -10,25.5", rounding, out_of_range) as folder:
            options = ["--rounding", rounding, "--out-of-range", out_of_range]
            report = report_of(folder, "--quantize", "int16", "--range", "-10,25.5", *options)
            codes = codes_of(values, report, rounding, out_of_range)
            same_by_both(folder / "b", codes)
            if out_of_range == "wrap":
                # A value that wraps to the NaN code is an error, so this field must have none.
                assert not np.any((codes == report["nan_code"]) & ~np.isnan(values))
            else:
                clamped = (np.abs(round_to_integer(scaled(values, report), rounding)) > 32767).sum()
                assert report["clamped"] == clamped, f"clamped {report['clamped']}, not {clamped}"
    for options, expected in [
        ("--quantize uint8 --scale 4 --offset=-20.25", {"scale": 4, "offset": -20.25, "nan_code": 0}),
        ("--quantize uint8 --nan-value 255", {"nan_code": 255, "codes": [0, 254]}),
        ("--max-error 0.5", {"data_type": "uint8"}),
        ("--max-error 0.01", {"data_type": "uint16"}),
        ("--max-error 0.0001", {"data_type": "uint32"}),
    ]:
        with tally.case(options) as folder:
            report = report_of(folder, *options.split())
            assert report.items() >= expected.items(), report
            same_by_both(folder / "b", codes_of(values, report))
            assert "error" not in options or report["max_abs_error"] <= float(options.split()[1]), report


def special_data(tally, zarrcast, _folder):
    """Constant arrays, arrays of NaN or without elements, declared missing values, finite fill values."""
    square = {"chunks": (4, 4), "fill_value": np.nan, "compressors": None, "config": {"write_empty_chunks": True}}
    constant = np.full((8, 8), np.float32(1) / 3)
    sources = {"constant": constant, "all NaN": np.full((8, 8), np.nan, "f4")}
    names = ["missing_chunks_all", "missing_chunks_finite"]
    for name, data_type in [(name, kind) for name in [*sources, *names] for kind in ("uint8", "uint16", "int32")]:
        with tally.case(name, data_type) as folder:
            source = folder / "a" if name in sources else fixture(name).path
            if name in sources:
                arrays.write(source, sources[name], **square)
            report = zarrcast.transcode("--quantize", data_type, source, folder / "codes")["quantization"]
            zarrcast.ok("transcode", "--unpack", folder / "codes", folder / "back")
            if name == "missing_chunks_finite":
                back, values = elements(folder / "back"), elements(source)
                assert np.abs(back - values).max() <= max(report["step"] * 0.51, report["max_abs_error"]), report
            else:
                same_by_both(folder / "back", elements(source))
    values = np.linspace(0, 1, 64, dtype="f4").reshape(8, 8)
    values[2:4, 3:6] = -999
    for missing in ["-999", "auto"]:
        with tally.case("missing", missing) as folder:
            arrays.write(folder / "a", values, attributes={"missing_value": -999.0}, **square)
            options = ["--quantize", "uint8", "--as", "plain", "--missing", missing]
            report = zarrcast.transcode(*options, folder / "a", folder / "b")["quantization"]
            same_by_both(folder / "b", codes_of(np.where(values == -999, np.float32(np.nan), values), report))


SECTIONS = [quantised, given_ranges, special_data]
