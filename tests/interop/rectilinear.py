"""The rectilinear chunk grid, which zarr-python has to enable: random grids through every command, and back."""

import numpy as np
import zarr
from arrays import lengths, metadata, read
from program import files
from zarr.codecs import GzipCodec, ZstdCodec

CASES = 40
TYPES = ["uint8", "int16", ">i4", "float32", "float64", "bool"]


def random_edges(rng, length, unit):
    edges, left = [], length // unit
    while left > 0:
        edge = int(rng.integers(1, left + 1)) if rng.random() < 0.7 else 1
        edges.append(edge * unit)
        left -= edge
    return edges


def random_array(rng, path):
    """Returns an array, sometimes in shards or with missing chunks, its values, and whether it is sharded."""
    rank, is_sharded = int(rng.integers(1, 4)), rng.random() < 0.4
    inner = [int(rng.integers(1, 4)) for _ in range(rank)]
    units = inner if is_sharded else [1] * rank
    shape = tuple(int(rng.integers(1, 9)) * unit for unit in units)
    edges = [random_edges(rng, length, unit) for length, unit in zip(shape, units)]
    dtype = TYPES[int(rng.integers(len(TYPES)))]
    fill = np.dtype(dtype).type(rng.integers(2))
    options = {"chunks": tuple(inner), "shards": edges} if is_sharded else {"chunks": edges}
    options["compressors"] = [None, ZstdCodec(level=1), GzipCodec(level=1)][int(rng.integers(3))]
    if rng.random() < 0.3:
        options["chunk_key_encoding"] = {"name": "default", "separator": "."}
    array = zarr.create_array(path, shape=shape, dtype=dtype, fill_value=fill, **options)
    drawn = rng.normal(size=shape) if np.dtype(dtype).kind == "f" else rng.integers(0, 2 if dtype == "bool" else 100, shape)
    values = drawn.astype(dtype)
    if rng.random() < 0.4:
        # Only a part is stored. The rest is the fill value.
        part = tuple(slice(0, int(rng.integers(1, length + 1))) for length in shape)
        stored = np.full(shape, fill, dtype=dtype)
        stored[part] = values[part]
        values = stored
    array[...] = values
    if rng.random() < 0.3:
        # Chunks that are partly or wholly outside the array. Their lengths stay when the array is cut.
        shape = tuple(int(rng.integers(1, length + 1)) for length in shape)
        array.resize(shape)
        values = values[tuple(slice(0, length) for length in shape)]
    return array, values, is_sharded


def commands(rng, values, is_sharded):
    """Yields options of `transcode`, and what they change: nothing, the codecs, the grid, or the values."""
    regular = lengths([int(rng.integers(1, length + 1)) for length in values.shape])
    yield [], "nothing"
    yield ["--compress", "none", "--verify"], "codecs"
    chain = '[{"name":"bytes","configuration":{"endian":"big"}},{"name":"crc32c"}]'
    yield ["--codecs", chain, "--verify"], "codecs"
    if is_sharded:
        yield ["--shard-shape", "none", "--verify"], "grid"
        yield ["--chunk-shape", regular, "--shard-shape", regular, "--verify"], "grid"
    else:
        yield ["--chunk-shape", regular, "--verify"], "grid"
        yield ["--chunk-shape", lengths([1] * values.ndim), "--shard-shape", regular, "--verify"], "grid"
        yield ["--chunk-shape", regular, "--zarr-format", "2", "--verify"], "format"
    if values.dtype != bool:
        yield ["--data-type", "float64", "--verify"], "codecs"
    if values.dtype.kind == "f":
        yield ["--quantize", "uint16", "--range", "-10,10", "--verify"], "values"


def check_commands(zarrcast, rng, folder):
    source = folder / "source"
    array, values, is_sharded = random_array(rng, source)
    shown = zarrcast.json("inspect", source, *(["--stats"] if values.dtype.kind in "iuf" else []))
    grid = metadata(source)["chunk_grid"]
    assert shown["chunk_grid"] == grid, shown["chunk_grid"]
    if not is_sharded:
        assert grid["name"] != "rectilinear" or shown["chunk_shape"] is None, shown["chunk_shape"]
        assert shown["storage"]["chunks"] == np.prod([len(sizes) for sizes in array.read_chunk_sizes]), shown["storage"]
    if stats := shown["stats"]:
        assert np.isclose(stats["min"], values.min()) and np.isclose(stats["max"], values.max())
    zarrcast.ok("validate", "--level", "data", source)
    for number, (options, change) in enumerate(commands(rng, values, is_sharded)):
        destination = folder / f"{number}"
        report = zarrcast.transcode(source, destination, *options)
        found = read(destination)
        if change != "format":
            new = metadata(destination)["chunk_grid"]
            assert (new["name"] == "regular") if change == "grid" else (new == grid), (options, new)
        if change == "values":
            bound = report["quantization"]["max_abs_error"]
            assert np.all(np.abs(found.astype("float64") - values) <= bound * (1 + 1e-9)), bound
            continue
        assert found.shape == values.shape and np.array_equal(found.astype(values.dtype), values), "other values"
        zarrcast.ok("validate", "--level", "data", destination, "--against", source)
        # A copy has every chunk of the array byte for byte, and no chunk that is wholly outside the array.
        assert change != "nothing" or files(destination).items() <= files(source).items(), "other chunks"


def rectilinear_grids(tally, zarrcast, _folder):
    zarr.config.set({"array.rectilinear_chunks": True})
    for number in range(CASES):
        with tally.case("rectilinear", number) as folder:
            check_commands(zarrcast, np.random.default_rng(number), folder)


SECTIONS = [rectilinear_grids]
