"""`python -m zarrcast` runs the program `zarrcast` and has the same exit status."""

from __future__ import annotations

import os
import subprocess
import sys

from ._find_bin import ProgramNotFoundError, find_bin


def main() -> int:
    """Runs the program with this process's arguments. On POSIX it replaces this process."""
    try:
        program = find_bin()
    except ProgramNotFoundError as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    if os.name == "posix":
        os.execv(program, [program, *sys.argv[1:]])
    return subprocess.run([program, *sys.argv[1:]], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
