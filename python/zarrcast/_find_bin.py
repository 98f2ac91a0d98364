"""Finds the program."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path


class ProgramNotFoundError(FileNotFoundError):
    """The program `zarrcast` was not found."""


def find_bin() -> str:
    """Returns the path of the program `zarrcast`: first in this interpreter's scripts, then in the user's, then on the
    PATH.

    Raises ProgramNotFoundError with the names of the folders if none of them has it.
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
    """Yields the script folders of installers, the most probable first."""
    yield sysconfig.get_path("scripts")
    # The base interpreter of a virtual environment, which may use its packages.
    yield sysconfig.get_path("scripts", vars={"base": sys.base_prefix})
    # `pip install --prefix`: lib/python3.X/site-packages/zarrcast has bin three folders up.
    package = Path(__file__).resolve().parent
    if package.parent.name in ("site-packages", "dist-packages") and len(package.parents) > 3:
        yield str(package.parents[3] / ("Scripts" if os.name == "nt" else "bin"))
    # `pip install --target`: next to the package.
    yield str(package.parent / "bin")
    # `pip install --user`.
    yield sysconfig.get_path("scripts", scheme=_user_scheme())


def _user_scheme() -> str:
    """Returns the name of the scheme of `pip install --user`."""
    if sys.version_info >= (3, 10):
        return sysconfig.get_preferred_scheme("user")
    if os.name == "nt":
        return "nt_user"
    return "osx_framework_user" if sys.platform == "darwin" and sys._framework else "posix_user"
