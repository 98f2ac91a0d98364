"""Zip files of zarr-python, zipfile and unzip, read and written by `zarrcast`."""

import io
import shutil
import subprocess
import zipfile
from itertools import product

import numpy as np
import zarr
from program import files
from zarr.storage import ZipStore

METHODS = [getattr(zipfile, name) for name in ("ZIP_STORED", "ZIP_DEFLATED", "ZIP_ZSTANDARD") if hasattr(zipfile, name)]
ARRAYS = {"plain": {"chunks": (8, 8)}, "inner/deep": {"chunks": (37, 21)}, "sharded": {"chunks": (4, 4), "shards": (16, 12)}}


def values(name):
    """Returns elements with a part that is the fill value."""
    elements = np.random.default_rng(len(name)).normal(size=(37, 21)).astype("float32")
    elements[:9] = 0
    return elements


def write_group(store, zarr_format):
    group = zarr.create_group(store, zarr_format=zarr_format, attributes={"title": "zip"})
    group.create_group("inner")
    for name, options in ARRAYS.items():
        if zarr_format == 3 or name != "sharded":
            group.create_array(name, data=values(name), **options)


def check(group):
    assert group.attrs["title"] == "zip"
    assert "plain" in group and "inner/deep" in group
    for name in ARRAYS:
        assert name not in group or np.asarray(group[name][...]).tobytes() == values(name).tobytes(), f"{name} differs"


def is_sound(path):
    """Fails if other programs find a fault in a zip file. Returns its names."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert len(set(names)) == len(names), "a name stands twice"
        assert all(info.compress_type == zipfile.ZIP_STORED for info in archive.infolist())
        assert all(info.flag_bits & 8 == 0 for info in archive.infolist()), "a descriptor behind the data"
    for command in (["unzip", "-tqq", path], ["zipinfo", "-t", path]):
        if shutil.which(command[0]):
            ended = subprocess.run(command, capture_output=True, text=True)
            assert ended.returncode == 0, f"{command[0]}: {ended.stdout}{ended.stderr}"
    return names


def written_by_zarr_python(tally, zarrcast, _folder):
    for zarr_format, method in product((2, 3), METHODS):
        with tally.case("written by zarr-python", zarr_format, method) as folder:
            path, copy = folder / "a.zip", folder / "b.zarr"
            with ZipStore(path, mode="w", compression=method) as store:
                write_group(store, zarr_format)
            assert zarrcast.json("inspect", path)["node_type"] == "group"
            assert zarrcast.json("validate", "--level", "data", path)["valid"]
            zarrcast.ok("transcode", "--verify", path, copy)
            check(zarr.open_group(copy, mode="r"))
            zarrcast.ok("validate", path, "--against", copy)
            zarrcast.ok("inspect", "--stats", path, "--node", "inner/deep")


def written_here(tally, zarrcast, folder):
    changes = ([], ["--compress", "gzip:1", "--verify"], ["--rule", "plain: -c 10,7"], ["--zarr-format", "3"])
    for zarr_format in (2, 3):
        source = folder / f"{zarr_format}.zarr"
        write_group(source, zarr_format)
        for options, threads in product(changes, (1, 4)):
            with tally.case("written here", zarr_format, *options, threads) as place:
                path = place / "a.zip"
                for overwrite in ([], ["--overwrite"]):
                    zarrcast.ok("transcode", *overwrite, "--threads", threads, *options, source, path)
                names = is_sound(path)
                with ZipStore(path, mode="r") as store:
                    check(zarr.open_group(store, mode="r"))
                zarrcast.ok("transcode", path, place / "again.zarr")
                assert files(place / "again.zarr").keys() == set(names)


class Pipe(io.RawIOBase):
    """A file without `seek`: sizes follow the data."""

    def __init__(self):
        self.bytes = b""

    def writable(self):
        return True

    def write(self, piece):
        self.bytes += bytes(piece)
        return len(piece)


def made_otherwise(form, method, path, source):
    target = Pipe() if form == "descriptors" else path
    with zipfile.ZipFile(target, "w", compression=method) as archive:
        if form == "folders":
            for one in sorted(source.rglob("*")):
                archive.write(one, one.relative_to(source))
        for name, content in files(source).items() if form != "folders" else ():
            name = f"data.zarr/{name}" if form == "below a folder" else name
            with archive.open(name, "w", force_zip64=form == "zip64") as member:
                member.write(content)
        if form == "commented":
            archive.comment = b"PK\x05\x06" + b"x" * 5000
    if form == "descriptors":
        path.write_bytes(target.bytes)
    if form == "prefixed":
        path.write_bytes(b"#!/bin/sh\n" * 99 + path.read_bytes())


def forms_of_zip(tally, zarrcast, folder):
    """Zip files with descriptors, zip64, folders, comments, a folder or other bytes around all."""
    source = folder / "source.zarr"
    write_group(source, 3)
    forms = ("descriptors", "zip64", "folders", "commented", "below a folder", "prefixed")
    for form, method in product(forms, METHODS):
        with tally.case("form", form, method) as place:
            made_otherwise(form, method, place / "a.zip", source)
            zarrcast.ok("validate", "--level", "data", place / "a.zip")
            zarrcast.ok("transcode", place / "a.zip", place / "b.zarr")
            assert files(place / "b.zarr") == files(source)
    with tally.case("form", "zip in a zip"):
        made_otherwise("folders", zipfile.ZIP_DEFLATED, folder / "in.zip", source)
        with zipfile.ZipFile(folder / "out.zip", "w") as archive:
            archive.write(folder / "in.zip", "deep/in.zip")
            archive.writestr("readme", "text")
        zarrcast.ok("validate", "--level", "data", f"{folder}/out.zip|zip:deep/in.zip|zip:plain")


def more_members_than_16_bits(tally, zarrcast, folder):
    """66,000 chunks need a zip64 directory."""
    with tally.case("more than 65,535 members"):
        source, path = folder / "many.zarr", folder / "many.zip"
        zarr.create_array(source, shape=(66_000,), chunks=(1,), dtype="uint8", compressors=None, fill_value=0)
        (source / "c").mkdir()
        for index in range(66_000):
            (source / "c" / str(index)).write_bytes(bytes([index % 255 + 1]))
        zarrcast.ok("transcode", source, path)
        assert len(is_sound(path)) == 66_001
        zarrcast.ok("validate", "--level", "data", path, "--against", source)
        with ZipStore(path, mode="r") as store:
            found = zarr.open_array(store, mode="r")
            assert found.shape == (66_000,) and found[65_999] == 65_999 % 255 + 1


SECTIONS = [written_by_zarr_python, written_here, forms_of_zip, more_members_than_16_bits]
