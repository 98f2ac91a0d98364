"""`--quality` compared with numpy, scipy and ldcpy: fields of `iris-sample-data`, and synthetic ones with NaN,
constants and several levels.

ldcpy gets float64, which the program uses for calculations, because in float32 it would round between its steps.
Measures may differ by 1e-9, relative for numbers greater than 1. The p-value may differ by 1e-8, because scipy omits
terms above a million values.
"""

import math

import numpy as np
import xarray
import zarr
from arrays import pieces, read, write
from datasets import real_fields
from ldcpy.calcs import Diffcalcs
from scipy import stats

FILES = ("A1B", "hybrid", "orca2", "ostia", "rotated", "toa")
RUNS = {
    "max-error": ["--max-error", None], "step": ["--step", None, "--as", "cf"], "coarse": ["--quantize", "uint4"],
    "towards zero": ["--quantize", "uint8", "--rounding", "towards-zero", "--as", "plain"],
    "fine": ["--quantize", "uint32"],
}


def fields():
    random = np.random.default_rng(15)
    smooth = np.add.outer(np.sin(np.arange(70) / 9), np.cos(np.arange(150) / 11)) * 20 + 280
    noisy = (smooth + random.normal(size=(70, 150)) * 0.3).astype("float32")
    gaps = noisy.copy()
    gaps[random.random(noisy.shape) < 0.1] = np.nan
    gaps[:, :30] = np.nan
    levels = np.stack([noisy, gaps, np.full_like(noisy, 250), np.full_like(noisy, np.nan), noisy * 0.01])
    rain = np.maximum(noisy - 290, 0).astype("float64")
    yield "noisy", noisy
    yield "gaps", gaps
    yield "levels", levels
    yield "rain", rain
    yield "both signs", (noisy - 280).astype("float64")
    yield "five dimensions", np.stack([levels, levels + 1]).reshape(2, 1, 5, 70, 150)
    yield "least levels", noisy[:33].reshape(3, 11, 150)[:, :, :11]
    yield "constant", np.full((12, 13), 273.15, dtype="float32")
    yield "series", noisy.reshape(-1)
    yield "narrow", noisy[:, :10]
    for name, values in real_fields():
        if name.startswith(FILES):
            # ldcpy is slow.
            yield name, values.astype("float32")[: 20 if values.ndim > 2 else None]


def read_back(zarrcast, path, folder, result, values):
    if result["as"] == "codecs":
        plain = folder / "plain"
        zarrcast.ok("transcode", "--unpack", path, plain, "--overwrite")
        return read(plain)
    codes = read(path)
    kind = values.dtype.type
    if result["as"] == "cf":
        # Readers of the attributes decode in float64.
        kind, attributes = np.float64, zarr.open_array(path, mode="r").attrs
        decoded = codes.astype("float64") * attributes["scale_factor"] + attributes["add_offset"]
    else:
        decoded = (codes.astype(values.dtype) / kind(result["scale"]) + kind(result["offset"])).astype(values.dtype)
    return np.where(codes == result["nan_code"], kind("nan"), decoded) if result["nan_code"] is not None else decoded


def dssim(before, after):
    rows, columns = before.shape
    coordinates = {
        "lat": ("lat", np.linspace(-80, 80, rows), {"units": "degrees_north"}),
        "lon": ("lon", np.linspace(0, 350, columns), {"units": "degrees_east"}),
    }
    sides = [xarray.DataArray(side, dims=("lat", "lon"), coords=coordinates) for side in (before, after)]
    return float(Diffcalcs(*sides, "cam-fv", ["lat", "lon"]).get_diff_calc("ssim_fp"))


def least_dssim(before, after):
    if before.ndim < 2 or min(before.shape[-2:]) < 11:
        return None, None
    least, place = None, None
    for level in np.ndindex(before.shape[:-2]):
        if np.isfinite(before[level]).any():
            value = dssim(before[level], after[level])
            if not math.isnan(value) and (least is None or value < least):
                least, place = value, list(level)
    return least, place


def expected(before, after):
    before, after = before.astype("float64"), after.astype("float64")
    level, place = least_dssim(before, after)
    is_point = np.isfinite(before) & np.isfinite(after)
    x, y = before[is_point], after[is_point]
    error = y - x
    rms, span = math.sqrt(np.mean(error**2)), x.max() - x.min()
    constant = x.min() == x.max() or y.min() == y.max()
    relative = np.abs(error) / np.where(x == 0, 1, np.abs(x))
    zero = x == 0
    test = stats.ks_2samp(x, y)
    psnr = None if span == 0 else (math.inf if rms == 0 else 20 * math.log10(span / rms))
    pearson = None if constant else np.corrcoef(x, y)[0, 1]
    found = {"points": x.size, "bias": error.mean(), "psnr": psnr, "pearson": pearson}
    found |= {"relative_error_share": np.mean(relative > 1e-4), "ks_statistic": test.statistic, "ks_p": test.pvalue}
    found |= {"dssim": level, "dssim_level": place, "zeros_kept": np.mean(y[zero] == 0) if zero.any() else 1.0}
    return found | {"signs_kept": np.mean(np.sign(x[~zero]) == np.sign(y[~zero])) if (~zero).any() else 1.0}


def agrees(name, found, wanted):
    if name == "dssim_level" or wanted is None or found is None:
        return found == wanted
    found = float(found)
    if math.isinf(wanted):
        return found == wanted
    tolerance = 1e-8 if name == "ks_p" else 1e-9
    return abs(found - wanted) <= tolerance * max(1.0, abs(wanted))


def measures(tally, zarrcast, folder):
    for name, values in fields():
        source = folder / f"{name}.zarr"
        write(source, values, chunks=pieces(values.shape), fill_value=np.nan, compressors=None)
        span = float(np.nanmax(values) - np.nanmin(values)) or 1.0
        for run, options in RUNS.items():
            # Neither a decimal step of the values, nor a step for each value.
            options = [str(span / 700) if option is None else option for option in options]
            with tally.case(name, run):
                destination = folder / "quantised.zarr"
                result = zarrcast.transcode(*options, "--quality", "--overwrite", source, destination)["quantization"]
                after = read_back(zarrcast, destination, folder, result, values)
                wanted = expected(values, after)
                if run == "fine":
                    # The test is not defined for so many values.
                    wanted["ks_statistic"] = wanted["ks_p"] = None
                for measure, value in wanted.items():
                    assert agrees(measure, result["quality"][measure], value), f"{measure} is {result['quality'][measure]}, not {value}"


SECTIONS = [measures]
