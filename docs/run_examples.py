#!/usr/bin/env python3
"""Runs the examples of the guide and compares their output with the guide.

`run_examples.py PROGRAM [--write] [CHAPTER...]`: PROGRAM is the zarrcast to test. CHAPTER is a file of this folder
(default: all that SUMMARY.md lists). `--write` writes the output into the chapters. It needs Python 3.11 and bash.
Examples that use numpy, xarray, zarr, moto or curl are left out and counted if these are not installed.

The commands of a chapter run in one bash, in their own folder with the example data, on a terminal of 80 columns. So
the guide shows what a user sees. Kinds of blocks:

```console   `$ command`, with lines that continue after a backslash or inside quotes, then the output. Each command
             must exit with 0, unless the next one is `echo $?`.
```python    `>>> statement` and the output of Python. Blocks share their names if no console block is between them.
             Without prompts it is not run, but must be valid Python.
```sh        not run, because it needs a cloud or a cluster. bash must parse it, and `zarrcast` must know all options.

A server of an example listens on a free port. When a console block runs, a port after 127.0.0.1 is replaced by a free
one with as many digits. In the output it is replaced back.

A command in a sentence, in backquotes and beginning with `zarrcast`, is parsed like those. ```json blocks must be valid
JSON. Other blocks are text. Values that differ in each run (durations, rates) are not compared.
"""

import argparse
import ast
import concurrent.futures
import contextlib
import difflib
import doctest
import importlib.util
import io
import json
import os
import pty
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import traceback
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
COLUMNS, LINES = 80, 24
SECONDS_OF_A_CHAPTER = 180
MARK = "\x1e"
# Packages that some blocks need. A word in the block shows that it needs the package.
WANTED = {"xarray": "xarray", "import zarr\n": "zarr", "numpy": "numpy"}
# Without these the whole chapter is left out, because its later commands need the earlier ones.
WANTED_BY_ALL = {"moto_server": "moto", "curl ": "curl"}


class Example:
    """A command or a Python statement: its position, its text, and the output in the guide."""

    def __init__(self, line, source, want):
        self.line, self.source, self.want = line, source, want
        self.printed, self.status = None, None


class Block:
    """The lines between two fences. `first` is the index of the first line in the chapter."""

    def __init__(self, kind, first, lines):
        self.kind, self.first, self.lines = kind, first, lines
        self.text = "".join(line + "\n" for line in lines)
        self.examples = []
        self.left_out = None


def blocks_of(text):
    """Returns the fenced blocks of a chapter that have a kind."""
    found, opened = [], None
    for index, line in enumerate(text.splitlines()):
        fence = re.match(r"^```(.*)$", line)
        if not fence:
            continue
        if opened is None:
            opened = (fence[1].strip(), index + 1)
        else:
            kind, first = opened
            found.append(Block(kind, first, text.splitlines()[first:index]))
            opened = None
    if opened is not None:
        raise SystemExit(f"a block that begins at line {opened[1]} does not end")
    return found


def split_console(block):
    """Returns the commands of a console block."""
    examples, index = [], 0
    while index < len(block.lines):
        line = block.lines[index]
        if not line.startswith("$ "):
            raise SystemExit(f"line {block.first + index + 1}: a console block begins with `$ `")
        start, command = index, [line[2:]]
        index += 1
        while not is_complete("\n".join(command)) and index < len(block.lines):
            command.append(block.lines[index])
            index += 1
        want = []
        while index < len(block.lines) and not block.lines[index].startswith("$ "):
            want.append(block.lines[index])
            index += 1
        examples.append(Example(block.first + start + 1, "\n".join(command), want))
    return examples


def is_complete(command):
    """Returns whether bash would run this text, instead of waiting for more."""
    if command.endswith("\\"):
        return False
    checked = subprocess.run(["bash", "-n"], input=command, capture_output=True, text=True)
    return checked.returncode == 0 and "here-document" not in checked.stderr


def split_python(block):
    """Returns the statements of a Python block with prompts."""
    parsed = doctest.DocTestParser().get_examples(block.text)
    return [Example(block.first + found.lineno + 1, found.source, found.want.splitlines()) for found in parsed]


def normal(lines):
    """Returns lines without the values that differ in each run."""
    result = []
    for line in lines:
        changed = re.sub(r"\b\d[\d.,]* ?[KMGT]?i?B/s", "<rate>", line)
        changed = re.sub(r"\b\d[\d.]* ?(ns|us|µs|ms|s|min)\b", "<time>", changed)
        if changed != line:
            changed = re.sub(r"\s+", " ", changed)
        result.append(changed.rstrip())
    while result and not result[-1]:
        result.pop()
    return result


class Chapter:
    """A page of the guide, and the results of its examples."""

    def __init__(self, path):
        self.path = path.resolve()
        self.name = path.name
        self.text = path.read_text(encoding="utf-8")
        self.blocks = blocks_of(self.text)
        self.faults = []
        for block in self.blocks:
            if block.kind == "console":
                block.examples = split_console(block)
            elif block.kind == "python" and ">>>" in block.text:
                block.examples = split_python(block)
            for word, package in WANTED.items():
                if word in block.text and importlib.util.find_spec(package) is None:
                    block.left_out = package
        for word, wanted in WANTED_BY_ALL.items():
            if any(word in block.text for block in self.blocks if block.kind == "console"):
                if shutil.which(wanted) is None and importlib.util.find_spec(wanted) is None:
                    for block in self.blocks:
                        block.left_out = wanted

    def runs(self):
        return [block for block in self.blocks if block.examples and not block.left_out]

    def fault(self, line, text):
        self.faults.append(f"{self.name}:{line}: {text}")

    # -- blocks that are only parsed

    def check_forms(self, environment):
        for block in self.blocks:
            line = block.first
            if block.kind == "json":
                try:
                    json.loads(block.text)
                except ValueError as error:
                    self.fault(line, f"no JSON: {error}")
            elif block.kind == "python" and not block.examples:
                try:
                    ast.parse(block.text)
                except SyntaxError as error:
                    self.fault(line, f"no Python: {error}")
            elif block.kind in ("sh", "bash"):
                checked = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True)
                if checked.returncode:
                    self.fault(line, f"bash does not parse it: {checked.stderr.strip()}")
                    continue
                for words in calls_of_program(block.text):
                    self.check_options(line, words, environment)

        if self.path.parent != DOCS:
            return
        # Commands in sentences, except those with a placeholder.
        opened = False
        for number, line in enumerate(self.text.splitlines(), 1):
            if line.startswith("```"):
                opened = not opened
            for command in [] if opened else re.findall(r"`(zarrcast [^`]+)`", line):
                if not re.search(r"\b[A-Z]{3,}\b", command):
                    for words in calls_of_program(command):
                        self.check_options(number, words, environment)

    def check_options(self, line, words, environment):
        # Arguments before --help are parsed first, so unknown options and invalid values are errors.
        run = subprocess.run([*words, "--help"], env=environment, cwd="/", capture_output=True, text=True)
        if run.returncode:
            self.fault(line, f"the program does not take `{shlex.join(words)}`: {run.stderr.strip()}")

    # -- blocks that are run

    def run(self, folder, environment):
        notes = folder.parent / f"{self.name}.run"
        notes.mkdir()
        # A failure in a pipe fails the command.
        script, examples, python = ["set -o pipefail\n"], [], []
        ports = Ports("".join(block.text for block in self.runs() if block.kind == "console"))

        def end_of_python():
            if python:
                number = len(examples)
                task = notes / f"{number}.json"
                task.write_text(json.dumps([example.source for example in python]))
                call = shlex.join([sys.executable, str(Path(__file__).resolve()), "--python", str(task)])
                add(Example(python[0].line, call, []), list(python))
                python.clear()

        def add(example, statements):
            command = ports.put_into(example.source)
            script.append(f"{{\n{command}\n}}\n__status=$?; printf '{MARK}%s{MARK}' $__status; (exit $__status)\n")
            examples.append((example, statements))

        for block in self.runs():
            if block.kind == "python":
                python.extend(block.examples)
                continue
            end_of_python()
            for example in block.examples:
                add(example, None)
        end_of_python()
        path = notes / "script"
        path.write_text("".join(script))
        printed = ports.take_out_of(on_terminal(["bash", str(path)], folder, environment))
        parts = printed.split(MARK)
        for index, (example, statements) in enumerate(examples):
            if 2 * index + 1 >= len(parts):
                self.fault(example.line, f"was not run to its end:\n{parts[-1] if 2 * index < len(parts) else ''}")
                return
            example.printed, example.status = parts[2 * index].splitlines(), int(parts[2 * index + 1])
            if statements:
                results = json.loads((notes / f"{index}.json").read_text())
                for statement, text in zip(statements, results):
                    statement.printed, statement.status = text.splitlines(), 0
        self.compare()

    def compare(self):
        for block in self.runs():
            for index, example in enumerate(block.examples):
                if example.printed is None:
                    self.fault(example.line, "was not run")
                    continue
                following = block.examples[index + 1].source if index + 1 < len(block.examples) else ""
                if example.status and following != "echo $?":
                    printed = "\n".join(example.printed)
                    self.fault(example.line, f"exit status {example.status} of `{example.source}`\n{printed}")
                elif normal(example.printed) != normal(example.want):
                    difference = difflib.unified_diff(
                        normal(example.want), normal(example.printed), "the guide", "printed now", lineterm="", n=1
                    )
                    self.fault(
                        example.line, f"`{example.source}` prints other than the guide says\n" + "\n".join(difference)
                    )

    def write(self):
        """Writes the output into the chapter, unless only durations differ."""
        lines = self.text.splitlines()
        for block in reversed(self.runs()):
            new = []
            for example in block.examples:
                source = example.source.rstrip("\n").split("\n")
                same = normal(example.printed) == normal(example.want)
                printed = example.want if same else [line.rstrip() for line in example.printed]
                if block.kind == "python":
                    new += [f">>> {source[0]}", *(f"... {line}".rstrip() for line in source[1:]), *printed]
                else:
                    new += [f"$ {source[0]}", *source[1:], *printed]
            lines[block.first : block.first + len(block.lines)] = new
        self.path.write_text("\n".join(lines) + "\n", encoding="utf-8")


class Ports:
    """Maps each port in the commands to a free one."""

    # Chapters run in parallel.
    lock, taken = threading.Lock(), set()

    def __init__(self, commands):
        named = sorted(set(re.findall(r"\b127\.0\.0\.1:(\d+)", commands)))
        self.free = {port: self.choose(len(port)) for port in named}

    @classmethod
    def choose(cls, digits):
        """Returns a free port with as many digits, so that line breaks do not change."""
        ports = range(max(1024, 10 ** (digits - 1)), min(65536, 10**digits))
        with cls.lock:
            for port in random.sample(ports, len(ports)):
                with socket.socket() as tried, contextlib.suppress(OSError):
                    tried.bind(("127.0.0.1", port))
                    if port not in cls.taken:
                        cls.taken.add(port)
                        return str(port)
        raise SystemExit(f"no port of {digits} digits is free")

    def put_into(self, command):
        return re.sub(r"\b\d+\b", lambda found: self.free.get(found[0], found[0]), command)

    def take_out_of(self, printed):
        of_guide = {free: port for port, free in self.free.items()}
        return re.sub(r"(?<=\b127\.0\.0\.1:)\d+", lambda found: of_guide.get(found[0], found[0]), printed)


def calls_of_program(text):
    """Returns the words of each call of zarrcast in a script."""
    text = text.replace("\\\n", " ")
    found = []
    for line in text.splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        call = None
        for word in words:
            if word and set(word) <= set("();<>|&"):
                call = None
            elif call is not None:
                call.append(word)
            elif word == "zarrcast":
                call = [word]
                found.append(call)
    return found


def on_terminal(command, folder, environment):
    """Returns the output of a command on a terminal."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (LINES, COLUMNS))
    look = termios.tcgetattr(theirs)
    look[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, look)
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    timer = None
    printed = io.BytesIO()

    def stop():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    try:
        timer = threading.Timer(SECONDS_OF_A_CHAPTER, stop)
        timer.start()
        # A background process of an example keeps the terminal open. It is stopped after bash has ended.
        threading.Thread(target=lambda: (process.wait(), stop()), daemon=True).start()
        while True:
            try:
                got = os.read(ours, 65536)
            except OSError:
                break
            if not got:
                break
            printed.write(got)
    finally:
        timer.cancel()
        stop()
        process.wait()
        os.close(ours)
    text = printed.getvalue().decode("utf-8", "replace").replace("\r\n", "\n")
    # A line of progress is erased at the end.
    text = re.sub(r"[^\n\x1e]*\r?\x1b\[2K\r?", "", text)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "")


def run_python(task):
    """Implements `--python FILE`: runs the statements of FILE one by one and writes the output of each into it."""
    path, names, results = Path(task), {"__name__": "__main__"}, []
    sys.path.insert(0, "")
    for source in json.loads(path.read_text()):
        with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(printed):
            try:
                exec(compile(source, "<example>", "single"), names)
            except Exception as error:
                print("Traceback (most recent call last):\n  ...")
                print("".join(traceback.format_exception_only(error)), end="")
        results.append(printed.getvalue())
    path.write_text(json.dumps(results))


def chapters_of_guide():
    """Returns the README and the pages of SUMMARY.md, in its order."""
    names = re.findall(r"\]\(([\w-]+\.md)\)", (DOCS / "SUMMARY.md").read_text(encoding="utf-8"))
    return [DOCS / name for name in dict.fromkeys(names)] + [ROOT / "README.md"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("chapters", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true", help="put what is printed into the chapters")
    options = parser.parse_intermixed_args()

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        programs = folder / "bin"
        programs.mkdir()
        (programs / "zarrcast").symlink_to(options.program.resolve())
        for name in ("python", "python3"):
            wrapper = programs / name
            wrapper.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
            wrapper.chmod(0o755)
        environment = {
            "PATH": os.pathsep.join(
                [str(programs), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
            ),
            "PYTHONPATH": str(ROOT / "python"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONWARNINGS": "ignore",
            "HOME": temporary,
            "LC_ALL": "C.UTF-8",
            "TERM": "xterm",
            "NO_COLOR": "1",
        }
        data = folder / "data"
        subprocess.run(
            [sys.executable, str(DOCS / "example_data.py"), str(data)],
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
        )

        chapters = [Chapter(path) for path in options.chapters or chapters_of_guide()]

        def work(chapter):
            chapter.check_forms(environment)
            if chapter.runs():
                place = folder / chapter.path.stem
                shutil.copytree(data, place)
                chapter.run(place, environment)

        with concurrent.futures.ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
            list(pool.map(work, chapters))
        for chapter in chapters:
            if (
                options.write
                and chapter.runs()
                and all(e.printed is not None for b in chapter.runs() for e in b.examples)
            ):
                chapter.write()
            count = sum(len(block.examples) for block in chapter.runs())
            left_out = [block.left_out for block in chapter.blocks if block.left_out and block.examples]
            note = (
                f", {len(left_out)} blocks NOT RUN for want of {', '.join(sorted(set(left_out)))}" if left_out else ""
            )
            print(f"{chapter.name}: {count} examples{note}{', FAILED' if chapter.faults else ''}")
        faults = [fault for chapter in chapters for fault in chapter.faults]
        for fault in faults:
            print(f"\n{fault}", file=sys.stderr)
        if faults:
            help = "`docs/run_examples.py PROGRAM --write` writes them anew"
            raise SystemExit(f"\n{len(faults)} examples of the guide do not hold: {help}")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--python":
        run_python(sys.argv[2])
    else:
        main()
