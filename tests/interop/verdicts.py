"""Stores as xarray writes them by default: `validate` finds nothing in them that `--deny warnings` would refuse."""

from functools import partial

import numpy as np
import xarray as xr


def dataset():
    """Numbers, flags, text, times and their coordinates; a missing value, a scalar, and attributes."""
    days = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="datetime64[ns]")
    floats = np.linspace(250, 310, 60, dtype="f4").reshape(3, 4, 5)
    holes = np.where(np.arange(12).reshape(3, 4) == 3, np.nan, 1.5)
    return xr.Dataset(
        {
            "temperature": (("time", "y", "x"), floats, {"units": "K"}),
            "holes": (("time", "y"), holes),
            "count": (("time",), np.arange(3, dtype="i4")),
            "flag": (("time",), np.array([True, False, True])),
            "name": (("time",), np.array(["a", "bb", "é"])),
            "text": (("time",), np.array(["a", "bb", "é"], dtype=object)),
            "lead": (("time",), np.array([1, 2, 3], dtype="timedelta64[D]").astype("timedelta64[ns]")),
            "wave": (("time",), np.array([1 + 2j, 2, 3])),
            "scalar": ((), np.float64(3.5)),
        },
        coords={"time": days, "y": np.arange(4.0), "x": np.arange(5), "station": (("y",), np.array(list("pqrs")))},
        attrs={"title": "a dataset"},
    )


def encoded():
    """The dataset with a packed variable and a finite `_FillValue`, as users ask for them."""
    data = dataset()
    for name, encoding in {
        "packed": {"dtype": "i2", "scale_factor": 0.1, "add_offset": 0.0, "_FillValue": -1},
        "filled": {"_FillValue": -9999.0},
    }.items():
        data[name] = (("time",), np.array([1.0, 2.0, np.nan]))
        data[name].encoding = encoding
    return data


def appended(path, **options):
    dataset().to_zarr(path, **options)
    dataset().to_zarr(path, append_dim="time")


def tree(path, **options):
    nodes = {"/": dataset(), "/a": dataset(), "/a/b": xr.Dataset({"q": (("z",), np.arange(3.0))})}
    xr.DataTree.from_dict(nodes).to_zarr(path, **options)


def defaults_of_xarray(tally, zarrcast, _folder):
    """No finding of `warning` level, down to the data, with and without consolidated metadata."""
    writers = {
        "dataset": dataset().to_zarr,
        "consolidated": partial(dataset().to_zarr, consolidated=True),
        "not consolidated": partial(dataset().to_zarr, consolidated=False),
        "encoded": encoded().to_zarr,
        "appended": appended,
        "tree": tree,
    }
    for name, write in writers.items():
        for zarr_format in (2, 3):
            with tally.case("xarray", name, zarr_format) as folder:
                path = folder / "a"
                write(path, zarr_format=zarr_format)
                for level in ("metadata", "keys", "data"):
                    report = zarrcast.json("validate", "--deny", "warnings", "--level", level, path)
                    assert report["valid"] and report["warnings"] == 0 and not report["unchecked"], report["findings"]
                assert report["verdict"] == "valid", report["verdict"]


SECTIONS = [defaults_of_xarray]
