//! Parts of a location's text: schemes, adapters and paths of `file://` URLs. Also removes secrets from URLs.

use std::path::PathBuf;

use crate::store::{Key, LocationError, percent};

#[cfg(feature = "remote")]
use crate::store::remote::Address;

/// Parses the address of a bucket or a web server. Returns `None` for other schemes.
#[cfg(feature = "remote")]
pub(super) fn remote_address(text: &str) -> Option<Result<Address, &'static str>> {
    let (scheme, rest) = text.split_once("://")?;
    // The store of `zip::s3://b/a.zip` is not a bucket.
    if scheme.bytes().all(is_scheme_byte) { Address::parse(scheme, rest) } else { None }
}

/// Returns a URL without the parts that may be secret: user, password and query.
pub(crate) fn without_secrets(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let rest = &rest[..rest.find(['?', '#']).unwrap_or(rest.len())];
    let host = rest.find('/').unwrap_or(rest.len());
    let begin = rest[..host].rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{}", &rest[begin..])
}

/// Splits a URL into its scheme and the text after `://`. In a chain `name::URL` the last scheme counts.
pub(super) fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let length = text.bytes().position(|byte| !is_scheme_byte(byte))?;
    let (scheme, rest) = text.split_at(length);
    if !scheme.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return None;
    }
    if let Some(rest) = rest.strip_prefix("://") {
        return Some((scheme, rest));
    }
    // The store of `zip::file://a.zip` is not a `file`.
    let (inner, rest) = split_scheme(rest.strip_prefix("::")?)?;
    Some((if inner.eq_ignore_ascii_case("file") { scheme } else { inner }, rest))
}

fn is_scheme_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// Splits a text at its first ZEP 8 adapter. An adapter is `|` and a name, then `:` and a path, the end or the next
/// adapter.
pub(super) fn split_adapters(text: &str) -> (&str, Vec<&str>) {
    let mut pieces = text.match_indices('|').map(|(at, _)| at);
    match pieces.find(|at| is_adapter(text[at + 1..].split('|').next().unwrap_or_default())) {
        Some(at) => (&text[..at], text[at + 1..].split('|').collect()),
        None => (text, Vec::new()),
    }
}

fn is_adapter(text: &str) -> bool {
    const ADAPTERS: [&str; 7] = ["zip", "zarr", "zarr2", "zarr3", "gzip", "zstd", "icechunk"];
    let (name, rest) = text.split_at(text.bytes().position(|byte| !is_scheme_byte(byte)).unwrap_or(text.len()));
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && (rest.starts_with(':') || (rest.is_empty() && ADAPTERS.contains(&name)))
}

/// Returns the path of an adapter `zip:path`. It is empty for the zip file itself.
pub(super) fn path_in_zip(adapter: &str) -> Result<String, LocationError> {
    let (name, path) = adapter.split_once(':').unwrap_or((adapter, ""));
    if name != "zip" {
        return Err(LocationError::Adapter(name.to_owned()));
    }
    let path = path.trim_matches('/');
    let is_valid = path.is_empty() || Key::new(path).is_ok();
    if is_valid { Ok(path.to_owned()) } else { Err(LocationError::Inside(path.to_owned())) }
}

/// Returns the path of a `file://` URL (RFC 8089) from the text after `//`.
pub(super) fn file_path(rest: &str) -> Result<PathBuf, &'static str> {
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    if !(host.is_empty() || host.eq_ignore_ascii_case("localhost")) {
        return Err("a file:// URL names no host: an absolute path follows, as in file:///data/a.zarr");
    }
    if path.is_empty() {
        return Err("a file:// URL needs an absolute path, as in file:///data/a.zarr");
    }
    if path.contains(['?', '#']) {
        return Err("a file:// URL has no query and no fragment: write ? as %3F and # as %23");
    }
    let bytes = percent::decoded(path).ok_or("% in a URL needs two hexadecimal digits: write % itself as %25")?;
    if bytes.contains(&0) {
        return Err("a path holds no zero byte");
    }
    String::from_utf8(bytes)
        .map(PathBuf::from)
        .map_err(|_| "the URL is not UTF-8 once it is percent-decoded: give the path instead")
}
