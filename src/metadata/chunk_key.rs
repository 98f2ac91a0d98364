//! Chunk keys: from chunk indices to the key of a chunk, relative to its array, and back.

use super::extension::Extension;
use super::json::{Json, Object};
use crate::diagnostic::{Diagnostic, code};

/// What stands between the indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Separator {
    /// `/`
    Slash,
    /// `.`
    Dot,
}

impl Separator {
    /// The character.
    pub const fn character(self) -> char {
        match self {
            Separator::Slash => '/',
            Separator::Dot => '.',
        }
    }
}

/// The encodings that this program follows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ChunkKeyEncoding {
    /// `default`: `c/0/1`, and `c` for an array without dimensions.
    Default(Separator),
    /// `v2`: `0.1`, and `0` for an array without dimensions.
    V2(Separator),
    /// zarrs' `default_suffix`: `c/0/1.tif`; the suffix is plain (no separator, nothing that leads elsewhere).
    DefaultSuffix(Separator, String),
    /// Of a part of an array: indices are counted from a chunk of the whole.
    PartOf {
        /// How chunks of the whole are named.
        whole: Box<ChunkKeyEncoding>,
        /// The indices in the whole of the part's first chunk.
        first_chunk: Vec<u64>,
    },
}

/// The name by which zarrs writes its own encoding.
const DEFAULT_SUFFIX: &str = "zarrs.default_suffix";

impl ChunkKeyEncoding {
    /// The key of a chunk, relative to the array.
    pub fn key(&self, chunk_indices: &[u64]) -> String {
        if let ChunkKeyEncoding::PartOf { whole, first_chunk } = self {
            let moved: Vec<u64> =
                chunk_indices.iter().zip(first_chunk).map(|(index, first)| index + first).collect();
            return whole.key(&moved);
        }
        let (prefix, separator, suffix) = self.parts();
        let mut key = String::from(prefix);
        for index in chunk_indices {
            if !key.is_empty() {
                key.push(separator);
            }
            key.push_str(&index.to_string());
        }
        if key.is_empty() {
            key.push('0');
        }
        key.push_str(suffix);
        key
    }

    /// The chunk of a key; `None` where [`Self::key`] makes no such key for an array of this rank.
    pub fn chunk_indices(&self, key: &str, rank: usize) -> Option<Vec<u64>> {
        if rank == 0 {
            return (self.key(&[]) == key).then(Vec::new);
        }
        if let ChunkKeyEncoding::PartOf { whole, first_chunk } = self {
            let indices = whole.chunk_indices(key, rank)?;
            return indices.iter().zip(first_chunk).map(|(index, first)| index.checked_sub(*first)).collect();
        }
        let indices: Option<Vec<u64>> = self.indices(key)?.collect();
        indices.filter(|indices| indices.len() == rank)
    }

    /// How chunks of the whole are named; where it is no part, the encoding itself.
    pub fn of_whole(&self) -> &ChunkKeyEncoding {
        match self {
            ChunkKeyEncoding::PartOf { whole, .. } => whole,
            own => own,
        }
    }

    /// Whether these are the keys of a part of an array, and this one is a chunk's of the whole.
    pub fn is_key_of_whole(&self, key: &str, rank: usize) -> bool {
        match self {
            ChunkKeyEncoding::PartOf { whole, .. } => whole.chunk_indices(key, rank).is_some(),
            _ => false,
        }
    }

    /// The linear index (C order) of a key's chunk in a grid; `None` where it is no chunk of that.
    pub fn linear_index(&self, key: &str, grid_shape: &[u64]) -> Option<u64> {
        if grid_shape.is_empty() {
            return (self.key(&[]) == key).then_some(0);
        }
        let mut lengths = grid_shape.iter();
        let mut firsts = self.first_chunk().iter();
        let linear = self.indices(key)?.try_fold(0_u64, |linear, index| {
            let (length, index) = (lengths.next()?, index?);
            let index = index.checked_sub(firsts.next().copied().unwrap_or(0))?;
            (index < *length).then(|| linear * length + index)
        })?;
        lengths.next().is_none().then_some(linear)
    }

    /// The indices in a key, as far as they are any, for an array that has dimensions.
    fn indices<'k>(&self, key: &'k str) -> Option<impl Iterator<Item = Option<u64>> + use<'k>> {
        let (prefix, separator, suffix) = self.parts();
        let indices = key.strip_suffix(suffix)?.strip_prefix(prefix)?;
        let indices = if prefix.is_empty() { indices } else { indices.strip_prefix(separator)? };
        Some(indices.split(separator).map(index))
    }

    /// Whether the keys of chunks may go on below a folder, for an array of this rank.
    pub fn is_folder_of_chunks(&self, folder: &str, rank: usize) -> bool {
        if let ChunkKeyEncoding::PartOf { whole, .. } = self {
            return whole.is_folder_of_chunks(folder, rank);
        }
        let suffix = self.parts().2;
        let mut key = folder.to_owned();
        (0..rank).any(|_| {
            key.push_str("/0");
            self.chunk_indices(&format!("{key}{suffix}"), rank).is_some()
        })
    }

    /// The indices in the whole of a part's first chunk; none where it is no part.
    fn first_chunk(&self) -> &[u64] {
        match self {
            ChunkKeyEncoding::PartOf { first_chunk, .. } => first_chunk,
            _ => &[],
        }
    }

    /// What stands between the indices.
    pub fn separator(&self) -> Separator {
        match self {
            ChunkKeyEncoding::PartOf { whole, .. } => whole.separator(),
            ChunkKeyEncoding::Default(separator)
            | ChunkKeyEncoding::V2(separator)
            | ChunkKeyEncoding::DefaultSuffix(separator, _) => *separator,
        }
    }

    /// The same encoding with another separator.
    #[must_use]
    pub fn with_separator(&self, separator: Separator) -> Self {
        match self {
            ChunkKeyEncoding::PartOf { whole, .. } => whole.with_separator(separator),
            ChunkKeyEncoding::Default(_) => ChunkKeyEncoding::Default(separator),
            ChunkKeyEncoding::V2(_) => ChunkKeyEncoding::V2(separator),
            ChunkKeyEncoding::DefaultSuffix(_, suffix) => {
                ChunkKeyEncoding::DefaultSuffix(separator, suffix.clone())
            }
        }
    }

    /// The metadata, separator included.
    pub fn to_json(&self) -> Json {
        let (_, separator, suffix) = self.parts();
        let mut configuration = Object::new().with("separator", separator.to_string());
        let name = match self {
            ChunkKeyEncoding::PartOf { whole, .. } => return whole.to_json(),
            ChunkKeyEncoding::Default(_) => "default",
            ChunkKeyEncoding::V2(_) => "v2",
            ChunkKeyEncoding::DefaultSuffix(..) => DEFAULT_SUFFIX,
        };
        if !suffix.is_empty() {
            configuration.insert("suffix", suffix);
        }
        Object::new().with("name", name).with("configuration", configuration).into()
    }

    /// Reads metadata at `pointer`; anything that is not on the list of encodings is an error: a key must never lead
    /// out of its array.
    pub(super) fn read(json: &Json, pointer: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<Self> {
        let extension = Extension::read(json, pointer, diagnostics)?;
        let has_suffix = matches!(extension.name.as_str(), "default_suffix" | DEFAULT_SUFFIX);
        let default_separator = match extension.name.as_str() {
            "default" => Separator::Slash,
            _ if has_suffix => Separator::Slash,
            "v2" => Separator::Dot,
            name => {
                let message = format!("the chunk key encoding {name:?} is not one that this program follows");
                diagnostics.push(
                    Diagnostic::new(code::KEY_ENCODING_UNKNOWN, message)
                        .with_help("it follows \"default\" and \"v2\"")
                        .at_pointer(format!("{pointer}/name")),
                );
                return None;
            }
        };
        let configuration = extension.configuration.unwrap_or_default();
        let pointer = format!("{pointer}/configuration");
        let separator = read_separator(&configuration, default_separator, &pointer, diagnostics);
        let mut known = vec!["separator"];
        known.extend(has_suffix.then_some("suffix"));
        if let Some(unknown) = configuration.names().find(|name| !known.contains(name)) {
            let unknown = Json::from(unknown).excerpt();
            let message = format!("the chunk key encoding {:?} has no member {unknown}", extension.name);
            diagnostics.push(Diagnostic::new(code::KEY_ENCODING_CONFIGURATION, message).at_pointer(&pointer));
            return None;
        }
        if has_suffix {
            let suffix = read_suffix(&configuration, &pointer, diagnostics)?;
            let message = format!("the chunk key encoding {:?} is in no registry", extension.name);
            diagnostics.push(Diagnostic::new(code::KEY_ENCODING_UNREGISTERED, message).at_pointer(&pointer));
            return Some(ChunkKeyEncoding::DefaultSuffix(separator?, suffix));
        }
        let separator = separator?;
        Some(match extension.name.as_str() {
            "v2" => ChunkKeyEncoding::V2(separator),
            _ => ChunkKeyEncoding::Default(separator),
        })
    }

    /// What stands before the indices, between them, and after them.
    fn parts(&self) -> (&'static str, char, &str) {
        match self {
            ChunkKeyEncoding::PartOf { whole, .. } => whole.parts(),
            ChunkKeyEncoding::Default(separator) => ("c", separator.character(), ""),
            ChunkKeyEncoding::V2(separator) => ("", separator.character(), ""),
            ChunkKeyEncoding::DefaultSuffix(separator, suffix) => ("c", separator.character(), suffix),
        }
    }
}

/// An index as it is written: no sign, no leading zero.
fn index(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    (digits && (text == "0" || !text.starts_with('0'))).then(|| text.parse().ok())?
}

fn read_separator(
    configuration: &Object,
    default: Separator,
    pointer: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Separator> {
    let Some(json) = configuration.get("separator") else { return Some(default) };
    match json.as_str() {
        Some("/") => Some(Separator::Slash),
        Some(".") => Some(Separator::Dot),
        _ => {
            let message = format!("expected \"/\" or \".\" as separator, found {}", json.excerpt());
            diagnostics.push(
                Diagnostic::new(code::KEY_SEPARATOR, message).at_pointer(format!("{pointer}/separator")),
            );
            None
        }
    }
}

fn read_suffix(configuration: &Object, pointer: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let suffix = configuration.get("suffix");
    match suffix.and_then(Json::as_str) {
        // A digit first would make keys ambiguous: `c/1` with the suffix `0` is `c/10`.
        Some(text)
            if text.bytes().all(plain)
                && !text.is_empty()
                && text.len() <= 64
                && !text.starts_with(|first: char| first.is_ascii_digit())
                && !text.contains("..") =>
        {
            Some(text.to_owned())
        }
        _ => {
            let found = suffix.map_or_else(|| "nothing".to_owned(), Json::excerpt);
            let message = format!("expected a plain suffix such as \".tif\", found {found}");
            diagnostics
                .push(Diagnostic::new(code::KEY_SUFFIX, message).at_pointer(format!("{pointer}/suffix")));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Separator::{Dot, Slash};

    #[test]
    fn keys_are_those_of_the_specification_and_are_read_back() {
        let suffix = ChunkKeyEncoding::DefaultSuffix(Slash, ".tif".to_owned());
        let cases: [(ChunkKeyEncoding, &[u64], &str); 9] = [
            (ChunkKeyEncoding::Default(Slash), &[1, 23, 45], "c/1/23/45"),
            (ChunkKeyEncoding::Default(Dot), &[1, 23], "c.1.23"),
            (ChunkKeyEncoding::Default(Slash), &[], "c"),
            (ChunkKeyEncoding::V2(Dot), &[1, 0], "1.0"),
            (ChunkKeyEncoding::V2(Slash), &[1, 0], "1/0"),
            (ChunkKeyEncoding::V2(Dot), &[], "0"),
            (ChunkKeyEncoding::V2(Dot), &[0], "0"),
            (suffix.clone(), &[1, 2], "c/1/2.tif"),
            (suffix, &[], "c.tif"),
        ];
        for (encoding, indices, key) in cases {
            assert_eq!(encoding.key(indices), key);
            assert_eq!(encoding.chunk_indices(key, indices.len()).as_deref(), Some(indices), "{key}");
        }
    }

    #[test]
    fn keys_of_no_chunk_are_not_read() {
        let default = ChunkKeyEncoding::Default(Slash);
        for key in [
            "",
            "c",
            "c/",
            "c/0",
            "c/0/01",
            "c/0/+1",
            "c/0/1/2",
            "c/0/-1",
            "c//1",
            "0/1",
            "zarr.json",
            "c/0/18446744073709551616",
            "c/../1",
        ] {
            assert_eq!(default.chunk_indices(key, 2), None, "{key}");
        }
        assert_eq!(default.chunk_indices("c/0", 0), None);
        assert_eq!(ChunkKeyEncoding::V2(Dot).chunk_indices("1", 0), None);
        assert_eq!(ChunkKeyEncoding::V2(Dot).chunk_indices("", 1), None);
    }

    fn read(text: &str) -> (Option<ChunkKeyEncoding>, Vec<&'static str>) {
        let mut diagnostics = Vec::new();
        let encoding = ChunkKeyEncoding::read(&Json::parse_str(text).unwrap(), "", &mut diagnostics);
        (encoding, diagnostics.iter().map(|diagnostic| diagnostic.code).collect())
    }

    #[test]
    fn encodings_are_read_by_an_allow_list() {
        assert_eq!(read(r#"{"name":"default"}"#), (Some(ChunkKeyEncoding::Default(Slash)), vec![]));
        assert_eq!(read(r#"{"name":"v2"}"#), (Some(ChunkKeyEncoding::V2(Dot)), vec![]));
        let text = r#"{"name":"v2","configuration":{"separator":"/"}}"#;
        assert_eq!(read(text), (Some(ChunkKeyEncoding::V2(Slash)), vec![]));
        assert_eq!(
            read(&ChunkKeyEncoding::V2(Slash).to_json().to_string()).0,
            Some(ChunkKeyEncoding::V2(Slash))
        );
        assert_eq!(read(r#""default""#), (Some(ChunkKeyEncoding::Default(Slash)), vec!["ZM111"]));
        assert_eq!(read(r#"{"name":"fanout"}"#), (None, vec!["ZK101"]));
        assert_eq!(read(r#"{"name":"default","configuration":{"separator":"//"}}"#), (None, vec!["ZK103"]));
        assert_eq!(read(r#"{"name":"default","configuration":{"suffix":"/../x"}}"#), (None, vec!["ZK105"]));
        let suffix = |suffix: &str| {
            read(&format!(r#"{{"name":"zarrs.default_suffix","configuration":{{"suffix":"{suffix}"}}}}"#))
        };
        assert_eq!(
            suffix(".tif"),
            (Some(ChunkKeyEncoding::DefaultSuffix(Slash, ".tif".into())), vec!["ZK102"])
        );
        for bad in ["/../../x", "", "0", "..", "/x"] {
            assert_eq!(suffix(bad), (None, vec!["ZK104"]), "{bad}");
        }
    }
}
