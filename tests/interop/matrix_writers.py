#!/usr/bin/env python3
"""matrix_writers.py WRITER FOLDER: writes the arrays of one writer, and `cells.json` with their expected contents.

An array is at ROW/VARIANT, and ROW is the number of the data type. Every data type is combined with every compressor.
Orders, byte orders and shards are used in turn, so that each type and each compressor has all of them.
"""

import json
import shutil
import sys
import warnings
from pathlib import Path

import numcodecs
import numpy as np
import zarr
from arrays import BIG, LITTLE, codec
from matrix_types import CHUNK, DATA_TYPES, FIRST_ROW, SHAPE, SHARD, SMALL, DataType, digest, values_of

warnings.filterwarnings("ignore")

BLOSC = {"blosc lz4": ("lz4", "shuffle"), "blosc zstd": ("zstd", "bitshuffle"), "blosc blosclz": ("blosclz", "noshuffle"), "blosc lz4hc": ("lz4hc", "shuffle"), "blosc zlib": ("zlib", "shuffle")}
SHUFFLES = ["noshuffle", "shuffle", "bitshuffle"]


def compressors_of_version_2():
    others = {"none": None, "zstd": numcodecs.Zstd(3), "gzip": numcodecs.GZip(5), "zlib": numcodecs.Zlib(5)}
    others |= {"bz2": numcodecs.BZ2(5), "lz4": numcodecs.LZ4(), "lzma": numcodecs.LZMA(preset=1)}
    return others | {name: numcodecs.Blosc(kind, 5, SHUFFLES.index(shuffle)) for name, (kind, shuffle) in BLOSC.items()}


def compressors_of_version_3():
    from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, ZstdCodec
    from zarr.codecs import numcodecs as named

    found = {"none": [], "crc32c": [Crc32cCodec()], "zstd": [ZstdCodec(level=3)]}
    found |= {"zstd crc32c": [ZstdCodec(level=3, checksum=True), Crc32cCodec()], "gzip": [GzipCodec(level=5)]}
    found |= {name: [BloscCodec(cname=cname, clevel=5, shuffle=shuffle)] for name, (cname, shuffle) in BLOSC.items()}
    found |= {"numcodecs zlib": [named.Zlib(level=5)], "numcodecs bz2": [named.BZ2(level=5)]}
    return found | {"numcodecs lz4": [named.LZ4()], "numcodecs lzma": [named.LZMA(preset=1)]}


def layouts(data_type, sharded):
    found = [(order, endian, False) for order in "CF" for endian in data_type.byte_orders]
    return found + [(order, endian, True) for order, endian in zip("CF", (found[0][1], found[-1][1])) if sharded]


def variants(row, data_type, compressors, sharded):
    dealt = layouts(data_type, sharded)
    for number, (name, compressor) in enumerate(compressors.items()):
        layout = order, endian, shards = dealt[(row + number) % len(dealt)]
        words = [name, f"order {order}", *({"<": ["little"], ">": ["big"]}.get(endian, [])), *(["shards"] if shards else [])]
        yield " ".join(words), layout, compressor


def expected_values(values, fill):
    expected = values.copy()
    expected[:FIRST_ROW] = fill
    return expected


class ByZarrPython:
    """Writes arrays of one format. `write` returns the expected elements."""

    def __init__(self, version):
        self.version = version
        self.types = [one for one in DATA_TYPES if version == 3 or one.numpy != "bytes"]
        self.compressors = compressors_of_version_2() if version == 2 else compressors_of_version_3()
        self.sharded = version == 3

    def group(self, path):
        zarr.create_group(path, zarr_format=self.version)

    def write(self, path, data_type, layout, compressor):
        order, endian, shards = layout
        kind = data_type.numpy
        if not isinstance(kind, np.dtype):
            kind = "string" if kind == "string" else "variable_length_bytes"
        options = {"shape": SHAPE, "chunks": CHUNK, "fill_value": data_type.fill, "zarr_format": self.version, "compressors": compressor}
        if self.version == 2:
            options |= {"order": order}
            kind = kind.newbyteorder(endian) if endian == ">" else kind
        else:
            options |= {"shards": SHARD if shards else None}
            options |= {"filters": [zarr.codecs.TransposeCodec(order=(1, 0))]} if order == "F" else {}
            options |= {"serializer": zarr.codecs.BytesCodec(endian="big")} if endian == ">" else {}
        array = zarr.create_array(path, dtype=kind, **options)
        values = values_of(data_type.numpy)
        array[FIRST_ROW:] = values[FIRST_ROW:]
        expected = expected_values(values, data_type.fill)
        if digest(array[...]) != digest(expected):
            raise ValueError("it reads other elements than it wrote")
        return expected


class ByTensorstore:
    def __init__(self, version):
        self.version = version
        self.sharded = version == 3
        plain = [one for one in DATA_TYPES if isinstance(one.numpy, np.dtype) and one.numpy.kind in "biufc"]
        small = [DataType(name, name, [name], 1, [1, 1.0]) for name in SMALL]
        # In v2 the fill value of float4_e2m1fn has a special form.
        self.types = plain + [one for one in small if version == 3 or one.title != "float4_e2m1fn"]
        self.compressors = dict(self.of_version_2()) if version == 2 else self.of_version_3()

    @staticmethod
    def of_version_2():
        for name, compressor in compressors_of_version_2().items():
            if name not in ("gzip", "lz4", "lzma"):
                members = compressor and compressor.get_config()
                yield name, members and {key: value for key, value in members.items() if key != "checksum"}

    @staticmethod
    def of_version_3():
        found = {"none": [], "crc32c": [codec("crc32c")], "zstd": [codec("zstd", level=3)]}
        found |= {"gzip crc32c": [codec("gzip", level=5), codec("crc32c")]}
        blosc = lambda kind, shuffle: [codec("blosc", cname=kind, clevel=5, shuffle=shuffle)]
        return found | {name: blosc(*members) for name, members in BLOSC.items()}

    def group(self, path):
        path.mkdir(exist_ok=True)
        name, document = (".zgroup", {"zarr_format": 2}) if self.version == 2 else ("zarr.json", {"zarr_format": 3, "node_type": "group"})
        (path / name).write_text(json.dumps(document))

    def document(self, data_type, layout, compressor):
        order, endian, shards = layout
        kind = data_type.numpy
        fill = data_type.fills[0]
        if self.version == 2:
            name = kind.newbyteorder(endian).str if isinstance(kind, np.dtype) else kind
            return {"shape": SHAPE, "chunks": CHUNK, "dtype": name, "order": order, "compressor": compressor, "fill_value": fill}
        transpose = [codec("transpose", order=[1, 0])] if order == "F" else []
        codecs = [*transpose, {"<": LITTLE, ">": BIG, "|": codec("bytes")}[endian], *compressor]
        if shards:
            codecs = [codec("sharding_indexed", chunk_shape=CHUNK, codecs=codecs, index_codecs=[LITTLE, codec("crc32c")])]
        grid = codec("regular", chunk_shape=SHARD if shards else CHUNK)
        return {"shape": SHAPE, "chunk_grid": grid, "data_type": data_type.names[0], "fill_value": fill, "codecs": codecs}

    def write(self, path, data_type, layout, compressor):
        import tensorstore

        kvstore = {"driver": "file", "path": str(path)}
        driver = "zarr" if self.version == 2 else "zarr3"
        document = self.document(data_type, layout, compressor)
        array = tensorstore.open({"driver": driver, "kvstore": kvstore, "metadata": document}, create=True).result()
        values = self.values(data_type, array.dtype.numpy_dtype)
        array[FIRST_ROW:].write(values[FIRST_ROW:]).result()
        return expected_values(values, data_type.fill)

    @staticmethod
    def values(data_type, kind):
        if isinstance(data_type.numpy, np.dtype):
            return values_of(data_type.numpy)
        bits = {"int2": 2, "int4": 4, "float4_e2m1fn": 4, "bfloat16": 16}.get(data_type.title, 8)
        random = np.random.default_rng(5)
        if "int" in data_type.title:
            return random.integers(-(1 << bits - 1), 1 << bits - 1, SHAPE).astype(kind)
        return random.integers(0, 1 << bits, SHAPE).astype("u2" if bits == 16 else "u1").view(kind)


class ByNumcodecs(ByZarrPython):
    def __init__(self):
        super().__init__(2)
        types = {one.title: one for one in DATA_TYPES}
        self.filters = {
            "delta": ("int32", lambda e: [numcodecs.Delta(f"{e}i4")]),
            "delta, wider": ("uint16", lambda e: [numcodecs.Delta(f"{e}u2", f"{e}i4")]),
            "fixedscaleoffset": ("float64", lambda e: [numcodecs.FixedScaleOffset(-20, 8, f"{e}f8", f"{e}i2")]),
            "quantize": ("float32", lambda e: [numcodecs.Quantize(2, f"{e}f4")]),
            "astype": ("float64", lambda e: [numcodecs.AsType(f"{e}f4", f"{e}f8")]),
            "bitround": ("float32", lambda e: [numcodecs.BitRound(7)]),
            "packbits": ("bool", lambda e: [numcodecs.PackBits()]),
            "shuffle": ("float64", lambda e: [numcodecs.Shuffle(8)]),
            "crc32": ("int16", lambda e: [numcodecs.CRC32()]),
            "crc32c": ("int16", lambda e: [numcodecs.CRC32C()]),
            "adler32": ("int16", lambda e: [numcodecs.Adler32()]),
            "fletcher32": ("float32", lambda e: [numcodecs.Fletcher32()]),
            "jenkins_lookup3": ("uint8", lambda e: [numcodecs.JenkinsLookup3()]),
            "fixedscaleoffset, delta": ("float32", lambda e: [numcodecs.FixedScaleOffset(0, 8, f"{e}f4", f"{e}i2"), numcodecs.Delta(f"{e}i2")]),
        }
        self.types = [self.data_type(name, types[kind]) for name, (kind, _) in self.filters.items()]

    @staticmethod
    def data_type(name, like):
        zero = False if like.title == "bool" else 0
        return DataType(f"{name} ({like.title})", like.numpy, like.names, zero, [zero, float(zero)])

    def write(self, path, data_type, layout, compressor):
        """Returns the elements as zarr-python reads them, because filters may round."""
        order, endian, _ = layout
        kind = data_type.numpy.newbyteorder(endian) if endian == ">" else data_type.numpy
        _, make = self.filters[data_type.title.rsplit(" (", 1)[0]]
        options = {"shape": SHAPE, "chunks": CHUNK, "fill_value": data_type.fill, "zarr_format": 2}
        array = zarr.create_array(path, dtype=kind, order=order, filters=make(endian.replace("|", "<")), compressors=compressor, **options)
        steps = np.arange(np.prod(SHAPE)).reshape(SHAPE) * 7 % 64
        array[FIRST_ROW:] = steps[FIRST_ROW:] % 2 == 0 if kind.kind == "b" else (steps[FIRST_ROW:] / (4 if kind.kind == "f" else 1)).astype(kind)
        return array[...]


WRITERS = {
    "zarr-python-2": lambda: ByZarrPython(2), "zarr-python-3": lambda: ByZarrPython(3),
    "tensorstore-2": lambda: ByTensorstore(2), "tensorstore-3": lambda: ByTensorstore(3), "numcodecs": ByNumcodecs,
}


def write_all(writer, folder):
    folder.mkdir()
    writer.group(folder)
    cells, left_out = [], {}
    for row, data_type in enumerate(writer.types):
        writer.group(folder / str(row))
        for variant, layout, compressor in variants(row, data_type, writer.compressors, writer.sharded):
            path = folder / str(row) / variant.replace(" ", "-")
            try:
                elements = writer.write(path, data_type, layout, compressor)
            except Exception as error:
                left_out.setdefault(f"{data_type.title}: {type(error).__name__}: {str(error)[:200]}", []).append(variant)
                shutil.rmtree(path, ignore_errors=True)
                continue
            cell = {"row": row, "title": data_type.title, "variant": variant, "path": f"{row}/{path.name}", "shards": layout[2]}
            cells.append(cell | {"names": data_type.names, "fills": data_type.fills, "digest": digest(elements)})
    (folder.parent / f"{folder.name}.json").write_text(json.dumps({"cells": cells, "left_out": left_out}))


if __name__ == "__main__":
    write_all(WRITERS[sys.argv[1]](), Path(sys.argv[2]))
