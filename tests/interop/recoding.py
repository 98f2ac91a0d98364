"""What keeps every value: copies, other codec chains, other compressors."""

import numcodecs
import numpy as np
from arrays import fixture, fixtures, innermost, metadata, same_bits, stored_objects, with_literals
from readers import as_text, elements, readable, same_by_both

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
BIG = {"name": "bytes", "configuration": {"endian": "big"}}
ZSTD = {"name": "zstd", "configuration": {"level": 3, "checksum": False}}
GZIP = {"name": "gzip", "configuration": {"level": 6}}
CRC32C = {"name": "crc32c"}


def blosc(compressor, shuffle, typesize):
    """The codec `blosc`."""
    configuration = {"cname": compressor, "clevel": 5, "shuffle": shuffle, "typesize": typesize, "blocksize": 0}
    return {"name": "blosc", "configuration": configuration}


def fixtures_hold_what_is_expected(tally, _zarrcast, _folder):
    """The fixtures themselves: both readers agree with the expected elements."""
    for one in filter(readable, fixtures()):
        with tally.case(one.name):
            found = elements(one.path)
            same_bits(found[one.box], one.expected())
            same_by_both(one.path, found)


def copies(tally, zarrcast, folder):
    """A copy keeps every stored byte, the metadata, the order of attributes and each number literal."""
    for number, one in enumerate(fixtures()):
        with tally.case("copy", one.name):
            destination = folder / str(number)
            zarrcast.ok("transcode", one.path, destination)
            assert stored_objects(destination) == stored_objects(one.path), "stored chunks differ"
            found, expected = with_literals(destination), with_literals(one.path)
            for document in (found, expected):
                if document.get("storage_transformers") == []:
                    del document["storage_transformers"]
            assert found == expected, f"metadata: {found}, not {expected}"
            assert str(found["attributes"]) == str(expected["attributes"]), "the order of attributes differs"
            if readable(one):
                same_by_both(destination, elements(one.path))


def chains_for(one):
    """Codec chains that suit a fixture's type and rank."""
    dimensions = len(one.metadata["shape"])
    size = np.dtype(one.data_type).itemsize
    little, big = (LITTLE, BIG) if size > 1 else ({"name": "bytes"},) * 2
    chains = {
        "plain": [little],
        "big": [big],
        "zstd": [little, ZSTD],
        "gzip crc32c": [big, GZIP, CRC32C],
        "zstd checksum": [little, {"name": "zstd", "configuration": {"level": 1, "checksum": True}}],
        "blosc shuffle": [little, blosc("lz4", "shuffle", size)],
        "blosc bitshuffle": [big, blosc("zstd", "bitshuffle", size)],
        "blosc none": [little, blosc("blosclz", "noshuffle", size), CRC32C],
    }
    if dimensions > 0:
        order = {"name": "transpose", "configuration": {"order": list(range(dimensions))[::-1]}}
        chunk = one.metadata["chunk_grid"]["configuration"]["chunk_shape"]
        inner = [next((n // d for d in (2, 3, 5) if n % d == 0), n) for n in chunk]
        configuration = {"chunk_shape": inner, "codecs": [little, ZSTD], "index_codecs": [LITTLE, CRC32C]}
        chains["transposed"] = [order, little, ZSTD]
        chains["sharded"] = [{"name": "sharding_indexed", "configuration": configuration | {"index_location": "end"}}]
        configuration = configuration | {"chunk_shape": inner[::-1], "codecs": [big], "index_location": "start"}
        chains["transposed, sharded"] = [order, {"name": "sharding_indexed", "configuration": configuration}]
    return chains


def codec_chains(tally, zarrcast, folder):
    """`--codecs`: every fixture through every chain; values stay bit for bit, missing chunks stay missing."""
    for one in filter(readable, fixtures()):
        expected = elements(one.path)
        keys = set(stored_objects(one.path))
        for chain_name, chain in chains_for(one).items():
            with tally.case("codecs", chain_name, one.name):
                destination = folder / f"{one.name.replace('/', '.')} {chain_name}"
                zarrcast.ok("transcode", "--codecs", as_text(chain), one.path, destination)
                same_by_both(destination, expected)
                assert set(stored_objects(destination)) <= keys, "a missing chunk was written"


def compress_specifications(tally, zarrcast, folder):
    """`--compress`: the innermost bytes->bytes list is replaced; numcodecs itself decodes the chunks."""
    decoders = {"zstd": numcodecs.Zstd(), "gzip": numcodecs.GZip(), "blosc": numcodecs.Blosc(), "none": None}
    names = [
        "zarr-python_3.1.6_zstd_crc32c",
        "zarr-python_3.1.6_gzip",
        "zarr-python_3.1.6_sharded_index_end",
        "zarr-python_3.1.6_type_int16",
    ]
    for name in [*names, "sea_surface_temperature", "zarr-python_3.1.6_f_order", "zarr-python_3.1.6_sharded_twice"]:
        one = fixture(name)
        expected = elements(one.path)
        for specification in ["zstd:3", "zstd:19", "gzip:6", "blosc:lz4:5:shuffle", "blosc:zstd:3:bitshuffle", "none"]:
            with tally.case("compress", specification, name):
                destination = folder / f"{name} {specification.replace(':', '_')}"
                zarrcast.ok("transcode", "--compress", specification, one.path, destination)
                same_by_both(destination, expected)
                codecs = innermost(metadata(destination)["codecs"])
                kind, _, rest = specification.partition(":")
                compressors = [codec for codec in codecs if codec["name"] not in ("bytes", "transpose")]
                assert [codec["name"] for codec in compressors] == ([] if kind == "none" else [kind]), compressors
                if kind in ("zstd", "gzip"):
                    assert compressors[0]["configuration"]["level"] == int(rest), compressors
                if decoders[kind] and not one.has_codecs("sharding_indexed"):
                    for key, encoded in stored_objects(destination).items():
                        size = np.prod(one.metadata["chunk_grid"]["configuration"]["chunk_shape"]) * np.dtype(one.data_type).itemsize
                        assert len(bytes(decoders[kind].decode(encoded))) == size, f"{key} by numcodecs"
