"""zarrcast: inspect, validate and transcode Zarr arrays.

The functions run the program `zarrcast`, which is installed with this module, and give what it answers as
dataclasses (`zarrcast.results`). Options of the command line are keyword arguments. For what they do not give, such as
reports as text or scripts, run the program: `subprocess.run([zarrcast.find_bin(), ...])`.
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
