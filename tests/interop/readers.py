"""How zarr-python 3.1 and tensorstore read an array."""

import json
import warnings

import numpy as np
import tensorstore
import zarr
from arrays import metadata, same_bits

warnings.filterwarnings("ignore")


def by_zarr_python(path):
    """All elements of an array, as zarr-python reads them."""
    return np.asarray(zarr.open_array(path, mode="r")[...])


def by_tensorstore(path):
    """All elements of an array, as tensorstore reads them."""
    specification = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(path)}}
    return tensorstore.open(specification, open=True, read=True).result().read().result()


def readable(one):
    """Whether zarr-python 3.1 or tensorstore reads a fixture."""
    is_regular = one.metadata["chunk_grid"]["name"] == "regular"
    foreign = ("scale_offset", "cast_value", "zfp", "numcodecs.zfpy", "zarrs.vlen_v2")
    return is_regular and one.data_type not in ("uint10", "r24") and not one.has_codecs(*foreign)


def zarr_python_refuses(document):
    """Whether zarr-python refuses an array that is right: it holds inner chunks against the chunk before `transpose`."""
    chunk = document["chunk_grid"]["configuration"]["chunk_shape"]
    inner = [codec["configuration"]["chunk_shape"] for codec in document["codecs"] if codec["name"] == "sharding_indexed"]
    return any(outer % within for shape in inner for outer, within in zip(chunk, shape))


def tensorstore_refuses(document):
    """Whether tensorstore refuses an array that is right: numcodecs' own names, and codecs after `sharding_indexed`."""
    names = [codec["name"] for codec in document["codecs"]]
    return "sharding_indexed" in names[:-1] or any(name.startswith("numcodecs.") for name in names)


def elements(path):
    """All elements of an array, by zarr-python where it can."""
    return by_tensorstore(path) if zarr_python_refuses(metadata(path)) else by_zarr_python(path)


def same_by_both(path, expected):
    """Fail unless both readers find `expected` at `path`."""
    document = metadata(path)
    if not zarr_python_refuses(document):
        same_bits(by_zarr_python(path), expected, "by zarr-python")
    if not tensorstore_refuses(document):
        same_bits(by_tensorstore(path), expected, "by tensorstore")


def as_text(document):
    """A JSON document as one command-line argument."""
    return json.dumps(document)
