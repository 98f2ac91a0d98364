"""`transcode --as` alone: xarray reads the same from a packing in each form, and no chunk changes."""

from itertools import product

import numpy as np
import xarray
import zarr
from numcodecs import FixedScaleOffset
from program import files

PACKINGS = {
    "hundredths": (0.01, 273.15), "hundredths of float32": (float(np.float32(0.01)), float(np.float32(273.15))),
    "thirds": (1 / 3, -5.0), "powers of two": (2.0**-5, 0.25), "tenths alone": (0.1, None),
    "offset alone": (None, 1000.0), "falling": (-0.1, 1.0),
}
UNSIGNED = {"_Unsigned": "true"}
CODES = [("i1", {}), ("u1", {}), ("i2", {}), ("u2", {}), ("i1", UNSIGNED), ("i2", UNSIGNED)]
DOCUMENTS = (".zarray", ".zattrs", ".zgroup", "zarr.json")


def codes_of(dtype):
    """Returns all codes of a type with a tail for missing chunks, or some codes of a wide type."""
    bounds = np.iinfo(dtype)
    if bounds.bits > 16:
        return np.random.default_rng(5).integers(bounds.min, bounds.max, 1000, endpoint=True).astype(dtype)
    codes = np.arange(bounds.min, bounds.max + 1).astype(dtype)
    return np.concatenate([codes, np.full(len(codes) // 4, codes[0])])


def write(path, zarr_format, codes, attributes, fill=0, shards=None, filters=None):
    """Writes an array in a group with xarray's dimension names. The last fifth of the elements is missing."""
    group, chunk = zarr.open_group(path, mode="w", zarr_format=zarr_format), len(codes) // 20
    options = {"dimension_names": ["x"]} if zarr_format == 3 else {"filters": filters}
    options |= {"shards": (chunk * shards,)} if shards else {}
    array = group.create_array("v", shape=codes.shape, dtype=codes.dtype, chunks=(chunk,), fill_value=fill, **options)
    array.attrs.update(attributes if zarr_format == 3 else {"_ARRAY_DIMENSIONS": ["x"], **attributes})
    # Missing elements are 0, which has a code in few filter packings.
    stored = len(codes) if filters else len(codes) // 5 * 4
    array[:stored] = codes[:stored]


def read(path):
    return xarray.open_zarr(path, consolidated=False, decode_times=False)["v"].load()


def near(found, expected, difference):
    assert found.dims == expected.dims and found.attrs == expected.attrs, (found.attrs, expected.attrs)
    found, expected = found.values.astype("f8"), expected.values.astype("f8")
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    greatest = np.nanmax(np.abs(found - expected), initial=0)
    assert greatest <= difference, (greatest, difference)


def change(zarrcast, source, destination, form, *options):
    """Returns the node of the report, and whether every chunk is unchanged."""
    result = zarrcast.json("transcode", "--as", form, "--verify", *options, source, destination)
    (node,) = (node for node in result["nodes"] if node["node_type"] == "array")
    assert node["verify"]["equal"] and node["chunks_written"] >= node["chunks_read"], node
    # Sorted by name.
    chunks = [[key for name, key in files(path).items() if not name.endswith(DOCUMENTS)] for path in (source, destination)]
    node["same"] = node["route"] == "copy" and sorted(chunks[0]) == sorted(chunks[1])
    assert node["same"] or node["route"] != "copy", "a copy with other chunks"
    return node | node["quantization"] if node["quantization"] else node


def masks(dtype):
    bounds = np.iinfo(dtype)
    yield {}, 0
    yield {"_FillValue": int(bounds.min)}, int(bounds.min)
    yield {"_FillValue": int(bounds.max), "missing_value": 5}, int(bounds.max)
    yield {"missing_value": 7}, 0
    yield {"_FillValue": 3}, 0


def attributes_to_codecs_and_back(tally, zarrcast, _folder):
    """Packings, types of codes and masks, in either format. Each format tests half of the packings."""
    for number, ((name, (factor, offset)), (dtype, unsigned)) in enumerate(product(PACKINGS.items(), CODES)):
        for (mask, fill), zarr_format in product(masks(dtype), (2, 3)):
            if zarr_format == 2 and fill == 0 and "_FillValue" in mask:
                continue  # xarray masks only the fill value.
            if (number + number // 6 + zarr_format) % 2:
                continue
            packing = {key: value for key, value in (("scale_factor", factor), ("add_offset", offset)) if value is not None}
            with tally.case(name, dtype, unsigned, mask, f"v{zarr_format}") as folder:
                a, b, c, d = (folder / name for name in "abcd")
                write(a, zarr_format, codes_of(dtype), {**packing, **unsigned, **mask, "units": "K"}, fill)
                forward, expected = change(zarrcast, a, b, "codecs"), read(a)
                near(read(b), expected, forward["max_abs_error"])
                back = change(zarrcast, b, c, "cf")
                assert back["same"], back["route"]
                near(read(c), expected, forward["max_abs_error"] + back["max_abs_error"])
                change(zarrcast, b, d, "plain")
                found = zarr.open_array(d / "v", mode="r")[...]
                if forward["same"] or not mask:
                    np.testing.assert_array_equal(found, zarr.open_array(a / "v", mode="r")[...].astype(found.dtype))


def other_sources(tally, zarrcast, _folder):
    """Decoded as float32, in shards, and with codes of 32 bits."""
    for name, (factor, offset) in PACKINGS.items():
        packing = {"scale_factor": factor or 1.0, "add_offset": offset or 0.0}
        short = packing | {"_FillValue": -32768}
        for what, dtype, attributes, options, to in [
            ("float32", "u2", packing, {}, ["--data-type", "float32"]),
            ("shards", "i2", short, {"fill": -32768, "shards": 5}, []),
            ("shards, other fill", "i2", short, {"shards": 5}, []),
            *((wide, wide, packing, {}, []) for wide in ("i4", "u4")),
        ]:
            if to and None in (factor, offset):
                continue
            with tally.case(what, name) as folder:
                write(folder / "a", 3, codes_of(dtype), attributes, **options)
                node = change(zarrcast, folder / "a", folder / "b", "codecs", *to)
                found, expected = read(folder / "b"), read(folder / "a")
                assert not to or found.dtype == "f4"
                near(found, expected.astype("f4") if to else expected, node["max_abs_error"])
                assert what != "shards" or node["same"], node["route"]


def filters_to_codecs_and_attributes(tally, zarrcast, _folder):
    choices = product(PACKINGS.items(), ("<f8", "<f4"), ("|u1", "<i2", "<u2"), ("codecs", "cf"))
    for (name, (factor, offset)), dtype, astype, form in choices:
        scale, offset = 1 / (factor or 1.0), offset or 0.0
        with tally.case(name, dtype, astype, form) as folder:
            values = (codes_of(astype) / scale + offset).astype(dtype)
            filters = [FixedScaleOffset(offset=offset, scale=scale, dtype=dtype, astype=astype)]
            write(folder / "a", 2, values, {}, None, filters=filters)
            node = change(zarrcast, folder / "a", folder / "b", form)
            near(read(folder / "b"), read(folder / "a"), node["max_abs_error"])
            assert node["same"], node["route"]
            assert form == "cf" or dtype == "<f4" or node["max_abs_error"] == 0, node


SECTIONS = [attributes_to_codecs_and_back, other_sources, filters_to_codecs_and_attributes]
