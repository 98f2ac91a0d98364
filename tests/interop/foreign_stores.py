"""Stores published by other projects: zarr-python must read the same from every conversion as from SOURCE.

They are in ARCHIVE or `$ZARRCAST_FOREIGN_STORES`. Without them the tests are skipped with a message.
"""

import fnmatch
import json
import multiprocessing
import os
import shutil
import sys
import tarfile
import warnings
from pathlib import Path

import numpy as np
import zarr
from arrays import lengths
from program import Zarrcast

ROOT = Path(__file__).resolve().parents[2]
ARCHIVE = ROOT / "../shared/foreign/fetched.tar.xz"
DOCUMENTS = ("zarr.json", ".zarray", ".zgroup")
MAX_ELEMENTS = 1 << 24
WORKERS = 2

# Cases where zarrcast differs from zarr-python, each with the reason: `STORE CASE`, with wildcards.
NESTED = "shards inside shards have no single inner chunk shape: the program asks for the whole chain"
DAMAGED = "a document of one of its nodes is damaged: the program writes a hierarchy whole or not at all"
KNOWN = {
    "SciTools+ncdata/*/example_field_0.zarr3 *": DAMAGED,
    "dbaston+gdal/*/nested_sharding.zarr chunks of *": NESTED,
    "dbaston+gdal/*/nested_sharding.zarr shards of *": NESTED,
    "google+neuroglancer/*/zarr_v3/from_zarrita/data.zarr *": "the fill value 0 of a bool, which v3 writes as false",
    "haileyajohnson+netcdf-java/*/zarr_invalid_data.zarr *": DAMAGED,
    "imaging-formats+yaozarrs/tests/data/broken/broken_v05.ome.zarr *": DAMAGED,
    "zarrs+zarrs/*/str_v2_fv_0.zarr *": "the fill value 0 of text, which zarr-python 3 reads as \"0\" and every other as no text",
    "manzt+zarrita.js/fixtures/v2/data.zarr v3*": "objects in JSON (`json2`) have no data type in v3",
}


def nodes_of(folder):
    """Yields each folder below `folder` with a Zarr document, and its file names."""
    for path, folders, files in os.walk(folder):
        folders.sort()
        if any(name in files for name in (*DOCUMENTS, ".zarray")):
            yield Path(path), files, folders


def stores(folder):
    for path, _, folders in nodes_of(folder):
        folders.clear()
        yield path


def arrays_of(store):
    for path, files, folders in nodes_of(store):
        try:
            is_array = json.loads((path / "zarr.json").read_text()).get("node_type") == "array" if "zarr.json" in files else None
        except (ValueError, AttributeError):
            continue
        if is_array or (is_array is None and ".zarray" in files):
            folders.clear()
            yield os.path.relpath(path, store), 3 if is_array else 2


class Array:
    def __init__(self, path, zarr_format):
        array = zarr.open_array(str(path), mode="r", zarr_format=zarr_format)
        if array.size > MAX_ELEMENTS:
            raise MemoryError(f"{array.size} elements")
        self.values, self.attributes, self.chunks = np.asarray(array[...]), dict(array.attrs), array.chunks
        # zarr-python reports no shards if other codecs follow.
        self.is_sharded = zarr_format == 3 and "sharding_indexed" in (Path(path) / "zarr.json").read_text()
        names = getattr(array.metadata, "dimension_names", None)
        if zarr_format == 2:
            names = self.attributes.get("_ARRAY_DIMENSIONS")
            is_named = isinstance(names, list) and len(names) == array.ndim
            names = names if is_named and all(isinstance(name, str) for name in names) else None
        is_unnamed = names is None or (len(names) > 0 and all(name is None for name in names))
        self.names = None if is_unnamed else list(names)


def reading(path, zarr_format):
    try:
        return Array(path, zarr_format)
    except Exception:
        return None


def same_values(found, expected):
    assert found.shape == expected.shape, f"shape {found.shape}, not {expected.shape}"
    if expected.dtype.kind in "OTUS":
        assert found.astype(object).tolist() == expected.astype(object).tolist(), "text differs"
        return
    found, expected = (array.astype(array.dtype.newbyteorder("=")) for array in (found, expected))
    assert found.dtype == expected.dtype, f"data type {found.dtype}, not {expected.dtype}"
    if found.dtype.kind in "fc":
        differing = ~((found == expected) | ((found != found) & (expected != expected)))
        assert not differing.any(), f"{int(differing.sum())} of {found.size} elements differ"
    else:
        assert found.tobytes() == expected.tobytes(), "elements differ"


def same_description(found, expected, is_converted):
    """Fails unless attributes and dimension names are equal. Some attributes are elsewhere in the other format."""
    left_out = {"_ARRAY_DIMENSIONS", "_FillValue"} if is_converted and expected.names is not None else set()
    own, other = ({name: array.attributes[name] for name in array.attributes if name not in left_out} for array in (found, expected))
    if is_converted:
        own = {name: value for name, value in own.items() if not name.upper().startswith("_NCZARR_") or name in other}
    # As text, so that NaN equals itself.
    assert json.dumps(own, sort_keys=True) == json.dumps(other, sort_keys=True), f"attributes {own}, not {other}"
    assert (found.names or None) == (expected.names or None), f"dimension names {found.names}, not {expected.names}"


class Check:
    """Checks one store. `results` contains each case with its fault, or None."""

    def __init__(self, program, store, name, folder):
        self.zarrcast, self.store, self.name, self.folder = Zarrcast(program), store, name, folder
        self.results = []

    def run(self):
        warnings.simplefilter("ignore")
        formats = dict(arrays_of(self.store))
        self.readings = {path: (reading(self.store / path, version), version) for path, version in formats.items()}
        self.case("inspect", self.reads, "inspect")
        self.case("validate", self.reads, "validate", "--level", "data")
        self.case("copy", self.transcodes)
        self.case("compress", self.transcodes, "--compress", "zstd:3")
        if 2 in formats.values():
            self.case("v3", self.transcodes, "--zarr-format", "3")
            self.case("v3 compress", self.transcodes, "--zarr-format", "3", "--compress", "zstd:3")
        for path, (array, _) in list(self.readings.items())[:2]:
            if array is not None and array.chunks and array.values.size:
                chunks, shards = (lengths(map(of, array.chunks)) for of in (lambda n: max(1, n // 2 + 1), lambda n: 2 * n))
                unsharded = ["--shard-shape", "none"] if array.is_sharded else []
                self.case(f"chunks of {path}", self.transcodes, "--chunk-shape", chunks, *unsharded, path=path)
                self.case(f"shards of {path}", self.transcodes, "--zarr-format", "3", "--shard-shape", shards, path=path)
        return self.name, self.results

    def case(self, name, function, *arguments, **more):
        try:
            function(*arguments, **more)
            self.results.append((name, None))
        except Exception as error:
            self.results.append((name, str(error) or type(error).__name__))

    def reads(self, *command):
        process = self.zarrcast.run(*command, "--json", self.store)
        if process.stdout:
            json.loads(process.stdout, parse_constant=lambda word: sys.exit(f"{word} in JSON"))
        else:
            assert process.returncode and process.stderr.strip(), "neither a result nor a message"

    def transcodes(self, *options, path=None):
        """Transcodes the whole store, or one array of it. A store that zarr-python cannot read may be refused."""
        shutil.rmtree(self.folder, ignore_errors=True)
        process = self.zarrcast.run("transcode", *options, self.store / (path or ""), self.folder)
        if process.returncode:
            assert not any((self.folder / name).exists() for name in DOCUMENTS), "a failure leaves what opens"
            is_readable = any(array is not None for array, _ in self.readings.values())
            assert not is_readable and process.stderr.strip(), process.stderr.strip() or "a failure without a message"
            return
        for name, (expected, source_format) in {path: self.readings[path]}.items() if path else self.readings.items():
            if expected is None:
                continue
            zarr_format = 3 if "--zarr-format" in options else source_format
            try:
                found = Array(self.folder if path else self.folder / name, zarr_format)
            except Exception as error:
                raise AssertionError(f"zarr-python does not read {name}: {type(error).__name__}: {error}") from error
            try:
                same_values(found.values, expected.values)
                same_description(found, expected, zarr_format != source_format)
            except AssertionError as error:
                raise AssertionError(f"{name}: {error}") from error


def foreign_stores(tally, zarrcast, folder):
    archive = Path(os.environ.get("ZARRCAST_FOREIGN_STORES", ARCHIVE))
    if not archive.exists():
        banner = f"##  LEFT OUT: stores that other projects publish: there is no {archive}  ##"
        for stream in (sys.stdout, sys.stderr):
            print("#" * len(banner), banner, "#" * len(banner), sep="\n", file=stream, flush=True)
        return
    source, known = folder / "stores", 0
    with tarfile.open(archive) as tar:
        tar.extractall(source, filter="data")
    named = [(store, str(store.relative_to(source))) for store in stores(source)]
    jobs = [Check(zarrcast.path, store, name, folder / f"out-{index}") for index, (store, name) in enumerate(named)]
    with multiprocessing.get_context("spawn").Pool(WORKERS) as pool:
        for name, results in pool.imap_unordered(Check.run, jobs, chunksize=4):
            for case, fault in results:
                if fault is not None and any(fnmatch.fnmatchcase(f"{name} {case}", pattern) for pattern in KNOWN):
                    known += 1
                    continue
                with tally.case(name, case):
                    assert fault is None, fault
    print(f"{len(jobs)} stores, {known} known exceptions", flush=True)


SECTIONS = [foreign_stores]
