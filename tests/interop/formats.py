"""Results against published schemas.

Environment: jsonschema, xmlschema. `zarrcast validate`: SARIF 2.1.0 and JUnit XML by the schemas in tests/schemas, over every
store of fixtures/invalid and valid ones. `--json` of each command by its schema in schemas/, which describes every member.
"""

import base64
import json

import jsonschema
import xmlschema
from program import FIXTURES
from referencing import Registry, Resource

ROOT = FIXTURES.parent
SARIF = json.loads((ROOT / "tests/schemas/sarif-2.1.0.schema.json").read_text())
JUNIT = ROOT / "tests/schemas/junit-jenkins.xsd"
VALIDATE = json.loads((ROOT / "schemas/validate.schema.json").read_text())
# Of more dimensions than one, with some chunks absent, in shards, quantised, and below groups.
RESULTS_OF = [
    "zarr-python_3.1.6_float64",
    "zarr-python_3.1.6_missing_chunks_nan",
    "zarr-python_3.1.6_sharded_index_end",
    "zarr-python_3.1.6_type_complex64",
    "zarr-python_3.4.2_float32_as_uint8",
    "zarr-python_3.1.6_scalar",
]


def content(value):
    """The bytes of a key of a fixture. None if it is no file."""
    ((kind, of),) = value.items()
    if kind == "json":
        return json.dumps(of).encode()
    if kind == "text":
        return of.encode()
    if kind == "base64":
        return base64.b64decode(of)
    if kind == "fill":
        return bytes([of["byte"]]) * of["count"]
    return None


def make_store(fixture, folder):
    for key, value in fixture["store"].items():
        if (data := content(value)) is not None:
            (folder / key).parent.mkdir(parents=True, exist_ok=True)
            (folder / key).write_bytes(data)


def stores(place):
    """Name, level and folder of every store."""
    for path in sorted((FIXTURES / "invalid").glob("*.json")):
        fixture = json.loads(path.read_text())
        folder = place / path.stem / "a store, 100 %"
        folder.mkdir(parents=True)
        make_store(fixture, folder)
        if any(folder.iterdir()):
            yield path.stem, fixture.get("level", "metadata"), folder
    for path in sorted((FIXTURES / "valid").iterdir())[:10]:
        yield path.name, "data", path


def report(zarrcast, form, level, *arguments):
    return zarrcast.run("validate", "--format", form, "--level", level, *arguments, expected=[0, 1]).stdout


def json_documents(tally, zarrcast, place):
    jsonschema.Draft202012Validator.check_schema(VALIDATE)
    validator = jsonschema.Draft202012Validator(VALIDATE)
    for name, level, folder in stores(place):
        with tally.case("json", name):
            validator.validate(json.loads(report(zarrcast, "json", level, folder)))
    a, b = (FIXTURES / "valid" / name for name in ("zarr-python_3.1.6_gzip", "zarr-python_3.1.6_float16"))
    with tally.case("json", "against"):
        document = json.loads(report(zarrcast, "json", "metadata", a, "--against", b))
        validator.validate(document)
        assert document["against"]["nodes"]


def closed(schema):
    """The same schema, but members that it does not describe are errors."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    members = {name: closed(value) for name, value in schema.items()}
    return members | ({"additionalProperties": False} if "properties" in schema and "type" in schema else {})


def validator_of(command):
    schema = json.loads((ROOT / f"schemas/{command}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    registry = Registry().with_resource("validate.schema.json", Resource.from_contents(closed(VALIDATE)))
    return jsonschema.Draft202012Validator(closed(schema), registry=registry)


def checked(validator, zarrcast, *arguments, expected=(0, 1)):
    """The valid document of a run. None if it printed nothing."""
    process = zarrcast.run(*arguments, "--json", expected=expected)
    if not process.stdout.strip():
        return None
    document = json.loads(process.stdout)
    validator.validate(document)
    return document


def inspect_documents(tally, zarrcast, place):
    """Every store, damaged ones too, with all options."""
    validator = validator_of("inspect")
    for name, _, folder in stores(place):
        with tally.case("inspect", name):
            process = zarrcast.run("inspect", "--json", folder)
            assert process.returncode in (0, 1) or not process.stdout, process.stderr
            if process.stdout:
                validator.validate(json.loads(process.stdout))
    for name in RESULTS_OF:
        folder = FIXTURES / "valid" / name
        rank = len(json.loads((folder / "zarr.json").read_text())["shape"])
        chunk = ["--chunk", ",".join("0" * rank)] if rank else []
        for options in (["--stats", "--histogram", "4", *chunk], ["--suggest", "uint8"], ["--preview"]):
            with tally.case("inspect", name, options):
                checked(validator, zarrcast, "inspect", *options, folder, expected=[0, 1, 2])
    for name in ("zarr-python_3.1.6_group", "zarr-python_3.1.6_group_consolidated"):
        with tally.case("inspect", name):
            assert checked(validator, zarrcast, "inspect", FIXTURES / "valid" / name)["nodes"]


def transcode_documents(tally, zarrcast, place):
    """Every route, with plans. Not every array takes every route."""
    validator = validator_of("transcode")
    routes = {
        "copy": [],
        "recode": ["--compress", "zstd:1"],
        "rechunk": ["--chunk-shape", "7,9"],
        "reshard": ["--shard-shape", "none"],
        "quantised": ["--quantize", "uint8", "--missing", "auto"],
        "CF": ["--quantize", "uint16", "--as", "cf"],
        "version 2": ["--zarr-format", "2"],
    }
    for name in [*RESULTS_OF, "zarr-python_3.1.6_group"]:
        for route, options in routes.items():
            for more in (["--dry-run"], ["--verify"]):
                with tally.case("transcode", name, route, more) as folder:
                    process = zarrcast.run("transcode", "--json", *options, *more, FIXTURES / "valid" / name, folder / "b")
                    assert process.returncode == 0 or not process.stdout.strip(), process.stderr
                    if process.returncode == 0:
                        validator.validate(json.loads(process.stdout))


def parts_documents(tally, zarrcast, place):
    """A job in parts: its plan, its parts, what is missing, and the finish."""
    job = ["transcode", FIXTURES / "valid" / RESULTS_OF[0], place / "in parts"]
    validators = {command: validator_of(command) for command in ("init", "partition", "status", "transcode")}

    def check(command, *options):
        document = checked(validators[command], zarrcast, *job, *options)
        assert document is not None
        return document

    with tally.case("init"):
        for _ in range(2):
            planned = check("init", "--quantize", "uint8", "--missing", "auto", "--init", "--partitions", "2")
    for name, partitions in [(each["name"], each["partitions"]) for each in planned["passes"]]:
        for index in range(partitions):
            with tally.case("partition", name, index):
                for more in ([], [], ["--pass", name]):
                    check("partition", "--partition", index, *more)
            with tally.case("status", name, index):
                check("status", "--status")
    with tally.case("finish"):
        check("transcode", "--finish")
        for again in ("--finish", "--status"):
            check("status", again)
        check("partition", "--partition", "0")


def apply_codec_documents(tally, zarrcast, place):
    """Either direction, with times, a comparison and a fill value."""
    validator = validator_of("apply-codec")
    chain = [
        {"name": "scale_offset", "configuration": {"offset": 1, "scale": 2}},
        {"name": "cast_value", "configuration": {"data_type": "int16"}},
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "zstd", "configuration": {"level": 1, "checksum": True}},
    ]
    typed = ["--codecs", json.dumps(chain), "--data-type", "float32", "--shape", "2,4", "--fill-value", "1"]
    (place / "in").write_bytes(bytes(32))
    runs = {
        "encode": [*typed, place / "in", place / "out"],
        "decode": ["--decode", *typed, place / "out", place / "back"],
        "round trip": ["--round-trip", "--repeat", "2", *typed, place / "in"],
        "stages": ["--stages", *typed, place / "in", place / "again"],
    }
    for name in RESULTS_OF[:3]:
        runs[name] = ["--decode", "--like", FIXTURES / "valid" / name, "--chunk", "0,0", place / f"{name} chunk"]
    for name, options in runs.items():
        with tally.case("apply-codec", name):
            assert checked(validator, zarrcast, "apply-codec", *options)


def sarif_logs(tally, zarrcast, place):
    validator = jsonschema.Draft7Validator(SARIF, format_checker=jsonschema.FormatChecker())
    for name, level, folder in stores(place):
        with tally.case("sarif", name):
            log = json.loads(report(zarrcast, "sarif", level, folder))
            validator.validate(log)
            (run,) = log["runs"]
            rules = run["tool"]["driver"]["rules"]
            for result in run["results"]:
                assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
                for location in result["locations"]:
                    assert " " not in location["physicalLocation"]["artifactLocation"]["uri"]


def check_junit(schema, folder, text):
    (folder / "report.xml").write_text(text)
    schema.validate(str(folder / "report.xml"))


def junit_reports(tally, zarrcast, place):
    schema = xmlschema.XMLSchema(JUNIT)
    for name, level, store in stores(place):
        with tally.case("junit", name) as folder:
            check_junit(schema, folder, report(zarrcast, "junit", level, store))
    with tally.case("junit", "control characters") as folder:
        make_store({"store": {"zarr.json": {"text": '{"\\u0001\\u001b]<&>\\"": 1, "zarr_format": 3}'}}}, folder / "a")
        check_junit(schema, folder, report(zarrcast, "junit", "metadata", folder / "a"))


def stores_that_are_missing(tally, zarrcast, _place):
    with tally.case("sarif", "no store") as folder:
        log = json.loads(zarrcast.run("validate", "--format", "sarif", folder / "missing", expected=[3]).stdout)
        jsonschema.Draft7Validator(SARIF).validate(log)
        assert log["runs"][0]["invocations"][0]["executionSuccessful"] is False
    with tally.case("junit", "no store") as folder:
        check_junit(xmlschema.XMLSchema(JUNIT), folder, zarrcast.run("validate", "--format", "junit", folder / "missing", expected=[3]).stdout)


SECTIONS = [
    json_documents,
    inspect_documents,
    transcode_documents,
    parts_documents,
    apply_codec_documents,
    sarif_logs,
    junit_reports,
    stores_that_are_missing,
]
