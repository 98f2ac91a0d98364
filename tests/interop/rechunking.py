"""Other chunks and shards: what zarr-python and tensorstore read is what was there."""

import random

import numpy as np
import zarr
from arrays import same_bits
from readers import same_by_both
from zarr.codecs import BytesCodec, TransposeCodec, ZstdCodec

CASES = 60
FILL_VALUES = {"float32": float("nan"), "float64": 1.5, "int16": -3, "uint8": 0}


def lengths(choose, rank, most):
    """A length for each dimension."""
    return tuple(choose.randint(1, most) for _ in range(rank))


def text(shape):
    """A shape as an option has it."""
    return ",".join(map(str, shape)) or "scalar"


def written(choose, generator, path, chunks, shards):
    """An array of random values with ragged edges, chunks that are absent, and any order; and its elements."""
    rank = len(chunks)
    shape = tuple(choose.choice([0, 1, *range(2, 24 // rank + 4)]) for _ in chunks) if rank else ()
    name = choose.choice(list(FILL_VALUES))
    order = choose.sample(range(rank), rank)
    array = zarr.create_array(
        path,
        shape=shape,
        chunks=chunks,
        shards=shards,
        dtype=name,
        fill_value=FILL_VALUES[name],
        filters=[TransposeCodec(order=order)] if rank > 1 and choose.random() < 0.4 else None,
        serializer=BytesCodec(endian=choose.choice(["little", "big"]) if name != "uint8" else None),
        compressors=choose.choice([None, [ZstdCodec(level=1)]]),
    )
    elements = np.asarray(generator.random(shape) * 100).astype(name)
    if rank and elements.size:
        elements[tuple(slice(choose.randint(0, length), None) for length in shape)] = FILL_VALUES[name]
    array[...] = elements
    return elements


def options(choose, rank, chunks, shards):
    """Options that give another grid, and the chunk and shard shapes that must come of them."""
    other = lengths(choose, rank, 9)
    around = tuple(length * choose.randint(1, 3) for length in other)
    if choose.random() < 0.4:
        return ["--shard-shape", "none", "-c", text(other)], other, None
    if choose.random() < 0.5:
        return ["-c", text(other), "-s", text(around)], other, around
    around = tuple(length * choose.randint(1, 3) for length in chunks)
    return ["-s", text(around)], chunks, around


def grids(tally, zarrcast, folder):
    """`--chunk-shape`, `--shard-shape`: any grid to any other, any number of threads, the least memory that will do."""
    choose, generator = random.Random(1), np.random.default_rng(1)
    for number in range(CASES):
        rank = choose.choice([0, 1, 2, 3, 4])
        chunks = lengths(choose, rank, 6)
        shards = tuple(length * choose.randint(1, 3) for length in chunks) if rank and choose.random() < 0.5 else None
        source = folder / f"{number}.zarr"
        expected = written(choose, generator, source, chunks, shards)
        grid, inner, outer = options(choose, rank, chunks, shards)
        if rank == 0:
            grid, inner, outer = ["-c", "scalar"], (), None
        with tally.case("grids", number, expected.shape, chunks, shards, *grid):
            refusal = zarrcast.run("transcode", "--dry-run", "--verify", "--max-memory", "1", *grid, source, folder / "none").stderr
            least = ["--max-memory", refusal.split("`--max-memory ")[1].split("`")[0]]
            found = []
            for threads, memory in ((1, []), (3, []), (2, least)):
                destination = folder / f"{number}-{len(found)}.zarr"
                zarrcast.ok("transcode", "--verify", "--threads", threads, *memory, *grid, source, destination)
                found.append({p.relative_to(destination): p.read_bytes() for p in destination.rglob("*") if p.is_file()})
            assert found[0] == found[1] == found[2], "the result depends on threads or memory"
            array = zarr.open_array(destination, mode="r")
            assert (array.chunks, array.shards) == (inner, outer), f"{array.chunks}, {array.shards}"
            same_bits(np.asarray(array[...]), expected)
            same_by_both(destination, expected)
