"""The commands, as functions."""

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
    # numpy need not be there.
    Array = Data = Any


@overload
def inspect(store: Path, /, **options: Any) -> Union[InspectArray, InspectGroup]: ...
@overload
def inspect(store: Path, other: Path, /, *stores: Path, **options: Any) -> InspectSeveral: ...
def inspect(*stores: Path, **options: Any) -> Any:
    """What is in a store: `inspect("a.zarr", stats=True, histogram=20)`; or in several.

    Options are those of `zarrcast inspect`, with `_` for `-`. Of a damaged node, or where a store cannot be read,
    ZarrcastError is raised, whose `result` is what can be said all the same.
    """
    return run_json("inspect", stores, options)


def validate(*stores: Path, **options: Any) -> ValidateResult:
    """Whether stores are right: `validate("a.zarr", "b.zarr", level="data", allow=["ZK201"])`.

    What is wrong is in `findings`, and `valid` says whether anything is at error level. Where a store cannot be read,
    ZarrcastError is raised, whose `result` holds the rest. Options are those of `zarrcast validate`, with `_` for `-`.
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
    """Writes an array, or a group with all below it, anew: `transcode("a.zarr", "b.zarr", quantize="uint8")`.

    Options are those of `zarrcast transcode`, with `_` for `-`, and after a word that Python keeps for itself
    (`as_="cf"`, `pass_="range"`): True stands for an option without a value, a list gives an option repeatedly
    (`rule=[...]`), a tuple is joined by commas (`chunk_shape=(1, 256, 256)`), a dict is JSON (`attributes={...}`), but
    for dimensions by name (`chunk_shape={"time": 1}`, `select={"time": slice(0, 5)}`).
    `finish=True` of a job that is complete already gives a StatusResult.
    """
    # Whether parts are missing is what `--status` is asked for.
    return run_json("transcode", [source, dest], options, accepted=(0, 1) if options.get("status") else (0,))


@dataclass(frozen=True)
class AppliedCodec(ApplyCodecResult):
    """What a codec chain did, and what came out of it."""

    #: What came out, where no file was named for it: a numpy array if the chain ends in an array, else bytes. Bytes,
    #: too, without numpy or where it lacks the type: little-endian elements in C order.
    data: Any = None


def apply_codec(
    input: Union[Data, Path, None] = None, output: Optional[Path] = None, /, **options: Any
) -> AppliedCodec:
    """Runs a codec chain, either way, over a numpy array, bytes or a file.

    `apply_codec(array, codecs="zstd:5").data` are the encoded bytes, and
    `apply_codec(data, codecs="zstd:5", decode=True, data_type="float32", shape=(3, 4)).data` is the array again;
    `apply_codec(like="a.zarr", chunk=(0, 3)).data` is a stored chunk. A str is the name of a file. What comes out is
    written to `output` where it is given, else it is `data`; with `stages`, `round_trip` or `repeat` nothing need
    come out: `data` is then None. Options are those of `zarrcast apply-codec`, with `_` for `-`.
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
    """The name of a file that holds `data`, which may be that name itself."""
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
    """What came out, as an array where it is one: raw elements are little-endian and in C order."""
    last = result.stages[-1]
    if not isinstance(last.data_type, str) or last.shape is None:
        return data
    try:
        import numpy

        data_type = numpy.dtype(last.data_type).newbyteorder("<")
        # A copy, since what lies over bytes cannot be written to.
        array: Array = numpy.frombuffer(data, data_type).reshape(last.shape).copy()
        return array
    except (ImportError, TypeError, ValueError):
        # No numpy, or a type that it does not have.
        return data
