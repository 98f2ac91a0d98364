//! The table of all codes. A row has the code, its constant, its severity, and the profiles with another severity. A
//! code is never used again.
//!
//! The page of a code is `page/CODE.md`. The heading of the page has the name of the code.
//!
//! Families: ZM documents, ZD data types and fill values, ZC codecs, ZG chunk grids, ZK chunk keys, ZS shards, ZX chunk
//! data, ZH hierarchy.

use super::{Diagnostic, Profile, Severity, spelling};

/// An entry of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// Two family letters and three digits.
    pub code: &'static str,
    /// The severity in `validate`.
    pub severity: Severity,
    /// The profiles with another severity.
    pub(super) exceptions: &'static [(Profile, Severity)],
    /// The page that `--explain` prints: Markdown of at most 80 columns.
    pub(super) page: &'static str,
}

/// Makes an entry from a row: code, severity, and in parentheses the profiles with another severity.
macro_rules! entry {
    ($code:ident $severity:ident $($profile:ident $other:ident)*) => {
        Code {
            code: stringify!($code),
            severity: Severity::$severity,
            exceptions: &[$((Profile::$profile, Severity::$other)),*],
            page: include_str!(concat!("page/", stringify!($code), ".md")),
        }
    };
}

/// Makes a constant for each row, and [`ALL`].
macro_rules! codes {
    ($($(#[$doc:meta])+ $code:ident $name:ident $severity:ident $(($($profile:ident = $other:ident),+))?;)+) => {
        $($(#[$doc])+ pub const $name: Code = entry!($code $severity $($($profile $other)+)?);)+

        /// Every code, sorted.
        pub const ALL: &[Code] = &[$($name),+];
    };
}

// The severity is that of `validate`. The parentheses name profiles with another one; profiles made from these inherit
// it.
codes! {
    // ZC: codecs
    /// The list of codecs is empty. At least one codec must turn the array into bytes.
    ZC101 CODECS_EMPTY Error;
    /// The codecs are not in the order array->array, one array->bytes, bytes->bytes.
    ZC102 CODEC_ORDER Error;
    /// The codec is unknown, so the array cannot be decoded. A name that no registry has is no error in itself.
    ZC103 CODEC_UNKNOWN Warning;
    /// The codec's name is in no registry.
    ZC104 CODEC_UNREGISTERED Warning;
    /// The codec is registered, but this program does not decode it.
    ZC105 CODEC_UNSUPPORTED Info (Values = Error);
    /// The codec has `"must_understand": false`: a reader that does not know it skips it.
    ZC106 CODEC_PASSED_OVER Warning;
    /// The codec's name is not a valid codec name, or is nearly that of a known codec.
    ZC107 CODEC_MISNAMED Error;
    /// The codec's configuration has a member that the codec does not define.
    ZC111 CONFIGURATION_UNKNOWN Error;
    /// The codec's configuration lacks a member that the codec requires.
    ZC112 CONFIGURATION_MISSING Error;
    /// A member of the codec's configuration has the wrong JSON type.
    ZC113 CONFIGURATION_TYPE Error;
    /// A member of the codec's configuration has a value that the codec does not allow.
    ZC114 CONFIGURATION_VALUE Error;
    /// The codec cannot encode the data type that reaches it.
    ZC115 CODEC_DATA_TYPE Error;
    /// The codec cannot encode a chunk of this number of dimensions.
    ZC116 CODEC_DIMENSIONS Error;
    /// `bytes` has no `endian` although the data type has more than one byte. It is read as little-endian.
    ZC201 ENDIAN_MISSING Error (Read = Warning);
    /// `bytes` has no `endian` for the old `structured`: it is little.
    ZC202 ENDIAN_MISSING_LEGACY Warning;
    /// `order` is not a permutation of the dimensions.
    ZC211 TRANSPOSE_ORDER Error;
    /// `order` is "C" or "F", which the specification no longer has: zarr-python and zarrs reject it.
    ZC212 TRANSPOSE_ORDER_LETTER Warning;
    /// `shape` of `reshape` is not a shape, or does not fit the chunk.
    ZC213 RESHAPE_SHAPE Error;
    /// `bitround` does not return the fill value bit for bit.
    ZC214 BITROUND_FILL_VALUE_LOST Warning;
    /// Chunks are encoded again by `delta` of floats, or a filter in float16, which does not return every value exactly.
    ZC215 DELTA_LOSSY Warning;
    /// Chunks are encoded again by `zfp` or `numcodecs.zfpy` in a mode that rounds.
    ZC216 ZFP_LOSSY Warning;
    /// `scale_offset` on a type that is neither an integer nor a real float.
    ZC221 SCALE_OFFSET_DATA_TYPE Error;
    /// `offset` or `scale` is not a value of the data type that reaches the codec.
    ZC222 SCALE_OFFSET_SCALAR Error;
    /// `scale` is zero, so nothing can be decoded.
    ZC223 SCALE_OFFSET_SCALE_ZERO Error;
    /// The fill value cannot be encoded by `scale_offset`.
    ZC224 SCALE_OFFSET_FILL_VALUE Error;
    /// `scale_offset` does not return the fill value bit for bit.
    ZC225 SCALE_OFFSET_FILL_VALUE_LOST Warning (Write = Error);
    /// `cast_value` from or to a type that is neither an integer nor a real float.
    ZC231 CAST_VALUE_DATA_TYPE Error;
    /// `out_of_range` is "wrap", but `data_type` is not an integer type.
    ZC232 CAST_VALUE_WRAP Error;
    /// An entry of `scalar_map` is not a pair of values of the two data types.
    ZC233 CAST_VALUE_SCALAR Error;
    /// A key of `scalar_map` is repeated: the registry uses the first entry, zarr-python the last.
    ZC234 CAST_VALUE_SCALAR_REPEATED Warning;
    /// An integer type is cast to a float type that cannot represent all of its values.
    ZC235 CAST_VALUE_LOSSY Warning;
    /// The fill value cannot be cast.
    ZC236 CAST_VALUE_FILL_VALUE Error;
    /// `cast_value` does not return the fill value bit for bit.
    ZC237 CAST_VALUE_FILL_VALUE_LOST Error (AnyFillValue = Warning);
    /// The inner chunk shape does not divide the chunk shape, or has another rank.
    ZC241 SHARDING_SHAPE Error;
    /// The index codecs have no fixed size, or are not valid for the index.
    ZC242 SHARDING_INDEX_CODECS Error;
    /// The fill value was moved to the nearest value that quantisation returns exactly.
    ZC302 QUANTIZE_FILL_VALUE_MOVED Warning;
    /// Values outside the range were clamped, or wrapped.
    ZC303 QUANTIZE_CLAMPED Warning;
    /// The CF conventions have no packed type like the type of the codes.
    ZC304 QUANTIZE_CF_TYPE Warning;
    /// Some versions of a reader cannot open the written array.
    ZC305 QUANTIZE_READERS Warning;
    /// `--keep-bits auto` found no information to decide by, so all bits are kept.
    ZC306 KEEP_BITS_NO_INFORMATION Warning;
    /// The step of a quantisation leaves few codes in use.
    ZC307 QUANTIZE_FEW_CODES Warning;
    /// A change of data type rounded most values to integers.
    ZC308 DATA_TYPE_ROUNDED Warning;
    /// Attributes that mask values are changed to match the codes of a quantisation.
    ZC309 QUANTIZE_ATTRIBUTES Info;
    /// A reader returns other values of integers that are stored as differences.
    ZC310 PREDICT_READERS Warning;
    /// A change of data type gave numbers the value of `--nan-value`.
    ZC311 NAN_VALUE_TAKEN Warning;

    // ZD: data types and fill values
    /// The data type's name is in no registry: few readers know it.
    ZD101 DATA_TYPE_UNREGISTERED Warning;
    /// The data type is registered, but this program does not decode it to elements.
    ZD102 DATA_TYPE_UNSUPPORTED Info;
    /// The data type is neither a name nor an object of name and configuration, or its configuration is wrong.
    ZD103 DATA_TYPE_INVALID Error;
    /// The data type is not of whole bytes: zarr-python cannot open such an array. `transcode` also reports it when it
    /// writes a float type that only the registry has (`bfloat16`, `float8_e4m3`).
    ZD104 DATA_TYPE_SUB_BYTE Warning;
    /// The data type has a legacy name: `structured`, now `struct`. Such a name is read but not written.
    ZD105 DATA_TYPE_LEGACY Warning;
    /// A field of `struct` is a pair instead of an object of name and data type.
    ZD106 STRUCT_FIELD_PAIR Error (Read = Warning);
    /// `transcode` writes a data type of the specification that zarr-python does not read (`r32`).
    ZD107 DATA_TYPE_UNREAD Warning;
    /// The data type's name is not a valid name, or is nearly that of a known one.
    ZD108 DATA_TYPE_MISNAMED Error;
    /// The fill value is not a value of the data type.
    ZD201 FILL_VALUE_INVALID Error;
    /// An integer is written with a fraction or an exponent (`5.0`, `1e3`).
    ZD202 INTEGER_WITH_FRACTION Error (Read = Warning);
    /// An integer is written as a string (`"5"`).
    ZD203 INTEGER_AS_STRING Error (Read = Warning);
    /// An infinity is written "+Infinity": zarrs and tensorstore reject it.
    ZD204 PLUS_INFINITY Warning;
    /// A number is outside the range of the float type and is read as an infinity.
    ZD205 FLOAT_OVERFLOW Warning;
    /// A raw value is written in base64 instead of as an array of bytes.
    ZD206 RAW_AS_BASE64 Error (Read = Warning);
    /// The value of a `struct` is written in base64 instead of as an object of fields.
    ZD207 STRUCT_AS_BASE64 Error (Read = Warning);

    // ZG: chunk grids
    /// The chunk grid's name is in no registry.
    ZG101 GRID_UNREGISTERED Warning;
    /// The chunk grid is registered, but few readers support it.
    ZG102 GRID_FEW_READERS Info (Values = Error);
    /// The chunk grid's configuration lacks `chunk_shape`, has other members, or has a wrong type.
    ZG103 GRID_CONFIGURATION Error;
    /// The chunk shape has more or fewer dimensions than the array.
    ZG104 CHUNK_SHAPE_RANK Error;
    /// A dimension of the chunk shape is zero.
    ZG105 CHUNK_SHAPE_ZERO Error;
    /// The number of elements of a chunk does not fit into 64 bits.
    ZG106 CHUNK_SHAPE_OVERFLOW Error;
    /// The chunks of a rectilinear grid do not cover the array.
    ZG107 GRID_TOO_SHORT Error;
    /// A dimension of the chunk shape is zero, and the array's length there is zero, too. It is read as 1.
    ZG108 CHUNK_SHAPE_ZERO_EMPTY Warning;

    // ZH: hierarchy
    /// There is no Zarr node.
    ZH101 NODE_MISSING Error;
    /// A folder contains nodes but no group document. Readers do not find these nodes.
    ZH102 GROUP_IMPLICIT Warning;
    /// Folders are nested deeper than this program reads (128).
    ZH103 HIERARCHY_DEPTH Error;
    /// The name of a node contains only periods, or begins with `__`.
    ZH104 NODE_NAME Error (Read = Warning);
    /// Zarr v2 documents are next to a `zarr.json`. The `zarr.json` counts, so readers of v2 see another node.
    ZH111 FORMATS_BESIDE Warning;
    /// A `.zgroup` is next to a `.zarray`: no node is both.
    ZH112 ARRAY_AND_GROUP Error;
    /// A node of one format is in a group of the other. Readers of the group's format do not see it.
    ZH113 FORMATS_MIXED Warning;
    /// OME-Zarr 0.4 metadata is in a group of v3, where readers of 0.5 do not find it.
    ZH114 OME_METADATA_OLD Warning;
    /// A `multiscales` attribute names levels that `--only` leaves out.
    ZH115 MULTISCALES_LEVELS_LEFT_OUT Warning;
    /// Consolidated metadata does not have the form that its readers expect.
    ZH201 CONSOLIDATED_FORM Error (Source = Warning);
    /// A copy in consolidated metadata differs from the document. Readers of the copy read outdated metadata.
    ZH202 CONSOLIDATED_STALE Error (Source = Warning);
    /// Consolidated metadata lacks a node. Readers of it do not see that node.
    ZH203 CONSOLIDATED_INCOMPLETE Warning;
    /// Consolidated metadata contains a copy of a node that does not exist.
    ZH204 CONSOLIDATED_MISSING Error (Source = Warning);
    /// A path in consolidated metadata does not name a node below the group.
    ZH205 CONSOLIDATED_PATH Error (Source = Warning);

    // ZK: chunk keys
    /// The chunk key encoding is not one that this program supports: `default` and `v2`.
    ZK101 KEY_ENCODING_UNKNOWN Error;
    /// The separator of the chunk keys is neither "/" nor ".".
    ZK103 KEY_SEPARATOR Error;
    /// The chunk key encoding's configuration has unknown members or a wrong type.
    ZK105 KEY_ENCODING_CONFIGURATION Error;
    /// A key belongs neither to a chunk of the grid nor to the metadata.
    ZK201 KEY_UNKNOWN Warning;
    /// A temporary file that an interrupted writer left.
    ZK202 KEY_TEMPORARY Warning;
    /// A chunk is outside the grid, so no reader reads it.
    ZK203 KEY_OUTSIDE_GRID Warning;
    /// A link points out of the store, or to nothing.
    ZK204 LINK_LEADS_AWAY Warning;
    /// A link to a folder, which is not followed.
    ZK205 LINK_TO_FOLDER Warning;
    /// A name that is not UTF-8.
    ZK206 KEY_NOT_UTF8 Warning;
    /// A folder that contains neither nodes nor chunks.
    ZK207 FOLDER_UNKNOWN Warning;
    /// The destination is on a file system without locks.
    ZK208 NOT_LOCKED Warning;
    /// A destination will have very many stored objects.
    ZK209 MANY_OBJECTS Warning;
    /// Something other than a file (a folder, a FIFO, a device) has the name of an object.
    ZK211 OBJECT_NOT_A_FILE Error;
    /// The size of an object is not the size that its codecs produce.
    ZK212 OBJECT_SIZE Error;
    /// An object is larger than its codecs can produce.
    ZK213 OBJECT_TOO_LARGE Error;
    /// Absent chunks, which read as the fill value.
    ZK221 CHUNKS_ABSENT Info;
    /// No chunk is stored. Writers leave out chunks of only the fill value, so this alone is not an error.
    ZK222 CHUNKS_NONE Info;

    // ZM: documents
    /// The document is not JSON.
    ZM001 JSON_SYNTAX Error;
    /// The document is larger, deeper or has more values than this program reads.
    ZM002 JSON_LIMIT Error;
    /// `NaN`, `Infinity` or `-Infinity` is a bare word in attributes, or is the fill value of a v2 array.
    ZM003 JSON_NOT_FINITE Error (Read = Warning);
    /// A member is given more than once. Readers use the last one, but need not.
    ZM011 MEMBER_REPEATED Error;
    /// A name is repeated in the attributes: readers keep only the last.
    ZM012 ATTRIBUTE_REPEATED Warning;
    /// A member that the specification requires is missing.
    ZM101 MEMBER_MISSING Error;
    /// A member that the specification does not define, without `"must_understand": false`.
    ZM102 MEMBER_UNKNOWN Error;
    /// The JSON type of a member is not the one in the specification.
    ZM103 MEMBER_TYPE Error;
    /// `zarr_format` is not 3 in a `zarr.json`, or not 2 in a `.zarray` or `.zgroup`.
    ZM104 ZARR_FORMAT Error;
    /// `node_type` is neither "array" nor "group", or not the one that was expected.
    ZM105 NODE_TYPE Error;
    /// The array has more dimensions than this program reads (64).
    ZM106 RANK_LIMIT Error;
    /// The number of elements of the array does not fit into 64 bits.
    ZM107 SHAPE_OVERFLOW Error;
    /// There are more or fewer dimension names than dimensions.
    ZM108 DIMENSION_NAMES_LENGTH Error;
    /// `dimension_names` is null. The specification requires that it is absent instead.
    ZM109 DIMENSION_NAMES_NULL Warning;
    /// An unknown storage transformer: none is known.
    ZM110 STORAGE_TRANSFORMER Error;
    /// An extension is written as its name alone. Zarr 3.1 allows it, but most readers reject it.
    ZM111 EXTENSION_STRING Warning;
    /// An unknown storage transformer with `"must_understand": false` is skipped.
    ZM112 STORAGE_TRANSFORMER_PASSED_OVER Warning;
    /// The `dtype` of a v2 array is not a type string or list of fields of v2. Its chunks can be copied.
    ZM201 V2_DTYPE Error (Read = Warning);
    /// A v2 structure has fields that are arrays: its elements are read as raw bytes.
    ZM202 V2_DTYPE_LAYOUT Info;
    /// The `order` of a v2 array is neither "C" nor "F".
    ZM211 V2_ORDER Error;
    /// A filter or the compressor of a v2 array is not an object with an `id`.
    ZM212 V2_CODEC Error;
    /// The `compressor` of a v2 array is an array->array codec, which is a filter.
    ZM213 V2_FILTER_AS_COMPRESSOR Warning;
    /// The `fill_value` of a v2 array is null, so the values of absent chunks are undefined.
    ZM221 V2_FILL_VALUE_NULL Info;
    /// The `fill_value` of a v2 array is written in a form that only some readers accept.
    ZM222 V2_FILL_VALUE_FORM Warning;
    /// A v2 array with xarray's dimension names has a fill value. In v3 it would mask no values.
    ZM223 V2_FILL_VALUE_MASKS Warning;
    /// xarray's attribute `_ARRAY_DIMENSIONS` of a v2 array is not a list of as many names as there are dimensions.
    ZM224 V2_DIMENSION_NAMES Warning;
    /// A v2 document has a member that v2 does not define. Readers ignore it.
    ZM231 V2_MEMBER_UNKNOWN Warning;
    /// The `dtype` of a v2 array is a type that tensorstore added. No other reader knows it.
    ZM240 V2_DTYPE_EXTENSION Warning;
    /// A member of the array is not as `--expect` requires.
    ZM301 EXPECTATION_NOT_MET Error;
    /// The document of `--expect` names a member or a node that does not exist.
    ZM302 EXPECTATION_UNKNOWN Error;
    /// The values differ from those of the array that `--against` names.
    ZM303 VALUES_DIFFER Error;

    // ZS: shards
    /// The shard is shorter than its index.
    ZS101 SHARD_TRUNCATED Error;
    /// An entry of the shard index is outside the shard, or the index does not decode.
    ZS102 SHARD_INDEX Error;
    /// Inner chunks of a shard overlap.
    ZS103 SHARD_OVERLAP Error;
    /// Inner chunks of a shard share the same bytes. Some readers write to them as if they did not.
    ZS104 SHARD_CHUNKS_SHARED Warning;
    /// An entry of a shard index includes bytes of the index.
    ZS105 SHARD_ENTRY_IN_INDEX Error;
    /// Bytes of a shard belong to no inner chunk.
    ZS106 SHARD_GAPS Info;
    /// The size of an inner chunk is not the size that its codecs produce.
    ZS107 INNER_CHUNK_SIZE Error;

    // ZX: chunk data
    /// A chunk does not decode.
    ZX101 CHUNK_CORRUPT Error;
    /// The decoded length of a chunk is not that of its shape and type.
    ZX102 CHUNK_LENGTH Error;
    /// A stored element is not a value of its data type, or cannot be decoded.
    ZX103 CHUNK_VALUE Error;
    /// Chunks were not checked. The message has the reason.
    ZX104 NOT_CHECKED Info (Read = Warning);
    /// No codec of the array has a checksum: damage that still decodes is not found.
    ZX105 NO_CHECKSUM Info;
    /// Statistics were requested of values that are not real numbers.
    ZX201 NO_STATISTICS Info;
}

/// Codes that are not reported any more, and never used again. Options still accept them.
pub const RETIRED: &[Code] = &[entry!(ZC301 Info), entry!(ZK102 Warning), entry!(ZK104 Error)];

/// Returns the entry of a code or a name, in upper or lower case, as `--deny` and similar options accept it. Includes
/// retired codes.
pub fn find(code_or_name: &str) -> Option<Code> {
    let is_named =
        |entry: &Code| entry.code.eq_ignore_ascii_case(code_or_name) || entry.name().eq_ignore_ascii_case(code_or_name);
    ALL.iter().chain(RETIRED).copied().find(is_named)
}

/// Returns the entry of a code, spelled exactly as in the table.
pub fn of(code: &str) -> Option<Code> {
    // The table is sorted, which a test checks. Retired codes are not in it: no finding has one.
    ALL.binary_search_by_key(&code, |entry| entry.code).ok().map(|at| ALL[at])
}

/// Returns the entry whose code or name `text` most likely means.
pub fn meant(text: &str) -> Option<Code> {
    let text = text.to_lowercase();
    let codes: Vec<String> = ALL.iter().map(|entry| entry.code.to_lowercase()).collect();
    let known = codes.iter().map(String::as_str).chain(ALL.iter().map(|entry| entry.name()));
    spelling::meant(&text, known).and_then(find)
}

// The pages of the codes: the text of `--explain`, and the source of the help in the other reports.
//
// Each begins with `# CODE name: title`. The tests below check the rest of the form.

impl Code {
    /// Returns the page of `--explain`: Markdown of at most 80 columns. The page of a retired code includes that it is
    /// retired.
    pub const fn page(self) -> &'static str {
        self.page
    }

    /// Returns the name of the code, in kebab-case.
    pub fn name(self) -> &'static str {
        self.page.split([' ', ':']).nth(2).unwrap_or_default()
    }

    /// Returns the fault that the rule finds, in one clause, from the heading of its page.
    pub fn title(self) -> &'static str {
        self.page.lines().next().and_then(|heading| heading.split_once(": ")).map_or("", |(_, title)| title)
    }

    /// Returns the first sentence of "What to do" as a clause on one line.
    pub fn first_step(self) -> String {
        let (_, rest) = self.page.split_once("\n## What to do\n\n").unwrap_or_default();
        let (section, _) = rest.split_once("\n## ").unwrap_or((rest, ""));
        let paragraph = section.trim().replace('\n', " ");
        let first = paragraph.split_once(". ").map_or(paragraph.trim_end_matches('.'), |(first, _)| first);
        // It begins with a verb.
        first.chars().take(1).flat_map(char::to_lowercase).chain(first.chars().skip(1)).collect()
    }

    /// Returns the first address in its references: a section of the specification, or a page of the registry.
    pub fn reference(self) -> Option<&'static str> {
        let (_, references) = self.page.split_once("\n## References\n")?;
        let start = references.find("https://")?;
        let url = &references[start..];
        let end = url.find(|letter: char| letter.is_whitespace() || matches!(letter, '>' | ')'));
        Some(&url[..end.unwrap_or(url.len())])
    }
}

// The severity of findings. It is decided only here.
//
// Code that finds a fault does not decide its severity. A command applies a profile to its list of findings. (`--deny`
// and `--allow` of `validate` are applied afterwards, by the user.)

impl Profile {
    /// Returns the profile that it is made from. `None` for [`Profile::Validate`].
    const fn base(self) -> Option<Profile> {
        match self {
            Profile::Validate => None,
            Profile::Read => Some(Profile::Validate),
            Profile::Values | Profile::Source | Profile::Write | Profile::AnyFillValue => Some(Profile::Read),
        }
    }

    /// Returns the severity of a code.
    pub fn severity_of(self, code: Code) -> Severity {
        let own = code.exceptions.iter().find(|(profile, _)| *profile == self);
        let by_base = || self.base().map_or(code.severity, |base| base.severity_of(code));
        own.map_or_else(by_base, |(_, severity)| *severity)
    }

    /// Returns the severity of a finding, whatever its `severity` field is.
    pub fn severity(self, found: &Diagnostic) -> Severity {
        let severity = of(found.code).map_or(found.severity, |entry| self.severity_of(entry));
        // v2's document of only copies is written again completely, so any of its faults is a warning.
        let is_about_copies =
            found.location.key.as_deref().is_some_and(|key| key.rsplit('/').next() == Some(".zmetadata"));
        if self == Profile::Source && is_about_copies { severity.min(Severity::Warning) } else { severity }
    }

    /// Returns true if a finding is an error.
    pub fn forbids(self, found: &Diagnostic) -> bool {
        self.severity(found) == Severity::Error
    }

    /// Sets the severity of findings.
    pub fn judge<'a>(self, findings: impl IntoIterator<Item = &'a mut Diagnostic>) {
        for found in findings {
            found.severity = self.severity(found);
        }
    }

    /// Returns the findings with their severity set.
    pub fn judged(self, mut findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
        self.judge(&mut findings);
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_unique_and_well_formed() {
        let mut sorted = ALL.to_vec();
        sorted.sort_by_key(|entry| entry.code);
        assert_eq!(sorted, ALL);
        let mut names: Vec<_> = ALL.iter().map(|entry| entry.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len(), "a name is used twice");
        assert!(ALL.windows(2).all(|pair| pair[0].code != pair[1].code), "a code is used twice");
        for retired in RETIRED {
            assert!(ALL.iter().all(|entry| entry.code != retired.code && entry.name() != retired.name()));
        }
        assert!(ALL.iter().all(|entry| of(entry.code) == Some(*entry)));
        for entry in ALL.iter().chain(RETIRED) {
            let (family, number) = entry.code.split_at(2);
            assert!(["ZM", "ZD", "ZC", "ZG", "ZK", "ZS", "ZX", "ZH"].contains(&family), "{}", entry.code);
            assert!(number.len() == 3 && number.bytes().all(|byte| byte.is_ascii_digit()), "{}", entry.code);
            assert!(
                entry.name().bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            );
        }
    }

    use crate::diagnostic::code;

    const HEADINGS: [&str; 5] =
        ["## What it finds", "## Why it matters", "## What to do", "## Example", "## References"];

    #[test]
    fn every_page_is_of_a_code() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/diagnostic/page");
        #[expect(clippy::disallowed_methods, reason = "tests look at the repository's files")]
        let files = std::fs::read_dir(folder).unwrap();
        let mut pages: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        pages.sort();
        let mut codes: Vec<_> = code::ALL.iter().chain(code::RETIRED).map(|rule| format!("{}.md", rule.code)).collect();
        codes.sort();
        assert_eq!(pages, codes);
        for retired in code::RETIRED {
            let heading = format!("# {} {}: retired", retired.code, retired.name());
            assert!(retired.page().starts_with(&heading), "{}", retired.code);
        }
    }

    #[test]
    fn page_has_the_headings_in_order_and_something_under_each() {
        for rule in code::ALL {
            let page = rule.page();
            let heading = format!("# {} {}: ", rule.code, rule.name());
            assert!(page.starts_with(&heading), "{} does not begin with {heading:?}", rule.code);
            assert!(!rule.title().ends_with('.') && !rule.title().is_empty(), "the title of {}", rule.code);
            let headings: Vec<_> = page.lines().filter(|line| line.starts_with("## ")).collect();
            assert_eq!(headings, HEADINGS, "{}", rule.code);
            for section in page.split("\n## ").skip(1) {
                let text = section.split_once('\n').map_or("", |(_, text)| text).trim();
                assert!(text.len() > 15, "{}: nothing under {section:?}", rule.code);
            }
        }
    }

    #[test]
    fn page_fits_80_columns_and_names_a_reference() {
        for rule in code::ALL {
            let page = rule.page();
            for line in page.lines() {
                assert!(line.chars().count() <= 80 || line.contains("https://"), "{}: {line}", rule.code);
                assert!(line.trim_end() == line, "{}: space at the end of {line:?}", rule.code);
            }
            assert!(page.ends_with('\n') && !page.ends_with("\n\n"), "the end of {}", rule.code);
            assert!(rule.reference().is_some(), "{} refers to nothing", rule.code);
            let step = rule.first_step();
            assert!(step.len() > 6 && !step.contains('\n'), "{}: {step:?}", rule.code);
        }
    }

    fn severities(code: Code) -> [&'static str; 6] {
        [Profile::Validate, Profile::Read, Profile::Values, Profile::Source, Profile::Write, Profile::AnyFillValue]
            .map(|profile| profile.severity_of(code).name())
    }

    #[test]
    fn profile_judges_as_the_one_that_it_is_made_from() {
        assert_eq!(severities(code::MEMBER_MISSING), ["error"; 6]);
        assert_eq!(severities(code::CHUNKS_ABSENT), ["info"; 6]);
        assert_eq!(severities(code::ENDIAN_MISSING), ["error", "warning", "warning", "warning", "warning", "warning"]);
        assert_eq!(
            severities(code::SCALE_OFFSET_FILL_VALUE_LOST),
            ["warning", "warning", "warning", "warning", "error", "warning"]
        );
        assert_eq!(
            severities(code::CAST_VALUE_FILL_VALUE_LOST),
            ["error", "error", "error", "error", "error", "warning"]
        );
        assert_eq!(severities(code::CONSOLIDATED_STALE), ["error", "error", "error", "warning", "error", "error"]);
        assert_eq!(severities(code::CODEC_UNSUPPORTED), ["info", "info", "error", "info", "info", "info"]);
    }

    #[test]
    fn finding_is_judged_by_its_code_and_not_by_what_it_was_taken_for_before() {
        let found = vec![Diagnostic::new(code::ENDIAN_MISSING, "no endian")];
        let read = Profile::Read.judged(found);
        assert_eq!(read[0].severity, Severity::Warning);
        assert!(Profile::Validate.forbids(&read[0]) && !Profile::Write.forbids(&read[0]));
    }

    #[test]
    fn fault_in_a_document_of_copies_is_a_warning_about_a_source_alone() {
        let found = Diagnostic::new(code::JSON_SYNTAX, "not JSON");
        let copies = found.clone().at_key("a/.zmetadata");
        assert!(Profile::Source.forbids(&found) && !Profile::Source.forbids(&copies));
        assert!(Profile::Read.forbids(&copies));
    }
}
