"""Where the program is."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path


class ProgramNotFoundError(FileNotFoundError):
    """The program `zarrcast` is in none of the places where it may be."""


def find_bin() -> str:
    """The path of the program `zarrcast`: of this interpreter's scripts first, then of the user's, then of the PATH.

    Raises ProgramNotFoundError, which names the folders, where it is in none of them.
    """
    name = "zarrcast" + (sysconfig.get_config_var("EXE") or "")
    folders = list(dict.fromkeys(_folders()))
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    found = shutil.which(name)
    if found:
        return found
    looked = ", ".join(folders)
    help = "`pip install --force-reinstall zarrcast` installs it"
    raise ProgramNotFoundError(f"the program `{name}` is neither in {looked} nor on the PATH; {help}")


def _folders() -> Iterator[str]:
    """Folders that installers put programs into, the likeliest first."""
    yield sysconfig.get_path("scripts")
    # Of the interpreter that a virtual environment was made from, whose packages it may see.
    yield sysconfig.get_path("scripts", vars={"base": sys.base_prefix})
    # `pip install --prefix`: lib/python3.X/site-packages/zarrcast has bin three folders up.
    package = Path(__file__).resolve().parent
    if package.parent.name in ("site-packages", "dist-packages") and len(package.parents) > 3:
        yield str(package.parents[3] / ("Scripts" if os.name == "nt" else "bin"))
    # `pip install --target`: beside the package.
    yield str(package.parent / "bin")
    # `pip install --user`.
    yield sysconfig.get_path("scripts", scheme=_user_scheme())


def _user_scheme() -> str:
    """The name of the scheme of `pip install --user`."""
    if sys.version_info >= (3, 10):
        return sysconfig.get_preferred_scheme("user")
    if os.name == "nt":
        return "nt_user"
    return "osx_framework_user" if sys.platform == "darwin" and sys._framework else "posix_user"
