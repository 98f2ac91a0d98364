"""Real NetCDF files as xarray writes them to Zarr: what it reads after `zarrcast` has converted their groups.

The files are those of `iris-sample-data` (Open Government Licence v3.0): model runs and analyses with bounds, masks, rotated
poles, times of several calendars, scalar coordinates and text.
"""

from itertools import product
from pathlib import Path

import numpy as np
import xarray
from arrays import lengths, pieces

try:
    import iris_sample_data
except ImportError:
    iris_sample_data = None
    print("LEFT OUT: the package iris-sample-data is not installed", flush=True)

FILES = [
    "A1B_north_america.nc",
    "NEMO/nemo_1m_20150101-20150201_grid-T.nc",
    "SOI_Darwin.nc",
    "atlantic_profiles.nc",
    "hybrid_height.nc",
    "mesh_C4_synthetic_float.nc",
    "orca2_votemper.nc",
    "ostia_monthly.nc",
    "rotated_pole.nc",
    "space_weather.nc",
    "toa_brightness_stereographic.nc",
    "vlstr_type.nc",
]
# The part of a variable's encoding that is about its values, not about how NetCDF stored them.
ENCODING = ["_FillValue", "missing_value", "scale_factor", "add_offset", "units", "calendar"]


def folder_of_files():
    return Path(iris_sample_data.__file__).parent / "sample_data"


def datasets():
    """Each file as xarray opens it, without what is about NetCDF alone."""
    for file in FILES:
        dataset = xarray.open_dataset(folder_of_files() / file, decode_timedelta=False).load()
        for variable in dataset.variables.values():
            is_number = np.dtype(variable.encoding.get("dtype", "O")).kind in "iuf"
            kept = [*ENCODING, "dtype"] if is_number else ENCODING
            variable.encoding = {name: variable.encoding[name] for name in kept if name in variable.encoding}
        yield Path(file).stem, dataset


def write(dataset, path, zarr_format, packed=()):
    """Writes it in chunks of about half of each dimension, the `packed` variables as integers with CF attributes."""
    encoding = {name: {"chunks": pieces(variable.shape)} for name, variable in dataset.variables.items() if variable.shape}
    for name in packed:
        low, high = float(dataset[name].min()), float(dataset[name].max())
        encoding[name] |= {"dtype": "i2", "_FillValue": -32768, "scale_factor": (high - low) / 65000 or 1.0, "add_offset": (low + high) / 2}
        dataset[name].encoding.pop("missing_value", None)
    dataset.to_zarr(path, zarr_format=zarr_format, encoding=encoding, consolidated=True)


def read(path, **options):
    return xarray.open_zarr(path, consolidated=True, decode_timedelta=False, **options).load()


def same(found, expected, but=()):
    """Fails unless names, dimensions, coordinates, attributes, values, types and masks agree."""
    xarray.testing.assert_identical(found.drop_vars(but), expected.drop_vars(but))
    assert found.attrs == expected.attrs and set(found.coords) == set(expected.coords)
    for name in set(expected.variables) - set(but):
        a, b = found.variables[name], expected.variables[name]
        assert a.dtype == b.dtype, f"{name} is {a.dtype}, not {b.dtype}"
        for key in ENCODING:
            one, other = a.encoding.get(key), b.encoding.get(key)
            assert one == other or (one != one and other != other), f"{name}: {key} is {one!r}, not {other!r}"
    for name in but:
        a, b = found[name], expected[name]
        assert np.array_equal(np.isnan(a), np.isnan(b)), f"{name}: other elements are missing"
        assert a.attrs == b.attrs and a.dims == b.dims and set(a.coords) == set(b.coords)


def changed(zarrcast, source, destination, *options):
    """Converts a whole group, and returns the result."""
    report = zarrcast.json("transcode", "--verify", *options, source, destination)
    assert report["complete"] and zarrcast.json("validate", "--level", "data", destination)["valid"]
    return report


def rules(names, text):
    return [word for name in names for word in ("--rule", f"{name}: {text}")]


def fields(dataset):
    """Variables to quantise: floats that are data and have dimensions of their own."""
    return [name for name, variable in dataset.data_vars.items() if variable.dtype.kind == "f" and variable.ndim > 1 and "bnds" not in variable.dims]


def formats_of_real_files(tally, zarrcast, _folder):
    """v2 to v3, v3 to v2, and back, as decoded and as stored."""
    for (name, dataset), start in product(datasets(), (2, 3)):
        with tally.case(name, f"from v{start}") as folder:
            a, b, c = (folder / name for name in "abc")
            write(dataset, a, start)
            changed(zarrcast, a, b, "--zarr-format", 5 - start)
            same(read(b), read(a))
            changed(zarrcast, b, c, "--zarr-format", start)
            same(read(c), read(a))
            stored = {"mask_and_scale": False, "decode_times": False}
            same(read(c, **stored), read(a, **stored))


def real_files_recoded(tally, zarrcast, _folder):
    """Other compressors and chunks, with a change of format and without."""
    for (name, dataset), start in product(datasets(), (2, 3)):
        shapes = {variable: lengths(pieces(values.shape, 3)) for variable, values in dataset.variables.items() if values.ndim}
        rechunk = [word for variable, shape in shapes.items() for word in rules([variable], f"--chunk-shape {shape}")]
        with tally.case(name, f"v{start}") as folder:
            write(dataset, folder / "a", start)
            changes = [["--compress", "blosc:zstd:3:shuffle"], rechunk, ["--zarr-format", 5 - start, "--compress", "gzip:2", *rechunk]]
            for number, options in enumerate(changes):
                changed(zarrcast, folder / "a", folder / str(number), *options)
                same(read(folder / str(number)), read(folder / "a"))


def quantised(found, expected, report, names):
    """Fails unless the fields are within their bound and nothing else has changed."""
    same(found, expected, names)
    bounds = {node["path"]: node["quantization"]["bound"] for node in report["nodes"] if node.get("quantization")}
    for name in names:
        a, b = (side[name].values.astype("f8") for side in (found, expected))
        # The bound is on the decoded value; xarray may round once more where it scales.
        difference = np.nanmax(np.abs(a - b))
        assert difference <= bounds[f"/{name}"] * 1.01 + np.nanmax(np.abs(b)) * 2.0**-23, f"{name} differs by {difference}"


def real_files_quantised(tally, zarrcast, _folder):
    """`--quantize` of the fields alone, as codecs and as CF attributes, and `--unpack`."""
    forms = [(3, "--quantize uint16 --missing auto", 0), *((end, "--quantize int16 --as cf --missing auto", 1e-6) for end in (2, 3))]
    for (name, dataset), start, (end, options, near) in product(datasets(), (2, 3), forms):
        if names := fields(dataset):
            with tally.case(name, options, f"from v{start} to v{end}") as folder:
                a, b, c = (folder / name for name in "abc")
                write(dataset, a, start)
                report = changed(zarrcast, a, b, "--zarr-format", end, *rules(names, options))
                quantised(read(b), read(a), report, names)
                changed(zarrcast, b, c, *rules(names, "--unpack"))
                same(read(c).drop_vars(names), read(b).drop_vars(names))
                for field in names:
                    np.testing.assert_allclose(read(c)[field], read(b)[field], rtol=near)


def real_files_unpacked(tally, zarrcast, _folder):
    """`--unpack` of variables that xarray packed gives the values that it decodes."""
    for (name, dataset), start, end in product(datasets(), (2, 3), (2, 3)):
        if names := fields(dataset):
            with tally.case(name, f"from v{start} to v{end}") as folder:
                write(dataset, folder / "a", start, names)
                changed(zarrcast, folder / "a", folder / "b", "--zarr-format", end, *rules(names, "--unpack"))
                found, expected = read(folder / "b"), read(folder / "a")
                same(found, expected, names)
                for field in names:
                    np.testing.assert_allclose(found[field], expected[field], rtol=1e-5)
                    assert not {"scale_factor", "add_offset"} & found[field].encoding.keys()


SECTIONS = [formats_of_real_files, real_files_recoded, real_files_quantised, real_files_unpacked] if iris_sample_data else []
