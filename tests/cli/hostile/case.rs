//! Hostile stores and helpers to build them.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// The folder of a case.
pub(crate) const STORE: &str = "store.zarr";

type Build = Box<dyn Fn(&Store) + Send + Sync>;

/// A hostile store.
pub(crate) struct Case {
    /// A description of the hostile part.
    pub(crate) name: String,
    /// For `apply-codec --chunk`.
    pub(crate) chunk: &'static str,
    /// Whether every command may succeed without a message.
    pub(crate) harmless: bool,
    /// The argument of the commands: the folder of the case, or a file in it.
    pub(crate) location: &'static str,
    pub(crate) build: Build,
}

/// Returns a case for which at least one command must print a message.
pub(crate) fn case(name: impl Into<String>, build: impl Fn(&Store) + Send + Sync + 'static) -> Case {
    Case { name: name.into(), chunk: "0", harmless: false, location: STORE, build: Box::new(build) }
}

impl Case {
    /// Sets the chunk.
    pub(crate) fn at(self, chunk: &'static str) -> Self {
        Case { chunk, ..self }
    }

    /// Sets the location to a file in the folder.
    pub(crate) fn in_file(self, location: &'static str) -> Self {
        Case { location, ..self }
    }

    /// Allows every command to succeed without a message.
    pub(crate) fn harmless(self) -> Self {
        Case { harmless: true, ..self }
    }
}

/// The folder of a store.
pub(crate) struct Store {
    root: PathBuf,
}

impl Store {
    /// Creates the folder of a store.
    pub(crate) fn new(root: &Path) -> Self {
        fs::create_dir(root).unwrap();
        Store { root: root.to_owned() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self, key: &str) -> PathBuf {
        self.root.join(key)
    }

    /// Creates a file and its parent folders.
    pub(crate) fn create(&self, key: &str) -> BufWriter<File> {
        let path = self.path(key);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        BufWriter::new(File::create(path).unwrap())
    }

    pub(crate) fn write(&self, key: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let mut file = self.create(key);
        file.write_all(bytes.as_ref()).unwrap();
        file.flush().unwrap();
        self
    }

    /// Writes one piece `count` times between two others. This process itself must stay small.
    pub(crate) fn write_repeated(&self, key: &str, parts: [&str; 3], count: usize) -> &Self {
        let mut file = self.create(key);
        file.write_all(parts[0].as_bytes()).unwrap();
        for _ in 0..count {
            file.write_all(parts[1].as_bytes()).unwrap();
        }
        file.write_all(parts[2].as_bytes()).unwrap();
        file.flush().unwrap();
        self
    }

    /// Writes a sparse object of `length` bytes.
    pub(crate) fn write_sparse(&self, key: &str, length: u64) -> &Self {
        self.create(key).get_ref().set_len(length).unwrap();
        self
    }

    /// Writes an array document and replaces PIECES in it by `count` copies of a piece.
    pub(crate) fn array_of_pieces(&self, changes: &[(&str, &str)], piece: &str, count: usize) -> &Self {
        let text = document(changes);
        let (before, after) = text.split_once("PIECES").unwrap();
        self.write_repeated("zarr.json", [before, piece, after], count)
    }

    /// Writes the document of a uint8 array with 8 elements in 2 chunks, with `changes`.
    pub(crate) fn array(&self, changes: &[(&str, &str)]) -> &Self {
        self.write("zarr.json", document(changes))
    }
}

/// The codec `bytes` for elements of one byte.
pub(crate) const BYTES: &str = r#"[{"name":"bytes"}]"#;

/// The codec `bytes`, little endian.
pub(crate) const LITTLE: &str = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;

/// Returns an array document with members replaced or added. `chunk_shape` in `changes` sets the grid.
///
/// Members are texts, so that they can contain text that no JSON library writes.
pub(crate) fn document(changes: &[(&str, &str)]) -> String {
    let change = |name: &str| changes.iter().find(|(changed, _)| *changed == name).map(|(_, text)| *text);
    let grid = regular(change("chunk_shape").unwrap_or("[4]"));
    let plain = [
        ("zarr_format", "3"),
        ("node_type", "\"array\""),
        ("shape", "[8]"),
        ("data_type", "\"uint8\""),
        ("chunk_grid", grid.as_str()),
        ("chunk_key_encoding", r#"{"name":"default","configuration":{"separator":"/"}}"#),
        ("fill_value", "0"),
        ("codecs", BYTES),
    ];
    let mut members: Vec<String> =
        plain.iter().map(|(name, text)| format!("\"{name}\":{}", change(name).unwrap_or(text))).collect();
    for (name, text) in changes {
        if *name != "chunk_shape" && !plain.iter().any(|(known, _)| known == name) {
            members.push(format!("\"{name}\":{text}"));
        }
    }
    format!("{{{}}}", members.join(","))
}

fn regular(chunk_shape: &str) -> String {
    format!(r#"{{"name":"regular","configuration":{{"chunk_shape":{chunk_shape}}}}}"#)
}

/// Returns a codec with the JSON text of its configuration.
pub(crate) fn codec(name: &str, configuration: &str) -> String {
    format!(r#"{{"name":"{name}","configuration":{configuration}}}"#)
}

/// Returns a `sharding_indexed` codec. The shard index has a checksum.
pub(crate) fn sharding(chunk_shape: &str, codecs: &str) -> String {
    sharding_at("end", chunk_shape, codecs)
}

/// Returns the same with the shard index at the start or the end.
pub(crate) fn sharding_at(location: &str, chunk_shape: &str, codecs: &str) -> String {
    let configuration = format!(
        r#"{{"chunk_shape":{chunk_shape},"codecs":{codecs},"index_codecs":[{LITTLE},{{"name":"crc32c"}}],
            "index_location":"{location}"}}"#
    );
    codec("sharding_indexed", &configuration)
}

/// Encodes a shard index with its checksum.
pub(crate) fn index(entries: &[(u64, u64)]) -> Vec<u8> {
    let words = entries.iter().flat_map(|(offset, length)| [*offset, *length]);
    let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    bytes
}

/// The shard index entry of a missing inner chunk.
pub(crate) const ABSENT: (u64, u64) = (u64::MAX, u64::MAX);
