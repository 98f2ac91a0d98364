"""Faults of credentials, endpoints and names: messages come in time, say what to do, and have no secrets."""

import datetime
import json

from azure.storage.blob import ContainerSasPermissions, generate_container_sas
from fault_proxy import Answer, FaultProxy
from program import FIXTURES, same_files
from remote_faults import behind, told
from remote_google import GoogleServer
from remote_jobs import on_each, upload, url
from remote_servers import AZURE_ACCOUNT, AZURE_KEY, AZURE_VERSION, BUCKET, free_port

FIXTURE = FIXTURES / "valid" / "zarr-python_3.1.6_sharded_index_end"
CLOUDS = ["s3s-fs", "moto", "s3rver", "azurite", "google"]
# Seconds for what is not tried again, and for what is.
AT_ONCE, IN_TIME = 5, 16


def refusals(tally, zarrcast, place):
    """Faults of every kind of store, then those of one kind."""

    def on(found):
        program = zarrcast.within(**found.environment)
        upload(found, FIXTURE, "data")
        for name, variables, said, more in [*of_every_store(found), *OF_ONE.get(found.name, lambda *_: [])(found, place / found.name)]:
            with tally.case(found.name, name) as folder:
                refused(program, found, folder, variables, said, **more)
        for job in [anonymous, *([shared_access] if found.name == "azurite" else [])]:
            with tally.case(found.name, job.__name__) as folder:
                job(program, found, folder)

    on_each(tally, CLOUDS, place, on)


def refused(program, cloud, folder, variables, said, seconds=AT_ONCE, bucket=BUCKET, answer=None):
    """One fault, for a source and for a destination."""
    secrets = [*cloud.secrets, *(value for name, value in variables.items() if value and "KEY" in name)]
    program = program.within(**variables)
    store = f"{cloud.scheme}://{bucket}/data"

    def both(program):
        for arguments in (["inspect", store], ["transcode", store, folder / "there"], ["transcode", FIXTURE, f"{store}-new"]):
            message = told(program, folder, *arguments, said=said, seconds=seconds)
            assert len(message.splitlines()) <= 3, message
            assert not any(secret in message for secret in secrets), message
        assert not (folder / "there").exists(), "something is left"

    if answer is None:
        both(program)
    else:
        with FaultProxy(cloud.endpoint, lambda *_: answer) as proxy:
            both(behind(program, cloud, proxy))
            assert len(proxy.requests) <= 20, "what cannot succeed is tried again"
    if bucket == BUCKET:
        assert not cloud.listed("data-new"), "something was written"


def answered(status, code, **headers):
    return {"answer": Answer(status, f"<Error><Code>{code}</Code><Message>In its words.</Message></Error>".encode(), headers)}


def of_every_store(cloud):
    """Each fault: its name, variables of the environment, words of the message, and more that `refused` takes."""
    closed = cloud.at(f"http://127.0.0.1:{free_port()}")
    return [
        ("missing bucket", {}, ["no-such-bucket", "check its name"], {"bucket": "no-such-bucket"}),
        ("refused connection", closed, ["refused", "attempts"], {"seconds": IN_TIME}),
        ("no endpoint", cloud.at("nowhere"), ["endpoint"], {}),
        ("endpoint with a secret", cloud.at("http://user:hidden@127.0.0.1"), ["endpoint"], {}),
        ("expired token", {}, ["expired"], answered(400, "ExpiredToken")),
        ("refused", {}, ["AccessDenied", "credentials"], answered(403, "AccessDenied")),
        ("clock", {}, ["clock"], answered(403, "RequestTimeTooSkewed")),
    ]


def of_s3s(cloud, _):
    elsewhere = answered(400, "AuthorizationHeaderMalformed", **{"x-amz-bucket-region": "eu-west-3"})
    return [
        ("wrong secret", {"AWS_SECRET_ACCESS_KEY": "another-secret"}, ["SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY"], {}),
        ("wrong key", {"AWS_ACCESS_KEY_ID": "nobody"}, ["AWS_ACCESS_KEY_ID"], {}),
        ("wrong region", {}, ["eu-west-3", "AWS_REGION=eu-west-3"], elsewhere),
    ]


def of_azurite(cloud, _):
    key, sas = "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_KEY"
    return [
        ("wrong key", {key: "QUFBQQ=="}, [key], {}),
        ("no key", {key: "not base64!"}, [key], {}),
        ("wrong account", {"AZURE_STORAGE_ACCOUNT_NAME": "another"}, ["AZURE_STORAGE_ACCOUNT_NAME"], {}),
        ("expired signature", {key: None, sas: signature(-1)}, [sas, "expires"], {}),
        ("no signature", {key: None, sas: "nothing"}, [sas], {}),
        ("no container's name", {}, ["no name of a container"], {"bucket": "Upper_Case"}),
    ]


def of_google(cloud, place):
    with GoogleServer() as other:
        stranger = place / "stranger.json"
        stranger.write_text(other.service_account())
    no_key, no_json = place / "no-key.json", place / "no.json"
    no_key.write_text(json.dumps(json.loads(cloud.account.read_text()) | {"private_key": "hidden"}))
    no_json.write_text('"hidden"')
    path = "GOOGLE_SERVICE_ACCOUNT_PATH"
    return [
        ("another's key", {path: str(stranger)}, ["AuthenticationRequired", "GOOGLE_APPLICATION_CREDENTIALS"], {}),
        ("no private key", {path: str(no_key)}, ["no-key.json", "service account"], {}),
        ("no JSON", {path: str(no_json)}, ["no.json", "service account"], {}),
        ("no such file", {path: str(place / "nothing.json")}, ["nothing.json", "cannot be read"], {}),
    ]


OF_ONE = {"s3s-fs": of_s3s, "azurite": of_azurite, "google": of_google}


def anonymous(program, cloud, folder):
    """Without a signature, a store that wants one refuses, and says how to sign; a public one is read."""
    if cloud.name == "s3rver":
        program.ok("transcode", "--anonymous", url(cloud, "data"), folder / "copy")
        return
    variable = {"s3": "AWS_", "az": "AZURE_", "gs": "GOOGLE_"}[cloud.scheme]
    told(program, folder, "transcode", "--anonymous", url(cloud, "data"), folder / "there", said=["403", variable], seconds=AT_ONCE)
    if cloud.name == "azurite":
        cloud.container.set_container_access_policy({}, public_access="container")
    elif cloud.name == "google":
        cloud.server.buckets[BUCKET].is_public = True
    else:
        return
    program.ok("transcode", "--anonymous", url(cloud, "data"), folder / "copy")
    same_files(FIXTURE, folder / "copy")
    told(program, folder, "transcode", "--anonymous", FIXTURE, url(cloud, "anonymous"), said=["cannot"], seconds=AT_ONCE)
    assert not cloud.listed("anonymous")


def signature(hours):
    now = datetime.datetime.now(datetime.timezone.utc)
    span = {"start": now - datetime.timedelta(hours=9), "expiry": now + datetime.timedelta(hours=hours)}
    allowed = ContainerSasPermissions(read=True, list=True, write=True, delete=True, create=True)
    return generate_container_sas(AZURE_ACCOUNT, BUCKET, AZURE_KEY, permission=allowed, version=AZURE_VERSION, **span)


def shared_access(program, cloud, folder):
    """A signature in place of a key, by the environment or an option; nothing prints it."""
    sas = signature(1)
    program = program.within(AZURE_STORAGE_ACCOUNT_KEY=None)
    signed = program.within(AZURE_STORAGE_SAS_KEY=f"?{sas}")
    signed.ok("transcode", "--verify", FIXTURE, url(cloud, "signed"))
    option = ["--storage-option", f"azure_storage_sas_key={sas}"]
    program.ok("transcode", url(cloud, "signed"), folder / "back", *option)
    same_files(FIXTURE, folder / "back")
    secret = sas.partition("sig=")[2].partition("&")[0]
    for store in (url(cloud, "signed"), url(cloud, "nothing"), "az://no-such-container/a"):
        for arguments in (["inspect", store, "--json"], ["validate", store, "--json"], ["transcode", store, folder / "b", "--json", "-v"]):
            process = program.run(*arguments, *option)
            assert secret not in process.stdout + process.stderr, process.stderr


SECTIONS = [refusals]
