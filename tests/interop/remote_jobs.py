"""Jobs of every kind between the local disk and each of the stores of remote_servers.py, or a web server.

zarr-python writes and reads their arrays with obstore. `tests/cli/remote` tests faulty answers and runs that end at
any request.
"""

import json
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from arrays import read, write
from program import FIXTURES, files, same_files
from remote_servers import BUCKET, CLOUDS, Web, cloud
from zarr.storage import ObjectStore

FIXTURE_NAMES = [
    "sea_surface_temperature", "zarr-python_3.1.6_sharded_index_end", "zarr-python_3.1.6_missing_chunks_nan",
    "zarr-python_3.4.2_rectilinear", "zarr-python_3.4.2_group",
]
# Names that paths, URLs and XML would change. Empty names are keys in object stores, but not file names.
ODD_NAMES = ["a b", "[x]", "[ä]", "ä+ö", "%41", "50%25", "é#1", "a&b<c>", "a?b=c", "it's", "~x!*()"]
DOTTED = {"chunk_key_encoding": {"name": "v2", "separator": "."}}
SECONDS_TO_END = 16


def url(cloud, key):
    return f"{cloud.scheme}://{BUCKET}/{key}"


def upload(cloud, folder, prefix):
    for path, content in files(folder).items():
        cloud.put(f"{prefix}/{path}", content)


def on_each(tally, names, place, function):
    """Runs a function for each kind of store in parallel, each on its own server."""

    def on(name):
        began = time.monotonic()
        with tally.case(name), cloud(name, place / name / "server") as found:
            function(found)
        print(f"{name}: {time.monotonic() - began:.1f} s", flush=True)

    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(on, names))


def clouds(tally, zarrcast, place):
    on_each(tally, CLOUDS, place, lambda found: every_job(tally, zarrcast.within(**found.environment), found))


def every_job(tally, zarrcast, cloud):
    jobs = [by_zarr_python, for_zarr_python, with_locks, killed, in_parts, interrupted_upload, odd_names, markers]
    fixtures = FIXTURE_NAMES
    if cloud.name == "s3rver":
        jobs, fixtures = [without_locks, for_zarr_python, killed], []
    for fixture in fixtures:
        local = FIXTURES / "valid" / fixture
        with tally.case(cloud.name, fixture) as folder:
            upload(cloud, local, f"data/{fixture}")
            commands_over(zarrcast, local, url(cloud, f"data/{fixture}"), folder)
        with tally.case(cloud.name, fixture, "written") as folder:
            written(zarrcast, local, url(cloud, f"written/{fixture}"), folder)
    for job in jobs:
        with tally.case(cloud.name, job.__name__) as folder:
            job(zarrcast, cloud, folder)
    if cloud.name != "s3rver":
        with tally.case(cloud.name, "nothing is left of uploads"):
            assert not cloud.uploads(), cloud.uploads()


def commands_over(zarrcast, local, remote, folder):
    """Every command has the same result for a remote store and for the same local store."""
    here, there = (zarrcast.json("inspect", "--storage", "always", store) for store in (local, remote))
    for name in ("shape", "data_type", "codecs", "attributes", "storage", "chunk_shape"):
        assert here.get(name) == there.get(name), (name, here.get(name), there.get(name))
    for level in ("metadata", "data"):
        found = [zarrcast.json("validate", "--level", level, store) for store in (local, remote)]
        assert found[0]["verdict"] == found[1]["verdict"] and found[0]["errors"] == found[1]["errors"], level
    zarrcast.ok("validate", remote, "--against", local)
    for number, options in enumerate(([], ["--compress", "zstd:1"])):
        copies = [folder / f"{number}-{side}" for side in ("here", "there")]
        for store, copy in zip((local, remote), copies):
            zarrcast.ok("transcode", "--verify", *options, store, copy)
        same_files(*copies)


def written(zarrcast, local, remote, folder):
    """A bucket gets the same files as a folder, also from bucket to bucket and instead of another array."""
    for number, options in enumerate((["--compress", "none"], ["--compress", "zstd:1"])):
        here, back = folder / f"{number}-here", folder / f"{number}-back"
        zarrcast.ok("transcode", *options, local, here)
        zarrcast.ok("transcode", "--verify", *options, *(["--overwrite"] if number else []), local, remote)
        zarrcast.ok("transcode", remote, back)
        same_files(here, back)
    message = zarrcast.status(3, "transcode", local, remote)
    assert "--overwrite" in message, message
    zarrcast.ok("transcode", "--verify", remote, f"{remote}-again")
    zarrcast.ok("transcode", f"{remote}-again", folder / "again")
    same_files(folder / "1-here", folder / "again")


def by_zarr_python(zarrcast, cloud, folder):
    """An array of 150 chunks, more than a page of the listing."""
    values = np.arange(150 * 20, dtype="float32").reshape(150, 20)
    write(ObjectStore(cloud.obstore("made")), values, chunks=(1, 20), fill_value=np.nan)
    shown = zarrcast.json("inspect", "--storage", "always", "--stats", url(cloud, "made"))
    assert shown["storage"]["chunks_present"] == 150 and shown["stats"]["max"] == values.max(), shown["storage"]
    zarrcast.ok("transcode", "--verify", "--chunk-shape", "50,20", url(cloud, "made"), folder / "rechunked")
    assert np.array_equal(read(folder / "rechunked"), values)


def for_zarr_python(zarrcast, cloud, folder):
    """zarr-python reads an array with obstore. Its shard is larger than a part of a multipart upload."""
    values = np.random.default_rng(1).random((512, 8192)).astype("float32")
    write(folder / "a", values, chunks=(64, 1024), compressors=None)
    zarrcast.ok("transcode", "--verify", "--shard-shape", "512,8192", folder / "a", url(cloud, "large"))
    assert np.array_equal(read(ObjectStore(cloud.obstore("large"), read_only=True)), values)


def without_locks(zarrcast, cloud, folder):
    """A server that ignores conditions provides no locks, which causes a warning. The result is still correct."""
    values = np.random.default_rng(3).random((40, 50)).astype("float32")
    write(folder / "a", values, chunks=(10, 10), **DOTTED)
    message = zarrcast.status(0, "transcode", "--verify", folder / "a", url(cloud, "dotted"))
    assert "locks" in message, message
    zarrcast.ok("transcode", "--overwrite", "--compress", "zstd:1", folder / "a", url(cloud, "dotted"))
    zarrcast.ok("validate", "--level", "data", url(cloud, "dotted"), "--against", folder / "a")
    assert np.array_equal(read(ObjectStore(cloud.obstore("dotted"))), values)


def with_locks(zarrcast, cloud, _):
    """A server that supports conditions lets a run lock its destination. No lock is left."""
    message = zarrcast.status(0, "transcode", FIXTURES / "valid" / "zarr-python_3.1.6_zstd", url(cloud, "locked"))
    assert "locks" not in message, message
    assert not [key for key in cloud.listed("locked/") if ".zarrcast" in key]


def killed(zarrcast, cloud, folder):
    """No incomplete array opens. `--resume` writes the same objects as an uninterrupted run."""
    values = np.random.default_rng(2).random((200, 4096)).astype("float32")
    write(folder / "source", values, chunks=(1, 4096), compressors=None, **DOTTED)
    remote = url(cloud, "killed")
    command = ["transcode", "--compress", "zstd:1", "--requests", "2", folder / "source", remote]
    for seconds in (0.2, 0.4):
        process = zarrcast.start(*command, "--resume")
        time.sleep(seconds)
        process.kill()
        process.communicate()
        keys = cloud.listed("killed/")
        # A run may be killed after it has finished.
        if process.returncode == 0 or ("killed/zarr.json" in keys and not any(".zarrcast" in key for key in keys)):
            break
        # The document is written last. If it exists, only the journal may be left to remove.
        chunks = [key for key in keys if key.endswith(".0")]
        assert "killed/zarr.json" not in keys or len(chunks) == len(values), len(chunks)
    else:
        zarrcast.ok(*command, "--resume")
    zarrcast.ok("validate", "--level", "data", remote, "--against", folder / "source")
    zarrcast.ok("transcode", "--compress", "zstd:1", folder / "source", folder / "plain")
    zarrcast.ok("transcode", remote, folder / "killed")
    same_files(folder / "plain", folder / "killed")
    left = [key for key in cloud.listed("killed/") if ".zarrcast" in key]
    assert not left, left


def in_parts(zarrcast, cloud, folder):
    """A job in parts writes the objects of a plain run. One part is killed and done again."""
    write(folder / "source", np.random.default_rng(6).random((60, 500)).astype("float32"), chunks=(1, 500))
    options, places = ["--quantize", "uint16"], [folder / "source", url(cloud, "parts")]
    planned = json.loads(zarrcast.ok("transcode", *options, "--init", "--partitions", 2, "--json", *places))
    for one in planned["passes"]:
        for number in range(one["partitions"]):
            command = ["transcode", "--partition", number, "--pass", one["name"], *places]
            process = zarrcast.start(*command)
            time.sleep(0.05)
            process.kill()
            process.communicate()
            zarrcast.ok(*command)
            assert "parts/zarr.json" not in cloud.listed("parts/"), "it opens before it is finished"
    zarrcast.ok("transcode", "--finish", *places)
    zarrcast.ok("transcode", *options, folder / "source", folder / "plain")
    zarrcast.ok("transcode", url(cloud, "parts"), folder / "back")
    same_files(folder / "back", folder / "plain")


def interrupted_upload(zarrcast, cloud, folder):
    """A run that is interrupted during the upload of a large shard removes the parts, and can be resumed."""
    values = np.random.default_rng(5).random((1, 9 << 20), dtype="float32")
    write(folder / "large", values, chunks=(1, 1 << 20), compressors=None)
    command = ["transcode", "--requests", "1", "--shard-shape", f"1,{9 << 20}", folder / "large", url(cloud, "upload")]
    process = zarrcast.start(*command)
    began = time.monotonic()
    # Blocks of Azure belong to no blob and are not listed.
    while process.poll() is None and not cloud.uploads() and not (cloud.scheme == "az" and time.monotonic() > began + 0.2):
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=SECONDS_TO_END)
    assert process.returncode in (0, 130), (process.returncode, message)
    if process.returncode:
        assert "--resume" in message or not cloud.listed("upload/"), message
        assert not cloud.uploads(), cloud.uploads()
        assert "upload/zarr.json" not in cloud.listed("upload/"), "what is not whole opens"
        zarrcast.ok(*command, "--resume")
    zarrcast.ok("validate", url(cloud, "upload"), "--against", folder / "large")


def odd_names(zarrcast, cloud, folder):
    """Names are used unchanged, on both sides."""
    fixture = FIXTURES / "valid" / "zarr-python_3.1.6_zstd"
    for number, name in enumerate(name for name in ODD_NAMES if name not in cloud.cannot_name):
        upload(cloud, fixture, f"odd/{name}/in")
        zarrcast.ok("transcode", url(cloud, f"odd/{name}/in"), folder / f"odd{number}")
        same_files(fixture, folder / f"odd{number}")
        zarrcast.ok("transcode", fixture, url(cloud, f"odd/{name}/out"))
        places = [f"odd/{name}/{side}/" for side in ("in", "out")]
        keys = [{key.removeprefix(place) for key in cloud.listed(place)} for place in places]
        assert keys[0] == keys[1] and keys[0], (name, keys)


def markers(zarrcast, cloud, _):
    """Folder markers are not part of the array. Keys with empty names are reported."""
    upload(cloud, FIXTURES / "valid" / "zarr-python_3.1.6_zstd", "marked")
    cloud.put("marked/c/", b"")
    zarrcast.ok("validate", "--deny", "warnings", url(cloud, "marked"))
    if "a//b" not in cloud.cannot_name:
        cloud.put("marked/c//x", b"x")
        found = zarrcast.run("validate", url(cloud, "marked")).stdout
        assert "c//" in found, found


def web_server(tally, zarrcast, _place):
    """A server without listings and ranges: keys are computed from the grid."""
    with Web() as server:
        for fixture in FIXTURE_NAMES:
            with tally.case("web", fixture) as folder:
                address = f"{server.address}/{fixture}"
                if fixture.endswith("_group"):
                    message = zarrcast.status(3, "transcode", address, folder / "b")
                    assert "list" in message, message
                    continue
                zarrcast.ok("validate", "--level", "data", address, "--against", FIXTURES / "valid" / fixture)
                zarrcast.ok("transcode", "--verify", address, folder / "b")
                same_files(FIXTURES / "valid" / fixture, folder / "b")


SECTIONS = [clouds, web_server]
