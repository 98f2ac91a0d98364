"""Variables of xarray, in Zarr v2 and v3 and back: what xarray reads stays the same."""

from itertools import product

import numpy as np
import xarray
import zarr

SHAPE = (5, 7)


def variables():
    """Masked, packed and named variables of every kind that xarray stores: name, values and encoding."""
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
        for fill in ({}, {"_FillValue": 0}, {"_FillValue": 7}):
            yield f"{dtype} {fill}", np.abs(integers).astype(dtype), fill
    yield "bool", integers > 0, {}
    yield "complex", (values + 1j * values).astype("c16"), {}
    tenths = {"scale_factor": 0.1, "add_offset": 0.0}
    yield "packed i2", holes, {"dtype": "i2", "_FillValue": -32768, "scale_factor": 0.01, "add_offset": 10.0}
    yield "packed u1", holes, {"dtype": "u1", "_FillValue": 255, **tenths}
    yield "packed unsigned", np.abs(holes), {"dtype": "i1", "_Unsigned": "true", "_FillValue": -1, **tenths}
    yield "time", np.array("2020-01-01", "M8[ns]") + integers.astype("m8[h]"), {}
    yield "duration", integers.astype("m8[s]").astype("m8[ns]"), {}
    yield "scalar", np.float32(3.5), {}
    yield "text", np.array([["a" * (1 + number % 3) for number in row] for row in integers.tolist()], "U4"), {}


def write(path, zarr_format, values, encoding):
    """Writes a dataset of one variable with coordinates and attributes, in chunks."""
    dimensions = ("y", "x")[: np.ndim(values)]
    attributes = {} if np.asarray(values).dtype.kind in "mM" else {"units": "K"}
    variable = xarray.Variable(dimensions, values, {**attributes, "factor": 1.0, "list": [1, 2.5]})
    coordinates = {"y": ("y", np.arange(5.0)), "x": ("x", np.arange(7, dtype="i4"))}
    dataset = xarray.Dataset({"v": variable}, coordinates)
    chunks = {"chunks": (2, 4)} if dimensions else {}
    dataset.to_zarr(path, zarr_format=zarr_format, encoding={"v": {**chunks, **encoding}}, consolidated=False)


def change(zarrcast, source, destination, zarr_format, *options, names=("v", "x", "y")):
    """Transcodes each array by itself, into an empty dataset.

    A dataset with a scalar is done whole: in v3 only the arrays beside the scalar show that xarray wrote it.
    """
    options = ["--zarr-format", zarr_format, "--verify", *options]
    if not zarr.open_array(source / "v", mode="r").shape:
        zarrcast.ok("transcode", *options, source, destination)
        return
    xarray.Dataset().to_zarr(destination, zarr_format=zarr_format, consolidated=False)
    for name in names:
        zarrcast.ok("transcode", *options, source / name, destination / name)


def read(path):
    return xarray.open_zarr(path, consolidated=False).load()


def same(found, expected):
    xarray.testing.assert_identical(found, expected)
    for name, variable in expected.variables.items():
        assert found.variables[name].dtype == variable.dtype, f"{name} is {found.variables[name].dtype}, not {variable.dtype}"


def masked_as_before(tally, zarrcast, _folder):
    """v2 to v3, v3 to v2, and back again."""
    for (name, values, encoding), start in product(variables(), (2, 3)):
        with tally.case(name, f"from v{start}") as folder:
            a, b, c = (folder / name for name in "abc")
            write(a, start, values, encoding)
            change(zarrcast, a, b, 5 - start)
            same(read(b), read(a))
            change(zarrcast, b, c, start)
            same(read(c), read(a))


def packed_and_unpacked(tally, zarrcast, _folder):
    """`--unpack` gives the values that xarray decodes, and xarray decodes what `--quantize --as cf` packs, in either format."""
    pack = ["--quantize", "uint16", "--as", "cf", "--missing", "auto"]
    for name, values, encoding in variables():
        if "scale_factor" in encoding:
            options, near = ["--unpack"], {"rtol": 1e-6}
        elif name.startswith("f4 ") and encoding["_FillValue"] != 0:
            options, near = pack, {"rtol": 1e-7, "atol": 1e-3}
        else:
            continue
        for start, end in product((2, 3), (2, 3)):
            with tally.case(name, *options[:1], f"v{start} to v{end}") as folder:
                write(folder / "a", start, values, encoding)
                change(zarrcast, folder / "a", folder / "b", end, *options, names="v")
                found, expected = read(folder / "b")["v"], read(folder / "a")["v"]
                np.testing.assert_allclose(found, expected, **near)
                assert found.attrs == expected.attrs and found.dims == expected.dims
                assert options is pack or not {"scale_factor", "add_offset", "_Unsigned"} & found.encoding.keys()


SECTIONS = [masked_as_before, packed_and_unpacked]
