"""Object stores for tests, each on a free port of 127.0.0.1: servers of other projects, and an own Google Cloud
Storage.

`cloud(NAME, FOLDER)` starts one with an empty bucket, waits until it answers, and always stops it at the end. moto is
part of this environment. `S3S_FS`, `S3RVER` and `AZURITE_BLOB`, or the PATH, name the other programs.
"""

import base64
import contextlib
import functools
import hashlib
import html
import http.client
import http.server
import json
import logging
import os
import re
import shutil
import socket
import ssl
import sys
import threading
import time
import urllib.parse

import boto3
from azure.storage.blob import BlobServiceClient
from botocore.config import Config
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from obstore.store import AzureStore, GCSStore, S3Store
from program import FIXTURES, free_port, running, until

REGION = "us-east-1"
# Azurite's default account and key, from its documentation.
AZURE_ACCOUNT = "devstoreaccount1"
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
AZURE_VERSION = "2023-11-03"

SCOPES = {"https://www.googleapis.com/auth/devstorage.full_control", "https://www.googleapis.com/auth/cloud-platform"}
ACCOUNT = "tester@project.iam.gserviceaccount.com"
BUCKET = "bucket"
# Settings that would otherwise depend on the user's environment.
CLEAN = {"NO_PROXY": "127.0.0.1", "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
# moto checks no signature.
SIGNED = "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=a"
NOT_PASSED_ON = {"authorization", "host", "connection", "transfer-encoding", "content-length", "server", "date"}


class Refused(Exception):
    """An error answer: its status, code and message."""


class Listener(http.server.ThreadingHTTPServer):
    """A server on a free port of 127.0.0.1. It uses TLS if there is a context."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, handler, tls=None):
        super().__init__(("127.0.0.1", 0), handler)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.address = f"{'https' if tls else 'http'}://127.0.0.1:{self.server_port}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def handle_error(self, *_):
        """A client may close a connection at any time."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, ssl.SSLError)):
            super().handle_error(*_)


class Web(Listener):
    """The web server of Python for the fixtures. It has no ranges, and its listings are pages for people."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    def __init__(self, tls=None):
        super().__init__(functools.partial(self.Handler, directory=str(FIXTURES / "valid")), tls)


class GoogleServer(Listener):
    """A Google Cloud Storage: its XML interface and its tokens, in front of the S3 of moto. Its account is a file.

    See https://docs.cloud.google.com/storage/docs/xml-api/overview. Objects, multipart uploads and listings are those
    of S3. Its own features are `x-goog-copy-source` and preconditions. `x-goog-if-generation-match` is for writes (0:
    no object exists), while `If-Match` and `If-None-Match` are only for reads. A request needs a JSON Web Token that a
    service account has signed itself. Without one, only a public store can be read.
    """

    name, scheme, cannot_name = "google", "gs", ()

    def __init__(self, folder, tls=None):
        super().__init__(Handler, tls)
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.is_public, self.lock, self.generations, self.parts_of = False, threading.RLock(), {}, {}
        self.generation = 1_700_000_000_000_000
        form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        self.private_key = self.key.private_bytes(*form).decode()
        self.secrets = [line for line in self.private_key.splitlines() if "-" not in line]
        self.account = folder / "service-account.json"
        self.account.write_text(self.service_account())
        self.environment = CLEAN | {"GOOGLE_SERVICE_ACCOUNT_PATH": str(self.account)} | self.at(self.address)

    def at(self, address):
        return {"GOOGLE_BASE_URL": address}

    def obstore(self, prefix):
        access = {"service_account_path": str(self.account), "base_url": self.address}
        return GCSStore(BUCKET, prefix=prefix, client_options={"allow_http": True}, **access)

    def service_account(self):
        known = {"type": "service_account", "project_id": "project", "private_key_id": "one", "client_email": ACCOUNT}
        return json.dumps(known | {"private_key": self.private_key, "token_uri": f"{self.address}/token"})

    def create(self):
        from moto.server import ThreadedMotoServer

        os.environ["MOTO_S3_DEFAULT_MAX_KEYS"] = "50"
        logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
        self.behind = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        self.behind.start()
        self.ask("PUT", f"/{BUCKET}")

    def __exit__(self, *_):
        super().__exit__()
        if hasattr(self, "behind"):
            self.behind.stop()

    def ask(self, method, target, content=b"", headers={}):  # noqa: B006 (nothing changes it)
        connection = http.client.HTTPConnection(*self.behind.get_host_and_port(), timeout=60)
        connection.request(method, target, content, {**headers, "Authorization": SIGNED})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, dict(answer.getheaders()), body

    def put(self, key, content):
        self.ask("PUT", f"/{BUCKET}/{urllib.parse.quote(key)}", content)
        self.written(key)

    def written(self, key):
        with self.lock:
            self.generation += 1
            self.generations[key] = self.generation

    def listed(self, prefix):
        with self.lock:
            return sorted(key for key in self.generations if key.startswith(prefix))

    def uploads(self):
        with self.lock:
            return list(self.parts_of.values())

    def check_allowed(self, authorization, is_read):
        """Fails unless a header has a valid token that the account signed, or the store is public for reads."""
        if authorization is None:
            if self.is_public and is_read:
                return
            raise Refused(403, "AccessDenied", "Access denied.")
        kind, _, token = authorization.partition(" ")
        message, _, signature = token.rpartition(".")
        try:
            claims = json.loads(decoded(message.split(".")[1]))
            self.key.public_key().verify(decoded(signature), message.encode(), padding.PKCS1v15(), hashes.SHA256())
        except (ValueError, IndexError, InvalidSignature):
            claims = {"iss": None, "iat": 0, "exp": 0}
        is_current = claims["iat"] - 60 <= time.time() < claims["exp"] <= claims["iat"] + 3600
        is_allowed = claims["iss"] == ACCOUNT and SCOPES & set(claims.get("scope", "").split())
        if kind != "Bearer" or not is_current or not is_allowed:
            raise Refused(401, "AuthenticationRequired", "Authentication required.")


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def serve(self):
        content = self.rfile.read(int(self.headers.get("content-length") or 0))
        path, _, query = self.path.partition("?")
        key = urllib.parse.unquote(path, errors="strict").lstrip("/").partition("/")[2]
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        try:
            self.server.check_allowed(self.headers.get("authorization"), self.command in ("GET", "HEAD"))
            status, headers, body = self.pass_on(key, query, content)
        except Refused as error:
            status, code, message = error.args
            text = f"<?xml version='1.0' encoding='UTF-8'?><Error><Code>{code}</Code><Message>{message}</Message></Error>"
            headers, body = {"content-type": "application/xml; charset=UTF-8"}, text.encode()
        self.send_response(status)
        is_head = self.command == "HEAD"
        for name, value in headers.items():
            if name.lower() not in NOT_PASSED_ON and not name.lower().startswith("x-amz-"):
                self.send_header(name, value)
        length = {name.lower(): value for name, value in headers.items()}.get("content-length", 0)
        self.send_header("content-length", length if is_head else len(body))
        self.end_headers()
        self.wfile.write(b"" if is_head else body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = serve

    def pass_on(self, key, query, content):
        """Sends the request to moto in S3 terms, if the precondition of a write is true."""
        server, headers = self.server, {name.lower(): value for name, value in self.headers.items()}
        headers = {name: value for name, value in headers.items() if name not in NOT_PASSED_ON}
        wanted = headers.pop("x-goog-if-generation-match", None)
        if source := headers.pop("x-goog-copy-source", None):
            headers["x-amz-copy-source"] = source
        if self.command not in ("GET", "HEAD"):
            headers = {name: value for name, value in headers.items() if name not in ("if-match", "if-none-match")}
        if "delete" in query and headers.get("content-md5") != base64.b64encode(hashlib.md5(content).digest()).decode():
            raise Refused(400, "BadDigest", "The Content-MD5 you specified did not match what we received.")
        with server.lock if wanted is not None else threading.Lock():
            if wanted is not None and int(wanted) != server.generations.get(key, 0):
                raise Refused(412, "PreconditionFailed", "At least one of the pre-conditions did not hold.")
            status, answered, body = server.ask(self.command, self.path, content, headers)
            if status < 300:
                self.note(key, query, content, body)
        if key in server.generations:
            answered["x-goog-generation"] = server.generations[key]
        return status, answered, body

    def note(self, key, query, content, body):
        server = self.server
        with server.lock:
            if self.command == "DELETE" and "uploadId" not in query:
                server.generations.pop(key, None)
            elif "delete" in query:
                for found in re.findall("<Key>(.*?)</Key>", content.decode()):
                    server.generations.pop(html.unescape(found), None)
            elif "uploads" in query:
                server.parts_of[re.search("<UploadId>(.*?)</UploadId>", body.decode())[1]] = key
            elif self.command in ("DELETE", "POST"):
                server.parts_of.pop(query["uploadId"], None)
            if (self.command == "POST" and "uploadId" in query) or (self.command == "PUT" and "uploadId" not in query):
                server.written(key)


class S3:
    scheme = "s3"
    # Names that the server does not support.
    cannot_name = ()

    def __init__(self, name, address, key_id="reader", secret="hidden-secret"):
        self.name, self.address, self.secrets = name, address, [secret]
        self.keys_of_reader = {"AWS_ACCESS_KEY_ID": key_id, "AWS_SECRET_ACCESS_KEY": secret}
        self.environment = CLEAN | self.keys_of_reader | {"AWS_REGION": REGION, "AWS_ENDPOINT_URL": address}
        self.client = boto3.client(
            "s3", endpoint_url=address, region_name=REGION, aws_access_key_id=key_id, aws_secret_access_key=secret,
            config=Config(s3={"addressing_style": "path"}, request_checksum_calculation="when_required"),
        )

    def at(self, address):
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
    """s3s-fs. Its listings claim percent-encoded names, but do not encode them. It does not support empty names."""

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


@contextlib.contextmanager
def served(command, port, folder, **environment):
    with running(command, folder / "log", os.environ | environment, folder) as process:

        def answers():
            assert process.poll() is None, f"the server ended with {process.returncode}"
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                return True

        until(answers, "the server answers")
        yield


def program(variable, name):
    """Returns the path of a server that is not part of this environment."""
    found = os.environ.get(variable) or shutil.which(name)
    assert found, f"no {name}: name it by {variable}, or put it on the PATH"
    return found


def servers(folder, port, address):
    s3s, here = S3OverFolder("s3s-fs", address, folder), ["--port", port]
    keys = ["--access-key", s3s.keys_of_reader["AWS_ACCESS_KEY_ID"], "--secret-key", s3s.secrets[0]]
    blob = ["--silent", "--blobHost", "127.0.0.1", "--blobPort", port, "--skipApiVersionCheck", "--disableTelemetry"]
    return {
        # It lists 50 keys at a time.
        "moto": (
            lambda: [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", port],
            {"MOTO_S3_DEFAULT_MAX_KEYS": "50"}, lambda: S3("moto", address),
        ),
        "s3s-fs": (lambda: [program("S3S_FS", "s3s-fs"), "--host", "127.0.0.1", *here, *keys, folder], {}, lambda: s3s),
        # It ignores conditions, lists no folders with only folders in them, and needs encryption that OpenSSL 3
        # dropped.
        "s3rver": (
            lambda: [program("S3RVER", "s3rver"), "--silent", "--address", "127.0.0.1", *here, "--directory", folder],
            {"NODE_OPTIONS": "--openssl-legacy-provider"}, lambda: S3("s3rver", address, "S3RVER", "S3RVER"),
        ),
        "azurite": (
            lambda: [program("AZURITE_BLOB", "azurite-blob"), *blob, "--location", folder],
            {}, lambda: Azure("azurite", address),
        ),
    }

CLOUDS = ["moto", "s3s-fs", "s3rver", "azurite", "google"]


@contextlib.contextmanager
def cloud(name, folder):
    folder.mkdir(parents=True)
    port = free_port()
    with contextlib.ExitStack() as stack:
        if name == "google":
            found = stack.enter_context(GoogleServer(folder))
        else:
            command, environment, client = servers(folder, port, f"http://127.0.0.1:{port}")[name]
            stack.enter_context(served(command(), port, folder.parent, **environment))
            found = client()
        found.create()
        yield found
