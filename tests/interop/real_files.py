"""Real NetCDF files as xarray writes them to Zarr, group by group, and what it reads after `zarrcast` has converted them.

The files are those of `iris-sample-data` (Open Government Licence v3.0): model runs and analyses with bounds, masks, rotated
poles, times of several calendars, scalar coordinates and text.
"""

import shutil
import warnings
from pathlib import Path

import numpy as np
import xarray

try:
    import iris_sample_data
except ImportError:
    iris_sample_data = None

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
# What of a variable's encoding is about its values, not about how NetCDF stored them.
ENCODING = ["_FillValue", "missing_value", "scale_factor", "add_offset", "units", "calendar"]


def datasets():
    """Each file as xarray opens it, without what concerns NetCDF alone."""
    warnings.simplefilter("ignore")
    folder = Path(iris_sample_data.__file__).parent / "sample_data"
    for file in FILES:
        dataset = xarray.open_dataset(folder / file, decode_timedelta=False).load()
        for variable in dataset.variables.values():
            is_number = np.dtype(variable.encoding.get("dtype", "O")).kind in "iuf"
            kept = [*ENCODING, "dtype"] if is_number else ENCODING
            variable.encoding = {name: variable.encoding[name] for name in kept if name in variable.encoding}
        yield Path(file).stem, dataset


def write(dataset, path, zarr_format, packed=()):
    """Write it in chunks of about half of each dimension; `packed` variables as integers with CF attributes."""
    shutil.rmtree(path, ignore_errors=True)
    encoding = {
        name: {"chunks": tuple(-(-length // 2) for length in variable.shape)} for name, variable in dataset.variables.items() if variable.shape
    }
    for name in packed:
        low, high = float(dataset[name].min()), float(dataset[name].max())
        packing = {"dtype": "i2", "_FillValue": -32768, "scale_factor": (high - low) / 65000 or 1.0, "add_offset": (low + high) / 2}
        encoding[name] |= packing
        dataset[name].encoding.pop("missing_value", None)
    dataset.to_zarr(path, zarr_format=zarr_format, encoding=encoding, consolidated=True)


def shown(path, **options):
    """The dataset as xarray opens it, through its consolidated metadata."""
    return xarray.open_zarr(path, consolidated=True, decode_timedelta=False, **options).load()


def same(found, expected, but=()):
    """Fail unless names, dimensions, coordinates, attributes, values, types and masks agree."""
    xarray.testing.assert_identical(found.drop_vars(but), expected.drop_vars(but))
    assert found.attrs == expected.attrs and set(found.coords) == set(expected.coords)
    for name in set(expected.variables) - set(but):
        a, b = found.variables[name], expected.variables[name]
        assert a.dtype == b.dtype, f"{name} is {a.dtype}, not {b.dtype}"
        for key in ENCODING:
            one, other = a.encoding.get(key), b.encoding.get(key)
            # A number that is not equal to itself is no other.
            assert one == other or (one != one and other != other), f"{name}: {key} is {one!r}, not {other!r}"


def changed(zarrcast, source, destination, *options):
    """Convert a whole group; the program's report."""
    shutil.rmtree(destination, ignore_errors=True)
    report = zarrcast.json("transcode", "--verify", *options, source, destination)
    assert report["complete"] and zarrcast.json("validate", "--level", "data", destination)["valid"]
    return report


def fields(dataset):
    """Variables to quantise: floats that are data and have dimensions of their own."""
    return [name for name, variable in dataset.data_vars.items() if variable.dtype.kind == "f" and variable.ndim > 1 and "bnds" not in variable.dims]


def formats_of_real_files(tally, zarrcast, folder):
    """v2 to v3, v3 to v2, and back, as decoded and as stored."""
    a, b, c = (folder / name for name in "abc")
    for name, dataset in datasets():
        for start in (2, 3):
            with tally.case(name, f"from v{start}"):
                write(dataset, a, start)
                changed(zarrcast, a, b, "--zarr-format", 5 - start)
                same(shown(b), shown(a))
                changed(zarrcast, b, c, "--zarr-format", start)
                same(shown(c), shown(a))
                same(shown(c, mask_and_scale=False, decode_times=False), shown(a, mask_and_scale=False, decode_times=False))


def real_files_recoded(tally, zarrcast, folder):
    """Other compressors and chunks, with a change of format and without."""
    a, b = folder / "a", folder / "b"
    for name, dataset in datasets():
        rules = []
        for variable, values in dataset.variables.items():
            if values.ndim:
                shape = ",".join(str(-(-length // 3)) for length in values.shape)
                rules += ["--rule", f"{variable}: --chunk-shape {shape}"]
        for start in (2, 3):
            with tally.case(name, f"v{start}"):
                write(dataset, a, start)
                expected = shown(a)
                for options in (["--compress", "blosc:zstd:3:shuffle"], rules, ["--zarr-format", 5 - start, "--compress", "gzip:2", *rules]):
                    changed(zarrcast, a, b, *options)
                    same(shown(b), expected)


def quantised(found, expected, report, names):
    """Fail unless the fields are within their bound and nothing else has changed."""
    same(found, expected, names)
    bounds = {node["path"]: node["quantization"]["bound"] for node in report["nodes"] if node.get("quantization")}
    for name in names:
        a, b = found[name], expected[name]
        assert np.array_equal(np.isnan(a), np.isnan(b)), f"{name}: other elements are missing"
        # The bound is on the decoded value; xarray may round once more where it scales.
        difference = np.nanmax(np.abs(a.values.astype("f8") - b.values.astype("f8")))
        assert difference <= bounds[f"/{name}"] * 1.01 + np.nanmax(np.abs(b)) * 2.0**-23, f"{name} differs by {difference}"
        assert a.attrs == b.attrs and a.dims == b.dims and set(a.coords) == set(b.coords)


def real_files_quantised(tally, zarrcast, folder):
    """`--rule 'NAME: --quantize'` of the fields alone: by the codecs, and by CF attributes that `--unpack` takes off."""
    a, b, c = (folder / name for name in "abc")
    for name, dataset in datasets():
        names = fields(dataset)
        rules = lambda text: [word for field in names for word in ("--rule", f"{field}: {text}")]  # noqa: E731
        for start in (2, 3) if names else ():
            with tally.case(name, f"codecs, from v{start}"):
                write(dataset, a, start)
                report = changed(zarrcast, a, b, "--zarr-format", 3, *rules("--quantize uint16 --missing auto"))
                quantised(shown(b), shown(a), report, names)
                changed(zarrcast, b, c, *rules("--unpack"))
                xarray.testing.assert_equal(shown(c), shown(b))
            for end in (2, 3):
                with tally.case(name, f"CF, from v{start} to v{end}"):
                    write(dataset, a, start)
                    report = changed(zarrcast, a, b, "--zarr-format", end, *rules("--quantize int16 --as cf --missing auto"))
                    quantised(shown(b), shown(a), report, names)
                    changed(zarrcast, b, c, *rules("--unpack"))
                    for field in names:
                        np.testing.assert_allclose(shown(c)[field], shown(b)[field], rtol=1e-6)


def real_files_unpacked(tally, zarrcast, folder):
    """`--unpack` of what xarray packed gives the values that it decodes."""
    a, b = folder / "a", folder / "b"
    for name, dataset in datasets():
        names = fields(dataset)
        for start, end in ((2, 2), (2, 3), (3, 2), (3, 3)) if names else ():
            with tally.case(name, f"from v{start} to v{end}"):
                write(dataset, a, start, names)
                expected = shown(a)
                rules = [word for field in names for word in ("--rule", f"{field}: --unpack")]
                changed(zarrcast, a, b, "--zarr-format", end, *rules)
                found = shown(b)
                same(found, expected, names)
                for field in names:
                    assert np.array_equal(np.isnan(found[field]), np.isnan(expected[field])), f"{field}: other elements are missing"
                    np.testing.assert_allclose(found[field], expected[field], rtol=1e-5)
                    assert found[field].attrs == expected[field].attrs
                    assert not {"scale_factor", "add_offset"} & found[field].encoding.keys()


def without_real_files(tally, zarrcast, folder):
    """Say what is left out."""
    print("LEFT OUT: the package iris-sample-data is not installed", flush=True)


SECTIONS = [formats_of_real_files, real_files_recoded, real_files_quantised, real_files_unpacked]
if iris_sample_data is None:
    SECTIONS = [without_real_files]
