#!/usr/bin/env python3
"""Writes `python/zarrcast/results.py`, the dataclasses of the output of `--json`, from `schemas/*.json`.

`generate.py --check` writes nothing. It exits with status 1 if it is stale. The name of a class is made of its
command and of the definition or member that it describes.
"""

from __future__ import annotations

import json
import keyword
import sys
import textwrap
from pathlib import Path
from typing import Any, Union

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(__file__).resolve().parent / "zarrcast" / "results.py"
WIDTH = 110

# A schema, and the prefix of its class names.
SCHEMAS = {
    "inspect": "Inspect",
    "validate": "Validate",
    "transcode": "Transcode",
    "init": "Init",
    "partition": "Partition",
    "status": "Status",
    "apply-codec": "ApplyCodec",
}
# Exceptions with a clearer name.
NAMES = {"ValidateFinding": "Finding", "InspectPipeline": "InspectCodec"}
SINGULAR = {"axes": "axis", "passes": "pass", "stats": "stats", "totals": "totals", "ways": "ways"}

HEADER = '''\
"""The results of the commands of zarrcast, as dataclasses.

`python/generate.py` writes this file from `schemas/`: do not edit it. A member is None if it does not apply, or if an
older program does not give it. Members that a newer program adds are in `extra`. NaN and the infinities are floats.
Integers are exact. Fill values and attributes are JSON values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Optional, Union
'''


class Generator:
    """Collects the classes of the schemas. A class comes before its users where possible."""

    def __init__(self) -> None:
        texts = {name: (ROOT / f"schemas/{name}.schema.json").read_text("utf-8") for name in SCHEMAS}
        self.documents = {name: json.loads(text) for name, text in texts.items()}
        self.classes: dict[str, str] = {}
        self.names: dict[tuple[str, str], str] = {}

    def annotation(self, file: str, pointer: str, schema: Any, name: str) -> str:
        """Returns the type of `schema` at `pointer` of `file`. `name` is for the class, if it needs one."""
        if "$ref" in schema:
            return self.reference(file, schema["$ref"])
        if "const" in schema:
            return f"Literal[{quoted(schema['const'])}]"
        if "enum" in schema:
            # A later release may add values, so to a type checker they are only text.
            return union([primitive(json_type(value)) for value in schema["enum"]])
        for word in ("oneOf", "anyOf"):
            if word in schema:
                members = enumerate(schema[word])
                return union([self.annotation(file, f"{pointer}/{word}/{at}", member, name) for at, member in members])
        types = schema.get("type", [])
        types = [types] if isinstance(types, str) else types
        return union([self.of_type(file, pointer, schema, one, name) for one in types])

    def reference(self, file: str, reference: str) -> str:
        """Returns the type of a definition, in this file or another."""
        other, pointer = reference.split("#")
        file = other.removesuffix(".schema.json") or file
        schema = self.documents[file]
        for step in pointer.strip("/").split("/"):
            schema = schema[step]
        if is_number(schema):
            return "Optional[float]"
        return self.annotation(file, pointer, schema, SCHEMAS[file] + camel(singular(pointer.rsplit("/", 1)[1])))

    def of_type(self, file: str, pointer: str, schema: Any, one: str, name: str) -> str:
        """Returns the type of a schema of one JSON type."""
        if one == "array":
            if "prefixItems" in schema:
                items = enumerate(schema["prefixItems"])
                inner = [self.annotation(file, f"{pointer}/prefixItems/{at}", item, name) for at, item in items]
                return f"tuple[{', '.join(inner)}]"
            item = self.annotation(file, f"{pointer}/items", schema.get("items", {}), name)
            return f"tuple[{item}, ...]"
        if one == "object" and "properties" in schema:
            return self.class_of(file, pointer, schema, name)
        if one == "object" and isinstance(schema.get("additionalProperties"), dict):
            value = self.annotation(file, f"{pointer}/additionalProperties", schema["additionalProperties"], name)
            return f"dict[str, {value}]"
        return primitive(one)

    def class_of(self, file: str, pointer: str, schema: Any, name: str) -> str:
        """Returns the class of an object with described members."""
        key = (file, pointer)
        if key in self.names:
            return self.names[key]
        name = NAMES.get(name, name)
        if name in self.names.values():
            raise SystemExit(f"schemas/{file}.schema.json, {pointer}: the name {name} is taken; give another in NAMES")
        self.names[key] = name
        lines = ["", "", "@dataclass(frozen=True)", f"class {name}:"]
        title = schema.get("title")
        member = pointer.removesuffix("/items").rsplit("/", 1)[-1]
        text = schema.get("description") or f"Of `{member}` in `zarrcast {file} --json`."
        lines += docstring(f"`{title}`: {text}" if title else text)
        for member, described in schema["properties"].items():
            own = prefix(name) + camel(singular(member))
            inner = self.annotation(file, f"{pointer}/properties/{member}", described, own)
            lines += textwrap.wrap(
                described.get("description", ""), WIDTH, initial_indent="    #: ", subsequent_indent="    #: "
            )
            required = member in schema.get("required", [])
            lines.append(f"    {attribute(member)}: {inner if required else union([inner, 'None'])}")
        lines.append("    #: Members that this version of the module does not know.")
        lines.append("    extra: dict[str, Any] = field(default_factory=dict, repr=False)")
        self.classes[name] = "\n".join(lines) + "\n"
        return name

    def module(self) -> str:
        """Returns the whole file."""
        results, aliases = [], []
        for file, begin in SCHEMAS.items():
            document, name = self.documents[file], f"{begin}Result"
            of = self.annotation(file, "", document, name)
            if of != name:
                aliases.append(f"\n#: What `{document['title']}` prints.\n{name} = {of}\n")
            results.append((schema_name(document), name))
        table = "".join(f"    {quoted(schema)}: {name},\n" for schema, name in results)
        annotations = "".join(self.classes.values())
        registry = f"\n#: The class of a document, by its member `schema`.\nRESULTS: dict[str, Any] = {{\n{table}}}\n"
        return HEADER + annotations + "\n" + "".join(aliases) + registry


def is_number(schema: Any) -> bool:
    """Returns whether the schema is a number whose non-finite values are strings."""
    branches = schema.get("oneOf", [])
    return any("NaN" in branch.get("enum", []) for branch in branches)


def schema_name(document: Any) -> str:
    """Returns the value of the member `schema` of a document."""
    definition = document.get("$defs", {}).get("schema") or document["properties"]["schema"]
    return str(definition["const"])


def union(members: list[str]) -> str:
    """Returns the union of types. Without types, it is Any."""
    flat: list[str] = []
    optional = False
    for member in members:
        if member.startswith("Optional[") and member.endswith("]"):
            optional, member = True, member[len("Optional[") : -1]
        if member == "None":
            optional = True
        elif member not in flat:
            flat.append(member)
    if "Any" in flat or not (flat or optional):
        return "Any"
    inner = flat[0] if len(flat) == 1 else f"Union[{', '.join(flat)}]"
    return "None" if not flat else f"Optional[{inner}]" if optional else inner


def primitive(one: str) -> str:
    """Returns the Python type of a JSON type without further description."""
    names = {"null": "None", "boolean": "bool", "integer": "int", "number": "float", "string": "str"}
    return names.get(one, "dict[str, Any]")


def json_type(value: Union[str, int, bool, None]) -> str:
    """Returns the JSON type of a value of an enumeration."""
    if value is None:
        return "null"
    return {bool: "boolean", int: "integer", str: "string"}[type(value)]


def attribute(member: str) -> str:
    """Returns a member's name as a valid Python name: `as_` for `as`."""
    return f"{member}_" if keyword.iskeyword(member) else member


def singular(name: str) -> str:
    """Returns the singular of a member's name."""
    return SINGULAR.get(name) or name.removesuffix("s")


def prefix(name: str) -> str:
    """Returns the prefix of the names of inner classes. For the whole result it is only the command."""
    return name.removesuffix("Result")


def camel(name: str) -> str:
    """Converts `round_trip` to `RoundTrip`."""
    return "".join(word.capitalize() for word in name.replace("-", "_").split("_"))


def quoted(text: str) -> str:
    """Returns a string literal in the style of the formatters."""
    return json.dumps(text)


def docstring(text: str) -> list[str]:
    """Returns the lines of a class docstring."""
    lines = textwrap.wrap(text, WIDTH - 4)
    if len(lines) == 1:
        return [f'    """{lines[0]}"""', ""]
    return [f'    """{lines[0]}', *(f"    {line}" for line in lines[1:]), '    """', ""]


def main() -> int:
    """Writes the file, or checks it."""
    fresh = Generator().module()
    if sys.argv[1:] == ["--check"]:
        if TARGET.read_text("utf-8") != fresh:
            print(
                "python/zarrcast/results.py is stale: run `python3 python/generate.py` and commit the result",
                file=sys.stderr,
            )
            return 1
        print("python/zarrcast/results.py is fresh")
        return 0
    TARGET.write_text(fresh, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
