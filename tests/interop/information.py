"""Bitwise real information and kept bits, beside xbitinfo 0.0.7 on real fields.

xbitinfo (its implementation in Python) knows neither masks nor the test of significance: fields without NaN are held to it,
those with NaN to the definition of Kloewer et al. 2021 by numpy. The fields are those of `iris-sample-data` (Open Government
Licence v3.0).
"""

import os
from itertools import product
from pathlib import Path

# xbitinfo draws a line for each variable.
os.environ["TQDM_DISABLE"] = "1"

import arrays
import iris_sample_data
import numcodecs
import numpy as np
import xarray
import xbitinfo
import zarr
from arrays import pieces

# Where xbitinfo sums the same logarithms in another order.
NEAR = 1e-9
SHARES = [0.99, 0.999]
FIELDS = [
    ("A1B_north_america.nc", "air_temperature"),
    ("E1_north_america.nc", "air_temperature"),
    ("hybrid_height.nc", "air_potential_temperature"),
    ("mesh_C4_synthetic_float.nc", "synthetic"),
    ("rotated_pole.nc", "air_pressure_at_sea_level"),
    ("space_weather.nc", "Ne"),
    ("space_weather.nc", "TEC"),
    ("orca2_votemper.nc", "votemper"),
    ("ostia_monthly.nc", "surface_temperature"),
    ("toa_brightness_stereographic.nc", "data"),
    ("atlantic_profiles.nc", "salinity"),
    ("SOI_Darwin.nc", "SOI_Darwin"),
]


def fields():
    """Each field, NaN where it is masked, and smooth, noisy and constant ones."""
    folder = Path(iris_sample_data.__file__).parent / "sample_data"
    for file, name in FIELDS:
        with xarray.open_dataset(folder / file, decode_times=False) as dataset:
            yield f"{file} {name}", dataset[name].values.copy()
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
    """The bits that xbitinfo compares."""
    unsigned = f"u{values.dtype.itemsize}"
    if values.dtype.kind != "f":
        return values.view(unsigned)
    return np.asarray(xbitinfo._py_bitinfo.signed_exponent(np.ascontiguousarray(values))).astype(unsigned)


def information(values, axis):
    """Mutual information of each bit of two neighbours that are not NaN, and the number of such pairs."""
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
    """The kept bits by xbitinfo's rule and the significance of the paper."""
    share = min(1.0, 0.5 + 2.5758293035489004 / (2 * np.sqrt(pairs)))
    entropy = -sum(p * np.log2(p) for p in (share, 1 - share) if p > 0)
    real = np.where(found > max(1 - entropy, 1.5 * found[-4:].max()), found, 0)
    if not real.sum() > 0:
        return None
    shares = np.cumsum(real) / real.sum()
    return [max(0, int(np.argmax(shares > share)) + 1 - leading if (shares > share).any() else np.flatnonzero(real)[-1] + 1 - leading) for share in SHARES]


def check(zarrcast, path, values):
    """Checks each dimension of the result of `inspect`."""
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
    """In chunks of all kinds: pairs across their borders count."""
    for name, values in fields():
        half, third = pieces(values.shape), tuple(max(1, length // 3) for length in values.shape)
        for form, options in {
            "whole": {"chunks": values.shape},
            "halves": {"chunks": half},
            "layers": {"chunks": (1,) + values.shape[1:]},
            "shards": {"chunks": third, "shards": tuple(2 * length for length in third)},
            "v2": {"chunks": half, "zarr_format": 2},
        }.items():
            with tally.case(name, form) as folder:
                write(values, folder / "a", **options)
                check(zarrcast, folder / "a", values)


def information_is_that_of_xbitinfo(tally, zarrcast, place):
    for name, values in fields():
        if values.dtype.kind == "f" and np.isnan(values).any():
            continue
        path = place / "field.zarr"
        write(values, path, chunks=pieces(values.shape))
        document = zarrcast.json("inspect", "--information", path)["information"]
        dataset = xarray.Dataset({"field": (document and [f"d{axis}" for axis in range(values.ndim)], values)})
        for axis in range(values.ndim):
            if values.shape[axis] < 2:
                continue
            with tally.case(name, axis):
                found = xbitinfo.get_bitinformation(dataset, dim=f"d{axis}", implementation="python")
                told = document["dimensions"][axis]["information"]
                np.testing.assert_allclose(told, found["field"].values, rtol=0, atol=NEAR)
                bits = xbitinfo.get_keepbits(found, inflevel=SHARES)["field"].values
                told = [each["bits"] for each in document["dimensions"][axis]["kept"]]
                # Where the test of significance takes something off, fewer bits may do.
                significant = document["dimensions"][axis]["insignificant"] < 1e-4
                if told and significant and np.nansum(found["field"].values) > 0.1:
                    assert told == [max(0, int(each)) for each in bits], f"{told}, not {bits}"


def absent_chunks(tally, zarrcast, _place):
    """Absent chunks are pairs of the fill value, or of none if it is NaN."""
    for fill, shards in product((0.0, 1.5, np.nan), (None, (8, 12))):
        with tally.case("fill value", fill, shards) as folder:
            values = np.full((40, 60), fill, "f4")
            values[4:21, 7:33] = np.cumsum(np.random.default_rng(1).normal(size=(17, 26)), axis=1)
            write(values, folder / "a", chunks=(4, 6), shards=shards, fill_value=fill)
            check(zarrcast, folder / "a", values)


def information_of_codes(tally, zarrcast, _place):
    """The codes of a quantised array are compared, in shards, too. The code of NaN is no neighbour."""
    rng = np.random.default_rng(3)
    values = np.cumsum(rng.normal(size=(60, 80)), axis=1).astype("f4")
    fields = {"plain": values, "NaN": np.where(values > 9, np.nan, values).astype("f4")}
    for name, shards in product(fields, (None, (30, 40))):
        with tally.case(name, shards) as folder:
            source, codes, quantised = (folder / name for name in ("source", "codes", "quantised"))
            write(fields[name], source, chunks=(15, 20), shards=shards)
            nan = zarrcast.transcode("--quantize", "uint8", source, quantised)["quantization"]["nan_code"]
            zarrcast.ok("transcode", "--quantize", "uint8", "--as", "plain", source, codes)
            document = zarrcast.json("inspect", "--information", quantised)["information"]
            assert document["of"] == "codes" and document["data_type"] == "uint8"
            stored = arrays.read(codes)
            for axis, found in enumerate(document["dimensions"]):
                ordered = np.moveaxis(stored, axis, 0)
                there = (ordered[:-1] != nan) & (ordered[1:] != nan) if name == "NaN" else np.ones(ordered[1:].shape, bool)
                assert found["pairs"] == there.sum()
                if name == "plain":
                    np.testing.assert_allclose(found["information"], information(stored, axis)[0], rtol=0, atol=NEAR)


def bitround(values, bits):
    return numcodecs.BitRound(bits).encode(values.copy()).view(values.dtype).reshape(values.shape)


def kept_bits(tally, zarrcast, place):
    """Rounded values are those of numcodecs' bitround."""
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
    """Coordinates, bounds and integers stay. A variable describes the rounding (CF 8.4)."""
    rng = np.random.default_rng(5)
    shape = (4, 30, 40)
    dataset = xarray.Dataset(
        {
            "t": (("time", "y", "x"), np.cumsum(rng.normal(size=shape), axis=2).astype("f4"), {"coordinates": "lon", "cell_measures": "area: cells"}),
            "cells": (("y", "x"), rng.random((30, 40)).astype("f4")),
            "lon": (("y", "x"), rng.random((30, 40)).astype("f4")),
            "count": (("time", "y", "x"), rng.integers(0, 9, shape)),
            "x_bounds": (("x", "two"), rng.random((40, 2))),
        },
        coords={"time": np.arange(4) * 0.1, "x": ("x", np.arange(40) * 0.1, {"bounds": "x_bounds"}), "y": np.arange(30) * 0.1},
    )
    for zarr_format in (2, 3):
        with tally.case("dataset", zarr_format) as folder:
            source, target, again = (folder / name for name in ("source", "target", "again"))
            dataset.to_zarr(source, zarr_format=zarr_format, consolidated=True)
            zarrcast.ok("transcode", "--keep-bits", "9", "--verify", source, target)
            found, plain = (xarray.open_zarr(path, consolidated=True, decode_coords=False).load() for path in (target, source))
            assert set(found.variables) == set(plain.variables) | {"quantization_info"}
            for name in plain.variables:
                if name == "t":
                    assert found[name].attrs == plain[name].attrs | {"quantization": "quantization_info", "quantization_nsb": 9}
                    np.testing.assert_array_equal(found[name].values, bitround(plain[name].values, 9))
                else:
                    xarray.testing.assert_identical(found[name].drop_vars(found[name].coords), plain[name].drop_vars(plain[name].coords))
            container = found["quantization_info"]
            assert container.attrs["algorithm"] == "bitround" and container.shape == ()
            assert container.attrs["implementation"].startswith("zarrcast version ")
            zarrcast.ok("transcode", "--keep-bits", "7", target, again)
            assert set(xarray.open_zarr(again, consolidated=True).variables) == set(found.variables)


SECTIONS = [
    information_of_fields,
    information_is_that_of_xbitinfo,
    absent_chunks,
    information_of_codes,
    kept_bits,
    rounded_hierarchies,
]
