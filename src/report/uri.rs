//! Where a finding's file is: as a path, and as a URI reference (RFC 3986).

use std::fmt::Write;

use crate::diagnostic::Location;

/// The file or folder: the store, and the key or else the node below it.
pub(super) fn path_of(location: &Location) -> Option<String> {
    let store = location.store.as_deref()?.trim_end_matches('/');
    let below = location.key.as_deref().or(location.node.as_deref()).unwrap_or_default();
    let below = below.trim_start_matches('/');
    Some(if below.is_empty() { store.to_owned() } else { format!("{store}/{below}") })
}

/// The same as a reference: a path on this machine is percent-encoded, one from the root is a `file` URI.
pub(super) fn uri_of(location: &Location) -> Option<String> {
    let path = path_of(location)?;
    let scheme = path.split_once("://").map(|(scheme, _)| scheme);
    let is_url = scheme.is_some_and(|s| !s.is_empty() && s.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    let prefix = match path.starts_with('/') {
        true => "file://",
        false => "",
    };
    Some(format!("{prefix}{}", encode(&path, is_url)))
}

/// Percent-encodes what may not stand in a path; of a URL what may stand nowhere in it.
fn encode(text: &str, is_url: bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
        if plain || (is_url && b":?#[]@!$&'()*+,;=%".contains(&byte)) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
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
