"""What the commands of zarrcast answer, as dataclasses.

Made from `schemas/` by `python/generate.py`; not to be edited. What does not apply is None, and so is a member
that an older program does not give. Members that a newer program adds are in `extra`. Numbers that are not finite
are floats; integers are exact; fill values and attributes are as JSON has them.
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
    #: Of `sharding_indexed`: what it does to an inner chunk.
    pipeline: Optional[tuple[InspectCodec, ...]]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectStorage:
    """Of `storage` in `zarrcast inspect --json`."""

    #: Smallest units that can be decoded alone.
    chunks: Optional[int]
    chunks_present: Optional[int]
    #: Stored objects of a sharded array.
    shards: Optional[int]
    shards_present: Optional[int]
    #: Of all elements.
    bytes_logical: Optional[int]
    bytes_stored: int
    #: Keys that belong to no chunk.
    unknown_keys: tuple[str, ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectStats:
    """Over all elements: absent chunks count as the fill value, padding at the edge not at all."""

    count: int
    #: What follows `fill_value` is over these.
    finite: int
    nan: int
    #: Equal to a value that counts as missing.
    missing: int
    positive_infinity: int
    negative_infinity: int
    #: Equal to the fill value.
    fill_value: int
    min: Optional[float]
    max: Optional[float]
    mean: Optional[float]
    #: Of the values as a whole population.
    standard_deviation: Optional[float]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectHistogram:
    """Of `histogram` in `zarrcast inspect --json`."""

    #: The lower edge of the first bin.
    min: Optional[float]
    #: The upper edge of the last bin, which belongs to it.
    max: Optional[float]
    counts: tuple[int, ...]
    below: int
    above: int
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectSuggestion:
    """Of `suggestion` in `zarrcast inspect --json`."""

    #: The command line that does it.
    command: str
    codecs: tuple[Union[str, dict[str, Any]], ...]
    #: The array's whole chain with them in it.
    chain: tuple[Union[str, dict[str, Any]], ...]
    range: Optional[tuple[Any, ...]]
    step: Optional[float]
    #: Over all values, measured.
    max_abs_error: Optional[float]
    #: The fill value that the array needs with them.
    fill_value: Any
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodeSample:
    """Chunks of stretches of equal length, in the C order of the grid: one each, the same each time."""

    chunks: int
    #: Chunks that are there.
    of: int
    #: The smallest unit that can be decoded alone.
    chunk_shape: tuple[int, ...]
    #: Where they stand in the grid of these chunks; the first 100.
    positions: tuple[tuple[int, ...], ...]
    #: Encoded bytes that were read for it.
    bytes_read: int
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectWay:
    """Where a way cannot be gone, all is null but its name and the reason."""

    name: str
    #: Of transcode.
    options: Optional[str]
    #: Of the codes, or of the floats that keep some bits.
    data_type: Optional[str]
    #: Bits of the significand that are kept.
    keep_bits: Optional[int]
    #: Over the sample.
    max_abs_error: Optional[float]
    #: Over the sample.
    rms_error: Optional[float]
    #: Of the whole array, estimated, with the indexes of shards.
    bytes_stored: Optional[int]
    #: How many times smaller than as it is.
    ratio: Optional[float]
    #: Wall time of the whole array on this machine, estimated.
    seconds: Optional[float]
    #: The command line that does it.
    command: Optional[str]
    #: Why the way cannot be gone.
    reason: Optional[str]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectWays:
    """Ways to store an array of floats smaller, each tried on a sample of its chunks."""

    sample: TranscodeSample
    #: Over the elements of the sample.
    values: InspectStats
    #: Of the stored chunks as they are.
    bytes_stored: int
    #: What every way adds by --compress, where the array is not compressed.
    compress: Optional[str]
    ways: tuple[InspectWay, ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectKeptBit:
    """Of `kept_bits` in `zarrcast inspect --json`."""

    #: Of the information.
    share: Optional[float]
    #: Of the significand that keep it.
    bits: int
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectDimensionInformation:
    """Of `dimension_information` in `zarrcast inspect --json`."""

    axis: int
    name: Optional[str]
    #: Of neighbours of which neither is NaN nor missing.
    pairs: int
    #: Of each bit, from 0 to 1.
    information: tuple[Optional[float], ...]
    #: What random bits show: information up to it counts as none.
    insignificant: Optional[float]
    #: The sum of what counts, in bits.
    total: Optional[float]
    kept: tuple[InspectKeptBit, ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectInformation:
    """The bitwise real information (Kloewer et al. 2021, Nature Computational Science 1, 713-724)."""

    #: Whose bits are looked at.
    data_type: str
    #: Codes where the chain makes integers of the elements.
    of: str
    #: The name of each bit from the most significant on: `sign`, `e1` and on, `m1` and on.
    bits: tuple[str, ...]
    #: In front of the significand.
    leading_bits: int
    dimensions: tuple[InspectDimensionInformation, ...]
    #: Along every dimension.
    kept: tuple[InspectKeptBit, ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectStage:
    """Of `stage` in `zarrcast inspect --json`."""

    codec: str
    #: In the chain.
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
    #: Whether they count inner chunks.
    inner: bool
    #: Of the stored object.
    key: str
    present: bool
    #: Where an inner chunk begins in its shard.
    offset: Optional[int]
    bytes_stored: Optional[int]
    #: The part of it that lies inside the array.
    shape: tuple[int, ...]
    #: A row for each codec, in decode order, up to the first that failed.
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
    #: Where the slice is taken along the other dimensions.
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
    #: The next step.
    help: Optional[str]
    #: As it was named on the command line.
    store: Optional[str]
    #: The path of the node, `/` or `/a/b`.
    node: Optional[str]
    #: Relative to the store.
    key: Optional[str]
    #: RFC 6901, into the document of the key.
    pointer: Optional[str]
    #: Indices of a chunk, or of a shard, in the stored grid.
    chunk: Optional[tuple[int, ...]]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectArray:
    """Of `array` in `zarrcast inspect --json`."""

    schema: Literal["zarrcast.inspect/2"]
    #: As it was named.
    store: str
    node_type: Literal["array"]
    path: str
    zarr_format: Optional[int]
    shape: Optional[tuple[int, ...]]
    data_type: Optional[Union[str, dict[str, Any]]]
    #: The spelling of v2, for a v2 array.
    data_type_v2: Any
    fill_value: Any
    #: Of the smallest unit that can be decoded alone; null where these are of several shapes.
    chunk_shape: Optional[tuple[int, ...]]
    #: Of the stored object of a sharded array; null where these are of several shapes.
    shard_shape: Optional[tuple[int, ...]]
    #: In the form of v3.
    chunk_grid: Optional[Union[str, dict[str, Any]]]
    chunk_key_encoding: Optional[Union[str, dict[str, Any]]]
    dimension_names: Optional[tuple[Optional[str], ...]]
    codecs: Optional[tuple[Union[str, dict[str, Any]], ...]]
    attributes: Optional[dict[str, Any]]
    pipeline: Optional[tuple[InspectCodec, ...]]
    storage: Optional[InspectStorage]
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
    """Sums over the arrays below it; those of unknown size are left out."""

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
    #: The spelling of v2, for a v2 array.
    data_type_v2: Any
    fill_value: Any
    #: Of the smallest unit that can be decoded alone; null where these are of several shapes.
    chunk_shape: Optional[tuple[int, ...]]
    #: Of the stored object of a sharded array; null where these are of several shapes.
    shard_shape: Optional[tuple[int, ...]]
    #: In the form of v3.
    chunk_grid: Optional[Union[str, dict[str, Any]]]
    chunk_key_encoding: Optional[Union[str, dict[str, Any]]]
    dimension_names: Optional[tuple[Optional[str], ...]]
    codecs: Optional[tuple[Union[str, dict[str, Any]], ...]]
    #: Of all elements.
    bytes_logical: Optional[int]
    #: Of the stored chunks.
    bytes_stored: Optional[int]
    stats: Optional[InspectStats]
    #: Of an array of floats that is no coordinate and not quantised, with --suggest.
    ways: Optional[InspectWays]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectGroup:
    """Of `group` in `zarrcast inspect --json`."""

    schema: Literal["zarrcast.inspect/2"]
    #: As it was named.
    store: str
    node_type: Literal["group"]
    path: str
    zarr_format: Optional[int]
    attributes: Optional[dict[str, Any]]
    #: Whether copies of the documents below it are with its own.
    consolidated: bool
    #: Sums over the arrays below it; those of unknown size are left out.
    totals: InspectGroupTotals
    #: All below it, by path.
    nodes: tuple[InspectNode, ...]
    warnings: tuple[Finding, ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ValidateFailure:
    """Of `failures` in `zarrcast validate --json`."""

    store: Optional[str]
    node: Optional[str]
    #: Of a chunk, relative to the store.
    key: Optional[str]
    message: str
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InspectSeveral:
    """Of several STOREs."""

    schema: Literal["zarrcast.inspect/2"]
    #: The documents of those that could be looked at, in the order in which they were given.
    stores: tuple[Union[InspectArray, InspectGroup], ...]
    #: The stores that could not be read.
    failures: tuple[ValidateFailure, ...]
    #: Of all stores.
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
    #: Why they are not equal, or could not be compared.
    reason: Optional[str]
    #: Elements compared.
    elements: int
    #: Elements that differ by more than the tolerance.
    differing: int
    max_abs_difference: Optional[float]
    max_rel_difference: Optional[float]
    #: Where the difference is greatest, the first such element in C order.
    at: Optional[tuple[int, ...]]
    #: The value there, as a fill value is written.
    value: Any
    #: The value of OTHER there.
    other_value: Any
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ValidateAgainst:
    """Of `against` in `zarrcast validate --json`."""

    other: str
    #: Whether every pair is equal, and none lacks its other.
    equal: bool
    nodes: tuple[ValidatePair, ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ValidateResult:
    """`zarrcast validate --json`: What is wrong with the stores. Members may be added within version 1; none is
    renamed, removed or given another meaning.
    """

    schema: Literal["zarrcast.validate/1"]
    #: Whether every STORE could be looked at and nothing is at error level; a comparison has its own `equal`.
    valid: bool
    #: `valid` alone where every chunk was decoded; `differs` where OTHER of `--against` does; `not valid`;
    #: else what was found right, and what was not looked at.
    verdict: str
    #: The share of the stored objects that was looked at; absent where all were.
    partition: Optional[ValidatePartition]
    #: Findings at error level, also those not shown.
    errors: int
    warnings: int
    infos: int
    #: What no rule could look at, by reason.
    unchecked: tuple[ValidateUnchecked, ...]
    #: The absent chunks of each array that has any; 100 ranges in all.
    absent: tuple[ValidateAbsent, ...]
    #: The stores, nodes and chunks that could not be read.
    failures: tuple[ValidateFailure, ...]
    #: Whether there are more findings than are shown.
    truncated: bool
    #: In stable order: store, node, documents, keys, chunks.
    findings: tuple[Finding, ...]
    #: The comparison, where one was asked for.
    against: Optional[ValidateAgainst]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodeArray:
    """An array's metadata, in v3 form."""

    zarr_format: int
    #: Null where a first pass decides.
    data_type: Optional[Union[str, dict[str, Any]]]
    fill_value: Any
    #: Of the smallest unit that can be decoded alone; null where these are of several shapes.
    chunk_shape: Optional[tuple[int, ...]]
    #: Of the stored object of a sharded array; null where these are of several shapes.
    shard_shape: Optional[tuple[int, ...]]
    codecs: tuple[Union[str, dict[str, Any]], ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodeQuality:
    """How much a quantisation shows, over points that are finite in SOURCE and in DEST. What is not defined is
    null.
    """

    #: Finite in SOURCE and in DEST.
    points: int
    #: The mean of DEST less SOURCE.
    bias: Optional[float]
    #: `20 log10(range of SOURCE / rms error)`, in dB; null of a constant SOURCE.
    psnr: Optional[float]
    #: Pearson's correlation coefficient; null where either side is constant.
    pearson: Optional[float]
    #: The share of points whose relative error is above 1e-4; where SOURCE is 0, the absolute one.
    relative_error_share: Optional[float]
    #: The greatest distance of the distribution functions of SOURCE and DEST; null where DEST can hold more
    #: than 2^20 different values.
    ks_statistic: Optional[float]
    #: The p-value of the two-sample Kolmogorov-Smirnov test, where there is a statistic.
    ks_p: Optional[float]
    #: The least DSSIM of all levels, the last two dimensions at each index of the others.
    dssim: Optional[float]
    #: The level that has it: its indices along the other dimensions.
    dssim_level: Optional[tuple[int, ...]]
    #: The share of zeros that stay 0; 1 where there are none.
    zeros_kept: Optional[float]
    #: The share of other numbers that keep their sign; 1 where there are none.
    signs_kept: Optional[float]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodeQuantization:
    """Of `quantization` in `zarrcast transcode --json`."""

    #: `bitround` where floats stay floats (--keep-bits): there are neither range nor codes nor a bound.
    as_: str
    #: The codes' type, or that of the floats.
    data_type: Optional[str]
    #: Of the significand, that floats keep.
    keep_bits: Optional[int]
    #: The share of the information that they were found to keep (--keep-bits auto).
    information: Optional[float]
    #: The least and the greatest value that the codes are for.
    range: Optional[tuple[Optional[Union[float, str]], ...]]
    offset: Optional[Union[float, str]]
    scale: Optional[Union[float, str]]
    #: |1/scale|, the distance of two codes' values.
    step: Optional[float]
    #: The first and the last code that numbers get.
    codes: Optional[tuple[int, ...]]
    nan_code: Optional[int]
    #: The dimensions along which differences of the codes are stored.
    predict: Optional[tuple[str, ...]]
    #: Elements.
    count: int
    #: NaN, missing values included.
    nan: Optional[int]
    #: Elements that got a bound.
    clamped: Optional[int]
    #: Over finite unclamped elements.
    max_abs_error: Optional[float]
    #: Over clamped elements.
    max_abs_error_clamped: Optional[float]
    #: Over finite unclamped elements.
    rms_error: Optional[float]
    #: What the greatest error may be.
    bound: Optional[float]
    #: Who reads the result.
    readers: Optional[str]
    #: An entry of `scalar_map.encode` for zarr-python 3.4.1 and 3.4.2: a value that no element has, and its
    #: code.
    reader_workaround: Optional[tuple[Optional[Union[float, str]], int]]
    #: With `--verify`, up to 16 bits.
    distinct_codes: Optional[int]
    #: Of stored chunks.
    bytes_source: Optional[int]
    #: Of stored chunks.
    bytes_destination: Optional[int]
    #: With `--quality` or `--require`.
    quality: Optional[TranscodeQuality]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodeVerify:
    """Of `verify` in `zarrcast transcode --json`."""

    #: In value, or under quantisation within the bound.
    equal: bool
    #: Elements compared.
    elements: int
    differing: int
    max_abs_error: Optional[float]
    #: Under quantisation.
    bound: Optional[float]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodeCompressionTried:
    """Of `tried` in `zarrcast transcode --json`."""

    #: In short, as --compress takes it; or numcodecs.pcodec.
    compress: str
    #: The dimensions along which differences are taken in front of it.
    predict: tuple[str, ...]
    #: Without typesize.
    codecs: tuple[Union[str, dict[str, Any]], ...]
    #: Of all chunks, estimated; null where the chain is not for these elements.
    bytes_stored: Optional[int]
    #: Why it is not.
    reason: Optional[str]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodeCompression:
    """What --compress auto chose: the quickest of those that take no more than a hundredth more than the least."""

    goal: str
    #: The compress of one of those that were tried; null of a plan that reads no chunk.
    chosen: Optional[str]
    #: The quicker ones first.
    tried: tuple[TranscodeCompressionTried, ...]
    sample: Optional[TranscodeSample]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodeEstimate:
    """What an array is thought to come to, from a sample of its chunks."""

    #: Of the stored chunks, with the indexes of shards.
    bytes_stored: int
    #: Wall time on this machine.
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
    #: Of what --select takes, the first index and the one after the last along each dimension; null where all
    #: is taken.
    selection: Optional[tuple[tuple[int, ...], ...]]
    #: Stored objects of the destination's grid.
    chunks: Optional[int]
    #: Of the source's grid, not stored.
    chunks_absent: Optional[int]
    #: Refused by the store, and taken for absent (--missing-status 403).
    chunks_refused: Optional[int]
    chunks_read: Optional[int]
    chunks_written: Optional[int]
    #: Of chunks, encoded.
    bytes_read: Optional[int]
    #: Of chunks, encoded.
    bytes_written: Optional[int]
    #: Of intermediate data.
    bytes_temporary: Optional[int]
    #: Of all elements, in the destination's data type.
    bytes_logical: Optional[int]
    #: Of the chunks that are taken, as SOURCE stores them; bytes_read counts those that are read again.
    bytes_source: Optional[int]
    #: Times that chunk data are read.
    passes: Optional[int]
    #: Pieces of work, of all passes.
    units: Optional[int]
    #: Chunks read by chunks needed, in the mean.
    read_amplification: Optional[float]
    #: Peak of the chunk data in flight.
    memory_bytes: Optional[int]
    quantization: Optional[TranscodeQuantization]
    verify: Optional[TranscodeVerify]
    #: With --compress auto.
    compression: Optional[TranscodeCompression]
    #: Of a plan, with --estimate.
    estimate: Optional[TranscodeEstimate]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodeTotals:
    """Sums of what is known of the nodes."""

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
    #: Keys copied that belong to no node.
    other_keys: int
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodePlan:
    """Of `plan` in `zarrcast transcode --json`."""

    #: Keys of DEST.
    keys: int
    #: Null in an object store.
    files: Optional[int]
    #: With DEST's own; null in an object store.
    folders: Optional[int]
    #: At least; null where SOURCE is local.
    requests_read: Optional[int]
    #: About; null where DEST is local.
    requests_write: Optional[int]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TranscodeResult:
    """`zarrcast transcode --json`: What was written, or with `--dry-run` would be. Members may be added within
    version 2; none is renamed, removed or given another meaning.
    """

    schema: Literal["zarrcast.transcode/2"]
    #: SOURCE, as it was named.
    source: str
    #: DEST, as it was named.
    destination: str
    #: Whether nothing was written.
    dry_run: bool
    #: Whether DEST is there and whole.
    complete: bool
    seconds: float
    #: By path.
    nodes: tuple[TranscodeNode, ...]
    totals: TranscodeTotals
    #: The objects that a plan makes at most, documents included; null of what is done.
    plan: Optional[TranscodePlan]
    #: Paths of arrays that are not quantised or rounded as others are: coordinates, and what CF attributes
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
    #: As --compress takes it; or numcodecs.pcodec.
    compress: str
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InitResult:
    """`zarrcast transcode --init --json`: How a job in parts was planned. Members may be added within version 1;
    none is renamed, removed or given another meaning.
    """

    schema: Literal["zarrcast.init/1"]
    #: SOURCE, as the user named it.
    source: str
    #: DEST, as the user named it.
    destination: str
    #: Parts of the pass that has most: fewer than asked for where there are fewer stored objects.
    partitions: int
    #: What is done one after the other.
    passes: tuple[InitPass, ...]
    #: What a part has in memory at most.
    memory_bytes: int
    #: Bytes of the elements of the largest part, about.
    bytes: int
    #: Stored objects that DEST will have, at most.
    objects: int
    #: What --compress auto chose, array by array.
    compressors: tuple[InitCompressor, ...]
    #: Whether the same plan was there already.
    was_there: bool
    warnings: tuple[Finding, ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class PartitionResult:
    """`zarrcast transcode --partition --json`: What a part of a job did. Members may be added within version 1;
    none is renamed, removed or given another meaning.
    """

    schema: Literal["zarrcast.partition/1"]
    #: SOURCE, as the user named it.
    source: str
    #: DEST, as the user named it.
    destination: str
    #: Whether the whole job was complete already.
    complete: bool
    #: Null where the whole job was complete.
    pass_: Optional[str]
    #: Its number, from 0.
    partition: int
    #: How many parts the pass has.
    partitions: int
    #: Whether it was done already, so that nothing was done.
    was_done: bool
    #: Stored objects written, by this run and those that it went on after.
    chunks_written: int
    #: Of chunks, encoded, from SOURCE.
    bytes_read: int
    #: Of chunks, encoded, to DEST or to the intermediate data.
    bytes_written: int
    #: Wall time.
    seconds: float
    warnings: tuple[Finding, ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class StatusPass:
    """Of `passes` in `zarrcast status --json`."""

    name: str
    partitions: int
    #: How many parts are done.
    done: int
    #: The others, as schedulers take them: `3,7-9`; counted from `--first-index`.
    missing: str
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class StatusResult:
    """`zarrcast transcode --status --json`: What is done of a job in parts; also of `--finish` where parts are
    missing or the job was complete. Members may be added within version 1; none is renamed, removed or given
    another meaning.
    """

    schema: Literal["zarrcast.status/1"]
    #: SOURCE, as the user named it.
    source: str
    #: DEST, as the user named it.
    destination: str
    #: Whether DEST is published.
    complete: bool
    #: In their order; none of a job that is complete.
    passes: tuple[StatusPass, ...]
    warnings: tuple[Finding, ...]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ApplyCodecStream:
    """Of `stream` in `zarrcast apply-codec --json`."""

    #: `-` for a standard stream.
    path: str
    #: Its size, a .npy header included.
    bytes: int
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ApplyCodecStage:
    """Of `stage` in `zarrcast apply-codec --json`."""

    #: Null for the input.
    codec: Optional[str]
    kind: Optional[str]
    #: In v3 form; null for bytes.
    data_type: Optional[Union[str, dict[str, Any]]]
    #: Null for bytes.
    shape: Optional[tuple[int, ...]]
    #: With `--fill-value`, of an array.
    fill_value: Any
    bytes: int
    #: The codec's time, the median of `--repeat`.
    seconds: Optional[float]
    #: Bytes of the decoded side by `seconds`.
    bytes_per_second: Optional[float]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ApplyCodecRoundTrip:
    """Of `round_trip` in `zarrcast apply-codec --json`."""

    bit_identical: bool
    #: Elements that differ in value: NaN equals NaN, and -0 equals 0.
    differing: int
    #: The greatest difference of two finite numbers.
    max_abs_error: Optional[float]
    #: Where that is, or else the first element that differs.
    at: Optional[tuple[int, ...]]
    #: Members that this version of the module does not know.
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ApplyCodecResult:
    """`zarrcast apply-codec --json`: What a codec chain did. Members may be added within version 1; none is
    renamed, removed or given another meaning.
    """

    schema: Literal["zarrcast.apply-codec/1"]
    direction: str
    #: INPUT, or the stored chunk.
    input: ApplyCodecStream
    #: OUTPUT, where there is one.
    output: Optional[ApplyCodecStream]
    #: The input, then a row for each codec, in the order in which they ran.
    stages: tuple[ApplyCodecStage, ...]
    #: With `--round-trip`: whether what was decoded is what was encoded.
    round_trip: Optional[ApplyCodecRoundTrip]
    #: With `--repeat`: how often it ran.
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
