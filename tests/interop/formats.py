#!/usr/bin/env python3
"""The reports of `zarrcast validate` against published schemas.

Environment: jsonschema, xmlschema. SARIF 2.1.0 and JUnit XML by the schemas in tests/schemas, `--json` by
schemas/validate.schema.json, over every store of fixtures/invalid and valid ones.
"""

import base64
import json

import jsonschema
import xmlschema
from program import FIXTURES, run_sections

ROOT = FIXTURES.parent
SARIF = json.loads((ROOT / "tests/schemas/sarif-2.1.0.schema.json").read_text())
JUNIT = ROOT / "tests/schemas/junit-jenkins.xsd"
VALIDATE = json.loads((ROOT / "schemas/validate.schema.json").read_text())


def content(value):
    """The bytes of a key of a fixture; None where it is no file."""
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
    """Makes a store of fixtures/invalid; links, FIFOs and the like are left out."""
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
    """stdout of a run that ends with 0 or 1."""
    process = zarrcast.run("validate", "--format", form, "--level", level, *arguments)
    assert process.returncode in (0, 1), process.stderr
    return process.stdout


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


def junit_reports(tally, zarrcast, place):
    schema = xmlschema.XMLSchema(JUNIT)
    for name, level, folder in stores(place):
        with tally.case("junit", name):
            report_file = place / f"{name}.xml"
            report_file.write_text(report(zarrcast, "junit", level, folder))
            schema.validate(str(report_file))
    with tally.case("junit", "control characters"):
        folder = place / "control"
        make_store({"store": {"zarr.json": {"text": '{"\\u0001\\u001b]<&>\\"": 1, "zarr_format": 3}'}}}, folder)
        report_file = place / "control.xml"
        report_file.write_text(report(zarrcast, "junit", "metadata", folder))
        schema.validate(str(report_file))


def stores_that_are_missing(tally, zarrcast, place):
    with tally.case("sarif", "no store"):
        process = zarrcast.run("validate", "--format", "sarif", place / "missing")
        assert process.returncode == 3
        log = json.loads(process.stdout)
        jsonschema.Draft7Validator(SARIF).validate(log)
        assert log["runs"][0]["invocations"][0]["executionSuccessful"] is False
    with tally.case("junit", "no store"):
        process = zarrcast.run("validate", "--format", "junit", place / "missing")
        assert process.returncode == 3
        (place / "missing.xml").write_text(process.stdout)
        xmlschema.XMLSchema(JUNIT).validate(str(place / "missing.xml"))


if __name__ == "__main__":
    run_sections(__doc__.splitlines()[0], [json_documents, sarif_logs, junit_reports, stores_that_are_missing])
