"""NetCDF4 and HDF5 files via reference files of kerchunk: read in place, and written as Zarr."""

import json
from itertools import product

import h5py
import numpy as np
import xarray
import zarr
from arrays import pieces
from datasets import folder_of_files
from kerchunk.hdf import SingleHdf5ToZarr

SHAPES = [(24, 17), (5, 6, 7), (30,)]
TYPES = ["<f4", ">f4", "<f8", ">f8", "<i2", ">i4", "u1", "<u8"]
STORAGE = {
    "contiguous": {},
    "chunked": {"chunks": True},
    "deflated": {"chunks": True, "compression": "gzip", "compression_opts": 4},
    "shuffled": {"chunks": True, "compression": "gzip", "shuffle": True},
}


def references(path, inline=100):
    """Writes the reference file of an HDF5 file in the same folder. It contains only the name of the file."""
    made = SingleHdf5ToZarr(str(path), inline_threshold=inline).translate()
    file = path.with_suffix(".json")
    file.write_text(json.dumps(made).replace(json.dumps(str(path)), json.dumps(path.name)))
    return file


def written_by_h5py(tally, zarrcast, _folder):
    """Every way of storage, with types of both byte orders, in all commands. The values equal those of h5py."""
    rng = np.random.default_rng(7)
    for (storage, options), (number, dtype) in product(STORAGE.items(), enumerate(TYPES)):
        with tally.case("h5py", storage, dtype) as folder:
            shape = SHAPES[number % len(SHAPES)]
            values = (rng.normal(size=shape) * 50 + 100).astype(dtype)
            chunks = {"chunks": pieces(shape, 3)} if options else {}
            with h5py.File(folder / "a.h5", "w") as file:
                file.create_dataset("a", data=values, **options | chunks)
                file.create_dataset("deeper/b", data=values[:3])
            file = references(folder / "a.h5", inline=0 if number % 2 else 100)
            zarrcast.ok("validate", "--level", "data", file)
            # Zarr v3 has no codec for a gzip level of a NetCDF file, so the v2 chunks are copied unchanged.
            zarrcast.ok("transcode", "--verify", file, folder / "copy")
            zarrcast.ok("transcode", "--verify", "--compress", "zstd:1", "--zarr-format", "3", file, folder / "new")
            zarrcast.ok("validate", "--against", file, folder / "new")
            for name in ("copy", "new"):
                found = zarr.open_group(folder / name, mode="r")
                assert np.array_equal(found["a"][...], values), name
                assert np.array_equal(found["deeper/b"][...], values[:3]), name
            if np.dtype(dtype).kind == "f":
                quantise = ["--quantize", "uint16", "--zarr-format", "3", "--compress", "zstd:1", "--no-workarounds"]
                bound = zarrcast.transcode(*quantise, f"{file}/a", folder / "b")["quantization"]["max_abs_error"]
                zarrcast.ok("validate", "--against", f"{file}/a", "--atol", bound * 1.0001, folder / "b")


def real_netcdf_files(tally, zarrcast, _folder):
    """Real NetCDF4 files: xarray reads the same from a conversion as from the file."""
    files = [file for file in sorted(folder_of_files().rglob("*.nc")) if h5py.is_hdf5(file)]
    files = [file for file in files if file.stat().st_size < 20 << 20]
    assert len(files) >= 3, files
    for file in files:
        with tally.case("netcdf", file.stem) as folder:
            path = folder / file.name
            path.write_bytes(file.read_bytes())
            zarrcast.ok("transcode", "--verify", references(path), folder / "b")
            one = xarray.open_dataset(path, decode_cf=False).load()
            other = xarray.open_zarr(folder / "b", decode_cf=False, consolidated=False).load()
            for name, variable in one.variables.items():
                if variable.dtype.kind in "iuf":
                    is_float = variable.dtype.kind == "f"
                    assert np.array_equal(variable.values, other.variables[name].values, equal_nan=is_float), name


SECTIONS = [written_by_h5py, real_netcdf_files]
