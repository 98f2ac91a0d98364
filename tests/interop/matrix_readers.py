#!/usr/bin/env python3
"""matrix_readers.py READER REQUESTS ANSWERS: read arrays, and write down what each holds.

REQUESTS is a JSON list of paths; ANSWERS becomes an object of a digest, or of `{"error": TEXT}`, for each path.
"""

import json
import sys
import warnings
from pathlib import Path

from arrays import by_tensorstore, read
from matrix_types import digest

warnings.filterwarnings("ignore")


def answer(reader, path):
    try:
        return digest(reader(Path(path)))
    except Exception as error:
        return {"error": f"{type(error).__name__}: {str(error)[:300]}"}


if __name__ == "__main__":
    reader = {"zarr-python": read, "tensorstore": by_tensorstore}[sys.argv[1]]
    paths = json.loads(Path(sys.argv[2]).read_text())
    Path(sys.argv[3]).write_text(json.dumps({path: answer(reader, path) for path in paths}))
