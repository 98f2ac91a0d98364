"""NetCDF4 and HDF5 files through reference files that kerchunk makes of them: read in place, and written as Zarr."""

import json
from itertools import product

import h5py
import numpy as np
import xarray
import zarr
from arrays import lengths, pieces
from kerchunk.hdf import SingleHdf5ToZarr
from real_files import folder_of_files, iris_sample_data

SHAPES = [(24, 17), (5, 6, 7), (30,)]
TYPES = ["<f4", ">f4", "<f8", ">f8", "<i2", ">i4", "u1", "<u8"]
STORAGE = {
    "contiguous": {},
    "chunked": {"chunks": True},
    "deflated": {"chunks": True, "compression": "gzip", "compression_opts": 4},
    "shuffled": {"chunks": True, "compression": "gzip", "shuffle": True},
}


def references(path, inline=100):
    """The reference file of an HDF5 file, in the same folder, with the file's name alone."""
    made = SingleHdf5ToZarr(str(path), inline_threshold=inline).translate()
    file = path.with_suffix(".json")
    file.write_text(json.dumps(made).replace(json.dumps(str(path)), json.dumps(path.name)))
    return file


def written_by_h5py(tally, zarrcast, _folder):
    """Every way of storage, with types of both byte orders, in all commands. The values are those of h5py."""
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
            # A level of gzip, like that of a NetCDF file, is nothing that Zarr v3 has: v2 is copied as it is.
            zarrcast.ok("transcode", "--verify", file, folder / "copy")
            zarrcast.ok("transcode", "--verify", "--compress", "zstd:1", "--zarr-format", "3", file, folder / "new")
            zarrcast.ok("validate", "--against", file, folder / "new")
            for name in ("copy", "new"):
                found = zarr.open_group(folder / name, mode="r")
                assert np.array_equal(found["a"][...], values), name
                assert np.array_equal(found["deeper/b"][...], values[:3]), name
            if np.dtype(dtype).kind == "f":
                shards = lengths(shape if storage == "contiguous" else [3 * n for n in pieces(shape, 3)])
                quantise = ["--quantize", "uint16", "--zarr-format", "3", "--compress", "zstd:1", "--no-workarounds"]
                quantise += ["--shard-shape", shards] if number == 0 else []
                bound = zarrcast.transcode(*quantise, f"{file}/a", folder / "b")["quantization"]["max_abs_error"]
                zarrcast.ok("validate", "--against", f"{file}/a", "--atol", bound * 1.0001, folder / "b")


def real_netcdf_files(tally, zarrcast, _folder):
    """Real NetCDF4 files: xarray reads of a conversion what it reads of the file."""
    files = [file for file in sorted(folder_of_files().rglob("*.nc")) if h5py.is_hdf5(file) and file.stat().st_size < 20 << 20]
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
                    assert np.array_equal(variable.values, other.variables[name].values, equal_nan=variable.dtype.kind == "f"), name


def references_refused(tally, zarrcast, folder):
    """References out of the folder, and files that were changed since."""
    path = folder / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("a", data=np.arange(1000, dtype="<f4"))
    made = references(path, inline=0)
    (folder / "inner").mkdir()
    (folder / "inner/a.json").write_text(made.read_text().replace('"a.h5"', '"../a.h5"'))
    with tally.case("outside the folder"):
        message = zarrcast.status(3, "inspect", "--stats", f"{folder}/inner/a.json/a")
        assert "--allow-file-references" in message, message
    with tally.case("outside the folder, allowed"):
        stats = zarrcast.json("inspect", "--stats", "--allow-file-references", f"{folder}/inner/a.json/a")["stats"]
        assert stats["max"] == 999, stats
    with tally.case("cut short"):
        path.write_bytes(path.read_bytes()[:-100])
        message = zarrcast.status(1, "transcode", f"{made}/a", folder / "b")
        assert "a.h5" in message and not (folder / "b/zarr.json").exists(), message


SECTIONS = [written_by_h5py, references_refused] + ([real_netcdf_files] if iris_sample_data else [])
