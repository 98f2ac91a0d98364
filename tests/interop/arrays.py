"""Arrays in and out: fixtures with their expected elements, and comparison of every bit."""

import json

import numpy as np
from program import FIXTURES


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
        """The expected elements of the box that is kept."""
        stored = {"uint10": "<u2", "r24": "V3"}.get(self.data_type) or np.dtype(self.data_type).newbyteorder("<")
        return np.frombuffer(self._elements.read_bytes(), stored).reshape(self._extent)

    def has_codecs(self, *names):
        """Whether any of the codecs is in the chain, also inside shards."""
        text = json.dumps(self.metadata["codecs"])
        return any(f'"{name}"' in text for name in names)


def fixtures():
    """Every array of the fixtures."""
    index = json.loads((FIXTURES / "expected" / "index.json").read_text())
    return [Fixture(entry) for entry in index["arrays"]]


def fixture(name):
    """The fixture whose name ends so."""
    found = [one for one in fixtures() if one.name.endswith(name)]
    assert len(found) == 1, f"{len(found)} fixtures end in {name}"
    return found[0]


def same_bits(found, expected, what="elements"):
    """Fail unless two arrays agree in type, shape and every bit; the message names the first element that differs."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, not {expected.shape}"
    native = [array.dtype.newbyteorder("=") for array in (found, expected)]
    assert native[0] == native[1], f"{what}: type {native[0]}, not {native[1]}"
    a, b = (np.ascontiguousarray(array.astype(native[0])).reshape(-1) for array in (found, expected))
    bits = [array.view("u1").reshape(a.size, -1) if a.size else array for array in (a, b)]
    if a.size and not np.array_equal(*bits):
        at = np.flatnonzero((bits[0] != bits[1]).any(axis=1))
        raise AssertionError(f"{what}: {at.size} of {a.size} differ, first at {at[0]}: {a[at[0]]!r}, not {b[at[0]]!r}")


def metadata(path):
    """The metadata document of a node."""
    return json.loads((path / "zarr.json").read_text(encoding="utf-8"))


def with_literals(path):
    """The metadata document with every number as its text, so that literals compare."""
    text = (path / "zarr.json").read_text(encoding="utf-8")
    return json.loads(text, parse_float=lambda s: f"number {s}", parse_int=lambda s: f"number {s}", parse_constant=lambda s: f"number {s}")


def stored_objects(path):
    """Every file below a node but its metadata document, by relative path."""
    return {str(p.relative_to(path)): p.read_bytes() for p in path.rglob("*") if p.is_file() and p.name != "zarr.json"}


def innermost(codecs):
    """The innermost codec list of a chain."""
    for codec in codecs:
        if codec["name"] == "sharding_indexed":
            return innermost(codec["configuration"]["codecs"])
    return codecs


def round_to_integer(values, rounding):
    """Round floats to integers by one of the five rules of `cast_value`, exactly."""
    if rounding == "nearest-away":
        whole = np.trunc(values)
        return whole + np.where(np.abs(values - whole) >= 0.5, np.sign(values), 0).astype(values.dtype)
    rules = {"nearest-even": np.rint, "towards-zero": np.trunc, "towards-positive": np.ceil, "towards-negative": np.floor}
    return rules[rounding](values)
