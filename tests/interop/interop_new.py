#!/usr/bin/env python3
"""The newest zarr-python with cast-value-rs, the released implementation of `scale_offset` and `cast_value`, against `zarrcast`.

And xarray, which shows the same variables of Zarr v2 and v3, made up and real.

Environment: Python 3.12 or later, zarr>=3.4, numcodecs[pcodec], cast-value-rs>=0.5.1, numpy, ml_dtypes>=0.5,
xarray; kerchunk and h5py; netCDF4 and iris-sample-data for the real files.
"""

from casting import cast_value_pairs, scalar_maps
from cf_values import SECTIONS as CF_VALUES
from foreign import arrays_by_zarr_python, fixtures_by_zarr_python
from numcodecs_chunks import byte_orders_of_version_2, compressors_of_numcodecs, filters_of_numcodecs
from pcodec_chunks import SECTIONS as PCODEC
from program import run_sections
from quantised_codecs import quantised_sources, quantised_wrapping
from quantised_readers import SECTIONS as QUANTISED_READERS
from real_files import SECTIONS as REAL_FILES
from references import SECTIONS as REFERENCES
from rectilinear import SECTIONS as RECTILINEAR
from scaling import scale_offset_types
from small_floats import small_floats_from_wide, small_floats_scaled, small_floats_to_wide
from variables import SECTIONS as VARIABLES
from verdicts import defaults_of_xarray
from words import SECTIONS as WORDS
from words import WITH_XARRAY
from zip_files import SECTIONS as ZIP_FILES

SECTIONS = [
    fixtures_by_zarr_python,
    arrays_by_zarr_python,
    quantised_sources,
    quantised_wrapping,
    *QUANTISED_READERS,
    cast_value_pairs,
    scalar_maps,
    scale_offset_types,
    small_floats_from_wide,
    small_floats_to_wide,
    small_floats_scaled,
    filters_of_numcodecs,
    byte_orders_of_version_2,
    compressors_of_numcodecs,
    *PCODEC,
    *VARIABLES,
    *REAL_FILES,
    *RECTILINEAR,
    *REFERENCES,
    *CF_VALUES,
    *WORDS,
    *WITH_XARRAY,
    *ZIP_FILES,
    defaults_of_xarray,
]

if __name__ == "__main__":
    run_sections(__doc__.splitlines()[0], SECTIONS)
