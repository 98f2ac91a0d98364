#!/usr/bin/env python3
"""The interop matrix: what each writer writes, through every command, read again by the others bit for bit.

`matrix.py PROGRAM --newest PYTHON` compares the result with docs/interop.md. `--write` writes that file again. It runs
in the environment of zarr-python 3.1.6 (with tensorstore and numcodecs). PYTHON is that of the newest zarr-python.
"""

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from arrays import chunks_of
from matrix_types import CHUNK, SHAPE, SHARD
from program import Zarrcast, files

HERE = Path(__file__).resolve().parent
TABLE = HERE.parents[1] / "docs" / "interop.md"
# Title, name in matrix_writers.py, format, and whether it runs in the environment of the newest zarr-python.
WRITERS = [
    ("zarr-python 3.1.6, format 2", "zarr-python-2", 2, False),
    ("zarr-python 3.1.6, format 3", "zarr-python-3", 3, False),
    ("The newest zarr-python, format 2", "zarr-python-2", 2, True),
    ("The newest zarr-python, format 3", "zarr-python-3", 3, True),
    ("tensorstore, format 2", "tensorstore-2", 2, False),
    ("tensorstore, format 3", "tensorstore-3", 3, False),
    ("Filters of numcodecs, format 2", "numcodecs", 2, False),
]
# The writing operations with their options. `convert` is to the other format, `back` is to the format of the source.
OPERATIONS = {
    "copy": [], "convert": ["--zarr-format"], "recompress": ["--compress", "zstd:1"],
    "rechunk": ["--chunk-shape", "3,2"], "back": ["--zarr-format"],
}
# The operations whose results are read. The newest zarr-python reads only the first two of other writers' arrays.
READ = ["source", "convert", "recompress", "rechunk", "back"]
# Errors of `validate` that refuse a document because the format does not have its data type.
DOCUMENT_ERRORS = {"ZM201"}


WORKS, REFUSED, UNREAD, FAILS = "works", "refused", "unread", "fails"

HEAD = """\
# Interoperability

How `zarrcast` treats arrays that other programs write. For quantised arrays, see [Who can read it?](quantising.md#who-can-read-it)
`tests/interop/matrix.py` writes this page, and CI fails if an entry gets worse.

Each row is a data type, in {count:,} arrays altogether: with every compressor that its writer has (none, zstd, gzip, zlib, bz2, lz4, lzma,
five kinds of blosc, crc32c), in C and F order, little and big endian, in format 3 also in shards. The elements are of every bit pattern,
NaN payloads and not-a-time among them, some chunks are absent, and fill values are not zero.

| column | what works if it says yes |
| --- | --- |
| inspect | shape, chunk and shard shape, data type and fill value are what the writer was told |
| validate | `--level data` finds no error |
| copy | `transcode` with no option gives the same bytes in every file |
| to 2, to 3 | `transcode --zarr-format` to the other format |
| and back | the result of the column before, converted back. In format 2 each chunk has its first bytes again (except `quantize` in big endian) |
| recompress | `transcode --compress zstd:1` |
| rechunk | `transcode --chunk-shape`, to chunks that cut across the old ones; in shards, the inner chunks |
| read by | who reads the source, and the results of the last four columns: **P** zarr-python 3.1.6, **N** the newest zarr-python, **T** tensorstore |

The last four are judged by other readers: every element has to come back bit for bit. "Refused" is exit status 1 with a message and
nothing written; "unread": none of these programs can read the result (the newest zarr-python is tried on conversions, and on its own
arrays). Where only some arrays of a row are so, their number is given. A failure is written in bold, whichever program is at fault.
"""
INITIALS = {"zarr-python 3.1.6": "P", "the newest zarr-python": "N", "tensorstore": "T"}


def entry(verdicts, notes):
    """Returns a table entry. `notes` contains the number of each footnote."""
    counts = Counter(found for found, _ in verdicts)
    reasons = list(dict.fromkeys(why for _, why in verdicts if why))
    marks = " ".join(f"[^{notes.setdefault(reason, len(notes) + 1)}]" for reason in sorted(reasons))
    if counts[FAILS]:
        return f"**{counts[FAILS]} fail** {marks}"
    for other in (REFUSED, UNREAD):
        if counts[other] == len(verdicts):
            return f"{other} {marks}"
    parts = ["yes", *(f"{counts[other]} {other}" for other in (REFUSED, UNREAD) if counts[other])]
    return f"{', '.join(parts)} {marks}".strip()


def table(runs, notes):
    operations = ["inspect", "validate", "copy", "convert", "back", "recompress", "rechunk"]
    words = {"convert": f"to {5 - runs.version}", "back": "and back"}
    titles = [words.get(operation, operation) for operation in operations]
    lines = [f"## {runs.title}", ""]
    lines.append(f"| data type | arrays | {' | '.join(titles)} | read by |")
    lines.append("| --- " * (len(titles) + 3) + "|")
    rows = {}
    for cell in runs.cells:
        rows.setdefault((cell["row"], cell["title"]), []).append(cell["path"])
    for (_, title), paths in rows.items():
        entries = [entry([runs.verdicts[path, operation] for path in paths], notes) for operation in operations]
        read_by = "".join(INITIALS[reader] for reader in INITIALS if any(reader in runs.readers[path] for path in paths))
        lines.append(f"| {title} | {len(paths)} | {' | '.join(entries)} | {read_by} |")
    return "\n".join([*lines, ""])


def document(outcome):
    notes = {}
    tables = [table(runs, notes) for runs in outcome]
    head = HEAD.format(count=sum(len(runs.cells) for runs in outcome))
    return "\n".join([head, *tables, *(f"[^{number}]: {text}" for text, number in notes.items())]) + "\n"


class Runs:
    """The runs over the arrays of one writer. The keys of `verdicts` are array and operation."""

    def __init__(self, zarrcast, writer, folder):
        self.title, self.name, self.version, self.newest = writer
        self.zarrcast, self.folder_name = zarrcast, f"newest-{self.name}" if self.newest else self.name
        self.source, self.results = folder / self.folder_name, folder / f"{self.folder_name}.results"

    def open(self):
        self.results.mkdir()
        self.cells = json.loads(self.source.with_suffix(".json").read_text())["cells"]
        self.readers = {}
        self.titles = {cell["path"]: cell["title"] for cell in self.cells}
        operations = ["inspect", "validate", *OPERATIONS]
        self.verdicts = {(cell["path"], operation): (WORKS, None) for cell in self.cells for operation in operations}

    def all(self):
        """Runs everything except the readers, which `judge` checks."""
        self.inspect()
        self.validate()
        self.copy()
        rows = sorted({cell["row"] for cell in self.cells})
        with ThreadPoolExecutor(2) as pool:
            for operation in list(OPERATIONS)[1:]:
                list(pool.map(lambda row, operation=operation: self.row(row, operation), rows))

    def set(self, path, operation, verdict, reason):
        if self.verdicts[path, operation][0] != FAILS:
            self.verdicts[path, operation] = (verdict, reason)

    def inspect(self):
        """Compares shape, chunks, data type and fill value with those of the writer."""
        document = json.loads(self.zarrcast.run("inspect", "--quiet", "--json", self.source).stdout)
        found = {node["path"]: node for node in document["nodes"] if node["node_type"] == "array"}
        for cell in self.cells:
            node = found.get(f"/{cell['path']}", {})
            wanted = {"shape": [list(SHAPE)], "chunk_shape": [list(CHUNK)], "shard_shape": [list(SHARD) if cell["shards"] else None]}
            wanted |= {"data_type": cell["names"], "fill_value": cell["fills"]}
            for member, right in wanted.items():
                # In JSON 1 is 1.0, but not true.
                own = node.get(member)
                if not any(own == one and isinstance(own, bool) == isinstance(one, bool) for one in right):
                    # `validate` reports types and values that zarrcast does not know.
                    is_unknown = node.get(member) is None and member in ("data_type", "fill_value")
                    text = "the data type is shown as null" if is_unknown else f"`{member}` is {json.dumps(node.get(member))}, not {json.dumps(right[0])}"
                    self.set(cell["path"], "inspect", REFUSED if is_unknown else FAILS, text)

    def validate(self):
        process = self.zarrcast.run("validate", "--quiet", "--level", "data", "--max-findings", "0", "--json", self.source)
        for finding in json.loads(process.stdout)["findings"]:
            path = finding["node"].removeprefix("/")
            if finding["severity"] == "error" and path in self.titles:
                verdict = REFUSED if finding["code"] in DOCUMENT_ERRORS else FAILS
                self.set(path, "validate", verdict, f"{finding['code']}: {finding['message']}")

    def copy(self):
        """Compares every file of the whole hierarchy, byte for byte."""
        process = self.zarrcast.run("transcode", "--quiet", self.source, self.results / "copy")
        for cell in self.cells:
            there, here = files(self.source / cell["path"]), files(self.results / "copy" / cell["path"])
            if there != here and not here and process.returncode != 0:
                self.single(cell, "copy")
            elif there != here:
                self.set(cell["path"], "copy", FAILS, "the copy has other bytes")

    def row(self, row, operation):
        """Transcodes all arrays of a data type in one run, or one by one if one of them is refused."""
        source, destination = self.place(str(row), operation), self.results / operation / str(row)
        destination.parent.mkdir(exist_ok=True)
        command = ["transcode", "--quiet", *self.arguments(operation)]
        if source.exists() and self.zarrcast.run(*command, source, destination).returncode != 0:
            destination.mkdir(exist_ok=True)
            for cell in self.cells:
                if cell["row"] == row and self.place(cell["path"], operation).exists():
                    self.single(cell, operation)

    def place(self, path, operation):
        return (self.results / "convert" if operation == "back" else self.source) / path

    def arguments(self, operation):
        formats = {"convert": 5 - self.version, "back": self.version}
        return OPERATIONS[operation] + ([formats[operation]] if operation in formats else [])

    def single(self, cell, operation):
        """Transcodes one array alone. A refusal with status 1 and a message is not a failure."""
        source, destination = self.place(cell["path"], operation), self.results / operation / cell["path"]
        process = self.zarrcast.run("transcode", "--quiet", *self.arguments(operation), source, destination)
        if operation == "copy" and process.returncode == 0 and files(source) != files(destination):
            self.set(cell["path"], operation, FAILS, "the copy has other bytes")
        elif process.returncode == 1 and process.stderr.startswith("error") and not (destination / "zarr.json").exists():
            self.set(cell["path"], operation, REFUSED, reason(process.stderr))
        elif process.returncode != 0:
            self.set(cell["path"], operation, FAILS, f"status {process.returncode}: {reason(process.stderr)}")

    def places(self, operation):
        """Returns the arrays of an operation, by the path of their source."""
        root = self.source if operation == "source" else self.results / operation
        return {cell["path"]: root / cell["path"] for cell in self.cells}

    def judge(self, operation, answers):
        """Fails a result if a reader reads other elements. Notes a result that no reader opens."""
        sources, results = self.places("source"), self.places(operation)
        for cell in self.cells:
            path = cell["path"]
            source, result = str(sources[path]), str(results[path])
            self.readers[path] = [name for name, found in answers.items() if found["source"].get(source) == cell["digest"]]
            if operation == "back" and not results[path].exists():
                self.verdicts[path, operation] = self.verdicts[path, "convert"]
            if self.verdicts[path, operation][0] == WORKS:
                asked = {name: found for name, found in answers.items() if operation in found}
                readers = {name: (found["source"].get(source), found[operation].get(result)) for name, found in asked.items()}
                self.verdicts[path, operation] = verdict(cell, readers)
                # No big-endian form of `quantize` is read by every zarr-python, so it is encoded again.
                is_encoded_anew = cell["title"].startswith("quantize ") and "big" in cell["variant"]
                is_kept = operation == "back" and self.version == 2 and not is_encoded_anew
                if is_kept and chunks_of(sources[path]) != chunks_of(results[path]):
                    self.verdicts[path, operation] = (FAILS, "other chunks than before")


def verdict(cell, readers):
    equal = [reader for reader, (_, after) in readers.items() if after == cell["digest"]]
    for reader, (before, after) in readers.items():
        if isinstance(after, str) and after != cell["digest"] and before in (cell["digest"], None):
            return FAILS, f"{reader} reads other elements"
    if not equal:
        return UNREAD, "no other implementation reads the result"
    lost = [reader for reader, (before, after) in readers.items() if before == cell["digest"] and reader not in equal]
    return (WORKS, f"not all results are read by {' and '.join(lost)}, though the sources are") if lost else (WORKS, None)


def reason(stderr):
    lines = [line.strip() for line in stderr.strip().split("\n")]
    cause = next((line.removeprefix("because ") for line in lines if line.startswith("because ")), lines[0].removeprefix("error: "))
    return re.sub(r"`[^`]*/[^`]*`", "the array", cause)


def call(*command):
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: status {process.returncode}: {process.stderr[-2000:]}")


def outcome(zarrcast, newest, folder, only):
    readers = {"zarr-python 3.1.6": (sys.executable, "zarr-python"), "tensorstore": (sys.executable, "tensorstore")}
    if newest:
        readers["the newest zarr-python"] = (newest, "zarr-python")
    every = [Runs(zarrcast, writer, folder) for writer in WRITERS if (newest or not writer[3]) and only in writer[0]]

    def write(runs):
        call(newest if runs.newest else sys.executable, HERE / "matrix_writers.py", runs.name, runs.source)

    def read(request):
        """Returns the answers of a reader for the source and the results of a writer, by operation and path."""
        runs, reader = request
        operations = READ[:2] if reader.startswith("the newest") and not runs.newest else READ
        asked = {operation: [str(path) for path in runs.places(operation).values() if path.exists()] for operation in operations}
        stem = folder / f"{runs.folder_name} by {reader}"
        questions, answers = stem.with_suffix(".questions"), stem.with_suffix(".answers")
        questions.write_text(json.dumps([path for paths in asked.values() for path in paths]))
        call(readers[reader][0], HERE / "matrix_types.py", readers[reader][1], questions, answers)
        found = json.loads(answers.read_text())
        return {operation: {path: found[path] for path in paths} for operation, paths in asked.items()}

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(write, every))
        for runs in every:
            runs.open()
        list(pool.map(Runs.all, every))
        requests = [(runs, reader) for reader in readers for runs in every]
        answers = dict(zip(requests, pool.map(read, requests)))
    for runs in every:
        for operation in READ[1:]:
            runs.judge(operation, {reader: answers[runs, reader] for reader in readers})
    return every


def entries(page):
    """Returns the entries (`yes`, `refused`, `unread`, `fail`) by writer, data type and column, without footnotes."""
    found, writer, columns = {}, None, []
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("## "):
            writer = line[3:]
        elif line.startswith("| data type"):
            columns = cells
        elif writer and line.startswith("| ") and not line.startswith("| ---"):
            for column, cell in list(zip(columns, cells))[2:-1]:
                word = "fail" if "fail" in cell else re.match(r"\w*", cell).group()
                found[writer, cells[0], column] = word
    return found


def compare(text):
    """Exits with 1 if an entry fails that worked or is new. Prints other differences (a writer's other release)."""
    recorded = TABLE.read_text(encoding="utf-8")
    if recorded == text:
        return
    before, after = entries(recorded), entries(text)
    worse = [key for key, word in before.items() if word == "yes" and after.get(key, "yes") != "yes"]
    worse += [key for key, word in after.items() if word == "fail" and before.get(key) not in ("yes", "fail")]
    print(*difflib.unified_diff(recorded.splitlines(), text.splitlines(), "recorded", "found", n=0, lineterm=""), sep="\n")
    print(f"{TABLE.name} is not quite the matrix's outcome; --write writes it anew")
    if worse:
        sys.exit("\n".join(["worse than recorded:", *(f"  {', '.join(key)}: {after[key]}" for key in worse)]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("zarrcast", help="the program")
    parser.add_argument("--newest", help="the Python of the environment with the newest zarr-python")
    parser.add_argument("--write", action="store_true", help="write docs/interop.md")
    parser.add_argument("--only", default="", help="only the writers whose heading contains this; compares nothing")
    options = parser.parse_args()
    memory, program = Path("/dev/shm"), Zarrcast(Path(options.zarrcast).resolve())
    with tempfile.TemporaryDirectory(prefix="zarrcast-matrix-", dir=memory if os.access(memory, os.W_OK) else None) as folder:
        every = outcome(program, options.newest, Path(folder), options.only)
    failed = {}
    for runs in every:
        for (path, operation), (found, why) in runs.verdicts.items():
            if found == FAILS:
                line = f"{runs.title}, {path.split('/')[0]} {runs.titles[path]}, {operation}: {why}"
                failed.setdefault(line, []).append(path)
    for line, paths in failed.items():
        print(f"FAIL {line} ({len(paths)} arrays, such as {paths[0]})")
    count, text = sum(len(runs.cells) for runs in every), document(every)
    print(f"{count} arrays, {len(OPERATIONS) + 2} operations, {sum(map(len, failed.values()))} failed")
    if options.only or not options.newest:
        print(text if options.only else "")
        sys.exit(1 if failed else 0)
    elif options.write:
        TABLE.write_text(text, encoding="utf-8")
    else:
        compare(text)
