"""A Google Cloud Storage of the tests' own: the XML interface, kept in memory, as far as stores of arrays need it.

After https://docs.cloud.google.com/storage/docs/xml-api/overview: objects by PUT, GET, HEAD and DELETE, copies, uploads in parts,
listings of the second version, and what it says of preconditions: `x-goog-if-generation-match` holds for writes (0: there is
none), while `If-Match` and `If-None-Match` are for reads alone and do nothing to a write. A request is allowed by a JSON Web
Token that a service account signed itself; without one, reading is allowed in public buckets.
"""

import base64
import functools
import hashlib
import http.server
import json
import ssl
import sys
import threading
import time
import urllib.parse
import xml.etree.ElementTree as ElementTree
from xml.sax.saxutils import escape

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from program import FIXTURES

NAMESPACE = "http://doc.s3.amazonaws.com/2006-03-01"
SCOPES = {"https://www.googleapis.com/auth/devstorage.full_control", "https://www.googleapis.com/auth/cloud-platform"}
ACCOUNT = "tester@project.iam.gserviceaccount.com"
PAGE = 100
CHANGED = "2026-11-22T12:00:00.000Z"


class Refused(Exception):
    """An answer that is an error, as the interface has them."""

    def __init__(self, status, code, message):
        super().__init__(code)
        self.status, self.code, self.message = status, code, message


class Stored:
    """An object of a generation, which grows with each write to the bucket."""

    def __init__(self, content, generation):
        self.content, self.generation = content, generation
        self.tag = f'"{hashlib.md5(content).hexdigest()}"'


class Bucket:
    def __init__(self, is_public):
        self.is_public, self.objects, self.uploads = is_public, {}, {}
        self.generation = 1_700_000_000_000_000

    def put(self, key, content):
        self.generation += 1
        self.objects[key] = Stored(content, self.generation)
        return self.objects[key]


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
    def __init__(self, tls=None):
        super().__init__(Handler, tls)
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.buckets, self.lock = {}, threading.Lock()

    def private_key(self):
        form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        return self.key.private_bytes(*form).decode()

    def service_account(self):
        """The file of credentials of an account that may do everything."""
        known = {"type": "service_account", "project_id": "project", "private_key_id": "one", "client_email": ACCOUNT}
        return json.dumps(known | {"private_key": self.private_key(), "token_uri": f"{self.address}/token"})

    def create(self, bucket, is_public=False):
        self.buckets[bucket] = Bucket(is_public)

    def put(self, bucket, key, content):
        with self.lock:
            self.buckets[bucket].put(key, content)

    def keys(self, bucket, prefix):
        with self.lock:
            return sorted(key for key in self.buckets[bucket].objects if key.startswith(prefix))

    def uploads(self, bucket):
        with self.lock:
            return [key for key, _ in self.buckets[bucket].uploads.values()]

    def is_signed(self, authorization):
        """True if a header has a token that the account signed and that is valid now. False without a header."""
        if authorization is None:
            return False
        wrong = Refused(401, "AuthenticationRequired", "Authentication required.")
        kind, _, token = authorization.partition(" ")
        message, _, signature = token.rpartition(".")
        try:
            claims = json.loads(decoded(message.split(".")[1]))
            self.key.public_key().verify(decoded(signature), message.encode(), padding.PKCS1v15(), hashes.SHA256())
        except (ValueError, IndexError, InvalidSignature):
            raise wrong from None
        is_current = claims["iat"] - 60 <= time.time() < claims["exp"] <= claims["iat"] + 3600
        if kind != "Bearer" or claims["iss"] != ACCOUNT or not is_current or not SCOPES & set(claims.get("scope", "").split()):
            raise wrong
        return True


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def answer(self, status, content=b"", **headers):
        self.send_response(status)
        self.send_header("last-modified", "Sun, 22 Nov 2026 12:00:00 GMT")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "content_length" not in headers:
            self.send_header("content-length", len(content))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def serve(self):
        content = self.rfile.read(int(self.headers.get("content-length") or 0))
        path, _, query = self.path.partition("?")
        _, name, key = (urllib.parse.unquote(path, errors="strict") + "/").split("/", 2)
        key, query = key[:-1], dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        try:
            is_signed = self.server.is_signed(self.headers.get("authorization"))
            with self.server.lock:
                bucket = self.server.buckets.get(name)
                if bucket is None:
                    raise Refused(404, "NoSuchBucket", "The specified bucket does not exist.")
                if not is_signed and not (bucket.is_public and self.command in ("GET", "HEAD")):
                    raise Refused(403, "AccessDenied", "Access denied.")
                status, content, headers = getattr(self, f"serve_{self.command.lower()}")(bucket, key, query, content)
        except Refused as error:
            text = f"<?xml version='1.0' encoding='UTF-8'?><Error><Code>{error.code}</Code><Message>{error.message}</Message></Error>"
            return self.answer(error.status, text.encode(), content_type="application/xml; charset=UTF-8")
        return self.answer(status, content, **headers)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = serve

    def found(self, bucket, key):
        if key not in bucket.objects:
            raise Refused(404, "NoSuchKey", "The specified key does not exist.")
        return bucket.objects[key]

    def check(self, bucket, key):
        """The precondition of a write."""
        wanted = self.headers.get("x-goog-if-generation-match")
        here = bucket.objects[key].generation if key in bucket.objects else 0
        if wanted is not None and int(wanted) != here:
            raise Refused(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold.")

    def serve_get(self, bucket, key, query, _):
        if not key:
            return listing(bucket, query)
        stored = self.found(bucket, key)
        if self.headers.get("if-match", stored.tag) not in (stored.tag, "*"):
            raise Refused(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold.")
        headers = {"etag": stored.tag, "x_goog_generation": stored.generation, "accept_ranges": "bytes"}
        size, asked = len(stored.content), self.headers.get("range", "")
        if not asked.startswith("bytes="):
            return 200, stored.content, headers
        first, last = asked.removeprefix("bytes=").split("-")
        start = int(first) if first else max(size - int(last), 0)
        end = min(int(last) + 1, size) if first and last else size
        if start >= end:
            raise Refused(416, "InvalidRange", "The requested range cannot be satisfied.")
        return 206, stored.content[start:end], headers | {"content_range": f"bytes {start}-{end - 1}/{size}"}

    def serve_head(self, bucket, key, *_):
        stored = self.found(bucket, key)
        return 200, b"", {"etag": stored.tag, "content_length": len(stored.content), "x_goog_generation": stored.generation}

    def serve_put(self, bucket, key, query, content):
        if "uploadId" in query:
            _, parts = self.upload(bucket, key, query)
            parts[int(query["partNumber"])] = content
            return 200, b"", {"etag": f'"{hashlib.md5(content).hexdigest()}"'}
        self.check(bucket, key)
        if source := self.headers.get("x-goog-copy-source"):
            name, _, source_key = urllib.parse.unquote(source, errors="strict").lstrip("/").partition("/")
            if name not in self.server.buckets:
                raise Refused(404, "NoSuchBucket", "The specified bucket does not exist.")
            stored = bucket.put(key, self.found(self.server.buckets[name], source_key).content)
            return xml("CopyObjectResult", f"<ETag>{escape(stored.tag)}</ETag><LastModified>{CHANGED}</LastModified>")
        stored = bucket.put(key, content)
        return 200, b"", {"etag": stored.tag, "x_goog_generation": stored.generation}

    def serve_delete(self, bucket, key, query, _):
        if "uploadId" in query:
            self.upload(bucket, key, query)
            del bucket.uploads[query["uploadId"]]
        else:
            self.found(bucket, key)
            self.check(bucket, key)
            del bucket.objects[key]
        return 204, b"", {}

    def upload(self, bucket, key, query):
        found = bucket.uploads.get(query["uploadId"])
        if found is None or found[0] != key:
            raise Refused(404, "NoSuchUpload", "The requested upload was not found.")
        return found

    def removed(self, bucket, content):
        """Removes the objects that a request names; what is said of those that are not removed."""
        digest = self.headers.get("content-md5")
        if digest is not None and digest != base64.b64encode(hashlib.md5(content).digest()).decode():
            raise Refused(400, "BadDigest", "The Content-MD5 you specified did not match what we received.")
        left = ""
        for field in ElementTree.fromstring(content).findall(".//{*}Key"):
            if bucket.objects.pop(field.text, None) is None:
                left += f"<Error><Key>{escape(field.text)}</Key><Code>NoSuchKey</Code></Error>"
        return left

    def serve_post(self, bucket, key, query, content):
        if "uploads" in query:
            name = f"upload-{len(bucket.uploads)}-{time.monotonic_ns()}"
            bucket.uploads[name] = (key, {})
            return xml("InitiateMultipartUploadResult", f"<UploadId>{name}</UploadId>")
        if "delete" in query:
            return xml("DeleteResult", self.removed(bucket, content))
        _, parts = self.upload(bucket, key, query)
        whole, before = [], 0
        for part in ElementTree.fromstring(content):
            number = int(part.find("{*}PartNumber").text)
            found = parts.get(number)
            if found is None or part.find("{*}ETag").text.strip('"') != hashlib.md5(found).hexdigest():
                raise Refused(400, "InvalidPart", "One or more of the specified parts could not be found.")
            if number <= before:
                raise Refused(400, "InvalidPartOrder", "The list of parts was not in ascending order.")
            before = number
            whole.append(found)
        if any(len(part) < 5 << 20 for part in whole[:-1]):
            raise Refused(400, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed object size.")
        self.check(bucket, key)
        del bucket.uploads[query["uploadId"]]
        stored = bucket.put(key, b"".join(whole))
        return xml("CompleteMultipartUploadResult", f"<ETag>{escape(stored.tag)}</ETag>")


def xml(name, inside):
    """An answer that is a document."""
    text = f"<?xml version='1.0' encoding='UTF-8'?><{name} xmlns='{NAMESPACE}'>{inside}</{name}>"
    return 200, text.encode(), {"content_type": "application/xml; charset=UTF-8"}


def listing(bucket, query):
    """A page of a listing, in the order of the names; what goes on behind a delimiter counts as one."""
    if query.get("list-type") != "2":
        raise Refused(400, "InvalidArgument", "These tests list by the second version.")
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter")
    most = min(int(query.get("max-keys", PAGE)), PAGE)
    after = base64.urlsafe_b64decode(query.get("continuation-token", "")).decode()
    entries = {}
    for key in sorted(key for key in bucket.objects if key.startswith(prefix)):
        end = key.find(delimiter, len(prefix)) if delimiter else -1
        name = key if end < 0 else key[: end + len(delimiter)]
        if name > after:
            entries[name] = end >= 0
    shown = list(entries)[:most]
    is_cut = len(entries) > len(shown)
    text = (lambda key: urllib.parse.quote(key, safe="/")) if query.get("encoding-type") == "url" else escape
    inside = [f"<Name>bucket</Name><Prefix>{text(prefix)}</Prefix><KeyCount>{len(shown)}</KeyCount><IsTruncated>{str(is_cut).lower()}</IsTruncated>"]
    if query.get("encoding-type") == "url":
        inside.append("<EncodingType>url</EncodingType>")
    if is_cut and shown:
        inside.append(f"<NextContinuationToken>{base64.urlsafe_b64encode(shown[-1].encode()).decode()}</NextContinuationToken>")
    for name in shown:
        if entries[name]:
            inside.append(f"<CommonPrefixes><Prefix>{text(name)}</Prefix></CommonPrefixes>")
        else:
            stored = bucket.objects[name]
            inside.append(
                f"<Contents><Key>{text(name)}</Key><Generation>{stored.generation}</Generation><MetaGeneration>1</MetaGeneration>"
                f"<LastModified>{CHANGED}</LastModified><ETag>{escape(stored.tag)}</ETag><Size>{len(stored.content)}</Size></Contents>"
            )
    return xml("ListBucketResult", "".join(inside))
