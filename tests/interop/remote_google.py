"""A Google Cloud Storage of the tests' own: its XML interface and its tokens, before the S3 of moto, which keeps the objects.

After https://docs.cloud.google.com/storage/docs/xml-api/overview: objects, uploads in parts and listings are those of S3;
its own are `x-goog-copy-source` and preconditions: `x-goog-if-generation-match` holds for writes (0: there is none), while
`If-Match` and `If-None-Match` are for reads alone and do nothing to a write. A request is allowed by a JSON Web Token that
a service account signed itself; without one, reading is allowed where the store is public.
"""

import base64
import functools
import hashlib
import html
import http.client
import http.server
import json
import logging
import os
import re
import ssl
import sys
import threading
import time
import urllib.parse

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from obstore.store import GCSStore
from program import FIXTURES

SCOPES = {"https://www.googleapis.com/auth/devstorage.full_control", "https://www.googleapis.com/auth/cloud-platform"}
ACCOUNT = "tester@project.iam.gserviceaccount.com"
BUCKET = "bucket"
# What the variables of whoever runs the tests would change.
CLEAN = {"NO_PROXY": "127.0.0.1", "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
# moto looks at no signature.
SIGNED = "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=a"
NOT_PASSED_ON = {"authorization", "host", "connection", "transfer-encoding", "content-length", "server", "date"}


class Refused(Exception):
    """An answer that is an error: its status, code and message."""


class Listener(http.server.ThreadingHTTPServer):
    """A server on a free port of 127.0.0.1. It speaks TLS where there is a context for that."""

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
        """A client may end a connection at any time."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, ssl.SSLError)):
            super().handle_error(*_)


class Web(Listener):
    """The web server of Python over the fixtures. It has no ranges, and its listings are pages for people."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    def __init__(self, tls=None):
        super().__init__(functools.partial(self.Handler, directory=str(FIXTURES / "valid")), tls)


class GoogleServer(Listener):
    """A store as those of remote_servers.py are. Its account is a file in a folder."""

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
        """The file of credentials of an account that may do everything."""
        known = {"type": "service_account", "project_id": "project", "private_key_id": "one", "client_email": ACCOUNT}
        return json.dumps(known | {"private_key": self.private_key, "token_uri": f"{self.address}/token"})

    def create(self):
        """Starts moto, with an empty bucket."""
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
        """The answer of moto: status, headers and body."""
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
        """Notes that an object is of a new generation."""
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
        """Fails unless a header has a token that the account signed and that is valid now, or all may read."""
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
    """One connection."""

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
        """Asks moto in its own words, where the precondition of a write holds."""
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
        """Takes note of what a request has changed."""
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
