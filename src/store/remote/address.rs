//! The URLs by which stores behind a network are named. Nothing is looked up here.

use std::fmt;

use crate::store::{Key, percent};

/// The kind of store that a URL names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// `http://`, `https://`: a web server.
    Http,
    /// `s3://`: Amazon S3 and what speaks like it.
    S3,
    /// `gs://`: Google Cloud Storage.
    Google,
    /// `az://`: Azure Blob Storage.
    Azure,
}

/// A URL of a store behind a network, taken apart.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    pub(super) kind: Kind,
    /// The bucket or container; of a web server its scheme and host: `https://example.org:8080`.
    pub(super) root: String,
    /// The path behind it, without the slashes around it: of a bucket literally, of a web server as the URL has it.
    pub(super) path: String,
    /// The query of a web server's URL, which goes with every key. It may be a secret.
    pub(super) query: Option<String>,
    /// The user and the password, percent-decoded.
    pub(super) user: Option<(String, String)>,
}

/// Without what may be a secret.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Address").field(&self.shown()).finish()
    }
}

impl Address {
    /// Takes a URL apart, given as its scheme and what follows `://`; `None` where the scheme is none of these.
    pub(crate) fn parse(scheme: &str, rest: &str) -> Option<Result<Self, &'static str>> {
        let scheme = scheme.to_ascii_lowercase();
        Some(match scheme.as_str() {
            "http" | "https" => Self::of_web(&scheme, rest),
            "s3" => Self::of_bucket(Kind::S3, rest),
            "gs" => Self::of_bucket(Kind::Google, rest),
            "az" => Self::of_bucket(Kind::Azure, rest),
            _ => return None,
        })
    }

    fn of_bucket(kind: Kind, rest: &str) -> Result<Self, &'static str> {
        let (bucket, path) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err("the name of a bucket or container follows ://");
        }
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'$');
        if !bucket.bytes().all(is_name) {
            return Err("the name of a bucket or container has only letters, digits, `.`, `-` and `_`");
        }
        let path = path.strip_suffix('/').unwrap_or(path).to_owned();
        if !path.is_empty() && Key::new(&path).is_err() {
            return Err("a key has no name that is empty, `.` or `..`, and no control character");
        }
        Ok(Address { kind, root: bucket.to_owned(), path, query: None, user: None })
    }

    fn of_web(scheme: &str, rest: &str) -> Result<Self, &'static str> {
        if rest.contains('#') {
            return Err("the URL of a store has no fragment: write # as %23");
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        if host.is_empty() {
            return Err("the name of a server follows ://");
        }
        let decoded = |text| percent_decoded(text).ok_or(BAD_PERCENT);
        let user = user.map(|user| user.split_once(':').unwrap_or((user, "")));
        let user = match user {
            Some((name, password)) => Some((decoded(name)?, decoded(password)?)),
            None => None,
        };
        decoded(path)?;
        if path.split('/').any(|name| matches!(name, "." | "..")) {
            return Err("the URL of a store has no `.` and no `..` in its path");
        }
        let path = path.trim_end_matches('/').to_owned();
        let root = format!("{scheme}://{host}");
        let query = Some(query.to_owned()).filter(|query| !query.is_empty());
        Ok(Address { kind: Kind::Http, root, path, query, user })
    }

    /// As messages name it: without user, password and query.
    pub(crate) fn shown(&self) -> String {
        let scheme = match self.kind {
            Kind::Http => "",
            Kind::S3 => "s3://",
            Kind::Google => "gs://",
            Kind::Azure => "az://",
        };
        let separator = if self.path.is_empty() { "" } else { "/" };
        format!("{scheme}{}{separator}{}", self.root, self.path)
    }

    /// The address of the first file of such a name that the path leads into, and the way on in it.
    pub(crate) fn split_file(&self, is_named_so: impl Fn(&str) -> bool) -> Option<(Address, String)> {
        let mut end = 0;
        for name in self.path.split('/') {
            end += name.len();
            if is_named_so(name) {
                let inside = self.path[end..].trim_start_matches('/');
                let is_web = self.kind == Kind::Http;
                let inside = if is_web { percent_decoded(inside)? } else { inside.to_owned() };
                return Some((Address { path: self.path[..end].to_owned(), ..self.clone() }, inside));
            }
            end += 1;
        }
        None
    }

    /// The same with another path.
    pub(super) fn with_path(&self, path: &str) -> Address {
        Address { path: path.to_owned(), ..self.clone() }
    }
}

const BAD_PERCENT: &str = "% in a URL needs two hexadecimal digits, of UTF-8: write % itself as %25";

pub(super) fn percent_decoded(text: &str) -> Option<String> {
    String::from_utf8(percent::decoded(text)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Result<Address, &'static str> {
        let (scheme, rest) = text.split_once("://").unwrap();
        Address::parse(scheme, rest).unwrap()
    }

    #[test]
    fn address_of_a_bucket_is_taken_literally() {
        let found = address("s3://bucket/a%20b/[ä]/?x#y/").unwrap();
        assert_eq!((found.root.as_str(), found.path.as_str()), ("bucket", "a%20b/[ä]/?x#y"));
        assert_eq!(found.shown(), "s3://bucket/a%20b/[ä]/?x#y");
        assert_eq!(address("gs://b").unwrap().shown(), "gs://b");
        let no_keys = ["s3://b/a/../c", "az://b/.", "gs://b/./a", "az://b//a", "s3://b/a//c", "s3://b/a\tc"];
        for text in ["s3://", "s3:///a", "s3://user:secret@bucket/a"].into_iter().chain(no_keys) {
            assert!(address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn address_of_a_web_server_never_shows_its_secrets() {
        let found = address("HTTPS://us%65r:se%63ret@host:8080/a%20b/c.zarr/?signature=secret").unwrap();
        assert_eq!(found.shown(), "https://host:8080/a%20b/c.zarr");
        assert_eq!(format!("{found:?}"), r#"Address("https://host:8080/a%20b/c.zarr")"#);
        assert_eq!(found.user, Some(("user".to_owned(), "secret".to_owned())));
        assert_eq!(found.query.as_deref(), Some("signature=secret"));
        for text in ["http://", "http:///a", "http://h/a#b", "http://h/%2", "http://h/%ff", "http://h/a/../b"] {
            assert!(address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn address_of_other_schemes_is_none() {
        assert!(Address::parse("abfs", "a@b/c").is_none() && Address::parse("memory", "a").is_none());
    }
}
