"""NetCDF4 and HDF5 files through reference files that kerchunk makes of them: read where they lie, and written as Zarr.

Environment: that of `interop_new.py`, with kerchunk and h5py. The real files are those of `iris-sample-data`.
"""

import json
import warnings
from pathlib import Path

import h5py
import numpy as np
import xarray
import zarr
from kerchunk.hdf import SingleHdf5ToZarr
from real_files import iris_sample_data

SHAPES = [(24, 17), (5, 6, 7), (30,)]
TYPES = ["<f4", ">f4", "<f8", ">f8", "<i2", ">i4", "u1", "<u8"]
STORAGE = {
    "contiguous": {},
    "chunked": {"chunks": True},
    "deflated": {"chunks": True, "compression": "gzip", "compression_opts": 4},
    "shuffled": {"chunks": True, "compression": "gzip", "shuffle": True},
}


def references(path, **options):
    """The reference file of an HDF5 file, beside it, pointing at it by its name alone."""
    made = SingleHdf5ToZarr(str(path), inline_threshold=options.pop("inline", 100)).translate()
    text = json.dumps(made).replace(json.dumps(str(path)), json.dumps(path.name))
    file = path.with_suffix(".json")
    file.write_text(text)
    return file


def written_by_h5py(tally, zarrcast, scratch):
    """Every way of storage, with types of both byte orders, in all commands; the values are those of h5py."""
    rng = np.random.default_rng(7)
    for storage, options in STORAGE.items():
        for number, dtype in enumerate(TYPES):
            with tally.case("h5py", storage, dtype):
                shape = SHAPES[number % len(SHAPES)]
                path = scratch / f"{storage}{number}.h5"
                values = (rng.normal(size=shape) * 50 + 100).astype(dtype)
                if options.get("chunks"):
                    options = options | {"chunks": tuple(-(-length // 3) for length in shape)}
                with h5py.File(path, "w") as file:
                    file.create_dataset("a", data=values, **options)
                    file.create_dataset("deeper/b", data=values[:3])
                file = references(path, inline=0 if number % 2 else 100)
                zarrcast.ok("validate", "--level", "data", file)
                # A level of gzip, like that of a NetCDF file, is nothing that Zarr v3 has: v2 is copied as it is.
                copy, made, quantised = (scratch / f"{storage}{number}.{name}" for name in ("copy", "made", "quantised"))
                zarrcast.ok("transcode", "--verify", file, copy)
                zarrcast.ok("transcode", "--verify", "--compress", "zstd:1", "--zarr-format", "3", file, made)
                zarrcast.ok("validate", "--against", file, made)
                for store in (copy, made):
                    found = zarr.open_group(store, mode="r")
                    assert np.array_equal(found["a"][...], values), store
                    assert np.array_equal(found["deeper/b"][...], values[:3]), store
                if np.dtype(dtype).kind == "f":
                    sharded = ["--shard-shape", ",".join(map(str, shape if storage == "contiguous" else (3 * -(-n // 3) for n in shape)))] if number == 0 else []
                    options_ = ["--quantize", "uint16", "--zarr-format", "3", "--compress", "zstd:1", "--no-workarounds", *sharded]
                    report = zarrcast.json("transcode", *options_, f"{file}/a", quantised)
                    bound = report["nodes"][0]["quantization"]["max_abs_error"]
                    zarrcast.ok("validate", "--against", f"{file}/a", "--atol", bound * 1.0001, quantised)


def real_netcdf_files(tally, zarrcast, scratch):
    """Real NetCDF4 files: what xarray reads of a conversion is what it reads of the file."""
    warnings.simplefilter("ignore")
    folder = Path(iris_sample_data.__file__).parent / "sample_data"
    files = [file for file in sorted(folder.rglob("*.nc")) if h5py.is_hdf5(file) and file.stat().st_size < 20 << 20]
    assert len(files) >= 3, files
    for file in files:
        with tally.case("netcdf", file.stem):
            path = scratch / file.name
            path.write_bytes(file.read_bytes())
            made = references(path)
            group = scratch / file.stem
            zarrcast.ok("transcode", "--verify", made, group)
            one = xarray.open_dataset(path, decode_cf=False).load()
            other = xarray.open_zarr(group, decode_cf=False, consolidated=False).load()
            for name, variable in one.variables.items():
                if variable.dtype.kind in "iuf":
                    assert np.array_equal(variable.values, other.variables[name].values, equal_nan=variable.dtype.kind == "f"), name


def references_refused(tally, zarrcast, scratch):
    """References out of the folder, and files that were changed since."""
    path = scratch / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("a", data=np.arange(1000, dtype="<f4"))
    made = references(path, inline=0)
    inner = scratch / "inner"
    inner.mkdir()
    (inner / "a.json").write_text(made.read_text().replace('"a.h5"', '"../a.h5"'))
    with tally.case("outside the folder"):
        message = zarrcast.status(3, "inspect", "--stats", f"{inner}/a.json/a")
        assert "--allow-file-references" in message, message
    with tally.case("outside the folder, allowed"):
        stats = zarrcast.json("inspect", "--stats", "--allow-file-references", f"{inner}/a.json/a")["stats"]
        assert stats["max"] == 999, stats
    with tally.case("cut short"):
        path.write_bytes(path.read_bytes()[:-100])
        message = zarrcast.status(1, "transcode", f"{made}/a", scratch / "b")
        assert "a.h5" in message and not (scratch / "b/zarr.json").exists(), message


SECTIONS = [written_by_h5py, references_refused] + ([real_netcdf_files] if iris_sample_data else [])
