#!/usr/bin/env python3
"""The interop matrix: what each writer writes, through inspect, validate and transcode, read again by the others bit for bit.

`matrix.py PROGRAM --newest PYTHON` compares the outcome with docs/interop.md, `--write` writes that file anew. It runs in the
environment of zarr-python 3.1.6 (with tensorstore and numcodecs); PYTHON is that of the newest zarr-python.
"""

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from matrix_runs import FAILS, OPERATIONS, UNREAD, WORKS, Runs
from matrix_table import document
from program import Zarrcast

HERE = Path(__file__).resolve().parent
TABLE = HERE.parents[1] / "docs" / "interop.md"


@dataclass
class Writer:
    title: str
    name: str
    version: int
    newest: bool = False

    @property
    def folder(self):
        return f"newest-{self.name}" if self.newest else self.name


WRITERS = [
    Writer("zarr-python 3.1.6, format 2", "zarr-python-2", 2),
    Writer("zarr-python 3.1.6, format 3", "zarr-python-3", 3),
    Writer("The newest zarr-python, format 2", "zarr-python-2", 2, newest=True),
    Writer("The newest zarr-python, format 3", "zarr-python-3", 3, newest=True),
    Writer("tensorstore, format 2", "tensorstore-2", 2),
    Writer("tensorstore, format 3", "tensorstore-3", 3),
    Writer("Filters of numcodecs, format 2", "numcodecs", 2),
]
# What is read again; of what others wrote the newest zarr-python, much like the other, reads the first two.
READ = ["source", "convert", "recompress", "rechunk"]


class Matrix:
    def __init__(self, zarrcast, newest, folder, only):
        self.zarrcast, self.newest, self.folder = zarrcast, newest, folder
        self.writers = [writer for writer in WRITERS if (newest or not writer.newest) and only in writer.title]
        self.readers = {"zarr-python 3.1.6": (sys.executable, "zarr-python"), "tensorstore": (sys.executable, "tensorstore")}
        if newest:
            self.readers["the newest zarr-python"] = (newest, "zarr-python")

    def write(self, writer):
        call(self.newest if writer.newest else sys.executable, HERE / "matrix_writers.py", writer.name, self.folder / writer.folder)

    def read(self, request):
        """The answers of a reader for the source and the results of a writer, by operation and path."""
        reader, writer = request
        operations = ["source", "convert"] if reader.startswith("the newest") and not writer.newest else READ
        asked = {operation: [str(path) for path in self.places(writer, operation).values() if path.exists()] for operation in operations}
        stem = f"{writer.folder} by {reader}"
        questions, answers = self.folder / f"{stem} questions", self.folder / f"{stem} answers"
        questions.write_text(json.dumps([path for paths in asked.values() for path in paths]))
        python, kind = self.readers[reader]
        call(python, HERE / "matrix_readers.py", kind, questions, answers)
        found = json.loads(answers.read_text())
        return {operation: {path: found[path] for path in paths} for operation, paths in asked.items()}

    def places(self, writer, operation):
        """The array of an operation, by the path of its source."""
        root = self.folder / writer.folder if operation == "source" else self.folder / f"{writer.folder}.results" / operation
        return {cell["path"]: root / cell["path"] for cell in self.cells(writer)}

    def cells(self, writer):
        return json.loads((self.folder / f"{writer.folder}.json").read_text())["cells"]

    def run(self):
        """Runs everything, and returns the runs of each writer."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(self.write, self.writers))
            runs = {}
            for writer in self.writers:
                results = self.folder / f"{writer.folder}.results"
                results.mkdir()
                runs[writer.title] = Runs(self.zarrcast, self.folder / writer.folder, results, writer.version)
            list(pool.map(lambda one: one.all(), runs.values()))
            requests = [(reader, writer) for reader in self.readers for writer in self.writers]
            answers = {(reader, writer.title): found for (reader, writer), found in zip(requests, pool.map(self.read, requests))}
        for writer in self.writers:
            for operation in READ[1:]:
                self.judge(runs[writer.title], writer, operation, answers)
        return [(writer, runs[writer.title]) for writer in self.writers]

    def judge(self, runs, writer, operation, answers):
        """Fails a result in which a reader finds other elements. Notes one that no reader opens."""
        sources, results = self.places(writer, "source"), self.places(writer, operation)
        for cell in runs.cells:
            path = cell["path"]
            source, result = str(sources[path]), str(results[path])
            runs.readers[path] = [r for r in self.readers if answers[r, writer.title]["source"].get(source) == cell["digest"]]
            if runs.verdicts[path, operation][0] != WORKS:
                continue
            readers = {}
            for reader in self.readers:
                found = answers[reader, writer.title]
                if operation in found:
                    readers[reader] = (found["source"].get(source), found[operation].get(result))
            runs.verdicts[path, operation] = verdict(cell, readers)


def verdict(cell, readers):
    equal = [reader for reader, (_, after) in readers.items() if after == cell["digest"]]
    for reader, (before, after) in readers.items():
        if isinstance(after, str) and after != cell["digest"] and before in (cell["digest"], None):
            return FAILS, f"{reader} reads other elements"
    if not equal:
        return UNREAD, "no other implementation reads the result"
    lost = [reader for reader, (before, after) in readers.items() if before == cell["digest"] and reader not in equal]
    return (WORKS, f"in part not read by {' and '.join(lost)}, which reads the source") if lost else (WORKS, None)


def call(*command):
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: status {process.returncode}: {process.stderr[-2000:]}")


def entries(page):
    """The entries of a page (`yes`, `refused`, `unread`, `fail`) by writer, data type and column, without footnotes."""
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
    """Ends with 1 if an entry that worked does not, or a new one fails. Other differences (of another release of a writer) are printed."""
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("zarrcast", help="the program")
    parser.add_argument("--newest", help="the Python of the environment with the newest zarr-python")
    parser.add_argument("--write", action="store_true", help="write docs/interop.md")
    parser.add_argument("--keep", type=Path, help="a new folder for the arrays, to look at afterwards")
    parser.add_argument("--only", default="", help="only the writers whose heading contains this; compares and writes nothing")
    options = parser.parse_args()
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="zarrcast-matrix-", dir=memory if os.access(memory, os.W_OK) else None) as folder:
        if options.keep:
            options.keep.mkdir()
        outcome = Matrix(Zarrcast(Path(options.zarrcast).resolve()), options.newest, options.keep or Path(folder), options.only).run()
    failed = {}
    for writer, runs in outcome:
        for (path, operation), (found, why) in runs.verdicts.items():
            if found == FAILS:
                failed.setdefault(f"{writer.title}, {path.split('/')[0]} {runs.titles[path]}, {operation}: {why}", []).append(path)
    for line, paths in failed.items():
        print(f"FAIL {line} ({len(paths)} arrays, such as {paths[0]})")
    text = document(outcome)
    print(f"{sum(len(runs.cells) for _, runs in outcome)} arrays, {len(OPERATIONS) + 2} operations, {sum(map(len, failed.values()))} failed")
    if options.only:
        print(text)
    elif options.write:
        TABLE.parent.mkdir(exist_ok=True)
        TABLE.write_text(text, encoding="utf-8")
    elif not options.newest:
        sys.exit(1 if failed else 0)
    else:
        compare(text)


if __name__ == "__main__":
    main()
