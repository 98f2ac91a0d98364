"""Arrays and groups drawn at random, written by zarr-python: the sources of the random test of `transcode`."""

import json
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numcodecs
import numpy as np
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec
from zarr.codecs import numcodecs as named

FLOATS = ["float16", "float32", "float64"]
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
OTHERS = ["bool", "complex64", "complex128", "datetime64[ns]", "timedelta64[s]", "S5", "U3", "string"]
MAX_ELEMENTS = 4000
DIMENSIONS = "xyz"


@dataclass
class Array:
    """One array of a source: its elements as zarr-python reads them, and facts that decide how it may be written anew."""

    values: np.ndarray
    zarr_format: int
    chunks: tuple
    shards: tuple | None
    fill_value: object
    attributes: dict
    absent: bool
    lossy: str | None = None
    """Its filter that does not give back every value when it is applied anew, if it has one."""
    cast: bool = False
    """True if its chain has `scale_offset` or `cast_value`."""
    names: tuple | None = None


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
    version = version or random.choice([2, 3])
    kind = random.choice(random.choice([FLOATS, FLOATS, INTEGERS, OTHERS]))
    shape = draw_shape(random)
    chunks = tuple(random.choice([max(1, n), random.randint(1, max(1, n)), random.randint(1, max(1, n) + 2)]) for n in shape)
    shards = tuple(n * random.randint(1, 3) for n in chunks) if version == 3 and shape and random.random() < 0.3 else None
    values, attributes = draw_values(random, kind, shape), draw_attributes(random, kind)
    fill = draw_fill(random, kind, values)
    codecs, lossy, cast = draw_codecs(random, kind, version, len(shape))
    names = tuple(DIMENSIONS[: len(shape)]) if random.random() < 0.3 else None
    if names and version == 2:
        attributes["_ARRAY_DIMENSIONS"] = list(names)
    options = {"shape": shape, "chunks": chunks, "dtype": kind, "fill_value": fill, "zarr_format": version, "attributes": attributes}
    options |= {"shards": shards, "dimension_names": names} if version == 3 else {}
    options |= {"chunk_key_encoding": {"name": "default" if version == 3 else "v2", "separator": random.choice("./")}}
    # In a folder of its own: where zarr-python gives up, chunks that it has begun may still be written.
    trial = Path(tempfile.mkdtemp(prefix="zarrcast-drawn-"))
    try:
        drawn = write(trial / "array", values, options | codecs)
        shutil.move(trial / "array", path)
        values = drawn
    except KeyboardInterrupt:
        raise
    except BaseException:  # zarr-python or a filter refuses some of what is drawn (cast-value-rs by a panic): then the same without filters
        lossy, cast = None, False
        plain = {} if kind == "string" else {"filters": None}  # text has a filter of its own in v2
        plain |= {"compressors": None, "overwrite": True, "fill_value": fill_that_holds(fill, kind)}
        values = write(path, values, options | plain)
    finally:
        shutil.rmtree(trial, ignore_errors=True)
    absent = drop_chunks(random, path) if random.random() < 0.35 else False
    respell(random, path, version, kind)
    array = zarr.open_array(path, mode="r")
    return Array(np.asarray(array[...]), version, array.chunks, array.shards, array.fill_value, dict(array.attrs), absent, lossy, cast, names)


def write(path, values, options):
    """Writes all chunks of an array, and reads them: zarr-python may refuse."""
    array = zarr.create_array(path, config={"write_empty_chunks": True}, **options)
    if values.size:
        array[...] = values
    return array[...]


def draw_shape(random):
    """No to three dimensions, with lengths of 0, of 1 and odd ones."""
    while True:
        shape = tuple(random.choice([random.randint(1, 7), random.randint(3, 24), random.choice([0, 1, 16])]) for _ in range(random.choice([0, 1, 1, 2, 2, 2, 3])))
        if np.prod(shape) <= MAX_ELEMENTS and (0 not in shape or random.random() < 0.3):
            return shape


def draw_values(random, kind, shape):
    """Elements of a type: smooth, noisy, constant, with NaN and infinities, of the whole range."""
    generator = np.random.default_rng(random.getrandbits(32))
    if kind == "string":
        return generator.choice(np.array(["", "a", "Grüße", "longer text"], dtype=object), shape)
    kind = np.dtype(kind)
    if kind.kind == "f":
        return draw_floats(random, generator, kind, shape)
    if kind.kind == "c":
        return (generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(kind)
    if kind.kind == "b":
        return generator.random(shape) < random.choice([0.0, 0.5, 1.0])
    if kind.kind in "SU":
        return generator.choice(np.array(["", "a", "bcd"], dtype=kind), shape)
    least, greatest = (-(2**62), 2**62) if kind.kind in "mM" else (np.iinfo(kind).min, np.iinfo(kind).max)
    low, high = random.choice([(least, greatest), (0, 100), (max(least, -50), 50), (7, 7)])
    whole = generator.integers(low, high, shape, dtype="u8" if kind == "uint64" else "i8", endpoint=True)
    return whole.astype(kind) if kind.kind in "ui" else whole.view(kind)


def draw_floats(random, generator, kind, shape):
    """Floats: fields as they are measured, and those that break a quantisation."""
    steps = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    values = random.choice(
        [
            lambda: 280 + 20 * np.sin(steps / 9),
            lambda: generator.standard_normal(shape),
            lambda: generator.standard_normal(shape) * random.choice([1e-7, 1e3, 1e30, 1e300]),
            lambda: np.round(generator.random(shape) * 10),
            lambda: np.full(shape, random.choice([0.0, -0.0, 1.5, 273.15])),
            lambda: generator.choice([0.0, -0.0, 1.0], shape),
            lambda: np.exp(generator.standard_normal(shape) * 5),
        ]
    )()
    with np.errstate(over="ignore"):
        values = np.asarray(values).astype(kind)
    special = random.choice([None, None, None, np.nan, np.nan, -9999, 0, np.inf, "all NaN"])
    if special == "all NaN":
        return np.full(shape, np.nan, kind)
    if special is not None:
        values = np.where(generator.random(shape) < random.choice([0.02, 0.5]), np.array(special, kind), values)
    return values.astype(kind)


def draw_fill(random, kind, values):
    if kind == "string":
        return random.choice(["", "a"])
    kind = np.dtype(kind)
    first = values.reshape(-1)[0] if values.size else np.zeros((), kind)[()]
    choices = [np.zeros((), kind)[()], first]
    if kind.kind == "f":
        choices += [kind.type(x) for x in (np.nan, np.nan, np.inf, -np.inf, -9999, -0.0, 0.1)]
    if kind.kind in "ui":
        choices += [np.iinfo(kind).max]
    return random.choice(choices)


def fill_that_holds(fill, kind):
    return fill if kind == "string" or np.dtype(kind).kind not in "mM" else np.zeros((), kind)[()]


def draw_attributes(random, kind):
    attributes = {"units": "K", "n": 1, "x": 1.0} if random.random() < 0.5 else {}
    number = kind in FLOATS or kind in INTEGERS
    if number and random.random() < 0.2:
        attributes["_FillValue"] = random.choice([0, 1.5, "NaN"] if kind in FLOATS else [0, 7])
    if number and random.random() < 0.1:
        attributes["missing_value"] = random.choice([0, 7])
    if kind in INTEGERS and random.random() < 0.3:
        attributes |= random.choice([{"scale_factor": 0.01, "add_offset": 273.15}, {"scale_factor": 0.5}, {"add_offset": -10.0}])
    return attributes


def draw_codecs(random, kind, version, rank):
    """Options of `create_array` for the codecs, the lossy filter or None, and whether a cast is among them."""
    return of_version_2(random, kind) if version == 2 else of_version_3(random, kind, rank)


def of_version_2(random, kind):
    compressors = [None, None, numcodecs.Zstd(1), numcodecs.GZip(1), numcodecs.Zlib(1), numcodecs.BZ2(1), numcodecs.LZ4(), numcodecs.LZMA(preset=0)]
    compressors += [numcodecs.Blosc("lz4", 5, shuffle) for shuffle in (0, 1, 2)]
    options = {"compressors": random.choice(compressors), "order": random.choice("CF")}
    if random.random() < 0.06:
        options["compressors"] = random.choice([numcodecs.Shuffle(4), numcodecs.CRC32C(), numcodecs.Adler32(), numcodecs.Fletcher32()])
    if kind == "string" or random.random() < 0.6:
        return options, None, False
    dtype = np.dtype(kind)
    choices = {"shuffle": numcodecs.Shuffle(dtype.itemsize), "crc32": numcodecs.CRC32(), "adler32": numcodecs.Adler32()}
    if dtype.kind == "f":
        choices |= {"delta": numcodecs.Delta(dtype.str), "quantize": numcodecs.Quantize(2, dtype.str), "bitround": numcodecs.BitRound(5)}
        choices |= {"fixedscaleoffset": numcodecs.FixedScaleOffset(0, 10, dtype.str, "<i4"), "astype": numcodecs.AsType("<f8", dtype.str)}
    if dtype.kind in "ui":
        choices |= {"delta": numcodecs.Delta(dtype.str)}
    if dtype.kind == "b":
        choices |= {"packbits": numcodecs.PackBits()}
    name = random.choice(sorted(choices))
    lossy = name if dtype.kind == "f" and name in ("delta", "quantize", "bitround", "fixedscaleoffset") else None
    return options | {"filters": [choices[name]]}, lossy, False


def of_version_3(random, kind, rank):
    compressors = [[], [], [ZstdCodec(level=1)], [GzipCodec(level=1)], [BloscCodec(cname="lz4")], [Crc32cCodec()], [ZstdCodec(), Crc32cCodec()]]
    compressors += [[named.Zlib(level=1)], [named.LZ4()], [named.Fletcher32()]]
    options = {"compressors": random.choice(compressors), "filters": []}
    if kind == "string":
        return options, None, False
    dtype = np.dtype(kind)
    if dtype.itemsize > 1 and dtype.kind in "uifc" and random.random() < 0.5:
        options["serializer"] = BytesCodec(endian=random.choice(["big", "little"]))
    if rank and random.random() < 0.25:
        options["filters"].append(TransposeCodec(order=tuple(random.sample(range(rank), rank))))
    cast = kind in ("float32", "float64") and random.random() < 0.15
    if cast:
        options["filters"] += quantised(random, kind)
    return options, None, cast


def quantised(random, kind):
    """`scale_offset` and `cast_value` of floats about 280, or of small ones, with a code for NaN."""
    from zarr.codecs import CastValue, ScaleOffset

    scale, offset = random.choice([(100.0, 270.0), (8.0, 0.0)])
    numbers = {"encode": [("NaN", -32768)], "decode": [(-32768, "NaN")]}
    rounding = random.choice(["nearest-even", "nearest-even", "towards-zero", "towards-positive"])
    return [ScaleOffset(offset=offset, scale=scale), CastValue(data_type="int16", rounding=rounding, out_of_range="clamp", scalar_map=numbers)]


def drop_chunks(random, path):
    """Removes some of the stored chunks. Returns whether it removed any."""
    chunks = sorted(one for one in path.rglob("*") if one.is_file() and not one.name.startswith((".z", "zarr.json")))
    dropped = random.sample(chunks, random.randint(0, len(chunks)))
    for one in dropped:
        one.unlink()
    return bool(dropped)


def respell(random, path, version, kind):
    """Sometimes writes a document as other programs do: with a fill value of null in v2, or a bare NaN among attributes."""
    document = path / (".zarray" if version == 2 else "zarr.json")
    metadata = json.loads(document.read_text())
    # Of times zarr-python reads null as NaT, zarrcast as 0: what absent chunks hold is undefined then.
    if version == 2 and kind != "string" and "time" not in kind and random.random() < 0.1:
        metadata["fill_value"] = None
    if random.random() < 0.06:
        holder = document if version == 3 else path / ".zattrs"
        attributes = metadata if version == 3 else json.loads(holder.read_text())
        (attributes["attributes"] if version == 3 else attributes)["valid_max"] = float("nan")
        holder.write_text(json.dumps(attributes))
    if version == 2 or "valid_max" not in metadata["attributes"]:
        document.write_text(json.dumps(metadata, indent=2))
