"""`apply-codec` with `scale_offset` against numpy (floats) and exact integers, in every type, both ways."""

import json

import numpy as np
from arrays import same_bits
from casting import FLOATS, INTEGERS, test_values

FLOAT_PARAMETERS = [(None, None), (5, 0.1), (-273.15, None), (None, 100), (None, -0.25), (1e-3, 3), ("0x", -7.5)]
INTEGER_PARAMETERS = [(None, None), (5, None), (-7, None), (None, 3), (None, -1), (100, 2), (-1, -1), (1, -3)]


def scale_offset_types(tally, zarrcast, folder):
    """Every type with several parameters; elements that are errors are left out, then some of them are tried alone."""
    for name in FLOATS + INTEGERS:
        values = test_values(name)
        for offset, scale in FLOAT_PARAMETERS if name in FLOATS else INTEGER_PARAMETERS:
            if name.startswith("uint") and any((parameter or 0) < 0 for parameter in (offset, scale)):
                continue  # no scalar of an unsigned type: invalid metadata
            if offset == "0x":  # a scalar in the hexadecimal form of the type
                offset = "0x" + np.array(1.1, np.dtype(name).newbyteorder(">")).tobytes().hex()
            for decode in (False, True):
                compare(tally, zarrcast, folder, name, values, offset, scale, decode)


def compare(tally, zarrcast, folder, name, values, offset, scale, decode):
    """One type, one pair of parameters, one direction."""
    results, errors = (floats if name in FLOATS else integers)(values, offset, scale, decode)
    configuration = {key: value for key, value in [("offset", offset), ("scale", scale)] if value is not None}
    codec = {"name": "scale_offset", "configuration": configuration} if configuration else {"name": "scale_offset"}
    direction = ["--decode"] if decode else []
    case = f"{'decode' if decode else 'encode'} {name} offset {offset} scale {scale}"

    def arguments(elements, output):
        (folder / "source.raw").write_bytes(elements.tobytes())
        return [
            "apply-codec",
            *direction,
            "--codecs",
            json.dumps([codec]),
            "--data-type",
            name,
            "--shape",
            elements.size,
            folder / "source.raw",
            output,
        ]

    with tally.case("scale_offset", case):
        zarrcast.ok(*arguments(values[~errors], folder / "target.raw"))
        found = np.frombuffer((folder / "target.raw").read_bytes(), name)
        nan = np.isnan(results[~errors]) if name in FLOATS else np.zeros(found.size, bool)
        assert not nan.any() or np.isnan(found[nan]).all(), "NaN became a number"
        same_bits(found[~nan], results[~errors][~nan])
    bad = values[errors]
    for value in bad[:: max(1, bad.size // 2)][:2]:
        with tally.case("scale_offset", case, "error", repr(value)):
            zarrcast.status(1, *arguments(np.array([value]), folder / "refused.raw"))
            assert not (folder / "refused.raw").exists()


def floats(values, offset, scale, decode):
    """Two rounded operations of the type's own arithmetic; an absent parameter is no operation (B30)."""
    kind = values.dtype.type
    scalar = lambda parameter: kind(1.1) if isinstance(parameter, str) else kind(parameter)
    steps = [("offset", offset), ("scale", scale)]
    errors, current = np.zeros(values.size, bool), values
    with np.errstate(all="ignore"):
        for name, parameter in reversed(steps) if decode else steps:
            if parameter is None:
                continue
            operation = {"offset": np.add if decode else np.subtract, "scale": np.divide if decode else np.multiply}[name]
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
        if decode:
            between, remainder = divmod(value, scale)
            final = between + offset
        else:
            between, remainder = value - offset, 0
            final = between * scale
        errors[index] = remainder != 0 or not all(bounds.min <= x <= bounds.max for x in (between, final))
        if not errors[index]:
            results[index] = final
    return results, errors
