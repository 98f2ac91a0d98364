"""The values that `zarrcast inspect` shows, against exact sums, numpy and zarr-python."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
from arrays import write

TYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "?"]
SHAPE, CHUNKS = (45, 50), {"chunks": (7, 16)}
LAYOUTS = [CHUNKS, {"chunks": (5, 8), "shards": (20, 24)}]


def values_of(kind, data_type, random):
    """Elements of a type: small, of its whole range, far from zero, or with NaN and infinities."""
    data_type = np.dtype(data_type)
    if data_type.kind == "b":
        return random.random(SHAPE) < 0.3
    if data_type.kind in "iu":
        limits = np.iinfo(data_type)
        ends = {"small": (0, 9), "whole": (limits.min, limits.max), "far": (limits.max - 9, limits.max), "special": (0, 1)}
        return random.integers(*ends[kind], SHAPE, data_type, endpoint=True)
    if kind == "whole":
        return random.integers(0, 2 ** (8 * data_type.itemsize), SHAPE, f"u{data_type.itemsize}").view(data_type)
    values = (random.standard_normal(SHAPE) * 3).astype(data_type)
    if kind == "far":
        values = (1000 + values / 500).astype(data_type)
    if kind == "special":
        values = np.where(random.random(SHAPE) < 0.4, np.array(np.nan, data_type), values)
        values.flat[:2] = np.inf, -np.inf
    return values


def near(found, exact, name):
    """Fails unless a float64 is within 2 units in the last place of an exact number."""
    assert abs(Fraction(found) - exact) <= 2 * Fraction(math.ulp(float(exact))), f"{name}: {found}, not {float(exact)}"


def same_stats(found, values, fill_value):
    finite = values[np.isfinite(values)]
    is_fill = np.isnan(values) if fill_value != fill_value else values == fill_value
    counts = {"count": values.size, "finite": finite.size, "nan": np.isnan(values).sum(), "fill_value": is_fill.sum()}
    counts |= {"positive_infinity": np.isposinf(values).sum(), "negative_infinity": np.isneginf(values).sum()}
    assert found.items() >= counts.items(), (found, counts)
    if finite.size:
        assert (found["min"], found["max"]) == (finite.min().item(), finite.max().item()), found
        exact = [Fraction(value) for value in finite.astype("u1" if finite.dtype.kind == "b" else finite.dtype).tolist()]
        mean = sum(exact) / len(exact)
        near(found["mean"], mean, "mean")
        # The root of a fraction with more digits than a float64.
        square = sum((value - mean) ** 2 for value in exact) / len(exact)
        shift = max(0, 140 - (square.numerator.bit_length() - square.denominator.bit_length())) // 2 * 2
        root = Fraction(math.isqrt((square.numerator << shift) // square.denominator), 1 << (shift // 2))
        near(found["standard_deviation"], root, "standard deviation")


def figures(tally, zarrcast, _folder):
    """Statistics of every type over ragged chunks, in shards and with absent chunks; counts of numpy.histogram."""
    random = np.random.default_rng(11)
    for kind, data_type, layout in product(["small", "whole", "far", "special"], TYPES, LAYOUTS):
        with tally.case(kind, data_type, layout) as folder, np.errstate(all="ignore"):
            values = values_of(kind, data_type, random)
            fill_value = np.nan if np.dtype(data_type).kind == "f" else 1
            values[20:40, :24] = fill_value
            write(folder / "a", values, fill_value=fill_value, config={"write_empty_chunks": False}, **layout)
            same_stats(zarrcast.json("inspect", "--stats", folder / "a")["stats"], values, fill_value)
            # Nine neighbours beyond 2^53 are one float64, over which numpy makes no bins.
            if kind == "whole" or data_type == "?" or (kind, data_type) in (("far", "i8"), ("far", "u8")):
                continue
            for bins, bounds in [(1, None), (37, None), (8, (-1.5, 2.5)), (3, (1.0, 1.0))]:
                option = ",".join(map(str, (bins, *(bounds or ()))))
                found = zarrcast.json("inspect", "--histogram", option, folder / "a")["histogram"]
                counts, edges = np.histogram(values[np.isfinite(values)].astype("f8"), bins, bounds)
                expected = {"counts": counts.tolist(), "min": edges[0], "max": edges[-1]}
                expected |= {"below": (values < edges[0]).sum(), "above": (values > edges[-1]).sum()}
                assert found == expected, f"{found}, not {expected}"


def slices(tally, zarrcast, folder):
    """The pixels of a preview are numpy's means."""
    values = np.random.default_rng(13).random((3, 130, 200))
    values[:, 40:50, 60:90] = np.nan
    write(folder / "a", values, chunks=(1, 33, 64), fill_value=np.nan)
    for index in range(3):
        with tally.case("slice", index):
            shown = zarrcast.json("inspect", "--preview", f"0={index}", folder / "a")["preview"]["values"]
            found = np.array(shown, "f8")
            edges = [[-(-p * n // of) for p in range(of + 1)] for n, of in zip((130, 200), found.shape)]
            for y, x in np.ndindex(found.shape):
                box = values[index, edges[0][y] : edges[0][y + 1], edges[1][x] : edges[1][x + 1]]
                expected = np.nanmean(box) if np.isfinite(box).any() else math.nan
                assert np.isclose(found[y, x], expected, rtol=1e-14, atol=0, equal_nan=True), f"{y}, {x}: {found[y, x]}"


SECTIONS = [figures, slices]
