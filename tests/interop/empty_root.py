"""The static program in a root folder with only itself and a store: no /proc, /tmp, /etc, HOME, no certificates.

Like a container from scratch. It uses `chroot` as root, else `unshare` with a user namespace.
"""

import json
import os
import shutil
import subprocess

from program import FIXTURES, Zarrcast, same_files
from remote_refusals import Authority
from remote_servers import Web

STORE = "sea_surface_temperature"


def empty_root(tally, zarrcast, scratch):
    """Tests the same bytes as outside, remote stores, and messages about missing files."""
    root = scratch / "root"
    root.mkdir()
    shutil.copy(zarrcast.path, root / "zarrcast")
    shutil.copytree(FIXTURES / "valid" / STORE, root / "source.zarr")
    leads_there = ["chroot", root] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", f"--root={root}"]
    # The environment of the program is empty.
    inside = Zarrcast("/zarrcast", {}, [shutil.which(leads_there[0]), *leads_there[1:]])
    with tally.case("nothing is loaded beside it"):
        told = subprocess.run(["ldd", zarrcast.path], capture_output=True, text=True)
        assert "statically linked" in told.stdout or "not a dynamic executable" in told.stderr, told
        assert inside.ok("--version").startswith("zarrcast ")
    with tally.case("the example of the README"):
        made = inside.ok("transcode", "--quantize", "uint8", "--verify", "/source.zarr", "/small.zarr")
        assert "verified" in made, made
        zarrcast.ok("transcode", "--quantize", "uint8", FIXTURES / "valid" / STORE, scratch / "small.zarr")
        same_files(root / "small.zarr", scratch / "small.zarr")
        inside.ok("validate", "--level", "data", "/small.zarr", "--against", "/source.zarr", "--atol", "0.072")
    with tally.case("a zip, a rechunk, a second destination of the same"):
        inside.ok("transcode", "--verify", "/source.zarr", "/small.zip")
        inside.ok("transcode", "--chunk-shape", "2,50,50", "--compress", "blosc:lz4:5:shuffle", "--verify", "/small.zip", "/other.zarr")
        assert "exists" in inside.status(3, "transcode", "/source.zarr", "/other.zarr")
        inside.ok("transcode", "--overwrite", "/source.zarr", "/other.zarr")
        inside.ok("inspect", "--stats", "/other.zarr")
    with tally.case("the default of --max-memory is that of a machine"):
        document = json.loads((root / "source.zarr/zarr.json").read_text())
        document |= {"shape": [1 << 48], "dimension_names": None}
        document["chunk_grid"]["configuration"]["chunk_shape"] = [1 << 48]
        (root / "huge.zarr").mkdir()
        (root / "huge.zarr/zarr.json").write_text(json.dumps(document))
        message = inside.status(3, "transcode", "--compress", "zstd:1", "/huge.zarr", "/never.zarr")
        assert "a quarter of the available memory" in message, message
    with tally.case("a server by name, and nobody who knows names"):
        assert "panicked" not in inside.status(3, "inspect", "http://store.invalid/a.zarr")
    authority = Authority(scratch)
    shutil.copy(authority.path, root / "authority.pem")
    with tally.case("http"), Web() as server:
        inside.ok("transcode", "--verify", f"{server.address}/{STORE}", "/http.zarr")
    with Web(authority.context("127.0.0.1")) as server:
        address = f"{server.address}/{STORE}"
        with tally.case("https: who is in the bundled certificates is all that is trusted"):
            message = inside.status(3, "inspect", address)
            assert "not signed by an authority" in message and "SSL_CERT_FILE" in message, message
        with tally.case("https: SSL_CERT_FILE names whom to trust"):
            inside.within(SSL_CERT_FILE="/authority.pem").ok("transcode", "--verify", address, "/https.zarr")
        with tally.case("https: SSL_CERT_FILE names nothing"), Web() as plain:
            misled = inside.within(SSL_CERT_FILE="/nothing.pem")
            misled.ok("inspect", f"{plain.address}/{STORE}")
            message = misled.status(3, "inspect", address)
            assert "not signed by an authority" in message and "SSL_CERT_FILE" in message, message
    with tally.case("nothing else was made"):
        made = {path.name for path in root.iterdir()}
        known = {"zarrcast", "source.zarr", "small.zarr", "small.zip", "other.zarr", "huge.zarr", "authority.pem", "http.zarr", "https.zarr"}
        assert made == known, made ^ known


SECTIONS = [empty_root]
