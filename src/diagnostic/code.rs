//! The one table of codes. A code is never reused; a severity is what `validate` gives it.
//!
//! Families: ZM documents, ZD data types and fill values, ZC codecs, ZG chunk grids, ZK chunk keys, ZS shards,
//! ZX chunk data, ZH hierarchy.

use super::Severity;

/// An entry of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code {
    /// Two family letters and three digits.
    pub code: &'static str,
    /// Kebab-case.
    pub name: &'static str,
    /// What `validate` makes of it.
    pub severity: Severity,
}

/// An error by the current specification or registry page.
const fn error(code: &'static str, name: &'static str) -> Code {
    Code { code, name, severity: Severity::Error }
}

/// Read here, but not everywhere.
const fn warning(code: &'static str, name: &'static str) -> Code {
    Code { code, name, severity: Severity::Warning }
}

/// Worth knowing.
const fn info(code: &'static str, name: &'static str) -> Code {
    Code { code, name, severity: Severity::Info }
}

// ZM: documents
/// The document is not JSON.
pub const JSON_SYNTAX: Code = error("ZM001", "json-syntax");
/// The document is larger, deeper or has more values than this program reads.
pub const JSON_LIMIT: Code = error("ZM002", "json-limit");
/// `NaN`, `Infinity` or `-Infinity` as a bare word in attributes, or as the fill value of a v2 array.
pub const JSON_NOT_FINITE: Code = error("ZM003", "json-not-finite");
/// A member is given more than once: readers take the last, but need not.
pub const MEMBER_REPEATED: Code = error("ZM011", "member-repeated");
/// A name is repeated in the attributes: readers keep only the last.
pub const ATTRIBUTE_REPEATED: Code = warning("ZM012", "attribute-repeated");
/// A member that the specification requires is missing.
pub const MEMBER_MISSING: Code = error("ZM101", "member-missing");
/// A member that the specification does not have, without `"must_understand": false`.
pub const MEMBER_UNKNOWN: Code = error("ZM102", "member-unknown");
/// A member is of another JSON type than the specification says.
pub const MEMBER_TYPE: Code = error("ZM103", "member-type");
/// `zarr_format` is not 3 in a `zarr.json`, or not 2 in a `.zarray` or `.zgroup`.
pub const ZARR_FORMAT: Code = error("ZM104", "zarr-format");
/// `node_type` is neither "array" nor "group", or not the one that was expected.
pub const NODE_TYPE: Code = error("ZM105", "node-type");
/// The array has more dimensions than this program reads (64).
pub const RANK_LIMIT: Code = error("ZM106", "rank-limit");
/// The number of elements of the array does not fit into 64 bits.
pub const SHAPE_OVERFLOW: Code = error("ZM107", "shape-overflow");
/// There are more or fewer dimension names than dimensions.
pub const DIMENSION_NAMES_LENGTH: Code = error("ZM108", "dimension-names-length");
/// `dimension_names` is null: the specification wants it left out.
pub const DIMENSION_NAMES_NULL: Code = warning("ZM109", "dimension-names-null");
/// A storage transformer, of which none is known.
pub const STORAGE_TRANSFORMER: Code = error("ZM110", "storage-transformer");
/// An extension is written as its name alone: Zarr 3.1 allows it, most readers reject it.
pub const EXTENSION_STRING: Code = warning("ZM111", "extension-string");
/// A member of the array is not what `--expect` says.
pub const EXPECTATION_NOT_MET: Code = error("ZM301", "expectation-not-met");
/// The document of `--expect` names a member or a node that there is not.
pub const EXPECTATION_UNKNOWN: Code = error("ZM302", "expectation-unknown");
/// The values are not those of the array that `--against` names.
pub const VALUES_DIFFER: Code = error("ZM303", "values-differ");

/// A storage transformer that is not known, and says `"must_understand": false`: it is passed over.
pub const STORAGE_TRANSFORMER_PASSED_OVER: Code = warning("ZM112", "storage-transformer-passed-over");
/// The `dtype` of a v2 array is no type string and no list of fields that v2 has: its chunks can be copied.
pub const V2_DTYPE: Code = error("ZM201", "v2-dtype");
/// A v2 structure has fields that are arrays: its elements are read as raw bytes.
pub const V2_DTYPE_LAYOUT: Code = info("ZM202", "v2-dtype-layout");
/// The `order` of a v2 array is neither "C" nor "F".
pub const V2_ORDER: Code = error("ZM211", "v2-order");
/// A filter or the compressor of a v2 array is no object with an `id`.
pub const V2_CODEC: Code = error("ZM212", "v2-codec");
/// The `compressor` of a v2 array is a codec from array to array, which is a filter.
pub const V2_FILTER_AS_COMPRESSOR: Code = warning("ZM213", "v2-filter-as-compressor");
/// The `fill_value` of a v2 array is null: what absent chunks hold is undefined.
pub const V2_FILL_VALUE_NULL: Code = warning("ZM221", "v2-fill-value-null");
/// The `fill_value` of a v2 array is written in a form that only some readers take.
pub const V2_FILL_VALUE_FORM: Code = warning("ZM222", "v2-fill-value-form");
/// A v2 array named as xarray names it has a fill value by which nothing was masked in v3.
pub const V2_FILL_VALUE_MASKS: Code = warning("ZM223", "v2-fill-value-masks");
/// A v2 document has a member that v2 does not have: readers ignore it.
pub const V2_MEMBER_UNKNOWN: Code = warning("ZM231", "v2-member-unknown");
/// The `dtype` of a v2 array is a type that tensorstore added: no other reader knows it.
pub const V2_DTYPE_EXTENSION: Code = warning("ZM240", "v2-dtype-extension");

// ZG: chunk grids
/// The chunk grid's name is in no registry.
pub const GRID_UNREGISTERED: Code = warning("ZG101", "grid-unregistered");
/// The chunk grid is registered, but few readers have it.
pub const GRID_UNSUPPORTED: Code = info("ZG102", "grid-unsupported");
/// The chunk grid's configuration lacks `chunk_shape`, has other members, or is of a wrong type.
pub const GRID_CONFIGURATION: Code = error("ZG103", "grid-configuration");
/// The chunk shape has more or fewer dimensions than the array.
pub const CHUNK_SHAPE_RANK: Code = error("ZG104", "chunk-shape-rank");
/// A dimension of the chunk shape is zero.
pub const CHUNK_SHAPE_ZERO: Code = error("ZG105", "chunk-shape-zero");
/// A dimension of the chunk shape is zero where the array's length is, too: it is read as 1.
pub const CHUNK_SHAPE_ZERO_EMPTY: Code = warning("ZG108", "chunk-shape-zero-empty");
/// The number of elements of a chunk does not fit into 64 bits.
pub const CHUNK_SHAPE_OVERFLOW: Code = error("ZG106", "chunk-shape-overflow");
/// The chunks of a rectilinear grid do not cover the array.
pub const GRID_TOO_SHORT: Code = error("ZG107", "grid-too-short");

// ZK: chunk keys
/// The chunk key encoding is not one that this program follows: `default` and `v2`.
pub const KEY_ENCODING_UNKNOWN: Code = error("ZK101", "key-encoding-unknown");
/// The chunk key encoding is in no registry, though this program follows it.
pub const KEY_ENCODING_UNREGISTERED: Code = warning("ZK102", "key-encoding-unregistered");
/// The separator of the chunk keys is neither "/" nor ".".
pub const KEY_SEPARATOR: Code = error("ZK103", "key-separator");
/// The suffix of the chunk keys is not plain: it could lead out of the array.
pub const KEY_SUFFIX: Code = error("ZK104", "key-suffix");
/// The chunk key encoding's configuration has unknown members or is of a wrong type.
pub const KEY_ENCODING_CONFIGURATION: Code = error("ZK105", "key-encoding-configuration");

/// A key that belongs to no chunk of the grid, nor to the metadata.
pub const KEY_UNKNOWN: Code = warning("ZK201", "key-unknown");
/// A temporary file of a writer that was interrupted.
pub const KEY_TEMPORARY: Code = warning("ZK202", "key-temporary");
/// A chunk outside of the grid: no reader looks at it.
pub const KEY_OUTSIDE_GRID: Code = warning("ZK203", "key-outside-grid");
/// A link that leads out of the store, or nowhere.
pub const LINK_LEADS_AWAY: Code = warning("ZK204", "link-leads-away");
/// A link to a folder, which is not followed.
pub const LINK_TO_FOLDER: Code = warning("ZK205", "link-to-folder");
/// A name that is no UTF-8.
pub const KEY_NOT_UTF8: Code = warning("ZK206", "key-not-utf8");
/// A folder in which neither nodes nor chunks lie.
pub const FOLDER_UNKNOWN: Code = warning("ZK207", "folder-unknown");
/// The file system of a destination has no locks.
pub const NOT_LOCKED: Code = warning("ZK208", "not-locked");

/// Something else than a file (a folder, a FIFO, a device) stands where an object should be.
pub const OBJECT_NOT_A_FILE: Code = error("ZK211", "object-not-a-file");
/// An object of another size than its codecs give.
pub const OBJECT_SIZE: Code = error("ZK212", "object-size");
/// An object larger than its codecs can make it.
pub const OBJECT_TOO_LARGE: Code = error("ZK213", "object-too-large");
/// Chunks that are absent: they read as the fill value.
pub const CHUNKS_ABSENT: Code = info("ZK221", "chunks-absent");
/// No chunk is stored. Writers leave out what holds only the fill value, so this alone is no fault.
pub const CHUNKS_NONE: Code = info("ZK222", "chunks-none");

// ZD: data types and fill values
/// The data type's name is in no registry: few readers know it.
pub const DATA_TYPE_UNREGISTERED: Code = warning("ZD101", "data-type-unregistered");
/// The data type is registered, but this program does not decode it to elements.
pub const DATA_TYPE_UNSUPPORTED: Code = info("ZD102", "data-type-unsupported");
/// The data type is neither a name nor an object of name and configuration, or its configuration is wrong.
pub const DATA_TYPE_INVALID: Code = error("ZD103", "data-type-invalid");
/// The data type is not of whole bytes: zarr-python cannot open such an array. `transcode` says so of every float of the
/// registry alone (`bfloat16`, `float8_e4m3`) that it writes anew, too.
pub const DATA_TYPE_SUB_BYTE: Code = warning("ZD104", "data-type-sub-byte");
/// The data type goes by a name that is only read any more: `structured`, now `struct`.
pub const DATA_TYPE_LEGACY: Code = warning("ZD105", "data-type-legacy");
/// A field of `struct` is a pair instead of an object of name and data type.
pub const STRUCT_FIELD_PAIR: Code = error("ZD106", "struct-field-pair");
/// `transcode` writes a data type of the specification that zarr-python does not read (`r32`).
pub const DATA_TYPE_UNREAD: Code = warning("ZD107", "data-type-unread");
/// The data type's name is not one that a data type can have, or is nearly that of a known one.
pub const DATA_TYPE_MISNAMED: Code = error("ZD108", "data-type-misnamed");
/// The fill value is no value of the data type.
pub const FILL_VALUE_INVALID: Code = error("ZD201", "fill-value-invalid");
/// An integer is written with a fraction or an exponent (`5.0`, `1e3`).
pub const INTEGER_WITH_FRACTION: Code = error("ZD202", "integer-with-fraction");
/// An integer is written as a string (`"5"`).
pub const INTEGER_AS_STRING: Code = error("ZD203", "integer-as-string");
/// An infinity is written "+Infinity": zarrs and tensorstore reject it.
pub const PLUS_INFINITY: Code = warning("ZD204", "plus-infinity");
/// A number is beyond the range of the float type and is read as an infinity.
pub const FLOAT_OVERFLOW: Code = warning("ZD205", "float-overflow");
/// A raw value is written in base64 instead of as an array of bytes.
pub const RAW_AS_BASE64: Code = error("ZD206", "raw-as-base64");
/// The value of a `struct` is written in base64 instead of as an object of fields.
pub const STRUCT_AS_BASE64: Code = error("ZD207", "struct-as-base64");

// ZC: codecs
/// There are no codecs: at least one must turn the array into bytes.
pub const CODECS_EMPTY: Code = error("ZC101", "codecs-empty");
/// The codecs are not array->array, then one array->bytes, then bytes->bytes.
pub const CODEC_ORDER: Code = error("ZC102", "codec-order");
/// The codec is not known, and must be to decode the array: a name that no registry has is no error in itself.
pub const CODEC_UNKNOWN: Code = warning("ZC103", "codec-unknown");
/// The codec's name is in no registry.
pub const CODEC_UNREGISTERED: Code = warning("ZC104", "codec-unregistered");
/// The codec is registered, but this program does not decode it.
pub const CODEC_UNSUPPORTED: Code = info("ZC105", "codec-unsupported");
/// The codec says `"must_understand": false`: a reader that does not know it passes it over.
pub const CODEC_PASSED_OVER: Code = warning("ZC106", "codec-passed-over");
/// The codec's name is not one that a codec can have, or is nearly that of a known codec.
pub const CODEC_MISNAMED: Code = error("ZC107", "codec-misnamed");
/// The codec's configuration has a member that the codec does not have.
pub const CONFIGURATION_UNKNOWN: Code = error("ZC111", "configuration-unknown");
/// The codec's configuration lacks a member that the codec requires.
pub const CONFIGURATION_MISSING: Code = error("ZC112", "configuration-missing");
/// A member of the codec's configuration is of another JSON type.
pub const CONFIGURATION_TYPE: Code = error("ZC113", "configuration-type");
/// A member of the codec's configuration has a value that the codec does not allow.
pub const CONFIGURATION_VALUE: Code = error("ZC114", "configuration-value");
/// The codec cannot encode the data type that reaches it.
pub const CODEC_DATA_TYPE: Code = error("ZC115", "codec-data-type");
/// The codec cannot encode a chunk of so many dimensions.
pub const CODEC_DIMENSIONS: Code = error("ZC116", "codec-dimensions");
/// `bytes` has no `endian` though the data type has more than one byte; it is read as little.
pub const ENDIAN_MISSING: Code = error("ZC201", "endian-missing");
/// `bytes` has no `endian` for a `structured` of old: it is little.
pub const ENDIAN_MISSING_LEGACY: Code = warning("ZC202", "endian-missing-legacy");
/// `order` is not a permutation of the dimensions.
pub const TRANSPOSE_ORDER: Code = error("ZC211", "transpose-order");
/// `order` is "C" or "F", which the specification no longer has: zarr-python and zarrs reject it.
pub const TRANSPOSE_ORDER_LETTER: Code = warning("ZC212", "transpose-order-letter");
/// `shape` of `reshape` is none, or does not fit the chunk.
pub const RESHAPE_SHAPE: Code = error("ZC213", "reshape-shape");
/// The fill value does not come back from `bitround` bit for bit.
pub const BITROUND_FILL_VALUE_LOST: Code = warning("ZC214", "bitround-fill-value-lost");
/// Chunks are encoded anew by `delta` of floats, which does not give back every value.
pub const DELTA_LOSSY: Code = warning("ZC215", "delta-lossy");
/// `scale_offset` on a type that is neither an integer nor a real float.
pub const SCALE_OFFSET_DATA_TYPE: Code = error("ZC221", "scale-offset-data-type");
/// `offset` or `scale` is no value of the data type that reaches the codec.
pub const SCALE_OFFSET_SCALAR: Code = error("ZC222", "scale-offset-scalar");
/// `scale` is zero: nothing could be decoded.
pub const SCALE_OFFSET_SCALE_ZERO: Code = error("ZC223", "scale-offset-scale-zero");
/// The fill value cannot be encoded by `scale_offset`.
pub const SCALE_OFFSET_FILL_VALUE: Code = error("ZC224", "scale-offset-fill-value");
/// The fill value does not come back from `scale_offset` bit for bit.
pub const SCALE_OFFSET_FILL_VALUE_LOST: Code = warning("ZC225", "scale-offset-fill-value-lost");
/// `cast_value` from or to a type that is neither an integer nor a real float.
pub const CAST_VALUE_DATA_TYPE: Code = error("ZC231", "cast-value-data-type");
/// `out_of_range` is "wrap", but `data_type` is not an integer type.
pub const CAST_VALUE_WRAP: Code = error("ZC232", "cast-value-wrap");
/// An entry of `scalar_map` is no pair of values of the two data types.
pub const CAST_VALUE_SCALAR: Code = error("ZC233", "cast-value-scalar");
/// A key of `scalar_map` is repeated: the registry takes the first, zarr-python the last.
pub const CAST_VALUE_SCALAR_REPEATED: Code = warning("ZC234", "cast-value-scalar-repeated");
/// An integer type is cast to a float type that does not hold all of its values.
pub const CAST_VALUE_LOSSY: Code = warning("ZC235", "cast-value-lossy");
/// The fill value cannot be cast.
pub const CAST_VALUE_FILL_VALUE: Code = error("ZC236", "cast-value-fill-value");
/// The fill value does not come back from `cast_value` bit for bit.
pub const CAST_VALUE_FILL_VALUE_LOST: Code = error("ZC237", "cast-value-fill-value-lost");
/// The inner chunk shape does not divide the chunk shape, or is of another rank.
pub const SHARDING_SHAPE: Code = error("ZC241", "sharding-shape");
/// The index codecs are not of fixed size, or not valid for the index.
pub const SHARDING_INDEX_CODECS: Code = error("ZC242", "sharding-index-codecs");
/// The codecs of `n5_default` are not those that N5 has.
pub const N5_CODECS: Code = error("ZC251", "n5-codecs");
/// The fill value was moved to the nearest value that quantisation brings back.
pub const QUANTIZE_FILL_VALUE_MOVED: Code = warning("ZC302", "quantize-fill-value-moved");
/// Values outside the range were clamped, or wrapped.
pub const QUANTIZE_CLAMPED: Code = warning("ZC303", "quantize-clamped");
/// The CF conventions have no packed type like that of the codes.
pub const QUANTIZE_CF_TYPE: Code = warning("ZC304", "quantize-cf-type");
/// Some versions of a reader do not open what is written.
pub const QUANTIZE_READERS: Code = warning("ZC305", "quantize-readers");

// ZS: shards
/// The shard is shorter than its index.
pub const SHARD_TRUNCATED: Code = error("ZS101", "shard-truncated");
/// An entry of the shard index lies outside of the shard, or the index does not decode.
pub const SHARD_INDEX: Code = error("ZS102", "shard-index");
/// Inner chunks of a shard overlap.
pub const SHARD_OVERLAP: Code = error("ZS103", "shard-overlap");
/// Inner chunks of a shard are the same bytes: some readers write to them as if they were not.
pub const SHARD_CHUNKS_SHARED: Code = warning("ZS104", "shard-chunks-shared");
/// An entry of a shard index names bytes of the index.
pub const SHARD_ENTRY_IN_INDEX: Code = error("ZS105", "shard-entry-in-index");
/// Bytes of a shard belong to no inner chunk.
pub const SHARD_GAPS: Code = info("ZS106", "shard-gaps");
/// An inner chunk of another size than its codecs give.
pub const INNER_CHUNK_SIZE: Code = error("ZS107", "inner-chunk-size");

// ZX: chunk data
/// A chunk does not decode.
pub const CHUNK_CORRUPT: Code = error("ZX101", "chunk-corrupt");
/// A chunk decodes to another length than its shape and type have.
pub const CHUNK_LENGTH: Code = error("ZX102", "chunk-length");
/// A stored element is no value of its data type, or cannot be decoded.
pub const CHUNK_VALUE: Code = error("ZX103", "chunk-value");
/// Chunks were not looked at, and why.
pub const NOT_CHECKED: Code = info("ZX104", "not-checked");
/// No codec of the array has a checksum: damage that decodes goes unseen.
pub const NO_CHECKSUM: Code = info("ZX105", "no-checksum");
/// Statistics were asked for of values that are no real numbers.
pub const NO_STATISTICS: Code = info("ZX201", "no-statistics");

// ZH: hierarchy
/// There is no Zarr node.
pub const NODE_MISSING: Code = error("ZH101", "node-missing");
/// A folder has nodes in it but no group's document: readers do not find them.
pub const GROUP_IMPLICIT: Code = warning("ZH102", "group-implicit");
/// Folders are nested deeper than this program looks (128).
pub const HIERARCHY_DEPTH: Code = error("ZH103", "hierarchy-depth");
/// The name of a node is nothing but periods, or begins with `__`.
pub const NODE_NAME: Code = error("ZH104", "node-name");
/// Documents of Zarr v2 stand beside a `zarr.json`, which counts: readers of v2 see another node.
pub const FORMATS_BESIDE: Code = warning("ZH111", "formats-beside");
/// A `.zgroup` stands beside a `.zarray`: no node is both.
pub const ARRAY_AND_GROUP: Code = error("ZH112", "array-and-group");
/// A node of one format lies in a group of the other, whose readers do not see it.
pub const FORMATS_MIXED: Code = warning("ZH113", "formats-mixed");
/// Consolidated metadata are not of the form that their readers expect.
pub const CONSOLIDATED_FORM: Code = error("ZH201", "consolidated-form");
/// A copy in consolidated metadata is not what the document says now: who reads the copy reads something else.
pub const CONSOLIDATED_STALE: Code = error("ZH202", "consolidated-stale");
/// Consolidated metadata lack a node: who reads them does not see it.
pub const CONSOLIDATED_INCOMPLETE: Code = warning("ZH203", "consolidated-incomplete");
/// Consolidated metadata have a copy of what is not there.
pub const CONSOLIDATED_MISSING: Code = error("ZH204", "consolidated-missing");
/// A path in consolidated metadata does not lead to something below the group.
pub const CONSOLIDATED_PATH: Code = error("ZH205", "consolidated-path");

/// Every code, sorted.
pub const ALL: &[Code] = &[
    CODECS_EMPTY,
    CODEC_ORDER,
    CODEC_UNKNOWN,
    CODEC_UNREGISTERED,
    CODEC_UNSUPPORTED,
    CODEC_PASSED_OVER,
    CODEC_MISNAMED,
    CONFIGURATION_UNKNOWN,
    CONFIGURATION_MISSING,
    CONFIGURATION_TYPE,
    CONFIGURATION_VALUE,
    CODEC_DATA_TYPE,
    CODEC_DIMENSIONS,
    ENDIAN_MISSING,
    ENDIAN_MISSING_LEGACY,
    TRANSPOSE_ORDER,
    TRANSPOSE_ORDER_LETTER,
    RESHAPE_SHAPE,
    BITROUND_FILL_VALUE_LOST,
    DELTA_LOSSY,
    SCALE_OFFSET_DATA_TYPE,
    SCALE_OFFSET_SCALAR,
    SCALE_OFFSET_SCALE_ZERO,
    SCALE_OFFSET_FILL_VALUE,
    SCALE_OFFSET_FILL_VALUE_LOST,
    CAST_VALUE_DATA_TYPE,
    CAST_VALUE_WRAP,
    CAST_VALUE_SCALAR,
    CAST_VALUE_SCALAR_REPEATED,
    CAST_VALUE_LOSSY,
    CAST_VALUE_FILL_VALUE,
    CAST_VALUE_FILL_VALUE_LOST,
    SHARDING_SHAPE,
    SHARDING_INDEX_CODECS,
    N5_CODECS,
    QUANTIZE_FILL_VALUE_MOVED,
    QUANTIZE_CLAMPED,
    QUANTIZE_CF_TYPE,
    QUANTIZE_READERS,
    DATA_TYPE_UNREGISTERED,
    DATA_TYPE_UNSUPPORTED,
    DATA_TYPE_INVALID,
    DATA_TYPE_SUB_BYTE,
    DATA_TYPE_LEGACY,
    STRUCT_FIELD_PAIR,
    DATA_TYPE_UNREAD,
    DATA_TYPE_MISNAMED,
    FILL_VALUE_INVALID,
    INTEGER_WITH_FRACTION,
    INTEGER_AS_STRING,
    PLUS_INFINITY,
    FLOAT_OVERFLOW,
    RAW_AS_BASE64,
    STRUCT_AS_BASE64,
    GRID_UNREGISTERED,
    GRID_UNSUPPORTED,
    GRID_CONFIGURATION,
    CHUNK_SHAPE_RANK,
    CHUNK_SHAPE_ZERO,
    CHUNK_SHAPE_OVERFLOW,
    GRID_TOO_SHORT,
    CHUNK_SHAPE_ZERO_EMPTY,
    NODE_MISSING,
    GROUP_IMPLICIT,
    HIERARCHY_DEPTH,
    NODE_NAME,
    FORMATS_BESIDE,
    ARRAY_AND_GROUP,
    FORMATS_MIXED,
    CONSOLIDATED_FORM,
    CONSOLIDATED_STALE,
    CONSOLIDATED_INCOMPLETE,
    CONSOLIDATED_MISSING,
    CONSOLIDATED_PATH,
    KEY_ENCODING_UNKNOWN,
    KEY_ENCODING_UNREGISTERED,
    KEY_SEPARATOR,
    KEY_SUFFIX,
    KEY_ENCODING_CONFIGURATION,
    KEY_UNKNOWN,
    KEY_TEMPORARY,
    KEY_OUTSIDE_GRID,
    LINK_LEADS_AWAY,
    LINK_TO_FOLDER,
    KEY_NOT_UTF8,
    FOLDER_UNKNOWN,
    NOT_LOCKED,
    OBJECT_NOT_A_FILE,
    OBJECT_SIZE,
    OBJECT_TOO_LARGE,
    CHUNKS_ABSENT,
    CHUNKS_NONE,
    JSON_SYNTAX,
    JSON_LIMIT,
    JSON_NOT_FINITE,
    MEMBER_REPEATED,
    ATTRIBUTE_REPEATED,
    MEMBER_MISSING,
    MEMBER_UNKNOWN,
    MEMBER_TYPE,
    ZARR_FORMAT,
    NODE_TYPE,
    RANK_LIMIT,
    SHAPE_OVERFLOW,
    DIMENSION_NAMES_LENGTH,
    DIMENSION_NAMES_NULL,
    STORAGE_TRANSFORMER,
    EXTENSION_STRING,
    STORAGE_TRANSFORMER_PASSED_OVER,
    V2_DTYPE,
    V2_DTYPE_LAYOUT,
    V2_ORDER,
    V2_CODEC,
    V2_FILTER_AS_COMPRESSOR,
    V2_FILL_VALUE_NULL,
    V2_FILL_VALUE_FORM,
    V2_FILL_VALUE_MASKS,
    V2_MEMBER_UNKNOWN,
    V2_DTYPE_EXTENSION,
    EXPECTATION_NOT_MET,
    EXPECTATION_UNKNOWN,
    VALUES_DIFFER,
    SHARD_TRUNCATED,
    SHARD_INDEX,
    SHARD_OVERLAP,
    SHARD_CHUNKS_SHARED,
    SHARD_ENTRY_IN_INDEX,
    SHARD_GAPS,
    INNER_CHUNK_SIZE,
    CHUNK_CORRUPT,
    CHUNK_LENGTH,
    CHUNK_VALUE,
    NOT_CHECKED,
    NO_CHECKSUM,
    NO_STATISTICS,
];

/// Codes that are not given any more, and never used again. Options take them still.
pub const RETIRED: &[Code] = &[info("ZC301", "quantize-code-reserved")];

/// The entry of a code or a name, as options such as `--deny` give it.
pub fn find(code_or_name: &str) -> Option<Code> {
    ALL.iter().chain(RETIRED).copied().find(|entry| entry.code == code_or_name || entry.name == code_or_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_unique_and_well_formed() {
        let mut sorted = ALL.to_vec();
        sorted.sort_by_key(|entry| entry.code);
        assert_eq!(sorted, ALL);
        let mut names: Vec<_> = ALL.iter().map(|entry| entry.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len(), "a name is used twice");
        assert!(ALL.windows(2).all(|pair| pair[0].code != pair[1].code), "a code is used twice");
        for retired in RETIRED {
            assert!(ALL.iter().all(|entry| entry.code != retired.code && entry.name != retired.name));
        }
        for entry in ALL.iter().chain(RETIRED) {
            let (family, number) = entry.code.split_at(2);
            assert!(["ZM", "ZD", "ZC", "ZG", "ZK", "ZS", "ZX", "ZH"].contains(&family), "{}", entry.code);
            assert!(number.len() == 3 && number.bytes().all(|byte| byte.is_ascii_digit()), "{}", entry.code);
            assert!(
                entry
                    .name
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            );
        }
    }

    #[test]
    fn table_holds_every_constant() {
        let declared = include_str!("code.rs").matches("\npub const ").count() - 2;
        assert_eq!(declared, ALL.len());
    }

    #[test]
    fn codes_are_found_by_code_and_by_name() {
        assert_eq!(find("ZM101"), Some(MEMBER_MISSING));
        assert_eq!(find("member-missing"), Some(MEMBER_MISSING));
        assert_eq!(find("ZZ999"), None);
    }
}
