"""Jobs through servers that fail: what can end ends with the right bytes, what cannot is told in time and leaves nothing that opens."""

import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

import numpy as np
import zarr
from fault_proxy import Answer, Cut, FaultProxy, Hang, Lost, Short, Slow, WrongRange
from remote_jobs import folder_below, same_trees, upload, url
from remote_servers import cloud

CLOUDS = ["s3s-fs", "moto", "azurite", "google"]
# A failure is told within this time at first contact, and this program's own start.
SECONDS_TO_FAIL = 16


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


BUSY = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
PASSING = {
    "503": lambda: every(3, Answer(503, BUSY)),
    "503 with Retry-After": lambda: every(7, Answer(503, BUSY, {"retry-after": "1"})),
    "429": lambda: every(4, Answer(429, b"", {"retry-after": "0"})),
    "500 once": lambda: every(10**9, Answer(500)),
    "500 for each object": lambda: first_of_each(Answer(500), {"GET", "PUT"}),
    "502 and 504": lambda: lambda number, _: {1: Answer(502), 3: Answer(504)}.get(number % 5),
    "body cut off": lambda: every(3, Cut(20)),
    "nothing of the body": lambda: every(3, Cut(0)),
    "answer lost": lambda: every(3, Lost()),
    "short body": lambda: every(3, Short(7)),
    "slow body": lambda: every(2, Slow(300, 0.02)),
    "wrong part": lambda: every(3, WrongRange(1)),
}


def sources(place):
    """An array of 24 chunks, and the same in shards, whose index lies at the end."""
    values = np.random.default_rng(4).random((48, 40)).astype("float32").cumsum(axis=1)
    for name, options in (("plain", {"chunks": (8, 10)}), ("sharded", {"chunks": (8, 10), "shards": (24, 20)})):
        zarr.create_array(place / name, shape=values.shape, dtype="float32", **options)[...] = values


JOBS = {
    "copy": ("plain", []),
    "quantise": ("plain", ["--quantize", "int16", "--compress", "zstd:1"]),
    "rechunk": ("plain", ["--chunk-shape", "24,20"]),
    "unshard": ("sharded", ["--shard-shape", "none"]),
    "shard": ("plain", ["--shard-shape", "24,20"]),
}


def faults(tally, zarrcast, scratch):
    """Every passing fault on every store, with a job that reads and one that writes; then those that do not pass."""
    sources(scratch)
    for job, (source, options) in JOBS.items():
        zarrcast.ok("transcode", *options, scratch / source, scratch / f"expected-{job}")

    def on(name):
        place = scratch / name
        with tally.case(name), cloud(name, place / "server") as found:
            for source in ("plain", "sharded"):
                upload(found, scratch / source, f"source/{source}")
            with ThreadPoolExecutor(4) as pool:
                passing = [pool.submit(through, tally, zarrcast, found, scratch, number) for number in range(len(PASSING))]
                lasting = [pool.submit(case, tally, zarrcast, found, scratch) for case in (refused_chunks, refused_writes, given_up_uploads, *first_contact(found))]
                for job in passing + lasting:
                    job.result()

    with ThreadPoolExecutor(len(CLOUDS)) as pool:
        list(pool.map(on, CLOUDS))


def through(tally, zarrcast, cloud, scratch, number):
    """A job out of the store and one into it, both through one kind of fault."""
    name, fault = list(PASSING.items())[number]
    turn = number + CLOUDS.index(cloud.name)
    for direction in ("read", "write"):
        job = list(JOBS)[turn % len(JOBS)]
        source, options = JOBS[job]
        with tally.case(cloud.name, name, direction, job), folder_below(scratch) as folder:
            direct = zarrcast.within(**cloud.environment)
            with FaultProxy(cloud.endpoint, fault()) as proxy:
                program = direct.within(**cloud.at(proxy.address))
                if direction == "read":
                    program.ok("transcode", *options, url(cloud, f"source/{source}"), folder / "there")
                else:
                    written = url(cloud, f"written/{number}")
                    program.ok("transcode", *options, scratch / source, written)
                    program.ok("transcode", "--overwrite", *options, scratch / source, written)
            assert len(proxy.requests) > 3, "nothing went through the proxy"
            if direction == "write":
                direct.ok("transcode", written, folder / "there")
            same_trees(scratch / f"expected-{job}", folder / "there")
        turn += 2


def told(program, folder, *arguments, said, seconds=SECONDS_TO_FAIL):
    """A failure that is told in time, with a reason and something to do."""
    began = time.monotonic()
    message = program.status(3, *arguments)
    took = time.monotonic() - began
    assert took < seconds, f"{took:.1f} s: {message}"
    for word in (*said, "help: "):
        assert word in message, (word, message)
    assert not (folder / "there" / "zarr.json").exists(), "what is not whole opens"
    return message


def refused_chunks(tally, zarrcast, cloud, scratch):
    def fault(_, request):
        is_it = unquote(request.path).endswith(("/c/1/1", "/c/2/3"))
        return Answer(403, b"<Error><Code>AccessDenied</Code></Error>") if is_it else None

    with tally.case(cloud.name, "refused chunks"), folder_below(scratch) as folder, FaultProxy(cloud.endpoint, fault) as proxy:
        program = zarrcast.within(**cloud.environment).within(**cloud.at(proxy.address))
        source = url(cloud, "source/plain")
        message = told(program, folder, "transcode", source, folder / "there", said=["403", "--missing-status 403"])
        assert "c/1/1" in message or "c/2/3" in message, message
        program.ok("transcode", "--missing-status", "403", source, folder / "absent")
        assert not (folder / "absent/c/1/1").exists() and (folder / "absent/c/1/2").exists()


def refused_writes(tally, zarrcast, cloud, scratch):
    """A store that takes nothing, or no more after a while."""
    for number, after in enumerate((0, 9)):

        def fault(count, request, after=after):
            is_it = request.method in ("PUT", "POST") and count >= after
            return Answer(403, b"<Error><Code>AccessDenied</Code></Error>") if is_it else None

        with tally.case(cloud.name, "refused writes", after), folder_below(scratch) as folder, FaultProxy(cloud.endpoint, fault) as proxy:
            program = zarrcast.within(**cloud.environment).within(**cloud.at(proxy.address))
            written = f"refused/{number}"
            told(program, folder, "transcode", scratch / "plain", url(cloud, written), said=["403", "cannot"])
            assert f"{written}/zarr.json" not in cloud.listed(f"{written}/"), "what is not whole opens"
            direct = zarrcast.within(**cloud.environment)
            direct.ok("transcode", scratch / "plain", url(cloud, written), *(["--resume"] if cloud.listed(f"{written}/") else []))
            direct.ok("validate", url(cloud, written), "--against", scratch / "plain")


def given_up_uploads(tally, zarrcast, cloud, scratch):
    """A large shard of which a part is refused, and one whose upload is interrupted: its parts are given back, nothing opens."""
    for name, fault in (("refused", Answer(403, b"<Error><Code>AccessDenied</Code></Error>")), ("interrupted", Hang())):
        # Of Azure, whose blocks have names that tell nothing, the third that comes.
        blocks = []

        def pick(_, request, fault=fault, blocks=blocks):
            block = re.search("blockid=([^&]+)", request.target)
            if block and block[1] not in blocks:
                blocks.append(block[1])
            is_part = "partNumber=3" in request.target or bool(block) and blocks.index(block[1]) == 2
            return fault if is_part else None

        with tally.case(cloud.name, "upload", name), folder_below(scratch) as folder, FaultProxy(cloud.endpoint, pick) as proxy:
            values = np.random.default_rng(5).random((1, 9 << 20), dtype="float32")
            array = zarr.create_array(folder / "large", shape=values.shape, chunks=(1, 1 << 20), dtype="float32", compressors=None)
            array[...] = values
            program = zarrcast.within(**cloud.environment).within(**cloud.at(proxy.address))
            written = url(cloud, f"upload-{name}")
            command = ["transcode", "--shard-shape", f"1,{9 << 20}", folder / "large", written]
            if name == "refused":
                told(program, folder, *command, said=["403", "cannot"])
            else:
                message = interrupt(program, command, proxy, pick)
                assert b"--resume" in message or not cloud.listed(f"upload-{name}/"), message
            assert not cloud.uploads(), cloud.uploads()
            assert f"upload-{name}/zarr.json" not in cloud.listed(f"upload-{name}/"), "what is not whole opens"
            direct = zarrcast.within(**cloud.environment)
            direct.ok(*command, "--resume")
            direct.ok("validate", written, "--against", folder / "large")


def interrupt(program, command, proxy, pick):
    """Interrupt a run that waits for what `pick` lets hang; it ends soon; what it says."""
    process = subprocess.Popen([program.path, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=program.environment)
    began = time.monotonic()
    while not any(pick(0, request) for request in list(proxy.requests)):
        assert process.poll() is None and time.monotonic() - began < SECONDS_TO_FAIL, "the upload does not begin"
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=SECONDS_TO_FAIL)
    assert process.returncode == 130, (process.returncode, message)
    return message


def first_contact(cloud):
    """Faults that do not pass: the store is given up soon, and nothing is left."""
    lasting = {
        "hanging": (Hang(), ["no answer", "attempts"]),
        "503 for ever": (Answer(503, BUSY), ["503", "attempts"]),
        "429 for long": (Answer(429, b"", {"retry-after": "100"}), ["429"]),
        "500 for ever": (Answer(500), ["500", "attempts"]),
        "no whole body": (Cut(0), ["attempts"]),
        "redirects without end": (Answer(307, b"", {"location": "/again"}), ["redirects"]),
        "redirect to another server": (Answer(307, b"", {"location": f"{cloud.endpoint}/bucket/source/plain/zarr.json"}), ["leads to", "endpoint"]),
        "not implemented": (Answer(501), ["501"]),
    }

    def of(name, fault, said):
        def case(tally, zarrcast, cloud, scratch):
            with tally.case(cloud.name, name), folder_below(scratch) as folder:
                with FaultProxy(cloud.endpoint, lambda *_: fault) as proxy:
                    program = zarrcast.within(**cloud.environment).within(**cloud.at(proxy.address))
                    told(program, folder, "transcode", url(cloud, "source/plain"), folder / "there", said=said)
                assert not (folder / "there").exists(), "something is left"

        return case

    return [of(name, fault, said) for name, (fault, said) in lasting.items()]
