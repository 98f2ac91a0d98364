"""Runs the program."""

from __future__ import annotations

import codecs
import json
import math
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable
from typing import IO, Any, Union

from ._find_bin import find_bin
from ._read import read_result

Path = Union[str, "os.PathLike[str]"]


class ZarrcastError(Exception):
    """The program could not do what was asked, or says that the data are at fault."""

    #: Its exit status: 1 the data, 2 usage, 3 could not be done, 4 too early; negative, less a signal's number.
    status: int
    #: What it wrote to stderr: what is wrong, what was expected, the next step.
    stderr: str
    #: The command line.
    command: tuple[str, ...]
    #: What it printed all the same, such as what can be said of a damaged node; None where there is nothing.
    result: Any

    def __init__(self, status: int, stderr: str, command: Iterable[str], result: Any = None) -> None:
        self.status, self.stderr, self.command, self.result = status, stderr, tuple(command), result
        super().__init__(status, stderr, self.command, result)

    def __str__(self) -> str:
        without = "no message" if self.result is None else f"it found {self.result}"
        text = self.stderr.strip() or f"{without}; the command was: {shlex.join(self.command)}"
        return f"exit status {self.status}: {text}"


def run_json(command: str, locations: Iterable[Path], options: dict[str, Any], accepted: Iterable[int] = (0,)) -> Any:
    """What `zarrcast COMMAND --json OPTIONS -- LOCATIONS` answers, as a dataclass.

    Raises ZarrcastError where the exit status is none of `accepted`, or where what it prints is no result.
    """
    shows = _is_terminal() and not options.get("quiet") and "progress" not in options
    progress = {"progress": "always"} if shows else {}
    named = [str(os.fspath(location)) for location in locations]
    arguments = [command, "--json", *arguments_of({**options, **progress}), "--", *named]
    status, stdout, stderr = _run([find_bin(), *arguments])
    result = None
    if stdout.strip():
        try:
            result = read_result(stdout)
        except ValueError as error:
            stderr += f"\nwhat it printed is no result: {error}"
            raise ZarrcastError(status, stderr, ["zarrcast", *arguments]) from error
    if status not in accepted or result is None:
        raise ZarrcastError(status, stderr, ["zarrcast", *arguments], result)
    return result


#: The options that take dimensions by name, as a dict here: `time=1,lat=64` or `time=0:5,lat=20:`.
BY_DIMENSION = ("chunk_shape", "preview", "select", "shard_shape")


def arguments_of(options: dict[str, Any]) -> list[str]:
    """Options of the command line from keyword arguments.

    True gives the option alone, False and None leave it out. A list gives it once for each item, a tuple joins
    its items by commas, a dict is dimensions by name where the option takes those, else it is JSON, as a list of
    dicts is. Anything else is written as text.
    """
    arguments: list[str] = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            arguments.append(option)
            continue
        if isinstance(value, dict) and name in BY_DIMENSION:
            value = tuple(f"{dimension}={_text(length)}" for dimension, length in value.items())
        repeats = isinstance(value, list) and not any(isinstance(item, dict) for item in value)
        arguments += [f"{option}={_text(item)}" for item in (value if repeats else [value])]
    return arguments


def _text(value: Any) -> str:
    """A value as the command line takes it."""
    if isinstance(value, tuple):
        return ",".join(map(_text, value))
    if isinstance(value, slice):
        if value.step not in (None, 1):
            raise ValueError(f"{value}: every element from the first to the last is taken, a step cannot be given")
        return ":".join("" if end is None else _text(end) for end in (value.start, value.stop))
    if isinstance(value, (dict, list)):
        return json.dumps(value)
    if hasattr(value, "__fspath__"):
        return str(os.fspath(value))
    # Numbers of numpy.
    if not isinstance(value, (str, int, float)) and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return str(value)


def _run(command: list[str]) -> tuple[int, bytes, str]:
    """Runs a command to its end; what it writes to stderr is shown at once where stderr is a terminal."""
    written: list[bytes] = []
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        reader = threading.Thread(target=_pass_on, args=(process.stderr, written), daemon=True)
        reader.start()
        try:
            stdout = process.stdout.read()
            status = process.wait()
        except BaseException:
            _stop(process)
            raise
        finally:
            reader.join()
    return status, stdout, _without_progress(b"".join(written))


def _pass_on(stream: IO[bytes], written: list[bytes]) -> None:
    """Keeps what a stream gives, and shows it where stderr is a terminal."""
    shows = _is_terminal()
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while block := os.read(stream.fileno(), 1 << 16):
        written.append(block)
        if shows:
            try:
                sys.stderr.write(decoder.decode(block))
                sys.stderr.flush()
            except (OSError, ValueError):
                # The terminal went away; the program must not wait for it.
                shows = False


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Interrupts the program, which then marks what is unfinished, says how to go on, and ends within two seconds."""
    process.send_signal(signal.SIGINT if os.name == "posix" else signal.SIGTERM)
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _without_progress(text: bytes) -> str:
    """Text as a terminal has it in the end: of a line that was written over, the last."""
    lines = text.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    return "\n".join(line.rsplit("\r", 1)[-1] for line in lines)


def _is_terminal() -> bool:
    """Whether stderr is one; in notebooks, and where there is none, it is not."""
    try:
        return bool(sys.stderr.isatty())
    except (AttributeError, ValueError):
        # None, what stands for a stream in a window, or closed.
        return False
