"""The fields of the comparison: twelve real ones of `iris-sample-data`, and four synthetic ones.

The real ones are under the Open Government Licence v3.0. All are float32. Masked values are NaN.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import iris
import iris_sample_data
import numpy as np
from numpy.typing import NDArray
from scipy import fft

Values = NDArray[np.float32]
SEED = 2026
# In three dimensions, with an energy per shell that falls as k^(-5/3), the amplitude of a mode has this exponent.
TURBULENT = -(5 / 3 + 2) / 2


@dataclass(frozen=True)
class Field:
    """A field, its name in tables, and its origin."""

    name: str
    source: str
    values: Values

    @property
    def span(self) -> float:
        """The greatest value minus the least."""
        return float(np.nanmax(self.values)) - float(np.nanmin(self.values))


# Name, files, variable. If several cubes have this name, the first is taken.
REAL = [
    ("air temperature", "A1B_north_america.nc", "air_temperature"),
    ("surface temperature", "GloSea4/ensemble_000.pp", "surface_temperature"),
    ("potential temperature", "colpex.pp", "air_potential_temperature"),
    ("potential temp., hires", "uk_hires.pp", "air_potential_temperature"),
    ("air pressure", "colpex.pp", "air_pressure"),
    ("eastward wind", "time_varying_hybrid_height/time_varying_hybrid_height_*.pp", "x_wind"),
    ("orography", "uk_hires.pp", "surface_altitude"),
    ("brightness temperature", "toa_brightness_stereographic.nc", "toa_brightness_temperature"),
    ("electron density", "space_weather.nc", "electron density"),
    ("sea-ice velocity", "**/northward_sea_ice_velocity.1890.*.pp", "northward_sea_ice_velocity"),
    ("sea surface, NEMO", "NEMO/nemo_1m_*.nc", "sea_surface_temperature"),
    ("sea surface, OSTIA", "ostia_monthly.nc", "surface_temperature"),
]


def real_fields() -> Iterator[Field]:
    """Returns the fields of `iris-sample-data`."""
    folder = Path(iris_sample_data.__file__).parent / "sample_data"
    for name, pattern, variable in REAL:
        files = sorted(folder.glob(pattern))
        with warnings.catch_warnings():
            # Warnings about conventions that the files do not follow.
            warnings.simplefilter("ignore")
            cubes = [cube for file in files for cube in iris.load(file) if cube.name() == variable]
            arrays = [np.ma.filled(np.ma.masked_invalid(cube.data).astype("float32"), np.nan) for cube in cubes]
        # Months in separate files become one array. If a file has several cubes of the name, the first is taken.
        values = arrays[0] if len(files) == 1 else np.stack([array.squeeze() for array in arrays])
        yield Field(name, f"`{Path(pattern).name}`, `{variable}`", np.ascontiguousarray(values))


def spectral(shape: tuple[int, ...], exponent: float, seed: int) -> Values:
    """Returns a periodic random field. Its amplitudes are a power of the wave number; its standard deviation is 1."""
    random = np.random.default_rng(seed)
    modes = fft.rfftn(random.standard_normal(shape, dtype="float32"), workers=-1)
    frequencies = [*map(fft.fftfreq, shape[:-1]), fft.rfftfreq(shape[-1])]
    wave_number = np.sqrt(sum(np.square(each) for each in np.ix_(*frequencies))).astype("float32")
    wave_number.flat[0] = np.inf
    values = fft.irfftn(modes * wave_number ** np.float32(exponent), shape, workers=-1)
    return np.asarray(values / values.std(), dtype="float32")


def turbulent(shape: tuple[int, ...]) -> Values:
    """Returns a field with the spectrum of turbulence and mean 10."""
    return spectral(shape, TURBULENT, SEED) + np.float32(10)


def made_fields() -> Iterator[Field]:
    """Returns a smooth field, a turbulent one, white noise, and precipitation: zeros with cells of rain."""
    shape = (8, 256, 256)
    level, row, column = np.ogrid[:8, :256, :256]
    waves = [(0.3, 0.021, 0.034, 20.0), (0.1, 0.057, -0.045, 7.0), (0.7, -0.013, 0.088, 3.0)]
    smooth = 280 + np.sum([height * np.sin(a * level + b * row + c * column) for a, b, c, height in waves], axis=0)
    cells = spectral(shape, -2.2, SEED + 1)
    amount = np.exp(1.5 * cells + 0.3 * np.random.default_rng(SEED).standard_normal(shape))
    rain = np.where(cells > np.quantile(cells, 0.7), amount, 0)
    yield Field("smooth", "three plane waves", smooth.astype("float32"))
    yield Field("turbulent", "spectrum of k^(-5/3)", turbulent(shape))
    yield Field("white noise", "standard normal", np.random.default_rng(SEED).standard_normal(shape, dtype="float32"))
    yield Field("precipitation", "log-normal cells, 70 % zeros", rain.astype("float32"))


def fields() -> Iterator[Field]:
    """Returns all sixteen."""
    yield from real_fields()
    yield from made_fields()
