//! The texts by which users name stores: paths of local folders, and URLs. Nothing is looked up here.

mod text;

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use super::file;
#[cfg(feature = "remote")]
use super::remote::{self, Address};
use super::zip::node_of_file;
use super::{Key, Node, ReferenceStore, RemoteOptions, Result, Store, held};
#[cfg(feature = "remote")]
use text::remote_address;
pub(crate) use text::without_secrets;
use text::{file_path, path_in_zip, split_adapters, split_scheme};

/// Where a store lies: a local folder, zip file or reference file, named by its path or by a `file://` URL; or a store
/// that is open already.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Location {
    /// As the user gave it.
    text: PathBuf,
    target: Target,
    /// The paths inside zip files, each of which lies at the place before it: `a|zip:b|zip:c`.
    inside: Vec<String>,
    /// The options by which it is reached.
    options: RemoteOptions,
    opened: NodeCache,
}

/// The node of a location once it was asked for, as long as somebody has it: a zip file is read once, and is not held
/// open by its name.
#[derive(Debug, Clone, Default)]
struct NodeCache(Arc<Mutex<Option<CachedNode>>>);

/// A node of a store that others have.
type CachedNode = (Weak<dyn Store>, Key<'static>);

/// It follows from the rest.
impl PartialEq for NodeCache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for NodeCache {}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    /// A folder, percent-decoded where it was given by a URL.
    Folder(PathBuf),
    /// A bucket or a web server, and how it is reached.
    #[cfg(feature = "remote")]
    Remote(Box<Address>),
    Open(Node),
}

impl Default for Target {
    fn default() -> Self {
        Target::Folder(PathBuf::new())
    }
}

/// The text names no store that this build can open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// A URL of a scheme that is not built, or a chain that begins with one.
    #[error("this build does not read or write `{scheme}://`")]
    Scheme {
        /// The scheme, as it was given.
        scheme: String,
    },
    /// A store inside another one, of a kind that is not built.
    #[error("this build does not open stores by `|{adapter}`")]
    Adapter {
        /// The text behind the `|`.
        adapter: String,
    },
    /// The path inside a zip file is no key.
    #[error("{path:?} is not a path inside a zip file")]
    Inside {
        /// The path.
        path: String,
    },
    /// A `file://` URL that is not one of a local path.
    #[error("{0}")]
    FileUrl(&'static str),
    /// A URL of a bucket or a web server that is not one.
    #[error("{0}")]
    Url(&'static str),
}

impl Location {
    /// Reads the text of a location.
    ///
    /// A scheme is a letter, then letters, digits, `+`, `-` or `.`, then `://`. A text that begins with one is a URL,
    /// never a path; so is a chain `name::URL` as fsspec writes it. A `|` and the name of an adapter chain stores as
    /// ZEP 8 does. Any other text is a path.
    pub fn parse(text: impl Into<PathBuf>) -> Result<Self, LocationError> {
        let text = text.into();
        let Some(unicode) = text.to_str() else { return Ok(Self::from(text)) };
        let (store, adapters) = split_adapters(unicode);
        #[cfg(feature = "remote")]
        if let Some(address) = remote_address(store) {
            let address = address.map_err(LocationError::Url)?;
            let text = format!("{}{}", address.shown(), &unicode[store.len()..]).into();
            let inside = adapters.into_iter().map(path_in_zip).collect::<Result<_, _>>()?;
            let target = Target::Remote(Box::new(address));
            return Ok(Location { text, target, inside, ..Location::default() });
        }
        let path = match split_scheme(store) {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => {
                file_path(rest).map_err(LocationError::FileUrl)?
            }
            Some((scheme, _)) => return Err(LocationError::Scheme { scheme: scheme.to_owned() }),
            None => PathBuf::from(store),
        };
        let inside = adapters.into_iter().map(path_in_zip).collect::<Result<_, _>>()?;
        Ok(Location { text, target: Target::Folder(path), inside, ..Location::default() })
    }

    /// The same, reached in another way: behind a network, and from a reference file.
    #[must_use]
    pub fn with_options(self, options: &RemoteOptions) -> Self {
        Location { options: options.clone(), opened: NodeCache::default(), ..self }
    }

    /// The same, opened anew: what was read of it before may be of another time.
    #[must_use]
    pub fn afresh(&self) -> Self {
        Location { opened: NodeCache::default(), ..self.clone() }
    }

    /// True if it lies behind a network.
    pub fn is_remote(&self) -> bool {
        self.node().abilities().is_remote
    }

    /// The node that it names. Of a zip file, and behind a network, nothing is read yet.
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
        let start = match &self.target {
            Target::Folder(path) => match (self.zip_on_the_way(path), references_on_the_way(path)) {
                (Some((zip, inside)), _) => in_zip(Node::new(zip), &inside),
                (None, Some((file, inside))) => self.in_references(Node::new(file), &inside),
                (None, None) => Node::new(path),
            },
            #[cfg(feature = "remote")]
            Target::Remote(address) => {
                let node = |address: &Address| remote::node(address, &self.options);
                // The one that an adapter opens is not meant.
                let zip = address.split_file(is_zip).filter(|_| self.inside.is_empty());
                match (zip, address.split_file(is_reference_file)) {
                    (Some((zip, inside)), _) => in_zip(node(&zip), &inside),
                    (None, Some((file, way))) => self.in_references(remote::node_of_file(&file, &self.options), &way),
                    (None, None) => node(address),
                }
            }
            Target::Open(node) => node.clone(),
        };
        self.inside.iter().fold(start, |file, inside| in_zip(file, inside))
    }

    /// The object that it names, as which nothing is taken for a store of its own.
    pub(super) fn object(&self) -> Node {
        match &self.target {
            Target::Folder(path) => Node::new(path),
            #[cfg(feature = "remote")]
            Target::Remote(address) => remote::node(address, &self.options),
            Target::Open(node) => node.clone(),
        }
    }

    /// The node at a path in the reference file that stands at a node's own place.
    fn in_references(&self, file: Node, inside: &str) -> Node {
        let store = ReferenceStore::new(file, self.options.clone());
        Node::of(Arc::new(store)).below(&Key::new(inside).map_or(Key::ROOT, Key::into_owned))
    }

    /// The location of a node below it.
    pub fn child(&self, path: &str) -> Result<Self> {
        let target = Target::Open(self.node().child(path)?);
        Ok(Location { text: self.text.join(path), target, ..Location::default() })
    }

    /// As the user named it.
    pub fn display(&self) -> std::path::Display<'_> {
        self.text.display()
    }

    /// A text by which processes in other folders name it: a path is absolute. What is no Unicode is replaced.
    pub fn from_anywhere(&self) -> String {
        let text = self.text.to_string_lossy();
        let path = if split_scheme(&text).is_none() { std::path::absolute(&self.text).ok() } else { None };
        path.map_or_else(|| text.to_string(), |path| path.to_string_lossy().into_owned())
    }

    /// True if a file would lie at the local place that it names, or inside it.
    pub fn holds_file(&self, file: &Path) -> bool {
        match &self.target {
            Target::Folder(place) => file::is_inside(file, place),
            Target::Open(_) => {
                let has_scheme = self.text.to_str().is_some_and(|text| split_scheme(text).is_some());
                !has_scheme && file::is_inside(file, &self.text)
            }
            #[cfg(feature = "remote")]
            Target::Remote(_) => false,
        }
    }

    /// True if it names something in a zip file, not the file itself.
    pub fn is_inside_zip(&self) -> bool {
        let Target::Folder(path) = &self.target else { return !self.inside.is_empty() };
        !self.inside.is_empty() || self.zip_on_the_way(path).is_some_and(|(_, inside)| !inside.is_empty())
    }

    /// The first zip file that a path leads into, and the way on in it. The one that an adapter opens is not meant.
    fn zip_on_the_way<'p>(&self, path: &'p Path) -> Option<(&'p Path, String)> {
        let opened_by_adapter = usize::from(!self.inside.is_empty());
        let zips = path.ancestors().skip(opened_by_adapter).filter(|path| name_is(path, is_zip) && !path.is_dir());
        inside(path, zips.last()?)
    }
}

/// A file that is a store, and the way on in it by a path that leads into it; `None` where that is no key.
fn inside<'p>(path: &'p Path, file: &'p Path) -> Option<(&'p Path, String)> {
    let inside = path.strip_prefix(file).ok()?.to_str()?;
    (inside.is_empty() || Key::new(inside).is_ok()).then(|| (file, inside.to_owned()))
}

/// The reference file that a path leads into, and the way on in it: the first that is named so and is a file.
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

/// A document of a node is none.
fn is_reference_file(name: &str) -> bool {
    has_extension(name, "json") && name != "zarr.json"
}

fn has_extension(name: &str, extension: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, found)| !stem.is_empty() && found.eq_ignore_ascii_case(extension))
}

/// The node at a path in the zip file that stands at a node's own place.
fn in_zip(file: Node, inside: &str) -> Node {
    let prefix = Key::new(inside).map_or(Key::ROOT, Key::into_owned);
    node_of_file(file).below(&prefix)
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.display().fmt(f)
    }
}

/// A path, taken as it is.
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

/// A node of a store that is open.
impl From<Node> for Location {
    fn from(node: Node) -> Self {
        Location { text: node.name().into(), target: Target::Open(node), ..Location::default() }
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
