"""`apply-codec`, bit for bit: `cast_value` compared with cast-value-rs, and with ml_dtypes for floats of at most 16
bits. `scale_offset` is compared with numpy (floats) and exact integers.
"""

import json
from itertools import product

import ml_dtypes
import numpy as np
from arrays import FLOATS, INTEGERS, ROUNDINGS, apply_codec, codec, same_bits
from cast_value_rs import cast_array

TYPES = INTEGERS + FLOATS
OUT_OF_RANGE = [None, "clamp", "wrap"]
FLOAT_PARAMETERS = [(None, None), (5, 0.1), (-273.15, None), (None, 100), (None, -0.25), (1e-3, 3), ("0x", -7.5)]
INTEGER_PARAMETERS = [(None, None), (5, None), (-7, None), (None, 3), (None, -1), (100, 2), (-1, -1), (1, -3)]
BITS = {"bfloat16": 16, "float6_e2m3fn": 6, "float6_e3m2fn": 6, "float4_e2m1fn": 4}
WITH_INFINITIES = ["bfloat16", "float8_e3m4", "float8_e4m3", "float8_e5m2"]
SMALL = ["bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2"]
SMALL += ["float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"]


def test_values(name):
    kind = np.dtype(name)
    random = np.random.default_rng(list(name.encode()))
    if kind.kind in "iu":
        bounds = np.iinfo(kind)
        whole = {0, 1, -1, bounds.min, bounds.min + 1, bounds.max, bounds.max - 1}
        for power in (7, 8, 11, 12, 15, 16, 24, 25, 31, 32, 53, 54, 63, 64):
            whole |= {sign * 2**power + step for sign in (1, -1) for step in (-2, -1, 0, 1, 2, 3)}
        whole |= {65504, 65519, 65520, 65521, -65519, -65520, 2049, 4098, 2**24 + 3, 2**53 + 3, 2**62 + 2**38, 2**62 + 2**9 * 3}
        drawn = random.integers(bounds.min, bounds.max, 30, dtype=kind, endpoint=True)
        return np.concatenate([np.array(sorted(w for w in whole if bounds.min <= w <= bounds.max), kind), drawn])
    return float_values(kind, random)


def float_values(kind, random):
    """Returns test values of a float type."""
    centres = [0.0, 0.5, 1.5, 2.5, 0.49999999999999994, 2.0**52 + 1, 65504.0, 65519.99, 65520.0, 65536.0, 3.4028234663852886e38]
    centres += [float(2**power) + step for power in (7, 8, 15, 16, 31, 32, 63, 64) for step in (-1, -0.5, 0, 0.5)]
    centres += [3.4028235677973366e38, 1e39, 2.0**-24, 2.0**-25, 1.5 * 2.0**-25, 2.0**-149, 2.0**-150, 1.5 * 2.0**-150, 6.1e-5, 1e300]
    centres += [1.0 + 2.0**-11, 1.0 + 3 * 2.0**-11, 1.0 + 2.0**-24, 1.0004882812500004, 65519.99997, np.inf]
    with np.errstate(over="ignore", under="ignore"):
        exact = np.array(centres).astype(kind)
        near = np.concatenate([exact, np.nextafter(exact, kind.type(-np.inf)), np.nextafter(exact, kind.type(np.inf))])
        drawn = [(random.standard_normal(12) * scale).astype(kind) for scale in (1, 200, 5e4, 4e9, 1e19)]
    unsigned = np.dtype(f"u{kind.itemsize}")
    bits = random.integers(0, np.iinfo(unsigned).max, 20, dtype=unsigned, endpoint=True).view(kind)
    quiet = np.array([np.nan], kind).view(unsigned)
    sign = unsigned.type(1) << unsigned.type(8 * kind.itemsize - 1)
    payloads = np.concatenate([quiet, quiet | unsigned.type(5), quiet | sign | unsigned.type(2)])
    return np.concatenate([near, -near, *drawn, bits, payloads.view(kind)])


def nan_bits(values, target):
    """Converts NaN: all bits in the same type, else the sign, the quiet bit and the top of the payload (B11)."""
    source = values.dtype
    if source == np.dtype(target):
        return values
    target = np.dtype(target)
    wide = values.view(f"u{source.itemsize}").astype(object)
    from_mantissa, to_mantissa = int(np.finfo(source).nmant), int(np.finfo(target).nmant)
    out = []
    for bits in wide:
        sign = bits >> (8 * source.itemsize - 1)
        payload = bits & ((1 << from_mantissa) - 1)
        shift = from_mantissa - to_mantissa
        payload = payload >> shift if shift >= 0 else payload << -shift
        exponent = (1 << (8 * target.itemsize - 1 - to_mantissa)) - 1
        out.append(sign << (8 * target.itemsize - 1) | exponent << to_mantissa | payload | 1 << (to_mantissa - 1))
    return np.array(out, f"u{target.itemsize}").view(target)


def by_cast_value_rs(values, target, rounding, out_of_range, scalar_map=None):
    """Converts each element alone. Returns the results, and which elements are errors."""
    results, errors = np.zeros(values.size, target), np.zeros(values.size, bool)
    options = {"target_dtype": target, "rounding_mode": rounding, "out_of_range_mode": out_of_range}
    for index in range(values.size):
        try:
            results[index] = cast_array(values[index : index + 1], scalar_map_entries=scalar_map, **options)[0]
        except ValueError:
            errors[index] = True
    return results, errors


def nearest_float16(values, rounding):
    """Rounds float64 once to float16, as numpy in nearest-even. In nearest-away, ties are moved away from zero."""
    with np.errstate(over="ignore", under="ignore"):
        results = values.astype("f2")
    if rounding == "nearest-away":
        with np.errstate(over="ignore", invalid="ignore"):
            away = np.nextafter(results, np.copysign(np.inf, values).astype("f2"))
        # Midpoints of neighbours are exact in float64. The next value after the greatest would be 65536.
        middle = np.where(np.isinf(away), np.copysign(65520.0, values), (results.astype("f8") + away.astype("f8")) / 2)
        results = np.where(np.isfinite(results) & (values == middle), away, results)
    return results


def expected(values, target, rounding, out_of_range):
    """Returns the correct results and errors: those of cast-value-rs, except for its known faults."""
    results, errors = by_cast_value_rs(values, target, rounding, out_of_range)
    if (values.dtype.name, target) == ("float64", "float16") and rounding.startswith("nearest"):
        # B9: cast-value-rs rounds twice, via float32. So results near a tie and errors near the limit are wrong.
        results = nearest_float16(values, rounding)
        errors = np.isfinite(values) & np.isinf(results) & (out_of_range is None)
    if values.dtype.kind == "f" and np.dtype(target).kind == "f":
        nan = np.isnan(values)
        results[nan] = nan_bits(values[nan], target)  # B11: the bits of a NaN are the implementation's choice
    return results, errors


def cast_value_pairs(tally, zarrcast, folder):
    """Every source type, target type, rounding and rule, as encoding. Then as decoding for two roundings."""
    for source, target, rounding, out_of_range in product(TYPES, TYPES, ROUNDINGS, OUT_OF_RANGE):
        is_wrap = out_of_range == "wrap"
        if not is_wrap or target in INTEGERS:
            Case(source, target, rounding, out_of_range).check(tally, zarrcast, folder)
        # B19: the registry page does not define the decoding to floats of a wrap for an integer `data_type`.
        if rounding in ("nearest-even", "towards-negative") and (not is_wrap or {source, target} <= set(INTEGERS)):
            Case(source, target, rounding, out_of_range, "--decode").check(tally, zarrcast, folder)


class Case:
    def __init__(self, source, target, rounding, out_of_range, *direction, entries=()):
        self.target, self.direction, self.values = target, direction, test_values(source)
        self.rounding, self.out_of_range = rounding, out_of_range
        configuration = {"data_type": source if direction else target, "rounding": rounding}
        configuration |= {"out_of_range": out_of_range} if out_of_range else {}
        configuration |= {"scalar_map": {"decode" if direction else "encode": entries}} if entries else {}
        self.codecs, self.decoded_type = [codec("cast_value", **configuration)], target if direction else source

    def __str__(self):
        return f"{' '.join(self.direction)} {self.values.dtype} -> {self.target} {self.rounding} {self.out_of_range}"

    def same(self, zarrcast, folder, values, results):
        types = {"to": self.target, "data_type": self.decoded_type}
        found = apply_codec(zarrcast, folder, self.codecs, values, *self.direction, **types)
        differing = np.flatnonzero(found != results)[:3] if found.size == results.size else []
        same_bits(found, results, f"against cast-value-rs, sources {values[differing].tolist()}")

    def check(self, tally, zarrcast, folder):
        """Checks all valid elements in one run, then one of the errors alone."""
        results, errors = expected(self.values, self.target, self.rounding, self.out_of_range)
        good = self.values[~errors]
        with tally.case(self):
            self.same(zarrcast, folder, good, results[~errors])
        check_errors(tally, zarrcast, [self], self.values[errors], len(str(self)), self.codecs, self.decoded_type, *self.direction)


def check_errors(tally, zarrcast, case, values, first, codecs, data_type, *options):
    """One value, chosen by `first`, is refused and leaves no output."""
    for value in values[first % max(1, values.size) :][:1]:
        with tally.case(*case, "error", repr(value)) as folder:
            (folder / "in").write_bytes(np.array([value]).tobytes())
            chain = ["--codecs", json.dumps(codecs), "--data-type", data_type, "--shape", 1]
            zarrcast.status(1, "apply-codec", *options, *chain, folder / "in", folder / "out")
            assert not (folder / "out").exists(), "an output after an error"


def scalar_maps(tally, zarrcast, folder):
    """`scalar_map` in both directions: special floats, out-of-range values, exact 64-bit integers, repeated keys."""
    maps = [
        ("float32", "uint8", [["NaN", 0], ["Infinity", 255], ["-Infinity", 1]]),
        ("float64", "int16", [["NaN", -32768], [1e300, 5], [1.5, -7]]),
        ("float16", "int8", [["NaN", 127], [0.0, 3]]),  # B14: the key 0.0 also matches -0.0 in all implementations
        ("int64", "uint8", [[-(2**63), 7], [2**53, 9], [300, 1]]),
        ("uint64", "float32", [[2**64 - 1, "NaN"], [2**53, "Infinity"]]),
        ("int32", "float16", [[-(2**31), "-Infinity"], [65520, 1.5]]),
        ("float64", "float32", [[1e39, "Infinity"], [2.5, -2.5]]),
        ("float32", "int32", [[1.5, 7], [1.5, 9], ["NaN", 0]]),  # B15: the first of two equal keys counts; cast-value-rs gets the list
    ]
    # Omitted: B12 and B13, hexadecimal NaN keys and outputs, which cast-value-rs does not support.
    rules = [("nearest-even", None), ("towards-zero", "clamp"), ("nearest-away", "wrap")]
    number = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}
    for (source, target, entries), (rounding, out_of_range), direction in product(maps, rules, [(), ("--decode",)]):
        if out_of_range == "wrap" and ((source if direction else target) in FLOATS or (direction and target in FLOATS)):
            continue
        pairs = [tuple(number.get(x, x) for x in entry) for entry in entries]
        keys = np.array([key for key, _ in pairs], source)
        values = np.concatenate([keys, test_values(source)])
        case = Case(source, target, rounding, out_of_range, *direction, entries=entries)
        results, errors = by_cast_value_rs(values, target, rounding, out_of_range, pairs)
        mapped = np.isin(values, keys) | (np.isnan(values) & np.isnan(keys).any() if keys.dtype.kind == "f" else False)
        if target in FLOATS and source in FLOATS:
            nan = np.isnan(values) & ~mapped
            results[nan] = nan_bits(values[nan], target)  # B11
        with tally.case("scalar_map", case):
            case.same(zarrcast, folder, values[~errors], results[~errors])


def scale_offset_types(tally, zarrcast, folder):
    """Every type with several parameters. Elements that are errors are left out, then one of them is tested alone."""
    for name in FLOATS + INTEGERS:
        for offset, scale in FLOAT_PARAMETERS if name in FLOATS else INTEGER_PARAMETERS:
            if name.startswith("uint") and any((parameter or 0) < 0 for parameter in (offset, scale)):
                continue  # not a scalar of an unsigned type: invalid metadata
            if offset == "0x":  # a scalar in the hexadecimal form of the type
                offset = "0x" + np.array(1.1, np.dtype(name).newbyteorder(">")).tobytes().hex()
            for options in ([], ["--decode"]):
                compare(tally, zarrcast, folder, test_values(name), offset, scale, options)


def compare(tally, zarrcast, folder, values, offset, scale, options):
    name = values.dtype.name
    results, errors = (floats if name in FLOATS else integers)(values, offset, scale, decode=bool(options))
    configuration = {key: value for key, value in [("offset", offset), ("scale", scale)] if value is not None}
    codecs, case = [codec("scale_offset", **configuration)], ("scale_offset", *options, name, configuration)
    with tally.case(*case):
        found, results = apply_codec(zarrcast, folder, codecs, values[~errors], *options, to=name), results[~errors]
        nan = np.isnan(results) if name in FLOATS else np.zeros(found.size, bool)
        assert not nan.any() or np.isnan(found[nan]).all(), "NaN became a number"
        same_bits(found[~nan], results[~nan])
    check_errors(tally, zarrcast, case, values[errors], 0, codecs, name, *options)


def floats(values, offset, scale, decode):
    """Computes two rounded operations in the type's own arithmetic. An absent parameter is no operation (B30)."""
    kind = values.dtype.type
    scalar = lambda parameter: kind(1.1) if isinstance(parameter, str) else kind(parameter)
    steps = [(np.add if decode else np.subtract, offset), (np.divide if decode else np.multiply, scale)]
    errors, current = np.zeros(values.size, bool), values
    with np.errstate(all="ignore"):
        for operation, parameter in reversed(steps) if decode else steps:
            if parameter is not None:
                following = operation(current, scalar(parameter))
                errors |= np.isfinite(current) & ~np.isfinite(following)  # B27: zarr-python does not report these
                current = following
    return current, errors


def integers(values, offset, scale, decode):
    """Exact arithmetic. Every intermediate value must fit the type (B25 and B26: not always in zarr-python)."""
    bounds = np.iinfo(values.dtype)
    offset, scale = offset or 0, scale or 1
    results, errors = np.zeros_like(values), np.zeros(values.size, bool)
    for index, value in enumerate(int(v) for v in values):
        between, remainder = divmod(value, scale) if decode else (value - offset, 0)
        final = between + offset if decode else between * scale
        errors[index] = remainder != 0 or not all(bounds.min <= x <= bounds.max for x in (between, final))
        if not errors[index]:
            results[index] = final
    return results, errors


def patterns(name):
    unsigned = "u2" if name == "bfloat16" else "u1"
    return np.arange(2 ** BITS.get(name, 8), dtype=unsigned).view(getattr(ml_dtypes, name))


def bits(array):
    """Returns the bits of small floats without unused bits, because ml_dtypes leaves the sign in them."""
    return array.view(f"u{array.dtype.itemsize}") & (2 ** BITS.get(array.dtype.name, 8) - 1)


def wide_values(name, wide):
    """Returns floats at and near every value of a small float, every midpoint between two of them, and others."""
    with np.errstate(invalid="ignore"):
        exact = patterns(name).astype("f8")
    exact = np.unique(exact[np.isfinite(exact)])
    with np.errstate(over="ignore"):
        centres = np.concatenate([exact, exact[:-1] / 2 + exact[1:] / 2]).astype(wide)
        around = [centres, np.nextafter(centres, wide(-np.inf)), np.nextafter(centres, wide(np.inf))]
    random = np.random.default_rng(list(name.encode()))
    drawn = [(random.standard_normal(2000) * scale).astype(wide) for scale in (1e-3, 1, 100, 1e5)]
    return np.concatenate([*around, *drawn, float_values(np.dtype(wide), random)])


def by_ml_dtypes(values, name):
    """Returns the elements of ml_dtypes, and which values equal `cast_value` with `clamp`."""
    kind = getattr(ml_dtypes, name)
    with np.errstate(all="ignore"):
        # ml_dtypes converts float64 via float32 and so rounds twice. Values that are rounded to odd are rounded only
        # once.
        results = (odd_float32(values) if values.dtype == "f8" else values).astype(kind)
    usable = ~np.isnan(values)
    if name not in WITH_INFINITIES:
        usable &= np.isfinite(values) & ~np.isnan(results.astype("f4"))
    if name == "float8_e8m0fnu":
        # Smaller values are out of range, and ml_dtypes rounds up some subnormal float32 just above 2^-127.
        usable &= values >= values.dtype.type(2.0**-126)
    return results, usable


def odd_float32(values):
    """Converts float64 to float32. Sets the last bit if any bit is lost."""
    narrow = values.astype("f4")
    too_far = np.abs(narrow.astype("f8")) > np.abs(values)
    narrow = np.where(too_far, np.nextafter(narrow, np.float32(0)), narrow)
    lost = (narrow.astype("f8") != values) & np.isfinite(narrow) & np.isfinite(values)
    return np.where(lost, (narrow.view("u4") | 1).view("f4"), narrow)


def small_floats_from_wide(tally, zarrcast, folder):
    """float32 and float64 to each small float, nearest-even, by encoding and by decoding."""
    for name, wide in product(SMALL, (np.float32, np.float64)):
        values = wide_values(name, wide)
        results, usable = by_ml_dtypes(values, name)
        values, results = values[usable], bits(results[usable])
        source = np.dtype(wide).name
        for direction, cast_to, data_type in ([], name, source), (["--decode"], source, name):
            with tally.case(*direction, source, "->", name):
                codecs = [codec("cast_value", data_type=cast_to, out_of_range="clamp")]
                found = apply_codec(zarrcast, folder, codecs, values, *direction, to=results.dtype, data_type=data_type)
                same_bits(found, results, f"against ml_dtypes, sources {values[found != results][:3]}")


def small_floats_to_wide(tally, zarrcast, folder):
    """Every element of each small float to float32 and float64. All NaN are equal, whatever their bits."""
    for name, wide in product(SMALL, ("float32", "float64")):
        with tally.case("encode", name, "->", wide):
            found = apply_codec(zarrcast, folder, [codec("cast_value", data_type=wide)], patterns(name), to=wide)
            with np.errstate(invalid="ignore"):
                values = patterns(name).astype(wide)
            assert (np.isnan(found) == np.isnan(values)).all(), "other elements are NaN"
            same_bits(found[~np.isnan(found)], values[~np.isnan(values)], "against ml_dtypes")


SECTIONS = [cast_value_pairs, scalar_maps, scale_offset_types, small_floats_from_wide, small_floats_to_wide]
