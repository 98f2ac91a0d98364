#!/usr/bin/env python3
"""Jobs over a network in which each answer takes 50 ms longer: wall time, peak memory and requests, beside peers and the limit.

remote.py --bin PATH [--s3s-fs PATH] [--tensorstore PYTHON] [--zarr-python PYTHON] [--rounds 3] [--only JOB,...] [--delay 0.05]

The array has 2,000 chunks of 64 KiB. One copy is in a bucket of s3s-fs (`cargo install s3s-fs --features binary`), one in a
local folder. Both are in memory if there is room. All programs reach the server through a relay. The relay delays each answer
and counts the requests, and how many are in flight. PYTHON has tensorstore, or zarr and obstore. Peers that are not given are
left out. The programs take turns within a round. Each has as many requests in flight as it has by default, or
--peer-requests. The script prints medians and 'N passed, M failed'. Our limits are: at most 1.3 times the time of so many
chunks with 64 requests in flight, at most 0.7 times the better peer, and at most 16 requests more than one for each chunk.
A busy machine makes all of them slower. `--relay` measures the relay itself, with 64 connections and no delay.
"""
import argparse
import asyncio
import collections
import contextlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHUNKS, CHUNK = 2000, 16384  # 64 KiB of float32
REQUESTS = 64
BESIDE = 16  # documents, listings, journal and lock
KEYS = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench-secret", "AWS_REGION": "us-east-1"}
# job: (source, destination, further arguments, requests for a chunk)
JOBS = {
    "download": ("far", "near", [], 1),
    "upload": ("near", "far", [], 1),
    "across": ("far", "far", [], 1),  # the server copies
    "quantize": ("far", "near", ["--quantize", "uint8"], 1),
    "quantize-across": ("far", "far", ["--quantize", "uint8"], 2),
    "recompress": ("far", "near", ["--compress", "zstd:1"], 1),
    "shard": ("far", "near", ["--shard-shape", f"{20 * CHUNK}"], 1),
    "stats": ("far", None, [], 1),
}
PEER_JOBS = {"download", "upload", "across", "quantize", "quantize-across"}


class Side(asyncio.Protocol):
    """One end of a connection through the relay."""

    def __init__(self, relay, other=None):
        self.relay, self.other, self.transport, self.early = relay, other, None, []

    def connection_made(self, transport):
        self.transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.other is None:
            self.is_client = True
            asyncio.ensure_future(self.connect())
        else:
            self.is_client = False

    async def connect(self):
        loop = asyncio.get_running_loop()
        _, other = await loop.create_connection(lambda: Side(self.relay, self), "127.0.0.1", self.relay.target)
        self.other = other
        other.is_asked, other.waiting = False, collections.deque()
        for data in self.early:
            self.forward(data)
        self.early = []

    def data_received(self, data):
        if not self.is_client:
            self.answer(data)
        elif self.other is None:
            self.early.append(data)
        else:
            self.forward(data)

    def forward(self, data):
        # On a kept connection, a request begins after the previous answer.
        if not self.other.is_asked:
            self.other.is_asked = True
            self.relay.begin(data)
        self.other.transport.write(data)

    def answer(self, data):
        self.waiting.append(data)
        asyncio.get_running_loop().call_later(self.relay.delay, self.hand_on)

    def hand_on(self):
        data = self.waiting.popleft()
        # Everything sent from now on is another request, because no client sends before the answer arrives.
        if self.is_asked and not data.startswith(b"HTTP/1.1 100 "):
            self.is_asked = False
            self.relay.end()
        self.other.transport.write(data)

    def connection_lost(self, error):
        if self.other is not None and self.other.transport is not None:
            asyncio.get_running_loop().call_later(2 * self.relay.delay, self.other.transport.close)


class Relay:
    """Delays the answers of a server, and counts requests."""

    def __init__(self, target, delay):
        self.target, self.delay = target, delay
        self.forget()

    def forget(self):
        self.methods, self.paths = collections.Counter(), collections.Counter()
        self.in_flight = self.most = 0
        self.times, self.tenths = collections.Counter(), collections.Counter()
        self.first, self.last, self.order = None, None, []
        self.busy = time.process_time()

    def change(self, by):
        now = time.perf_counter()
        self.first = self.first or now
        if self.last is not None:
            self.times[self.in_flight] += now - self.last
            self.tenths[int((now - self.first) * 10)] += self.in_flight * (now - self.last) * 10
        self.last, self.in_flight = now, max(self.in_flight + by, 0)
        self.most = max(self.most, self.in_flight)

    def begin(self, data):
        line = data[: data.find(b"\r")].decode(errors="replace").split()
        self.methods[line[0]] += 1
        self.paths[path := " ".join(line[:2])] += 1
        self.change(1)
        self.order.append((self.last - self.first, path))

    def end(self):
        self.change(-1)

    def said(self):
        total = sum(self.times.values()) or 1
        mean = sum(count * seconds for count, seconds in self.times.items()) / total
        twice = {path: count for path, count in self.paths.items() if count > 1 and path.startswith("GET")}
        other = [f"{seconds:5.2f} s {path}" for seconds, path in self.order if "/c/" not in path]
        said = {"busy": time.process_time() - self.busy, "requests": sum(self.methods.values()), "methods": self.methods, "most": self.most, "mean": mean, "seconds": total}
        line = [round(self.tenths[tenth]) for tenth in range(int(total * 10) + 1)]
        return said | {"twice": len(twice), "other": other[:40], "line": line[:100]}

    async def serve(self):
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Side(self), "127.0.0.1", 0, backlog=512)
        print(server.sockets[0].getsockname()[1], flush=True)
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            self.forget() if line.strip() == "forget" else print(json.dumps(self.said()), flush=True)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.contextmanager
def server(program, folder):
    """Runs s3s-fs on a folder. Yields its port."""
    port = free_port()
    command = [program, "--host", "127.0.0.1", "--port", str(port)]
    command += ["--access-key", KEYS["AWS_ACCESS_KEY_ID"], "--secret-key", KEYS["AWS_SECRET_ACCESS_KEY"], str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait(timeout=20)


class RelayProcess:
    """The relay, in a separate process."""

    def __init__(self, target, delay):
        command = [sys.executable, __file__, "--relay-to", str(target), "--delay", str(delay)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def ask(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline()) if what == "say" else None

    def stop(self):
        self.process.stdin.close()
        self.process.terminate()
        self.process.wait(timeout=20)


def make_array(folder):
    """Writes a float32 array in uncompressed chunks of 64 KiB."""
    import array
    import math

    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}]
    document = {
        "zarr_format": 3, "node_type": "array", "shape": [CHUNKS * CHUNK], "data_type": "float32", "fill_value": 0.0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [CHUNK]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": codecs, "attributes": {},
    }  # fmt: skip
    (folder / "c").mkdir(parents=True)
    (folder / "zarr.json").write_text(json.dumps(document))
    wave = array.array("f", (math.sin(place / 50) * 100 for place in range(CHUNK)))
    for chunk in range(CHUNKS):
        wave[0] = chunk
        (folder / "c" / str(chunk)).write_bytes(wave.tobytes())


def run(command, environment):
    """Returns wall seconds, processor seconds, and peak memory in MiB."""
    start = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    wall = time.perf_counter() - start
    assert status == 0, f"{command}: {said.decode(errors='replace')[-1000:]}"
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def peer(name, job, source, destination):
    """Runs a job with a peer. The peer's Python runs this file, and the measured time is that of the job alone."""
    start = time.perf_counter()
    (tensorstore_peer if name == "tensorstore" else zarr_peer)(job, source, destination)
    print(time.perf_counter() - start)


def quantized(values):
    low, high = values.min(), values.max()
    return ((values - low) * (255 / (high - low))).round().astype("uint8")


def tensorstore_peer(job, source, destination):
    import tensorstore

    requests = int(os.environ["PEER_REQUESTS"])
    context = tensorstore.Context({"s3_request_concurrency": {"limit": requests}} if requests else {})

    def spec(place):
        if not place.startswith("s3://"):
            return {"driver": "zarr3", "kvstore": {"driver": "file", "path": place + "/"}}
        bucket, _, path = place[5:].partition("/")
        kvstore = {"driver": "s3", "bucket": bucket, "path": path + "/", "endpoint": os.environ["AWS_ENDPOINT_URL"], "aws_region": "us-east-1"}
        return {"driver": "zarr3", "kvstore": kvstore}

    reading = tensorstore.open(spec(source), context=context).result()
    data_type = "uint8" if job.startswith("quantize") else "float32"
    made = {"shape": [CHUNKS * CHUNK], "data_type": data_type, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [CHUNK]}}}
    made["codecs"] = [{"name": "bytes", "configuration": {"endian": "little"}} if data_type == "float32" else {"name": "bytes"}]
    writing = tensorstore.open(spec(destination) | {"metadata": made}, context=context, create=True).result()
    if data_type == "uint8":
        writing.write(quantized(reading.read().result())).result()
    else:
        writing.write(reading).result()


def zarr_peer(job, source, destination):
    import zarr
    from obstore.store import S3Store
    from zarr.storage import LocalStore, ObjectStore

    if requests := int(os.environ["PEER_REQUESTS"]):
        zarr.config.set({"async.concurrency": requests})

    def store(place):
        if not place.startswith("s3://"):
            return LocalStore(place)
        bucket, _, path = place[5:].partition("/")
        return ObjectStore(S3Store(bucket, prefix=path, endpoint=os.environ["AWS_ENDPOINT_URL"], client_options={"allow_http": True}))

    reading = zarr.open_array(store(source), mode="r")
    data_type = "uint8" if job.startswith("quantize") else "float32"
    writing = zarr.create_array(
        store(destination), shape=(CHUNKS * CHUNK,), chunks=(CHUNK,), dtype=data_type, compressors=None, fill_value=0, config={"write_empty_chunks": True}
    )
    values = reading[:]
    writing[:] = quantized(values) if data_type == "uint8" else values


class Bench:
    def __init__(self, options, work):
        self.options, self.work = options, work
        self.buckets = work / "buckets"
        self.places = {"near": str(work / "array"), "far": "s3://bench/array"}

    def environment(self, port):
        known = KEYS | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "NO_PROXY": "127.0.0.1", "AWS_ALLOW_HTTP": "true"}
        known["PEER_REQUESTS"] = str(self.options.peer_requests)
        return os.environ | known | {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}

    def command(self, who, job):
        source, destination, further, _ = JOBS[job]
        made = {"near": str(self.work / "made"), "far": "s3://bench/made", None: ""}[destination]
        if who == "zarrcast" and job == "stats":
            return [self.options.bin, "inspect", "--stats", "--json", self.places[source]]
        if who == "zarrcast":
            memory = ["--max-memory", self.options.max_memory] if self.options.max_memory else []
            return [self.options.bin, "transcode", "--json", "--progress", "never", *further, *memory, self.places[source], made]
        python = self.options.tensorstore if who == "tensorstore" else self.options.zarr_python
        return [python, __file__, "--peer", who, job, self.places[source], made]

    def measure(self, who, job, relay):
        for made in (self.work / "made", self.buckets / "bench" / "made"):
            shutil.rmtree(made, ignore_errors=True)
        relay.ask("forget")
        figures = run(self.command(who, job), self.environment(relay.port))
        return *figures, relay.ask("say")

    def job(self, job, relay):
        whos = ["zarrcast"]
        whos += ["tensorstore"] if self.options.tensorstore and job in PEER_JOBS else []
        whos += ["zarr-python"] if self.options.zarr_python and job in PEER_JOBS else []
        rounds = collections.defaultdict(list)
        for _ in range(self.options.rounds):
            for who in whos:
                rounds[who].append(self.measure(who, job, relay))
        walls = {who: statistics.median(wall for wall, *_ in found) for who, found in rounds.items()}
        count = JOBS[job][3] * CHUNKS
        limit = count / REQUESTS * self.options.delay
        for who, found in rounds.items():
            *_, said = found[-1]
            busy = statistics.median(busy for _, busy, _, _ in found)
            peak = max(peak for _, _, peak, _ in found)
            figures = f"{walls[who]:6.2f} s ({busy:.2f} busy) {peak:6.0f} MiB {said['requests']:6d} requests, {said['mean']:5.1f} in flight, {said['most']} at most"
            print(f"{job:16} {who:12} {figures}, {said['twice']} read twice {dict(said['methods'])}", flush=True)
            if self.options.verbose:
                print(f"    the relay was busy for {said['busy']:.2f} s")
                print(f"    in flight, each tenth of a second: {said['line']}", *said["other"], sep="\n    ", flush=True)
        *_, said = rounds["zarrcast"][-1]
        best = min((wall for who, wall in walls.items() if who != "zarrcast"), default=None)
        checks = {f"{walls['zarrcast'] / limit:.2f} of the limit of {limit:.2f} s": walls["zarrcast"] <= 1.3 * limit}
        checks[f"{said['requests']} requests for {count}"] = said["requests"] <= count + BESIDE
        if best is not None:
            checks[f"{walls['zarrcast'] / best:.2f} of the better peer"] = walls["zarrcast"] <= 0.7 * best
        for what, is_met in checks.items():
            print(f"{'':16} {'ok  ' if is_met else 'FAIL'} {what}", flush=True)
        return list(checks.values())

    def run(self):
        array = self.work / "array"
        make_array(array)
        (self.buckets / "bench").mkdir(parents=True)
        shutil.copytree(array, self.buckets / "bench" / "array")
        only = [job for job in self.options.only.split(",") if job] or list(JOBS)
        with server(self.options.s3s_fs, self.buckets) as port:
            relay = RelayProcess(port, self.options.delay)
            try:
                met = [is_met for job in only for is_met in self.job(job, relay)]
            finally:
                relay.stop()
        print(f"{sum(met)} passed, {len(met) - sum(met)} failed")
        return 0 if all(met) else 1


def relay_alone(delay):
    """Prints the requests a second that the relay passes on 64 connections. Each sends again right after its answer."""

    body = b"x" * CHUNK * 4

    class Answering(asyncio.Protocol):
        def connection_made(self, transport):
            self.transport = transport

        def data_received(self, _):
            self.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)

    async def ask(port, count):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        for _ in range(count):
            writer.write(b"GET /bench/c/0 HTTP/1.1\r\nhost: x\r\n\r\n")
            await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(len(body))
        writer.close()

    async def both():
        serving = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0, backlog=512)
        relay = RelayProcess(serving.sockets[0].getsockname()[1], delay)
        start = time.perf_counter()
        await asyncio.gather(*(ask(relay.port, 40) for _ in range(REQUESTS)))
        seconds = time.perf_counter() - start
        relay.stop()
        print(f"{40 * REQUESTS / seconds:.0f} requests a second, at most {REQUESTS / delay:.0f} are possible")

    asyncio.run(both())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin")
    parser.add_argument("--s3s-fs", default=os.environ.get("S3S_FS") or shutil.which("s3s-fs"))
    parser.add_argument("--tensorstore")
    parser.add_argument("--zarr-python")
    parser.add_argument("--peer-requests", type=int, default=0, help="requests in flight of the peers; else as many as they take")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--delay", type=float, default=0.05)
    parser.add_argument("--max-memory", default="")
    parser.add_argument("--verbose", action="store_true", help="also what was asked for beside chunks, and when")
    parser.add_argument("--relay", action="store_true")
    parser.add_argument("--relay-to", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--peer", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.relay_to:
        return asyncio.run(Relay(options.relay_to, options.delay).serve())
    if options.peer:
        return peer(*options.peer)
    if options.relay:
        return relay_alone(options.delay)
    memory = Path("/dev/shm")  # the disk's write-back would hide the differences
    has_room = memory.is_dir() and shutil.disk_usage(memory).free > 2 << 30
    with tempfile.TemporaryDirectory(dir=memory if has_room else None) as work:
        return Bench(options, Path(work)).run()


if __name__ == "__main__":
    sys.exit(main())
