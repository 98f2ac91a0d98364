//! Names of stores that users write: local paths and URLs. This module parses them without access to the stores. It also
//! removes secrets from URLs.

use std::ffi::OsStr;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use super::{Key, Node, ReferenceStore, Result, Store, ZipStore, file, held};

#[cfg(feature = "remote")]
use super::remote::{self, Address};

/// Location of a store: a local folder, zip file or reference file, by its path or a `file://` URL. It can also be a
/// remote store, or one that is already open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Location {
    /// Name that the user wrote.
    text: PathBuf,
    target: Target,
    /// Paths inside nested zip files, from the outermost file inwards: `a|zip:b|zip:c`.
    inside: Vec<String>,
    options: RemoteOptions,
    opened: NodeCache,
}

/// Cached node of a location, as long as it is in use. A zip file is thus read once, and the cache does not keep it
/// open.
#[derive(Debug, Clone, Default)]
struct NodeCache(Arc<Mutex<Option<CachedNode>>>);

/// Node of a store that other owners keep open.
type CachedNode = (Weak<dyn Store>, Key<'static>);

/// Always equal, as the other fields determine the node.
impl PartialEq for NodeCache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for NodeCache {}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    /// Folder, percent-decoded if it comes from a URL.
    Folder(PathBuf),
    /// Bucket or web server.
    #[cfg(feature = "remote")]
    Remote(Box<Address>),
    Open(Node),
}

impl Default for Target {
    fn default() -> Self {
        Target::Folder(PathBuf::new())
    }
}

impl Target {
    /// Parses a URL or a path, without adapters.
    fn parse(text: &str) -> Result<Self, LocationError> {
        #[cfg(feature = "remote")]
        if let Some((scheme, rest)) = text.split_once("://")
            // The store of `zip::s3://b/a.zip` is not a bucket.
            && scheme.bytes().all(is_scheme_byte)
            && let Some(address) = Address::parse(scheme, rest)
        {
            return Ok(Target::Remote(Box::new(address.map_err(LocationError::Url)?)));
        }
        Ok(Target::Folder(match split_scheme(text) {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => {
                file_path(rest).map_err(LocationError::FileUrl)?
            }
            Some((scheme, _)) => return Err(LocationError::Scheme(scheme.to_owned())),
            None => text.into(),
        }))
    }
}

/// The text does not name a store that this build can open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// A URL of a scheme that this build does not support, or a chain that begins with one. Contains the scheme, as the
    /// user wrote it.
    #[error("this build does not read or write `{0}://`")]
    Scheme(String),
    /// A store inside another one, of a kind that this build does not support. Contains the text after the `|`.
    #[error("this build does not open stores by `|{0}`")]
    Adapter(String),
    /// The path inside a zip file or a reference file is not a valid key.
    #[error("{0:?} is not a path inside a zip file or a reference file")]
    Inside(String),
    /// A `file://` URL that does not name a local path.
    #[error("{0}")]
    FileUrl(&'static str),
    /// Invalid URL of a bucket or a web server.
    #[error("{0}")]
    Url(&'static str),
}

impl Location {
    /// Parses a location.
    ///
    /// A scheme is a letter, then letters, digits, `+`, `-` or `.`, then `://`. A text that begins with a scheme is a
    /// URL, never a path. This includes chains `name::URL` of fsspec. A `|` and the name of an adapter chain stores as
    /// in ZEP 8. Any other text is a path.
    pub fn parse(text: impl Into<PathBuf>) -> Result<Self, LocationError> {
        let text = text.into();
        // A URL is valid Unicode, so any other text is a path.
        let Some(unicode) = text.to_str() else { return Ok(Self::from(text)) };
        let (store, adapters) = split_adapters(unicode);
        let target = Target::parse(store)?;
        if let Target::Folder(path) = &target {
            let is_file = |path: &&Path| (name_is(path, is_zip) || name_is(path, is_reference_file)) && path.is_file();
            let rest = path.ancestors().filter(is_file).last().and_then(|file| path.strip_prefix(file).ok()?.to_str());
            if let Some(rest) = rest.filter(|rest| !rest.is_empty() && Key::new(rest).is_err()) {
                return Err(LocationError::Inside(rest.to_owned()));
            }
        }
        let inside = adapters.into_iter().map(path_in_zip).collect::<Result<_, _>>()?;
        let text = match &target {
            #[cfg(feature = "remote")]
            Target::Remote(address) => format!("{}{}", address.shown(), &unicode[store.len()..]).into(),
            _ => text,
        };
        Ok(Location { text, target, inside, ..Location::default() })
    }

    /// Returns the location with options for remote stores and reference files.
    #[must_use]
    pub fn with_options(self, options: &RemoteOptions) -> Self {
        Location { options: options.clone(), opened: NodeCache::default(), ..self }
    }

    /// Returns the location without its cached node. What the node has read may be outdated.
    #[must_use]
    pub fn afresh(&self) -> Self {
        Location { opened: NodeCache::default(), ..self.clone() }
    }

    /// Returns true if a known setting has an effect here. The targets of a reference file are in any store.
    pub fn uses_setting(&self, name: &str, value: &str) -> bool {
        match &self.target {
            Target::Folder(path) => references_on_the_way(path).is_some() && RemoteOptions::has_effect(name, value),
            #[cfg(feature = "remote")]
            Target::Remote(address) => {
                let kind = Some(address.kind).filter(|_| address.split_file(is_reference_file).is_none());
                remote::has_effect(name, value, kind)
            }
            Target::Open(_) => true,
        }
    }

    /// Returns true if the store is remote.
    pub fn is_remote(&self) -> bool {
        self.node().capabilities().is_remote
    }

    /// Returns the node at the location. Nothing of a zip file or a remote store is read yet.
    pub fn node(&self) -> Node {
        let mut opened = held(&self.opened.0);
        if let Some((store, prefix)) = &*opened
            && let Some(store) = store.upgrade()
        {
            return Node { store, prefix: prefix.clone() };
        }
        let node = self.open();
        *opened = Some((Arc::downgrade(&node.store), node.prefix.clone()));
        node
    }

    fn open(&self) -> Node {
        let references = |file: Node| ReferenceStore::new(file, self.options.clone());
        let start = match &self.target {
            Target::Folder(path) => match (self.zip_on_the_way(path), references_on_the_way(path)) {
                (Some((zip, inside)), _) => at(ZipStore::new(Node::new(zip)), &inside),
                (None, Some((file, inside))) => at(references(Node::new(file)), &inside),
                (None, None) => Node::new(path),
            },
            #[cfg(feature = "remote")]
            Target::Remote(address) => {
                let node = |address: &Address| remote::node(address, &self.options);
                // With an adapter, the adapter opens the zip file.
                let zip = address.split_file(is_zip).filter(|_| self.inside.is_empty());
                match (zip, address.split_file(is_reference_file)) {
                    (Some((zip, inside)), _) => at(ZipStore::new(node(&zip)), &inside),
                    (None, Some((file, way))) => at(references(node(&file)), &way),
                    (None, None) => node(address),
                }
            }
            Target::Open(node) => node.clone(),
        };
        self.inside.iter().fold(start, |file, inside| at(ZipStore::new(file), inside))
    }

    /// Returns the node of the object itself, even if it is a zip file or a reference file.
    pub(super) fn object(&self) -> Node {
        match &self.target {
            Target::Folder(path) => Node::new(path),
            #[cfg(feature = "remote")]
            Target::Remote(address) => remote::node(address, &self.options),
            Target::Open(node) => node.clone(),
        }
    }

    /// Returns the location of a node below this one.
    pub fn child(&self, path: &str) -> Result<Self> {
        // The open store is shared, so that a zip file is not read again for each of its nodes.
        let target = Target::Open(self.node().child(path)?);
        Ok(Location { text: self.text.join(path), target, ..Location::default() })
    }

    /// Returns the name that the user wrote.
    pub fn display(&self) -> std::path::Display<'_> {
        self.text.display()
    }

    /// Returns a name that is valid in any working folder: paths are absolute. Invalid Unicode is replaced.
    pub fn from_anywhere(&self) -> String {
        let text = self.text.to_string_lossy();
        let path = if split_scheme(&text).is_none() { std::path::absolute(&self.text).ok() } else { None };
        path.map_or_else(|| text.to_string(), |path| path.to_string_lossy().into_owned())
    }

    /// Returns true if a file has, or would have, the local path of the location or a path inside it.
    pub fn holds_file(&self, file: &Path) -> bool {
        if let Target::Folder(folder) = &self.target {
            return file::is_inside(file, folder);
        }
        let is_url = self.text.to_str().is_some_and(|text| split_scheme(text).is_some());
        !is_url && file::is_inside(file, &self.text)
    }

    /// Returns true if the location is inside a zip file and not the file itself.
    pub fn is_inside_zip(&self) -> bool {
        let Target::Folder(path) = &self.target else { return !self.inside.is_empty() };
        !self.inside.is_empty() || self.zip_on_the_way(path).is_some_and(|(_, inside)| !inside.is_empty())
    }

    /// Returns the first zip file of a path, and the rest of the path. Skips a file that an adapter opens.
    fn zip_on_the_way<'p>(&self, path: &'p Path) -> Option<(&'p Path, String)> {
        let opened_by_adapter = usize::from(!self.inside.is_empty());
        // A folder may have the name of a zip file. A path that does not exist yet is a new zip file.
        let zips = path.ancestors().skip(opened_by_adapter).filter(|path| name_is(path, is_zip) && !path.is_dir());
        // `ancestors` begins with the whole path, so the last one is the outermost file.
        inside(path, zips.last()?)
    }
}

/// Returns a store file and the rest of a path after it. `None` means that the rest is not a valid key.
fn inside<'p>(path: &'p Path, file: &'p Path) -> Option<(&'p Path, String)> {
    let inside = path.strip_prefix(file).ok()?.to_str()?;
    (inside.is_empty() || Key::new(inside).is_ok()).then(|| (file, inside.to_owned()))
}

/// Returns the first reference file of a path, and the rest of the path. It must have the extension and be a file.
fn references_on_the_way(path: &Path) -> Option<(&Path, String)> {
    let files = path.ancestors().filter(|path| name_is(path, is_reference_file) && path.is_file());
    inside(path, files.last()?)
}

fn name_is(path: &Path, is: fn(&str) -> bool) -> bool {
    path.file_name().and_then(OsStr::to_str).is_some_and(is)
}

fn is_zip(name: &str) -> bool {
    has_extension(name, "zip")
}

/// A `zarr.json` is the metadata of a node.
fn is_reference_file(name: &str) -> bool {
    has_extension(name, "json") && name != "zarr.json"
}

fn has_extension(name: &str, extension: &str) -> bool {
    // `.zip` alone is the name of a hidden file without an extension.
    name.rsplit_once('.').is_some_and(|(stem, found)| !stem.is_empty() && found.eq_ignore_ascii_case(extension))
}

/// Returns the node at a path in a store. The path of the root is empty.
fn at(store: impl Store + 'static, path: &str) -> Node {
    Node { store: Arc::new(store), prefix: Key::new(path).map_or(Key::ROOT, Key::into_owned) }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.display().fmt(f)
    }
}

/// Uses the path as it is, without parsing.
impl From<PathBuf> for Location {
    fn from(path: PathBuf) -> Self {
        Location { text: path.clone(), target: Target::Folder(path), ..Location::default() }
    }
}

impl From<&Path> for Location {
    fn from(path: &Path) -> Self {
        Self::from(path.to_path_buf())
    }
}

impl From<Node> for Location {
    fn from(node: Node) -> Self {
        Location { text: node.name().into(), target: Target::Open(node), ..Location::default() }
    }
}

/// Returns a URL without the parts that may be secret: user, password and query.
pub(crate) fn without_secrets(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let rest = &rest[..rest.find(['?', '#']).unwrap_or(rest.len())];
    let host = rest.find('/').unwrap_or(rest.len());
    // The last `@`, as a password may contain others.
    let begin = rest[..host].rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{}", &rest[begin..])
}

/// Splits a URL into its scheme and the text after `://`. In a chain `name::URL` the last scheme counts.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
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
fn split_adapters(text: &str) -> (&str, Vec<&str>) {
    // A path may contain `|` itself, so the text is split at the first `|` that begins an adapter.
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
        // Without a path only known names are adapters, as `a|b` is a valid file name.
        && (rest.starts_with(':') || (rest.is_empty() && ADAPTERS.contains(&name)))
}

/// Returns the path of an adapter `zip:path`. It is empty for the zip file itself.
fn path_in_zip(adapter: &str) -> Result<String, LocationError> {
    let (name, path) = adapter.split_once(':').unwrap_or((adapter, ""));
    if name != "zip" {
        return Err(LocationError::Adapter(name.to_owned()));
    }
    let path = path.trim_matches('/');
    let is_valid = path.is_empty() || Key::new(path).is_ok();
    if is_valid { Ok(path.to_owned()) } else { Err(LocationError::Inside(path.to_owned())) }
}

/// Returns the path of a `file://` URL (RFC 8089) from the text after `//`.
fn file_path(rest: &str) -> Result<PathBuf, &'static str> {
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
    let path = percent_decoded(path).ok_or(BAD_PERCENT)?;
    if path.contains('\0') { Err("a path holds no zero byte") } else { Ok(path.into()) }
}

/// Fault of a text that cannot be percent-decoded.
pub(super) const BAD_PERCENT: &str =
    "% in a URL needs two hexadecimal digits, of UTF-8: write % itself as %25, or give the path";

/// Decodes the percent-encoding of a URL (RFC 3986, section 2.1). Returns `None` if a `%` is not followed by two
/// hexadecimal digits, or the text is not UTF-8 then.
pub(super) fn percent_decoded(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let digits = piece.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(&piece.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

/// Default limit of concurrent requests.
const REQUESTS: NonZeroUsize = NonZeroUsize::new(64).unwrap();

/// Options of remote stores and of the targets of reference files. Local stores have none.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RemoteOptions {
    /// `--storage-option KEY=VALUE`: settings with the names of the clouds' own tools. They override the environment
    /// and files. Values may be secrets.
    pub settings: Vec<(String, String)>,
    /// `--anonymous`: requests are not signed, and credentials are not searched.
    pub anonymous: bool,
    /// `--requests N`: limit of concurrent requests.
    pub requests: NonZeroUsize,
    /// `--missing-status 403`: refused objects count as absent.
    pub refused_is_absent: bool,
    /// `--allow-file-references`: a reference file may point at local files outside its folder. The author of the file
    /// chooses them, not its reader.
    pub allows_file_references: bool,
}

impl RemoteOptions {
    /// Returns true if a store of this build knows a setting with this name, such as `aws_region` or `endpoint`.
    pub fn is_setting(name: &str) -> bool {
        #[cfg(feature = "remote")]
        return super::remote::is_setting(name);
        #[cfg(not(feature = "remote"))]
        return !name.is_empty();
    }

    /// Returns true if a setting has an effect for some store.
    pub fn has_effect(name: &str, value: &str) -> bool {
        #[cfg(feature = "remote")]
        return super::remote::has_effect(name, value, None);
        #[cfg(not(feature = "remote"))]
        return !(name.is_empty() || value.is_empty());
    }

    /// Returns the settings of which one is needed for an effect of this one, if none of them is given.
    pub fn missing(name: &str, options: &[(String, String)]) -> Option<&'static str> {
        #[cfg(feature = "remote")]
        return super::remote::missing(name, options);
        #[cfg(not(feature = "remote"))]
        {
            let _ = (name, options);
            None
        }
    }

    /// Returns true if a setting serves only to sign requests.
    pub fn is_credential(name: &str) -> bool {
        const SIGNING: &str = "access_key_id access_key account_key sas_key token token_file client_secret role_arn \
            role_session_name";
        let name = name.to_ascii_lowercase();
        SIGNING.split(' ').any(|end| name.ends_with(end))
    }

    /// Returns true if a setting serves only to encrypt objects that are written. A customer's key is also read with.
    pub fn is_of_writes(name: &str, value: &str) -> bool {
        const ENCRYPTING: [&str; 3] = ["server_side_encryption", "sse_kms_key_id", "bucket_key_enabled"];
        let name = name.to_ascii_lowercase();
        value != "sse-c" && ENCRYPTING.iter().any(|end| name.ends_with(end))
    }

    /// Returns true if a setting is a switch, and its value neither on nor off.
    pub fn is_bad_switch(name: &str, value: &str) -> bool {
        const SWITCHES: &str = "allow_http bucket_key_enabled disable_bulk_delete imdsv1_fallback request_payer \
            s3_express skip_signature unsigned_payload use_azure_cli use_emulator use_fabric_endpoint \
            virtual_hosted_style_request";
        const VALUES: [&str; 10] = ["1", "true", "on", "yes", "y", "0", "false", "off", "no", "n"];
        let (name, value) = (name.to_ascii_lowercase(), value.to_ascii_lowercase());
        // A name may have the prefix of a cloud: `aws_allow_http`.
        SWITCHES.split(' ').any(|switch| name.ends_with(switch)) && !VALUES.contains(&value.as_str())
    }

    /// Returns true if a setting may be a secret: a key, a token, a password, or a URL with one. The path of a file
    /// with a secret is not one.
    pub fn may_be_secret(name: &str, value: &str) -> bool {
        const SECRETS: [&str; 5] = ["key", "token", "secret", "password", "sas"];
        // Ends of names that are not secret: readers of the bucket's settings know them, or they are paths and
        // addresses.
        const OPEN: [&str; 5] = ["kms_key_id", "key_enabled", "token_file", "service_url", "path"];
        let name = name.to_ascii_lowercase();
        let is_named = name.split('_').any(|word| SECRETS.contains(&word));
        let has_password = value.split_once('@').is_some_and(|(user, _)| user.contains(':'));
        let is_open = OPEN.iter().any(|open| name.ends_with(open));
        (is_named && !is_open) || has_password || without_secrets(value) != value
    }
}

impl Default for RemoteOptions {
    fn default() -> Self {
        let (settings, requests) = (Vec::new(), REQUESTS);
        RemoteOptions { settings, anonymous: false, requests, refused_is_absent: false, allows_file_references: false }
    }
}

/// Omits the values of the settings, which may be secrets.
impl fmt::Debug for RemoteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.settings.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("RemoteOptions").field("settings", &names).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write and read files")]
mod tests {
    use super::*;

    #[test]
    fn file_that_is_named_json_is_a_reference_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("folder.json")).unwrap();
        for name in ["a.json", "zarr.json", "folder.json/b.JSON"] {
            std::fs::write(path(name), "{}").unwrap();
        }
        let found = |text: &str| {
            let path = path(text);
            let (file, inside) = references_on_the_way(&path)?;
            Some((file.strip_prefix(folder.path()).unwrap().display().to_string(), inside))
        };
        let at = |file: &str, inside: &str| Some((file.to_owned(), inside.to_owned()));
        assert_eq!(found("a.json"), at("a.json", ""));
        assert_eq!(found("a.json/x/y"), at("a.json", "x/y"));
        assert_eq!(found("folder.json/b.JSON/x"), at("folder.json/b.JSON", "x"));
        for text in ["folder.json", "zarr.json", "none.json", "a.json/../x"] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[cfg(feature = "remote")]
    #[test]
    fn setting_is_used_by_stores_of_its_cloud_and_by_reference_files() {
        let used = |setting| {
            let texts = ["s3://b/a", "gs://b/a", "az://b/a", "https://h/a", "a", "https://h/a.json"];
            texts.map(|text| u8::from(Location::parse(text).unwrap().uses_setting(setting, "x")))
        };
        assert_eq!(used("aws_region"), [1, 0, 0, 0, 0, 1]);
        assert_eq!(used("google_service_account"), [0, 1, 0, 0, 0, 1]);
        assert_eq!(used("skip_signature"), [1, 1, 1, 0, 0, 1]);
    }

    #[test]
    fn location_opens_its_store_once_while_somebody_has_it() {
        let location = Location::parse("a.zip").unwrap();
        let node = location.node();
        assert_eq!(location.clone().node(), node);
        let store = Arc::downgrade(&node.store);
        drop(node);
        assert!(store.upgrade().is_none());
    }

    #[test]
    fn zip_is_the_first_name_of_the_path_that_ends_so() {
        let zip = |text| {
            let location = Location::parse(text).unwrap();
            let Target::Folder(path) = &location.target else { return None };
            let (zip, inside) = location.zip_on_the_way(path)?;
            Some((zip.display().to_string(), inside))
        };
        let found = |zip: &str, inside: &str| Some((zip.to_owned(), inside.to_owned()));
        assert_eq!(zip("a/b.zip/c.zip/d"), found("a/b.zip", "c.zip/d"));
        assert_eq!(zip("a/b.ZIP"), found("a/b.ZIP", ""));
        assert_eq!(zip("zip/a.zipper"), None);
        assert_eq!(zip("a.zip/../b"), None);
        assert_eq!(zip("a.zip|zip:b"), None);
        assert_eq!(zip("a.zip/b.zip|zip:c"), found("a.zip", "b.zip"));
    }
}

#[cfg(test)]
mod option_tests {
    use crate::store::RemoteOptions;

    #[test]
    fn settings_that_may_be_secrets_are_known_by_name_or_value() {
        let secrets = "aws_access_key_id AWS_SECRET_ACCESS_KEY secret_access_key aws_session_token token access_key \
            aws_sse_customer_key_base64 azure_storage_account_key azure_client_secret sas_token azure_storage_sas_key \
            azure_fabric_session_token encryption_key google_service_account_key bearer_token";
        for name in secrets.split_whitespace() {
            assert!(RemoteOptions::may_be_secret(name, "x"), "{name}");
        }
        let others = "aws_region endpoint aws_virtual_hosted_style_request aws_sse_kms_key_id aws_sse_bucket_key_enabled \
            aws_web_identity_token_file aws_skip_signature azure_storage_account_name azure_client_id \
            azure_fabric_token_service_url google_service_account google_application_credentials";
        for name in others.split_whitespace() {
            assert!(!RemoteOptions::may_be_secret(name, "http://localhost:9000"), "{name}");
            assert!(RemoteOptions::may_be_secret(name, "http://user:word@localhost"), "{name}");
            assert!(RemoteOptions::may_be_secret(name, "http://localhost?sig=x"), "{name}");
            assert!(RemoteOptions::may_be_secret(name, "user:word@localhost:8080"), "{name}");
            assert!(!RemoteOptions::may_be_secret(name, "name@project.iam.example"), "{name}");
        }
    }
}
