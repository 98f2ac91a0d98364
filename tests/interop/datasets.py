"""Datasets of xarray in Zarr v2 and v3. xarray reads the same before and after, and `inspect` and `validate` agree
with it.

The real ones are NetCDF files of `iris-sample-data` (Open Government Licence v3.0). They have bounds, masks, rotated
poles, times of several calendars, scalar coordinates and text. A synthetic one has masked, packed and named variables
of every kind.
"""

from itertools import product
from pathlib import Path

import iris_sample_data
import numpy as np
import xarray
import zarr
from arrays import lengths, pieces

FILES = [
    "A1B_north_america.nc", "NEMO/nemo_1m_20150101-20150201_grid-T.nc", "SOI_Darwin.nc", "atlantic_profiles.nc",
    "hybrid_height.nc", "mesh_C4_synthetic_float.nc", "orca2_votemper.nc", "ostia_monthly.nc", "rotated_pole.nc",
    "space_weather.nc", "toa_brightness_stereographic.nc", "vlstr_type.nc",
]
# Fields of these files and others.
FIELDS = [
    ("A1B_north_america.nc", "air_temperature"), ("E1_north_america.nc", "air_temperature"),
    ("hybrid_height.nc", "air_potential_temperature"), ("mesh_C4_synthetic_float.nc", "synthetic"),
    ("rotated_pole.nc", "air_pressure_at_sea_level"), ("space_weather.nc", "Ne"), ("space_weather.nc", "TEC"),
    ("orca2_votemper.nc", "votemper"), ("ostia_monthly.nc", "surface_temperature"),
    ("toa_brightness_stereographic.nc", "data"), ("atlantic_profiles.nc", "salinity"), ("SOI_Darwin.nc", "SOI_Darwin"),
]
# The encoding of a variable's values, without the settings of its NetCDF storage.
ENCODING = ["_FillValue", "missing_value", "scale_factor", "add_offset", "units", "calendar", "_Unsigned"]
CODECS, CF = "--quantize uint16 --missing auto", "--quantize int16 --as cf --missing auto"


def folder_of_files():
    return Path(iris_sample_data.__file__).parent / "sample_data"


def real_fields():
    for file, name in FIELDS:
        with xarray.open_dataset(folder_of_files() / file, decode_times=False) as dataset:
            yield f"{file} {name}", dataset[name].values.copy()


def variables():
    random = np.random.default_rng(3)
    values = random.normal(10, 3, (5, 7))
    holes = values.copy()
    holes[1, 2:5] = np.nan
    integers = random.integers(-100, 100, (5, 7))
    for dtype in ("f4", "f8"):
        for fill in (None, np.nan, -9999.0, 0.0, 1e30):
            yield f"{dtype} {fill}", holes.astype(dtype), {"_FillValue": fill}
    yield "f4 missing_value", holes.astype("f4"), {"_FillValue": -1e30, "missing_value": -1e30}
    for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4"):
        for fill in (None, 0, 7):
            yield f"{dtype} {fill}", np.abs(integers).astype(dtype), {} if fill is None else {"_FillValue": fill}
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


def made(names=None):
    """Returns a synthetic dataset of all or some variables, with coordinates and attributes."""
    coordinates = {"y": ("y", np.arange(5.0)), "x": ("x", np.arange(7, dtype="i4"))}
    coordinates["label"] = ("y", np.array(["a", "bb", "é", "", "e"], dtype=object))
    dataset = xarray.Dataset({}, coordinates, {"title": "made"})
    for name, values, encoding in variables():
        if names is None or name in names:
            attributes = {} if np.asarray(values).dtype.kind in "mM" else {"units": "K"}
            attributes |= {"factor": 1.0, "list": [1, 2.5]}
            dataset[name] = xarray.Variable(("y", "x")[: np.ndim(values)], values, attributes, encoding)
    return dataset


def datasets():
    """Yields the synthetic dataset, and each file as xarray opens it, without settings of NetCDF alone."""
    yield "made", made()
    for file in FILES:
        dataset = xarray.open_dataset(folder_of_files() / file, decode_timedelta=False).load()
        for variable in dataset.variables.values():
            is_number = np.dtype(variable.encoding.get("dtype", "O")).kind in "iuf"
            kept = [*ENCODING, "dtype"] if is_number else ENCODING
            variable.encoding = {name: variable.encoding[name] for name in kept if name in variable.encoding}
        yield Path(file).stem, dataset


def write(dataset, path, zarr_format, packed=()):
    """Writes a dataset in chunks of about half of each dimension. `packed` variables are CF integers."""
    dataset = dataset.copy(deep=True)
    encoding = {}
    for name, variable in dataset.variables.items():
        encoding[name] = {**variable.encoding, **({"chunks": pieces(variable.shape)} if variable.shape else {})}
    for name in packed:
        low, high = float(dataset[name].min()), float(dataset[name].max())
        encoding[name] |= {"dtype": "i2", "_FillValue": -32768, "add_offset": (low + high) / 2}
        encoding[name] |= {"scale_factor": (high - low) / 65000 or 1.0}
        encoding[name].pop("missing_value", None)
        dataset[name].encoding = {}
    dataset.to_zarr(path, zarr_format=zarr_format, encoding=encoding, consolidated=True)


def read(path, **options):
    return xarray.open_zarr(path, consolidated=True, decode_timedelta=False, **options).load()


def same(found, expected, but=()):
    """Fails unless names, dimensions, coordinates, attributes, values, types and masks are equal."""
    xarray.testing.assert_identical(found.drop_vars(but), expected.drop_vars(but))
    assert found.attrs == expected.attrs and set(found.coords) == set(expected.coords)
    for name in set(expected.variables) - set(but):
        a, b = found.variables[name], expected.variables[name]
        assert a.dtype == b.dtype, f"{name} is {a.dtype}, not {b.dtype}"
        for key in ENCODING:
            # NaN is missing with or without a `_FillValue` of NaN.
            one, other = (None if found != found else found for found in (a.encoding.get(key), b.encoding.get(key)))
            assert one == other, f"{name}: {key} is {one!r}, not {other!r}"
    for name in but:
        a, b = found[name], expected[name]
        assert np.array_equal(np.isnan(a), np.isnan(b)), f"{name}: other elements are missing"
        assert a.attrs == b.attrs and a.dims == b.dims and set(a.coords) == set(b.coords)


def changed(zarrcast, source, destination, *options):
    report = zarrcast.json("transcode", "--verify", *options, source, destination)
    assert report["complete"] and zarrcast.json("validate", "--level", "data", destination)["valid"]
    return report


def rules(names, text):
    return [word for name in names for word in ("--rule", f"{name}: {text}")]


def fields(dataset):
    """Returns the variables to quantise: floats with data and their own dimensions."""
    is_field = lambda found: found.dtype.kind == "f" and found.ndim > 1 and "bnds" not in found.dims
    return [name for name, found in dataset.data_vars.items() if is_field(found) and found.encoding.get("_FillValue") != 0]


def formats(tally, zarrcast, _folder):
    """v2 to v3, v3 to v2, and back, decoded and stored. Then other compressors and chunks."""
    for (name, dataset), start in product(datasets(), (2, 3)):
        shapes = {key: lengths(pieces(values.shape, 3)) for key, values in dataset.variables.items() if values.ndim}
        rechunk = [word for key, shape in shapes.items() for word in rules([key], f"--chunk-shape {shape}")]
        with tally.case("formats", name, f"from v{start}") as folder:
            a, b, c = (folder / name for name in "abc")
            write(dataset, a, start)
            expected = read(a)
            changed(zarrcast, a, b, "--zarr-format", 5 - start)
            same(read(b), expected)
            changed(zarrcast, b, c, "--zarr-format", start)
            same(read(c), expected)
            # A fill value of NaN in v2 is a `_FillValue`.
            bare = {"mask_and_scale": False, "decode_times": False, "drop_variables": ["f4 None", "f8 None"]}
            same(read(c, **bare), read(a, **bare))
            changes = [["--compress", "blosc:zstd:3:shuffle"], rechunk]
            changes.append(["--zarr-format", 5 - start, "--compress", "gzip:2", *rechunk])
            for number, options in enumerate(changes):
                changed(zarrcast, a, folder / str(number), *options)
                same(read(folder / str(number)), expected)


def arrays_alone(tally, zarrcast, _folder):
    """Each array alone, written into an empty dataset: from format to format and back."""
    names = [name for name, values, _ in variables() if np.ndim(values)]
    for start in (2, 3):
        with tally.case("alone", f"from v{start}") as folder:
            places = [folder / name for name in "abc"]
            write(made(names), places[0], start)
            for source, place, zarr_format in zip(places, places[1:], (5 - start, start)):
                xarray.Dataset(attrs={"title": "made"}).to_zarr(place, zarr_format=zarr_format, consolidated=False)
                for name in [*names, "x", "y", "label"]:
                    zarrcast.ok("transcode", "--zarr-format", zarr_format, "--verify", source / name, place / name)
                options = {"consolidated": False, "decode_timedelta": False}
                same(xarray.open_zarr(place, **options).load(), xarray.open_zarr(places[0], **options).load())


def quantised(tally, zarrcast, _folder):
    """`--quantize` of only the fields, as codecs and as CF attributes, and `--unpack`."""
    for name, dataset in datasets():
        names = fields(dataset.drop_vars([key for key in dataset.variables if key.startswith("packed")]))
        for start, end, options in [(2, 3, CODECS), (3, 3, CODECS), (2, 2, CF), (3, 3, CF)] if names else []:
            with tally.case("quantised", name, options, f"from v{start} to v{end}") as folder:
                a, b, c = (folder / name for name in "abc")
                write(dataset, a, start)
                report = changed(zarrcast, a, b, "--zarr-format", end, *rules(names, options))
                found, expected = read(b), read(a)
                same(found, expected, names)
                nodes = [node for node in report["nodes"] if node.get("quantization")]
                bounds = {node["path"]: node["quantization"]["bound"] for node in nodes}
                for field in names:
                    one, other = (side[field].values.astype("f8") for side in (found, expected))
                    # The bound is for the decoded value. xarray may round once more when it scales.
                    most = bounds[f"/{field}"] * 1.01 + np.nanmax(np.abs(other)) * 2.0**-23
                    assert np.nanmax(np.abs(one - other)) <= most, f"{field} differs by more than {most}"
                changed(zarrcast, b, c, *rules(names, "--unpack"))
                plain = read(c)
                same(plain.drop_vars(names), found.drop_vars(names))
                for field in names:
                    np.testing.assert_allclose(plain[field], found[field], rtol=0 if options == CODECS else 1e-6)


def unpacked(tally, zarrcast, _folder):
    """`--unpack` of variables packed by xarray returns the values that xarray decodes."""
    for (name, dataset), start, end in product(datasets(), (2, 3), (2, 3)):
        packed = [key for key in dataset.variables if key.startswith("packed")]
        if names := packed or fields(dataset):
            with tally.case("unpacked", name, f"from v{start} to v{end}") as folder:
                write(dataset, folder / "a", start, [] if packed else names)
                changed(zarrcast, folder / "a", folder / "b", "--zarr-format", end, *rules(names, "--unpack"))
                found, expected = read(folder / "b"), read(folder / "a")
                same(found, expected, names)
                for field in names:
                    np.testing.assert_allclose(found[field], expected[field], rtol=1e-5)
                    assert not {"scale_factor", "add_offset", "_Unsigned"} & found[field].encoding.keys()


def figures(tally, zarrcast, _folder):
    """`inspect --stats --cf` of stored and packed variables. Packed fields are compared with the plain ones."""
    for (name, dataset), zarr_format in product(datasets(), (2, 3)):
        names = fields(dataset) if name != "made" else []
        with tally.case("figures", name, zarr_format, "is written") as folder:
            plain, packed = folder / "plain", folder / "packed"
            write(dataset, plain, zarr_format)
            check_store(tally, zarrcast, plain, name, zarr_format)
            if names:
                write(dataset, packed, zarr_format, names)
                check_store(tally, zarrcast, packed, name, zarr_format, "packed")
                with tally.case("figures", name, zarr_format, "packed against plain"):
                    check_against(zarrcast, packed, plain, names)


def seen(path):
    """Returns the dataset as a CF reader decodes it, but with the numbers of times, which `inspect` shows."""
    undecoded = {"decode_times": False, "decode_coords": False, "decode_timedelta": False, "consolidated": False}
    return xarray.open_zarr(path, **undecoded, chunks=None).load()


def check_store(tally, zarrcast, path, *name):
    group = zarr.open_group(path, mode="r")
    for variable, shown in seen(path).variables.items():
        raw = np.asarray(group[variable][...])
        # By an attribute, xarray converts int8 to bool, and masked bool to objects.
        if raw.dtype.kind in "iuf" and shown.dtype.kind in "iuf":
            with tally.case("figures", *name, variable):
                check_figures(zarrcast, path / variable, shown.values, raw)


def check_figures(zarrcast, array, values, raw):
    """Compares the statistics with the values that xarray decodes. NaN is missing unless it is stored."""
    stats = zarrcast.json("inspect", "--stats", "--cf", "-q", array)["stats"]
    finite = np.asarray(values).astype("f8").ravel()
    finite = finite[np.isfinite(finite)]
    is_nan = lambda array: np.count_nonzero(np.isnan(array)) if np.asarray(array).dtype.kind == "f" else 0
    wanted = {"count": np.size(values), "finite": finite.size, "nan": is_nan(raw)}
    wanted["missing"] = is_nan(values) - is_nan(raw)
    assert stats.items() >= wanted.items(), (stats, wanted)
    if finite.size == 0:
        assert stats["min"] is None and stats["mean"] is None, stats
        return
    # xarray rounds values that it only masks to float32 or float64, so the least and greatest are rounded, too.
    exact = (float(np.asarray(stats[name], values.dtype).astype("f8")) for name in ("min", "max"))
    assert tuple(exact) == (finite.min(), finite.max()), (stats, finite.min(), finite.max())
    spread = max(abs(finite.min()), abs(finite.max()))
    mean, deviation = finite.astype("longdouble").mean(), finite.astype("longdouble").std()
    assert abs(stats["mean"] - mean) <= 1e-12 * spread, (stats["mean"], mean)
    assert abs(stats["standard_deviation"] - deviation) <= 1e-10 * max(float(deviation), 1e-6 * spread), deviation


def check_against(zarrcast, packed, plain, names):
    """A packed store equals the plain one within xarray's greatest difference, and not within less."""
    for key in names:
        a, b = (seen(path)[key].values for path in (packed, plain))
        a, b = a.astype(b.dtype).astype("f8"), b.astype("f8")
        if np.isfinite(b).any():
            greatest = float(np.nanmax(np.abs(a - b)))
            for share, statuses in ((1, [0]), (0.999, [1] if greatest > 0 else [0])):
                atol = ["--atol", repr(greatest * share)]
                command = ["validate", "-q", "--cf", *atol, packed / key, "--against", plain / key]
                zarrcast.run(*command, expected=statuses)


def defaults(tally, zarrcast, _folder):
    """Default stores of xarray: no finding of `warning` level, down to the data."""
    numbers = ["f4 -9999.0", "f8 nan", "i4 None", "packed i2"]
    data = made([*numbers, "bool", "complex", "time", "duration", "scalar", "text"])
    data["objects"] = ("y", np.array(["a", "bb", "é", "", "e"], dtype=object))
    tree = xarray.DataTree.from_dict({"/": data, "/a": data, "/a/b": xarray.Dataset({"q": (("z",), np.arange(3.0))})})
    for (form, one), consolidated, zarr_format in product({"dataset": data, "tree": tree}.items(), (True, False, None), (2, 3)):
        if form == "tree" and consolidated is None:
            continue
        with tally.case("defaults", form, consolidated, zarr_format) as folder:
            one.to_zarr(folder / "a", zarr_format=zarr_format, consolidated=consolidated)
            if consolidated is None:
                one.drop_encoding().drop_vars("scalar").to_zarr(folder / "a", append_dim="y")
            for level in ("metadata", "keys", "data"):
                report = zarrcast.json("validate", "--deny", "warnings", "--level", level, folder / "a")
                assert report["valid"] and report["warnings"] == 0 and not report["unchecked"], report["findings"]
            assert report["verdict"] == "valid", report["verdict"]


SECTIONS = [formats, arrays_alone, quantised, unpacked, figures, defaults]
