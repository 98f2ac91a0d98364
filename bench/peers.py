#!/usr/bin/env python3
"""Time zarrcast beside zarr-python, tensorstore and zarrs_tools: `peers.py PROGRAM [--mebibytes 512] [--rounds 5]`.

`--own` times what no peer supports, compared with the nearest job without it: differences (`--predict`) with none, and
another form of a packing (`--as`) with a copy.

Each job is a separate process. Sources and results are in memory (/dev/shm) if it exists. The jobs of one round follow
each other, so that all run under the same load. Prints a table of median seconds, and the bytes written.

Needs Python 3.11 with `pip install zarr==3.1.6 tensorstore numpy`. A tool that is not installed has no column.
zarrs_tools (`cargo install zarrs_tools`) must be on the PATH.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

CHUNK = 128
ZSTD = '[{"name":"zstd","configuration":{"level":5,"checksum":false}}]'
SCALE, OFFSET = 4.0, 240.0
FIXED_SCALE_OFFSET = json.dumps(
    [{"name": "numcodecs.fixedscaleoffset", "configuration": {"offset": OFFSET, "scale": SCALE, "dtype": "f4", "astype": "u1"}}]
)


def make_source(path, mebibytes):
    """Writes smooth temperatures with noise, as float32 in chunks of 8 MiB, compressed with zstd at level 1."""
    import zarr
    from zarr.codecs import BytesCodec, ZstdCodec

    side = 2 * CHUNK
    length = max(CHUNK, mebibytes * (1 << 20) // (4 * side * side) // CHUNK * CHUNK)
    array = zarr.create_array(
        path,
        shape=(length, side, side),
        chunks=(CHUNK, CHUNK, CHUNK),
        dtype="float32",
        serializer=BytesCodec(),
        compressors=[ZstdCodec(level=1)],
        dimension_names=["time", "y", "x"],
    )
    random = np.random.default_rng(1)
    y, x = np.mgrid[0:side, 0:side] / side
    for first in range(0, length, CHUNK):
        steps = np.arange(first, first + CHUNK)[:, None, None] / 40
        field = 270 + 20 * np.sin(3 * y + steps) * np.cos(2 * x - steps / 3)
        array[first : first + CHUNK] = (field + 0.1 * random.standard_normal(field.shape)).astype("float32")


def by_zarr_python(job, source, result):
    import zarr
    from zarr.codecs import ZstdCodec

    array = zarr.open_array(source, mode="r")
    chunks = (array.shape[0], 16, 16) if job == "rechunk" else array.chunks
    dtype = "uint8" if job == "quantise" else "float32"
    options = {"chunks": chunks, "dtype": dtype, "compressors": [ZstdCodec(level=5)]}
    written = zarr.create_array(result, shape=array.shape, **options)
    step = CHUNK if job != "rechunk" else array.shape[0]
    for first in range(0, array.shape[0], step):
        values = array[first : first + step]
        written[first : first + step] = codes(values) if job == "quantise" else values


def codes(values):
    return np.rint((values - np.float32(OFFSET)) * np.float32(SCALE)).astype("uint8")


def by_tensorstore(job, source, result):
    import tensorstore as ts

    def spec(path):
        return {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{path}/"}}

    array = ts.open(spec(source)).result()
    chunks = [array.shape[0], 16, 16] if job == "rechunk" else [CHUNK] * 3
    metadata = {
        "shape": list(array.shape),
        "data_type": "uint8" if job == "quantise" else "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "codecs": [{"name": "bytes"}, {"name": "zstd", "configuration": {"level": 5}}],
    }
    written = ts.open({**spec(result), "metadata": metadata, "create": True}).result()
    if job != "quantise":
        written.write(array).result()
        return
    for first in range(0, array.shape[0], CHUNK):
        part = slice(first, first + CHUNK)
        written[part].write(codes(array[part].read().result())).result()


PEERS = {"zarr-python": by_zarr_python, "tensorstore": by_tensorstore}


def commands(job, program, source, result, length):
    """Returns the command of each tool for a job. `length` is that of the first axis."""
    ours = [program, "transcode", "--quiet", "--compress", "zstd:5"]
    by_job = {
        "quantise": ["--quantize", "uint8", "--scale", SCALE, "--offset", OFFSET],
        "recompress": [],
        "rechunk": ["--chunk-shape", "0,16,16"],
    }
    found = {"zarrcast": [*ours, *by_job[job], source, result]}
    for peer in PEERS:
        found[peer] = [sys.executable, __file__, "--run", peer, job, source, result]
    if shutil.which("zarrs_reencode"):
        by_job = {
            "quantise": ["--array-to-array-codecs", FIXED_SCALE_OFFSET],
            "recompress": [],
            "rechunk": ["--chunk-shape", f"{length},16,16"],
        }
        found["zarrs_tools"] = ["zarrs_reencode", "--bytes-to-bytes-codecs", ZSTD, *by_job[job], source, result]
    return found


QUANTISE = ["--quantize", "uint8", "--scale", SCALE, "--offset", OFFSET]
BARE = ["--compress", "none"]
# The timed jobs: their options and their source. Jobs of one group do the same work except for one option.
OWN = {
    "codes": ([*QUANTISE, *BARE], "source.zarr"),
    "codes, time": ([*QUANTISE, *BARE, "--predict", "time"], "source.zarr"),
    "codes, time,y,x": ([*QUANTISE, *BARE, "--predict", "time,y,x"], "source.zarr"),
    "floats": (["--unpack", *BARE], "codes.zarr"),
    "floats, time": (["--unpack", *BARE], "codes, time.zarr"),
    "floats, time,y,x": (["--unpack", *BARE], "codes, time,y,x.zarr"),
    "zstd:5": ([*QUANTISE, "--compress", "zstd:5"], "source.zarr"),
    "zstd:5, time,y,x": ([*QUANTISE, "--compress", "zstd:5", "--predict", "time,y,x"], "source.zarr"),
    "copy": ([], "packed.zarr"),
    "--as codecs": (["--as", "codecs"], "packed.zarr"),
}


def time_own(program, folder, rounds):
    """Times each job of OWN in each round, in memory. Results that are sources of other jobs are kept."""
    transcode = [program, "transcode", "--quiet"]
    subprocess.run([*transcode, "--quantize", "int16", "--as", "cf", *BARE, folder / "source.zarr", folder / "packed.zarr"], check=True, stdout=subprocess.DEVNULL)
    times = {}
    for name, (options, source) in [*OWN.items()] * rounds:
        result = folder / f"{name}.zarr"
        times.setdefault(name, []).append(seconds([*transcode, *options, folder / source, result], result))
    for name, measured in times.items():
        print(f"{name:<17} {statistics.median(measured):7.2f} s  {size(folder / f'{name}.zarr') >> 20} MiB", flush=True)


def seconds(command, result):
    shutil.rmtree(result, ignore_errors=True)
    began = time.perf_counter()
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def size(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--mebibytes", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--own", action="store_true")
    options = parser.parse_args()
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        source, result = Path(folder, "source.zarr"), Path(folder, "result.zarr")
        make_source(source, options.mebibytes)
        length = json.loads(Path(source, "zarr.json").read_text())["shape"][0]
        print(f"float32, {options.mebibytes} MiB, {size(source) >> 20} MiB stored")
        if options.own:
            return time_own(options.program.resolve(), Path(folder), options.rounds)
        for job in ["quantise", "recompress", "rechunk"]:
            times, sizes = {}, {}
            for _ in range(options.rounds):
                for tool, command in commands(job, options.program.resolve(), source, result, length).items():
                    times.setdefault(tool, []).append(seconds(command, result))
                    sizes[tool] = size(result)
            for tool, measured in times.items():
                print(f"{job:<11} {tool:<12} {statistics.median(measured):7.2f} s  {sizes[tool] >> 20} MiB", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        peer, job, source, result = sys.argv[2:]
        PEERS[peer](job, source, result)
    else:
        main()
