#!/usr/bin/env python3
"""zarr-python 3.1.6, tensorstore, numcodecs and numpy against what `zarrcast` writes, and what it says of values.

Environment: zarr==3.1.6, tensorstore, numcodecs[pcodec], numpy.
"""

from conversion import attributes, data_types, fill_values, refusals
from inspecting import histograms, slices, statistics, suggestions
from numcodecs_chunks import (
    arrays_of_numcodecs,
    byte_orders_of_version_2,
    compressors_of_numcodecs,
    filters_in_a_row,
    filters_of_numcodecs,
    filters_that_lose,
    fixed_scale_offset_wraps,
)
from pcodec_chunks import SECTIONS as PCODEC
from program import run_sections
from quantisation import given_ranges, quantised, special_data
from rechunking import combined, grids, two_passes
from recoding import codec_chains, compress_specifications, copies, fixtures_hold_what_is_expected
from versions import SECTIONS as VERSIONS
from words import SECTIONS as WORDS

SECTIONS = [
    fixtures_hold_what_is_expected,
    copies,
    codec_chains,
    grids,
    two_passes,
    combined,
    compress_specifications,
    quantised,
    given_ranges,
    special_data,
    data_types,
    fill_values,
    attributes,
    refusals,
    statistics,
    histograms,
    slices,
    suggestions,
    filters_of_numcodecs,
    filters_that_lose,
    fixed_scale_offset_wraps,
    byte_orders_of_version_2,
    filters_in_a_row,
    compressors_of_numcodecs,
    arrays_of_numcodecs,
    *PCODEC,
    *VERSIONS,
    *WORDS,
]

if __name__ == "__main__":
    run_sections(__doc__.splitlines()[0], SECTIONS)
