#!/usr/bin/env python3
"""Zip files of zarr-python, zipfile and unzip, read and written by `zarrcast`.

Environment: Python 3.12 or later, zarr>=3.4, numpy; `unzip` where it is on the PATH.
"""

import io
import shutil
import subprocess
import zipfile

import numpy as np
import zarr
from program import run_sections
from zarr.storage import ZipStore

METHODS = [
    getattr(zipfile, name) for name in ("ZIP_STORED", "ZIP_DEFLATED", "ZIP_ZSTANDARD") if hasattr(zipfile, name)
]


def values(seed, shape=(37, 21)):
    """Elements with a part that is the fill value."""
    elements = np.random.default_rng(seed).normal(size=shape).astype("float32")
    elements[:9] = 0
    return elements


def write(store, zarr_format):
    """A group with arrays in chunks, in shards, and below a group of its own."""
    group = zarr.create_group(store, zarr_format=zarr_format, attributes={"title": "zip"})
    plain = group.create_array("plain", shape=(37, 21), chunks=(8, 8), dtype="float32")
    plain[...] = values(1)
    inner = group.create_group("inner").create_array("deep", shape=(37, 21), chunks=(37, 21), dtype="float32")
    inner[...] = values(2)
    if zarr_format == 3:
        sharded = group.create_array("sharded", shape=(37, 21), chunks=(4, 4), shards=(16, 12), dtype="float32")
        sharded[...] = values(3)


def check(group):
    """Every array of `write`, whoever wrote it last."""
    assert group.attrs["title"] == "zip"
    for path, seed in (("plain", 1), ("inner/deep", 2), ("sharded", 3)):
        if path in group:
            found = np.asarray(group[path][...])
            assert found.tobytes() == values(seed).tobytes(), f"{path} differs"
    assert "plain" in group and "inner/deep" in group


def is_sound(path):
    """What other programs say of a zip file."""
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


def packed(folder, method, to, top=""):
    """The files of a folder as zipfile packs them."""
    with zipfile.ZipFile(to, "w", compression=method) as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, f"{top}{path.relative_to(folder)}")


def written_by_zarr_python(tally, zarrcast, folder):
    """Zip files of zarr-python: read by every command."""
    for zarr_format in (2, 3):
        for method in METHODS:
            path = folder / f"{zarr_format}-{method}.zip"
            with tally.case("written by zarr-python", zarr_format, method):
                with ZipStore(path, mode="w", compression=method) as store:
                    write(store, zarr_format)
                assert zarrcast.json("inspect", path)["node_type"] == "group"
                assert zarrcast.json("validate", "--level", "data", path)["valid"]
                copy = folder / f"{zarr_format}-{method}.zarr"
                zarrcast.ok("transcode", "--verify", path, copy)
                check(zarr.open_group(copy, mode="r"))
                zarrcast.ok("validate", path, "--against", copy)
                zarrcast.ok("inspect", "--stats", path, "--node", "inner/deep")


def written_here(tally, zarrcast, folder):
    """Zip files that are written: read by zarr-python, and sound to others."""
    for zarr_format in (2, 3):
        source = folder / f"{zarr_format}.zarr"
        write(source, zarr_format)
        for number, options in enumerate(
            ([], ["--compress", "gzip:1", "--verify"], ["--rule", "plain: -c 10,7"], ["--zarr-format", "3"])
        ):
            path = folder / f"{zarr_format}-{number}.zip"
            for threads in (1, 4):
                with tally.case("written here", zarr_format, *options, threads):
                    zarrcast.ok("transcode", "--overwrite", "--threads", threads, *options, source, path)
                    names = is_sound(path)
                    with ZipStore(path, mode="r") as store:
                        check(zarr.open_group(store, mode="r"))
                    again = folder / f"{zarr_format}-{number}-{threads}.zarr"
                    zarrcast.ok("transcode", path, again)
                    files = sorted(str(p.relative_to(again)) for p in again.rglob("*") if p.is_file())
                    assert files == sorted(names)


def forms_of_zip(tally, zarrcast, folder):
    """Zip files as other writers make them: with descriptors, zip64, folders, comments, a folder around all."""
    source = folder / "source.zarr"
    write(source, 3)
    files = {str(p.relative_to(source)): p.read_bytes() for p in source.rglob("*") if p.is_file()}

    class Pipe(io.RawIOBase):
        """What cannot be sought in: sizes follow the data."""

        def __init__(self):
            self.bytes = b""

        def writable(self):
            return True

        def write(self, piece):
            self.bytes += bytes(piece)
            return len(piece)

    def descriptors(path, method):
        pipe = Pipe()
        with zipfile.ZipFile(pipe, "w", compression=method) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        path.write_bytes(pipe.bytes)

    def zip64(path, method):
        with zipfile.ZipFile(path, "w", compression=method) as archive:
            for name, content in files.items():
                with archive.open(name, "w", force_zip64=True) as member:
                    member.write(content)

    def commented(path, method):
        packed(source, method, path)
        with zipfile.ZipFile(path, "a") as archive:
            archive.comment = b"PK\x05\x06" + b"x" * 5000

    def with_folder(path, method):
        packed(source, method, path, "data.zarr/")

    def prefixed(path, method):
        packed(source, method, path)
        path.write_bytes(b"#!/bin/sh\n" * 99 + path.read_bytes())

    def appended(path, method):
        with zipfile.ZipFile(path, "w", compression=method) as archive:
            for name, content in list(files.items())[:3]:
                archive.writestr(name, content)
        with zipfile.ZipFile(path, "a", compression=method) as archive:
            for name, content in list(files.items())[3:]:
                archive.writestr(name, content)

    for form in (descriptors, zip64, commented, with_folder, prefixed, appended):
        for method in METHODS:
            path = folder / f"{form.__name__}-{method}.zip"
            with tally.case("form", form.__name__, method):
                form(path, method)
                zarrcast.ok("validate", "--level", "data", path)
                copy = folder / f"{form.__name__}-{method}.zarr"
                zarrcast.ok("transcode", path, copy)
                assert {str(p.relative_to(copy)): p.read_bytes() for p in copy.rglob("*") if p.is_file()} == files
    with tally.case("form", "zip in a zip"):
        packed(source, zipfile.ZIP_DEFLATED, folder / "in.zip")
        with zipfile.ZipFile(folder / "out.zip", "w") as archive:
            archive.write(folder / "in.zip", "deep/in.zip")
            archive.writestr("readme", "text")
        zarrcast.ok("validate", "--level", "data", f"{folder}/out.zip|zip:deep/in.zip|zip:plain")


def more_members_than_16_bits(tally, zarrcast, folder):
    """66,000 chunks: the directory is zip64's."""
    with tally.case("more than 65,535 members"):
        source, path = folder / "many.zarr", folder / "many.zip"
        array = zarr.create_array(source, shape=(66_000,), chunks=(1,), dtype="uint8", compressors=None, fill_value=0)
        for index in range(66_000):
            chunk = source / "c" / str(index)
            chunk.parent.mkdir(exist_ok=True)
            chunk.write_bytes(bytes([index % 255 + 1]))
        zarrcast.ok("transcode", source, path)
        assert len(is_sound(path)) == 66_001
        zarrcast.ok("validate", "--level", "data", path, "--against", source)
        with ZipStore(path, mode="r") as store:
            found = zarr.open_array(store, mode="r")
            assert found.shape == array.shape and found[65_999] == 65_999 % 255 + 1


SECTIONS = [written_by_zarr_python, written_here, forms_of_zip, more_members_than_16_bits]

if __name__ == "__main__":
    run_sections(__doc__.splitlines()[0], SECTIONS)
