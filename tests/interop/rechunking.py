"""Other chunks and shards: what zarr-python and tensorstore read is what was there."""

import random

import numpy as np
import zarr
from arrays import same_bits
from readers import as_text, same_by_both
from zarr.codecs import BytesCodec, TransposeCodec, ZstdCodec

CASES = 60
LARGE_CASES = 130
COMBINED_CASES = 130
MOST_ELEMENTS = 30_000
FILL_VALUES = {"float32": float("nan"), "float64": 1.5, "int16": -3, "uint8": 0}


def lengths(choose, rank, most):
    """A length for each dimension."""
    return tuple(choose.randint(1, most) for _ in range(rank))


def text(shape):
    """A shape as an option has it."""
    return ",".join(map(str, shape)) or "scalar"


def small_shape(choose, rank):
    """The shape of a small array; some have no elements."""
    return tuple(choose.choice([0, 1, *range(2, 24 // rank + 4)]) for _ in range(rank)) if rank else ()


def written(choose, generator, path, chunks, shards, shape, names=tuple(FILL_VALUES)):
    """An array of random values with ragged edges, chunks that are absent, and any order; and its elements."""
    rank = len(chunks)
    name = choose.choice(names)
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
        # A corner and a slab of the array hold the fill value: chunks there are not stored.
        elements[tuple(slice(choose.randint(0, length), None) for length in shape)] = FILL_VALUES[name]
        axis = choose.randrange(rank)
        start = choose.randint(0, shape[axis])
        elements[(slice(None),) * axis + (slice(start, start + choose.randint(0, shape[axis])),)] = FILL_VALUES[name]
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
        expected = written(choose, generator, source, chunks, shards, small_shape(choose, rank))
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


def objects(path):
    """Every file of an array by its relative path."""
    return {p.relative_to(path): p.read_bytes() for p in path.rglob("*") if p.is_file()}


def least(zarrcast, *arguments):
    """The least memory that will do, as the refusal names it."""
    refusal = zarrcast.run("transcode", "--dry-run", "--max-memory", "1", *arguments).stderr
    return int(refusal.split("`--max-memory ")[1].split("`")[0])


def transposing(choose, rank):
    """Chunks that are long along some dimensions, others that are long along the others, and the shape of an array."""
    long = [choose.random() < 0.5 for _ in range(rank)]
    long[0] = not long[-1]
    side = int(MOST_ELEMENTS ** (1 / rank))
    shape = tuple(choose.randint(max(side // 2, 1), side) for _ in range(rank))
    chunks = tuple(length - choose.choice([0, 0, length // 3]) if is_long else choose.randint(1, 2) for length, is_long in zip(shape, long))
    other = tuple(choose.randint(1, 2) if is_long else length - choose.choice([0, 0, length // 3]) for length, is_long in zip(shape, long))
    return shape, chunks, other


def sharded(choose, chunks):
    """Shards of some chunks, or none."""
    return tuple(length * choose.randint(1, 2) for length in chunks) if choose.random() < 0.4 else None


def two_passes(tally, zarrcast, folder):
    """Transposing grids in one pass and, with little memory, in two: what is written is the same."""
    choose, generator = random.Random(2), np.random.default_rng(2)
    staged = 0
    for number in range(LARGE_CASES):
        shape, chunks, other = transposing(choose, choose.choice([2, 2, 3, 3, 4, 8]))
        around = sharded(choose, other)
        source, one, two = (folder / f"{number}-{name}.zarr" for name in ("source", "one", "two"))
        expected = written(choose, generator, source, chunks, sharded(choose, chunks), shape)
        grid = ["-c", text(other), "-s", text(around) if around else "none"]
        grid += choose.choice([[], ["--write-empty-chunks"], ["--verify"], ["--verify"]])
        with tally.case("two_passes", number, shape, chunks, *grid):
            zarrcast.ok("transcode", *grid, source, one)
            array = zarr.open_array(one, mode="r")
            assert (array.chunks, array.shards) == (other, around), f"{array.chunks}, {array.shards}"
            same_bits(np.asarray(array[...]), expected)
            same_by_both(one, expected)
            memory = least(zarrcast, *grid, source, two)
            for more in (choose.randint(0, 4000), 20_000, 40_000, 80_000, 160_000):
                limited = [*grid, "--max-memory", memory + more, "--threads", choose.choice([1, 2, 5])]
                if zarrcast.json("transcode", "--dry-run", *limited, source, two)["nodes"][0]["passes"] == 2:
                    break
            node = zarrcast.json("transcode", *limited, source, two)["nodes"][0]
            staged += node["passes"] == 2
            assert node["memory_bytes"] <= memory + more, f"{node['memory_bytes']} bytes of memory"
            assert objects(one) == objects(two), "the result depends on memory"
    with tally.case("two_passes", "how many"):
        assert staged >= LARGE_CASES * 2 // 3, f"only {staged} cases took two passes"


def changes(choose, name, rank):
    """Options that change what chunks hold, for an array of a type."""
    floats = name in ("float32", "float64")
    number = choose.choice(["3", "0", "17"])
    options = [
        ["--compress", choose.choice(["zstd:1", "gzip:1", "blosc:lz4:5:shuffle", "none"])],
        ["--fill-value", number],
        ["--codecs", as_text(chain(choose, name, rank)), "--fill-value", number],
    ]
    if floats:
        codes = choose.choice(["uint8", "uint16", "int16"])
        # The entry for zarr-python 3.4 depends on whether there are shards, which the two ways have at different times.
        options += [["--quantize", codes, "--no-workarounds", *choose.choice([[], ["--as", "cf"], ["--as", "plain"], ["--compress", "zstd:1"]])]] * 3
    wider = {"uint8": "int32", "int16": "float32", "float32": "float64"}.get(name)
    if wider:
        options.append(["--data-type", wider, *choose.choice([[], ["--fill-value", number], ["--compress", "zstd:1"]])])
    return choose.choice(options)


def chain(choose, name, rank):
    """A codec chain with a transpose and a compressor, or without."""
    permute = {"name": "transpose", "configuration": {"order": choose.sample(range(rank), rank)}}
    little = {"name": "bytes", "configuration": {"endian": "little"}} if name != "uint8" else {"name": "bytes"}
    compressor = {"name": "gzip", "configuration": {"level": 1}}
    return [*([permute] if rank > 1 else []), little, *choose.choice([[], [compressor]])]


def combined(tally, zarrcast, folder):
    """Changes of values, types, fill values and codecs together with another grid: as if made one after the other."""
    choose, generator = random.Random(3), np.random.default_rng(3)
    staged = 0
    for number in range(COMBINED_CASES):
        rank = choose.choice([0, 1, 2, 3, 3, 8])
        if rank < 2 or choose.random() < 0.3:
            shape, chunks, other = small_shape(choose, rank), lengths(choose, rank, 6), lengths(choose, rank, 9)
        else:
            shape, chunks, other = transposing(choose, rank)
        source, changed, after, once, small = (
            folder / f"{number}-{name}.zarr" for name in ("source", "changed", "after", "once", "small")
        )
        elements = written(choose, generator, source, chunks, sharded(choose, chunks) if rank else None, shape)
        name = elements.dtype.name
        change = changes(choose, name, rank)
        around = sharded(choose, other) if rank else None
        grid = ["-c", text(other), "-s", text(around) if around else "none"]
        if choose.random() < 0.2 and "--quantize" in change and "cf" in change:
            # What is packed is unpacked while it is rechunked.
            packed = folder / f"{number}-packed.zarr"
            zarrcast.ok("transcode", *change, source, packed)
            source, change = packed, ["--unpack"]
        with tally.case("combined", number, shape, chunks, name, *change, *grid):
            zarrcast.ok("transcode", *change, source, changed)
            zarrcast.ok("transcode", *grid, changed, after)
            zarrcast.ok("transcode", "--verify", *change, *grid, source, once)
            same_objects(objects(once), objects(after))
            if not {"--quantize", "--unpack"} & {*change}:
                same_by_both(once, elements.astype(zarr.open_array(once, mode="r").dtype))
            memory = least(zarrcast, "--verify", *change, *grid, source, small)
            limited = ["--verify", *change, *grid, "--max-memory", memory + choose.choice([0, 5000, 30_000, 60_000])]
            node = zarrcast.json("transcode", *limited, source, small)["nodes"][0]
            staged += node["passes"] == 2
            assert node["verify"]["equal"]
            same_objects(objects(small), objects(once))
    with tally.case("combined", "how many"):
        assert staged >= COMBINED_CASES // 6, f"only {staged} cases took two passes"


def same_objects(found, expected):
    """Fail unless two arrays have the same files."""
    differing = sorted(str(key) for key in found.keys() | expected.keys() if found.get(key) != expected.get(key))
    assert not differing, f"{len(differing)} objects differ, the first {differing[0]}"
