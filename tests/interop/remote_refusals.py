"""Refusals of servers, and invalid certificates: messages are in time, suggest a solution and contain no secrets."""

import datetime
import ipaddress
import json
import socket
import ssl
import time

from azure.storage.blob import ContainerSasPermissions, generate_container_sas
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from program import FIXTURES, same_files
from remote_jobs import on_each, upload, url
from remote_servers import AZURE_ACCOUNT, AZURE_KEY, AZURE_VERSION, BUCKET, GoogleServer

FIXTURE = FIXTURES / "valid" / "zarr-python_3.1.6_sharded_index_end"
CLOUDS = ["s3s-fs", "moto", "s3rver", "azurite", "google"]
# Seconds for a fault that is not retried, and for one that is, including the start of the program.
AT_ONCE, IN_TIME = 5, 16


def told(program, folder, *arguments, said, seconds=AT_ONCE):
    """Asserts a failure in time, with a reason and a suggestion. Returns the message."""
    began = time.monotonic()
    message = program.status(3, *arguments)
    took = time.monotonic() - began
    assert took < seconds, f"{took:.1f} s: {message}"
    for word in (*said, "help: "):
        assert word in message, (word, message)
    assert not (folder / "there").exists(), "something is left"
    return message


def refusals(tally, zarrcast, place):
    def on(found):
        program = zarrcast.within(**found.environment)
        upload(found, FIXTURE, "data")
        # A bound socket that does not listen: no server that starts in the meantime gets its port.
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            closed = found.at(f"http://127.0.0.1:{silent.getsockname()[1]}")
            # Each fault: its name, environment variables, words of the message.
            faults = [
                ("missing bucket", {}, ["no-such-bucket", "check its name"]),
                ("refused connection", closed, ["refused", "attempts"]),
                *of_one(found, place / found.name),
            ]
            for name, variables, said in faults:
                with tally.case(found.name, name) as folder:
                    refused(program, found, folder, name, variables, said)
        for job in [anonymous, *([shared_access] if found.name == "azurite" else [])]:
            with tally.case(found.name, job.__name__) as folder:
                job(program, found, folder)

    on_each(tally, CLOUDS, place, on)


def refused(program, cloud, folder, name, variables, said):
    secrets = [*cloud.secrets, *(value for name, value in variables.items() if value and "KEY" in name)]
    program = program.within(**variables)
    bucket = {"missing bucket": "no-such-bucket", "no container's name": "Upper_Case"}.get(name, BUCKET)
    store, seconds = f"{cloud.scheme}://{bucket}/data", IN_TIME if "attempts" in said else AT_ONCE
    jobs = [["transcode", store, folder / "there"], ["transcode", FIXTURE, f"{store}-new"]]
    # Retries are slow.
    for arguments in jobs[:1] if "attempts" in said else jobs:
        message = told(program, folder, *arguments, said=said, seconds=seconds)
        assert len(message.splitlines()) <= 3, message
        assert not any(secret in message for secret in secrets), message
    assert bucket != BUCKET or not cloud.listed("data-new"), "something was written"


def of_one(cloud, place):
    """Yields the faults of one kind of store."""
    if cloud.name == "s3s-fs":
        key, secret = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"
        yield "wrong secret", {secret: "another-secret"}, ["SignatureDoesNotMatch", secret]
        yield "wrong key", {key: "nobody"}, [key]
    elif cloud.name == "azurite":
        key, sas = "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_KEY"
        yield "wrong key", {key: "QUFBQQ=="}, [key]
        yield "no key", {key: "not base64!"}, [key]
        yield "wrong account", {"AZURE_STORAGE_ACCOUNT_NAME": "another"}, ["AZURE_STORAGE_ACCOUNT_NAME"]
        yield "expired signature", {key: None, sas: signature(-1)}, [sas, "expires"]
        yield "no signature", {key: None, sas: "nothing"}, [sas]
        yield "no container's name", {}, ["a container name has"]
    elif cloud.name == "google":
        (place / "other").mkdir()
        with GoogleServer(place / "other") as other:
            stranger = other.account
        no_key, no_json = place / "no-key.json", place / "no.json"
        no_key.write_text(json.dumps(json.loads(cloud.account.read_text()) | {"private_key": "hidden"}))
        no_json.write_text('"hidden"')
        path = "GOOGLE_SERVICE_ACCOUNT_PATH"
        yield "another's key", {path: str(stranger)}, ["AuthenticationRequired", "GOOGLE_APPLICATION_CREDENTIALS"]
        yield "no private key", {path: str(no_key)}, ["no-key.json", "service account"]
        yield "no JSON", {path: str(no_json)}, ["no.json", "service account"]
        yield "no such file", {path: str(place / "nothing.json")}, ["nothing.json", "cannot be read"]


def anonymous(program, cloud, folder):
    """Without a signature, a private store refuses and the message explains how to sign. A public one is read."""
    if cloud.name == "s3rver":
        program.ok("transcode", "--anonymous", url(cloud, "data"), folder / "copy")
        return
    command = ["transcode", "--anonymous", url(cloud, "data")]
    variable = {"s3": "AWS_", "az": "AZURE_", "gs": "GOOGLE_"}[cloud.scheme]
    told(program, folder, *command, folder / "there", said=["403", variable])
    if cloud.name == "azurite":
        cloud.container.set_container_access_policy({}, public_access="container")
    elif cloud.name == "google":
        cloud.is_public = True
    else:
        return
    program.ok(*command, folder / "copy")
    same_files(FIXTURE, folder / "copy")
    told(program, folder, "transcode", "--anonymous", FIXTURE, url(cloud, "anonymous"), said=["cannot"])
    assert not cloud.listed("anonymous")


def signature(hours):
    now = datetime.datetime.now(datetime.timezone.utc)
    span = {"start": now - datetime.timedelta(hours=9), "expiry": now + datetime.timedelta(hours=hours)}
    allowed = ContainerSasPermissions(read=True, list=True, write=True, delete=True, create=True)
    return generate_container_sas(AZURE_ACCOUNT, BUCKET, AZURE_KEY, permission=allowed, version=AZURE_VERSION, **span)


def shared_access(program, cloud, folder):
    """A signature replaces a key, by the environment or an option. It is never printed."""
    sas = signature(1)
    program = program.within(AZURE_STORAGE_ACCOUNT_KEY=None)
    signed = program.within(AZURE_STORAGE_SAS_KEY=f"?{sas}")
    signed.ok("transcode", "--verify", FIXTURE, url(cloud, "signed"))
    option = ["--storage-option", f"azure_storage_sas_key={sas}"]
    program.ok("transcode", url(cloud, "signed"), folder / "back", *option)
    same_files(FIXTURE, folder / "back")
    secret = sas.partition("sig=")[2].partition("&")[0]
    for store in (url(cloud, "signed"), url(cloud, "nothing"), "az://no-such-container/a"):
        for arguments in (["inspect", store, "--json"], ["transcode", store, folder / "b", "--json", "-v"]):
            process = program.run(*arguments, *option)
            assert secret not in process.stdout + process.stderr, process.stderr


DAY = datetime.timedelta(days=1)


class Authority:
    """A certificate authority that no machine knows by default."""

    def __init__(self, folder):
        self.folder, self.key, self.name = folder, ec.generate_private_key(ec.SECP256R1()), named("zarrcast's tests")
        builder = certificate(self.name, self.name, self.key.public_key(), -DAY, DAY)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self.path = folder / "authority.pem"
        self.path.write_bytes(pem(builder.sign(self.key, hashes.SHA256())))

    def context(self, name, begin=-DAY, end=DAY):
        """Returns a TLS context with a certificate for a name, valid from `begin` to `end` after now."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.DNSName(name)] if name[0].isalpha() else [x509.IPAddress(ipaddress.ip_address(name))]
        builder = certificate(named(name), self.name, key.public_key(), begin, end)
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        path = self.folder / "server.pem"
        path.write_bytes(key.private_bytes(*form) + pem(builder.sign(self.key, hashes.SHA256())))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context


def named(name):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def pem(made):
    return made.public_bytes(serialization.Encoding.PEM)


def certificate(subject, issuer, key, begin, end):
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    return builder.serial_number(x509.random_serial_number()).not_valid_before(now + begin).not_valid_after(now + end)


def tls(tally, zarrcast, place):
    """Only a certificate of a trusted authority is accepted, for this name and now."""
    authority, here = Authority(place), "127.0.0.1"
    trusted = {"SSL_CERT_FILE": str(authority.path)}
    for name, context, variables, said in [
        ("nobody trusts it", authority.context(here), {}, ["not signed by an authority", "SSL_CERT_FILE"]),
        ("expired", authority.context(here, -DAY * 3, -DAY * 2), trusted, ["expired"]),
        ("not yet", authority.context(here, DAY / 2), trusted, ["not valid yet", "clock"]),
        ("another name", authority.context("other.example.org"), trusted, ["not valid for name"]),
        ("no TLS at all", None, trusted, ["TLS", "http://"]),
        ("trusted", authority.context(here), trusted, None),
    ]:
        with tally.case("tls", name) as folder, GoogleServer(folder, context) as server:
            address = server.address.replace("http:", "https:")
            server.create()
            program = zarrcast.within(**server.environment).within(GOOGLE_BASE_URL=address, **variables)
            if said is None:
                program.ok("transcode", "--verify", FIXTURE, "gs://bucket/a")
                server.is_public = True
                for number, source in enumerate(("gs://bucket/a", f"{address}/bucket/a")):
                    program.ok("transcode", source, folder / str(number))
                    same_files(FIXTURE, folder / str(number))
                continue
            web = told(program, folder, "inspect", f"{address}/bucket/a", said=said)
            told(program, folder, "transcode", "gs://bucket/a", folder / "there", said=said)
            # A permanent fault is not retried.
            assert "attempts" not in web, web


SECTIONS = [refusals, tls]
