"""What xarray makes of arrays: the same variables from Zarr v2, from v3, and back."""

import shutil
import warnings

import numpy as np
import xarray
import zarr

SHAPE = (5, 7)


def variables():
    """Variables as xarray writes them: masked, packed, named, of every kind that it stores."""
    random = np.random.default_rng(3)
    values = random.normal(10, 3, SHAPE)
    holes = values.copy()
    holes[1, 2:5] = np.nan
    integers = random.integers(-100, 100, SHAPE)
    for dtype in ("f4", "f8"):
        for fill in (None, np.nan, -9999.0, 0.0, 1e30):
            yield f"{dtype} {fill}", holes.astype(dtype), {"_FillValue": fill}
    yield "f4 missing_value", holes.astype("f4"), {"_FillValue": -1e30, "missing_value": -1e30}
    for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4"):
        yield dtype, np.abs(integers).astype(dtype), {}
        yield f"{dtype} 0", np.abs(integers).astype(dtype), {"_FillValue": 0}
        yield f"{dtype} 7", np.abs(integers).astype(dtype), {"_FillValue": 7}
    yield "bool", integers > 0, {}
    yield "complex", (values + 1j * values).astype("c16"), {}
    packing = {"scale_factor": 0.01, "add_offset": 10.0}
    yield "packed i2", holes, {"dtype": "i2", "_FillValue": -32768, **packing}
    yield "packed u1", holes, {"dtype": "u1", "_FillValue": 255, "scale_factor": 0.1, "add_offset": 0.0}
    yield "packed unsigned", np.abs(holes), {"dtype": "i1", "_Unsigned": "true", "_FillValue": -1, "scale_factor": 0.1, "add_offset": 0.0}
    yield "time", np.array("2020-01-01", "M8[ns]") + integers.astype("m8[h]"), {}
    yield "duration", integers.astype("m8[s]").astype("m8[ns]"), {}
    yield "scalar", np.float32(3.5), {}
    yield "text", np.array([["a" * (1 + number % 3) for number in row] for row in integers.tolist()], "U4"), {}


def write(path, zarr_format, values, encoding):
    """Writes a dataset of one variable with its coordinates by xarray, chunked, attributes and all."""
    shutil.rmtree(path, ignore_errors=True)
    dimensions = ("y", "x")[: np.ndim(values)]
    attributes = {} if np.asarray(values).dtype.kind in "mM" else {"units": "K"}
    variable = xarray.Variable(dimensions, values, {**attributes, "factor": 1.0, "list": [1, 2.5]})
    coordinates = {"y": ("y", np.arange(5.0)), "x": ("x", np.arange(7, dtype="i4"))}
    dataset = xarray.Dataset({"v": variable}, coordinates)
    chunks = {"chunks": (2, 4)} if dimensions else {}
    dataset.to_zarr(path, zarr_format=zarr_format, encoding={"v": {**chunks, **encoding}}, consolidated=False)


def change(zarrcast, source, destination, zarr_format, *options):
    """Each array by itself; the group's own document is that of an empty dataset.

    A dataset with a scalar is done whole: in v3 only the arrays beside it tell that it has met xarray.
    """
    shutil.rmtree(destination, ignore_errors=True)
    if not zarr.open_array(source / "v", mode="r").shape:
        zarrcast.ok("transcode", "--zarr-format", zarr_format, "--verify", *options, source, destination)
        return
    xarray.Dataset().to_zarr(destination, zarr_format=zarr_format, consolidated=False)
    for array in sorted(path for path in source.iterdir() if path.is_dir()):
        zarrcast.ok("transcode", "--zarr-format", zarr_format, "--verify", *options, array, destination / array.name)


def shown(path, **options):
    """The dataset as xarray opens it."""
    return xarray.open_zarr(path, consolidated=False, **options).load()


def same(found, expected, what):
    """Fail unless names, dimensions, attributes, masks and values agree."""
    xarray.testing.assert_identical(found, expected)
    for name in expected.variables:
        a, b = found.variables[name], expected.variables[name]
        assert a.dtype == b.dtype, f"{what}: {name} is {a.dtype}, not {b.dtype}"


def masked_as_before(tally, zarrcast, folder):
    """v2 to v3, v3 to v2, and back again."""
    a, b, c = (folder / name for name in "abc")
    warnings.simplefilter("ignore")
    for name, values, encoding in variables():
        for start in (2, 3):
            with tally.case(name, f"from v{start}"):
                write(a, start, values, encoding)
                expected = shown(a)
                change(zarrcast, a, b, 5 - start)
                same(shown(b), expected, f"v{5 - start}")
                change(zarrcast, b, c, start)
                same(shown(c), expected, f"back in v{start}")


def unpacked(tally, zarrcast, folder):
    """`--unpack` gives the values that xarray decodes, in either format."""
    a, b = folder / "a", folder / "b"
    warnings.simplefilter("ignore")
    for name, values, encoding in variables():
        if "scale_factor" not in encoding:
            continue
        for start, end in ((2, 2), (2, 3), (3, 2), (3, 3)):
            with tally.case(name, f"v{start} to v{end}"):
                write(a, start, values, encoding)
                expected = shown(a)["v"]
                shutil.rmtree(b, ignore_errors=True)
                xarray.Dataset().to_zarr(b, zarr_format=end, consolidated=False)
                zarrcast.ok("transcode", "--zarr-format", end, "--unpack", "--verify", a / "v", b / "v")
                found = shown(b)["v"]
                assert np.array_equal(np.isnan(found), np.isnan(expected)), "other elements are missing"
                np.testing.assert_allclose(found, expected, rtol=1e-6)
                assert found.attrs == expected.attrs and found.dims == expected.dims
                assert not {"scale_factor", "add_offset", "_Unsigned"} & found.encoding.keys()


def packed(tally, zarrcast, folder):
    """`--quantize --as cf` of either format, as xarray decodes it."""
    a, b = folder / "a", folder / "b"
    warnings.simplefilter("ignore")
    for name, values, encoding in variables():
        if not name.startswith("f4 ") or encoding["_FillValue"] == 0:
            continue
        for start, end in ((2, 2), (2, 3), (3, 2), (3, 3)):
            with tally.case(name, f"v{start} to v{end}"):
                write(a, start, values, encoding)
                expected = shown(a)["v"]
                shutil.rmtree(b, ignore_errors=True)
                xarray.Dataset().to_zarr(b, zarr_format=end, consolidated=False)
                options = ["--quantize", "uint16", "--as", "cf", "--missing", "auto", "--verify"]
                zarrcast.ok("transcode", "--zarr-format", end, *options, a / "v", b / "v")
                found = shown(b)["v"]
                assert np.array_equal(np.isnan(found), np.isnan(expected)), "other elements are missing"
                np.testing.assert_allclose(found, expected, atol=1e-3)
                assert found.attrs == expected.attrs and found.dims == expected.dims


SECTIONS = [masked_as_before, unpacked, packed]
