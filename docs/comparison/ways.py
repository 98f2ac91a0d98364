"""The ways of compressing. Each takes values and a bound, and returns bytes that decode to values within the bound.

Each way is tuned to the bound: its parameter is the coarsest whose largest error, measured on these values, is
within the bound. `--max-error` and SZ3 take the bound itself; parameters of the others are tried.
"""

import json
import math
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import zarr
import zfpy
from fields import Values
from pysz import sz, szAlgorithm, szConfig, szErrorBoundMode
from scipy import ndimage

LEVEL = 5
ZSTD = numcodecs.Zstd(LEVEL)
SHUFFLED = f"blosc:zstd:{LEVEL}:shuffle"
# pcodec does not support integers of 8 bits.
PCODEC = ("--quantize", "uint16", "--codecs", json.dumps([{"name": "numcodecs.pcodec", "configuration": {"level": 8}}]))
BITS_OF_FLOAT32 = 23


@dataclass(frozen=True)
class Tuned:
    """A way, with its parameter as text in `setting`, and its encoder and decoder.

    If decoding is a run of the program, `read` reads the values from the store that it wrote.
    """

    setting: str
    encode: Callable[[], Any]
    decode: Callable[[Any], Any]
    size: Callable[[Any], int]
    read: Callable[[Any], Values] = np.asarray

    def values(self, encoded: Any) -> Values:
        """Returns the decoded values."""
        return self.read(self.decode(encoded))


# A function that tunes itself to values and a maximum error.
Way = Callable[[Values, float], Tuned]


def greatest_error(before: Values, after: Values) -> float:
    """Returns the errors of the values that are not NaN, in float64. NaN must be NaN on both sides."""
    np.testing.assert_array_equal(np.isnan(before), np.isnan(after))
    return float(np.nanmax(np.abs(after.astype("float64") - before.astype("float64"))))


def keeps(tuned: Tuned, values: Values, bound: float) -> bool:
    """Returns whether the decoded values are within the bound."""
    return greatest_error(values, tuned.values(tuned.encode())) <= bound


def first_that_keeps(candidates: Iterable[Tuned], values: Values, bound: float) -> Tuned:
    """Returns the first candidate, from coarse to fine, that is within the bound."""
    return next(tuned for tuned in candidates if keeps(tuned, values, bound))


# ---- The program ---------------------------------------------------------------------------------------------------


class Program:
    """`zarrcast` on arrays in a folder, preferably in memory. SOURCE is written first, uncompressed."""

    def __init__(self, path: str, folder: Path, chunks: tuple[int, ...] | None = None) -> None:
        self.path, self.folder, self.chunks = path, folder, chunks
        # Options of all runs, and options of the runs that encode.
        self.options: tuple[str, ...] = ()
        self.encoding: tuple[str, ...] = ()
        self.source = folder / "source.zarr"
        self.written: Values | None = None

    def run(self, *arguments: str | Path) -> dict[str, Any]:
        """Runs it and returns its report of the array."""
        command = [self.path, *map(str, arguments), *self.options, "--overwrite", "--json"]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        if process.returncode != 0:
            raise RuntimeError(process.stderr)
        node: dict[str, Any] = json.loads(process.stdout)["nodes"][0]
        return node

    def write(self, values: Values) -> None:
        """Writes the values as SOURCE, if they are not SOURCE already."""
        if self.written is not values:
            shutil.rmtree(self.source, ignore_errors=True)
            chunks = self.chunks or values.shape
            array = zarr.create_array(
                self.source, shape=values.shape, dtype="float32", chunks=chunks, compressors=None, fill_value=math.nan
            )
            array[...] = values
            self.written = values

    def transcode(self, setting: str, options: list[str], plain: list[str]) -> Tuned:
        """Encoding and decoding are separate runs. `plain` are the options that undo `options`."""
        encoded, decoded = self.folder / "encoded.zarr", self.folder / "decoded.zarr"

        return Tuned(
            setting,
            lambda: self.run("transcode", *options, *self.encoding, self.source, encoded),
            lambda _: self.run("transcode", *plain, encoded, decoded),
            lambda _: sum(file.stat().st_size for file in (encoded / "c").rglob("*") if file.is_file()),
            lambda _: np.asarray(zarr.open_array(decoded, mode="r")[...]),
        )

    def lossless(self, values: Values, _bound: float) -> Tuned:
        """Lossless: shuffled bytes, then Zstandard."""
        self.write(values)
        return self.transcode("", ["--compress", SHUFFLED], ["--codecs", "bytes"])

    def codes(self, *compression: str) -> Way:
        """`--max-error`."""

        def way(values: Values, bound: float) -> Tuned:
            self.write(values)
            options = ["--max-error", repr(bound), *compression]
            tuned = self.transcode("", options, ["--unpack", "--codecs", "bytes"])
            return replace(tuned, setting=tuned.encode()["quantization"]["data_type"])

        return way

    def steps(self, *compression: str) -> Way:
        """`--step`: twice the bound or slightly less, because float32 cannot represent every multiple of it."""

        def way(values: Values, bound: float) -> Tuned:
            self.write(values)
            steps = (2 * bound * 0.9998**narrower for narrower in range(1000))
            plain = ["--unpack", "--codecs", "bytes"]
            candidates = (self.transcode("", ["--step", repr(step), *compression], plain) for step in steps)
            tuned = first_that_keeps(candidates, values, bound)
            return replace(tuned, setting=tuned.encode()["quantization"]["data_type"])

        return way

    def bits(self, *compression: str) -> Way:
        """`--keep-bits`: the smallest number within the bound."""

        def way(values: Values, bound: float) -> Tuned:
            self.write(values)
            bits = fewest_bits(values, bound)
            return self.transcode(f"{bits} bits", ["--keep-bits", str(bits), *compression], ["--codecs", "bytes"])

        return way


# ---- numcodecs -----------------------------------------------------------------------------------------------------


def filtered(setting: str, filters: list[Any], values: Values) -> Tuned:
    """Filters of numcodecs before Zstandard."""

    def encode() -> Any:
        encoded: Any = values
        for codec in [*filters, ZSTD]:
            encoded = codec.encode(encoded)
        return encoded

    def decode(encoded: Any) -> Values:
        for codec in reversed([*filters, ZSTD]):
            encoded = codec.decode(encoded)
        return np.frombuffer(encoded, "float32").reshape(values.shape)

    return Tuned(setting, encode, decode, len)


def bitround(values: Values, bits: int) -> Tuned:
    """BitRound, which is no codec for 23 bits."""
    return filtered(f"{bits} bits", [numcodecs.BitRound(bits)] if bits < BITS_OF_FLOAT32 else [], values)


def fewest_bits(values: Values, bound: float) -> int:
    """Returns the smallest number of significand bits within the bound."""
    return next(bits for bits in range(1, BITS_OF_FLOAT32 + 1) if keeps(bitround(values, bits), values, bound))


def quantize(values: Values, bound: float) -> Tuned:
    """Quantize: the smallest number of decimal digits within the bound; it may be negative."""
    digits = range(-8, 12)
    return first_that_keeps(
        (filtered(f"{n} digits", [numcodecs.Quantize(n, "f4")], values) for n in digits), values, bound
    )


def fixed_scale_offset(values: Values, bound: float) -> Tuned:
    """FixedScaleOffset from the smallest value, in steps of at most twice the bound: it calculates in float32."""

    def candidates() -> Iterator[Tuned]:
        least, span = values.min(), float(values.max()) - float(values.min())
        for narrower in range(1000):
            step = 2 * bound * 0.9998**narrower
            kind = next(kind for kind in ("u1", "u2", "u4") if span / step < np.iinfo(kind).max)
            codec = numcodecs.FixedScaleOffset(offset=least, scale=1 / step, dtype="f4", astype=kind)
            yield filtered(f"uint{8 * int(kind[1])}", [codec], values)

    return first_that_keeps(candidates(), values, bound)


# ---- Other compressors ---------------------------------------------------------------------------------------------


def zfp(values: Values, bound: float) -> Tuned:
    """ZFP with a fixed accuracy: the largest power of two within the bound, because it rounds to one."""

    def candidates() -> Iterator[Tuned]:
        # Its errors are 2 to 30 times smaller than its tolerance.
        for power in range(math.floor(math.log2(bound)) + 6, -60, -1):
            encode = lambda tolerance=2.0**power: zfpy.compress_numpy(values, tolerance=tolerance)  # noqa: E731
            yield Tuned(f"2^{power}", encode, zfpy.decompress_numpy, len)

    return first_that_keeps(candidates(), values, bound)


def sz3(values: Values, bound: float) -> Tuned:
    """SZ3 with an absolute bound: its default, and Lorenzo and regression prediction; the smaller result of both."""

    def candidates(algorithm: int, name: str) -> Iterator[Tuned]:
        for narrower in range(100):
            config = szConfig(values.shape)
            config.errorBoundMode, config.cmprAlgo = szErrorBoundMode.ABS, algorithm
            config.absErrorBound = bound * 0.999**narrower
            encode = lambda config=config: sz.compress(values, config)[0]  # noqa: E731
            yield Tuned(name, encode, lambda encoded: sz.decompress(encoded, np.float32, values.shape)[0], len)

    found = [
        first_that_keeps(candidates(algorithm, name), values, bound)
        for algorithm, name in ((szAlgorithm.INTERP_LORENZO, "default"), (szAlgorithm.LORENZO_REG, "Lorenzo"))
    ]
    return min(found, key=lambda tuned: len(tuned.encode()))


def best_shape(way: Way) -> Way:
    """The smaller result of two: the array in its own dimensions, and with all but the last two dimensions merged."""

    def shaped(values: Values, bound: float) -> Tuned:
        found = []
        for shape in {values.shape, values.reshape(-1, *values.shape[-2:]).shape if values.ndim > 3 else values.shape}:
            tuned = way(values.reshape(shape), bound)
            decode = lambda encoded, tuned=tuned: tuned.decode(encoded).reshape(values.shape)  # noqa: E731
            found.append(replace(tuned, setting=f"{tuned.setting}, {len(shape)}-D", decode=decode))
        return min(found, key=lambda tuned: tuned.size(tuned.encode()))

    return shaped


def with_mask(way: Way) -> Way:
    """For compressors without NaN: NaN is replaced by the nearest value. Zstandard stores a bit mask of NaN."""

    def masked(values: Values, bound: float) -> Tuned:
        missing = np.isnan(values)
        if not missing.any():
            return way(values, bound)
        nearest = ndimage.distance_transform_edt(missing, return_distances=False, return_indices=True)
        tuned = way(np.ascontiguousarray(values[tuple(nearest)]), bound)

        def decode(encoded: tuple[Any, bytes]) -> Values:
            bits = np.frombuffer(ZSTD.decode(encoded[1]), "uint8")
            gaps = np.unpackbits(bits, count=values.size).astype(bool).reshape(values.shape)
            return np.where(gaps, np.float32(np.nan), tuned.decode(encoded[0]))

        return Tuned(
            tuned.setting,
            lambda: (tuned.encode(), ZSTD.encode(np.packbits(missing))),
            decode,
            lambda encoded: tuned.size(encoded[0]) + len(encoded[1]),
        )

    return masked


def ways(program: Program) -> dict[str, Way]:
    """Returns all ways, by their names in the results."""
    zstd = ("--compress", f"zstd:{LEVEL}")
    return {
        "lossless": program.lossless,
        "codes, zstd": program.codes(*zstd),
        "codes, shuffled": program.codes("--compress", SHUFFLED),
        "codes, pcodec": program.codes(*PCODEC),
        "predicted, shuffled": program.codes("--predict", "auto", "--compress", SHUFFLED),
        "predicted, any": program.codes("--compress", "auto:any"),
        "steps, shuffled": program.steps("--compress", SHUFFLED),
        "bits, zstd": program.bits(*zstd),
        "bits, shuffled": program.bits("--compress", SHUFFLED),
        "BitRound": lambda values, bound: bitround(values, fewest_bits(values, bound)),
        "FixedScaleOffset": with_mask(fixed_scale_offset),
        "Quantize": quantize,
        "ZFP": with_mask(best_shape(zfp)),
        "SZ3": with_mask(best_shape(sz3)),
    }
