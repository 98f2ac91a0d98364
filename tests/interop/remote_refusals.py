"""What other servers refuse: messages come in time, say what to do, and have no secrets."""

import datetime
import json
import time

from azure.storage.blob import ContainerSasPermissions, generate_container_sas
from program import FIXTURES, same_files
from remote_google import GoogleServer
from remote_jobs import on_each, upload, url
from remote_servers import AZURE_ACCOUNT, AZURE_KEY, AZURE_VERSION, BUCKET, free_port

FIXTURE = FIXTURES / "valid" / "zarr-python_3.1.6_sharded_index_end"
CLOUDS = ["s3s-fs", "moto", "s3rver", "azurite", "google"]
# Seconds for what is not tried again, and for what is, with the start of this program.
AT_ONCE, IN_TIME = 5, 16


def told(program, folder, *arguments, said, seconds=AT_ONCE):
    """A failure in time, with a reason and something to do. Returns the message."""
    began = time.monotonic()
    message = program.status(3, *arguments)
    took = time.monotonic() - began
    assert took < seconds, f"{took:.1f} s: {message}"
    for word in (*said, "help: "):
        assert word in message, (word, message)
    assert not (folder / "there").exists(), "something is left"
    return message


def refusals(tally, zarrcast, place):
    """Faults of every kind of store, then those of one kind."""

    def on(found):
        program = zarrcast.within(**found.environment)
        upload(found, FIXTURE, "data")
        closed = found.at(f"http://127.0.0.1:{free_port()}")
        # Each fault: its name, variables of the environment, words of the message.
        faults = [
            ("missing bucket", {}, ["no-such-bucket", "check its name"]),
            ("refused connection", closed, ["refused", "attempts"]),
            *OF_ONE.get(found.name, lambda *_: [])(found, place / found.name),
        ]
        for name, variables, said in faults:
            with tally.case(found.name, name) as folder:
                refused(program, found, folder, name, variables, said)
        for job in [anonymous, *([shared_access] if found.name == "azurite" else [])]:
            with tally.case(found.name, job.__name__) as folder:
                job(program, found, folder)

    on_each(tally, CLOUDS, place, on)


def refused(program, cloud, folder, name, variables, said):
    """One fault, for a source and for a destination."""
    secrets = [*cloud.secrets, *(value for name, value in variables.items() if value and "KEY" in name)]
    program = program.within(**variables)
    bucket = {"missing bucket": "no-such-bucket", "no container's name": "Upper_Case"}.get(name, BUCKET)
    store, seconds = f"{cloud.scheme}://{bucket}/data", IN_TIME if "attempts" in said else AT_ONCE
    jobs = [["transcode", store, folder / "there"], ["transcode", FIXTURE, f"{store}-new"]]
    # What is tried again takes its time.
    for arguments in jobs[:1] if "attempts" in said else jobs:
        message = told(program, folder, *arguments, said=said, seconds=seconds)
        assert len(message.splitlines()) <= 3, message
        assert not any(secret in message for secret in secrets), message
    assert bucket != BUCKET or not cloud.listed("data-new"), "something was written"


def of_s3s(*_):
    key, secret = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"
    return [
        ("wrong secret", {secret: "another-secret"}, ["SignatureDoesNotMatch", secret]),
        ("wrong key", {key: "nobody"}, [key]),
    ]


def of_azurite(*_):
    key, sas = "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_KEY"
    return [
        ("wrong key", {key: "QUFBQQ=="}, [key]),
        ("no key", {key: "not base64!"}, [key]),
        ("wrong account", {"AZURE_STORAGE_ACCOUNT_NAME": "another"}, ["AZURE_STORAGE_ACCOUNT_NAME"]),
        ("expired signature", {key: None, sas: signature(-1)}, [sas, "expires"]),
        ("no signature", {key: None, sas: "nothing"}, [sas]),
        ("no container's name", {}, ["no name of a container"]),
    ]


def of_google(cloud, place):
    (place / "other").mkdir()
    with GoogleServer(place / "other") as other:
        stranger = other.account
    no_key, no_json = place / "no-key.json", place / "no.json"
    no_key.write_text(json.dumps(json.loads(cloud.account.read_text()) | {"private_key": "hidden"}))
    no_json.write_text('"hidden"')
    path = "GOOGLE_SERVICE_ACCOUNT_PATH"
    return [
        ("another's key", {path: str(stranger)}, ["AuthenticationRequired", "GOOGLE_APPLICATION_CREDENTIALS"]),
        ("no private key", {path: str(no_key)}, ["no-key.json", "service account"]),
        ("no JSON", {path: str(no_json)}, ["no.json", "service account"]),
        ("no such file", {path: str(place / "nothing.json")}, ["nothing.json", "cannot be read"]),
    ]


OF_ONE = {"s3s-fs": of_s3s, "azurite": of_azurite, "google": of_google}


def anonymous(program, cloud, folder):
    """Without a signature, a store that wants one refuses, and says how to sign; a public one is read."""
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
        for arguments in (["inspect", store, "--json"], ["transcode", store, folder / "b", "--json", "-v"]):
            process = program.run(*arguments, *option)
            assert secret not in process.stdout + process.stderr, process.stderr


SECTIONS = [refusals]
