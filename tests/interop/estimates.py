"""The sizes that `inspect --suggest` and `transcode --dry-run --estimate` tell, beside those of the written arrays, on twenty fields.

Twelve are those of `iris-sample-data` (Open Government Licence v3.0), small enough for the sample to be the whole. Eight are made: large
ones, of which 16 chunks stand for hundreds.
"""

import shlex
import shutil

import numpy as np
from arrays import pieces, write
from information import fields

WITHIN = 0.05
SHARE = 0.9
# Of 128 MiB, in chunks of 256 KiB.
SHAPE, CHUNKS = (128, 512, 512), (4, 128, 128)
PLANS = ["-c auto:512KiB -s auto:8MiB --compress zstd:3", "--compress auto", "--keep-bits 7 --compress blosc:zstd:3:bitshuffle"]


def spectrum(shape, slope, seed):
    """A field of mean 0 and variance 1 whose spectrum falls with the wave number."""
    rng = np.random.default_rng(seed)
    waves = np.meshgrid(*[np.fft.fftfreq(length) * length for length in shape[:-1]], np.fft.rfftfreq(shape[-1]) * shape[-1], indexing="ij")
    number = np.sqrt(sum(wave.astype("f4") ** 2 for wave in waves))
    number[(0,) * len(shape)] = 1
    phases = rng.normal(size=number.shape).astype("f4") + 1j * rng.normal(size=number.shape).astype("f4")
    field = np.fft.irfftn(phases * number**slope, s=shape, axes=range(len(shape)))
    return ((field - field.mean()) / field.std()).astype("f4")


def made():
    """Large fields: smooth, turbulent, noise, with land, with zeros, of levels that differ."""
    turbulent = spectrum(SHAPE, -11 / 6 - 0.5, 1)
    yield "turbulent", turbulent
    yield "smooth", spectrum(SHAPE, -4, 2)
    yield "noise", np.random.default_rng(3).normal(size=SHAPE).astype("f4")
    yield "precipitation", np.where(turbulent > 0.7, np.exp(1.5 * turbulent), 0).astype("f4")
    ocean = 5 * turbulent + 280
    ocean[:, spectrum(SHAPE[1:], -2.4, 4) > 0.3] = np.nan
    yield "ocean", ocean
    levels = np.linspace(0, 1, SHAPE[0], dtype="f4")[:, None, None]
    yield "levels", 300 - 80 * levels + (0.1 + levels) * turbulent
    yield "diurnal", 290 + 10 * np.sin(np.arange(SHAPE[0], dtype="f4") / 4)[:, None, None] + 0.3 * turbulent
    yield "rounded", np.round(turbulent + 10, 2).astype("f4")


def check(zarrcast, folder, name, values, chunks):
    """Every way of `--suggest` and a few plans: each with the relative error of its size."""
    path, written = folder / "field.zarr", folder / "written.zarr"
    write(path, values, chunks=chunks, fill_value=np.nan, dimension_names=[f"d{axis}" for axis in range(values.ndim)])
    suggested = zarrcast.json("inspect", "--suggest", "--storage", "never", path)["ways"]
    sample = suggested["sample"]
    assert sample["chunks"] >= min(16, sample["of"])
    if values.nbytes > 64 << 20:
        assert sample["chunks"] <= max(16, sample["of"] // 100), sample["chunks"]
    found = [(way["name"], way["bytes_stored"], shlex.split(way["options"])) for way in suggested["ways"] if way["reason"] is None]
    for plan in PLANS:
        words = plan.split()
        node = zarrcast.transcode("--dry-run", "--estimate", *words, path, folder / "none.zarr")
        found.append((plan, node["estimate"]["bytes_stored"], words))
    for way, estimated, words in found:
        shutil.rmtree(written, ignore_errors=True)
        yield f"{name}, {way}", estimated / zarrcast.transcode(*words, path, written)["bytes_written"] - 1


def sizes_come_true(tally, zarrcast, _place):
    """Nine of ten sizes are within a twentieth."""
    off = []
    real = [(name, values.astype("f4")) for name, values in fields() if values.ndim > 1 and values.dtype.kind == "f" and values.size > 1000][:12]
    cases = [(name, values, pieces(values.shape, 4)) for name, values in real]
    for name, values, chunks in [*cases, *((name, values, CHUNKS) for name, values in made())]:
        with tally.case(name) as folder:
            off += list(check(zarrcast, folder, name, values, chunks))
    with tally.case("nine of ten"):
        within = sum(abs(share) <= WITHIN for _, share in off)
        worst = sorted(off, key=lambda one: -abs(one[1]))[:8]
        print(f"  {within} of {len(off)} sizes within {WITHIN:.0%}; the worst: " + "; ".join(f"{name} {share:+.1%}" for name, share in worst))
        assert within >= SHARE * len(off), f"{within} of {len(off)}"


SECTIONS = [sizes_come_true]
