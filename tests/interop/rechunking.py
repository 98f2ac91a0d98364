"""Other chunks and shards, in one pass or two, alone or with other changes. zarr-python and tensorstore read them."""

import json
import random

import numpy as np
import zarr
from arrays import BIG, codec, lengths, plain_codec, read, same_by_both
from program import same_files
from zarr.codecs import BytesCodec, TransposeCodec, ZstdCodec

CASES = 100
MOST_ELEMENTS = 30_000
CRC32C = codec("crc32c")
FILL_VALUES = {"float32": float("nan"), "float64": 1.5, "int16": -3, "uint8": 0}


def draw_shape(choose, rank, most):
    return tuple(choose.randint(1, most) for _ in range(rank))


def small_shape(choose, rank):
    return tuple(choose.choice([0, 1, *range(2, 24 // rank + 4)]) for _ in range(rank)) if rank else ()


def transposing(choose, rank):
    """Returns an array shape, chunks that are long along some dimensions, and chunks that are long along the others."""
    long = [choose.random() < 0.5 for _ in range(rank)]
    long[0] = not long[-1]
    side = int(MOST_ELEMENTS ** (1 / rank))
    shape = tuple(choose.randint(max(side // 2, 1), side) for _ in range(rank))

    def chunks(are_long):
        cut = lambda length: length - choose.choice([0, 0, length // 3])
        return tuple(cut(length) if is_long else choose.randint(1, 2) for length, is_long in zip(shape, are_long))

    return shape, chunks(long), chunks([not is_long for is_long in long])


def sharded(choose, chunks, share=0.4, most=2):
    return tuple(length * choose.randint(1, most) for length in chunks) if chunks and choose.random() < share else None


def written(choose, generator, path, chunks, shards, shape):
    """Writes random values in any order of dimensions with missing chunks, and returns them."""
    rank, name = len(chunks), choose.choice(list(FILL_VALUES))
    order = choose.sample(range(rank), rank)
    array = zarr.create_array(
        path, shape=shape, chunks=chunks, shards=shards, dtype=name, fill_value=FILL_VALUES[name],
        filters=[TransposeCodec(order=order)] if rank > 1 and choose.random() < 0.4 else None,
        serializer=BytesCodec(endian=choose.choice(["little", "big"]) if name != "uint8" else None),
        compressors=choose.choice([None, [ZstdCodec(level=1)]]),
    )
    elements = np.asarray(generator.random(shape) * 100).astype(name)
    if rank and elements.size:
        # A corner and a slab of the array contain the fill value. Chunks there are not stored.
        elements[tuple(slice(choose.randint(0, length), None) for length in shape)] = FILL_VALUES[name]
        axis = choose.randrange(rank)
        start = choose.randint(0, shape[axis])
        elements[(slice(None),) * axis + (slice(start, start + choose.randint(0, shape[axis])),)] = FILL_VALUES[name]
    array[...] = elements
    return elements


def least_memory(zarrcast, *arguments):
    refusal = zarrcast.run("transcode", "--dry-run", "--max-memory", "1", *arguments).stderr
    return int(refusal.split("`--max-memory ")[1].split("`")[0])


def changes(choose, name, rank):
    number = choose.choice(["3", "0", "17"])
    permute = [codec("transpose", order=choose.sample(range(rank), rank))] if rank > 1 else []
    size = np.dtype(name).itemsize
    blosc = codec("blosc", cname="zstd", clevel=5, shuffle="bitshuffle", typesize=size, blocksize=0)
    serializer = BIG if size > 1 and number == "17" else plain_codec(name)
    compressors = [[], [codec("gzip", level=1)], [codec("zstd", level=1, checksum=True), CRC32C], [blosc]]
    chain = [*permute, serializer, *choose.choice(compressors)]
    options = [
        ["--compress", choose.choice(["zstd:1", "gzip:1", "blosc:lz4:5:shuffle", "none"])],
        ["--fill-value", number],
        ["--codecs", json.dumps(chain), "--fill-value", number],
    ]
    if name.startswith("float"):
        codes = choose.choice(["uint8", "uint16", "int16"])
        # The entry for zarr-python 3.4 depends on shards, which the two ways add at different times.
        options += [["--quantize", codes, "--no-workarounds", *choose.choice([[], ["--as", "cf"], ["--as", "plain"], ["--compress", "zstd:1"]])]] * 3
    if wider := {"uint8": "int32", "int16": "float32", "float32": "float64"}.get(name):
        options.append(["--data-type", wider, *choose.choice([[], ["--fill-value", number], ["--compress", "zstd:1"]])])
    return choose.choice(options)


def combined(tally, zarrcast, _folder):
    """Another grid, alone or with changes of values, types, fill values and codecs, equals the same steps one by one.

    With little memory it needs two passes, and the result is the same.
    """
    choose, generator = random.Random(3), np.random.default_rng(3)
    staged = 0
    for number in range(CASES):
        rank = choose.choice([0, 1, 2, 2, 3, 3, 4, 8])
        if rank < 2 or (rank < 5 and choose.random() < 0.4):
            shape, chunks, other = small_shape(choose, rank), draw_shape(choose, rank, 6), draw_shape(choose, rank, 9)
        else:
            shape, chunks, other = transposing(choose, rank)
        with tally.case("combined", number, shape, chunks, other) as folder:
            source, changed, after, once, small = (folder / name for name in ("source", "changed", "after", "once", "small"))
            elements = written(choose, generator, source, chunks, sharded(choose, chunks), shape)
            change = choose.choice([[], ["--write-empty-chunks"], *[changes(choose, elements.dtype.name, rank)] * 3])
            around = sharded(choose, other)
            grid = ["-c", lengths(other), "-s", lengths(around) if around else "none"] if rank else ["-c", "scalar"]
            if choose.random() < 0.2 and "--quantize" in change and "cf" in change:
                # A packed source is unpacked during the rechunking.
                zarrcast.ok("transcode", *change, source, folder / "packed")
                source, change = folder / "packed", ["--unpack"]
            zarrcast.ok("transcode", "--verify", *change, *grid, source, once)
            if len(change) > 1:
                zarrcast.ok("transcode", *change, source, changed)
                zarrcast.ok("transcode", *grid, changed, after)
                same_files(once, after)
            else:
                array = zarr.open_array(once, mode="r")
                assert (array.chunks, array.shards) == (other, around), f"{array.chunks}, {array.shards}"
                same_by_both(once, read(once) if change == ["--unpack"] else elements)
            if not {"--quantize", "--unpack"} & {*change}:
                same_by_both(once, elements.astype(read(once).dtype))
            memory = least_memory(zarrcast, "--verify", *change, *grid, source, small)
            more = choose.choice([0, 5000, 20_000, 40_000])
            limited = ["--verify", *change, *grid, "--max-memory", memory + more, "--threads", choose.choice([1, 2, 5])]
            node = zarrcast.transcode(*limited, source, small)
            staged += node["passes"] == 2
            assert node["verify"]["equal"] and node["memory_bytes"] <= memory + more, node
            same_files(small, once)
    with tally.case("combined", "how many"):
        assert staged >= CASES // 8, f"only {staged} cases took two passes"


SECTIONS = [combined]
