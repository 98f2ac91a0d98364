"""Servers that are spoken to by TLS, with certificates made here: which are taken, and how the others are told of."""

import datetime
import ipaddress
import ssl

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from program import FIXTURES, same_files
from remote_faults import told
from remote_google import GoogleServer
from remote_servers import Google

DAY = datetime.timedelta(days=1)


class Authority:
    """An authority that nobody knows before it is told of."""

    def __init__(self, folder):
        self.folder, self.key, self.name = folder, ec.generate_private_key(ec.SECP256R1()), named("zarrcast's tests")
        builder = certificate(self.name, self.name, self.key.public_key(), -DAY, DAY)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self.path = folder / "authority.pem"
        self.path.write_bytes(pem(builder.sign(self.key, hashes.SHA256())))

    def context(self, name, begin=-DAY, end=DAY):
        """The TLS context of a server, with a certificate for a name that is valid from `begin` to `end`, counted from now."""
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
    """Only what an authority signed that this machine trusts, for this name and now."""
    authority = Authority(place)
    trusted = {"SSL_CERT_FILE": str(authority.path)}
    for name, context, variables, said in [
        ("nobody trusts it", authority.context("127.0.0.1"), {}, ["nobody", "SSL_CERT_FILE"]),
        ("expired", authority.context("127.0.0.1", -DAY * 3, -DAY * 2), trusted, ["expired"]),
        ("not yet", authority.context("127.0.0.1", DAY / 2), trusted, ["not valid yet", "clock"]),
        ("another name", authority.context("other.example.org"), trusted, ["not valid for name"]),
        ("no TLS at all", None, trusted, ["TLS", "http://"]),
    ]:
        with tally.case("tls", name) as folder, GoogleServer(context) as server:
            address = server.address.replace("http:", "https:")
            program = store(server, folder, zarrcast).within(GOOGLE_BASE_URL=address, **variables)
            web = told(program, folder, "inspect", f"{address}/bucket/a", said=said, seconds=5)
            told(program, folder, "transcode", "gs://bucket/a", folder / "there", said=said, seconds=5)
            # What cannot pass is not tried again.
            assert "attempts" not in web, web
            assert not (folder / "there").exists()
    with tally.case("tls", "trusted") as folder, GoogleServer(authority.context("127.0.0.1")) as server:
        program = store(server, folder, zarrcast).within(**trusted)
        fixture = FIXTURES / "valid" / "zarr-python_3.1.6_sharded_index_end"
        program.ok("transcode", "--verify", fixture, "gs://bucket/a")
        program.ok("transcode", "gs://bucket/a", folder / "back")
        same_files(fixture, folder / "back")
        server.buckets["bucket"].is_public = True
        program.ok("transcode", f"{server.address}/bucket/a", folder / "web")
        same_files(fixture, folder / "web")


def store(server, folder, zarrcast):
    found = Google("google", server, folder)
    found.create()
    return zarrcast.within(**found.environment)


SECTIONS = [tls]
