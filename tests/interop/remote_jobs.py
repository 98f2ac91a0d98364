"""Jobs of every kind between a store and the local disk, the same for all kinds of stores."""

import contextlib
import filecmp
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import zarr
from program import FIXTURES
from remote_servers import BUCKET
from zarr.storage import ObjectStore

FIXTURE_NAMES = [
    "sea_surface_temperature",
    "zarr-python_3.1.6_sharded_index_end",
    "zarr-python_3.1.6_sharded_index_start",
    "zarr-python_3.1.6_missing_chunks_nan",
    "zarr-python_3.4.2_rectilinear",
    "zarr-python_3.4.2_group",
]
# Names that paths, URLs and XML would change. Empty names are keys of object stores, too, but of no file.
ODD_NAMES = ["a b", "[x]", "[ä]", "ä+ö", "%41", "50%25", "é#1", "a&b<c>", "a?b=c", "it's", "~x!*()"]


def url(cloud, key):
    return f"{cloud.scheme}://{BUCKET}/{key}"


def upload(cloud, folder, prefix):
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file():
            cloud.put(f"{prefix}/{path.relative_to(folder)}", path.read_bytes())


def same_trees(one, other):
    files = [sorted(path.relative_to(root) for path in root.rglob("*") if path.is_file()) for root in (one, other)]
    assert files[0] == files[1], files
    assert all(filecmp.cmp(one / path, other / path, shallow=False) for path in files[0]), (one, other)


@contextlib.contextmanager
def folder_below(place):
    with TemporaryDirectory(dir=place) as folder:
        yield Path(folder)


def every_job(tally, zarrcast, cloud, place):
    """All jobs on one store, which holds nothing before."""
    zarrcast = zarrcast.within(**cloud.environment)
    if cloud.name == "s3rver":
        these_jobs(tally, zarrcast, cloud, place, [without_locks, for_zarr_python, killed])
        return
    for fixture in FIXTURE_NAMES:
        local = FIXTURES / "valid" / fixture
        with tally.case(cloud.name, fixture), folder_below(place) as folder:
            upload(cloud, local, f"data/{fixture}")
            commands_over(zarrcast, local, url(cloud, f"data/{fixture}"), folder)
        with tally.case(cloud.name, fixture, "written"), folder_below(place) as folder:
            written(zarrcast, local, url(cloud, f"written/{fixture}"), folder)
    these_jobs(tally, zarrcast, cloud, place, [by_zarr_python, for_zarr_python, with_locks, killed, odd_names, markers])
    with tally.case(cloud.name, "nothing is left of uploads"):
        assert not cloud.uploads(), cloud.uploads()


def these_jobs(tally, zarrcast, cloud, place, jobs):
    for job in jobs:
        with tally.case(cloud.name, job.__name__), folder_below(place) as folder:
            job(zarrcast, cloud, folder)


def commands_over(zarrcast, local, remote, folder):
    """What every command makes of a store elsewhere is what it makes of the same store here."""
    here, there = (zarrcast.json("inspect", "--storage", "always", store) for store in (local, remote))
    for name in ("shape", "data_type", "codecs", "attributes", "storage", "chunk_shape"):
        assert here.get(name) == there.get(name), (name, here.get(name), there.get(name))
    for level in ("metadata", "keys", "index", "data"):
        found = [zarrcast.json("validate", "--level", level, store) for store in (local, remote)]
        assert found[0]["verdict"] == found[1]["verdict"] and found[0]["errors"] == found[1]["errors"], level
    zarrcast.ok("validate", remote, "--against", local)
    for number, options in enumerate(([], ["--compress", "zstd:1"])):
        copies = [folder / f"{number}-{side}" for side in ("here", "there")]
        for store, copy in zip((local, remote), copies):
            zarrcast.ok("transcode", "--verify", *options, store, copy)
        same_trees(*copies)


def written(zarrcast, local, remote, folder):
    """What is written to a bucket is what is written here, also from bucket to bucket and in place of another."""
    for number, options in enumerate((["--compress", "none"], ["--compress", "zstd:1"])):
        here, back = folder / f"{number}-here", folder / f"{number}-back"
        zarrcast.ok("transcode", *options, local, here)
        zarrcast.ok("transcode", "--verify", *options, *(["--overwrite"] if number else []), local, remote)
        zarrcast.ok("validate", "--level", "data", remote)
        zarrcast.ok("transcode", remote, back)
        same_trees(here, back)
    message = zarrcast.status(3, "transcode", local, remote)
    assert "--overwrite" in message, message
    zarrcast.ok("transcode", "--verify", remote, f"{remote}-again")
    zarrcast.ok("transcode", f"{remote}-again", folder / "again")
    same_trees(folder / "1-here", folder / "again")


def by_zarr_python(zarrcast, cloud, folder):
    """An array of 150 chunks, more than a page of the listing."""
    values = np.arange(150 * 20, dtype="float32").reshape(150, 20)
    store = ObjectStore(cloud.obstore("made"))
    array = zarr.create_array(store, shape=values.shape, chunks=(1, 20), dtype="float32", fill_value=np.nan)
    array[...] = values
    shown = zarrcast.json("inspect", "--storage", "always", "--stats", url(cloud, "made"))
    assert shown["storage"]["chunks_present"] == 150 and shown["stats"]["max"] == values.max(), shown["storage"]
    zarrcast.ok("transcode", "--verify", "--chunk-shape", "50,20", url(cloud, "made"), folder / "rechunked")
    assert np.array_equal(zarr.open_array(folder / "rechunked", mode="r")[...], values)


def for_zarr_python(zarrcast, cloud, folder):
    """An array that zarr-python reads by obstore, its shard larger than a part of an upload in parts."""
    values = np.random.default_rng(1).random((512, 8192)).astype("float32")
    source = zarr.create_array(folder / "a", shape=values.shape, chunks=(64, 1024), dtype="float32", compressors=None)
    source[...] = values
    zarrcast.ok("transcode", "--verify", "--shard-shape", "512,8192", folder / "a", url(cloud, "large"))
    store = ObjectStore(cloud.obstore("large"), read_only=True)
    assert np.array_equal(zarr.open_array(store, mode="r")[...], values)


def dotted(store, **options):
    """An array without folders."""
    return zarr.create_array(store, chunk_key_encoding={"name": "v2", "separator": "."}, **options)


def without_locks(zarrcast, cloud, folder):
    """Where conditions are not kept, nothing locks, and that is said; what is written is right nonetheless."""
    values = np.random.default_rng(3).random((40, 50)).astype("float32")
    dotted(folder / "a", shape=values.shape, chunks=(10, 10), dtype="float32")[...] = values
    process = zarrcast.run("transcode", "--verify", folder / "a", url(cloud, "dotted"))
    assert process.returncode == 0 and "locks" in process.stderr, process.stderr
    zarrcast.ok("transcode", "--overwrite", "--compress", "zstd:1", folder / "a", url(cloud, "dotted"))
    zarrcast.ok("validate", "--level", "data", url(cloud, "dotted"), "--against", folder / "a")
    assert np.array_equal(zarr.open_array(ObjectStore(cloud.obstore("dotted")), mode="r")[...], values)


def with_locks(zarrcast, cloud, _):
    """Where conditions are kept, a run locks what it writes, and leaves no lock."""
    process = zarrcast.run("transcode", FIXTURES / "valid" / "zarr-python_3.1.6_zstd", url(cloud, "locked"))
    assert process.returncode == 0 and "locks" not in process.stderr, process.stderr
    assert not [key for key in cloud.listed("locked/") if ".zarrcast" in key]


def killed(zarrcast, cloud, folder):
    """Nothing opens before it is whole; `--resume` gives the same objects as a run that nothing ended."""
    values = np.random.default_rng(2).random((400, 4096)).astype("float32")
    source = dotted(folder / "source", shape=values.shape, chunks=(1, 4096), dtype="float32", compressors=None)
    source[...] = values
    remote = url(cloud, "killed")
    command = ["transcode", "--compress", "zstd:1", "--requests", "2", folder / "source", remote]
    for seconds in (0.2, 0.4, 0.6):
        process = subprocess.Popen(
            [zarrcast.path, *map(str, command), "--resume"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=zarrcast.environment
        )
        time.sleep(seconds)
        process.kill()
        process.communicate()
        keys = cloud.listed("killed/")
        if process.returncode == 0:
            break
        # The document comes last: where it is, only the journal may be left to remove.
        chunks = [key for key in keys if key.endswith(".0")]
        assert "killed/zarr.json" not in keys or len(chunks) == len(values), len(chunks)
    else:
        zarrcast.ok(*command, "--resume")
    zarrcast.ok("validate", "--level", "data", remote, "--against", folder / "source")
    zarrcast.ok("transcode", "--compress", "zstd:1", folder / "source", folder / "plain")
    zarrcast.ok("transcode", remote, folder / "killed")
    same_trees(folder / "plain", folder / "killed")
    left = [key for key in cloud.listed("killed/") if ".zarrcast" in key]
    assert not left, left


def odd_names(zarrcast, cloud, folder):
    """Names are taken as they are, on both sides."""
    fixture = FIXTURES / "valid" / "zarr-python_3.1.6_zstd"
    for number, name in enumerate(ODD_NAMES):
        if name in cloud.cannot_name:
            continue
        upload(cloud, fixture, f"odd/{name}/in")
        zarrcast.ok("transcode", url(cloud, f"odd/{name}/in"), folder / f"odd{number}")
        same_trees(fixture, folder / f"odd{number}")
        zarrcast.ok("transcode", fixture, url(cloud, f"odd/{name}/out"))
        keys = [
            {key.removeprefix(f"odd/{name}/{side}/") for key in cloud.listed(f"odd/{name}/{side}/")} for side in ("in", "out")
        ]
        assert keys[0] == keys[1] and keys[0], (name, keys)
    message = zarrcast.status(2, "transcode", url(cloud, "odd/a//b"), folder / "empty")
    assert "a key has no name that is empty" in message, message


def markers(zarrcast, cloud, _):
    """Objects that stand for folders are none of the array's; keys that are no names are seen."""
    upload(cloud, FIXTURES / "valid" / "zarr-python_3.1.6_zstd", "marked")
    cloud.put("marked/c/", b"")
    zarrcast.ok("validate", "--deny", "warnings", url(cloud, "marked"))
    if "a//b" not in cloud.cannot_name:
        cloud.put("marked/c//x", b"x")
        found = zarrcast.run("validate", url(cloud, "marked")).stdout
        assert "c//" in found, found
