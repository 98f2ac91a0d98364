"""Options of `transcode` drawn at random, sensible ones and nonsense, and what they ask for."""

import json
from dataclasses import dataclass, field

import numpy as np
from arrays import LITTLE, ROUNDINGS, codec
from random_sources import DIMENSIONS, FLOATS, INTEGERS

COMPRESSORS = ["none", "zstd:1", "gzip:1", "blosc:lz4:5:shuffle", "blosc:zstd:1:bitshuffle", "auto", "auto:fast", "auto:any"]
SMALL_CODES = ["uint8", "int8", "uint16", "int16"]


@dataclass
class Asked:
    """The options for one array, and the words of the command line."""

    words: list = field(default_factory=list)
    chunks: tuple | None = None
    shards: tuple | str | None = None
    codecs: list | None = None
    data_type: str | None = None
    zarr_format: int | None = None
    quantize: str | None = None
    as_: str = "codecs"
    limits: tuple | None = None
    scale: float | None = None
    offset: float | None = None
    missing: str | None = None
    max_error: float | None = None
    step: float | None = None
    nan_value: str | None = None
    rounding: str = "nearest-even"
    out_of_range: str | None = None
    unpack: bool = False
    select: dict = field(default_factory=dict)
    """First index and the one after the last, by the number of the dimension or, of a group, by its name."""
    by_name: bool = False
    """True if shapes are given by dimension names, and so hold for dimensions that have these."""
    recodes: bool = False
    """True if an option decodes chunks and encodes them anew."""
    keeps_attributes: bool = True
    fill_value: str | None = None
    verifies: bool = False
    dry_run: bool = False
    replaces: bool = False

    @property
    def quantises(self):
        return self.quantize is not None or self.max_error is not None or self.step is not None

    @property
    def knows_missing(self):
        """True if declared missing values become NaN. In a given range they are values like others."""
        return self.missing == "auto" or (self.limits is None and self.scale is None and self.offset is None)

    def add(self, option, value):
        """Adds an option, and sets the field of its name."""
        field = option.removeprefix("--").replace("-", "_")
        setattr(self, f"{field}_" if field == "as" else field, value)
        self.words += [option, value if isinstance(value, str) else repr(value)]


def draw_options(random, source):
    """Options for a whole source: `Asked`, the words of the command line, and `Asked` by the path of each array."""
    first = next(iter(source.arrays.values()))
    asked = draw_changes(random, first)
    select(random, source, asked)
    words, by_path = asked.words, {path: asked for path in source.arrays}
    if source.is_group and random.random() < 0.5:
        chosen = random.choice(sorted(source.arrays))
        words, by_path = for_one(random, asked, chosen, source)
    asked.dry_run, asked.replaces, asked.verifies = (random.random() < share for share in (0.05, 0.06, 0.25))
    words = [*words, *["--dry-run"] * asked.dry_run, *["--overwrite"] * asked.replaces, *["--verify"] * asked.verifies]
    words += random.choice([[], [], ["--threads", str(random.randint(1, 3))]])
    if random.random() < 0.08:
        words += ["--max-memory", random.choice(["1KiB", "64KiB", "1MiB", "20MB"])]
    words += ["--resume"] * (random.random() < 0.04)
    return asked, words, by_path


def select(random, source, asked):
    """Takes a part of the array. In a group it is given by names of dimensions, as far as all arrays reach."""
    lengths = {}
    for array in source.arrays.values():
        for number, length in enumerate(array.values.shape):
            if source.is_group and not array.names:
                continue
            key = array.names[number] if source.is_group else number
            lengths[key] = min(length, lengths.get(key, length))
    chosen = [key for key, length in lengths.items() if length > 0 and random.random() < 0.5]
    if not chosen or random.random() < 0.75:
        return
    slices = []
    for key in chosen:
        start = random.randint(0, lengths[key] - 1)
        stop = random.randint(start + 1, lengths[key])
        asked.select[key] = (start, stop)
        name = DIMENSIONS[key] if not source.is_group and source.arrays[""].names and random.random() < 0.5 else key
        slices.append(f"{name}={start or random.choice(['', 0])}:{stop}")
    asked.recodes = True
    asked.words += ["--select", ",".join(slices)]


def for_one(random, asked, chosen, source):
    """Applies the options to one array of a group alone. The others are copied."""
    # A hierarchy is of one format, and a part is taken of all its arrays.
    copied = Asked(zarr_format=asked.zarr_format, keeps_attributes=asked.zarr_format is None, select=asked.select, recodes=bool(asked.select))
    others = dict.fromkeys(source.arrays, copied)
    if random.random() < 0.5 or not asked.words or asked.select:
        return [*asked.words, "--include", chosen], others | {chosen: asked}
    rule = " ".join(f"'{word}'" if set(word) & set(' "[') else word for word in asked.words)
    return ["--rule", f"{chosen}: {rule}"], others | {chosen: asked}


def draw_changes(random, array):
    asked = Asked()
    themes = themes_for(array) if random.random() < 0.9 else themes_for(None)
    for theme in random.sample(themes, random.choice([1, 1, 1, 2, 2, 3])):
        theme(random, array, asked)
    if array.values.dtype.kind == "f" and not asked.quantises and random.random() < 0.15:
        quantise(random, array, asked)
    if random.random() < 0.1:
        fill_value(random, array, asked)
    asked.words += ["--write-empty-chunks"] * (random.random() < 0.08)
    if random.random() < 0.08:
        asked.words += ["--separator", random.choice("./")]
    if random.random() < 0.06:
        asked.words += ["--attributes-append", '{"history": "drawn"}']
        asked.keeps_attributes = False
    return asked


def themes_for(array):
    """The kinds of change for an array, or all for None. Those that stand more than once are drawn more often."""
    themes = [plainly, version, compress, compress, compress, codecs, codecs, chunk_shapes, chunk_shapes, chunk_shapes]
    kind = array.values.dtype.kind if array else "f"
    if kind in "uif":
        themes += [data_type, data_type]
    if kind == "f":
        themes += [quantise, quantise, quantise]
    if array is None or array.cast or {"scale_factor", "add_offset"} & set(array.attributes):
        themes += [unpack, unpack]
    return themes


def plainly(_random, _array, _asked):
    """A copy."""


def compress(random, _array, asked):
    if "--compress" not in asked.words:
        asked.recodes = True
        asked.words += ["--compress", random.choice(COMPRESSORS)]


def lengths(random, shape, near):
    """A given shape, one that divides it, a multiple, or one that does not fit."""
    whole = tuple(max(1, n) for n in shape)
    near = near or whole
    divisor = tuple(random.choice([d for d in range(1, n + 1) if n % d == 0]) for n in near)
    choices = [near, divisor, whole, tuple(n * random.randint(1, 3) for n in near)]
    choices += [tuple(random.randint(1, n + 3) for n in whole), tuple(random.choice([0, n]) for n in near)]
    return random.choice(choices)


def chunk_shapes(random, array, asked):
    if asked.chunks or asked.shards:
        return
    asked.recodes = True
    sharded = array.zarr_format == 3 and asked.zarr_format != 2
    which = random.choice(["chunks", "shards", "both", "none"] if sharded or random.random() < 0.2 else ["chunks", "chunks", "none"])
    shape = array.values.shape
    asked.by_name = bool(array.names) and random.random() < 0.5
    if which in ("chunks", "both"):
        asked.chunks = lengths(random, shape, array.chunks)
        asked.words += ["-c", spelt(random, asked.chunks, asked)]
    if which in ("shards", "both"):
        asked.shards = lengths(random, shape, asked.chunks if asked.chunks and 0 not in asked.chunks else array.shards or array.chunks)
        asked.words += ["-s", spelt(random, asked.shards, asked)]
    if which == "none":
        asked.shards = "none"
        asked.words += ["-s", "none"]


def spelt(random, shape, asked):
    if asked.by_name:
        return ",".join(f"{name}={length}" for name, length in zip(DIMENSIONS, shape))
    return ",".join(map(str, shape)) if shape else random.choice(["", "scalar"])


def codecs(random, array, asked):
    """A whole chain of codecs. Half of the sharded ones have inner chunks that fit."""
    if asked.codecs is not None:
        return
    endian = codec("bytes", endian=random.choice(["little", "big"]))
    plain = codec("bytes") if array.values.dtype.itemsize == 1 else endian
    if array.values.dtype.kind in "OT":
        plain = codec("vlen-utf8")
    after = random.choice([[], [codec("zstd", level=1, checksum=True)], [codec("gzip", level=1), codec("crc32c")]])
    before = []
    rank = array.values.ndim
    if rank and random.random() < 0.4:
        before = [codec("transpose", order=random.sample(range(rank), rank))]
    chain = [*before, plain, *after]
    if rank and random.random() < 0.3:
        inner = lengths(random, array.values.shape, array.shards or array.chunks)
        chain = [codec("sharding_indexed", chunk_shape=list(inner), codecs=chain, index_codecs=[LITTLE, codec("crc32c")])]
    asked.codecs, asked.recodes = chain, True
    asked.words += ["--codecs", json.dumps(chain)]


def data_type(random, array, asked):
    if asked.data_type or asked.quantises:
        return
    asked.recodes, asked.keeps_attributes = True, False
    asked.add("--data-type", random.choice([*FLOATS, *INTEGERS, "bool", "nonsense"] if random.random() < 0.3 else [*FLOATS, *INTEGERS]))
    conversion(random, asked)
    if random.random() < 0.3:
        asked.add("--nan-value", random.choice(["0", "7", "-1"]))
    if random.random() < 0.6:
        asked.words += ["--allow-lossy-cast"]


def conversion(random, asked):
    """Rounding, and a rule for values out of range."""
    if random.random() < 0.3:
        asked.add("--rounding", random.choice(ROUNDINGS))
    if random.random() < 0.4:
        asked.add("--out-of-range", random.choice(["clamp", "clamp", "wrap"]))


def quantise(random, array, asked):
    if asked.quantises or asked.data_type:
        return
    asked.recodes = True
    finite = array.values[np.isfinite(array.values)] if array.values.dtype.kind == "f" else np.zeros(0)
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    bound = random.choices(["--max-error", "--step", None], [0.35, 0.13, 0.52])[0]
    if bound:
        asked.add(bound, float(f"{max((high - low), 1e-30) / random.choice([3, 100, 1000, 70000]):.3g}"))
    if not bound or random.random() < 0.3:
        asked.add("--quantize", random.choice([*SMALL_CODES, *SMALL_CODES, *INTEGERS]))
    given = 1.0 if bound else random.random()
    if given < 0.15:
        wider = random.choice([1.0, 1.0, 1.5, 0.8])
        middle, half = (low + high) / 2, (high - low) / 2 or 1.0
        asked.limits = (float(f"{middle - half * wider:.9g}"), float(f"{middle + half * wider:.9g}"))
        asked.words += ["--range", f"{asked.limits[0]!r},{asked.limits[1]!r}"]
    elif given < 0.25:
        asked.add("--scale", random.choice([1.0, 10.0, 0.5]))
        if random.random() < 0.67:
            asked.add("--offset", random.choice([0.0, 280.0]))
    if random.random() < 0.3:
        asked.add("--missing", random.choice(["auto", "0", "-9999", "-9999,0"]))
    if random.random() < 0.2:
        asked.add("--nan-value", random.choice(["0", "7", "255", "-1"]))
    if random.random() < (0.35 if array.zarr_format == 3 else 0.9):
        asked.add("--as", random.choice(["codecs", "cf", "plain"] if array.zarr_format == 3 else ["cf", "plain"]))
    elif array.zarr_format == 2 and asked.zarr_format is None:
        asked.keeps_attributes = False
        asked.add("--zarr-format", 3)
    conversion(random, asked)


def unpack(_random, _array, asked):
    asked.unpack, asked.recodes, asked.keeps_attributes = True, True, False
    asked.words += ["--unpack"]


def version(random, _array, asked):
    if asked.zarr_format is not None:
        return
    asked.keeps_attributes = False
    asked.add("--zarr-format", random.choice([2, 3]))


def fill_value(random, array, asked):
    kind = array.values.dtype.kind
    choices = {"f": ["0", '"NaN"', "1.5", '"Infinity"'], "u": ["0", "255"], "i": ["0", "-1"], "b": ["true", "false"], "c": ["[0.0, 1.0]"]}
    asked.add("--fill-value", random.choice(choices.get(kind, ["0"]) if random.random() < 0.8 else ['""', "null", "1e3", '"0x7fc00001"']))
    asked.recodes, asked.keeps_attributes = True, False
