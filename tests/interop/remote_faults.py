"""Jobs through servers that fail: they end with the right bytes, or fail in time and leave nothing that opens."""

import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

import numpy as np
from arrays import write
from fault_proxy import Answer, Fault, FaultProxy, Hang
from program import same_files
from remote_jobs import on_each, upload, url

CLOUDS = ["s3s-fs", "moto", "azurite", "google"]
# A failure is told within this time at first contact, with the start of this program.
SECONDS_TO_FAIL = 16
BUSY = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
DENIED = Answer(403, b"<Error><Code>AccessDenied</Code></Error>")


def every(count, fault):
    """A fault of each `count`-th request."""
    return lambda number, _: fault if number % count == 1 else None


def first_of_each(fault, methods):
    """A fault of each object's first request of these methods."""
    seen = set()

    def pick(_, request):
        if request.method not in methods or request.target in seen:
            return None
        seen.add(request.target)
        return fault

    return pick


PASSING = {
    "503": lambda: every(3, Answer(503, BUSY)),
    "503 with Retry-After": lambda: every(7, Answer(503, BUSY, {"retry-after": "1"})),
    "429": lambda: every(4, Answer(429, b"", {"retry-after": "0"})),
    "500 once": lambda: every(10**9, Answer(500)),
    "500 for each object": lambda: first_of_each(Answer(500), {"GET", "PUT"}),
    "502 and 504": lambda: lambda number, _: {1: Answer(502), 3: Answer(504)}.get(number % 5),
    "body cut off": lambda: every(3, Fault(cut=20)),
    "nothing of the body": lambda: every(3, Fault(cut=0)),
    "answer lost": lambda: every(3, Fault(lost=True)),
    "short body": lambda: every(3, Fault(short=7)),
    "slow body": lambda: every(2, Fault(pace=(300, 0.02))),
    "wrong part": lambda: every(3, Fault(shift=1)),
}
# The fault, given the endpoint of the store, and words of the message.
LASTING = {
    "hanging": (lambda _: Hang(), ["no answer", "attempts"]),
    "503 for ever": (lambda _: Answer(503, BUSY), ["503", "attempts"]),
    "429 for long": (lambda _: Answer(429, b"", {"retry-after": "100"}), ["429"]),
    "500 for ever": (lambda _: Answer(500), ["500", "attempts"]),
    "no whole body": (lambda _: Fault(cut=0), ["attempts"]),
    "redirects without end": (lambda _: Answer(307, b"", {"location": "/again"}), ["redirects"]),
    "redirect to another server": (lambda to: Answer(307, b"", {"location": f"{to}/bucket/source/plain/zarr.json"}), ["leads to", "endpoint"]),
    "not implemented": (lambda _: Answer(501), ["501"]),
}
JOBS = {
    "copy": ("plain", []),
    "quantise": ("plain", ["--quantize", "int16", "--compress", "zstd:1"]),
    "rechunk": ("plain", ["--chunk-shape", "24,20"]),
    "unshard": ("sharded", ["--shard-shape", "none"]),
    "shard": ("plain", ["--shard-shape", "24,20"]),
}


def faults(tally, zarrcast, place):
    """Every passing fault on every store, with a job that reads and one that writes; then those that do not pass."""
    # An array of 24 chunks, and the same in shards, whose index is at the end.
    values = np.random.default_rng(4).random((48, 40)).astype("float32").cumsum(axis=1)
    for name, shards in (("plain", None), ("sharded", (24, 20))):
        write(place / name, values, chunks=(8, 10), shards=shards)
    for job, (source, options) in JOBS.items():
        zarrcast.ok("transcode", *options, place / source, place / f"expected-{job}")

    def on(cloud):
        for source in ("plain", "sharded"):
            upload(cloud, place / source, f"source/{source}")
        with ThreadPoolExecutor(4) as pool:
            turns = [(name, number, direction) for number, name in enumerate(PASSING) for direction in ("read", "write")]
            waiting = [pool.submit(through, tally, zarrcast, cloud, place, *turn) for turn in turns]
            waiting += [pool.submit(case, tally, zarrcast, cloud, place) for case in (refused_chunks, refused_writes, given_up_uploads)]
            waiting += [pool.submit(first_contact, tally, zarrcast, cloud, name) for name in LASTING]
            for one in waiting:
                one.result()

    on_each(tally, CLOUDS, place, on)


def behind(zarrcast, cloud, proxy):
    """The program that reaches a store through a proxy."""
    return zarrcast.within(**cloud.environment).within(**cloud.at(proxy.address))


def through(tally, zarrcast, cloud, place, name, number, direction):
    """A job out of the store, or one into it, through one kind of fault."""
    job = list(JOBS)[(number + CLOUDS.index(cloud.name) + 2 * (direction == "write")) % len(JOBS)]
    source, options = JOBS[job]
    with tally.case(cloud.name, name, direction, job) as folder:
        with FaultProxy(cloud.endpoint, PASSING[name]()) as proxy:
            program = behind(zarrcast, cloud, proxy)
            if direction == "read":
                program.ok("transcode", *options, url(cloud, f"source/{source}"), folder / "there")
            else:
                written = url(cloud, f"written/{number}")
                program.ok("transcode", *options, place / source, written)
                program.ok("transcode", "--overwrite", *options, place / source, written)
        assert len(proxy.requests) > 3, "nothing went through the proxy"
        if direction == "write":
            zarrcast.within(**cloud.environment).ok("transcode", written, folder / "there")
        same_files(place / f"expected-{job}", folder / "there")


def told(program, folder, *arguments, said, seconds=SECONDS_TO_FAIL):
    """A failure in time, with a reason and something to do. Returns the message."""
    began = time.monotonic()
    message = program.status(3, *arguments)
    took = time.monotonic() - began
    assert took < seconds, f"{took:.1f} s: {message}"
    for word in (*said, "help: "):
        assert word in message, (word, message)
    assert not (folder / "there" / "zarr.json").exists(), "what is not whole opens"
    return message


def refused_chunks(tally, zarrcast, cloud, _place):
    fault = lambda _, request: DENIED if unquote(request.path).endswith(("/c/1/1", "/c/2/3")) else None  # noqa: E731
    with tally.case(cloud.name, "refused chunks") as folder, FaultProxy(cloud.endpoint, fault) as proxy:
        program, source = behind(zarrcast, cloud, proxy), url(cloud, "source/plain")
        message = told(program, folder, "transcode", source, folder / "there", said=["403", "--missing-status 403"])
        assert "c/1/1" in message or "c/2/3" in message, message
        program.ok("transcode", "--missing-status", "403", source, folder / "absent")
        assert not (folder / "absent/c/1/1").exists() and (folder / "absent/c/1/2").exists()


def refused_writes(tally, zarrcast, cloud, place):
    """A store that refuses every write, or every write after a while."""
    for number, after in enumerate((0, 9)):
        fault = lambda count, request, after=after: DENIED if request.method in ("PUT", "POST") and count >= after else None  # noqa: E731
        with tally.case(cloud.name, "refused writes", after) as folder, FaultProxy(cloud.endpoint, fault) as proxy:
            written = f"refused/{number}"
            told(behind(zarrcast, cloud, proxy), folder, "transcode", place / "plain", url(cloud, written), said=["403", "cannot"])
            assert f"{written}/zarr.json" not in cloud.listed(f"{written}/"), "what is not whole opens"
            direct = zarrcast.within(**cloud.environment)
            direct.ok("transcode", place / "plain", url(cloud, written), *(["--resume"] if cloud.listed(f"{written}/") else []))
            direct.ok("validate", url(cloud, written), "--against", place / "plain")


def given_up_uploads(tally, zarrcast, cloud, _place):
    """A large shard of which a part is refused, and one whose upload is interrupted: its parts are removed, nothing opens."""
    for name, fault in (("refused", DENIED), ("interrupted", Hang())):
        # Of Azure, whose blocks have names that tell nothing, the third that comes.
        blocks = []

        def pick(_, request, fault=fault, blocks=blocks):
            block = re.search("blockid=([^&]+)", request.target)
            if block and block[1] not in blocks:
                blocks.append(block[1])
            is_part = "partNumber=3" in request.target or bool(block) and blocks.index(block[1]) == 2
            return fault if is_part else None

        with tally.case(cloud.name, "upload", name) as folder, FaultProxy(cloud.endpoint, pick) as proxy:
            write(folder / "large", np.random.default_rng(5).random((1, 9 << 20), dtype="float32"), chunks=(1, 1 << 20), compressors=None)
            program, written = behind(zarrcast, cloud, proxy), url(cloud, f"upload-{name}")
            command = ["transcode", "--shard-shape", f"1,{9 << 20}", folder / "large", written]
            if name == "refused":
                told(program, folder, *command, said=["403", "cannot"])
            else:
                message = interrupt(program, command, proxy, pick)
                assert "--resume" in message or not cloud.listed(f"upload-{name}/"), message
            assert not cloud.uploads(), cloud.uploads()
            assert f"upload-{name}/zarr.json" not in cloud.listed(f"upload-{name}/"), "what is not whole opens"
            direct = zarrcast.within(**cloud.environment)
            direct.ok(*command, "--resume")
            direct.ok("validate", written, "--against", folder / "large")


def interrupt(program, command, proxy, pick):
    """Interrupts a run that waits for a request that hangs. It ends soon. Returns its message."""
    process = program.start(*command)
    began = time.monotonic()
    while not any(pick(0, request) for request in list(proxy.requests)):
        assert process.poll() is None and time.monotonic() - began < SECONDS_TO_FAIL, "the upload does not begin"
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=SECONDS_TO_FAIL)
    assert process.returncode == 130, (process.returncode, message)
    return message


def first_contact(tally, zarrcast, cloud, name):
    """A fault that does not pass: the store is given up soon, and nothing is left."""
    fault, said = LASTING[name]
    with tally.case(cloud.name, name) as folder, FaultProxy(cloud.endpoint, lambda *_: fault(cloud.endpoint)) as proxy:
        told(behind(zarrcast, cloud, proxy), folder, "transcode", url(cloud, "source/plain"), folder / "there", said=said)
        assert not (folder / "there").exists(), "something is left"


SECTIONS = [faults]
