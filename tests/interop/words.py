"""Text and bytes of any length, and other v2 object arrays: compressed anew, in other chunks, in the other format."""

import json

import numcodecs
import numpy as np
import zarr

WORDS = np.array(["né " * (number % 4) + str(number) * (number % 3) for number in range(60)], dtype=object)
CHANGES = {
    "zstd": ["--compress", "zstd:1"],
    "none": ["--compress", "none"],
    "filled": ["--fill-value", '"other"'],
    "blosc": ["--compress", "blosc:lz4:5:shuffle"],
    "rechunked": ["--chunk-shape", "7,3", "--compress", "gzip:1"],
    "one chunk": ["--chunk-shape", "0,0"],
}
FEW = {name: CHANGES[name] for name in ("zstd", "filled")}
GZIP = {"compressors": [{"name": "gzip", "configuration": {"level": 1}}]}
SHARDS = {"shards": ["--chunk-shape", "2,3", "--shard-shape", "4,6"], "v2": ["--zarr-format", "2"]}
V3 = {"v3": ["--zarr-format", "3"]}
# The format, options of zarr-python, and changes.
SOURCES = {
    "2": (2, {}, CHANGES | V3),
    "2 F": (2, {"order": "F"}, CHANGES | V3),
    "3": (3, {}, CHANGES | SHARDS),
    "3 gzip": (3, GZIP, FEW | SHARDS),
    "3 sharded": (3, {"shards": (8, 8)}, FEW | V3 | {"out": ["--shard-shape", "none"]}),
}


def words(path):
    return np.asarray(zarr.open_array(path, mode="r")[...], dtype=object).tolist()


def text_of_zarr_python(tally, zarrcast, folder):
    """Text that zarr-python wrote comes back from every change. Some chunks are not stored."""
    for name, (zarr_format, options, changes) in SOURCES.items():
        source, given = folder / name, {"dtype": str, "zarr_format": zarr_format, "fill_value": "", **options}
        array = zarr.create_array(source, shape=(10, 6), chunks=(4, 4), **given)
        array[:4] = WORDS.reshape(10, 6)[:4]
        array[8:, :4] = WORDS.reshape(10, 6)[8:, :4]
        for change, arguments in changes.items():
            with tally.case("text", name, change) as place:
                zarrcast.ok("transcode", "--verify", *arguments, source, place / "b")
                assert words(place / "b") == words(source), "other elements"
                zarrcast.ok("validate", "--level", "data", "--against", source, place / "b")


def object_arrays_of_numcodecs(tally, zarrcast, _folder):
    """Chunks of every object codec hold the same bytes under another compressor."""
    lists = np.empty(60, dtype=object)
    lists[:] = [np.arange(number % 4, dtype="i4") for number in range(60)]
    codecs = {
        "vlen-utf8": (numcodecs.VLenUTF8(), WORDS),
        "vlen-bytes": (numcodecs.VLenBytes(), np.array([word.encode() for word in WORDS], dtype=object)),
        "vlen-array": (numcodecs.VLenArray("<i4"), lists),
        "json2": (numcodecs.JSON(), WORDS),
        "pickle": (numcodecs.Pickle(), WORDS),
        "categorize": (numcodecs.Categorize(["a", "b"], dtype=object), np.array(["a", "b"] * 30, dtype=object)),
    }
    blosc = numcodecs.Blosc("lz4")
    for name, (codec, values) in codecs.items():
        with tally.case("objects", name) as folder:
            (folder / "a").mkdir()
            document = {"zarr_format": 2, "shape": [60], "chunks": [20], "dtype": "|O", "fill_value": None, "order": "C"}
            document |= json.loads(json.dumps({"filters": [codec.get_config()], "compressor": blosc.get_config()}))
            (folder / "a/.zarray").write_text(json.dumps(document))
            pieces = [codec.encode(values[first : first + 20]) for first in (0, 20, 40)]
            encoded = [bytes(memoryview(np.ascontiguousarray(piece))) for piece in pieces]
            for number, chunk in enumerate(encoded):
                (folder / "a" / str(number)).write_bytes(blosc.encode(chunk))
            zarrcast.ok("transcode", "--verify", "--compress", "zstd:3", folder / "a", folder / "b")
            written = json.loads((folder / "b/.zarray").read_text())
            assert written["filters"] == document["filters"] and written["compressor"]["id"] == "zstd", written
            for number, chunk in enumerate(encoded):
                found = numcodecs.get_codec(written["compressor"]).decode((folder / "b" / str(number)).read_bytes())
                assert bytes(found) == chunk, f"chunk {number} differs"


SECTIONS = [text_of_zarr_python, object_arrays_of_numcodecs]
