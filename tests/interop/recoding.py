"""Copies and other codec chains keep every value of the fixtures. zarr-python and tensorstore read them."""

import json

import numpy as np
from arrays import BIG, LITTLE, chunks_of, codec, elements, fixtures, same_bits, same_by_both

ZSTD, CRC32C = codec("zstd", level=3, checksum=False), codec("crc32c")
# Each fixture meets so many chains, in turn.
CHAINS_OF_EACH = 3


def readable(one):
    """True if zarr-python 3.1 or tensorstore reads a fixture."""
    is_regular = one.metadata["chunk_grid"]["name"] == "regular"
    foreign = ("scale_offset", "cast_value", "zfp", "numcodecs.zfpy", "zarrs.vlen_v2")
    return is_regular and one.data_type not in ("uint10", "r24") and not one.has_codecs(*foreign)


def with_literals(path):
    """The metadata document with every number as its text."""
    number = {word: lambda text: f"number {text}" for word in ("parse_float", "parse_int", "parse_constant")}
    return json.loads((path / "zarr.json").read_text(encoding="utf-8"), **number)


def copies(tally, zarrcast, _folder):
    """A copy keeps every stored byte, the metadata, the order of attributes and each number literal."""
    for one in fixtures():
        with tally.case("copy", one.name) as folder:
            zarrcast.ok("transcode", one.path, folder / "copy")
            assert chunks_of(folder / "copy") == chunks_of(one.path), "stored chunks differ"
            found, expected = with_literals(folder / "copy"), with_literals(one.path)
            for document in (found, expected):
                if document.get("storage_transformers") == []:
                    del document["storage_transformers"]
            assert found == expected, f"metadata: {found}, not {expected}"
            assert str(found["attributes"]) == str(expected["attributes"]), "the order of attributes differs"
            if readable(one):
                values = elements(one.path)
                same_bits(values[one.box], one.expected(), "the fixture")
                same_by_both(folder / "copy", values)


def chains_for(one):
    """Codec chains for the type and rank of a fixture."""
    size = np.dtype(one.data_type).itemsize
    little, big = (LITTLE, BIG) if size > 1 else (codec("bytes"),) * 2

    def blosc(compressor, shuffle):
        return codec("blosc", cname=compressor, clevel=5, shuffle=shuffle, typesize=size, blocksize=0)

    chains = {
        "plain": [little],
        "big": [big],
        "gzip crc32c": [big, codec("gzip", level=6), CRC32C],
        "zstd checksum": [little, codec("zstd", level=1, checksum=True)],
        "blosc shuffle": [little, blosc("lz4", "shuffle")],
        "blosc bitshuffle": [big, blosc("zstd", "bitshuffle")],
        "blosc none": [little, blosc("blosclz", "noshuffle"), CRC32C],
    }
    if dimensions := len(one.metadata["shape"]):
        order = codec("transpose", order=list(range(dimensions))[::-1])
        chunk = one.metadata["chunk_grid"]["configuration"]["chunk_shape"]
        inner = [next((n // d for d in (2, 3, 5) if n % d == 0), n) for n in chunk]
        shards = {"index_codecs": [LITTLE, CRC32C]}
        chains["transposed"] = [order, little, ZSTD]
        sharded = codec("sharding_indexed", chunk_shape=inner, codecs=[little, ZSTD], index_location="end", **shards)
        chains["sharded"] = [sharded]
        turned = codec("sharding_indexed", chunk_shape=inner[::-1], codecs=[big], index_location="start", **shards)
        chains["transposed, sharded"] = [order, turned]
    return chains


def codec_chains(tally, zarrcast, _folder):
    """`--codecs`: every fixture through some chains. Missing chunks stay missing."""
    for number, one in enumerate(filter(readable, fixtures())):
        expected, keys = elements(one.path), chunks_of(one.path).keys()
        chains = list(chains_for(one).items())
        for turn in range(CHAINS_OF_EACH):
            name, chain = chains[(number * CHAINS_OF_EACH + turn) % len(chains)]
            with tally.case("codecs", name, one.name) as folder:
                zarrcast.ok("transcode", "--codecs", json.dumps(chain), one.path, folder / "b")
                same_by_both(folder / "b", expected)
                assert chunks_of(folder / "b").keys() <= keys, "a missing chunk was written"


SECTIONS = [copies, codec_chains]
