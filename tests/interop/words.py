"""Text and bytes of any length, and whatever else v2 object arrays hold: compressed anew, in other chunks, in the other format."""

import importlib.util
import json
import warnings

import numcodecs
import numpy as np
import zarr

WORDS = np.array(["né " * (number % 4) + str(number) * (number % 3) for number in range(60)], dtype=object)
CHANGES = {
    "zstd": ["--compress", "zstd:1"],
    "blosc": ["--compress", "blosc:lz4:5:shuffle"],
    "none": ["--compress", "none"],
    "rechunked": ["--chunk-shape", "7,3", "--compress", "gzip:1"],
    "one chunk": ["--chunk-shape", "0,0"],
    "filled": ["--fill-value", '"other"'],
}
SHARDED = {"shards": ["--chunk-shape", "2,3", "--shard-shape", "4,6"], "in another format": ["--zarr-format", "2"]}


def write(path, zarr_format, **options):
    """An array of 10 x 6 words in chunks of 4 x 4, some of them not stored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = zarr.create_array(path, shape=(10, 6), chunks=(4, 4), dtype=str, zarr_format=zarr_format, fill_value="", **options)
        array[:4] = WORDS.reshape(10, 6)[:4]
        array[8:, :4] = WORDS.reshape(10, 6)[8:, :4]
    return array


def words(path):
    """The words of an array as a list."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(zarr.open_array(path, mode="r")[...], dtype=object).tolist()


def text_of_zarr_python(tally, zarrcast, folder):
    """Text that zarr-python wrote comes back from every change."""
    gzip = {"compressors": [{"name": "gzip", "configuration": {"level": 1}}]}
    sources = {"2": (2, {}), "2 F": (2, {"order": "F"}), "3": (3, {}), "3 gzip": (3, gzip), "3 sharded": (3, {"shards": (8, 8)})}
    for name, (zarr_format, options) in sources.items():
        source = folder / name
        expected = write(source, zarr_format, **options)[...].tolist()
        sharded = SHARDED if zarr_format == 3 and "sharded" not in name else {"in the other format": ["--zarr-format", "3"]}
        changes = CHANGES if "sharded" not in name else {key: CHANGES[key] for key in ("zstd", "none", "filled")} | {"out": ["--shard-shape", "none"]}
        for change, arguments in (changes | sharded).items():
            with tally.case("text", name, change):
                destination = folder / f"{name} {change}"
                zarrcast.ok("transcode", "--verify", *arguments, source, destination)
                assert words(destination) == expected, "other elements"
                zarrcast.ok("validate", "--level", "data", "--against", source, destination)


def object_arrays_of_numcodecs(tally, zarrcast, folder):
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
    if importlib.util.find_spec("msgpack"):
        codecs["msgpack2"] = (numcodecs.msgpacks.MsgPack(), WORDS)
    blosc = numcodecs.Blosc("lz4")
    for name, (codec, values) in codecs.items():
        with tally.case("objects", name):
            source = folder / name
            source.mkdir()
            document = {"zarr_format": 2, "shape": [60], "chunks": [20], "dtype": "|O", "fill_value": None, "order": "C"}
            document |= json.loads(json.dumps({"filters": [codec.get_config()], "compressor": blosc.get_config()}))
            (source / ".zarray").write_text(json.dumps(document))
            encoded = [bytes(memoryview(np.ascontiguousarray(codec.encode(values[first : first + 20])))) for first in (0, 20, 40)]
            for number, chunk in enumerate(encoded):
                (source / str(number)).write_bytes(blosc.encode(chunk))
            zarrcast.ok("transcode", "--verify", "--compress", "zstd:3", source, folder / f"{name} zstd")
            written = json.loads((folder / f"{name} zstd" / ".zarray").read_text())
            assert written["filters"] == document["filters"] and written["compressor"]["id"] == "zstd", written
            for number, chunk in enumerate(encoded):
                found = numcodecs.get_codec(written["compressor"]).decode((folder / f"{name} zstd" / str(number)).read_bytes())
                assert bytes(found) == chunk, f"chunk {number} differs"


def datasets_with_words(tally, zarrcast, folder):
    """xarray finds the same in trees with text coordinates, whatever is done to them."""
    import xarray

    data = xarray.Dataset(
        {"t": (("station", "day"), np.arange(60.0).reshape(10, 6)), "note": (("station", "day"), WORDS.reshape(10, 6))},
        {"station": [f"stätion {number}" for number in range(10)], "day": np.arange(6)},
    )
    for zarr_format in (2, 3):
        source = folder / str(zarr_format)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            encoding = {name: {"chunks": (4, 6)} for name in ("t", "note")}
            data.to_zarr(source, zarr_format=zarr_format, consolidated=True, encoding=encoding)
        changes = {
            "zstd": ["--compress", "zstd:1"],
            "rechunked": ["--chunk-shape", "station=3"],
            "other format": ["--zarr-format", str(5 - zarr_format)],
            "quantised": ["--quantize", "uint16", "--include", "t"],
        }
        for change, arguments in changes.items():
            with tally.case("dataset", zarr_format, change):
                if change == "quantised" and zarr_format == 2:
                    arguments = [*arguments, "--as", "cf"]
                destination = folder / f"{zarr_format} {change}"
                zarrcast.ok("transcode", *arguments, source, destination)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    expected, found = (xarray.open_zarr(path, chunks=None).load() for path in (source, destination))
                if change == "quantised":
                    assert expected.note.equals(found.note) and expected.station.equals(found.station), "words differ"
                else:
                    xarray.testing.assert_identical(expected, found)


SECTIONS = [text_of_zarr_python, object_arrays_of_numcodecs]
WITH_XARRAY = [datasets_with_words]
