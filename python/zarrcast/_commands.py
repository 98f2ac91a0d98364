"""The commands as functions."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Optional, Union, overload

from ._program import Path, run_json
from .results import (
    ApplyCodecResult,
    InitResult,
    InspectArray,
    InspectGroup,
    InspectSeveral,
    PartitionResult,
    StatusResult,
    TranscodeResult,
    ValidateResult,
)

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]
    Data = Union[Array, bytes, bytearray, memoryview]
else:
    # numpy is optional.
    Array = Data = Any


@overload
def inspect(store: Path, /, **options: Any) -> Union[InspectArray, InspectGroup]: ...
@overload
def inspect(store: Path, other: Path, /, *stores: Path, **options: Any) -> InspectSeveral: ...
def inspect(*stores: Path, **options: Any) -> Any:
    """Describes one store or several: `inspect("a.zarr", stats=True, histogram=20)`.

    Options are those of `zarrcast inspect`, with `_` for `-`. For a damaged node or an unreadable store, ZarrcastError
    is raised. Its `result` contains the available information.
    """
    return run_json("inspect", stores, options)


def validate(*stores: Path, **options: Any) -> ValidateResult:
    """Validates stores: `validate("a.zarr", "b.zarr", level="data", allow=["ZK201"])`.

    `findings` contains the faults, and `valid` is False if any of them is an error. For an unreadable store,
    ZarrcastError is raised. Its `result` contains the rest. Options are those of `zarrcast validate`, with `_` for
    `-`.
    """
    result: ValidateResult = run_json("validate", stores, options, accepted=(0, 1))
    return result


@overload
def transcode(source: Path, dest: Path, /, *, init: Literal[True], **options: Any) -> InitResult: ...
@overload
def transcode(source: Path, dest: Path, /, *, partition: Union[int, str], **options: Any) -> PartitionResult: ...
@overload
def transcode(source: Path, dest: Path, /, *, status: Literal[True], **options: Any) -> StatusResult: ...
@overload
def transcode(source: Path, dest: Path, /, **options: Any) -> TranscodeResult: ...
def transcode(source: Path, dest: Path, /, **options: Any) -> Any:
    """Writes a new array, or a group with its hierarchy: `transcode("a.zarr", "b.zarr", quantize="uint8")`.

    Options are those of `zarrcast transcode`, with `_` for `-`, and with `_` after a Python keyword (`as_="cf"`,
    `pass_="range"`). True is an option without a value. A list repeats an option (`rule=[...]`), and a tuple is joined
    by commas (`chunk_shape=(1, 256, 256)`). A dict is JSON (`attributes={...}`), except for dimensions by name
    (`chunk_shape={"time": 1}`, `select={"time": slice(0, 5)}`). `finish=True` returns a StatusResult if the job is
    already complete.
    """
    # For `--status`, status 1 reports missing parts and is not an error.
    return run_json("transcode", [source, dest], options, accepted=(0, 1) if options.get("status") else (0,))


@dataclass(frozen=True)
class AppliedCodec(ApplyCodecResult):
    """The report of a codec chain, and its output."""

    #: The output, if no output file is given: a numpy array if the chain ends in an array, else bytes. Without numpy,
    #: or if numpy lacks the type, it is bytes: little-endian elements in C order.
    data: Any = None


def apply_codec(
    input: Union[Data, Path, None] = None, output: Optional[Path] = None, /, **options: Any
) -> AppliedCodec:
    """Encodes or decodes a numpy array, bytes or a file with a codec chain.

    `apply_codec(array, codecs="zstd:5").data` returns the encoded bytes, and `apply_codec(data, codecs="zstd:5",
    decode=True, data_type="float32", shape=(3, 4)).data` returns the array again. `apply_codec(like="a.zarr",
    chunk=(0, 3)).data` returns a stored chunk. A str is a file name. The output is written to `output` if it is given,
    else it is `data`. With `stages`, `round_trip` or `repeat`, an output is optional, and `data` is None. Options are
    those of `zarrcast apply-codec`, with `_` for `-`.
    """
    with tempfile.TemporaryDirectory(prefix="zarrcast-") as folder:
        locations = [] if input is None else [_file_of(input, folder)]
        measures = bool(options.get("stages") or options.get("round_trip") or options.get("repeat"))
        own = os.path.join(folder, "output") if output is None and not measures else None
        locations += [path for path in (output, own) if path is not None]
        result = run_json("apply-codec", locations, options)
        data = None
        if own is not None:
            with open(own, "rb") as file:
                data = _data_of(file.read(), result)
    fields = {each.name: getattr(result, each.name) for each in dataclasses.fields(result)}
    return AppliedCodec(**fields, data=data)


def _file_of(data: Union[Data, Path], folder: str) -> Path:
    """Returns the name of a file that contains `data`, or `data` itself if it is a file name."""
    if isinstance(data, (str, os.PathLike)):
        return data
    if isinstance(data, (bytes, bytearray, memoryview)):
        path = os.path.join(folder, "input")
        with open(path, "wb") as file:
            file.write(data)
        return path
    import numpy

    path = os.path.join(folder, "input.npy")
    numpy.save(path, numpy.asarray(data), allow_pickle=False)
    return path


def _data_of(data: bytes, result: ApplyCodecResult) -> Union[Array, bytes]:
    """Returns the output, as an array if it is one. Raw elements are little-endian and in C order."""
    last = result.stages[-1]
    if not isinstance(last.data_type, str) or last.shape is None:
        return data
    try:
        import numpy

        data_type = numpy.dtype(last.data_type).newbyteorder("<")
        # A copy, because an array over bytes is read-only.
        array: Array = numpy.frombuffer(data, data_type).reshape(last.shape).copy()
        return array
    except (ImportError, TypeError, ValueError):
        # No numpy, or a type that it does not have.
        return data
