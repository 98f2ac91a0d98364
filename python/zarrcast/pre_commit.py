"""`python -m zarrcast.pre_commit OPTIONS FILES` validates the stores of files, as a pre-commit hook.

An argument that is not a file is an option of `zarrcast validate` (`--level=data`). The exit status is that of the
program, or 0 if no file belongs to a store.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from typing import Optional

from ._find_bin import ProgramNotFoundError, find_bin

_DOCUMENTS = ("zarr.json", ".zarray", ".zgroup")


def main(arguments: list[str]) -> int:
    """Validates each store once."""
    files = [argument for argument in arguments if os.path.isfile(argument)]
    options = [argument for argument in arguments if not os.path.isfile(argument)]
    stores = stores_of(files)
    if not stores:
        return 0
    try:
        return subprocess.run([find_bin(), "validate", *options, "--", *stores], check=False).returncode
    except ProgramNotFoundError as error:
        print(f"error: {error}", file=sys.stderr)
        return 3


def stores_of(files: Iterable[str]) -> list[str]:
    """Returns the sorted stores that files belong to."""
    return sorted({store for store in map(_store_of, files) if store is not None})


def _store_of(file: str) -> Optional[str]:
    """Returns a zip file itself, else the outermost folder above the file with a Zarr document."""
    if file.endswith(".zip"):
        return file
    store, folder = None, os.path.dirname(file)
    while True:
        if any(os.path.isfile(os.path.join(folder, name)) for name in _DOCUMENTS):
            # A file at the root of a repository has an empty folder name.
            store = folder or os.curdir
        above = os.path.dirname(folder)
        if above == folder:
            return store
        folder = above


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
