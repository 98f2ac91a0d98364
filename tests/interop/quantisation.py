"""Quantised arrays: codes, reports and CF attributes against numpy."""

import re

import numpy as np
from arrays import fixture, metadata, round_to_integer, same_bits
from readers import by_tensorstore, elements, same_by_both

QUANTISED = ["zarr-python_3.1.6_float64", "zarr-python_3.1.6_float16", "zarr-python_3.1.6_zstd", "zarr-python_3.1.6_f_order"]
QUANTISED += ["zarr-python_3.1.6_missing_chunks_nan", "zarr-python_3.1.6_sharded_index_start", "tensorstore_0.1.86_sharded_transposed"]
QUANTISED += ["zarr-python_3.1.6_ragged_edges", "sea_surface_temperature"]


def codes_by_numpy(values, report, rounding="nearest-even"):
    """Integer codes of float values by numpy, with the offset, scale and NaN code that the report names."""
    one = values.dtype.type
    with np.errstate(invalid="ignore"):
        scaled = (values - one(report["offset"])) * one(report["scale"])
    codes = round_to_integer(scaled, rounding)
    if report["nan_code"] is not None:
        codes = np.where(np.isnan(values), one(0), codes).astype(values.dtype)
    codes = codes.astype(report["data_type"])
    if report["nan_code"] is not None:
        codes[np.isnan(values)] = report["nan_code"]
    return codes


def check_report(values, report):
    """Fail unless a quantisation's report says what numpy finds."""
    finite = values[np.isfinite(values)]
    low, high = finite.min(), finite.max()
    decode = lambda codes: codes.astype(values.dtype) / values.dtype.type(report["scale"]) + values.dtype.type(report["offset"])
    kind = np.iinfo(report["data_type"])
    exact = 2 ** (np.finfo(values.dtype).nmant + 1)
    first, last = max(kind.min, -exact), min(kind.max, exact)
    if report["nan_code"] is not None:
        assert report["nan_code"] == kind.min, f"NaN code {report['nan_code']}"
        first = max(first, kind.min + 1)
    assert report["codes"] == [first, last], f"codes {report['codes']}, not {[first, last]}"
    ends = [int(code) for code in codes_by_numpy(np.array([low, high]), report)]
    slack = 4 * (last - first) // exact  # 0 but where the codes are as fine as the float type itself: then no scale meets both ends
    assert first <= ends[0] <= first + slack and last - slack <= ends[1] <= last, f"the range {low}, {high} got the codes {ends}"
    assert report["count"] - report["nan"] == finite.size and report["clamped"] == 0, "elements that are no NaN"
    error = np.abs(decode(codes_by_numpy(finite, report)).astype("f8") - finite.astype("f8"))
    assert np.isclose(report["max_abs_error"], error.max(), rtol=1e-9, atol=0), (
        f"greatest error {report['max_abs_error']}, not {error.max()}"
    )
    rms = np.sqrt(np.mean(error**2))
    assert np.isclose(report["rms_error"], rms, rtol=1e-6, atol=0), f"root-mean-square error {report['rms_error']}, not {rms}"


def quantised(tally, zarrcast, folder):
    """`--quantize TYPE --as plain` and `--as cf`: codes and report as numpy computes them; `--unpack` as it decodes them."""
    for name in QUANTISED:
        one = fixture(name)
        values = elements(one.path)
        for data_type in ["uint8", "int8", "uint16", "int16", "int32", "uint32"]:
            stem = f"{name} {data_type}"
            with tally.case("as plain", stem):
                plain = folder / f"{stem} plain"
                report = zarrcast.json("transcode", "--quantize", data_type, "--as", "plain", one.path, plain)["nodes"][0]["quantization"]
                check_report(values, report)
                same_by_both(plain, codes_by_numpy(values, report))
            with tally.case("as cf", stem):
                packed = folder / f"{stem} cf"
                zarrcast.ok("transcode", "--quantize", data_type, "--as", "cf", one.path, packed)
                same_by_both(packed, elements(plain))
                check_cf_attributes(packed, report, values.dtype)
            with tally.case("unpack cf", stem):
                unpacked = folder / f"{stem} unpacked"
                zarrcast.ok("transcode", "--unpack", packed, unpacked)
                check_unpacked(values, unpacked, packed, report)
            with tally.case("as codecs, unpacked", stem):
                codecs, unpacked = folder / f"{stem} codecs", folder / f"{stem} codecs unpacked"
                zarrcast.ok("transcode", "--quantize", data_type, one.path, codecs)
                zarrcast.ok("transcode", "--unpack", codecs, unpacked)
                codes = elements(plain)
                decoded = codes.astype(values.dtype) / values.dtype.type(report["scale"]) + values.dtype.type(report["offset"])
                if report["nan_code"] is not None:
                    decoded[codes == report["nan_code"]] = np.nan
                same_by_both(unpacked, decoded)


def check_cf_attributes(path, report, source_type):
    """Fail unless the CF attributes say what the report says, as literals of the right kind."""
    attributes = metadata(path)["attributes"]
    exactly = lambda member: float(source_type.type(report[member]))  # the report has the shortest decimals of the source's type
    text = (path / "zarr.json").read_text(encoding="utf-8")
    for name, value in [("scale_factor", 1 / exactly("scale")), ("add_offset", exactly("offset"))]:
        assert np.isclose(attributes[name], value, rtol=1e-12), f"{name} {attributes[name]}, not about {value}"
        literal = re.search(rf'"{name}"\s*:\s*([^,\s}}]+)', text)[1]
        assert re.search(r"[.eE]", literal), f"{name} {literal} has neither fraction nor exponent"
    assert attributes.get("_FillValue") == report["nan_code"], f"_FillValue {attributes.get('_FillValue')}"
    if report["nan_code"] is not None:
        assert metadata(path)["fill_value"] == report["nan_code"], "the fill value is not the NaN code"


def check_unpacked(values, unpacked, packed, report):
    """Fail unless unpacking gives floats of the type that CF readers choose, within half a step of the source."""
    found = elements(unpacked)
    same_bits(by_tensorstore(unpacked), found, "by tensorstore")
    attributes, codes = metadata(packed)["attributes"], elements(packed)
    expected_type = np.dtype("f4" if codes.dtype.itemsize <= 2 else "f8")
    assert found.dtype == expected_type, f"type {found.dtype}"
    exact = codes.astype("f8") * attributes["scale_factor"] + attributes["add_offset"]
    missing = codes == attributes["_FillValue"] if "_FillValue" in attributes else np.zeros(codes.shape, bool)
    assert np.array_equal(np.isnan(found), missing), "NaN in other places"
    ulp = np.spacing(np.abs(exact[~missing]).astype(found.dtype)).astype("f8")
    wide = np.maximum(ulp, np.spacing(found.dtype.type(abs(attributes["add_offset"]))))
    assert np.all(np.abs(found[~missing].astype("f8") - exact[~missing]) <= 2 * wide), "not the unpacked value"
    left = {"scale_factor", "add_offset", "_FillValue"} & set(metadata(unpacked)["attributes"])
    assert not left, f"packing attributes left: {left}"


def given_ranges(tally, zarrcast, folder):
    """`--range` with each rounding and `--out-of-range`, `--scale` with `--offset`, `--nan-value`, `--max-error`."""
    one = fixture("zarr-python_3.1.6_zstd")
    values = elements(one.path)
    for rounding in ["nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"]:
        for out_of_range in ["clamp", "wrap"]:
            with tally.case("range -10,25.5", rounding, out_of_range):
                destination = folder / f"{rounding} {out_of_range}"
                options = [
                    "--quantize",
                    "int16",
                    "--as",
                    "plain",
                    "--range",
                    "-10,25.5",
                    "--rounding",
                    rounding,
                    "--out-of-range",
                    out_of_range,
                ]
                report = zarrcast.json("transcode", *options, one.path, destination)["nodes"][0]["quantization"]
                codes = outside_too(values, report, rounding, out_of_range)
                if out_of_range == "wrap":  # a value that wraps to the NaN code is an error, so this field must have none
                    assert not np.any((codes == report["nan_code"]) & ~np.isnan(values))
                same_by_both(destination, codes)
                scaled = scaled_by_numpy(values, report)
                outside = (round_to_integer(scaled, rounding) > 32767) | (round_to_integer(scaled, rounding) < -32767)
                if out_of_range == "clamp":
                    assert report["clamped"] == outside.sum(), f"clamped {report['clamped']}, not {outside.sum()}"
    with tally.case("out of range is an error"):
        zarrcast.status(1, "transcode", "--quantize", "int16", "--range", "-10,25.5", one.path, folder / "refused")
        assert not (folder / "refused" / "zarr.json").exists()
    with tally.case("scale and offset"):
        destination = folder / "scale and offset"
        report = zarrcast.json(
            "transcode", "--quantize", "uint8", "--as", "plain", "--scale", "4", "--offset=-20.25", one.path, destination
        )
        report = report["nodes"][0]["quantization"]
        assert (report["scale"], report["offset"], report["nan_code"]) == (4, -20.25, 0)
        same_by_both(destination, codes_by_numpy(values, report))
    with tally.case("nan-value"):
        destination = folder / "nan-value"
        report = zarrcast.json("transcode", "--quantize", "uint8", "--as", "plain", "--nan-value", "255", one.path, destination)
        report = report["nodes"][0]["quantization"]
        assert (report["nan_code"], report["codes"]) == (255, [0, 254]), report
        same_by_both(destination, codes_by_numpy(values, report))
    for error, data_type in [(0.5, "uint8"), (0.01, "uint16"), (0.0001, "uint32")]:
        with tally.case("max-error", error):
            destination = folder / f"max-error {error}"
            report = zarrcast.json("transcode", "--max-error", error, "--as", "plain", one.path, destination)["nodes"][0]["quantization"]
            assert report["data_type"] == data_type and report["max_abs_error"] <= error, report
            same_by_both(destination, codes_by_numpy(values, report))


def scaled_by_numpy(values, report):
    """(x - offset) * scale in the array's own type."""
    with np.errstate(invalid="ignore"):
        return (values - values.dtype.type(report["offset"])) * values.dtype.type(report["scale"])


def outside_too(values, report, rounding, out_of_range):
    """int16 codes of values of which some are out of range."""
    scaled = np.nan_to_num(round_to_integer(scaled_by_numpy(values, report), rounding), nan=0).astype("i8")
    if out_of_range == "clamp":  # -32768 is the NaN code, so what is clamped gets the next one
        codes = np.clip(scaled, -32767, 32767).astype("i2")
    else:
        codes = scaled.astype("i2")
    codes[np.isnan(values)] = -32768
    return codes


def special_data(tally, zarrcast, folder):
    """Constant arrays, arrays of NaN or of nothing, infinities, declared missing values, finite fill values."""
    import zarr

    def array(name, values, **options):
        path = folder / name
        created = zarr.create_array(
            path, shape=values.shape, dtype=values.dtype, chunks=(4, 4), **({"fill_value": np.nan, "compressors": None} | options)
        )
        created[...] = values
        return path

    constant = np.full((8, 8), np.float32(1) / 3, "f4")
    for data_type in ["uint8", "int16", "int32"]:
        with tally.case("constant", data_type):
            source = array(f"constant {data_type}", constant)
            zarrcast.ok("transcode", "--quantize", data_type, source, folder / f"constant {data_type} codes")
            zarrcast.ok("transcode", "--unpack", folder / f"constant {data_type} codes", folder / f"constant {data_type} back")
            same_by_both(folder / f"constant {data_type} back", constant)
    for name, source in [
        ("all NaN", array("NaN", np.full((8, 8), np.nan, "f4"), config={"write_empty_chunks": True})),
        ("all absent", fixture("missing_chunks_all").path),
    ]:
        with tally.case(name):
            values = elements(source)
            zarrcast.ok("transcode", "--quantize", "uint8", source, folder / f"{name} codes")
            zarrcast.ok("transcode", "--unpack", folder / f"{name} codes", folder / f"{name} back")
            same_by_both(folder / f"{name} back", values)
    with tally.case("infinity is refused"):
        values = constant.copy()
        values[3, 3] = np.inf
        zarrcast.status(1, "transcode", "--quantize", "uint8", array("infinity", values), folder / "infinity codes")
        assert not (folder / "infinity codes" / "zarr.json").exists()
    values = np.linspace(0, 1, 64, dtype="f4").reshape(8, 8)
    values[2:4, 3:6] = -999
    source = array("declared", values, attributes={"missing_value": -999.0})
    with tally.case("a declared missing value is refused"):
        message = zarrcast.status(1, "transcode", "--quantize", "uint8", source, folder / "declared refused")
        assert "--missing" in message, message
    for missing in ["-999", "auto"]:
        with tally.case("missing", missing):
            destination = folder / f"missing {missing}"
            report = zarrcast.json("transcode", "--quantize", "uint8", "--as", "plain", "--missing", missing, source, destination)
            report = report["nodes"][0]["quantization"]
            same_by_both(destination, codes_by_numpy(np.where(values == -999, np.float32(np.nan), values), report))
    with tally.case("a finite fill value with absent chunks"):
        one = fixture("missing_chunks_finite")
        found = folder / "finite fill"
        report = zarrcast.json("transcode", "--quantize", "uint16", one.path, found)["nodes"][0]["quantization"]
        zarrcast.ok("transcode", "--unpack", found, folder / "finite fill back")
        back, values = elements(folder / "finite fill back"), elements(one.path)
        assert not np.isnan(back).any() and np.abs(back - values).max() <= report["step"] * 0.51, np.abs(back - values).max()
