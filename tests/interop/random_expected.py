"""The expected elements of DEST, calculated with numpy from SOURCE and the options. Only codes are taken from zarrcast's result."""

import json
from dataclasses import replace

import numpy as np
from arrays import round_to_integer, same_bits
from random_sources import DIMENSIONS

DIRECTED = ("towards-zero", "towards-positive", "towards-negative")
FEWEST_EXACT = 2**11 - 2
"""The least number of codes of float16, the narrowest type: those up to 2^11, less 0 and the NaN code."""


def check_array(source, asked, found, report):
    """Fails unless a destination, as zarr-python opens it, holds what was asked of `source`. `report` is its node of the result."""
    source = part_of(source, asked)
    check_layout(source, asked, found)
    check_fill_value(source, asked, found.fill_value)
    assert not asked.verifies or report["verify"]["equal"], "verified, and not equal"
    values = np.asarray(found[...])
    assert values.shape == source.values.shape, f"shape {values.shape}, not {source.values.shape}"
    if asked.quantises and asked.unpack and is_packed(source):
        source = replace(source, values=unpacked(source), attributes={}, fill_value=None)
    if asked.quantises and source.values.dtype.kind == "f":
        check_quantised(source, asked, values, found, report["quantization"])
    elif asked.unpack:
        check_unpacked(source, asked, values)
    elif asked.data_type:
        check_converted(source.values, asked, values)
    elif source.lossy and asked.recodes:
        check_filtered_again(source, values)
    elif source.cast and source.absent and source.values.dtype.kind == "f":
        # Absent elements that are written out pass integers, which have no -0.0.
        check_same(values + 0.0, source.values + 0.0)
    else:
        check_same(values, source.values)


def part_of(source, asked):
    keys = source.names if any(isinstance(key, str) for key in asked.select) else range(source.values.ndim)
    slices = tuple(slice(*asked.select.get(key, (None, None))) for key in keys or ())
    return replace(source, values=source.values[slices])


def check_layout(source, asked, found):
    """Fails unless format, chunk shape, shards and attributes are those that were asked for, or those of SOURCE."""
    version = asked.zarr_format or source.zarr_format
    assert found.metadata.zarr_format == version, f"Zarr version {found.metadata.zarr_format}, not {version}"
    chunks = wanted(source, asked, asked.chunks, source.chunks)
    assert chunks in (None, found.chunks), f"chunks {found.chunks}, not {chunks}"
    if asked.shards == "none" or not asked.codecs:
        shards = None if asked.shards == "none" else wanted(source, asked, asked.shards, source.shards)
        assert found.shards == shards or (shards is None and asked.shards != "none"), f"shards {found.shards}, not {shards}"
    if asked.keeps_attributes and not (asked.quantises and asked.as_ == "cf"):
        attributes, expected = dict(found.attrs), dict(source.attributes)
        if asked.quantises and source.values.dtype.kind == "f" and asked.as_ == "codecs" and asked.knows_missing:
            # No code stands for the values that these declare as missing.
            expected.pop("missing_value", None)
            expected |= {"_FillValue": "NaN"} if "_FillValue" in expected else {}
        assert attributes == expected, f"attributes {attributes}, not {expected}"


def check_fill_value(source, asked, found):
    """Fails unless the fill value is the one that was asked for or, if nothing else changes it, that of SOURCE."""
    if asked.fill_value is not None:
        given = json.loads(asked.fill_value)
        expected = complex(*given) if isinstance(given, list) else given
    elif asked.quantises or asked.unpack or asked.data_type or source.fill_value is None or asked.zarr_format not in (None, source.zarr_format):
        return
    else:
        expected = source.fill_value
    if isinstance(expected, str) and source.values.dtype.kind == "f" and not expected.startswith("0x"):
        expected = float(expected)
    if isinstance(found, bytes) and isinstance(expected, str):
        found = bytes(found).decode()
    if np.asarray(found).dtype.kind in "mM":
        found, expected = np.asarray(found).astype("i8"), np.asarray(expected).astype("i8")
    same = found == expected or (np.asarray(found).dtype.kind in "fc" and np.isnan(found))
    assert same or str(expected).startswith("0x"), f"fill value {found!r}, not {expected!r}"


def wanted(source, asked, shape, present):
    """The shape that an option asks for. None if any will do."""
    if shape is None:
        return None if asked.codecs else present
    if asked.by_name and present:
        lengths = dict(zip(DIMENSIONS, shape))
        shape = [lengths.get(name, length) for name, length in zip(source.names or [""] * len(present), present)]
    return None if 0 in shape or (asked.by_name and not present) else tuple(shape)


def check_same(found, expected):
    """Fails unless two arrays agree bit for bit, or as text."""
    if expected.dtype.kind in "OT":
        assert np.array_equal(found.astype(object), expected.astype(object)), "text differs"
    else:
        same_bits(found, expected)


def check_filtered_again(source, found):
    """Fails unless values differ by no more than a lossy filter changes them when it is applied once more."""
    before, after = source.values.astype("f8"), found.astype("f8")
    if source.lossy in ("delta", "fixedscaleoffset"):
        finite = before[np.isfinite(before)]
        slack = finite.size * np.spacing(np.abs(source.values[np.isfinite(before)]).max()).astype("f8") if finite.size else 0.0
        near = np.isclose(after, before, rtol=0, atol=2 * slack, equal_nan=True)
        # What follows an infinite element or a NaN in its chunk is lost to `delta`, as ZC215 says; beyond the array's
        # end lies the fill value.
        all_finite = finite.size == before.size and np.isfinite(source.fill_value or 0)
        may_be_lost = source.lossy == "delta" and not all_finite
        assert np.all(near | (may_be_lost & ~np.isfinite(after))), f"`{source.lossy}` applied anew changed more than rounding does"
    else:
        # Absent elements that are stored beside others are rounded for the first time, with the warning ZC214.
        same = (after == before) | (np.isnan(after) & np.isnan(before))
        never_rounded = source.values == source.fill_value if source.absent else np.zeros(same.shape, bool)
        assert np.all(same | never_rounded), f"`{source.lossy}` applied anew changed values"


def check_unpacked(source, asked, found):
    """Fails unless packed integers were unpacked by their attributes, and arrays of the two codecs kept their values."""
    attributes, values = source.attributes, source.values
    if not is_packed(source):
        check_same(found, values) if asked.data_type is None else check_converted(values, asked, found)
        return
    wanted = np.dtype(asked.data_type or ("f4" if values.dtype.itemsize <= 2 else "f8"))
    assert found.dtype.newbyteorder("=") == wanted, f"unpacked to {found.dtype}, not {wanted}"
    scale, offset = attributes.get("scale_factor", 1.0), attributes.get("add_offset", 0.0)
    expected = values.astype("f8") * scale + offset
    missing = np.isin(values, declared_missing(source))
    assert np.array_equal(np.isnan(found), missing | np.isnan(expected)), "NaN elsewhere than where a missing value was"
    with np.errstate(over="ignore"):
        tolerance = 2 * np.spacing(np.maximum(np.abs(expected), abs(offset)).astype(wanted)).astype("f8")
    close = np.abs(found.astype("f8") - expected) <= tolerance
    assert np.all(close | missing), f"{np.sum(~close & ~missing)} unpacked values are wrong"


def is_packed(source):
    return bool({"scale_factor", "add_offset"} & set(source.attributes))


def unpacked(source):
    """The floats that packed integers stand for, but for a few units in the last place."""
    values, attributes = source.values, source.attributes
    floats = values.astype("f8") * attributes.get("scale_factor", 1.0) + attributes.get("add_offset", 0.0)
    return np.where(np.isin(values, declared_missing(source)), np.nan, floats).astype("f4" if values.dtype.itemsize <= 2 else "f8")


def check_converted(values, asked, found):
    target = np.dtype(asked.data_type)
    assert found.dtype.newbyteorder("=") == target, f"type {found.dtype}, not {target}"
    if target == values.dtype:
        check_same(found, values)
        return
    for at, value in np.ndenumerate(values):
        if not is_conversion(value, found[at], target, asked):
            raise AssertionError(f"{value!r} at {at} became {found[at]!r}")


def is_conversion(value, result, target, asked):
    """True if `result` is the exact conversion of a value to a type."""
    if value.dtype.kind == "f" and not np.isfinite(value):
        if np.isnan(value):
            return (np.isnan(result) if target.kind == "f" else False) if asked.nan_value is None else float(result) == float(asked.nan_value)
        return target.kind == "f" and result == value
    if target.kind in "ui":
        whole = int(round_to_integer(np.asarray(value), asked.rounding)) if value.dtype.kind == "f" else int(value)
        least, greatest = np.iinfo(target).min, np.iinfo(target).max
        if asked.out_of_range == "clamp":
            whole = min(max(whole, least), greatest)
        if asked.out_of_range == "wrap":
            whole = (whole - least) % (greatest - least + 1) + least
        return int(result) == whole
    return is_rounded(value, result, target, asked)


def is_rounded(value, result, target, asked):
    """True if a float is the value, or a neighbour of it in the right direction. It is infinite only if clamping may make it so."""
    exact = int(value) if value.dtype.kind in "ui" else value
    if not np.isfinite(result):
        return asked.out_of_range == "clamp" and abs(exact) > float(np.finfo(target).max)
    here = int(result) if value.dtype.kind in "ui" and float(result).is_integer() else np.longdouble(result)
    if here == exact:
        return True
    if asked.rounding in DIRECTED and not in_direction(here, exact, asked.rounding):
        return False
    gap = float(np.spacing(np.abs(result))) * (1 if asked.rounding in DIRECTED else 0.5)
    return abs(float(here - exact)) <= gap


def in_direction(result, exact, rounding):
    if rounding == "towards-positive":
        return result >= exact
    if rounding == "towards-negative":
        return result <= exact
    return abs(result) <= abs(exact)


def check_quantised(source, asked, found, array, report):
    """Fails unless every value is within its bound, and NaN where NaN or a missing value was."""
    values = source.values
    back = decoded(found, asked, array, report, values.dtype)
    missing = np.isnan(values) | np.isin(values, missing_values(source, asked))
    assert np.array_equal(np.isnan(back), missing), f"NaN in {np.sum(np.isnan(back))} elements, not {np.sum(missing)}"
    inside = ~missing & within_range(values, asked, report) if report else np.zeros(values.shape, bool)
    if not inside.any():
        return
    exact, back = values.astype("f8"), back.astype("f8")
    error = np.abs(back - exact)[inside].max()
    exact = exact[~missing]
    if asked.unpack:
        error -= slack_of(values, exact, asked)
    if asked.as_ == "codecs":
        assert error <= report["max_abs_error"] * (1 + 1e-9), f"the error is {error}, the report says {report['max_abs_error']}"
    if asked.max_error is not None:
        limit = asked.max_error if asked.as_ == "codecs" else asked.max_error + slack_of(values, exact, asked)
    else:
        limit = bound_of(values, exact, asked, report)
    assert error <= limit, f"an error of {error}, not within {limit}"


def decoded(found, asked, array, report, kind):
    """The floats of the codes: decoded by zarr-python, by attributes or by the report."""
    if asked.as_ == "codecs":
        assert found.dtype.newbyteorder("=") == kind.newbyteorder("="), f"type {found.dtype}, not {kind}"
        return found
    if report is None:
        return found
    assert found.dtype.kind in "ui", f"codes of type {found.dtype}"
    with np.errstate(all="ignore"):
        if asked.as_ == "cf":
            attributes = dict(array.attrs)
            back = found.astype("f8") * attributes["scale_factor"] + attributes["add_offset"]
            unset = attributes.get("_FillValue")
        else:
            back, unset = found.astype("f8") / float(report["scale"]) + float(report["offset"]), report["nan_code"]
    return back if unset is None else np.where(found == unset, np.nan, back)


def missing_values(source, asked):
    if asked.missing is None:
        return []
    if asked.missing == "auto":
        words = declared_missing(source)
    else:
        words = asked.missing.split(",")
    with np.errstate(over="ignore"):
        return [source.values.dtype.type(word) for word in words]


def declared_missing(source):
    """Values that stand for missing ones in xarray. In v2 with dimension names the fill value is `_FillValue`."""
    attributes = dict(source.attributes)
    if source.zarr_format == 2 and source.names and source.fill_value is not None:
        attributes["_FillValue"] = source.fill_value
    return [attributes[name] for name in ("_FillValue", "missing_value") if name in attributes]


def within_range(values, asked, report):
    if asked.out_of_range is None:
        return np.ones(values.shape, bool)
    first, last = report["codes"]
    with np.errstate(all="ignore"):
        scaled = (values.astype("f8") - float(report["offset"])) * float(report["scale"])
    inside = (scaled >= first - 0.5) & (scaled <= last + 0.5)
    # What would get NaN's code gets one beside it, which counts as clamped.
    return inside if report["nan_code"] is None else inside & (np.abs(scaled - float(report["nan_code"])) > 1)


def bound_of(values, exact, asked, report):
    """Half a step, or a whole one under directed rounding, and what the type's own arithmetic adds.

    Where clamping makes way for a NaN code amid the others, a value may get the code beside its own.
    """
    steps = (1 if asked.rounding in DIRECTED else 0.5) + (asked.out_of_range == "clamp" and asked.nan_value is not None)
    least_step = 1 / float(np.finfo(values.dtype).max)  # no scale is greater than the type holds
    return max(step_of(exact, asked, report), least_step) * steps * (1 + 1e-3) + slack_of(values, exact, asked)


def step_of(exact, asked, report):
    """The given step, or that of the range and the number of codes. That of a scale is its inverse."""
    if asked.scale is not None or asked.offset is not None:
        return 1 / (asked.scale or 1.0)
    if asked.step is not None:
        return asked.step
    first, last = report["codes"]
    kind = np.iinfo(asked.quantize)
    assert last - first >= min(kind.max - kind.min - 1, FEWEST_EXACT), f"codes {first} to {last} are not all of {asked.quantize}"
    low, high = asked.limits or (exact.min(), exact.max())
    return (high - low) / max(1, last - first)


def slack_of(values, exact, asked):
    """The error that two rounded operations may add: a few units in the last place of the greatest number in them."""
    ends = np.array([*exact, *(asked.limits or ()), asked.offset or 0.0])
    with np.errstate(over="ignore"):
        unit = float(np.spacing(values.dtype.type(max(np.abs(ends).max(), ends.max() - ends.min()))))
    return 6 * unit if np.isfinite(unit) else float("inf")
