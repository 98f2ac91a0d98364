"""`apply-codec` with `scale_offset` against numpy (floats) and exact integers, in every type, both ways."""

import numpy as np
from arrays import apply_codec, codec, same_bits
from casting import FLOATS, INTEGERS, check_errors, test_values

FLOAT_PARAMETERS = [(None, None), (5, 0.1), (-273.15, None), (None, 100), (None, -0.25), (1e-3, 3), ("0x", -7.5)]
INTEGER_PARAMETERS = [(None, None), (5, None), (-7, None), (None, 3), (None, -1), (100, 2), (-1, -1), (1, -3)]


def scale_offset_types(tally, zarrcast, folder):
    """Every type with several parameters. Elements that are errors are left out, then some of them are tried alone."""
    for name in FLOATS + INTEGERS:
        for offset, scale in FLOAT_PARAMETERS if name in FLOATS else INTEGER_PARAMETERS:
            if name.startswith("uint") and any((parameter or 0) < 0 for parameter in (offset, scale)):
                continue  # no scalar of an unsigned type: invalid metadata
            if offset == "0x":  # a scalar in the hexadecimal form of the type
                offset = "0x" + np.array(1.1, np.dtype(name).newbyteorder(">")).tobytes().hex()
            for options in ([], ["--decode"]):
                compare(tally, zarrcast, folder, test_values(name), offset, scale, options)


def compare(tally, zarrcast, folder, values, offset, scale, options):
    """One type, one pair of parameters, one direction."""
    name = values.dtype.name
    results, errors = (floats if name in FLOATS else integers)(values, offset, scale, decode=bool(options))
    configuration = {key: value for key, value in [("offset", offset), ("scale", scale)] if value is not None}
    codecs, case = [codec("scale_offset", **configuration)], ("scale_offset", *options, name, configuration)
    with tally.case(*case):
        found, results = apply_codec(zarrcast, folder, codecs, values[~errors], name, *options), results[~errors]
        nan = np.isnan(results) if name in FLOATS else np.zeros(found.size, bool)
        assert not nan.any() or np.isnan(found[nan]).all(), "NaN became a number"
        same_bits(found[~nan], results[~nan])
    check_errors(tally, zarrcast, case, values[errors], 0, codecs, name, *options)


def floats(values, offset, scale, decode):
    """Two rounded operations of the type's own arithmetic. An absent parameter is no operation (B30)."""
    kind = values.dtype.type
    scalar = lambda parameter: kind(1.1) if isinstance(parameter, str) else kind(parameter)  # noqa: E731
    steps = [(np.add if decode else np.subtract, offset), (np.divide if decode else np.multiply, scale)]
    errors, current = np.zeros(values.size, bool), values
    with np.errstate(all="ignore"):
        for operation, parameter in reversed(steps) if decode else steps:
            if parameter is not None:
                following = operation(current, scalar(parameter))
                errors |= np.isfinite(current) & ~np.isfinite(following)  # B27: zarr-python lets these through
                current = following
    return current, errors


def integers(values, offset, scale, decode):
    """Exact arithmetic in which every intermediate must fit the type (B25 and B26: zarr-python's does not always)."""
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


SECTIONS = [scale_offset_types]
