"""`inspect --stats --cf` beside xarray's own reading of CF attributes.

Made-up variables (packed integers, masks in base64, `_Unsigned`) and the NetCDF files of `iris-sample-data` (Open Government
Licence v3.0), written by xarray to Zarr v2 and v3, as they are and packed.
"""

from itertools import product

import numpy as np
import real_files
import variables
import xarray
import zarr


def seen(path):
    """The dataset as a CF reader sees it, but with the numbers of times, which is what `inspect` shows."""
    undecoded = {"decode_times": False, "decode_coords": False, "decode_timedelta": False, "consolidated": False}
    return xarray.open_zarr(path, **undecoded, chunks=None).load()


def finite_values(values):
    values = np.asarray(values).astype("f8").ravel()
    return values[np.isfinite(values)]


def check_figures(zarrcast, array, values, raw):
    """Compares the statistics with the values that xarray decodes. NaN is missing unless it is stored."""
    stats = zarrcast.json("inspect", "--stats", "--cf", "-q", array)["stats"]
    finite = finite_values(values)
    is_nan = lambda array: np.count_nonzero(np.isnan(array)) if np.asarray(array).dtype.kind == "f" else 0  # noqa: E731
    wanted = {"count": np.size(values), "finite": finite.size, "nan": is_nan(raw), "missing": is_nan(values) - is_nan(raw)}
    assert stats.items() >= wanted.items(), (stats, wanted)
    if finite.size == 0:
        assert stats["min"] is None and stats["mean"] is None, stats
        return
    # xarray rounds what it only masks to float32 or float64, which the least and greatest then are as well.
    exact = (float(np.asarray(stats[name], values.dtype).astype("f8")) for name in ("min", "max"))
    assert tuple(exact) == (finite.min(), finite.max()), (stats, finite.min(), finite.max())
    spread = max(abs(finite.min()), abs(finite.max()))
    mean, deviation = finite.astype("longdouble").mean(), finite.astype("longdouble").std()
    assert abs(stats["mean"] - mean) <= 1e-12 * spread, (stats["mean"], mean)
    assert abs(stats["standard_deviation"] - deviation) <= 1e-10 * max(float(deviation), 1e-6 * spread), (stats, deviation)


def check_store(tally, zarrcast, path, *name):
    """Every array of numbers in a store."""
    group = zarr.open_group(path, mode="r")
    for variable, shown in seen(path).variables.items():
        raw = np.asarray(group[variable][...])
        # xarray makes bool of int8 by an attribute, and objects of bool where the fill value masks.
        if raw.dtype.kind in "iuf" and shown.dtype.kind in "iuf":
            with tally.case(*name, variable):
                check_figures(zarrcast, path / variable, shown.values, raw)


def figures_of_variables(tally, zarrcast, _folder):
    for (name, values, encoding), zarr_format in product(variables.variables(), (2, 3)):
        with tally.case(name, zarr_format, "is written") as folder:
            variables.write(folder / "a", zarr_format, values, encoding)
            check_store(tally, zarrcast, folder / "a", name, zarr_format)


def figures_of_real_files(tally, zarrcast, _folder):
    """The real files in both formats. Fields of floats are packed as well and compared with the plain ones."""
    for (name, dataset), zarr_format in product(real_files.datasets(), (2, 3)):
        floats = [key for key, found in dataset.variables.items() if found.dtype.kind == "f" and found.ndim > 1]
        with tally.case(name, zarr_format, "is written") as folder:
            plain, packed = folder / "plain", folder / "packed"
            real_files.write(dataset.copy(), plain, zarr_format)
            check_store(tally, zarrcast, plain, name, zarr_format)
            if floats:
                real_files.write(dataset.copy(deep=True), packed, zarr_format, packed=floats)
                check_store(tally, zarrcast, packed, name, zarr_format, "packed")
                with tally.case(name, zarr_format, "packed against plain"):
                    check_against(zarrcast, packed, plain, floats)


def check_against(zarrcast, packed, plain, floats):
    """A packed store equals the plain one within the greatest difference that xarray sees, and not within less."""
    for key in floats:
        a, b = (seen(path)[key].values for path in (packed, plain))
        a, b = a.astype(b.dtype).astype("f8"), b.astype("f8")
        if np.isfinite(b).any():
            greatest = float(np.nanmax(np.abs(a - b)))
            for share, statuses in ((1, [0]), (0.999, [1] if greatest > 0 else [0])):
                command = ["validate", "-q", "--cf", "--atol", repr(greatest * share), packed / key, "--against", plain / key]
                zarrcast.run(*command, expected=statuses)


def suggestions_of_masked(tally, zarrcast, _folder):
    """`--suggest` takes the range of values that are not missing, and its command line quantises the array so."""
    for zarr_format in (2, 3):
        with tally.case(zarr_format) as folder:
            values = np.linspace(0, 30, 35, dtype="f4").reshape(variables.SHAPE)
            values[2] = np.nan
            variables.write(folder / "a", zarr_format, values, {"_FillValue": -9999.0})
            suggestion = zarrcast.json("inspect", "--suggest", "uint8", "-q", folder / "a" / "v")["suggestion"]
            assert suggestion["range"] == [np.nanmin(values), np.nanmax(values)], suggestion
            assert "--missing auto" in suggestion["command"], suggestion["command"]


SECTIONS = [figures_of_variables, suggestions_of_masked]
if real_files.iris_sample_data:
    SECTIONS.append(figures_of_real_files)
