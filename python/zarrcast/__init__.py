"""zarrcast: inspect, validate and transcode Zarr arrays.

The functions run the program `zarrcast`, which is installed with this module. They return its results as dataclasses
(`zarrcast.results`). Options of the command line are keyword arguments. For other output, such as text reports or
scripts, run the program itself: `subprocess.run([zarrcast.find_bin(), ...])`.
"""

from __future__ import annotations

from . import results
from ._commands import AppliedCodec, apply_codec, inspect, transcode, validate
from ._find_bin import ProgramNotFoundError, find_bin
from ._program import ZarrcastError

__all__ = [
    "AppliedCodec",
    "ProgramNotFoundError",
    "ZarrcastError",
    "apply_codec",
    "find_bin",
    "inspect",
    "results",
    "transcode",
    "validate",
]
