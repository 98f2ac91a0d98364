"""Runs `zarrcast` over the arrays of the matrix: once over a whole hierarchy where that tells all arrays apart."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

from matrix_types import CHUNK, SHAPE, SHARD
from program import files

# The operations that write, with their options. The version of `convert` is the other one.
OPERATIONS = {
    "copy": [],
    "convert": ["--zarr-format"],
    "recompress": ["--compress", "zstd:1"],
    "rechunk": ["--chunk-shape", "3,2"],
}
# The errors of `validate` that refuse a document as it is meant: a data type that the format does not have.
DOCUMENT_ERRORS = {"ZM201"}
WORKS, REFUSED, UNREAD, FAILS = "works", "refused", "unread", "fails"


class Runs:
    """The runs over the arrays of one writer. `verdicts` are by array and operation."""

    def __init__(self, zarrcast, source, results, version):
        self.zarrcast, self.source, self.results = zarrcast, source, results
        self.other = "2" if version == 3 else "3"
        self.cells = json.loads(source.with_suffix(".json").read_text())["cells"]
        self.readers = {}
        self.titles = {cell["path"]: cell["title"] for cell in self.cells}
        self.verdicts = {(cell["path"], operation): (WORKS, None) for cell in self.cells for operation in ["inspect", "validate", *OPERATIONS]}

    def all(self):
        """Runs everything. What other readers find in the results is left to judge."""
        self.inspect()
        self.validate()
        self.copy()
        rows = sorted({cell["row"] for cell in self.cells})
        with ThreadPoolExecutor(2) as pool:
            for operation in ("convert", "recompress", "rechunk"):
                list(pool.map(lambda row, operation=operation: self.row(row, operation), rows))

    def set(self, path, operation, verdict, reason):
        """Sets a verdict, unless the array failed before."""
        if self.verdicts[path, operation][0] != FAILS:
            self.verdicts[path, operation] = (verdict, reason)

    def inspect(self):
        """Compares shape, chunks, data type and fill value with those that the writer was told."""
        document = json.loads(self.zarrcast.run("inspect", "--quiet", "--json", self.source).stdout)
        found = {node["path"]: node for node in document["nodes"] if node["node_type"] == "array"}
        for cell in self.cells:
            node = found.get(f"/{cell['path']}", {})
            wanted = {"shape": [list(SHAPE)], "chunk_shape": [list(CHUNK)], "shard_shape": [list(SHARD) if cell["shards"] else None]}
            wanted |= {"data_type": cell["names"], "fill_value": cell["fills"]}
            for member, right in wanted.items():
                if not any(same_json(node.get(member), one) for one in right):
                    # `validate` reports types and values that have no meaning to zarrcast.
                    is_unknown = node.get(member) is None and member in ("data_type", "fill_value")
                    text = "the data type is shown as null" if is_unknown else f"`{member}` is {json.dumps(node.get(member))}, not {json.dumps(right[0])}"
                    self.set(cell["path"], "inspect", REFUSED if is_unknown else FAILS, text)

    def validate(self):
        """No error down to the elements."""
        process = self.zarrcast.run("validate", "--quiet", "--level", "data", "--max-findings", "0", "--json", self.source)
        for finding in json.loads(process.stdout)["findings"]:
            path = finding["node"].removeprefix("/")
            if finding["severity"] == "error" and path in self.titles:
                verdict = REFUSED if finding["code"] in DOCUMENT_ERRORS else FAILS
                self.set(path, "validate", verdict, f"{finding['code']}: {finding['message']}")

    def copy(self):
        """Every file of the whole hierarchy, byte for byte."""
        process = self.zarrcast.run("transcode", "--quiet", self.source, self.results / "copy")
        for cell in self.cells:
            there, here = files(self.source / cell["path"]), files(self.results / "copy" / cell["path"])
            if there != here and not here and process.returncode != 0:
                self.single(cell, "copy")
            elif there != here:
                self.set(cell["path"], "copy", FAILS, "the copy has other bytes")

    def row(self, row, operation):
        """The arrays of a data type in one run, or one by one where that is refused."""
        destination = self.results / operation / str(row)
        destination.parent.mkdir(exist_ok=True)
        if self.zarrcast.run("transcode", "--quiet", *self.arguments(operation), self.source / str(row), destination).returncode != 0:
            destination.mkdir(exist_ok=True)
            for cell in self.cells:
                if cell["row"] == row:
                    self.single(cell, operation)

    def arguments(self, operation):
        return OPERATIONS[operation] + ([self.other] if operation == "convert" else [])

    def single(self, cell, operation):
        """One array alone. If it is refused with status 1 and a message, it has not failed."""
        source, destination = self.source / cell["path"], self.results / operation / cell["path"]
        process = self.zarrcast.run("transcode", "--quiet", *self.arguments(operation), source, destination)
        if operation == "copy" and process.returncode == 0 and files(source) != files(destination):
            self.set(cell["path"], operation, FAILS, "the copy has other bytes")
        elif process.returncode == 1 and process.stderr.startswith("error") and not (destination / "zarr.json").exists():
            self.set(cell["path"], operation, REFUSED, reason(process.stderr))
        elif process.returncode != 0:
            self.set(cell["path"], operation, FAILS, f"status {process.returncode}: {reason(process.stderr)}")


def same_json(found, expected):
    """True if two JSON values are the same. 1 and 1.0 are, true and 1 are not."""
    return found == expected and isinstance(found, bool) == isinstance(expected, bool)


def reason(stderr):
    """The cause that a message gives, or the message without the places that it names."""
    lines = [line.strip() for line in stderr.strip().split("\n")]
    cause = next((line.removeprefix("because ") for line in lines if line.startswith("because ")), lines[0].removeprefix("error: "))
    return re.sub(r"`[^`]*/[^`]*`", "the array", cause)
