"""Bitwise real information and kept bits, compared with xbitinfo 0.0.7 on the real fields of datasets.py.

The Python implementation of xbitinfo supports neither masks nor the significance test. Fields without NaN are compared
with it, those with NaN with the definition of Kloewer et al. 2021 in numpy.
"""

import os
from itertools import product

# xbitinfo prints a progress line for each variable.
os.environ["TQDM_DISABLE"] = "1"

import arrays
import numcodecs
import numpy as np
import xarray
import xbitinfo
import zarr
from arrays import pieces
from datasets import real_fields

# xbitinfo adds the same logarithms in another order.
NEAR = 1e-9
SHARES = [0.99, 0.999]


def fields():
    yield from real_fields()
    rng = np.random.default_rng(7)
    x = np.linspace(0, 6, 200)
    smooth = np.sin(x)[:, None] * np.cos(x)[None, :] + 2
    yield "smooth float64", smooth
    yield "smooth float16", smooth.astype("f2")
    yield "noise", rng.normal(size=(60, 70)).astype("f4")
    yield "constant", np.full((30, 40), 0.1, "f4")
    yield "integers", np.cumsum(rng.integers(-3, 4, size=(50, 90)), axis=1).astype("i2")
    yield "one element", np.ones((1,), "f4")


def write(values, path, **options):
    names = [f"d{axis}" for axis in range(values.ndim)]
    arrays.write(path, values, overwrite=True, dimension_names=names if options.get("zarr_format") != 2 else None, **options)


def patterns(values):
    unsigned = f"u{values.dtype.itemsize}"
    if values.dtype.kind != "f":
        return values.view(unsigned)
    return np.asarray(xbitinfo._py_bitinfo.signed_exponent(np.ascontiguousarray(values))).astype(unsigned)


def information(values, axis):
    """Returns the mutual information of each bit of two neighbours that are not NaN, and the number of such pairs."""
    bits, first = patterns(values), np.moveaxis(values, axis, 0)
    there = ~np.isnan(first) if values.dtype.kind == "f" else np.ones(first.shape, bool)
    bits = np.moveaxis(bits, axis, 0)
    both = there[:-1] & there[1:]
    a, b = bits[:-1][both], bits[1:][both]
    width = values.dtype.itemsize * 8
    found = np.zeros(width)
    for place in range(width if a.size else 0):
        one, other = [(x >> np.array(width - 1 - place, x.dtype)) & np.array(1, x.dtype) == 1 for x in (a, b)]
        for first_is, second_is in product((True, False), repeat=2):
            joint = np.mean((one == first_is) & (other == second_is))
            if joint > 0:
                found[place] += joint * np.log2(joint / (np.mean(one == first_is) * np.mean(other == second_is)))
    return found, int(both.sum())


def kept(found, pairs, leading):
    """Returns the kept bits by xbitinfo's rule and the significance of the paper."""
    share = min(1.0, 0.5 + 2.5758293035489004 / (2 * np.sqrt(pairs)))
    entropy = -sum(p * np.log2(p) for p in (share, 1 - share) if p > 0)
    real = np.where(found > max(1 - entropy, 1.5 * found[-4:].max()), found, 0)
    if not real.sum() > 0:
        return None
    shares = np.cumsum(real) / real.sum()
    last = np.flatnonzero(real)[-1]
    ends = [np.argmax(shares > share) if (shares > share).any() else last for share in SHARES]
    return [max(0, int(end) + 1 - leading) for end in ends]


def check(zarrcast, path, values):
    document = zarrcast.json("inspect", "--information", "--storage", "never", path)["information"]
    width = values.dtype.itemsize * 8
    assert len(document["bits"]) == width
    for axis in range(values.ndim):
        told = document["dimensions"][axis]
        expected, pairs = information(values, axis)
        assert told["pairs"] == pairs, f"{told['pairs']} pairs, not {pairs}"
        np.testing.assert_allclose(told["information"], expected, rtol=0, atol=NEAR)
        bits = kept(expected, pairs, document["leading_bits"]) if pairs else None
        assert [each["bits"] for each in told["kept"]] == (bits or []), f"{told['kept']}, not {bits}"
    return document


def information_of_fields(tally, zarrcast, _place):
    """In chunks of all kinds: pairs across chunk borders are counted. Fields without NaN are compared with xbitinfo."""
    for name, values in fields():
        half, third = pieces(values.shape), tuple(max(1, length // 3) for length in values.shape)
        for form, options in {
            "whole": {"chunks": values.shape},
            "layers": {"chunks": (1, *values.shape[1:])},
            "shards": {"chunks": third, "shards": tuple(2 * length for length in third)},
            "v2": {"chunks": half, "zarr_format": 2},
        }.items():
            with tally.case(name, form) as folder:
                write(values, folder / "a", **options)
                document = check(zarrcast, folder / "a", values)
                if form == "shards" and not (values.dtype.kind == "f" and np.isnan(values).any()):
                    check_by_xbitinfo(document, values)


def check_by_xbitinfo(document, values):
    names = [f"d{axis}" for axis in range(values.ndim)]
    dataset = xarray.Dataset({"field": (names, values)})
    for name, told, length in zip(names, document["dimensions"], values.shape):
        if length < 2:
            continue
        found = xbitinfo.get_bitinformation(dataset, dim=name, implementation="python")
        np.testing.assert_allclose(told["information"], found["field"].values, rtol=0, atol=NEAR)
        bits = xbitinfo.get_keepbits(found, inflevel=SHARES)["field"].values
        # If the significance test removes information, fewer bits may be enough.
        if told["kept"] and told["insignificant"] < 1e-4 and np.nansum(found["field"].values) > 0.1:
            kept = [each["bits"] for each in told["kept"]]
            assert kept == [max(0, int(each)) for each in bits], f"{kept}, not {bits}"


def bitround(values, bits):
    return numcodecs.BitRound(bits).encode(values.copy()).view(values.dtype).reshape(values.shape)


def kept_bits(tally, zarrcast, place):
    """Rounded values equal those of numcodecs' bitround."""
    for name, values in fields():
        if values.dtype.kind != "f":
            continue
        source = place / f"{name.replace('/', ' ')}.zarr"
        write(values, source, chunks=pieces(values.shape))
        for asked in ("7", "auto", "auto:0.999"):
            with tally.case(name, asked) as folder:
                node = zarrcast.transcode("--keep-bits", asked, "--verify", source, folder / "b")
                report = node["quantization"]
                bits = report["keep_bits"]
                assert node["verify"]["equal"]
                rounded = values
                if bits < np.finfo(values.dtype).nmant:
                    rounded = np.where(values == 0, values, bitround(values, bits))
                array = zarr.open_array(folder / "b", mode="r")
                np.testing.assert_array_equal(np.asarray(array[...]), rounded)
                error = np.abs(rounded.astype("f8") - values.astype("f8"))
                wanted = {"as": "bitround", "max_abs_error": np.nanmax(error), "count": values.size, "nan": np.isnan(values).sum()}
                assert report.items() >= wanted.items(), (report, wanted)
                np.testing.assert_allclose(report["rms_error"], np.sqrt(np.nanmean(error**2)), rtol=NEAR)
                assert array.attrs["quantization"] == "quantization_info"
                assert array.attrs.get("quantization_nsb", bits) == bits
                if asked == "7":
                    continue
                share = 0.99 if asked == "auto" else 0.999
                told = zarrcast.json("inspect", "--information", source)["information"]
                most = [each["bits"] for each in told["kept"] if each["share"] == share]
                assert bits == (max(1, most[0]) if most else np.finfo(values.dtype).nmant)


def rounded_hierarchies(tally, zarrcast, _place):
    """xarray reads unchanged coordinates, bounds and integers, and a variable that describes the rounding (CF 8.4)."""
    rng = np.random.default_rng(5)
    shape, whole = (4, 30, 40), ("time", "y", "x")
    floats = {name: (("y", "x"), rng.random((30, 40)).astype("f4")) for name in ("cells", "lon")}
    floats["t"] = (whole, rng.random(shape).astype("f4"), {"coordinates": "lon", "cell_measures": "area: cells"})
    others = {"count": (whole, rng.integers(0, 9, shape)), "x_bounds": (("x", "two"), rng.random((40, 2)))}
    coordinates = {"time": np.arange(4) * 0.1, "x": ("x", np.arange(40) * 0.1, {"bounds": "x_bounds"})}
    dataset = xarray.Dataset(floats | others, coordinates)
    for zarr_format in (2, 3):
        with tally.case("dataset", zarr_format) as folder:
            source, target, again = (folder / name for name in ("source", "target", "again"))
            dataset.to_zarr(source, zarr_format=zarr_format, consolidated=True)
            zarrcast.ok("transcode", "--keep-bits", "9", "--verify", source, target)
            options = {"consolidated": True, "decode_coords": False}
            found, plain = (xarray.open_zarr(path, **options).load() for path in (target, source))
            container = found["quantization_info"]
            assert container.attrs["algorithm"] == "bitround" and container.shape == ()
            assert container.attrs["implementation"].startswith("zarrcast version ")
            rounded = plain.copy(deep=True)
            rounded["t"].values[...] = bitround(plain["t"].values, 9)
            rounded["t"].attrs |= {"quantization": "quantization_info", "quantization_nsb": 9}
            xarray.testing.assert_identical(found.drop_vars("quantization_info"), rounded)
            zarrcast.ok("transcode", "--keep-bits", "7", target, again)
            assert set(xarray.open_zarr(again, consolidated=True).variables) == set(found.variables)


SECTIONS = [information_of_fields, kept_bits, rounded_hierarchies]
