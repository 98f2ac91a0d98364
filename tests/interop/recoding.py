"""Copies, other codec chains and other compressors keep every value. zarr-python and tensorstore read them."""

import json

import numcodecs
import numpy as np
from arrays import BIG, LITTLE, chunks_of, codec, elements, fixture, fixtures, metadata, same_bits, same_by_both

ZSTD = codec("zstd", level=3, checksum=False)
CRC32C = codec("crc32c")


def readable(one):
    """True if zarr-python 3.1 or tensorstore reads a fixture."""
    is_regular = one.metadata["chunk_grid"]["name"] == "regular"
    foreign = ("scale_offset", "cast_value", "zfp", "numcodecs.zfpy", "zarrs.vlen_v2")
    return is_regular and one.data_type not in ("uint10", "r24") and not one.has_codecs(*foreign)


def fixtures_hold_what_is_expected(tally, _zarrcast, _folder):
    for one in filter(readable, fixtures()):
        with tally.case(one.name):
            found = elements(one.path)
            same_bits(found[one.box], one.expected())
            same_by_both(one.path, found)


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
                same_by_both(folder / "copy", elements(one.path))


def chains_for(one):
    """Codec chains for the type and rank of a fixture."""
    size = np.dtype(one.data_type).itemsize
    little, big = (LITTLE, BIG) if size > 1 else (codec("bytes"),) * 2

    def blosc(compressor, shuffle):
        return codec("blosc", cname=compressor, clevel=5, shuffle=shuffle, typesize=size, blocksize=0)

    chains = {
        "plain": [little],
        "big": [big],
        "zstd": [little, ZSTD],
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
        chains["sharded"] = [codec("sharding_indexed", chunk_shape=inner, codecs=[little, ZSTD], index_location="end", **shards)]
        turned = codec("sharding_indexed", chunk_shape=inner[::-1], codecs=[big], index_location="start", **shards)
        chains["transposed, sharded"] = [order, turned]
    return chains


def codec_chains(tally, zarrcast, _folder):
    """`--codecs`: every fixture through every chain. Missing chunks stay missing."""
    for one in filter(readable, fixtures()):
        expected, keys = elements(one.path), chunks_of(one.path).keys()
        for name, chain in chains_for(one).items():
            with tally.case("codecs", name, one.name) as folder:
                zarrcast.ok("transcode", "--codecs", json.dumps(chain), one.path, folder / "b")
                same_by_both(folder / "b", expected)
                assert chunks_of(folder / "b").keys() <= keys, "a missing chunk was written"


def innermost(codecs):
    """The codecs inside all shards."""
    inside = next((found["configuration"]["codecs"] for found in codecs if found["name"] == "sharding_indexed"), None)
    return innermost(inside) if inside else codecs


def compress_specifications(tally, zarrcast, _folder):
    """`--compress` replaces the innermost compressors. numcodecs itself decodes the chunks."""
    decoders = {"zstd": numcodecs.Zstd(), "gzip": numcodecs.GZip(), "blosc": numcodecs.Blosc()}
    names = ["zstd_crc32c", "gzip", "sharded_index_end", "type_int16", "f_order", "sharded_twice"]
    for name in [*(f"zarr-python_3.1.6_{name}" for name in names), "sea_surface_temperature"]:
        one = fixture(name)
        expected = elements(one.path)
        size = np.prod(one.metadata["chunk_grid"]["configuration"]["chunk_shape"]) * np.dtype(one.data_type).itemsize
        for specification in ["zstd:3", "zstd:19", "gzip:6", "blosc:lz4:5:shuffle", "blosc:zstd:3:bitshuffle", "none"]:
            with tally.case("compress", specification, name) as folder:
                zarrcast.ok("transcode", "--compress", specification, one.path, folder / "b")
                same_by_both(folder / "b", expected)
                kind, _, rest = specification.partition(":")
                compressors = [found for found in innermost(metadata(folder / "b")["codecs"]) if found["name"] not in ("bytes", "transpose")]
                assert [found["name"] for found in compressors] == [kind] * (kind != "none"), compressors
                if kind in ("zstd", "gzip"):
                    assert compressors[0]["configuration"]["level"] == int(rest), compressors
                if kind != "none" and not one.has_codecs("sharding_indexed"):
                    for key, encoded in chunks_of(folder / "b").items():
                        assert len(bytes(decoders[kind].decode(encoded))) == size, f"{key} by numcodecs"


SECTIONS = [fixtures_hold_what_is_expected, copies, codec_chains, compress_specifications]
