"""Servers that are spoken to by TLS, with certificates made here: which are taken, and how the others are told of."""

import datetime
import ipaddress
import ssl

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from program import FIXTURES, same_files
from remote_google import GoogleServer
from remote_refusals import told

DAY = datetime.timedelta(days=1)
FIXTURE = FIXTURES / "valid" / "zarr-python_3.1.6_sharded_index_end"


class Authority:
    """An authority that nobody knows before it is told of."""

    def __init__(self, folder):
        self.folder, self.key, self.name = folder, ec.generate_private_key(ec.SECP256R1()), named("zarrcast's tests")
        builder = certificate(self.name, self.name, self.key.public_key(), -DAY, DAY)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self.path = folder / "authority.pem"
        self.path.write_bytes(pem(builder.sign(self.key, hashes.SHA256())))

    def context(self, name, begin=-DAY, end=DAY):
        """The TLS context of a server. Its certificate is for a name, and valid from `begin` to `end` after now."""
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
    authority, here = Authority(place), "127.0.0.1"
    trusted = {"SSL_CERT_FILE": str(authority.path)}
    for name, context, variables, said in [
        ("nobody trusts it", authority.context(here), {}, ["nobody", "SSL_CERT_FILE"]),
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
            # What cannot pass is not tried again.
            assert "attempts" not in web, web


SECTIONS = [tls]
