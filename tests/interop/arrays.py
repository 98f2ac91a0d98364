"""Arrays of the fixtures, arrays that zarr-python and tensorstore write or read, and comparison bit for bit."""

import json

import numpy as np
import zarr
from program import FIXTURES, files

FLOATS = ["float16", "float32", "float64"]
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
ROUNDINGS = ["nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"]


class Fixture:
    """One array of the fixtures, with the elements that its writer read back."""

    def __init__(self, entry):
        self.name = entry["fixture"].removeprefix("valid/") + (f"/{entry['node']}" if entry["node"] else "")
        self.path = FIXTURES / entry["fixture"] / entry["node"]
        self.data_type = entry["data_type"]
        self.metadata = metadata(self.path)
        self.box = tuple(slice(o, o + e) for o, e in zip(entry["origin"], entry["extent"]))
        self._elements = FIXTURES / "expected" / entry["elements"]
        self._extent = entry["extent"]

    def expected(self):
        stored = {"uint10": "<u2", "r24": "V3"}.get(self.data_type) or np.dtype(self.data_type).newbyteorder("<")
        return np.frombuffer(self._elements.read_bytes(), stored).reshape(self._extent)

    def has_codecs(self, *names):
        """Returns whether any of the codecs is in the chain or inside its shards."""
        text = json.dumps(self.metadata["codecs"])
        return any(f'"{name}"' in text for name in names)


def fixtures():
    index = json.loads((FIXTURES / "expected" / "index.json").read_text())
    return [Fixture(entry) for entry in index["arrays"]]


def fixture(name):
    (found,) = [one for one in fixtures() if one.name.endswith(name)]
    return found


def write(path, values, **options):
    """Writes an array with zarr-python and returns it."""
    array = zarr.create_array(path, shape=values.shape, dtype=values.dtype, **options)
    array[...] = values
    return array


def read(path):
    return np.asarray(zarr.open_array(path, mode="r")[...])


def by_tensorstore(path):
    import tensorstore

    specification = {"driver": "zarr3" if (path / "zarr.json").exists() else "zarr", "kvstore": {"driver": "file", "path": str(path)}}
    return tensorstore.open(specification, open=True, read=True).result().read().result()


def codec(name, **configuration):
    return {"name": name} | ({"configuration": configuration} if configuration else {})


LITTLE, BIG = codec("bytes", endian="little"), codec("bytes", endian="big")


def plain_codec(data_type):
    """Returns the codec that stores elements unchanged."""
    return LITTLE if np.dtype(data_type).itemsize > 1 else codec("bytes")


def lengths(shape):
    return ",".join(map(str, shape)) or "scalar"


def pieces(shape, parts=2):
    """Returns a chunk shape that cuts each dimension into about `parts` parts."""
    return tuple(max(1, -(-length // parts)) for length in shape)


def apply_codec(zarrcast, folder, codecs, values, *options, to, data_type=None):
    """Runs `apply-codec` on elements. Returns type `to`. `data_type` is the decoded type, else that of `values`."""
    (folder / "in").write_bytes(values.tobytes())
    chain = ["--codecs", json.dumps(codecs), "--data-type", data_type or values.dtype.name, "--shape", values.size]
    zarrcast.ok("apply-codec", *options, *chain, folder / "in", folder / "out")
    return np.frombuffer((folder / "out").read_bytes(), to)


def same_bits(found, expected, what="elements"):
    """Fails unless two arrays are equal in type, shape and every bit. The message names the first different element."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, not {expected.shape}"
    native = [array.dtype.newbyteorder("=") for array in (found, expected)]
    assert native[0] == native[1], f"{what}: type {native[0]}, not {native[1]}"
    a, b = (np.ascontiguousarray(array.astype(native[0])).reshape(-1) for array in (found, expected))
    bits = [array.view("u1").reshape(a.size, -1) if a.size else array for array in (a, b)]
    if a.size and not np.array_equal(*bits):
        at = np.flatnonzero((bits[0] != bits[1]).any(axis=1))
        raise AssertionError(f"{what}: {at.size} of {a.size} differ, first at {at[0]}: {a[at[0]]!r}, not {b[at[0]]!r}")


def zarr_python_refuses(document):
    """Returns whether zarr-python 3.1 refuses a valid array: it compares inner chunks with those before `transpose`."""
    chunk = document["chunk_grid"]["configuration"]["chunk_shape"]
    inner = [codec["configuration"]["chunk_shape"] for codec in document["codecs"] if codec["name"] == "sharding_indexed"]
    return any(outer % within for shape in inner for outer, within in zip(chunk, shape))


def tensorstore_refuses(document):
    """Returns whether tensorstore refuses a valid array, with a numcodecs codec or codecs after `sharding_indexed`."""
    names = [codec["name"] for codec in document["codecs"]]
    return "sharding_indexed" in names[:-1] or any(name.startswith("numcodecs.") for name in names)


def elements(path):
    """Returns all elements of an array, read by zarr-python if it can."""
    return by_tensorstore(path) if zarr_python_refuses(metadata(path)) else read(path)


def same_by_both(path, expected):
    """Fails unless zarr-python and tensorstore read `expected`."""
    document = metadata(path)
    if not zarr_python_refuses(document):
        same_bits(read(path), expected, "by zarr-python")
    if not tensorstore_refuses(document):
        same_bits(by_tensorstore(path), expected, "by tensorstore")


def same_within(found, expected, bound):
    """Fails unless two arrays have one type, NaN at the same positions, and differences of at most `bound`."""
    assert found.dtype == expected.dtype and np.array_equal(np.isnan(found), np.isnan(expected)), "other type, or NaN elsewhere"
    worst = np.nanmax(np.abs(found.astype("f8") - expected.astype("f8")))
    assert worst <= bound, f"{worst} is more than {bound}"


def metadata(path):
    return json.loads((path / "zarr.json").read_text(encoding="utf-8"))


def chunks_of(path):
    """Returns every file of an array except its metadata, by relative path."""
    return {key: content for key, content in files(path).items() if key != "zarr.json" and not key.startswith(".z")}


def round_to_integer(values, rounding):
    """Rounds floats to integers exactly, by one of the five rules of `cast_value`."""
    if rounding == "nearest-away":
        whole = np.trunc(values)
        return whole + np.where(np.abs(values - whole) >= 0.5, np.sign(values), 0).astype(values.dtype)
    rules = {"nearest-even": np.rint, "towards-zero": np.trunc, "towards-positive": np.ceil, "towards-negative": np.floor}
    return rules[rounding](values)
