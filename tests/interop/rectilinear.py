"""The rectilinear chunk grid: random grids by zarr-python, every command over them, the results judged by zarr-python.

The grid is behind a switch of zarr-python.
"""

from itertools import product

import numpy as np
import zarr
from arrays import lengths, metadata, read
from program import files
from zarr.codecs import GzipCodec, ZstdCodec

CASES = 40
TYPES = ["uint8", "int16", ">i4", "float32", "float64", "bool"]


def random_edges(rng, length, unit):
    """Chunk lengths that are multiples of `unit` and add up to `length`."""
    edges = []
    left = length // unit
    while left > 0:
        edge = int(rng.integers(1, left + 1)) if rng.random() < 0.7 else 1
        edges.append(edge * unit)
        left -= edge
    return edges


def random_values(rng, dtype, shape):
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if np.dtype(dtype).kind == "f":
        return rng.normal(size=shape).astype(dtype)
    return rng.integers(0, 100, size=shape).astype(dtype)


def random_array(rng, path):
    """An array of a rectilinear grid, perhaps in shards or in part absent; its values, and whether it is sharded."""
    rank = int(rng.integers(1, 4))
    is_sharded = rng.random() < 0.4
    inner = [int(rng.integers(1, 4)) for _ in range(rank)]
    units = inner if is_sharded else [1] * rank
    shape = tuple(int(rng.integers(1, 9)) * unit for unit in units)
    edges = [random_edges(rng, length, unit) for length, unit in zip(shape, units)]
    dtype = TYPES[int(rng.integers(len(TYPES)))]
    fill = np.dtype(dtype).type(rng.integers(2))
    compressors = [None, ZstdCodec(level=1), GzipCodec(level=1)][int(rng.integers(3))]
    options = {"chunks": tuple(inner), "shards": edges} if is_sharded else {"chunks": edges}
    if rng.random() < 0.3:
        options["chunk_key_encoding"] = {"name": "default", "separator": "."}
    array = zarr.create_array(path, shape=shape, dtype=dtype, fill_value=fill, compressors=compressors, **options)
    values = random_values(rng, dtype, shape)
    if rng.random() < 0.4:
        # Only a part is stored; the rest is the fill value.
        part = tuple(slice(0, int(rng.integers(1, length + 1))) for length in shape)
        stored = np.full(shape, fill, dtype=dtype)
        stored[part] = values[part]
        values = stored
    array[...] = values
    if rng.random() < 0.3:
        # Chunks that reach beyond the array, some wholly: their lengths stay when the array is cut.
        shape = tuple(int(rng.integers(1, length + 1)) for length in shape)
        array.resize(shape)
        values = values[tuple(slice(0, length) for length in shape)]
    return array, values, is_sharded


def check_values(path, values):
    found = read(path)
    assert found.shape == values.shape, (found.shape, values.shape)
    assert np.array_equal(found.astype(values.dtype), values), "other values"


def commands(rng, values, is_sharded):
    """Options of `transcode`, and what they change: nothing, the codecs, the grid, or the values."""
    regular = lengths([int(rng.integers(1, length + 1)) for length in values.shape])
    ones = lengths([1] * values.ndim)
    yield [], "nothing"
    yield ["--compress", "zstd:3"], "codecs"
    yield ["--compress", "none", "--verify"], "codecs"
    yield ["--codecs", '[{"name":"bytes","configuration":{"endian":"big"}},{"name":"crc32c"}]', "--verify"], "codecs"
    if is_sharded:
        yield ["--shard-shape", "none", "--verify"], "grid"
        yield ["--chunk-shape", regular, "--shard-shape", regular, "--verify"], "grid"
    else:
        yield ["--chunk-shape", regular, "--verify"], "grid"
        yield ["--chunk-shape", ones, "--shard-shape", regular, "--verify"], "grid"
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
        assert np.isclose(stats["mean"], values.mean(), rtol=1e-5, atol=1e-5), (stats["mean"], values.mean())
    zarrcast.ok("validate", "--level", "data", source)
    for number, (options, change) in enumerate(commands(rng, values, is_sharded)):
        destination = folder / f"{number}"
        report = zarrcast.transcode(source, destination, *options)
        found = metadata(destination)["chunk_grid"]
        assert (found["name"] == "regular") if change == "grid" else (found == grid), (options, found)
        if change == "values":
            bound = report["quantization"]["max_abs_error"]
            difference = np.abs(read(destination).astype("float64") - values)
            assert np.all(difference <= bound * (1 + 1e-9)), (difference.max(), bound)
            continue
        check_values(destination, values)
        zarrcast.ok("validate", "--level", "data", destination)
        zarrcast.ok("validate", destination, "--against", source)
        # A copy has every chunk of the array byte for byte, and no chunk that lies wholly beyond it.
        assert change != "nothing" or files(destination).items() <= files(source).items(), "other chunks"


def rectilinear_grids(tally, zarrcast, _folder):
    """Random grids through every command."""
    zarr.config.set({"array.rectilinear_chunks": True})
    for number in range(CASES):
        with tally.case("rectilinear", number) as folder:
            check_commands(zarrcast, np.random.default_rng(number), folder)


def write_3_and_7(path, **options):
    """Two chunks, of 3 and of 7 elements."""
    zarr.config.set({"array.rectilinear_chunks": True})
    zarr.create_array(path, shape=(10,), chunks=[[3, 7]], dtype="int32", fill_value=0, **options)[...] = np.arange(1, 11)
    return path


def truncated_chunks(tally, zarrcast, _folder):
    """A chunk that is too short for its own shape is found, whatever the shape of others."""
    for compressors, level in product([None, ZstdCodec()], ["keys", "data"]):
        with tally.case("truncated", compressors, level) as folder:
            source = write_3_and_7(folder / "a", compressors=compressors)
            # The larger chunk now is as long as the smaller one.
            (source / "c/1").write_bytes((source / "c/0").read_bytes())
            is_found = compressors is None or level == "data"
            zarrcast.run("validate", "--level", level, source, expected=[int(is_found)])


def refused(tally, zarrcast, _folder):
    """A change that a rectilinear grid does not allow is refused with a message that says so."""
    for options, said in (["--zarr-format", "2"], "several shapes"), (["--shard-shape", "4"], "--chunk-shape"):
        with tally.case("refused", *options) as folder:
            message = zarrcast.status(1, "transcode", write_3_and_7(folder / "a"), folder / "b", *options)
            assert said in message, message
    with tally.case("to v2 by way of a regular grid") as folder:
        zarrcast.ok("transcode", write_3_and_7(folder / "a"), folder / "b", "--zarr-format", "2", "--chunk-shape", "4", "--verify")
        check_values(folder / "b", np.arange(1, 11, dtype="int32"))


SECTIONS = [rectilinear_grids, truncated_chunks, refused]
