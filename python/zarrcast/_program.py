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
    """The program failed, or reports that the data are faulty."""

    #: The exit status: 1 faulty data, 2 usage, 3 failure, 4 too early. A negative status is minus a signal number.
    status: int
    #: The text on stderr: the fault, the expectation, the next step.
    stderr: str
    #: The command line.
    command: tuple[str, ...]
    #: The result on stdout in spite of the error, such as information on a damaged node. None without output.
    result: Any

    def __init__(self, status: int, stderr: str, command: Iterable[str], result: Any = None) -> None:
        self.status, self.stderr, self.command, self.result = status, stderr, tuple(command), result
        super().__init__(status, stderr, self.command, result)

    def __str__(self) -> str:
        without = "no message" if self.result is None else f"it found {self.result}"
        text = self.stderr.strip() or f"{without}; the command was: {shlex.join(self.command)}"
        return f"exit status {self.status}: {text}"


def run_json(command: str, locations: Iterable[Path], options: dict[str, Any], accepted: Iterable[int] = (0,)) -> Any:
    """Runs `zarrcast COMMAND --json OPTIONS -- LOCATIONS` and returns its result as a dataclass.

    Raises ZarrcastError if the exit status is not in `accepted`, or if the output is not a valid result.
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


#: The options with dimensions by name, which are a dict here: `time=1,lat=64` or `time=0:5,lat=20:`.
BY_DIMENSION = ("chunk_shape", "preview", "select", "shard_shape")


def arguments_of(options: dict[str, Any]) -> list[str]:
    """Converts keyword arguments to options of the command line.

    True adds the option without a value, False and None omit it. A list adds it once per item, and a tuple joins its
    items by commas. A dict is dimensions by name if the option supports them, else it is JSON, as is a list of dicts.
    Any other value is written as text.
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
    """Converts a value to text for the command line."""
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
    # numpy numbers.
    if not isinstance(value, (str, int, float)) and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return str(value)


def _run(command: list[str]) -> tuple[int, bytes, str]:
    """Runs a command to its end. Its stderr is shown at once if stderr is a terminal."""
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
    """Collects the bytes of a stream, and shows them if stderr is a terminal."""
    shows = _is_terminal()
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while block := os.read(stream.fileno(), 1 << 16):
        written.append(block)
        if shows:
            try:
                sys.stderr.write(decoder.decode(block))
                sys.stderr.flush()
            except (OSError, ValueError):
                # The terminal is gone, and the program must not block on it.
                shows = False


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Interrupts the program. It then marks unfinished work, explains how to resume, and ends within two seconds."""
    process.send_signal(signal.SIGINT if os.name == "posix" else signal.SIGTERM)
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _without_progress(text: bytes) -> str:
    """Returns the final text of a terminal: the last version of each overwritten line."""
    lines = text.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    return "\n".join(line.rsplit("\r", 1)[-1] for line in lines)


def _is_terminal() -> bool:
    """Returns whether stderr is a terminal. It is not in notebooks, or if it does not exist."""
    try:
        return bool(sys.stderr.isatty())
    except (AttributeError, ValueError):
        # stderr is None, closed, or a replacement in a window.
        return False
