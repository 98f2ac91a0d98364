//! Results as JSON: one document with the version of its schema first. Also the file of a finding, as a path and as a URI
//! reference (RFC 3986).

use std::io::{self, BufWriter, Write};

use serde::Serialize;

use super::quantity;
use crate::diagnostic::Location;

/// The advice where findings are not shown.
pub(super) const SHOWS_ALL: &str = "--max-findings 0 shows all";

/// Returns `only the first 3 findings are shown`.
pub(super) fn first_shown(shown: usize) -> String {
    match shown {
        1 => "only the first finding is shown".to_owned(),
        _ => format!("only the first {} findings are shown", quantity::count(shown as u64)),
    }
}

/// Returns the file or folder: the store, and below it the key or else the node.
pub(super) fn path_of(location: &Location) -> Option<String> {
    let store = location.store.as_deref()?.trim_end_matches('/');
    let below = location.key.as_deref().or(location.node.as_deref()).unwrap_or_default();
    let below = below.trim_start_matches('/');
    Some(if below.is_empty() { store.to_owned() } else { format!("{store}/{below}") })
}

/// Returns this path as a URI reference. A local path is percent-encoded, and an absolute one is a `file` URI.
pub(super) fn uri_of(location: &Location) -> Option<String> {
    let path = path_of(location)?;
    let scheme = path.split_once("://").map(|(scheme, _)| scheme);
    let is_url = scheme.is_some_and(|s| !s.is_empty() && s.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    let prefix = if path.starts_with('/') { "file://" } else { "" };
    Some(format!("{prefix}{}", encode(&path, is_url)))
}

/// Percent-encodes characters that a path does not allow. In a URL, only those that no part of it allows.
fn encode(text: &str, is_url: bool) -> String {
    let stays = |byte: u8| {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
        is_plain || (is_url && b":?#[]@!$&'()*+,;=%".contains(&byte))
    };
    let encode = |byte| if stays(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encode).collect()
}

/// A result with the version of its schema.
#[derive(Debug, Serialize)]
pub struct Document<'a, T> {
    schema: String,
    #[serde(flatten)]
    result: &'a T,
}

impl<'a, T> Document<'a, T> {
    pub fn new(command: &str, result: &'a T) -> Self {
        // Both lost members: the interval of an estimate, and the skew of values.
        let version = if matches!(command, "inspect" | "transcode") { 2 } else { 1 };
        Document { schema: format!("zarrcast.{command}/{version}"), result }
    }
}

/// Writes the result of a command, and a line end.
pub fn write<T: Serialize>(command: &str, result: &T, output: &mut dyn Write) -> io::Result<()> {
    let document = Document::new(command, result);
    // The buffer joins small writes and splits none. The output must not get part of a character.
    let mut output = BufWriter::with_capacity(1 << 16, output);
    serde_json::to_writer_pretty(&mut output, &document)?;
    writeln!(output)?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(store: &str, node: &str, key: Option<&str>) -> Location {
        Location {
            store: Some(store.to_owned()),
            node: Some(node.to_owned()),
            key: key.map(str::to_owned),
            ..Location::default()
        }
    }

    #[test]
    fn path_is_the_key_below_the_store_or_else_the_node() {
        assert_eq!(path_of(&location("a.zarr/", "/b", Some("b/zarr.json"))).unwrap(), "a.zarr/b/zarr.json");
        assert_eq!(path_of(&location("a.zarr", "/b", None)).unwrap(), "a.zarr/b");
        assert_eq!(path_of(&location("a.zarr", "/", None)).unwrap(), "a.zarr");
        assert_eq!(path_of(&Location::default()), None);
    }

    #[test]
    fn uri_encodes_what_a_path_may_not_hold() {
        assert_eq!(uri_of(&location("a b:c", "/", Some("d%e/é"))).unwrap(), "a%20b%3Ac/d%25e/%C3%A9");
        assert_eq!(uri_of(&location("/tmp/a", "/", None)).unwrap(), "file:///tmp/a");
        assert_eq!(uri_of(&location("s3://bucket/a", "/x y", None)).unwrap(), "s3://bucket/a/x%20y");
        assert_eq!(uri_of(&location("://a", "/", None)).unwrap(), "%3A//a");
    }
}
