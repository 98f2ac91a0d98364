"""Arrays and groups drawn at random, written by zarr-python: the sources of the random test of `transcode`."""

import json
import shutil
from dataclasses import dataclass, field

import numcodecs
import numpy as np
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec
from zarr.codecs import numcodecs as named

FLOATS = ["float16", "float32", "float64"]
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
# Text and times are in `matrix.py` and `words.py`.
OTHERS = ["bool", "complex64", "complex128"]
MAX_ELEMENTS = 4000
DIMENSIONS = "xyz"


@dataclass
class Array:
    """One array of a source, and its elements as zarr-python reads them."""

    values: np.ndarray
    zarr_format: int
    chunks: tuple
    shards: tuple | None
    fill_value: object
    attributes: dict
    names: tuple | None = None

    def described(self):
        facts = f"chunks {self.chunks}, shards {self.shards}, fill value {self.fill_value!r}, {self.attributes}"
        return f"v{self.zarr_format} {self.values.dtype} {self.values.shape}, {facts}"


@dataclass
class Source:
    """A store. `arrays` are by their paths in it, "" if it is an array itself."""

    path: object
    arrays: dict = field(default_factory=dict)

    @property
    def is_group(self):
        return "" not in self.arrays


def draw_source(random, path):
    if random.random() > 0.08:
        return Source(path, {"": draw_array(random, path)})
    version = random.choice([2, 3])
    zarr.create_group(path, zarr_format=version, attributes={"title": "drawn"})
    zarr.create_group(path / "inner", zarr_format=version)
    names = random.sample(["a", "b", "inner/c", "inner/temperature"], random.randint(1, 3))
    source = Source(path, {name: draw_array(random, path / name, version) for name in names})
    if random.random() < 0.5:
        zarr.consolidate_metadata(path)
    return source


def draw_array(random, path, version=None):
    version, kind = version or random.choice([2, 3]), np.dtype(random.choice(random.choice([FLOATS, FLOATS, INTEGERS, OTHERS])))
    shape = draw_shape(random)
    chunks = tuple(random.choice([max(1, n), random.randint(1, max(1, n)), random.randint(1, n + 2)]) for n in shape)
    values, attributes = draw_values(random, kind, shape), draw_attributes(random, kind)
    options = {"zarr_format": version, "attributes": attributes, "fill_value": draw_fill(random, kind, values)}
    names = tuple(DIMENSIONS[: len(shape)]) if random.random() < 0.3 else None
    if version == 3:
        is_sharded = shape and random.random() < 0.3
        options["shards"] = tuple(n * random.randint(1, 3) for n in chunks) if is_sharded else None
        options["dimension_names"] = names
    else:
        attributes |= {"_ARRAY_DIMENSIONS": list(names)} if names else {}
    codecs = of_version_2(random, kind) if version == 2 else of_version_3(random, kind, len(shape))
    options["chunk_key_encoding"] = {"name": "default" if version == 3 else "v2", "separator": random.choice("./")}
    options |= {"shape": shape, "chunks": chunks, "dtype": kind, "config": {"write_empty_chunks": True}}
    try:
        write(path, values, options | codecs)
    except Exception:  # A codec refuses some of what is drawn: then the same without any.
        shutil.rmtree(path)
        write(path, values, options)
    # Some of the stored chunks are removed.
    stored = sorted(one for one in path.rglob("*") if one.is_file() and not one.name.startswith((".z", "zarr.json")))
    for one in random.sample(stored, random.randint(0, len(stored))) if random.random() < 0.35 else []:
        one.unlink()
    if version == 2 and random.random() < 0.1:
        document = json.loads((path / ".zarray").read_text())
        (path / ".zarray").write_text(json.dumps(document | {"fill_value": None}))
    array = zarr.open_array(path, mode="r")
    found = np.asarray(array[...])
    return Array(found, version, array.chunks, array.shards, array.fill_value, dict(array.attrs), names)


def write(path, values, options):
    array = zarr.create_array(path, **options)
    if values.size:
        array[...] = values


def draw_shape(random):
    """No to three dimensions, with lengths of 0, of 1 and odd ones."""
    length = lambda: random.choice([random.randint(1, 7), random.randint(3, 24), random.choice([0, 1, 16])])
    while True:
        shape = tuple(length() for _ in range(random.choice([0, 1, 1, 2, 2, 2, 3])))
        if np.prod(shape) <= MAX_ELEMENTS and (0 not in shape or random.random() < 0.3):
            return shape


def draw_values(random, kind, shape):
    """Elements of a type: smooth, noisy, constant, with NaN and infinities, of the whole range."""
    generator = np.random.default_rng(random.getrandbits(32))
    if kind.kind == "f":
        return draw_floats(random, generator, kind, shape)
    if kind.kind == "c":
        return (generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(kind)
    if kind.kind == "b":
        return generator.random(shape) < random.choice([0.0, 0.5, 1.0])
    least, greatest = np.iinfo(kind).min, np.iinfo(kind).max
    low, high = random.choice([(least, greatest), (0, 100), (max(least, -50), 50), (7, 7)])
    return generator.integers(low, high, shape, dtype=kind, endpoint=True)


def draw_floats(random, generator, kind, shape):
    """Floats: fields as they are measured, and those that break a quantisation."""
    steps, noise = np.arange(np.prod(shape, dtype=int)).reshape(shape), generator.standard_normal(shape)
    constant = np.full(shape, random.choice([0.0, -0.0, 1.5, 273.15]))
    scaled = noise * random.choice([1e-7, 1e3, 1e30, 1e300])
    few = generator.choice([0.0, -0.0, 1.0], shape)
    values = random.choice([280 + 20 * np.sin(steps / 9), noise, scaled, np.round(noise * 5), constant, few, np.exp(noise * 5)])
    special = random.choice([None, None, None, np.nan, np.nan, -9999, 0, np.inf])
    with np.errstate(over="ignore"):
        values = np.asarray(values).astype(kind)
        if special is not None:
            share = random.choice([0.02, 0.5, 1.0])
            values = np.where(generator.random(shape) < share, np.array(special, kind), values)
    return values.astype(kind)


def draw_fill(random, kind, values):
    choices = [np.zeros((), kind)[()], values.reshape(-1)[0] if values.size else np.zeros((), kind)[()]]
    choices += [kind.type(x) for x in (np.nan, np.nan, np.inf, -np.inf, -9999, -0.0, 0.1)] if kind.kind == "f" else []
    choices += [np.iinfo(kind).max] if kind.kind in "ui" else []
    return random.choice(choices)


def draw_attributes(random, kind):
    attributes = {"units": "K", "n": 1, "x": 1.0} if random.random() < 0.5 else {}
    if kind.kind in "fui" and random.random() < 0.2:
        attributes["_FillValue"] = random.choice([0, 1.5, "NaN"] if kind.kind == "f" else [0, 7])
    if kind.kind in "fui" and random.random() < 0.1:
        attributes["missing_value"] = random.choice([0, 7])
    return attributes


def of_version_2(random, kind):
    """Options for the codecs. Filters are those that lose nothing when they are applied anew: `matrix.py` has others."""
    compressors = [None, None, numcodecs.Zstd(1), numcodecs.GZip(1), numcodecs.Zlib(1), numcodecs.BZ2(1), numcodecs.LZ4()]
    compressors += [numcodecs.LZMA(preset=0), *(numcodecs.Blosc("lz4", 5, shuffle) for shuffle in (0, 1, 2))]
    choices = [numcodecs.Shuffle(kind.itemsize), numcodecs.CRC32(), numcodecs.Adler32(), numcodecs.Fletcher32()]
    choices += {"f": [numcodecs.AsType("<f8", kind.str)], "b": [numcodecs.PackBits()]}.get(kind.kind, [])
    choices += [numcodecs.Delta(kind.str)] if kind.kind in "ui" else []
    filters = {"filters": [random.choice(choices)]} if random.random() < 0.4 else {}
    return {"compressors": random.choice(compressors), "order": random.choice("CF"), **filters}


def of_version_3(random, kind, rank):
    compressors = [[], [], [ZstdCodec(level=1)], [GzipCodec(level=1)], [BloscCodec(cname="lz4")], [Crc32cCodec()]]
    compressors += [[ZstdCodec(), Crc32cCodec()], [named.Zlib(level=1)], [named.LZ4()], [named.Fletcher32()]]
    transpose = [TransposeCodec(order=tuple(random.sample(range(rank), rank)))] if rank and random.random() < 0.25 else []
    options = {"compressors": random.choice(compressors), "filters": transpose}
    if kind.itemsize > 1 and random.random() < 0.5:
        options["serializer"] = BytesCodec(endian=random.choice(["big", "little"]))
    return options
