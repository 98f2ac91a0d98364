"""The rectilinear chunk grid: random grids by zarr-python, every command over them, the results judged by zarr-python.

Environment: that of `interop_new.py`; the grid is behind a switch of zarr-python.
"""

import itertools
import json

import numpy as np
import zarr

CASES = 40
TYPES = ["uint8", "int16", ">i4", "float32", "float64", "bool"]


def random_edges(rng, length, unit=1):
    """Chunk lengths that are multiples of `unit` and add up to `length`, which is one, too."""
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


def random_array(rng, folder):
    """An array of a rectilinear grid, perhaps in shards, of which a part may be absent, and its values."""
    rank = int(rng.integers(1, 4))
    is_sharded = rng.random() < 0.4
    inner = [int(rng.integers(1, 4)) for _ in range(rank)]
    units = inner if is_sharded else [1] * rank
    shape = tuple(int(rng.integers(1, 9)) * unit for unit in units)
    edges = [random_edges(rng, length, unit) for length, unit in zip(shape, units)]
    dtype = TYPES[int(rng.integers(len(TYPES)))]
    fill = [0, 1][int(rng.integers(2))]
    compressors = [None, zarr.codecs.ZstdCodec(level=1), zarr.codecs.GzipCodec(level=1)][int(rng.integers(3))]
    options = {"chunks": tuple(inner), "shards": edges} if is_sharded else {"chunks": edges}
    if rng.random() < 0.3:
        options["chunk_key_encoding"] = {"name": "default", "separator": "."}
    array = zarr.create_array(
        folder, shape=shape, dtype=dtype, fill_value=bool(fill) if dtype == "bool" else fill, compressors=compressors, **options
    )
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
    return array, values, edges, is_sharded


def read(folder):
    return zarr.open_array(str(folder), mode="r")


def check_values(folder, values):
    found = read(folder)[...]
    assert found.shape == values.shape, (found.shape, values.shape)
    assert np.array_equal(found.astype(values.dtype), values), "other values"


def num_chunks(array):
    return int(np.prod([len(sizes) for sizes in array.read_chunk_sizes]))


def commands(rng, values, is_sharded):
    """Options of `transcode` with what becomes of the values."""
    regular = ",".join(str(int(rng.integers(1, length + 1))) for length in values.shape)
    yield [], "copy"
    yield ["--compress", "zstd:3"], "same"
    yield ["--compress", "none", "--verify"], "same"
    yield ["--codecs", '[{"name":"bytes","configuration":{"endian":"big"}},{"name":"crc32c"}]', "--verify"], "same"
    if is_sharded:
        yield ["--shard-shape", "none", "--verify"], "regular"
        yield ["--chunk-shape", regular, "--shard-shape", regular, "--verify"], "regular"
    else:
        yield ["--chunk-shape", regular, "--verify"], "regular"
        yield ["--chunk-shape", ",".join("1" for _ in values.shape), "--shard-shape", regular, "--verify"], "regular"
    if values.dtype != bool:
        yield ["--data-type", "float64", "--verify"], "same"
    if values.dtype.kind == "f":
        yield ["--quantize", "uint16", "--range", "-10,10", "--verify"], "near"


def check_commands(zarrcast, rng, source, folder):
    array, values, _, is_sharded = random_array(rng, str(source))
    shown = zarrcast.json("inspect", source, *(["--stats"] if values.dtype.kind in "iuf" else []))
    document = json.loads((source / "zarr.json").read_text())
    assert shown["chunk_grid"] == document["chunk_grid"], shown["chunk_grid"]
    if not is_sharded and document["chunk_grid"]["name"] == "rectilinear":
        assert shown["chunk_shape"] is None, shown["chunk_shape"]
    if not is_sharded:
        assert shown["storage"]["chunks"] == num_chunks(array), (shown["storage"], num_chunks(array))
    if shown["stats"] is not None:
        assert np.isclose(shown["stats"]["min"], values.min()) and np.isclose(shown["stats"]["max"], values.max())
        assert np.isclose(shown["stats"]["mean"], values.mean(), rtol=1e-5, atol=1e-5), (shown["stats"]["mean"], values.mean())
    zarrcast.ok("validate", "--level", "data", source)
    for number, (options, outcome) in enumerate(commands(rng, values, is_sharded)):
        destination = folder / f"{number}"
        report = zarrcast.json("transcode", source, destination, *options)
        grid = json.loads((destination / "zarr.json").read_text())["chunk_grid"]
        assert (grid["name"] == "regular") if outcome == "regular" else (grid == document["chunk_grid"]), (options, grid)
        if outcome == "near":
            bound = report["nodes"][0]["quantization"]["max_abs_error"]
            difference = np.abs(read(destination)[...].astype("float64") - values)
            assert np.all(difference <= bound * (1 + 1e-9)), (difference.max(), bound)
            continue
        check_values(destination, values)
        zarrcast.ok("validate", "--level", "data", destination)
        zarrcast.ok("validate", destination, "--against", source)
        if outcome == "copy":
            same_files(source, destination)


def same_files(source, destination):
    """A copy has every chunk of the array byte for byte, and no chunk that lies wholly beyond it."""
    for path in destination.rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (source / path.relative_to(destination)).read_bytes(), path


def rectilinear_grids(tally, zarrcast, scratch):
    """Random grids through every command."""
    zarr.config.set({"array.rectilinear_chunks": True})
    for number in range(CASES):
        with tally.case("rectilinear", number):
            folder = scratch / str(number)
            folder.mkdir()
            check_commands(zarrcast, np.random.default_rng(number), folder / "source", folder)


def truncated_chunks(tally, zarrcast, scratch):
    """A chunk that is too short for its own shape is found, whatever the shape of others."""
    zarr.config.set({"array.rectilinear_chunks": True})
    for compressors, level in itertools.product([None, zarr.codecs.ZstdCodec()], ["keys", "data"]):
        with tally.case("truncated", compressors, level):
            source = scratch / f"{'plain' if compressors is None else 'zstd'}-{level}"
            array = zarr.create_array(
                str(source), shape=(10,), chunks=[[3, 7]], dtype="int32", compressors=compressors, fill_value=0
            )
            array[...] = np.arange(1, 11)
            # The larger chunk now is as long as the smaller one.
            (source / "c/1").write_bytes((source / "c/0").read_bytes())
            is_found = compressors is None or level == "data"
            found = zarrcast.run("validate", "--level", level, source)
            assert found.returncode == (1 if is_found else 0), found.stdout


def refused(tally, zarrcast, scratch):
    """What a rectilinear grid cannot become is refused with a message that says so."""
    zarr.config.set({"array.rectilinear_chunks": True})
    source = scratch / "source"
    array = zarr.create_array(str(source), shape=(10,), chunks=[[3, 7]], dtype="int32", fill_value=0)
    array[...] = np.arange(1, 11)
    for name, options, said in [
        ("v2", ["--zarr-format", "2"], "several shapes"),
        ("shards", ["--shard-shape", "4"], "--chunk-shape"),
    ]:
        with tally.case("refused", name):
            message = zarrcast.status(1, "transcode", source, scratch / name, *options)
            assert said in message, message
    with tally.case("to v2 by way of a regular grid"):
        zarrcast.ok("transcode", source, scratch / "two", "--zarr-format", "2", "--chunk-shape", "4", "--verify")
        check_values(scratch / "two", np.arange(1, 11, dtype="int32"))


SECTIONS = [rectilinear_grids, truncated_chunks, refused]
