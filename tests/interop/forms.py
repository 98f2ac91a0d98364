"""`transcode --as` alone: what xarray reads of a packing stays the same in each form, for every code, and no chunk changes."""

from itertools import product

import numpy as np
import xarray
import zarr
from program import files

PACKINGS = {
    "hundredths": (0.01, 273.15),
    "hundredths of float32": (float(np.float32(0.01)), float(np.float32(273.15))),
    "thirds": (1 / 3, -5.0),
    "powers of two": (2.0**-5, 0.25),
    "tenths alone": (0.1, None),
    "offset alone": (None, 1000.0),
    "falling": (-0.1, 1.0),
}


def every_code(dtype):
    """All codes of a type, and a chunk that is left out."""
    bounds = np.iinfo(dtype)
    codes = np.arange(bounds.min, bounds.max + 1).astype(dtype)
    return np.concatenate([codes, np.full(len(codes) // 4, codes[0])])


def write(path, zarr_format, codes, attributes, fill=0, shards=None, filters=None):
    """Writes an array in a group as xarray names its dimensions. The last fifth of the elements is absent."""
    group = zarr.open_group(path, mode="w", zarr_format=zarr_format)
    chunk = len(codes) // 20
    options = {"dimension_names": ["x"]} if zarr_format == 3 else {"filters": filters}
    if shards:
        options["shards"] = (chunk * shards,)
    array = group.create_array("v", shape=codes.shape, dtype=codes.dtype, chunks=(chunk,), fill_value=fill, **options)
    array.attrs.update(attributes if zarr_format == 3 else {"_ARRAY_DIMENSIONS": ["x"], **attributes})
    array[: len(codes) // 5 * 4] = codes[: len(codes) // 5 * 4]


def read(path):
    return xarray.open_zarr(path, consolidated=False, decode_times=False)["v"].load()


def near(found, expected, difference):
    assert found.dims == expected.dims and found.attrs == expected.attrs, (found.attrs, expected.attrs)
    found, expected = found.values.astype("f8"), expected.values.astype("f8")
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    greatest = np.nanmax(np.abs(found - expected), initial=0)
    assert greatest <= difference, (greatest, difference)


def change(zarrcast, source, destination, form, *options):
    """Writes another form, and holds its report to the route of a copy where no chunk is written out."""
    result = zarrcast.json("transcode", "--as", form, "--verify", *options, source, destination)
    (node,) = (node for node in result["nodes"] if node["node_type"] == "array")
    assert node["verify"]["equal"], node
    assert node["chunks_written"] >= node["chunks_read"], node
    return node


def chunks(path):
    """The bytes of the chunks, in the order of their names."""
    names = (".zarray", ".zattrs", ".zgroup", "zarr.json")
    return sorted(bytes for name, bytes in files(path).items() if not name.endswith(names))


def masks(dtype):
    bounds = np.iinfo(dtype)
    yield {}, 0
    yield {"_FillValue": int(bounds.min)}, int(bounds.min)
    yield {"_FillValue": int(bounds.max), "missing_value": 5}, int(bounds.max)
    yield {"missing_value": 7}, 0
    yield {"_FillValue": 3}, 0


def attributes_to_codecs_and_back(tally, zarrcast, _folder):
    dtypes = (("i1", {}), ("u1", {}), ("i2", {}), ("u2", {}), ("i1", {"_Unsigned": "true"}), ("i2", {"_Unsigned": "true"}))
    for (name, (factor, offset)), (dtype, unsigned), zarr_format in product(PACKINGS.items(), dtypes, (2, 3)):
        for mask, fill in masks(dtype):
            if zarr_format == 2 and fill == 0 and "_FillValue" in mask:
                continue  # xarray masks the fill value alone.
            packing = {"scale_factor": factor, "add_offset": offset}
            packing = {key: value for key, value in packing.items() if value is not None}
            with tally.case(name, dtype, unsigned, mask, f"v{zarr_format}") as folder:
                a, b, c, d = (folder / name for name in "abcd")
                write(a, zarr_format, every_code(dtype), {**packing, **unsigned, **mask, "units": "K"}, fill)
                forward = change(zarrcast, a, b, "codecs")
                difference = forward["quantization"]["max_abs_error"]
                expected = read(a)
                near(read(b), expected, difference)
                if forward["route"] == "copy":
                    assert chunks(a) == chunks(b)
                back = change(zarrcast, b, c, "cf")
                assert back["route"] == "copy" and chunks(b) == chunks(c), back["route"]
                near(read(c), expected, difference + back["quantization"]["max_abs_error"])
                change(zarrcast, b, d, "plain")
                codes = zarr.open_array(a / "v", mode="r")[...]
                found = zarr.open_array(d / "v", mode="r")[...]
                if forward["route"] == "copy" or not mask:
                    np.testing.assert_array_equal(found, codes.astype(found.dtype))


def float32_is_chosen(tally, zarrcast, _folder):
    for (name, (factor, offset)), dtype in product(PACKINGS.items(), ("i1", "u2")):
        if factor is None or offset is None:
            continue
        with tally.case(name, dtype) as folder:
            write(folder / "a", 3, every_code(dtype), {"scale_factor": factor, "add_offset": offset})
            node = change(zarrcast, folder / "a", folder / "b", "codecs", "--data-type", "float32")
            found, expected = read(folder / "b"), read(folder / "a")
            assert found.dtype == "f4"
            near(found, expected.astype("f4"), node["quantization"]["max_abs_error"])


def shards_are_copied(tally, zarrcast, _folder):
    for (name, (factor, offset)), fill in product(PACKINGS.items(), (-32768, 0)):
        packing = {"scale_factor": factor or 1.0, "add_offset": offset or 0.0, "_FillValue": -32768}
        with tally.case(name, fill) as folder:
            write(folder / "a", 3, every_code("i2"), packing, fill, shards=5)
            node = change(zarrcast, folder / "a", folder / "b", "codecs")
            near(read(folder / "b"), read(folder / "a"), node["quantization"]["max_abs_error"])
            assert fill == 0 or (node["route"] == "copy" and chunks(folder / "a") == chunks(folder / "b")), node["route"]


def wide_codes_that_occur(tally, zarrcast, _folder):
    random = np.random.default_rng(5)
    for (name, (factor, offset)), dtype in product(PACKINGS.items(), ("i4", "u4")):
        bounds = np.iinfo(dtype)
        codes = random.integers(bounds.min, bounds.max, 1000, endpoint=True).astype(dtype)
        with tally.case(name, dtype) as folder:
            write(folder / "a", 3, codes, {"scale_factor": factor or 1.0, "add_offset": offset or 0.0})
            node = change(zarrcast, folder / "a", folder / "b", "codecs")
            near(read(folder / "b"), read(folder / "a"), node["quantization"]["max_abs_error"])


def filters_to_codecs_and_attributes(tally, zarrcast, _folder):
    from numcodecs import FixedScaleOffset

    for (name, (factor, offset)), dtype, astype, form in product(
        PACKINGS.items(), ("<f8", "<f4"), ("|u1", "<i2", "<u2"), ("codecs", "cf")
    ):
        scale, offset = 1 / (factor or 1.0), offset or 0.0
        with tally.case(name, dtype, astype, form) as folder:
            codes = every_code(astype)
            values = (codes / scale + offset).astype(dtype)
            filters = [FixedScaleOffset(offset=offset, scale=scale, dtype=dtype, astype=astype)]
            write(folder / "a", 2, values, {}, None, filters=filters)
            a, b = folder / "a", folder / "b"
            # Absent elements are 0, which has a code in few packings.
            zarr.open_array(a / "v", mode="a")[...] = values
            node = change(zarrcast, a, b, form)
            expected, found = read(a), read(b)
            difference = node["quantization"]["max_abs_error"]
            near(found, expected, difference)
            assert node["route"] == "copy" and chunks(a) == chunks(b), node["route"]
            assert form == "cf" or dtype == "<f4" or difference == 0, difference


SECTIONS = [
    attributes_to_codecs_and_back,
    float32_is_chosen,
    shards_are_copied,
    wide_codes_that_occur,
    filters_to_codecs_and_attributes,
]
