"""What `zarrcast inspect` says of values, against exact sums, numpy and zarr-python."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import zarr

TYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "?"]


def values_of(kind, data_type, shape, random):
    """Elements of a type: small, of its whole range, far from zero, or with NaN and infinities."""
    data_type = np.dtype(data_type)
    if data_type.kind == "b":
        return random.random(shape) < 0.3
    if data_type.kind in "iu":
        limits = np.iinfo(data_type)
        least, greatest = {"small": (0, 9), "whole": (limits.min, limits.max), "far": (limits.max - 9, limits.max), "special": (0, 1)}[kind]
        return random.integers(least, greatest, shape, data_type, endpoint=True)
    if kind == "whole":
        bits = random.integers(0, 2 ** (8 * data_type.itemsize), shape, f"u{data_type.itemsize}")
        return bits.view(data_type)
    values = (random.standard_normal(shape) * 3).astype(data_type)
    if kind == "far":
        values = (1000 + values / 500).astype(data_type)
    if kind == "special":
        values = np.where(random.random(shape) < 0.4, np.array(np.nan, data_type), values)
        values.flat[:2] = np.inf, -np.inf
    return values


def near(found, exact, what):
    """Fail unless a float64 is within 2 units in the last place of an exact number."""
    assert abs(Fraction(found) - exact) <= 2 * Fraction(math.ulp(float(exact))), f"{what}: {found}, not {float(exact)}"


def square_root(fraction):
    """The root of a fraction as a fraction with more digits than a float64."""
    shift = max(0, 140 - (fraction.numerator.bit_length() - fraction.denominator.bit_length()))
    shift += shift % 2
    return Fraction(math.isqrt((fraction.numerator << shift) // fraction.denominator), 1 << (shift // 2))


def same_stats(found, values, fill_value):
    """Fail unless the statistics are those of the values."""
    finite = values[np.isfinite(values)]
    counts = {"count": values.size, "finite": finite.size, "nan": np.isnan(values).sum(), "fill_value": (values == fill_value).sum()}
    counts |= {"positive_infinity": np.isposinf(values).sum(), "negative_infinity": np.isneginf(values).sum()}
    if fill_value != fill_value:
        counts["fill_value"] = counts["nan"]
    for name, count in counts.items():
        assert found[name] == count, f"{name}: {found[name]}, not {count}"
    if finite.size:
        assert (found["min"], found["max"]) == (finite.min().item(), finite.max().item()), f"{found['min']}, {found['max']}"
        exact = [Fraction(value) for value in finite.astype(finite.dtype if finite.dtype.kind != "b" else "u1").tolist()]
        mean = sum(exact) / len(exact)
        near(found["mean"], mean, "mean")
        near(found["standard_deviation"], square_root(sum((value - mean) ** 2 for value in exact) / len(exact)), "standard deviation")


def statistics(tally, zarrcast, folder):
    """Every type, over chunks that do not divide the shape, also in shards and with chunks that are absent."""
    random = np.random.default_rng(11)
    layouts = [{"chunks": (7, 16)}, {"chunks": (5, 8), "shards": (20, 24)}]
    for number, (kind, data_type, layout) in enumerate(itertools.product(["small", "whole", "far", "special"], TYPES, layouts)):
        with tally.case(kind, data_type, str(layout)):
            values = values_of(kind, data_type, (45, 50), random)
            fill_value = np.nan if np.dtype(data_type).kind == "f" else 1
            values[20:40, :24] = fill_value
            path = folder / str(number)
            array = zarr.create_array(path, shape=values.shape, dtype=data_type, fill_value=fill_value, config={"write_empty_chunks": False}, **layout)
            array[:] = values
            found = zarrcast.json("inspect", "--stats", path)["stats"]
            with np.errstate(all="ignore"):
                same_stats(found, values, fill_value)


def histograms(tally, zarrcast, folder):
    """The counts of numpy.histogram over the values as float64."""
    random = np.random.default_rng(12)
    for number, (kind, data_type) in enumerate(itertools.product(["small", "far", "special"], TYPES[:-1])):
        if kind == "far" and data_type in ("i8", "u8"):
            continue  # Nine neighbours beyond 2^53 are one float64, over which numpy makes no bins.
        values = values_of(kind, data_type, (45, 50), random)
        path = folder / str(number)
        zarr.create_array(path, shape=values.shape, chunks=(7, 16), dtype=data_type, fill_value=0)[:] = values
        finite = values[np.isfinite(values)].astype("f8")
        for bins, bounds in [(1, None), (10, None), (37, None), (8, (-1.5, 2.5)), (3, (1.0, 1.0))]:
            with tally.case(kind, data_type, bins, bounds):
                option = f"{bins}" if bounds is None else f"{bins},{bounds[0]},{bounds[1]}"
                found = zarrcast.json("inspect", "--histogram", option, path)["histogram"]
                counts, edges = np.histogram(finite, bins, bounds)
                assert found["counts"] == counts.tolist(), f"{found['counts']}, not {counts.tolist()}"
                assert (found["min"], found["max"]) == (edges[0], edges[-1]), f"{found['min']} to {found['max']}"
                assert found["below"] == (values < edges[0]).sum(), "below"
                assert found["above"] == (values > edges[-1]).sum(), "above"


def slices(tally, zarrcast, folder):
    """The pixels of a preview are numpy's means."""
    values = np.random.default_rng(13).random((3, 130, 200))
    values[:, 40:50, 60:90] = np.nan
    array = zarr.create_array(folder / "a", shape=values.shape, chunks=(1, 33, 64), dtype="f8", fill_value=np.nan)
    array[:] = values
    for index in range(3):
        with tally.case("slice", index):
            found = zarrcast.json("inspect", "--preview", f"0={index}", folder / "a")["preview"]["values"]
            rows, columns = len(found), len(found[0])
            edges = [[-(-p * n // of) for p in range(of + 1)] for n, of in ((130, rows), (200, columns))]
            for y, x in itertools.product(range(rows), range(columns)):
                box = values[index, edges[0][y] : edges[0][y + 1], edges[1][x] : edges[1][x + 1]]
                box = box[np.isfinite(box)]
                expected = box.mean() if box.size else math.nan
                pixel = float(found[y][x])
                assert math.isclose(pixel, expected, rel_tol=1e-14) or pixel != pixel and expected != expected, f"pixel {y}, {x}: {pixel}, not {expected}"


def suggestions(tally, zarrcast, folder):
    """A suggested chain is one that `transcode` takes, and costs what was said."""
    random = np.random.default_rng(14)
    for data_type, codes in itertools.product(["f2", "f4", "f8"], ["uint8", "int8", "uint16", "int16"]):
        for kind in ["small", "special"]:
            with tally.case(data_type, codes, kind):
                values = values_of(kind, data_type, (45, 50), random)
                values[np.isinf(values)] = 0
                path, quantised = folder / f"{data_type}{codes}{kind}", folder / f"{data_type}{codes}{kind}-quantised"
                zarr.create_array(path, shape=values.shape, chunks=(7, 16), dtype=data_type, fill_value=np.nan)[:] = values
                found = zarrcast.json("inspect", "--suggest", codes, path)["suggestion"]
                options = ["--codecs", json.dumps(found["chain"]), "--fill-value", json.dumps(found["fill_value"])]
                zarrcast.ok("transcode", *options, path, quantised)
                plain = folder / f"{data_type}{codes}{kind}-plain"
                zarrcast.ok("transcode", "--unpack", quantised, plain)
                back = zarr.open_array(plain)[:].astype("f8")
                error = np.nanmax(np.abs(back - values.astype("f8")))
                assert error == found["max_abs_error"], f"error {error}, not {found['max_abs_error']}"
                assert [codec["name"] for codec in found["codecs"]][-1] == "cast_value"
