#!/usr/bin/env python3
"""Stores behind a network: S3 by moto, s3s-fs and s3rver, Azure by Azurite, Google Cloud Storage by a server of the tests' own,
and a web server without ranges.

Each server is started on 127.0.0.1 and stopped at the end; those of one section run beside each other. zarr-python reads what
was written, and writes what is read, by obstore. Environment: see remote_servers.py.
"""

import functools
import http.server
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from program import FIXTURES, run_sections
from remote_faults import faults
from remote_jobs import FIXTURE_NAMES, every_job, same_trees
from remote_refusals import refusals
from remote_servers import CLOUDS, cloud
from remote_tls import tls


def clouds(tally, zarrcast, scratch):
    """Every job on every kind of store."""

    def jobs(name):
        place = scratch / name
        began = time.monotonic()
        with tally.case(name), cloud(name, place / "server") as found:
            every_job(tally, zarrcast, found, place)
        print(f"{name}: {time.monotonic() - began:.1f} s", flush=True)

    with ThreadPoolExecutor(len(CLOUDS)) as pool:
        list(pool.map(jobs, CLOUDS))


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
                zarrcast.ok("validate", "--level", "data", address, "--against", FIXTURES / "valid" / fixture)
                zarrcast.ok("transcode", "--verify", address, scratch / fixture)
                same_trees(FIXTURES / "valid" / fixture, scratch / fixture)
    finally:
        server.shutdown()
        server.server_close()


SECTIONS = [clouds, faults, refusals, tls, web_server]

if __name__ == "__main__":
    run_sections(__doc__.splitlines()[0], SECTIONS)
