"""`apply-codec` with `bfloat16` and the floats of 8 bits and fewer against ml_dtypes, bit for bit."""

from itertools import product

import ml_dtypes
import numpy as np
from arrays import apply_codec, codec, same_bits
from casting import float_values

SMALL = [
    "bfloat16",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float4_e2m1fn",
]
BITS = {"bfloat16": 16, "float6_e2m3fn": 6, "float6_e3m2fn": 6, "float4_e2m1fn": 4}
WITH_INFINITIES = ["bfloat16", "float8_e3m4", "float8_e4m3", "float8_e5m2"]


def patterns(name):
    """Every element of a type, in the order of its bits."""
    unsigned = "u2" if name == "bfloat16" else "u1"
    return np.arange(2 ** BITS.get(name, 8), dtype=unsigned).view(getattr(ml_dtypes, name))


def bits(array):
    """The bits of small floats; those that do not count are cut off, since ml_dtypes leaves the sign in them."""
    return array.view(f"u{array.dtype.itemsize}") & (2 ** BITS.get(array.dtype.name, 8) - 1)


def wide_values(name, wide):
    """Floats at and around every value of a small float and every middle between two of them, and others."""
    with np.errstate(invalid="ignore"):
        exact = patterns(name).astype("f8")
    exact = np.unique(exact[np.isfinite(exact)])
    with np.errstate(over="ignore"):
        centres = np.concatenate([exact, exact[:-1] / 2 + exact[1:] / 2]).astype(wide)
        around = [centres, np.nextafter(centres, wide(-np.inf)), np.nextafter(centres, wide(np.inf))]
    random = np.random.default_rng(list(name.encode()))
    drawn = [(random.standard_normal(2000) * scale).astype(wide) for scale in (1e-3, 1, 100, 1e5)]
    return np.concatenate([*around, *drawn, float_values(np.dtype(wide), random)])


def expected(values, name):
    """ml_dtypes's elements, and for which values they are what `cast_value` with `clamp` gives."""
    kind = getattr(ml_dtypes, name)
    with np.errstate(all="ignore"):
        # ml_dtypes takes float64 through float32 and so rounds twice; of what is rounded to odd there it rounds once.
        results = (odd_float32(values) if values.dtype == "f8" else values).astype(kind)
    usable = ~np.isnan(values)
    if name not in WITH_INFINITIES:
        usable &= np.isfinite(values) & ~np.isnan(results.astype("f4"))
    if name == "float8_e8m0fnu":
        # What is less than the least value is out of range, and of the subnormal float32 around it ml_dtypes rounds some up
        # that lie just above 2^-127.
        usable &= values >= values.dtype.type(2.0**-126)
    return results, usable


def odd_float32(values):
    """float64 as float32, the last bit set where anything is lost."""
    narrow = values.astype("f4")
    too_far = np.abs(narrow.astype("f8")) > np.abs(values)
    narrow = np.where(too_far, np.nextafter(narrow, np.float32(0)), narrow)
    lost = (narrow.astype("f8") != values) & np.isfinite(narrow) & np.isfinite(values)
    return np.where(lost, (narrow.view("u4") | 1).view("f4"), narrow)


def small_floats_from_wide(tally, zarrcast, folder):
    """float32 and float64 to each, nearest-even, by encoding and by decoding."""
    for name, wide in product(SMALL, (np.float32, np.float64)):
        values = wide_values(name, wide)
        results, usable = expected(values, name)
        values, results = values[usable], bits(results[usable])
        source = np.dtype(wide).name
        for direction, cast_to, data_type in ([], name, source), (["--decode"], source, name):
            with tally.case(*direction, source, "->", name):
                codecs = [codec("cast_value", data_type=cast_to, out_of_range="clamp")]
                found = apply_codec(zarrcast, folder, codecs, values, results.dtype, *direction, data_type=data_type)
                different = [repr(value) for value in values[found != results][:3]]
                same_bits(found, results, f"against ml_dtypes, source {different}")


def small_floats_to_wide(tally, zarrcast, folder):
    """Every element of each to float32 and float64. A NaN is a NaN, whatever its bits."""
    for name, wide in product(SMALL, ("float32", "float64")):
        with tally.case("encode", name, "->", wide):
            found = apply_codec(zarrcast, folder, [codec("cast_value", data_type=wide)], patterns(name), wide)
            with np.errstate(invalid="ignore"):
                values = patterns(name).astype(wide)
            assert (np.isnan(found) == np.isnan(values)).all(), "other elements are NaN"
            same_bits(found[~np.isnan(found)], values[~np.isnan(values)], "against ml_dtypes")


def small_floats_scaled(tally, zarrcast, folder):
    """`scale_offset` in each: ml_dtypes rounds each operation to the type, through float32 (exact enough away from the least values)."""
    for name in SMALL:
        if name == "float8_e8m0fnu":
            continue  # its differences are seldom values
        elements = patterns(name)
        offset, scale = elements.dtype.type(1.5), elements.dtype.type(0.5)
        with np.errstate(all="ignore"):
            results = ((elements - offset).astype(elements.dtype) * scale).astype(elements.dtype)
            values = elements.astype("f8")
            exact = (values - 1.5) * 0.5
            usable = (np.abs(values) <= float(ml_dtypes.finfo(elements.dtype).max) / 2) & (np.abs(exact) > 1e-30)
        with tally.case("scale_offset", name):
            codecs = [codec("scale_offset", offset=float(offset), scale=float(scale))]
            found = apply_codec(zarrcast, folder, codecs, elements[usable], bits(results).dtype)
            same_bits(found, bits(results[usable]), "against ml_dtypes")


SECTIONS = [small_floats_from_wide, small_floats_to_wide, small_floats_scaled]
