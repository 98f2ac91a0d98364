"""Values as CF readers see them: the figures of `inspect --stats --cf` against those of xarray's own reading.

Made-up variables (packed integers, masks in base64, `_Unsigned`) and the NetCDF files of `iris-sample-data` (Open Government
Licence v3.0), written by xarray to Zarr v2 and v3, as they are and packed.
"""

import warnings

import numpy as np
import real_files
import variables
import xarray

# `inspect` shows times and text as they are stored: only numbers are compared.
UNDECODED = {"decode_times": False, "decode_coords": False, "decode_timedelta": False, "consolidated": False}


def seen(path):
    """The dataset as a CF reader sees it, times as the numbers that stand for them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return xarray.open_zarr(path, **UNDECODED, chunks=None).load()


def as_float64(values):
    """What statistics are over: finite values as float64."""
    values = np.asarray(values).astype("f8").ravel()
    return values[np.isfinite(values)]


def check_figures(zarrcast, array, values, raw):
    """The figures of an array as xarray decodes it, and how many of its NaN were none when they were stored."""
    stats = zarrcast.json("inspect", "--stats", "--cf", "-q", array)["stats"]
    finite = as_float64(values)
    assert stats["count"] == np.size(values), stats
    assert stats["finite"] == finite.size, f"{stats['finite']} are finite, not {finite.size}"
    stored_nan = np.count_nonzero(np.isnan(raw)) if raw.dtype.kind == "f" else 0
    assert stats["nan"] == stored_nan, f"{stats['nan']} are NaN, not {stored_nan}"
    masked = np.count_nonzero(np.isnan(values)) - stored_nan if np.asarray(values).dtype.kind == "f" else 0
    assert stats["missing"] == masked, f"{stats['missing']} are missing, not {masked}"
    if finite.size == 0:
        assert stats["min"] is None and stats["mean"] is None, stats
        return
    # xarray rounds what it only masks to float32 or float64, which the least and greatest then are as well.
    exact = (float(np.asarray(stats[name], values.dtype).astype("f8")) for name in ("min", "max"))
    assert tuple(exact) == (finite.min(), finite.max()), (stats, finite.min(), finite.max())
    spread = max(abs(finite.min()), abs(finite.max()))
    mean = finite.astype("longdouble").mean()
    assert abs(stats["mean"] - mean) <= 1e-12 * spread, (stats["mean"], mean)
    deviation = finite.astype("longdouble").std()
    assert abs(stats["standard_deviation"] - deviation) <= 1e-10 * max(float(deviation), 1e-6 * spread), (stats, deviation)


def check_store(tally, zarrcast, path, *name):
    """Every array of numbers below a store."""
    import zarr

    group = zarr.open_group(path, mode="r")
    dataset = seen(path)
    for variable, shown in dataset.variables.items():
        raw = np.asarray(group[variable][...])
        # xarray makes bool of int8 by an attribute, and objects of bool where the fill value masks.
        if raw.dtype.kind not in "iuf" or shown.dtype.kind not in "iuf":
            continue
        with tally.case(*name, variable):
            check_figures(zarrcast, path / variable, shown.values, raw)


def figures_of_variables(tally, zarrcast, folder):
    """Made-up variables of every kind in both formats."""
    for number, (name, values, encoding) in enumerate(variables.variables()):
        for zarr_format in (2, 3):
            path = folder / f"{number}-{zarr_format}.zarr"
            with tally.case(name, zarr_format, "is written"):
                variables.write(path, zarr_format, values, encoding)
                check_store(tally, zarrcast, path, name, zarr_format)


def figures_of_real_files(tally, zarrcast, folder):
    """The real files in both formats; fields of floats packed as well, and the packed held against the plain."""
    if real_files.iris_sample_data is None:
        print("    iris-sample-data is not installed: no real files", flush=True)
        return
    for name, dataset in real_files.datasets():
        floats = [key for key, found in dataset.variables.items() if found.dtype.kind == "f" and found.ndim > 1]
        for zarr_format in (2, 3):
            plain, packed = (folder / f"{name}-{zarr_format}-{kind}.zarr" for kind in ("plain", "packed"))
            with tally.case(name, zarr_format, "is written"):
                real_files.write(dataset.copy(), plain, zarr_format)
                check_store(tally, zarrcast, plain, name, zarr_format)
            if not floats:
                continue
            with tally.case(name, zarr_format, "is written packed"):
                real_files.write(dataset.copy(deep=True), packed, zarr_format, packed=floats)
                check_store(tally, zarrcast, packed, name, zarr_format, "packed")
            with tally.case(name, zarr_format, "packed against plain"):
                check_against(zarrcast, packed, plain, floats)


def check_against(zarrcast, packed, plain, floats):
    """A packed store equals what it was packed from within the greatest difference that xarray sees, and no closer: both in the plain type."""
    for key in floats:
        a, b = (seen(path)[key].values for path in (packed, plain))
        a, b = a.astype(b.dtype).astype("f8"), b.astype("f8")
        if not np.isfinite(b).any():
            continue
        greatest = float(np.nanmax(np.abs(a - b)))
        zarrcast.ok("validate", "-q", "--cf", "--atol", repr(greatest), packed / key, "--against", plain / key)
        if greatest > 0:
            refused = zarrcast.run("validate", "-q", "--cf", "--atol", repr(greatest * 0.999), packed / key, "--against", plain / key)
            assert refused.returncode == 1, f"{key}: equal within less than the greatest difference"


def suggestions_of_masked(tally, zarrcast, folder):
    """`--suggest` takes the range of what is not missing, and its command line quantises the array so."""
    for zarr_format in (2, 3):
        with tally.case(zarr_format):
            path = folder / f"{zarr_format}.zarr"
            values = np.linspace(0, 30, 35).reshape(variables.SHAPE)
            values[2] = np.nan
            variables.write(path, zarr_format, values.astype("f4"), {"_FillValue": -9999.0})
            suggestion = zarrcast.json("inspect", "--suggest", "uint8", "-q", path / "v")["suggestion"]
            finite = as_float64(seen(path)["v"].values)
            assert suggestion["range"] == [finite.min(), finite.max()], suggestion
            assert "--missing auto" in suggestion["command"], suggestion["command"]


SECTIONS = [figures_of_variables, figures_of_real_files, suggestions_of_masked]
