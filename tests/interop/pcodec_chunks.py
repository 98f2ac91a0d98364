"""`pcodec`: numcodecs decodes what zarrcast encodes, and zarrcast what it encodes, in chunks, arrays and both formats."""

import json
import warnings
from itertools import product

import numpy as np
import zarr
from arrays import same_bits
from numcodecs_chunks import chunk_both_ways, config, name_of, smooth, values_of, version_2

try:
    from numcodecs.pcodec import PCodec
except ImportError:  # there is no package `pcodec` for every machine
    PCodec = None

warnings.filterwarnings("ignore")

TYPES = ["i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8"]
CONFIGURATIONS = [
    {},
    {"level": 0, "mode_spec": "classic"},
    {"level": 12, "delta_spec": "try_lookback"},
    {"delta_spec": "try_consecutive", "delta_encoding_order": 3},
    {"delta_encoding_order": 1, "equal_pages_up_to": 300},
]


def samples(kind, members):
    """Smooth and noisy; by the default configuration also constant, multiples of a base, few, and what is no number."""
    yield "smooth", smooth(kind)
    yield "noise", values_of(kind)
    if members:
        return
    yield "constant", np.full(5000, 7, kind)
    yield "multiples", (values_of("u1").astype("f8") % 100 * 10).astype(kind)
    yield "one", smooth(kind)[:1]
    if kind[0] == "f":
        yield "not finite", np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.5] * 50, kind)


def chunks_of_pcodec(tally, zarrcast, folder):
    """Every type and configuration, either way, on bytes of one chunk."""
    for number, (kind, members) in enumerate(product(TYPES, CONFIGURATIONS)):
        codec = PCodec(**members)
        codecs = json.dumps([{"name": "numcodecs.pcodec", "configuration": config(codec)}])
        for name, values in samples(kind, members):
            with tally.case("pcodec", kind, members, name):
                place = folder / f"{number} {name}"
                chain = ["--codecs", codecs, "--data-type", name_of(kind), "--shape", values.size]
                place.with_suffix(".in").write_bytes(values.tobytes())
                place.with_suffix(".theirs").write_bytes(bytes(codec.encode(values)))
                zarrcast.ok("apply-codec", "--decode", *chain, place.with_suffix(".theirs"), place.with_suffix(".decoded"))
                assert place.with_suffix(".decoded").read_bytes() == values.tobytes(), "decoded by zarrcast"
                zarrcast.ok("apply-codec", *chain, place.with_suffix(".in"), place.with_suffix(".ours"))
                decoded = np.asarray(codec.decode(place.with_suffix(".ours").read_bytes()))
                same_bits(decoded, values, "decoded by numcodecs")


def arrays_of_pcodec(tally, zarrcast, folder):
    """Arrays that zarr-python wrote: read, validated, and converted between the formats without a chunk encoded anew."""
    from zarr.codecs import numcodecs as named

    for number, (kind, order) in enumerate(product([*TYPES, "M8[s]"], "CF")):
        values = np.resize(smooth("i8" if kind[0] == "M" else kind), 60 * 50).astype(f"<{kind}").reshape(60, 50)
        place = folder / str(number)
        with tally.case("v2 chunk", kind, order):
            whole = values[:10, :6].copy()
            stored = version_2(place / "chunk", whole, order=order, compressors=PCodec())
            assert PCodec().decode(chunk_both_ways(zarrcast, place / "chunk", whole, stored)).tobytes(), "it decodes"
        with tally.case("v2 to v3 and back", kind, order):
            members = {"shape": values.shape, "chunks": (16, 32), "dtype": values.dtype, "fill_value": 0}
            array = zarr.create_array(place / "two", zarr_format=2, order=order, compressors=PCodec(level=3), **members)
            array[:48] = values[:48]
            expected = array[...]
            three = zarrcast.json("transcode", "--zarr-format", 3, "--verify", place / "two", place / "three")
            assert three["nodes"][0]["route"] in ("copy", "metadata"), three["nodes"][0]["route"]
            same_bits(zarr.open_array(place / "three", mode="r")[...], expected, "v3")
            zarrcast.ok("transcode", "--zarr-format", 2, "--verify", place / "three", place / "back")
            same_bits(zarr.open_array(place / "back", mode="r")[...], expected, "v2 again")
            assert zarrcast.json("validate", "--level", "data", place / "back")["valid"]
        with tally.case("v3", kind, order):
            array = zarr.create_array(place / "new", serializer=named.PCodec(level=5), compressors=None, **members)
            array[...] = values
            assert zarrcast.json("validate", "--level", "data", place / "new")["valid"]
            plain = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd", "configuration": {"level": 1, "checksum": False}}]
            zarrcast.ok("transcode", "--codecs", json.dumps(plain), "--verify", place / "new", place / "plain")
            same_bits(zarr.open_array(place / "plain", mode="r")[...], values, "without pcodec")
            pcodec = [{"name": "numcodecs.pcodec", "configuration": {"level": 2}}]
            zarrcast.ok("transcode", "--codecs", json.dumps(pcodec), "-c", "20,20", "--verify", place / "plain", place / "again")
            same_bits(zarr.open_array(place / "again", mode="r")[...], values, "with pcodec")


def without_pcodec(tally, zarrcast, folder):
    """Say what is left out."""
    print("LEFT OUT: the package pcodec is not installed", flush=True)


SECTIONS = [chunks_of_pcodec, arrays_of_pcodec] if PCodec else [without_pcodec]
