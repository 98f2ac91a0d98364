#!/usr/bin/env python3
"""Stores behind a network, on real servers of others: S3 by moto and, where it is built, s3s-fs; a web server without ranges.

Each server is started on 127.0.0.1 and stopped at the end. zarr-python writes the stores, by obstore where that is S3.
Environment: moto[server], boto3, zarr, obstore, numpy. `S3S_FS` or the PATH names s3s-fs.
"""

import contextlib
import filecmp
import functools
import http.server
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import boto3
import numpy as np
import zarr
from botocore.config import Config
from obstore.store import S3Store
from program import FIXTURES, run_sections
from zarr.storage import ObjectStore

SECONDS_TO_ANSWER = 30
KEYS = {"AWS_ACCESS_KEY_ID": "reader", "AWS_SECRET_ACCESS_KEY": "hidden-secret", "AWS_REGION": "us-east-1"}
FIXTURE_NAMES = [
    "sea_surface_temperature",
    "zarr-python_3.1.6_sharded_index_end",
    "zarr-python_3.1.6_sharded_index_start",
    "zarr-python_3.1.6_missing_chunks_nan",
    "zarr-python_3.4.2_rectilinear",
    "zarr-python_3.4.2_group",
]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for(port, process):
    """Wait until a server answers; a server that ends or never does is an error."""
    for _ in range(SECONDS_TO_ANSWER * 10):
        assert process.poll() is None, f"the server ended with {process.returncode}"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise AssertionError("the server does not answer")


@contextlib.contextmanager
def served(command, port, **environment):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | environment)
    try:
        wait_for(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=20)


@contextlib.contextmanager
def moto(_):
    """An S3 that lists 50 keys at a time."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with served(command, port, MOTO_S3_DEFAULT_MAX_KEYS="50") as address:
        yield address


@contextlib.contextmanager
def s3s_fs(scratch):
    """An S3 over a folder."""
    port = free_port()
    folder = scratch / "s3s"
    folder.mkdir()
    command = [os.environ.get("S3S_FS") or shutil.which("s3s-fs"), "--host", "127.0.0.1", "--port", str(port)]
    command += ["--access-key", KEYS["AWS_ACCESS_KEY_ID"], "--secret-key", KEYS["AWS_SECRET_ACCESS_KEY"], folder]
    with served(command, port) as address:
        yield address


def servers():
    yield "moto", moto
    if os.environ.get("S3S_FS") or shutil.which("s3s-fs"):
        yield "s3s-fs", s3s_fs
    else:
        print("LEFT OUT: the tests with s3s-fs, which is neither in S3S_FS nor on the PATH", flush=True)


@contextlib.contextmanager
def environment(address):
    """What the program is told of the server."""
    known = KEYS | {"AWS_ENDPOINT_URL": address, "NO_PROXY": "127.0.0.1", "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    before = {name: os.environ.get(name) for name in known}
    os.environ.update(known)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)


def client(address):
    return boto3.client(
        "s3",
        endpoint_url=address,
        region_name=KEYS["AWS_REGION"],
        aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
        config=Config(s3={"addressing_style": "path"}, request_checksum_calculation="when_required"),
    )


def upload(s3, bucket, folder, prefix):
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file():
            s3.put_object(Bucket=bucket, Key=f"{prefix}/{path.relative_to(folder)}", Body=path.read_bytes())


def listed(s3, prefix):
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket="bucket", Prefix=prefix)
    return [found["Key"] for page in pages for found in page.get("Contents", [])]


def same_trees(one, other):
    files = [sorted(path.relative_to(root) for path in root.rglob("*") if path.is_file()) for root in (one, other)]
    assert files[0] == files[1], files
    assert all(filecmp.cmp(one / path, other / path, shallow=False) for path in files[0]), (one, other)


def commands_over(zarrcast, local, remote, scratch):
    """What every command makes of a store elsewhere is what it makes of the same store here."""
    here, there = (zarrcast.json("inspect", "--storage", "always", store) for store in (local, remote))
    for name in ("shape", "data_type", "codecs", "attributes", "storage", "chunk_shape"):
        assert here.get(name) == there.get(name), (name, here.get(name), there.get(name))
    for level in ("metadata", "keys", "index", "data"):
        found = [zarrcast.json("validate", "--level", level, store) for store in (local, remote)]
        assert found[0]["verdict"] == found[1]["verdict"] and found[0]["errors"] == found[1]["errors"], level
    zarrcast.ok("validate", remote, "--against", local)
    for number, options in enumerate(([], ["--compress", "zstd:1"])):
        copies = [scratch / f"{number}-{side}" for side in ("here", "there")]
        for store, copy in zip((local, remote), copies):
            zarrcast.ok("transcode", "--verify", *options, store, copy)
        same_trees(*copies)


def buckets(tally, zarrcast, scratch):
    """Fixtures, and a store that zarr-python writes there itself, in buckets."""
    for name, start in servers():
        place = scratch / name
        place.mkdir()
        with start(place) as address, environment(address):
            s3 = client(address)
            s3.create_bucket(Bucket="bucket")
            for fixture in FIXTURE_NAMES:
                with tally.case(name, fixture):
                    upload(s3, "bucket", FIXTURES / "valid" / fixture, f"data/{fixture}")
                    folder = place / fixture
                    folder.mkdir()
                    commands_over(zarrcast, FIXTURES / "valid" / fixture, f"s3://bucket/data/{fixture}", folder)
            with tally.case(name, "by zarr-python"):
                by_zarr_python(zarrcast, address, place)
            for fixture in FIXTURE_NAMES:
                with tally.case(name, fixture, "written"):
                    folder = place / f"{fixture}-written"
                    folder.mkdir()
                    written(zarrcast, FIXTURES / "valid" / fixture, f"s3://bucket/written/{fixture}", folder)
            with tally.case(name, "written, for zarr-python"):
                for_zarr_python(zarrcast, address)
            with tally.case(name, "a run that was killed goes on"):
                killed(zarrcast, s3, place)
            with tally.case(name, "names that are no plain paths"):
                odd_names(zarrcast, s3, place)
            with tally.case(name, "what is wrong is told, in time and without secrets"):
                refusals(zarrcast, address)


def by_zarr_python(zarrcast, address, place):
    """An array of 150 chunks, more than a page of the listing."""
    access = {"aws_access_key_id": KEYS["AWS_ACCESS_KEY_ID"], "aws_secret_access_key": KEYS["AWS_SECRET_ACCESS_KEY"]}
    store = S3Store("bucket", prefix="made", endpoint=address, region="us-east-1", client_options={"allow_http": True}, **access)
    values = np.arange(150 * 20, dtype="float32").reshape(150, 20)
    array = zarr.create_array(ObjectStore(store), shape=values.shape, chunks=(1, 20), dtype="float32", fill_value=np.nan)
    array[...] = values
    shown = zarrcast.json("inspect", "--storage", "always", "--stats", "s3://bucket/made")
    assert shown["storage"]["chunks_present"] == 150 and shown["stats"]["max"] == values.max(), shown["storage"]
    zarrcast.ok("transcode", "--verify", "--chunk-shape", "50,20", "s3://bucket/made", place / "rechunked")
    assert np.array_equal(zarr.open_array(place / "rechunked", mode="r")[...], values)


def written(zarrcast, local, remote, scratch):
    """What is written to a bucket is what is written here, also from bucket to bucket and in place of another."""
    for number, options in enumerate((["--compress", "none"], ["--compress", "zstd:1"])):
        here, back = scratch / f"{number}-here", scratch / f"{number}-back"
        zarrcast.ok("transcode", *options, local, here)
        zarrcast.ok("transcode", "--verify", *options, *(["--overwrite"] if number else []), local, remote)
        zarrcast.ok("validate", "--level", "data", remote)
        zarrcast.ok("transcode", remote, back)
        same_trees(here, back)
    message = zarrcast.status(3, "transcode", local, remote)
    assert "--overwrite" in message, message
    zarrcast.ok("transcode", "--verify", remote, f"{remote}-again")
    zarrcast.ok("transcode", f"{remote}-again", scratch / "again")
    same_trees(scratch / "1-here", scratch / "again")


def for_zarr_python(zarrcast, address):
    """A hierarchy that zarr-python reads by obstore, its shards larger than a part of a multipart upload among it."""
    access = {"aws_access_key_id": KEYS["AWS_ACCESS_KEY_ID"], "aws_secret_access_key": KEYS["AWS_SECRET_ACCESS_KEY"]}
    values = np.random.default_rng(1).random((512, 8192)).astype("float32")
    with TemporaryDirectory() as folder:
        source = zarr.create_array(f"{folder}/a", shape=values.shape, chunks=(64, 1024), dtype="float32", compressors=None)
        source[...] = values
        zarrcast.ok("transcode", "--verify", "--shard-shape", "512,8192", f"{folder}/a", "s3://bucket/large")
    store = S3Store("bucket", prefix="large", endpoint=address, region="us-east-1", client_options={"allow_http": True}, **access)
    assert np.array_equal(zarr.open_array(ObjectStore(store, read_only=True), mode="r")[...], values)


def killed(zarrcast, s3, place):
    """Nothing opens before it is whole; `--resume` gives the same objects as a run that nothing ended."""
    values = np.random.default_rng(2).random((400, 4096)).astype("float32")
    source = zarr.create_array(place / "source", shape=values.shape, chunks=(1, 4096), dtype="float32", compressors=None)
    source[...] = values
    command = ["transcode", "--compress", "zstd:1", "--requests", "2", place / "source", "s3://bucket/killed"]
    for seconds in (0.3, 0.6, 1.0):
        process = subprocess.Popen([zarrcast.path, *map(str, command), "--resume"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(seconds)
        process.kill()
        process.communicate()
        keys = listed(s3, "killed/")
        if process.returncode == 0:
            break
        # The document comes last: where it is, only the journal may be left to remove.
        chunks = [key for key in keys if key.startswith("killed/c/")]
        assert "killed/zarr.json" not in keys or len(chunks) == len(values), len(chunks)
    else:
        zarrcast.ok(*command, "--resume")
    zarrcast.ok("validate", "--level", "data", "s3://bucket/killed")
    zarrcast.ok("validate", "s3://bucket/killed", "--against", place / "source")
    zarrcast.ok("transcode", "--compress", "zstd:1", place / "source", place / "plain")
    zarrcast.ok("transcode", "s3://bucket/killed", place / "killed")
    same_trees(place / "plain", place / "killed")
    assert not listed(s3, "killed/.zarrcast"), "the journal is left"


def odd_names(zarrcast, s3, place):
    """Prefixes with a space, a bracket, an umlaut, a plus and a percent sign are taken as they are."""
    fixture = FIXTURES / "valid" / "zarr-python_3.1.6_zstd"
    for number, prefix in enumerate(["a b", "[x]", "ä+ö", "50%25", "é#1"]):
        upload(s3, "bucket", fixture, prefix)
        zarrcast.ok("transcode", f"s3://bucket/{prefix}", place / f"odd{number}")
        same_trees(fixture, place / f"odd{number}")


def refusals(zarrcast, address):
    for store, options, said in [
        ("s3://no-such-bucket/a", [], "no-such-bucket"),
        ("s3://bucket/data/nothing", [], "nothing"),
        ("s3://bucket/data/x", ["--storage-option", "aws_endpoint_url=http://127.0.0.1:9"], "refused"),
    ]:
        begun = time.monotonic()
        message = zarrcast.status(3, "inspect", store, *options)
        assert said in message, message
        assert time.monotonic() - begun < 16, message
        assert KEYS["AWS_SECRET_ACCESS_KEY"] not in message, message


class Quiet(http.server.SimpleHTTPRequestHandler):
    """The web server of Python: it knows no ranges, and its listings are pages for people."""

    def log_message(self, *_):
        pass


def web_server(tally, zarrcast, scratch):
    """A server that lists nothing and gives no ranges: keys come from the grid."""
    handler = functools.partial(Quiet, directory=str(FIXTURES / "valid"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        for fixture in FIXTURE_NAMES:
            with tally.case("web", fixture):
                address = f"http://127.0.0.1:{server.server_port}/{fixture}"
                if fixture.endswith("_group"):
                    message = zarrcast.status(3, "transcode", address, scratch / fixture)
                    assert "list" in message, message
                    continue
                zarrcast.ok("validate", "--level", "data", address)
                zarrcast.ok("validate", address, "--against", FIXTURES / "valid" / fixture)
                zarrcast.ok("transcode", "--verify", address, scratch / fixture)
                same_trees(FIXTURES / "valid" / fixture, scratch / fixture)
    finally:
        server.shutdown()
        server.server_close()


SECTIONS = [buckets, web_server]

if __name__ == "__main__":
    run_sections(__doc__.splitlines()[0], SECTIONS)
