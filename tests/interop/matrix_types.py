"""The data types of the matrix: their names, their fill values, and values with every bit pattern.

`matrix_types.py READER REQUESTS ANSWERS` reads arrays. REQUESTS is a JSON list of paths. ANSWERS is an object with a
digest, or `{"error": TEXT}`, for each path.
"""

import hashlib
import json
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from arrays import by_tensorstore, codec, read

SHAPE, CHUNK, SHARD = (7, 8), (2, 3), (6, 6)
# Rows before this one are never written. Their elements are the fill value, and some chunks are missing.
FIRST_ROW = 2
NOT_A_TIME = np.iinfo("i8").min
STRUCTURE = np.dtype([("a", "<i2"), ("b", "<f4"), ("c", "S2")])


@dataclass
class DataType:
    """One row. `numpy` is the type for writers. `names` and `fills` are its possible forms in v3."""

    title: str
    numpy: object
    names: list
    fill: object
    fills: list

    @property
    def byte_orders(self):
        return "<>" if ordered(self.numpy) else "|"


def ordered(kind):
    if not isinstance(kind, np.dtype):
        return False
    return any(ordered(kind[name]) for name in kind.names) if kind.names else kind.newbyteorder(">") != kind.newbyteorder("<")


def numbers():
    yield DataType("bool", np.dtype("?"), ["bool"], True, [True])
    for bits in (8, 16, 32, 64):
        least = -(1 << bits - 1)
        yield DataType(f"int{bits}", np.dtype(f"i{bits // 8}"), [f"int{bits}"], least, [least])
        yield DataType(f"uint{bits}", np.dtype(f"u{bits // 8}"), [f"uint{bits}"], 2**bits - 1, [2**bits - 1])
    for kind, name, fill, written in [("f2", "float16", -1.5, -1.5), ("f4", "float32", np.nan, "NaN"), ("f8", "float64", -np.inf, "-Infinity")]:
        yield DataType(name, np.dtype(kind), [name], fill, [written])
    yield DataType("complex64", np.dtype("c8"), ["complex64"], complex(1.5, -2), [[1.5, -2.0]])
    yield DataType("complex128", np.dtype("c16"), ["complex128"], complex(0, np.inf), [[0.0, "Infinity"]])


def others():
    for kind, unit, factor, fill in [("M8[s]", "s", 1, NOT_A_TIME), ("M8[10us]", "us", 10, 42), ("m8[ms]", "ms", 1, NOT_A_TIME), ("m8[D]", "D", 1, -1)]:
        name = "datetime64" if kind[0] == "M" else "timedelta64"
        value = np.dtype(kind).type(fill, kind[3:-1])
        fills = ["NaT", NOT_A_TIME] if fill == NOT_A_TIME else [fill]
        yield DataType(f"{name} [{kind[3:-1]}]", np.dtype(kind), [codec(f"numpy.{name}", unit=unit, scale_factor=factor)], value, fills)
    yield DataType("fixed-length text", np.dtype("<U4"), [codec("fixed_length_utf32", length_bytes=16)], "fü", ["fü"])
    yield DataType("fixed-length bytes", np.dtype("S5"), [codec("null_terminated_bytes", length_bytes=5)], b"fill", ["ZmlsbA==", "ZmlsbAA="])
    yield DataType("raw bytes", np.dtype("V3"), [codec("raw_bytes", length_bytes=3), "r24"], np.void(b"abc"), ["YWJj", [97, 98, 99]])
    fields = [["a", "int16"], ["b", "float32"], ["c", codec("null_terminated_bytes", length_bytes=2)]]
    members = [{"name": name, "data_type": kind} for name, kind in fields]
    fill = np.array((-7, 1.5, b"x"), STRUCTURE)[()]
    fills = ["+f8AAMA/eAA=", {"a": -7, "b": 1.5, "c": "eA=="}, {"a": -7, "b": 1.5, "c": "eAA="}]
    yield DataType("structured", STRUCTURE, [codec("structured", fields=fields), codec("struct", fields=members)], fill, fills)
    yield DataType("text", "string", ["string"], "", [""])
    yield DataType("bytes", "bytes", ["variable_length_bytes", "bytes"], b"", ["", []])


DATA_TYPES = [*numbers(), *others()]
SMALL = ["int2", "int4", "bfloat16", "float8_e3m4", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn"]


def values_of(kind, seed=5):
    """Returns elements with every bit pattern of the type, including NaN payloads and not-a-time."""
    random = np.random.default_rng(seed)
    count = int(np.prod(SHAPE))
    if kind in ("string", "bytes"):
        words = ["", "a", "zarr", "größer", "日本", "x" * 40]
        drawn = [words[index] for index in random.integers(0, len(words), count)]
        return np.array(drawn if kind == "string" else [word.encode() for word in drawn], object).reshape(SHAPE)
    if kind.kind == "b":
        return random.integers(0, 2, SHAPE).astype(kind)
    if kind.kind in "US":
        words = np.array(["", "a", "zarr", "ü日" if kind.kind == "U" else "bytes"], kind)
        return words[random.integers(0, len(words), SHAPE)]
    raw = random.integers(0, 256, (count, kind.itemsize), "u1")
    drawn = np.ascontiguousarray(raw).view(kind.newbyteorder("<") if kind.kind in "iufcmM" else kind).reshape(SHAPE).copy()
    if kind.names:
        drawn["c"] = np.array([b"", b"a", b"xy"], "S2")[random.integers(0, 3, SHAPE)]
    if kind.kind in "mM":
        drawn[3, 3:5] = NOT_A_TIME
    return drawn


def digest(elements):
    """Returns a digest of all elements: every bit in little-endian C order, or the list of texts and bytes."""
    elements = np.asarray(elements)
    if elements.dtype.kind in "OT":
        listed = [value.hex() if isinstance(value, bytes) else str(value) for value in elements.astype(object).reshape(-1)]
        return hashlib.sha256(json.dumps(listed).encode()).hexdigest()
    if elements.dtype.name in ("int2", "int4"):
        # The upper bits of the byte are unused.
        elements = elements.astype("i1")
    little = elements.astype(elements.dtype.newbyteorder("<"))
    return hashlib.sha256(np.ascontiguousarray(little).tobytes()).hexdigest()


def answer(reader, path):
    try:
        return digest(reader(Path(path)))
    except Exception as error:
        return {"error": f"{type(error).__name__}: {str(error)[:300]}"}


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    reader = {"zarr-python": read, "tensorstore": by_tensorstore}[sys.argv[1]]
    paths = json.loads(Path(sys.argv[2]).read_text())
    Path(sys.argv[3]).write_text(json.dumps({path: answer(reader, path) for path in paths}))
