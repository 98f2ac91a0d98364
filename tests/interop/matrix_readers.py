#!/usr/bin/env python3
"""matrix_readers.py READER REQUESTS ANSWERS: read arrays, and write down what each holds.

REQUESTS is a JSON list of paths; ANSWERS becomes an object of a digest, or of `{"error": TEXT}`, for each path.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
from matrix_types import digest

warnings.filterwarnings("ignore")


def by_zarr_python(path):
    """All elements, as the zarr-python of this environment reads them."""
    import zarr

    return np.asarray(zarr.open_array(path, mode="r")[...])


def by_tensorstore(path):
    """All elements, as tensorstore reads them."""
    import tensorstore

    driver = "zarr3" if (Path(path) / "zarr.json").exists() else "zarr"
    specification = {"driver": driver, "kvstore": {"driver": "file", "path": path}}
    return tensorstore.open(specification, open=True, read=True).result().read().result()


def answer(reader, path):
    """What a reader finds at a path."""
    try:
        return digest(reader(path))
    except Exception as error:
        return {"error": f"{type(error).__name__}: {str(error)[:300]}"}


if __name__ == "__main__":
    reader = {"zarr-python": by_zarr_python, "tensorstore": by_tensorstore}[sys.argv[1]]
    paths = json.loads(Path(sys.argv[2]).read_text())
    Path(sys.argv[3]).write_text(json.dumps({path: answer(reader, path) for path in paths}))
