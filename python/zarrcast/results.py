"""The results of the commands of zarrcast, as dataclasses.

`python/generate.py` writes this file from `schemas/`: do not edit it. A member is None if it does not apply, or if an
older program does not give it. Members that a newer program adds are in `extra`. NaN and the infinities are floats.
Integers are exact. Fill values and attributes are JSON values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Optional, Union


@dataclass(frozen=True)
class InspectCodec:
    """Of `pipeline` in `zarrcast inspect --json`."""

    codec: str
    kind: Optional[str]
    configuration: Optional[dict[str, Any]]
    data_type: Optional[Union[str, dict[str, Any]]]
    shape: Optional[tuple[int, ...]]
    fill_value: Any
    bytes: Optional[int]
    #: For `sharding_indexed`: the codecs of an inner chunk.
    pipeline: Optional[tuple[InspectCodec, ...]]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectStorage:
    """Of `storage` in `zarrcast inspect --json`."""

    #: Number of the smallest units that can be decoded alone.
    chunks: Optional[int]
    chunks_present: Optional[int]
    #: Number of shards of a sharded array.
    shards: Optional[int]
    shards_present: Optional[int]
    #: Size of all elements in bytes.
    bytes_logical: Optional[int]
    bytes_stored: int
    #: Keys that belong to no chunk. Null if the store cannot list its keys.
    unknown_keys: Optional[tuple[str, ...]]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectStats:
    """Statistics of all elements. Absent chunks count as the fill value. Padding at the edge does not count."""

    count: int
    #: Number of finite elements. The members after `fill_value` are about these.
    finite: int
    nan: int
    #: Number of elements equal to a missing value of the CF attributes.
    missing: int
    positive_infinity: int
    negative_infinity: int
    #: Number of elements equal to the fill value.
    fill_value: int
    min: Optional[float]
    max: Optional[float]
    mean: Optional[float]
    #: Standard deviation of the population.
    standard_deviation: Optional[float]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectHistogram:
    """Of `histogram` in `zarrcast inspect --json`."""

    #: Lower edge of the first bin.
    min: Optional[float]
    #: Upper edge of the last bin. The bin includes it.
    max: Optional[float]
    counts: tuple[int, ...]
    below: int
    above: int
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectSuggestion:
    """Of `suggestion` in `zarrcast inspect --json`."""

    #: The command line that stores the array this way.
    command: str
    codecs: tuple[Union[str, dict[str, Any]], ...]
    #: The whole codec chain of the array with the suggested codecs.
    chain: tuple[Union[str, dict[str, Any]], ...]
    range: Optional[tuple[Any, ...]]
    step: Optional[float]
    #: Largest absolute error over all values, measured.
    max_abs_error: Optional[float]
    #: The fill value that the array needs with these codecs.
    fill_value: Any
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodeSample:
    """The sample of chunks. The grid in C order is cut into ranges of equal length, and one chunk is taken from
    each. Every run takes the same chunks.
    """

    chunks: int
    #: Number of chunks that exist.
    of: int
    #: Shape of the smallest unit that can be decoded alone.
    chunk_shape: tuple[int, ...]
    #: Positions of the sampled chunks in their grid, at most 100.
    positions: tuple[tuple[int, ...], ...]
    #: Encoded bytes read for the sample.
    bytes_read: int
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectWay:
    """A way to store the array. If it is not possible, all members but `name` and `reason` are null."""

    name: str
    #: Options of `transcode`.
    options: Optional[str]
    #: Data type of the codes, or of the rounded floats.
    data_type: Optional[str]
    #: Number of bits of the significand that are kept.
    keep_bits: Optional[int]
    #: Error over the elements of the sample.
    max_abs_error: Optional[float]
    #: Error over the elements of the sample.
    rms_error: Optional[float]
    #: Estimated size of the whole array in bytes, with the indexes of shards.
    bytes_stored: Optional[int]
    #: Size of the stored chunks now, divided by the estimated size.
    ratio: Optional[float]
    #: Estimated wall time for the whole array on this machine, in seconds.
    seconds: Optional[float]
    #: The command line that stores the array this way.
    command: Optional[str]
    #: Reason why the way is not possible.
    reason: Optional[str]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectWays:
    """Ways to store an array of floats smaller. Each was tried on a sample of the chunks."""

    sample: TranscodeSample
    #: Statistics of the elements of the sample.
    values: InspectStats
    #: Size of the stored chunks as they are, in bytes.
    bytes_stored: int
    #: The compressor that every way adds. Null if the array is already compressed.
    compress: Optional[str]
    ways: tuple[InspectWay, ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectKeptBit:
    """Of `kept_bits` in `zarrcast inspect --json`."""

    #: Share of the information to keep.
    share: Optional[float]
    #: Number of bits of the significand that keep this share.
    bits: int
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectDimensionInformation:
    """Of `dimension_information` in `zarrcast inspect --json`."""

    axis: int
    name: Optional[str]
    #: Number of pairs of neighbours. Pairs with NaN or a missing value do not count.
    pairs: int
    #: Information of each bit, from 0 to 1.
    information: tuple[Optional[float], ...]
    #: Threshold: random bits show as much. Information up to it counts as 0.
    insignificant: Optional[float]
    #: Sum of the information above the threshold, in bits.
    total: Optional[float]
    kept: tuple[InspectKeptBit, ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectInformation:
    """The bitwise real information (Kloewer et al. 2021, Nature Computational Science 1, 713-724)."""

    #: Data type whose bits are examined.
    data_type: str
    #: `codes` if the codec chain turns the elements into integers.
    of: str
    #: Names of the bits, the most significant first: `sign`, then `e1`, `e2` and so on, then `m1`, `m2` and
    #: so on.
    bits: tuple[str, ...]
    #: Number of bits before the significand.
    leading_bits: int
    dimensions: tuple[InspectDimensionInformation, ...]
    #: Bits to keep, over all dimensions.
    kept: tuple[InspectKeptBit, ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectStage:
    """Of `stage` in `zarrcast inspect --json`."""

    codec: str
    #: Position of the codec in the chain.
    place: int
    bytes_encoded: int
    bytes: Optional[int]
    data_type: Optional[Union[str, dict[str, Any]]]
    shape: Optional[tuple[int, ...]]
    seconds: Optional[float]
    checksum: Optional[str]
    error: Optional[str]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectChunk:
    """Of `chunk` in `zarrcast inspect --json`."""

    indices: tuple[int, ...]
    #: True if the indices are those of an inner chunk.
    inner: bool
    #: Key of the stored object.
    key: str
    present: bool
    #: Offset of the inner chunk in its shard, in bytes.
    offset: Optional[int]
    bytes_stored: Optional[int]
    #: Shape of the part of the chunk that is inside the array.
    shape: tuple[int, ...]
    #: One stage per codec, in decode order, up to the first that failed.
    stages: tuple[InspectStage, ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectPreviewAxis:
    """Of `axes` in `zarrcast inspect --json`."""

    axis: int
    name: Optional[str]
    length: int
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectPreviewAt:
    """Of `at` in `zarrcast inspect --json`."""

    axis: int
    name: Optional[str]
    index: int
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectPreview:
    """Of `preview` in `zarrcast inspect --json`."""

    axes: tuple[InspectPreviewAxis, ...]
    #: Indices of the slice along the other dimensions.
    at: tuple[InspectPreviewAt, ...]
    reduction: str
    min: Optional[float]
    max: Optional[float]
    #: The pixels, row by row.
    values: tuple[tuple[Optional[float], ...], ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Finding:
    """Of `finding` in `zarrcast validate --json`."""

    code: str
    name: str
    severity: str
    message: str
    #: What to do about it.
    help: Optional[str]
    #: STORE as given on the command line.
    store: Optional[str]
    #: Path of the node, `/` or `/a/b`.
    node: Optional[str]
    #: Key, relative to the store.
    key: Optional[str]
    #: JSON pointer (RFC 6901) into the document at the key.
    pointer: Optional[str]
    #: Indices of the chunk or shard in the stored grid.
    chunk: Optional[tuple[int, ...]]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectArray:
    """Of `array` in `zarrcast inspect --json`."""

    schema: Literal["zarrcast.inspect/2"]
    #: STORE as given on the command line.
    store: str
    node_type: Literal["array"]
    path: str
    zarr_format: Optional[int]
    shape: Optional[tuple[int, ...]]
    data_type: Optional[Union[str, dict[str, Any]]]
    #: The data type as Zarr v2 writes it. Null for a v3 array.
    data_type_v2: Any
    fill_value: Any
    #: Shape of the smallest unit that can be decoded alone. Null if the units have different shapes.
    chunk_shape: Optional[tuple[int, ...]]
    #: Shape of a shard. Null if the array is not sharded, or if its shards have different shapes.
    shard_shape: Optional[tuple[int, ...]]
    #: The chunk grid in Zarr v3 form.
    chunk_grid: Optional[Union[str, dict[str, Any]]]
    chunk_key_encoding: Optional[Union[str, dict[str, Any]]]
    dimension_names: Optional[tuple[Optional[str], ...]]
    codecs: Optional[tuple[Union[str, dict[str, Any]], ...]]
    attributes: Optional[dict[str, Any]]
    pipeline: Optional[tuple[InspectCodec, ...]]
    storage: Optional[InspectStorage]
    #: Number of chunks that the store refused and that count as absent (`--missing-status 403`).
    chunks_refused: Optional[int]
    stats: Optional[InspectStats]
    histogram: Optional[InspectHistogram]
    suggestion: Optional[InspectSuggestion]
    ways: Optional[InspectWays]
    information: Optional[InspectInformation]
    chunk: Optional[InspectChunk]
    preview: Optional[InspectPreview]
    warnings: tuple[Finding, ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectGroupTotals:
    """Sums over the arrays in the group. Arrays of unknown size are left out."""

    arrays: int
    bytes_logical: int
    bytes_stored: Optional[int]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectNode:
    """Of `node` in `zarrcast inspect --json`."""

    node_type: str
    path: str
    zarr_format: Optional[int]
    attributes: Any
    shape: Optional[tuple[int, ...]]
    data_type: Optional[Union[str, dict[str, Any]]]
    #: The data type as Zarr v2 writes it. Null for a v3 array.
    data_type_v2: Any
    fill_value: Any
    #: Shape of the smallest unit that can be decoded alone. Null if the units have different shapes.
    chunk_shape: Optional[tuple[int, ...]]
    #: Shape of a shard. Null if the array is not sharded, or if its shards have different shapes.
    shard_shape: Optional[tuple[int, ...]]
    #: The chunk grid in Zarr v3 form.
    chunk_grid: Optional[Union[str, dict[str, Any]]]
    chunk_key_encoding: Optional[Union[str, dict[str, Any]]]
    dimension_names: Optional[tuple[Optional[str], ...]]
    codecs: Optional[tuple[Union[str, dict[str, Any]], ...]]
    #: Size of all elements in bytes.
    bytes_logical: Optional[int]
    #: Size of the stored chunks in bytes.
    bytes_stored: Optional[int]
    #: Number of chunks that the store refused and that count as absent (`--missing-status 403`).
    chunks_refused: Optional[int]
    stats: Optional[InspectStats]
    #: With `--suggest`: ways to store this array smaller. Given for arrays of floats that are neither
    #: coordinates nor quantised.
    ways: Optional[InspectWays]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectGroup:
    """Of `group` in `zarrcast inspect --json`."""

    schema: Literal["zarrcast.inspect/2"]
    #: STORE as given on the command line.
    store: str
    node_type: Literal["group"]
    path: str
    zarr_format: Optional[int]
    attributes: Optional[dict[str, Any]]
    #: True if the group has consolidated metadata.
    consolidated: bool
    #: Sums over the arrays in the group. Arrays of unknown size are left out.
    totals: InspectGroupTotals
    #: All nodes below the group, sorted by path.
    nodes: tuple[InspectNode, ...]
    warnings: tuple[Finding, ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ValidateFailure:
    """Of `failures` in `zarrcast validate --json`."""

    store: Optional[str]
    node: Optional[str]
    #: Key of a chunk, relative to the store.
    key: Optional[str]
    message: str
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectSeveral:
    """The result for several STOREs."""

    schema: Literal["zarrcast.inspect/2"]
    #: The results of the stores that could be read, in the order of the command line.
    stores: tuple[Union[InspectArray, InspectGroup], ...]
    #: The stores that could not be read.
    failures: tuple[ValidateFailure, ...]
    #: The warnings of all stores.
    warnings: tuple[Finding, ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ValidatePartition:
    """Of `1` in `zarrcast validate --json`."""

    index: int
    partitions: int
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ValidateUnchecked:
    """Of `unchecked` in `zarrcast validate --json`."""

    reason: str
    count: int
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ValidateAbsent:
    """Of `absent` in `zarrcast validate --json`."""

    store: str
    node: str
    #: First and last index of each range, in C order of the grid of stored chunks.
    ranges: tuple[tuple[int, ...], ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ValidatePair:
    """Of `pair` in `zarrcast validate --json`."""

    path: str
    equal: bool
    #: Reason why the two are not equal, or could not be compared.
    reason: Optional[str]
    #: Number of elements compared.
    elements: int
    #: Number of elements that differ by more than the tolerance.
    differing: int
    max_abs_difference: Optional[float]
    max_rel_difference: Optional[float]
    #: Indices of the largest difference; the first such element in C order.
    at: Optional[tuple[int, ...]]
    #: Value of STORE there, in the form of a fill value.
    value: Any
    #: Value of OTHER there, in the form of a fill value.
    other_value: Any
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ValidateAgainst:
    """Of `against` in `zarrcast validate --json`."""

    other: str
    #: True if every pair is equal and no node lacks its partner.
    equal: bool
    nodes: tuple[ValidatePair, ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ValidateResult:
    """`zarrcast validate --json`: The faults of the stores. A later program may add members within version 1. It
    does not rename, remove or reinterpret one.
    """

    schema: Literal["zarrcast.validate/1"]
    #: True if every STORE could be checked and no finding is an error. A comparison has its own member,
    #: `equal`.
    valid: bool
    #: `valid` alone if every chunk was decoded. `differs` if OTHER of `--against` differs. `not valid` if
    #: there are errors. Otherwise a text that says what was checked and what was not.
    verdict: str
    #: The part of the stored objects that was checked. Not given if all were.
    partition: Optional[ValidatePartition]
    #: Number of errors, including those not shown.
    errors: int
    warnings: int
    infos: int
    #: What could not be checked, by reason.
    unchecked: tuple[ValidateUnchecked, ...]
    #: The absent chunks of each array that has any, at most 100 ranges in all.
    absent: tuple[ValidateAbsent, ...]
    #: The stores, nodes and chunks that could not be read.
    failures: tuple[ValidateFailure, ...]
    #: True if there are more findings than are shown.
    truncated: bool
    #: The findings in a fixed order: store, node, documents, keys, chunks.
    findings: tuple[Finding, ...]
    #: Result of `--against`. Null without it.
    against: Optional[ValidateAgainst]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodeArray:
    """Metadata of an array, in Zarr v3 form."""

    zarr_format: int
    #: The data type. Null if a first pass over the values decides it.
    data_type: Optional[Union[str, dict[str, Any]]]
    fill_value: Any
    #: Shape of the smallest unit that can be decoded alone. Null if the units have different shapes.
    chunk_shape: Optional[tuple[int, ...]]
    #: Shape of a shard. Null if the array is not sharded, or if its shards have different shapes.
    shard_shape: Optional[tuple[int, ...]]
    codecs: tuple[Union[str, dict[str, Any]], ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodeQuality:
    """Measures of the loss, over points that are finite in SOURCE and in DEST. A measure that is not defined is
    null.
    """

    #: Number of points that are finite in SOURCE and in DEST.
    points: int
    #: Mean of DEST minus SOURCE.
    bias: Optional[float]
    #: Peak signal-to-noise ratio `20 log10(range of SOURCE / rms error)` in dB. Null if SOURCE is constant.
    psnr: Optional[float]
    #: Pearson correlation coefficient. Null if SOURCE or DEST is constant.
    pearson: Optional[float]
    #: Share of points whose relative error is above 1e-4. Where SOURCE is 0, the absolute error counts.
    relative_error_share: Optional[float]
    #: Largest distance between the distribution functions of SOURCE and DEST (Kolmogorov-Smirnov). Null if
    #: DEST can hold more than 2^20 different values.
    ks_statistic: Optional[float]
    #: p-value of the two-sample Kolmogorov-Smirnov test. Null if there is no statistic.
    ks_p: Optional[float]
    #: Smallest DSSIM of all levels. A level is the last two dimensions at one index of the others.
    dssim: Optional[float]
    #: Indices of the level with the smallest DSSIM, along the other dimensions.
    dssim_level: Optional[tuple[int, ...]]
    #: Share of zeros that stay 0. It is 1 if there are no zeros.
    zeros_kept: Optional[float]
    #: Share of the other numbers that keep their sign. It is 1 if there are none.
    signs_kept: Optional[float]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodeQuantization:
    """Of `quantization` in `zarrcast transcode --json`."""

    #: The form of the quantisation. With `bitround` (`--keep-bits`) floats stay floats: `range`, `codes` and
    #: `bound` do not apply.
    as_: str
    #: Data type of the codes, or of the rounded floats.
    data_type: Optional[str]
    #: Number of bits of the significand that the floats keep.
    keep_bits: Optional[int]
    #: With `--keep-bits auto`: the share of the information that these bits keep.
    information: Optional[float]
    #: Smallest and largest value that the codes can hold.
    range: Optional[tuple[Optional[Union[float, str]], ...]]
    offset: Optional[Union[float, str]]
    scale: Optional[Union[float, str]]
    #: Difference between the values of two adjacent codes: |1/scale|.
    step: Optional[float]
    #: First and last code that is used for numbers.
    codes: Optional[tuple[int, ...]]
    nan_code: Optional[int]
    #: Dimensions along which differences of the codes are stored.
    predict: Optional[tuple[str, ...]]
    #: Number of elements.
    count: int
    #: Number of NaN, missing values included.
    nan: Optional[int]
    #: Number of values outside the range. Each became the nearest bound.
    clamped: Optional[int]
    #: Error over the finite elements that were not clamped. With `--as` alone: the greatest difference
    #: between the two forms of a code; the error of the floats before is not known.
    max_abs_error: Optional[float]
    #: Error over the clamped elements.
    max_abs_error_clamped: Optional[float]
    #: Error over the finite elements that were not clamped.
    rms_error: Optional[float]
    #: Upper bound of `max_abs_error`.
    bound: Optional[float]
    #: The programs that can read the result.
    readers: Optional[str]
    #: An entry of `scalar_map.encode` that zarr-python 3.4.1 and 3.4.2 need: a value that no element has, and
    #: its code.
    reader_workaround: Optional[tuple[Optional[Union[float, str]], int]]
    #: Number of different codes. Given with `--verify` for codes of at most 16 bits.
    distinct_codes: Optional[int]
    #: Size of the stored chunks in bytes.
    bytes_source: Optional[int]
    #: Size of the stored chunks in bytes.
    bytes_destination: Optional[int]
    #: With `--quality` or `--require`: measures of the loss.
    quality: Optional[TranscodeQuality]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodeVerify:
    """Of `verify` in `zarrcast transcode --json`."""

    #: True if all values are equal, or within the bound if they were quantised.
    equal: bool
    #: Number of elements compared.
    elements: int
    differing: int
    max_abs_error: Optional[float]
    #: Upper bound of the error, if the values were quantised.
    bound: Optional[float]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodeCompressionTried:
    """Of `tried` in `zarrcast transcode --json`."""

    #: The compressor in the form that `--compress` takes, or `numcodecs.pcodec`.
    compress: str
    #: Dimensions along which differences are stored before this compressor.
    predict: tuple[str, ...]
    #: The codecs in Zarr v3 form, without `typesize`.
    codecs: tuple[Union[str, dict[str, Any]], ...]
    #: Estimated size of all chunks in bytes. Null if the codecs cannot encode these elements.
    bytes_stored: Optional[int]
    #: Reason why the codecs cannot encode these elements.
    reason: Optional[str]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodeCompression:
    """The choice of `--compress auto`: the fastest compressor whose size is at most 1 % above the smallest."""

    goal: str
    #: `compress` of the chosen compressor. Null for a plan that reads no chunk.
    chosen: Optional[str]
    #: The compressors that were tried, the fastest first.
    tried: tuple[TranscodeCompressionTried, ...]
    sample: Optional[TranscodeSample]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodeEstimate:
    """Estimate of size and time, from a sample of the chunks."""

    #: Size of the stored chunks in bytes, with the indexes of shards.
    bytes_stored: int
    #: Wall time on this machine in seconds.
    seconds: Optional[float]
    sample: TranscodeSample
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodeNode:
    """Of `node` in `zarrcast transcode --json`."""

    path: str
    node_type: str
    route: str
    source: Optional[TranscodeArray]
    destination: Optional[TranscodeArray]
    #: Selection of `--select`: the first index and the index after the last, for each dimension. Null if all
    #: elements are taken.
    selection: Optional[tuple[tuple[int, ...], ...]]
    #: Number of stored objects in the grid of DEST.
    chunks: Optional[int]
    #: Number of chunks of SOURCE that are absent.
    chunks_absent: Optional[int]
    #: Number of chunks that the store refused and that count as absent (`--missing-status 403`).
    chunks_refused: Optional[int]
    chunks_read: Optional[int]
    chunks_written: Optional[int]
    #: Encoded bytes of chunks.
    bytes_read: Optional[int]
    #: Encoded bytes of chunks.
    bytes_written: Optional[int]
    #: Bytes of intermediate data.
    bytes_temporary: Optional[int]
    #: Size of all elements in the data type of DEST, in bytes.
    bytes_logical: Optional[int]
    #: Stored size of the chunks that are taken from SOURCE, in bytes. `bytes_read` also counts chunks that
    #: are read again.
    bytes_source: Optional[int]
    #: Number of passes over the chunk data.
    passes: Optional[int]
    #: Number of units of work in all passes.
    units: Optional[int]
    #: Chunks read divided by chunks needed, on average.
    read_amplification: Optional[float]
    #: Maximum size of the chunk data in memory, in bytes.
    memory_bytes: Optional[int]
    #: Dimensions along which differences of integers or codes are stored. Null without differences.
    predict: Optional[tuple[str, ...]]
    #: Programs that can read the differences or the quantised values.
    readers: Optional[str]
    quantization: Optional[TranscodeQuantization]
    verify: Optional[TranscodeVerify]
    #: With `--compress auto`: the choice.
    compression: Optional[TranscodeCompression]
    #: With `--estimate`: the estimate for this array.
    estimate: Optional[TranscodeEstimate]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodeTotals:
    """Sums over the arrays. A sum is null if the value of one array is unknown, but `bytes_logical` leaves out
    arrays without.
    """

    chunks: Optional[int]
    chunks_absent: Optional[int]
    chunks_refused: Optional[int]
    chunks_read: Optional[int]
    chunks_written: Optional[int]
    bytes_read: Optional[int]
    bytes_written: Optional[int]
    bytes_temporary: Optional[int]
    bytes_logical: Optional[int]
    bytes_source: Optional[int]
    #: Number of copied keys that belong to no node.
    other_keys: int
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodePlan:
    """Of `plan` in `zarrcast transcode --json`."""

    #: Number of keys of DEST.
    keys: int
    #: Number of files. Null in an object store.
    files: Optional[int]
    #: Number of folders, DEST included. Null in an object store.
    folders: Optional[int]
    #: Minimum number of requests that read. Null if SOURCE is local.
    requests_read: Optional[int]
    #: Approximate number of requests that write. Null if DEST is local.
    requests_write: Optional[int]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodeResult:
    """`zarrcast transcode --json`: The result of a job, or with `--dry-run` its plan. A later program may add
    members within version 2. It does not rename, remove or reinterpret one.
    """

    schema: Literal["zarrcast.transcode/2"]
    #: SOURCE as given on the command line.
    source: str
    #: DEST as given on the command line.
    destination: str
    #: True if nothing was written.
    dry_run: bool
    #: True if DEST exists and is complete.
    complete: bool
    seconds: float
    #: The nodes, sorted by path.
    nodes: tuple[TranscodeNode, ...]
    totals: TranscodeTotals
    #: With `--dry-run`: the maximum number of objects that the job makes, documents included. Null otherwise.
    plan: Optional[TranscodePlan]
    #: Paths of arrays that are not quantised or rounded: coordinates, and the variables that CF attributes
    #: name.
    spared: tuple[str, ...]
    warnings: tuple[Finding, ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InitPass:
    """Of `passes` in `zarrcast init --json`."""

    name: str
    partitions: int
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InitCompressor:
    """Of `compressors` in `zarrcast init --json`."""

    path: str
    #: The compressor in the form that `--compress` takes, or `numcodecs.pcodec`.
    compress: str
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InitResult:
    """`zarrcast transcode --init --json`: The plan of a job in parts. A later program may add members within
    version 1. It does not rename, remove or reinterpret one.
    """

    schema: Literal["zarrcast.init/1"]
    #: SOURCE as given on the command line.
    source: str
    #: DEST as given on the command line.
    destination: str
    #: Number of parts of the pass that has the most. It is less than requested if there are fewer stored
    #: objects.
    partitions: int
    #: The passes of the job, in order.
    passes: tuple[InitPass, ...]
    #: Maximum memory of a part for chunk data, in bytes.
    memory_bytes: int
    #: Approximate size of the elements of the largest part, in bytes.
    bytes: int
    #: Maximum number of stored objects in DEST.
    objects: int
    #: The choice of `--compress auto` for each array.
    compressors: tuple[InitCompressor, ...]
    #: True if the same plan already existed.
    was_there: bool
    warnings: tuple[Finding, ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class PartitionResult:
    """`zarrcast transcode --partition --json`: The result of one part of a job. A later program may add members
    within version 1. It does not rename, remove or reinterpret one.
    """

    schema: Literal["zarrcast.partition/1"]
    #: SOURCE as given on the command line.
    source: str
    #: DEST as given on the command line.
    destination: str
    #: True if the whole job was already complete.
    complete: bool
    #: The pass of this part. Null if the whole job was already complete.
    pass_: Optional[str]
    #: Number of the part, from 0.
    partition: int
    #: Number of parts of the pass.
    partitions: int
    #: True if the part was already done. Then nothing was written.
    was_done: bool
    #: Number of stored objects written, by this run and by the interrupted runs that it continued.
    chunks_written: int
    #: Encoded bytes of chunks read from SOURCE.
    bytes_read: int
    #: Encoded bytes of chunks written to DEST or to the intermediate data.
    bytes_written: int
    #: Wall time in seconds.
    seconds: float
    warnings: tuple[Finding, ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class StatusPass:
    """Of `passes` in `zarrcast status --json`."""

    name: str
    partitions: int
    #: Number of parts that are done.
    done: int
    #: The parts that are not done, in the form that schedulers take: `3,7-9`. Numbers begin at `--first-
    #: index`.
    missing: str
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class StatusResult:
    """`zarrcast transcode --status --json`: The state of a job in parts. `--finish` gives it too, if parts are
    missing or the job was already complete. A later program may add members within version 1. It does not
    rename, remove or reinterpret one.
    """

    schema: Literal["zarrcast.status/1"]
    #: SOURCE as given on the command line.
    source: str
    #: DEST as given on the command line.
    destination: str
    #: True if DEST is published.
    complete: bool
    #: The passes in order. Empty if the job is complete.
    passes: tuple[StatusPass, ...]
    warnings: tuple[Finding, ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ApplyCodecStream:
    """Of `stream` in `zarrcast apply-codec --json`."""

    #: The path. `-` is standard input or output.
    path: str
    #: The size of the file in bytes, with the header of a .npy file.
    bytes: int
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ApplyCodecStage:
    """Of `stage` in `zarrcast apply-codec --json`."""

    #: The codec's metadata. Null for the input.
    codec: Optional[str]
    kind: Optional[str]
    #: The data type in Zarr v3 form. Null for bytes.
    data_type: Optional[Union[str, dict[str, Any]]]
    #: The shape of the array. Null for bytes.
    shape: Optional[tuple[int, ...]]
    #: The fill value of the array, if `--fill-value` was given.
    fill_value: Any
    bytes: int
    #: Time of the codec in seconds; with `--repeat` the median.
    seconds: Optional[float]
    #: Decoded bytes divided by `seconds`.
    bytes_per_second: Optional[float]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ApplyCodecRoundTrip:
    """Of `round_trip` in `zarrcast apply-codec --json`."""

    bit_identical: bool
    #: Number of elements whose values differ. NaN equals NaN, and -0 equals 0.
    differing: int
    #: The largest absolute difference between two finite numbers.
    max_abs_error: Optional[float]
    #: Indices of the element with the largest difference, or else of the first element that differs.
    at: Optional[tuple[int, ...]]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ApplyCodecResult:
    """`zarrcast apply-codec --json`: The result of a codec chain. A later program may add members within version
    1. It does not rename, remove or reinterpret one.
    """

    schema: Literal["zarrcast.apply-codec/1"]
    direction: str
    #: The file INPUT, or the stored chunk.
    input: ApplyCodecStream
    #: The file OUTPUT. Null if none was given.
    output: Optional[ApplyCodecStream]
    #: The input first, then one stage per codec, in the order in which the codecs ran.
    stages: tuple[ApplyCodecStage, ...]
    #: With `--round-trip`: the decoded values compared with the input.
    round_trip: Optional[ApplyCodecRoundTrip]
    #: With `--repeat`: the number of runs.
    repeat: Optional[int]
    warnings: tuple[Finding, ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


#: What `zarrcast inspect --json` prints.
InspectResult = Union[InspectArray, InspectGroup, InspectSeveral]

#: The class of a document, by its member `schema`.
RESULTS: dict[str, Any] = {
    "zarrcast.inspect/2": InspectResult,
    "zarrcast.validate/1": ValidateResult,
    "zarrcast.transcode/2": TranscodeResult,
    "zarrcast.init/1": InitResult,
    "zarrcast.partition/1": PartitionResult,
    "zarrcast.status/1": StatusResult,
    "zarrcast.apply-codec/1": ApplyCodecResult,
}
