#!/usr/bin/env python3
"""Runs the sections of modules of this folder: `run.py PROGRAM MODULE... [--only SECTION]`.

Each module has a list SECTIONS. `.ci/interop` contains the packages that each module needs.
"""

import argparse
import importlib
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

from program import Tally, Zarrcast

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the zarrcast to test")
    parser.add_argument("modules", nargs="+", metavar="MODULE", help="a file of this folder, without .py")
    parser.add_argument("--only", default="", help="run only the sections whose name contains this")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    path = shutil.which(options.program) or sys.exit(f"no program at {options.program}")
    sections = [section for module in options.modules for section in importlib.import_module(module).SECTIONS]
    with tempfile.TemporaryDirectory(prefix="zarrcast-interop-") as folder:
        tally = Tally(folder)
        for section in sections:
            if options.only in section.__name__:
                place = Path(folder) / section.__name__
                place.mkdir()
                tally.section(section, Zarrcast(path), place)
    sys.exit(tally.close())
