"""Results checked with published schemas: SARIF 2.1.0 and JUnit XML (tests/schemas), and `--json` with schemas/.

Every store of fixtures/invalid and some valid ones are checked. Members that a schema of schemas/ does not describe
are errors. Environment: jsonschema, xmlschema.
"""

import base64
import functools
import json
from itertools import product

import jsonschema
import xmlschema
from program import FIXTURES
from referencing import Registry, Resource

ROOT = FIXTURES.parent
VALIDATE = json.loads((ROOT / "schemas/validate.schema.json").read_text())
SARIF = json.loads((ROOT / "tests/schemas/sarif-2.1.0.schema.json").read_text())
JUNIT = ROOT / "tests/schemas/junit-jenkins.xsd"
# With several dimensions, with missing chunks, in shards, quantised, and in groups.
RESULTS_OF = [
    "zarr-python_3.1.6_float64", "zarr-python_3.1.6_missing_chunks_nan", "zarr-python_3.1.6_sharded_index_end",
    "zarr-python_3.1.6_type_complex64", "zarr-python_3.4.2_float32_as_uint8", "zarr-python_3.1.6_scalar",
]
GROUPS = ["zarr-python_3.1.6_group", "zarr-python_3.1.6_group_consolidated"]
ROUTES = {
    "copy": [], "recode": ["--compress", "zstd:1"], "rechunk": ["--chunk-shape", "7,9"],
    "reshard": ["--shard-shape", "none"], "quantised": ["--quantize", "uint8", "--missing", "auto"],
    "CF": ["--quantize", "uint16", "--as", "cf"], "version 2": ["--zarr-format", "2"],
}


def content(value):
    ((kind, of),) = value.items()
    makers = {"json": lambda: json.dumps(of).encode(), "text": lambda: of.encode(), "base64": lambda: base64.b64decode(of)}
    makers["fill"] = lambda: bytes([of["byte"]]) * of["count"]
    return makers[kind]() if kind in makers else None


def stores(place):
    for path in sorted((FIXTURES / "invalid").glob("*.json")):
        fixture = json.loads(path.read_text())
        folder = place / path.stem / "a store, 100 %"
        for key, value in fixture["store"].items():
            if (data := content(value)) is not None:
                (folder / key).parent.mkdir(parents=True, exist_ok=True)
                (folder / key).write_bytes(data)
        if folder.exists():
            yield fixture.get("level", "metadata"), folder
    for path in sorted((FIXTURES / "valid").iterdir())[:10]:
        yield "data", path


def closed(schema):
    """Returns the same schema, but members that it does not describe are errors."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    members = {name: closed(value) for name, value in schema.items()}
    return members | ({"additionalProperties": False} if "properties" in schema and "type" in schema else {})


def check(command, document):
    document = json.loads(document or "null")
    if document is not None:
        validator_of(command).validate(document)
    return document


@functools.cache
def validator_of(command):
    schema = json.loads((ROOT / f"schemas/{command}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    registry = Registry().with_resource("validate.schema.json", Resource.from_contents(closed(VALIDATE)))
    return jsonschema.Draft202012Validator(closed(schema), registry=registry)


def check_sarif(text):
    log = json.loads(text)
    jsonschema.Draft7Validator(SARIF, format_checker=jsonschema.FormatChecker()).validate(log)
    (run,) = log["runs"]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        for location in result["locations"]:
            assert " " not in location["physicalLocation"]["artifactLocation"]["uri"]
    return run


def verdicts(tally, zarrcast, place):
    """`validate` in each form for all stores of a level at once, and `inspect` of each store, also damaged ones."""
    junit, by_level = xmlschema.XMLSchema(JUNIT), {}
    for level, folder in stores(place):
        by_level.setdefault(level, []).append(folder)
        with tally.case("inspect", folder):
            process = zarrcast.run("inspect", "--json", folder)
            assert process.returncode in (0, 1) or not process.stdout, process.stderr
            check("inspect", process.stdout)

    def check_junit(text):
        (place / "report.xml").write_text(text)
        junit.validate(str(place / "report.xml"))

    checks = {"json": lambda text: check("validate", text), "sarif": check_sarif, "junit": check_junit}
    for (level, folders), (form, checked) in product(by_level.items(), checks.items()):
        with tally.case(form, level):
            assert len(folders) > 2, folders
            process = zarrcast.run("validate", "--format", form, "--level", level, *folders, expected=[0, 1])
            checked(process.stdout)
    with tally.case("junit", "control characters") as folder:
        (folder / "zarr.json").write_text('{"\\u0001\\u001b]<&>\\"": 1, "zarr_format": 3}')
        check_junit(zarrcast.run("validate", "--format", "junit", folder, expected=[1]).stdout)
    for form in ("sarif", "junit"):
        with tally.case(form, "no store"):
            run = checks[form](zarrcast.run("validate", "--format", form, place / "missing", expected=[3]).stdout)
            assert form == "junit" or run["invocations"][0]["executionSuccessful"] is False
    with tally.case("json", "against"):
        a, b = (FIXTURES / "valid" / name for name in ("zarr-python_3.1.6_gzip", "zarr-python_3.1.6_float16"))
        assert check("validate", zarrcast.run("validate", "--json", a, "--against", b).stdout)["against"]["nodes"]


def results(tally, zarrcast, place):
    """`inspect` with all options, and `transcode` on every route, with plans. Not every array supports every route."""
    for name in [*RESULTS_OF, *GROUPS]:
        store = FIXTURES / "valid" / name
        rank = len(json.loads((store / "zarr.json").read_text()).get("shape", []))
        chunk = ["--chunk", ",".join("0" * rank)] if rank else []
        inspections = [[]] if name in GROUPS else [["--stats", "--histogram", "4", *chunk], ["--suggest", "uint8"], ["--preview"]]
        for options in inspections:
            with tally.case("inspect", name, *options):
                document = check("inspect", zarrcast.run("inspect", "--json", *options, store, expected=[0, 1, 2]).stdout)
                assert name not in GROUPS or document["nodes"]
        for (route, options), more in product(ROUTES.items(), ("--dry-run", "--verify")):
            with tally.case("transcode", name, route, more) as folder:
                process = zarrcast.run("transcode", "--json", *options, more, store, folder / "b")
                assert (process.returncode == 0) == bool(process.stdout.strip()), process.stderr
                check("transcode", process.stdout)


def parts(tally, zarrcast, place):
    def run(command, *options):
        arguments = ["transcode", FIXTURES / "valid" / RESULTS_OF[0], place / "in parts", *options, "--json"]
        document = check(command, zarrcast.run(*arguments, expected=[0, 1]).stdout)
        assert document is not None
        return document

    with tally.case("parts"):
        init = ["--quantize", "uint8", "--missing", "auto", "--init", "--partitions", "2"]
        assert run("init", *init)["passes"] == run("init", *init)["passes"]
        for each in run("init", *init)["passes"]:
            for index in range(each["partitions"]):
                for more in ([], ["--pass", each["name"]]):
                    run("partition", "--partition", index, *more)
                run("status", "--status")
        run("transcode", "--finish")
        for again in ("--finish", "--status"):
            run("status", again)
        run("partition", "--partition", "0")


def applications(tally, zarrcast, place):
    """`apply-codec` in either direction, with times, a comparison and a fill value."""
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
        "like": ["--decode", "--like", FIXTURES / "valid" / RESULTS_OF[2], "--chunk", "0,0", place / "chunk"],
    }
    for name, options in runs.items():
        with tally.case("apply-codec", name):
            assert check("apply-codec", zarrcast.run("apply-codec", *options, "--json", expected=[0, 1]).stdout)


SECTIONS = [verdicts, results, parts, applications]
