import json
import os
import subprocess
import sys
import time

from dask.distributed import Client, LocalCluster, as_completed

RETRIES = 3
# That of a machine that died is locked for a minute on an object store.
SECONDS_BEFORE_A_RETRY = 30


def transcode(*options):
    command = [PROGRAM, "transcode", *options, *OPTIONS, "--", SOURCE, DESTINATION]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def part(name, index):
    """Does a part, on a worker, and gives what is wrong with it. An error is what may be better at the next try."""
    resources = ["--threads", str(THREADS), "--max-memory", str(MEMORY_BYTES)]
    done = transcode("--partition", str(index), "--pass", name, *resources)
    if done.returncode == 0:
        return None
    message = f"part {index} of {name}: exit status {done.returncode}: {done.stderr.strip()}"
    # At fault are the data, the command, or the pass, which is too early.
    if done.returncode in (1, 2, 4):
        return message
    time.sleep(SECONDS_BEFORE_A_RETRY)
    raise RuntimeError(message)


def missing():
    """The parts that are missing, as a list for each pass; nothing where the job is complete."""
    done = transcode("--status", "--json")
    if done.returncode not in (0, 1):
        sys.exit(done.stderr.strip())
    return {found["name"]: found["missing"] for found in json.loads(done.stdout)["passes"]}


def indices(missing_parts):
    """Those of a list such as 3,7-9."""
    for piece in filter(None, missing_parts.split(",")):
        first, _, last = piece.partition("-")
        yield from range(int(first), int(last or first) + 1)


def run_pass(client, name, parts):
    futures = [client.submit(part, name, index, retries=RETRIES, pure=False) for index in parts]
    for future in as_completed(futures):
        fault = future.exception() if future.status == "error" else future.result()
        if fault:
            print(fault, file=sys.stderr, flush=True)


def run(client):
    for name, parts in missing().items():
        print(f"pass {name}: parts {parts or 'are all done'}", flush=True)
        run_pass(client, name, indices(parts))
        if left := missing().get(name):
            sys.exit(f"pass {name} is not complete; missing are the parts {left}: run this again")
    done = transcode("--finish")
    print(done.stdout, end="")
    sys.exit(done.stderr.strip() if done.returncode else 0)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        cluster = sys.argv[1]
    else:
        cluster = LocalCluster(n_workers=max(1, os.cpu_count() // THREADS), threads_per_worker=1)
    with Client(cluster) as client:
        run(client)
