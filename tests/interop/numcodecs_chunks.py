"""The codecs of numcodecs, both ways: it decodes what zarrcast encodes, and zarrcast decodes what it encodes.

Filters agree bit for bit with numpy's arithmetic, compressors by what they hold, and so do the chunks of v2 arrays
whose filters are told in every byte order.
"""

import json
import warnings
from itertools import product

import numcodecs
import numpy as np
import zarr
from arrays import same_bits

warnings.filterwarnings("ignore")

INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
FLOATS = ["f2", "f4", "f8"]
COUNT = 5000
LZMA1 = 0x4000000000000001


def name_of(data_type):
    """The v3 name of a numpy type."""
    return np.dtype(data_type).name


def values_of(data_type, seed=7):
    """Values of a type: of every magnitude that its filters take."""
    random = np.random.default_rng(seed)
    kind = np.dtype(data_type)
    if kind.kind == "b":
        return random.integers(0, 2, COUNT).astype(kind)
    if kind.kind in "iu":
        bounds = np.iinfo(kind)
        return random.integers(bounds.min, bounds.max, COUNT, dtype=kind.newbyteorder("="), endpoint=True).astype(kind)
    return (random.standard_normal(COUNT) * 100).astype(kind)


def smooth(data_type):
    """Values of a type that lie near each other and are small."""
    return (60 + 40 * np.sin(np.arange(COUNT) / 50)).astype(data_type)


def config(codec):
    """The configuration of a codec as JSON has it."""
    members = {name: value for name, value in codec.get_config().items() if name != "id"}
    return {name: (int(value) if isinstance(value, np.integer) else value) for name, value in members.items()}


def filters():
    """Name, filter and values: everything that numpy defines."""
    for kind in INTEGERS:
        yield f"delta {kind}", numcodecs.Delta(kind), values_of(kind)
        for narrow in ["i1", "u1", "i2", "f4", "f8"]:
            steps = np.sort(smooth(kind)) if kind[0] == "u" else smooth(kind)
            if narrow != "u1":
                yield f"delta {kind} as {narrow}", numcodecs.Delta(kind, narrow), steps
        for other in INTEGERS:
            small = values_of("i1" if other[0] == kind[0] == "i" else "u1") // 2
            yield f"astype {kind} as {other}", numcodecs.AsType(other, kind), small.astype(kind)
        for other in FLOATS:
            yield f"astype {kind} as {other}", numcodecs.AsType(other, kind), (values_of("i1") // 2).astype("i1").astype(kind) & 63
            yield f"fixedscaleoffset {kind} as {other}", numcodecs.FixedScaleOffset(-7.5, 0.25, kind, other), smooth(kind)
        yield f"fixedscaleoffset {kind} by integers", numcodecs.FixedScaleOffset(10, 1, kind, "i2"), smooth(kind)
        yield f"fixedscaleoffset {kind} by a float", numcodecs.FixedScaleOffset(10, 2.5, kind, "u1"), smooth(kind)
        yield f"fixedscaleoffset {kind} with a float", numcodecs.FixedScaleOffset(10.5, 2, kind, "i4"), smooth(kind)
    for kind in FLOATS:
        yield f"delta {kind}", numcodecs.Delta(kind), smooth(kind)
        for other in FLOATS:
            yield f"delta {kind} as {other}", numcodecs.Delta(kind, other), smooth(kind)
            yield f"delta {kind} as {other} noise", numcodecs.Delta(kind, other), values_of(kind) / np.dtype(kind).type(64)
            yield f"astype {kind} as {other}", numcodecs.AsType(other, kind), values_of(kind)
            for digits in [-1, 0, 1, 2]:
                yield f"quantize {kind} as {other} {digits}", numcodecs.Quantize(digits, kind, other), values_of(kind)
        for other in [*FLOATS, *INTEGERS]:
            for offset, scale in [(0, 1), (-20.5, 0.2), (1, 1.1), (20, 1)]:
                codec = numcodecs.FixedScaleOffset(offset, scale, kind, other)
                yield f"fixedscaleoffset {kind} as {other} {offset} {scale}", codec, smooth(kind)
        for other in INTEGERS:
            yield f"astype {kind} as {other}", numcodecs.AsType(other, kind), smooth(kind)
        if kind != "f2":
            for digits in [-5, 3, 5, 10]:
                yield f"quantize {kind} {digits}", numcodecs.Quantize(digits, kind), values_of(kind)
        for bits in [1, 3, 9]:
            yield f"bitround {kind} {bits}", numcodecs.BitRound(bits), values_of(kind)
    yield "astype bool", numcodecs.AsType("u1", "?"), values_of("?")
    yield "astype to bool", numcodecs.AsType("?", "u1"), values_of("?").astype("u1")
    for count in [1, 7, 8, 9, 5000]:
        yield f"packbits {count}", numcodecs.PackBits(), values_of("?")[:count]


def filters_of_numcodecs(tally, zarrcast, folder):
    """Every filter on native elements: encoded and decoded bits are numcodecs' own."""
    for number, (name, codec, values) in enumerate(filters()):
        with tally.case("filter", name):
            place = folder / str(number)
            codecs = json.dumps([{"name": f"numcodecs.{codec.codec_id}", "configuration": config(codec)}])
            chain = ["--codecs", codecs, "--data-type", name_of(values.dtype), "--shape", str(values.size)]
            expected = np.asarray(codec.encode(values))
            place.with_suffix(".in").write_bytes(values.tobytes())
            zarrcast.ok("apply-codec", *chain, place.with_suffix(".in"), place.with_suffix(".encoded"))
            encoded = np.frombuffer(place.with_suffix(".encoded").read_bytes(), expected.dtype)
            same_bits(encoded, expected.reshape(-1), "encoded")
            zarrcast.ok("apply-codec", "--decode", *chain, place.with_suffix(".encoded"), place.with_suffix(".decoded"))
            decoded = np.frombuffer(place.with_suffix(".decoded").read_bytes(), values.dtype)
            same_bits(decoded, np.asarray(codec.decode(expected)).view(values.dtype).reshape(-1), "decoded")


def filters_that_lose(tally, zarrcast, folder):
    """What numcodecs corrupts or leaves to the machine is refused, with the element."""
    numbers = np.array([1, 2, 300, 4], "i2")
    cases = [
        ("delta", numbers, numcodecs.Delta("i2", "i1")),
        ("astype", numbers, numcodecs.AsType("u1", "i2")),
        ("fixedscaleoffset", numbers.astype("f4"), numcodecs.FixedScaleOffset(0, 1e9, "f4", "u1")),
        ("NaN", np.array([1, 2, np.nan, 4], "f4"), numcodecs.FixedScaleOffset(0, 1, "f4", "u1")),
        ("quantize", np.array([1, 2, 3e38, 4], "f4"), numcodecs.Quantize(3, "f4")),
    ]
    for name, values, codec in cases:
        with tally.case("lossy filter", name):
            codecs = json.dumps([{"name": f"numcodecs.{codec.codec_id}", "configuration": config(codec)}])
            (folder / "in").write_bytes(values.tobytes())
            chain = ["--codecs", codecs, "--data-type", name_of(values.dtype), "--shape", "4"]
            message = zarrcast.status(1, "apply-codec", *chain, folder / "in", folder / "out")
            assert "[2]" in message and codec.codec_id in message, message


# How far numpy wraps a float to an integer type: C leaves the cast of others to the machine.
WRAPS = {f"{sign}{size}": (-(2.0 ** (63 if size == 8 else 31)), 2.0 ** max(63 if size == 8 else 31, 8 * size if sign == "u" else 0)) for sign in "iu" for size in (1, 2, 4, 8)}


def fixed_scale_offset_wraps(tally, zarrcast, folder):
    """`fixedscaleoffset` of values that fit and that do not, from every type to every other, in both byte orders."""
    kinds = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
    for place, (kind, other, order) in enumerate(product(kinds, kinds, "<>")):
        random = np.random.default_rng(place)
        for offset, scale, size in [(0, 10, 1e2), (5, 1, 1e5), (-1.5, 2.5, 1e9), (100, 3, 1e15)]:
            with tally.case("fixedscaleoffset", order, kind, other, offset, scale), np.errstate(all="ignore"):
                values = random_values(random, np.dtype(kind), size)
                codec = numcodecs.FixedScaleOffset(offset, scale, f"{order}{kind}", f"{order}{other}")
                values = values[wrapped(values, offset, scale, other)]
                expected = codec.encode(values.astype(f"{order}{kind}")).astype(f"<{other}")
                codecs = json.dumps([{"name": "numcodecs.fixedscaleoffset", "configuration": config(codec)}])
                (folder / "in").write_bytes(values.tobytes())
                chain = ["--codecs", codecs, "--data-type", name_of(values.dtype), "--shape", values.size]
                zarrcast.ok("apply-codec", *chain, folder / "in", folder / "out")
                same_bits(np.frombuffer((folder / "out").read_bytes(), f"<{other}"), expected, "encoded")


def random_values(random, kind, size):
    """Integers of every size, floats around one."""
    if kind.kind == "f":
        return (random.standard_normal(60) * size).astype(kind)
    bounds = np.iinfo(kind)
    return (random.integers(bounds.min, bounds.max, 60, kind, endpoint=True) // random.choice([1, 1 << 4 * kind.itemsize])).astype(kind)


def wrapped(values, offset, scale, other):
    """Which values numpy itself casts to the type by what C defines."""
    scaled = (values - offset) * scale
    if scaled.dtype.kind != "f" or other[0] == "f":
        return np.ones(values.shape, bool)
    least, beyond = WRAPS[other]
    # A bound that is compared with a float16 would become one.
    scaled = scaled.round().astype("f8")
    return (scaled >= least) & (scaled < beyond)


def version_2(path, values, **members):
    """A v2 array of one chunk, written by zarr-python; the bytes of the chunk."""
    array = zarr.create_array(path, shape=values.shape, chunks=values.shape, dtype=values.dtype, zarr_format=2, fill_value=0, **members)
    array[...] = values
    return (path / ".".join("0" * values.ndim)).read_bytes()


def chunk_both_ways(zarrcast, path, values, stored):
    """Decode a chunk that zarr-python wrote, and encode its elements to the same bytes."""
    expected = zarr.open_array(path, mode="r")[...]
    zarrcast.ok("apply-codec", "--decode", "--like", path, "--chunk", ",".join("0" * values.ndim), path / "decoded")
    native = values.dtype.newbyteorder("<")
    decoded = np.frombuffer((path / "decoded").read_bytes(), native).reshape(values.shape)
    same_bits(decoded, expected.astype(native), "decoded")
    (path / "elements").write_bytes(np.ascontiguousarray(values.astype(native)).tobytes())
    zarrcast.ok("apply-codec", "--like", path, path / "elements", path / "encoded")
    return (path / "encoded").read_bytes()


def byte_orders_of_version_2(tally, zarrcast, folder):
    """Filters that are told in either byte order, of arrays in either, in C and F order."""
    number = 0
    for array_order, filter_order, encoded_order, order in product("<>", "<>", "<>", "CF"):
        alike = array_order == filter_order
        cases = [("delta i4", "i4", lambda d, e: numcodecs.Delta(f"{d}i4", f"{e}i8"))]
        cases += [("delta u2", "u2", lambda d, e: numcodecs.Delta(f"{d}u2", f"{e}u2"))]
        if alike:
            cases += [
                ("fixedscaleoffset", "f4", lambda d, e: numcodecs.FixedScaleOffset(5.5, 2, f"{d}f4", f"{e}i2")),
                ("fixedscaleoffset u1", "f8", lambda d, e: numcodecs.FixedScaleOffset(-1, 2.1, f"{d}f8", "u1")),
                ("fixedscaleoffset u2", "u2", lambda d, e: numcodecs.FixedScaleOffset(5.5, 0.5, f"{d}u2", f"{e}f4")),
                ("quantize", "f8", lambda d, e: numcodecs.Quantize(2, f"{d}f8", f"{e}f4")),
                ("astype", "f8", lambda d, e: numcodecs.AsType(f"{e}f4", f"{d}f8")),
                ("delta of floats", "f4", lambda d, e: numcodecs.Delta(f"{d}f4", f"{e}f8")),
            ]
        for name, kind, make in cases:
            with tally.case("v2", name, array_order, filter_order, encoded_order, order):
                number += 1
                path = folder / str(number)
                values = smooth(f"{array_order}{kind}")[:60].reshape(10, 6)
                stored = version_2(path, values, order=order, filters=[make(filter_order, encoded_order)], compressors=None)
                encoded = chunk_both_ways(zarrcast, path, values, stored)
                assert encoded == stored, f"encoded {encoded[:24].hex()}, not {stored[:24].hex()}"


def filters_in_a_row(tally, zarrcast, folder):
    """Several filters before a compressor, elements taken for others, and booleans."""
    whole, real = smooth("i4"), smooth("f4")
    cases = {
        "two filters": (real, [numcodecs.FixedScaleOffset(0, 100, "<f4", "<i4"), numcodecs.Delta("<i4", "<i2")]),
        "two byte orders": (real, [numcodecs.FixedScaleOffset(0, 100, "<f4", ">i4"), numcodecs.Delta("<i4", ">i4")]),
        "floats as integers": (real, [numcodecs.Delta("<i4")]),
        "integers as unsigned": (whole, [numcodecs.Delta("<u4", "<i8")]),
        "booleans as bytes": (values_of("?"), [numcodecs.Delta("|i1")]),
        "booleans": (values_of("?"), [numcodecs.PackBits()]),
        "bitround": (real, [numcodecs.BitRound(5)]),
        "delta then shuffle": (whole, [numcodecs.Delta("<i4"), numcodecs.Shuffle(4)]),
        "times": (np.arange(COUNT).astype("<M8[s]"), [numcodecs.Delta("<i8")]),
    }
    for name, (values, chain) in cases.items():
        with tally.case("v2 filters", name):
            path = folder / name
            stored = version_2(path, values, filters=chain, compressors=None)
            assert chunk_both_ways(zarrcast, path, values, stored) == stored
        with tally.case("v2 filters and compressor", name):
            path = folder / f"{name} compressed"
            stored = version_2(path, values, filters=chain, compressors=numcodecs.LZ4())
            encoded = chunk_both_ways(zarrcast, path, values, stored)
            assert numcodecs.LZ4().decode(encoded) == numcodecs.LZ4().decode(stored)
            summary = zarrcast.json("validate", "--level", "data", path)
            assert not any(found["code"] == "ZC105" for found in summary["findings"]), summary["findings"]


def compressors():
    """Codecs of bytes."""
    lzma = numcodecs.LZMA
    yield from (numcodecs.LZ4(level) for level in [-1, 1, 9, 65537])
    yield from (lzma(preset=preset) for preset in [None, 0, 1, 6, 9, 9 | 1 << 31])
    yield from (lzma(check=check) for check in [0, 1, 4, 10])
    yield lzma(format=2)
    yield lzma(format=2, preset=1)
    delta = {"id": 3, "dist": 4}
    yield lzma(format=3, filters=[delta, {"id": 0x21, "preset": 1}])
    yield lzma(format=3, filters=[{"id": 0x21, "dict_size": 1 << 16, "lc": 1, "lp": 2, "pb": 0, "mode": 1, "nice_len": 64, "mf": 3, "depth": 9}])
    yield lzma(format=3, filters=[{"id": LZMA1, "preset": 3}])
    yield from (lzma(format=3, filters=[{"id": branch}, {"id": 0x21}]) for branch in range(4, 10))
    yield lzma(format=3, filters=[{"id": 4, "start_offset": 16}, delta, {"id": 0x21}])
    for checksum in [numcodecs.CRC32, numcodecs.Adler32, numcodecs.CRC32C]:
        yield from (checksum(location=location) for location in ["start", "end"])
        yield checksum()
    yield numcodecs.Fletcher32()
    yield from (numcodecs.JenkinsLookup3(initval=initval) for initval in [0, 1, 0xFFFFFFFF])
    yield from (numcodecs.Shuffle(size) for size in [1, 2, 4, 8])
    yield from (numcodecs.Zlib(level) for level in [0, 1, 9])
    yield from (numcodecs.GZip(level) for level in [0, 1, 9])
    yield from (numcodecs.BZ2(level) for level in [1, 9])
    yield from (numcodecs.Zstd(level) for level in [-5, 1, 9])
    for cname, shuffle in product(["lz4", "lz4hc", "blosclz", "zlib", "zstd"], [0, 1, 2, -1]):
        yield numcodecs.Blosc(cname, 5, shuffle)


# What these make of bytes has one form.
DETERMINED = {"crc32", "adler32", "crc32c", "fletcher32", "jenkins_lookup3", "shuffle"}


def compressors_of_numcodecs(tally, zarrcast, folder):
    """Every codec of bytes under its v3 name and its v2 id, on bytes that compress, noise and few bytes."""
    random = np.random.default_rng(3)
    samples = [
        np.sin(np.arange(4000) / 30).astype("<f4").tobytes(),
        random.integers(0, 256, 16000, dtype="u1").tobytes(),
        bytes(70000),
        b"12345678",
    ]
    for number, codec in enumerate(compressors()):
        members = config(codec) | ({"initval": codec.initval, "prefix": None} if codec.codec_id == "jenkins_lookup3" else {})
        chain = [{"name": "bytes"}, {"name": f"numcodecs.{codec.codec_id}", "configuration": members}]
        for size, sample in enumerate(samples):
            with tally.case("bytes", codec.codec_id, members, f"sample {size}"):
                both_ways(zarrcast, folder / f"{number} {size}", codec, ["--codecs", json.dumps(chain)], sample)
        with tally.case("v2 compressor", codec.codec_id, members):
            path = folder / f"{number}.zarr"
            path.mkdir()
            document = {
                "zarr_format": 2,
                "shape": [len(samples[0])],
                "chunks": [len(samples[0])],
                "dtype": "|u1",
                "compressor": {"id": codec.codec_id} | members,
                "fill_value": 0,
                "order": "C",
                "filters": None,
            }
            (path / ".zarray").write_text(json.dumps(document))
            both_ways(zarrcast, path, codec, ["--like", path], samples[0])


def both_ways(zarrcast, place, codec, chain, sample):
    """numcodecs decodes what zarrcast encodes, and the other way."""
    place.mkdir(exist_ok=True)
    if chain[0] == "--codecs":
        chain = [*chain, "--data-type", "uint8", "--shape", str(len(sample))]
    (place / "in").write_bytes(sample)
    theirs = bytes(codec.encode(np.frombuffer(sample, "u1")))
    (place / "theirs").write_bytes(theirs)
    zarrcast.ok("apply-codec", "--decode", *chain, place / "theirs", place / "decoded")
    assert (place / "decoded").read_bytes() == sample, "decoded by zarrcast"
    zarrcast.ok("apply-codec", *chain, place / "in", place / "ours")
    ours = (place / "ours").read_bytes()
    assert bytes(codec.decode(ours)) == sample, "decoded by numcodecs"
    assert codec.codec_id not in DETERMINED or ours == theirs, "encoded bytes differ"


def arrays_of_numcodecs(tally, zarrcast, folder):
    """Whole arrays from and to chains of numcodecs, with ragged edges and fill values that filters cannot encode."""
    real = np.tile(smooth("f4")[:70], (50, 1)) + np.arange(50, dtype="f4")[:, None]
    whole = np.rint(real).astype("i2")
    named = lambda name, **members: {"name": f"numcodecs.{name}", "configuration": members}  # noqa: E731
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    scaled = named("fixedscaleoffset", offset=50.0, scale=2, dtype="<f4", astype="<i2")
    chains = {
        "scaled": (real, [scaled, little, named("lz4", acceleration=1)]),
        "scaled, differences": (real, [scaled, named("delta", dtype="<i2", astype="<i4"), little, named("lzma", preset=1)]),
        "quantized": (real, [named("quantize", digits=2, dtype="<f4", astype="<f4"), little, named("shuffle", elementsize=4), named("zlib", level=1)]),
        "cast": (real.astype("f8"), [named("astype", encode_dtype="<f4", decode_dtype="<f8"), little, named("adler32")]),
        "differences": (whole, [named("delta", dtype="<i2"), little, named("fletcher32"), named("bz2", level=1)]),
        "booleans": (whole % 2 == 0, [named("packbits"), {"name": "bytes"}, named("jenkins_lookup3", initval=3, prefix=None)]),
    }
    for name, (values, chain) in chains.items():
        for fill_value in [np.nan, 0] if values.dtype.kind == "f" else [0]:
            with tally.case("array", name, fill_value):
                source = folder / f"{name} {fill_value}"
                array = zarr.create_array(source, shape=values.shape, chunks=(16, 32), dtype=values.dtype, fill_value=fill_value)
                array[:48] = values[:48]
                destination = folder / f"{name} {fill_value} out"
                options = ["--codecs", json.dumps(chain), "--no-fill-check"]
                zarrcast.ok("transcode", *options, source, destination)
                lossy = zarr.open_array(destination, mode="r")[...]
                assert lossy.dtype == values.dtype and np.allclose(lossy[:48], values[:48], atol=0.3)
                assert np.array_equal(lossy[48:], array[48:], equal_nan=True), "missing chunks are missing"
                plain = folder / f"{name} {fill_value} plain"
                zarrcast.ok("transcode", "--codecs", json.dumps([little if values.dtype.itemsize > 1 else {"name": "bytes"}]), destination, plain)
                same_bits(zarr.open_array(plain, mode="r")[...], lossy)
                zarrcast.ok("validate", "--level", "data", destination)
