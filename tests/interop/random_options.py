"""Options of `transcode` drawn at random, and what must come of them, by numpy.

Refusals, nonsense, other data types and fill values, and grids as they were asked for are in `tests/cli` and in tables.
"""

import json
from dataclasses import dataclass, field

import numpy as np
from arrays import LITTLE, ROUNDINGS, codec, lengths, same_bits
from random_sources import DIMENSIONS, INTEGERS

COMPRESSORS = ["none", "zstd:1", "gzip:1", "blosc:lz4:5:shuffle", "blosc:zstd:1:bitshuffle", "auto", "auto:fast"]
CODES = ["uint8", "int8", "uint16", "int16", "uint8", "int8", "uint16", "int16", *INTEGERS]


@dataclass
class Asked:
    """The words of the command line, and what they ask for."""

    words: list = field(default_factory=list)
    slices: tuple = ()
    zarr_format: int | None = None
    quantises: bool = False
    missing: str | None = None


def draw_options(random, source):
    """Options for a whole source. Of a group sometimes one array alone is changed."""
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
    """A given chunk shape, one that divides it, a multiple, or one that does not fit."""
    whole = tuple(max(1, n) for n in shape)
    chunks = chunks or whole
    divisor = tuple(random.choice([d for d in range(1, n + 1) if n % d == 0]) for n in chunks)
    choices = [chunks, divisor, whole, tuple(n * random.randint(1, 3) for n in chunks)]
    return random.choice([*choices, tuple(random.randint(1, n + 3) for n in whole)])


def chunk_shapes(random, array, asked):
    """Chunks, shards or both, by position or by names of dimensions."""
    is_named = array.names and random.random() < 0.5
    spelt = lambda shape: ",".join(f"{name}={n}" for name, n in zip(DIMENSIONS, shape)) if is_named else lengths(shape)
    chunks = near(random, array.values.shape, array.chunks)
    which = random.choice("csbn" if array.zarr_format == 3 and asked.zarr_format != 2 else "ccn")
    if "-c" not in asked.words and "-s" not in asked.words:
        asked.words += ["-c", spelt(chunks)] * (which in "cb")
        shards = near(random, array.values.shape, chunks if which == "b" else array.shards or array.chunks)
        asked.words += ["-s", spelt(shards)] * (which in "sb") + ["-s", "none"] * (which == "n")


def codecs(random, array, asked):
    """A whole chain of codecs, in part sharded."""
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
    """A part of the array."""
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
    """Fails unless a destination, as zarr-python opens it, has the format and elements that were asked for."""
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
    """Values that stand for missing ones, in xarray too. In v2 with dimension names the fill value is `_FillValue`."""
    attributes, words = dict(source.attributes), (asked.missing or "").split(",")
    if asked.missing == "auto":
        if source.zarr_format == 2 and source.names and source.fill_value is not None:
            attributes["_FillValue"] = source.fill_value
        words = [attributes.get(name, "") for name in ("_FillValue", "missing_value")]
    with np.errstate(over="ignore"):
        return [source.values.dtype.type(word) for word in words if word != ""]
