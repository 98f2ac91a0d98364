"""Random sources written by zarr-python, random options of `transcode`, and their expected results in numpy."""

import json
import shutil
from dataclasses import dataclass, field

import numcodecs
import numpy as np
import zarr
from arrays import FLOATS, INTEGERS, LITTLE, ROUNDINGS, codec, lengths, same_bits
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec
from zarr.codecs import numcodecs as named

# `matrix.py` and `numcodecs_arrays.py` test text and times.
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
    """A store. The keys of `arrays` are paths, or "" if the store is an array itself."""

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
    except Exception:  # A codec may refuse the array. Then it is written without codecs.
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
    length = lambda: random.choice([random.randint(1, 7), random.randint(3, 24), random.choice([0, 1, 16])])
    while True:
        shape = tuple(length() for _ in range(random.choice([0, 1, 1, 2, 2, 2, 3])))
        if np.prod(shape) <= MAX_ELEMENTS and (0 not in shape or random.random() < 0.3):
            return shape


def draw_values(random, kind, shape):
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
    """Returns floats: fields like measurements, and fields that are critical for a quantisation."""
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
    """Returns options for the codecs. The filters lose nothing when they are applied again. `matrix.py` has others."""
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


COMPRESSORS = ["none", "zstd:1", "gzip:1", "blosc:lz4:5:shuffle", "blosc:zstd:1:bitshuffle", "auto", "auto:fast"]
CODES = ["uint8", "int8", "uint16", "int16", "uint8", "int8", "uint16", "int16", *INTEGERS]


@dataclass
class Asked:
    words: list = field(default_factory=list)
    slices: tuple = ()
    zarr_format: int | None = None
    quantises: bool = False
    missing: str | None = None


def draw_options(random, source):
    """Returns options for a whole source. For a group, sometimes only one array is changed."""
    asked, array = Asked(), random.choice([source.arrays[path] for path in sorted(source.arrays)])
    themes = [compress, codecs, chunk_shapes, chunk_shapes, quantise, version, *([] if source.is_group else [select])]
    for theme in random.sample(themes, random.choice([0, 1, 1, 1, 2, 2, 3])):
        theme(random, array, asked)
    for words, share in [
        (["--write-empty-chunks"], 0.08),
        (["--separator", random.choice("./")], 0.08),
        (["--verify"], 0.25),
        (["--threads", random.randint(1, 3)], 0.5),
        (["--include", random.choice(sorted(source.arrays))], 0.4 * source.is_group),
    ]:
        asked.words += words * (random.random() < share)
    return asked


def compress(random, _array, asked):
    asked.words += ["--compress", random.choice(COMPRESSORS)]


def version(random, _array, asked):
    asked.zarr_format = asked.zarr_format or random.choice([2, 3])
    asked.words += ["--zarr-format", asked.zarr_format] * ("--zarr-format" not in asked.words)


def near(random, shape, chunks):
    """Returns a given chunk shape, one that divides it, a multiple, or one that does not fit."""
    whole = tuple(max(1, n) for n in shape)
    chunks = chunks or whole
    divisor = tuple(random.choice([d for d in range(1, n + 1) if n % d == 0]) for n in chunks)
    choices = [chunks, divisor, whole, tuple(n * random.randint(1, 3) for n in chunks)]
    return random.choice([*choices, tuple(random.randint(1, n + 3) for n in whole)])


def chunk_shapes(random, array, asked):
    """Adds chunks, shards or both, by position or by dimension name."""
    is_named = array.names and random.random() < 0.5
    spelt = lambda shape: ",".join(f"{name}={n}" for name, n in zip(DIMENSIONS, shape)) if is_named else lengths(shape)
    chunks = near(random, array.values.shape, array.chunks)
    which = random.choice("csbn" if array.zarr_format == 3 and asked.zarr_format != 2 else "ccn")
    if "-c" not in asked.words and "-s" not in asked.words:
        asked.words += ["-c", spelt(chunks)] * (which in "cb")
        shards = near(random, array.values.shape, chunks if which == "b" else array.shards or array.chunks)
        asked.words += ["-s", spelt(shards)] * (which in "sb") + ["-s", "none"] * (which == "n")


def codecs(random, array, asked):
    rank = array.values.ndim
    endian = {} if array.values.dtype.itemsize == 1 else {"endian": random.choice(["little", "big"])}
    after = random.choice([[], [codec("zstd", level=1, checksum=True)], [codec("gzip", level=1), codec("crc32c")]])
    transpose = [codec("transpose", order=random.sample(range(rank), rank))] if rank and random.random() < 0.4 else []
    chain = [*transpose, codec("bytes", **endian), *after]
    if rank and random.random() < 0.3:
        inner = {"chunk_shape": near(random, array.values.shape, array.shards or array.chunks)}
        chain = [codec("sharding_indexed", **inner, codecs=chain, index_codecs=[LITTLE, codec("crc32c")])]
    asked.words += ["--codecs", json.dumps(chain)]


def select(random, array, asked):
    if 0 not in array.values.shape and array.values.ndim:
        starts = [random.randint(0, n - 1) for n in array.values.shape]
        ends = [random.randint(start + 1, n) for start, n in zip(starts, array.values.shape)]
        asked.slices = tuple(map(slice, starts, ends))
        asked.words += ["--select", ",".join(f"{axis}={a}:{b}" for axis, (a, b) in enumerate(zip(starts, ends)))]


def quantise(random, array, asked):
    values, asked.quantises = array.values, True
    finite = values[np.isfinite(values)] if values.dtype.kind == "f" else np.zeros(0)
    span = float(finite.max()) - float(finite.min()) if finite.size else 1.0
    bound = random.choice(["--max-error", "--step", None, None])
    asked.words += [bound, f"{max(span, 1e-30) / random.choice([3, 100, 1000, 70000]):.3g}"] * bool(bound)
    asked.words += ["--quantize", random.choice(CODES)] * (not bound or random.random() < 0.3)
    if random.random() < 0.3:
        asked.missing = random.choice(["auto", "0", "-9999", "-9999,0"])
        asked.words += ["--missing", asked.missing]
    asked.words += ["--nan-value", random.choice(["0", "7", "255", "-1"])] * (random.random() < 0.2)
    asked.words += ["--rounding", random.choice(ROUNDINGS)] * (random.random() < 0.3)
    if array.zarr_format == 2 and asked.zarr_format is None:
        asked.zarr_format = 3
        asked.words += ["--zarr-format", 3]


def check_array(source, asked, found, report):
    """Fails unless a destination, opened by zarr-python, has the requested format and elements."""
    version, expected = asked.zarr_format or source.zarr_format, source.values[asked.slices]
    assert found.metadata.zarr_format == version, f"Zarr version {found.metadata.zarr_format}, not {version}"
    assert "--verify" not in asked.words or report["verify"]["equal"], "verified, and not equal"
    values = np.asarray(found[...])
    if report["quantization"] is None:
        same_bits(values, expected)
        return
    assert asked.quantises and values.shape == expected.shape, f"shape {values.shape}, not {expected.shape}"
    missing = np.isnan(expected) | np.isin(expected, missing_values(source, asked))
    assert np.array_equal(np.isnan(values), missing), f"NaN in {np.isnan(values).sum()} elements, not {missing.sum()}"
    if not missing.all():
        error = np.abs(values.astype("f8") - expected.astype("f8"))[~missing].max()
        most = min(bound for bound in (report["quantization"][name] for name in ("max_abs_error", "bound")) if bound is not None)
        assert error <= most * (1 + 1e-9), f"the error is {error}, not {most}"


def missing_values(source, asked):
    """Returns the missing values, also for xarray. In v2 with dimension names the fill value is `_FillValue`."""
    attributes, words = dict(source.attributes), (asked.missing or "").split(",")
    if asked.missing == "auto":
        if source.zarr_format == 2 and source.names and source.fill_value is not None:
            attributes["_FillValue"] = source.fill_value
        words = [attributes.get(name, "") for name in ("_FillValue", "missing_value")]
    with np.errstate(over="ignore"):
        return [source.values.dtype.type(word) for word in words if word != ""]
