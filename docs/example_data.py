#!/usr/bin/env python3
"""Make the stores of the guide's examples: `python3 docs/example_data.py FOLDER`.

It needs Python 3.9 or later and the program `zarrcast` on the PATH. The stores are the same on every machine:

sst.zarr       real: monthly sea-surface temperature of an ocean model, NaN on land (see fixtures/README.md)
climate.zarr   synthetic: 240 days of temperature and precipitation on a grid of 48 by 96, Zarr v2 of xarray
cells.zarr     synthetic: two channels of a microscope, 16-bit counts
stations.zarr  synthetic: temperatures of 16 stations, -9999 where a station did not report
"""

import argparse
import json
import random
import shutil
import subprocess
import tempfile
from array import array
from pathlib import Path

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
DAYS, LATITUDES, LONGITUDES = 240, 48, 96
BLOSC = "blosc:lz4:5:shuffle"


def climate():
    """Returns daily temperature in K and precipitation in mm/day, with seasons and weather that changes slowly.

    It uses only sums and products, so the result does not depend on a mathematics library.
    """
    dice = random.Random(20240229)
    temperature, precipitation = array("f"), array("f")
    weather = [[0.0] * LONGITUDES for _ in range(LATITUDES)]
    for day in range(DAYS):
        season = 1 - abs(day % 365 - 182.5) / 91.25
        for row in range(LATITUDES):
            north = (row + 0.5) / LATITUDES * 2 - 1
            normal = 299 - 45 * north * north + 12 * season * north
            line = weather[row]
            west = line[-1]
            for column in range(LONGITUDES):
                now = 0.5 * line[column] + 0.4 * west + (dice.random() + dice.random() - 1) * 2
                line[column] = west = now
                temperature.append(normal + now)
                precipitation.append(now * now * 1.5 if now > 1 else 0.0)
    return temperature, precipitation


def cells():
    """Returns photon counts in two channels: background noise, and round cells."""
    dice, size = random.Random(7), 512
    centres = [(dice.randrange(size), dice.randrange(size), dice.randrange(8, 30)) for _ in range(40)]
    counts = array("H")
    for gain in (1, 3):
        light = [[12] * size for _ in range(size)]
        for y, x, radius in centres:
            for row in range(max(0, y - radius), min(size, y + radius)):
                for column in range(max(0, x - radius), min(size, x + radius)):
                    if (row - y) ** 2 + (column - x) ** 2 < radius * radius:
                        light[row][column] += 60 * gain
        for row in light:
            counts.extend(bin(dice.getrandbits(2 * level)).count("1") for level in row)
    return counts


def stations():
    """Returns daily temperatures in tenths of degrees Celsius. About one in twenty is missing."""
    dice, values = random.Random(16), array("f")
    for _ in range(DAYS):
        day = dice.random() * 12
        values.extend(-9999 if dice.random() < 0.05 else round(day + dice.random() * 5, 1) for _ in range(16))
    return values


def write_json(path, document):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=4) + "\n")


def write_v2(folder, values, shape, chunks, dtype, fill_value, dimensions, attributes):
    """Writes a Zarr v2 array. Its chunks are cut only along the first axis."""
    document = {
        "chunks": chunks,
        "compressor": None,
        "dtype": dtype,
        "fill_value": fill_value,
        "filters": None,
        "order": "C",
        "shape": shape,
        "zarr_format": 2,
    }
    write_json(folder / ".zarray", document)
    write_json(folder / ".zattrs", {"_ARRAY_DIMENSIONS": dimensions, **attributes})
    count = len(values) * chunks[0] // shape[0]
    for index in range(shape[0] // chunks[0]):
        name = ".".join([str(index), *["0"] * (len(shape) - 1)])
        (folder / name).write_bytes(values[index * count : (index + 1) * count].tobytes())


def write_climate(folder):
    temperature, precipitation = climate()
    write_json(folder / ".zgroup", {"zarr_format": 2})
    write_json(folder / ".zattrs", {"title": "made up for the guide of zarrcast", "Conventions": "CF-1.11"})
    grid, maps = [DAYS, LATITUDES, LONGITUDES], [1, LATITUDES, LONGITUDES]
    dimensions = ["time", "lat", "lon"]
    described = {"long_name": "air temperature at 2 m", "standard_name": "air_temperature", "units": "K"}
    write_v2(folder / "temperature", temperature, grid, maps, "<f4", "NaN", dimensions, described)
    described = {"long_name": "precipitation", "units": "mm day-1"}
    write_v2(folder / "precipitation", precipitation, grid, maps, "<f4", "NaN", dimensions, described)
    days = array("d", range(DAYS))
    described = {"units": "days since 2024-01-01", "calendar": "proleptic_gregorian"}
    write_v2(folder / "time", days, [DAYS], [DAYS], "<f8", "NaN", ["time"], described)
    rows = array("d", [(row + 0.5) / LATITUDES * 180 - 90 for row in range(LATITUDES)])
    write_v2(folder / "lat", rows, [LATITUDES], [LATITUDES], "<f8", "NaN", ["lat"], {"units": "degrees_north"})
    columns = array("d", [column * 360 / LONGITUDES for column in range(LONGITUDES)])
    write_v2(folder / "lon", columns, [LONGITUDES], [LONGITUDES], "<f8", "NaN", ["lon"], {"units": "degrees_east"})
    metadata = {
        str(path.relative_to(folder)): json.loads(path.read_text())
        for path in sorted(folder.rglob(".z*"))
        if path.is_file()
    }
    write_json(folder / ".zmetadata", {"metadata": metadata, "zarr_consolidated_format": 1})


def write_v3(folder, values, shape, chunks, data_type, dimensions, attributes):
    """Writes a Zarr v3 array. Its chunks are cut only along the first axis."""
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": attributes,
        "dimension_names": dimensions,
    }
    write_json(folder / "zarr.json", document)
    count = len(values) * chunks[0] // shape[0]
    for index in range(shape[0] // chunks[0]):
        path = folder.joinpath("c", str(index), *["0"] * (len(shape) - 1))
        path.parent.mkdir(parents=True)
        path.write_bytes(values[index * count : (index + 1) * count].tobytes())


def write_cells(folder):
    attributes = {"channels": ["nuclei", "membranes"]}
    write_v3(folder, cells(), [2, 512, 512], [1, 512, 512], "uint16", ["c", "y", "x"], attributes)


def write_stations(folder):
    attributes = {"long_name": "air temperature", "units": "degree_C", "missing_value": -9999.0}
    write_v3(folder, stations(), [DAYS, 16], [60, 16], "float32", ["time", "station"], attributes)


def main():
    parser = argparse.ArgumentParser(description="Make the stores of the guide's examples.")
    parser.add_argument("folder", type=Path, help="where they go; made if it is not there")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(FIXTURES / "valid" / "sea_surface_temperature", folder / "sst.zarr")
    with tempfile.TemporaryDirectory() as temporary:
        for name, write, options in (
            ("climate.zarr", write_climate, ["--compress", BLOSC]),
            ("cells.zarr", write_cells, ["--chunk-shape", "1,64,64", "--compress", "zstd:3"]),
            ("stations.zarr", write_stations, ["--compress", "zstd:3"]),
        ):
            plain = Path(temporary) / name
            write(plain)
            subprocess.run(
                ["zarrcast", "transcode", "--quiet", *options, str(plain), str(folder / name)],
                check=True,
                stdout=subprocess.DEVNULL,
            )
    print(f"made in {folder}:", ", ".join(sorted(path.name for path in folder.iterdir())))


if __name__ == "__main__":
    main()
