"""The codecs of numcodecs, encoded by zarrcast and decoded by numcodecs, and in the other direction."""

import json
from itertools import product

import numcodecs
import numpy as np
from arrays import apply_codec, codec, same_bits
from numcodecs.pcodec import PCodec

INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
FLOATS = ["f2", "f4", "f8"]
COUNT = 5000
LZMA1 = 0x4000000000000001


def values_of(data_type, seed=7):
    random = np.random.default_rng(seed)
    kind = np.dtype(data_type)
    if kind.kind == "b":
        return random.integers(0, 2, COUNT).astype(kind)
    if kind.kind in "iu":
        bounds = np.iinfo(kind)
        return random.integers(bounds.min, bounds.max, COUNT, dtype=kind.newbyteorder("="), endpoint=True).astype(kind)
    return (random.standard_normal(COUNT) * 100).astype(kind)


def smooth(data_type):
    return (60 + 40 * np.sin(np.arange(COUNT) / 50)).astype(data_type)


def configuration(codec):
    members = {name: value for name, value in codec.get_config().items() if name != "id"}
    return {name: (int(value) if isinstance(value, np.integer) else value) for name, value in members.items()}


def chain_of(filter):
    return [codec(f"numcodecs.{filter.codec_id}", **configuration(filter))]


def filters():
    delta, scaled, astype, quantize = numcodecs.Delta, numcodecs.FixedScaleOffset, numcodecs.AsType, numcodecs.Quantize
    for kind in INTEGERS:
        even, steps = smooth(kind), np.sort(smooth(kind)) if kind[0] == "u" else smooth(kind)
        yield delta(kind), values_of(kind)
        yield from ((delta(kind, narrow), steps) for narrow in ["i1", "i2", "f4", "f8"])
        for other in INTEGERS:
            small = values_of("i1" if other[0] == kind[0] == "i" else "u1") // 2
            yield astype(other, kind), small.astype(kind)
        yield from ((astype(other, kind), (values_of("i1") // 2).astype(kind) & 63) for other in FLOATS)
        yield from ((scaled(-7.5, 0.25, kind, other), even) for other in FLOATS)
        choices = [(10, 1, "i2"), (10, 2.5, "u1"), (10.5, 2, "i4")]
        yield from ((scaled(offset, scale, kind, other), even) for offset, scale, other in choices)
    for kind in FLOATS:
        even, noise = smooth(kind), values_of(kind)
        yield delta(kind), even
        for other in FLOATS:
            yield from [(delta(kind, other), even), (delta(kind, other), noise / np.dtype(kind).type(64))]
            yield astype(other, kind), noise
            yield from ((quantize(digits, kind, other), noise) for digits in [-1, 0, 1, 2])
        for other, (offset, scale) in product([*FLOATS, *INTEGERS], [(0, 1), (-20.5, 0.2), (1, 1.1), (20, 1)]):
            yield scaled(offset, scale, kind, other), even
        yield from ((astype(other, kind), even) for other in INTEGERS)
        yield from ((quantize(digits, kind), noise) for digits in ([-5, 3, 5, 10] if kind != "f2" else []))
        yield from ((numcodecs.BitRound(bits), noise) for bits in [1, 3, 9])
    yield from [(astype("u1", "?"), values_of("?")), (astype("?", "u1"), values_of("?").astype("u1"))]
    yield from ((numcodecs.PackBits(), values_of("?")[:count]) for count in [1, 7, 8, 9, 5000])


def filters_of_numcodecs(tally, zarrcast, folder):
    """Every filter on native elements: encoded and decoded bits equal those of numcodecs."""
    for filter, values in filters():
        with tally.case(filter, values.dtype, values.size):
            expected = np.asarray(filter.encode(values)).reshape(-1)
            encoded = apply_codec(zarrcast, folder, chain_of(filter), values, to=expected.dtype)
            same_bits(encoded, expected, "encoded")
            chain = ["--codecs", json.dumps(chain_of(filter)), "--data-type", values.dtype.name, "--shape", values.size]
            zarrcast.ok("apply-codec", "--decode", *chain, folder / "out", folder / "decoded")
            decoded = np.frombuffer((folder / "decoded").read_bytes(), values.dtype)
            same_bits(decoded, np.asarray(filter.decode(expected)).view(values.dtype).reshape(-1), "decoded")


def fixed_scale_offset_wraps(tally, zarrcast, folder):
    """`fixedscaleoffset` with values inside and outside the range, between all types, in both byte orders."""
    for seed, (kind, other, order) in enumerate(product([*INTEGERS, *FLOATS], [*INTEGERS, *FLOATS], "<>")):
        random, parameters = np.random.default_rng(seed), [(0, 10, 1e2), (5, 1, 1e5), (-1.5, 2.5, 1e9), (100, 3, 1e15)]
        for offset, scale, size in parameters[seed % 2 :: 2]:
            with tally.case("fixedscaleoffset", order, kind, other, offset, scale), np.errstate(all="ignore"):
                values = values_of(kind, seed)[:60] if kind[0] != "f" else (random.standard_normal(60) * size).astype(kind)
                if seed % 3 == 0 and kind[0] != "f":
                    # Small values, too.
                    values = values // np.array(1 << 4 * values.itemsize).astype(kind)
                filter = numcodecs.FixedScaleOffset(offset, scale, f"{order}{kind}", f"{order}{other}")
                values = values[is_defined(values, offset, scale, other)]
                expected = filter.encode(values.astype(f"{order}{kind}")).astype(f"<{other}")
                found = apply_codec(zarrcast, folder, chain_of(filter), values, to=expected.dtype)
                same_bits(found, expected, "encoded")


def is_defined(values, offset, scale, other):
    """Returns True for values whose cast C defines. numpy wraps to 32 bits, or to 64 for 64-bit types."""
    scaled = (values - offset) * scale
    if scaled.dtype.kind != "f" or other[0] == "f":
        return np.ones(values.shape, bool)
    bits = 8 * int(other[1])
    least, beyond = -(2.0 ** (63 if bits == 64 else 31)), 2.0 ** max(63 if bits == 64 else 31, bits if other[0] == "u" else 0)
    # A limit compared with a float16 would be converted to float16.
    scaled = scaled.round().astype("f8")
    return (scaled >= least) & (scaled < beyond)


def compressors():
    lzma, delta = numcodecs.LZMA, {"id": 3, "dist": 4}
    yield from (numcodecs.LZ4(level) for level in [-1, 1, 9, 65537])
    yield from (lzma(preset=preset) for preset in [None, 0, 6, 9 | 1 << 31])
    yield from (lzma(check=check) for check in [0, 1, 4, 10])
    yield from (lzma(format=2, preset=preset) for preset in [None, 1])
    members = {"dict_size": 1 << 16, "lc": 1, "lp": 2, "pb": 0, "mode": 1, "nice_len": 64, "mf": 3, "depth": 9}
    chains = [[delta, {"id": 0x21, "preset": 1}], [{"id": 0x21, **members}], [{"id": LZMA1, "preset": 3}]]
    chains += [[{"id": branch}, {"id": 0x21}] for branch in range(4, 10)]
    chains += [[{"id": 4, "start_offset": 16}, delta, {"id": 0x21}]]
    yield from (lzma(format=3, filters=chain) for chain in chains)
    for checksum in [numcodecs.CRC32, numcodecs.Adler32, numcodecs.CRC32C]:
        yield from [checksum(), *(checksum(location=location) for location in ["start", "end"])]
    yield numcodecs.Fletcher32()
    yield from (numcodecs.JenkinsLookup3(initval=initval) for initval in [0, 0xFFFFFFFF])
    yield from (numcodecs.Shuffle(size) for size in [1, 2, 4, 8])
    yield from (kind(level) for kind in (numcodecs.Zlib, numcodecs.GZip) for level in [0, 9])
    yield from (numcodecs.BZ2(level) for level in [1, 9])
    yield from (numcodecs.Zstd(level) for level in [-5, 1, 9])
    for cname, shuffle in product(["lz4", "lz4hc", "blosclz", "zlib", "zstd"], [0, 1, 2, -1]):
        yield numcodecs.Blosc(cname, 5, shuffle)


# Codecs with only one valid encoding.
DETERMINED = {"crc32", "adler32", "crc32c", "fletcher32", "jenkins_lookup3", "shuffle"}


def compressors_of_numcodecs(tally, zarrcast, _folder):
    """Every bytes-to-bytes codec by its v3 name and its v2 id, on bytes that compress, noise and few bytes."""
    random = np.random.default_rng(3)
    samples = [
        np.sin(np.arange(4000) / 30).astype("<f4").tobytes(), random.integers(0, 256, 16000, dtype="u1").tobytes(),
        bytes(70000), b"12345678",
    ]
    for compressor in compressors():
        name = compressor.codec_id
        members = configuration(compressor) | ({"initval": compressor.initval, "prefix": None} if name == "jenkins_lookup3" else {})
        chain = json.dumps([codec("bytes"), {"name": f"numcodecs.{name}", "configuration": members}])
        for number, sample in enumerate(samples):
            with tally.case("bytes", name, members, f"sample {number}") as folder:
                both_ways(zarrcast, folder, compressor, ["--codecs", chain, "--data-type", "uint8", "--shape", len(sample)], sample)
        with tally.case("v2 compressor", name, members) as folder:
            length = [len(samples[0])]
            document = {"zarr_format": 2, "shape": length, "chunks": length, "dtype": "|u1", "compressor": {"id": name} | members}
            (folder / ".zarray").write_text(json.dumps(document | {"fill_value": 0, "order": "C", "filters": None}))
            both_ways(zarrcast, folder, compressor, ["--like", folder], samples[0])


def both_ways(zarrcast, folder, compressor, chain, sample):
    """numcodecs decodes the bytes that zarrcast encodes, and the other way round."""
    theirs = bytes(compressor.encode(np.frombuffer(sample, "u1") if isinstance(sample, bytes) else sample))
    sample = bytes(sample)
    (folder / "in").write_bytes(sample)
    (folder / "theirs").write_bytes(theirs)
    zarrcast.ok("apply-codec", "--decode", *chain, folder / "theirs", folder / "decoded")
    assert (folder / "decoded").read_bytes() == sample, "decoded by zarrcast"
    zarrcast.ok("apply-codec", *chain, folder / "in", folder / "ours")
    ours = (folder / "ours").read_bytes()
    assert bytes(compressor.decode(ours)) == sample, "decoded by numcodecs"
    assert compressor.codec_id not in DETERMINED or ours == theirs, "encoded bytes differ"


PCODEC_TYPES = ["i2", "i4", "i8", "u2", "u4", "u8", *FLOATS]
PCODEC_CONFIGURATIONS = [{}, {"level": 0, "mode_spec": "classic"}, {"level": 12, "delta_spec": "try_lookback"}]
PCODEC_CONFIGURATIONS += [{"delta_spec": "try_consecutive", "delta_encoding_order": 3}]
PCODEC_CONFIGURATIONS += [{"delta_encoding_order": 1, "equal_pages_up_to": 300}]


def chunks_of_pcodec(tally, zarrcast, _folder):
    """Every type and configuration. The default one also has constants, multiples of a base, few values and NaN."""
    for kind, members in product(PCODEC_TYPES, PCODEC_CONFIGURATIONS):
        samples = {"smooth": smooth(kind), "noise": values_of(kind)}
        if not members:
            multiples = (values_of("u1").astype("f8") % 100 * 10).astype(kind)
            samples |= {"constant": np.full(5000, 7, kind), "multiples": multiples, "one": smooth(kind)[:1]}
            if kind in FLOATS:
                samples["not finite"] = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.5] * 50, kind)
        for name, values in samples.items():
            with tally.case("pcodec", kind, members, name) as folder:
                compressor = PCodec(**members)
                chain = ["--codecs", json.dumps(chain_of(compressor)), "--data-type", values.dtype.name, "--shape", values.size]
                both_ways(zarrcast, folder, compressor, chain, values)


SECTIONS = [filters_of_numcodecs, fixed_scale_offset_wraps, compressors_of_numcodecs, chunks_of_pcodec]
