"""Object stores for tests: servers of others, and a Google Cloud Storage of the tests' own, each on a free port of 127.0.0.1.

`cloud(NAME, FOLDER)` starts one with an empty bucket, waits until it answers, and stops it at the end whatever happens.
moto comes with this environment; `S3S_FS`, `S3RVER` and `AZURITE_BLOB`, or the PATH, name the other programs.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time

import boto3
from azure.storage.blob import BlobServiceClient
from botocore.config import Config
from obstore.store import AzureStore, S3Store
from remote_google import BUCKET, CLEAN, GoogleServer

SECONDS_TO_ANSWER = 60
REGION = "us-east-1"
# Azurite's own account and key, which its documentation names.
AZURE_ACCOUNT = "devstoreaccount1"
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
AZURE_VERSION = "2023-11-03"


class S3:
    scheme = "s3"
    # Names that the server cannot have.
    cannot_name = ()

    def __init__(self, name, address, key_id="reader", secret="hidden-secret"):
        self.name, self.address, self.secrets = name, address, [secret]
        self.keys_of_reader = {"AWS_ACCESS_KEY_ID": key_id, "AWS_SECRET_ACCESS_KEY": secret}
        self.environment = CLEAN | self.keys_of_reader | {"AWS_REGION": REGION, "AWS_ENDPOINT_URL": address}
        self.client = boto3.client(
            "s3",
            endpoint_url=address,
            region_name=REGION,
            aws_access_key_id=key_id,
            aws_secret_access_key=secret,
            config=Config(s3={"addressing_style": "path"}, request_checksum_calculation="when_required"),
        )

    def at(self, address):
        """The environment for the same server at another address."""
        return {"AWS_ENDPOINT_URL": address}

    def create(self):
        self.client.create_bucket(Bucket=BUCKET)

    def put(self, key, content):
        self.client.put_object(Bucket=BUCKET, Key=key, Body=content)

    def listed(self, prefix):
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [found["Key"] for page in pages for found in page.get("Contents", [])]

    def uploads(self):
        return [found["Key"] for found in self.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])]

    def obstore(self, prefix):
        access = {name.lower(): value for name, value in self.keys_of_reader.items()}
        return S3Store(BUCKET, prefix=prefix, endpoint=self.address, region=REGION, client_options={"allow_http": True}, **access)


class S3OverFolder(S3):
    """s3s-fs. Its listings claim that names are percent-encoded, and they are not. It has no empty names."""

    cannot_name = ("a//b",)

    def __init__(self, name, address, folder):
        super().__init__(name, address)
        self.folder = folder

    def listed(self, prefix):
        bucket = self.folder / BUCKET
        keys = (str(path.relative_to(bucket)) for path in bucket.rglob("*") if path.is_file())
        return sorted(key for key in keys if key.startswith(prefix))

    def uploads(self):
        return [path.name for path in self.folder.glob(".upload*")]


class Azure:
    scheme = "az"
    cannot_name = ()

    def __init__(self, name, address):
        self.name, self.address, self.secrets = name, f"{address}/{AZURE_ACCOUNT}", [AZURE_KEY]
        self.account = {"AZURE_STORAGE_ACCOUNT_NAME": AZURE_ACCOUNT, "AZURE_STORAGE_ENDPOINT": self.address}
        self.environment = CLEAN | self.account | {"AZURE_STORAGE_ACCOUNT_KEY": AZURE_KEY}
        self.access = {"account_name": AZURE_ACCOUNT, "account_key": AZURE_KEY}
        service = BlobServiceClient(self.address, credential=self.access, api_version=AZURE_VERSION)
        self.container = service.get_container_client(BUCKET)

    def at(self, address):
        return {"AZURE_STORAGE_ENDPOINT": f"{address}/{AZURE_ACCOUNT}"}

    def create(self):
        self.container.create_container()

    def put(self, key, content):
        self.container.upload_blob(key, content, overwrite=True)

    def listed(self, prefix):
        return [found.name for found in self.container.list_blobs(name_starts_with=prefix)]

    def uploads(self):
        """Blocks that no list names belong to no blob. Azure removes them itself."""
        return []

    def obstore(self, prefix):
        return AzureStore(BUCKET, prefix=prefix, client_options={"allow_http": True}, endpoint=self.address, **self.access)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for(port, process):
    for _ in range(SECONDS_TO_ANSWER * 10):
        assert process.poll() is None, f"the server ended with {process.returncode}"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise AssertionError("the server does not answer")


@contextlib.contextmanager
def served(command, port, **environment):
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([str(word) for word in command], **silent, env=os.environ | environment)
    try:
        wait_for(port, process)
        yield
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def program(variable, name):
    """The path of a server that is not of this environment."""
    found = os.environ.get(variable) or shutil.which(name)
    assert found, f"no {name}: name it by {variable}, or put it on the PATH"
    return found


def servers(folder, port, address):
    """The command of each server, its environment, and its client."""
    s3s, here = S3OverFolder("s3s-fs", address, folder), ["--port", port]
    keys = ["--access-key", s3s.keys_of_reader["AWS_ACCESS_KEY_ID"], "--secret-key", s3s.secrets[0]]
    blob = ["--silent", "--blobHost", "127.0.0.1", "--blobPort", port, "--skipApiVersionCheck", "--disableTelemetry"]
    return {
        # It lists 50 keys at a time.
        "moto": (
            lambda: [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", port],
            {"MOTO_S3_DEFAULT_MAX_KEYS": "50"},
            lambda: S3("moto", address),
        ),
        "s3s-fs": (
            lambda: [program("S3S_FS", "s3s-fs"), "--host", "127.0.0.1", *here, *keys, folder],
            {},
            lambda: s3s,
        ),
        # It ignores conditions, and its listings leave out folders that hold only folders. Its tokens of pages are
        # encrypted as OpenSSL 3 does no more of itself.
        "s3rver": (
            lambda: [program("S3RVER", "s3rver"), "--silent", "--address", "127.0.0.1", *here, "--directory", folder],
            {"NODE_OPTIONS": "--openssl-legacy-provider"},
            lambda: S3("s3rver", address, "S3RVER", "S3RVER"),
        ),
        "azurite": (
            lambda: [program("AZURITE_BLOB", "azurite-blob"), *blob, "--location", folder],
            {},
            lambda: Azure("azurite", address),
        ),
    }


CLOUDS = ["moto", "s3s-fs", "s3rver", "azurite", "google"]


@contextlib.contextmanager
def cloud(name, folder):
    """Starts a store of that name with an empty bucket, in the folder."""
    folder.mkdir(parents=True)
    port = free_port()
    with contextlib.ExitStack() as stack:
        if name == "google":
            found = stack.enter_context(GoogleServer(folder))
        else:
            command, environment, client = servers(folder, port, f"http://127.0.0.1:{port}")[name]
            stack.enter_context(served(command(), port, **environment))
            found = client()
        found.create()
        yield found
