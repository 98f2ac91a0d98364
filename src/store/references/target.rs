//! What references point at: objects beside the reference file, local files, and URLs.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::store::location::without_secrets;
use crate::store::{Key, Location, Node, RemoteOptions, Result, StoreError, file};

/// The targets of the references of a file, each opened once.
#[derive(Debug)]
pub(super) struct Targets {
    /// The folder of the reference file.
    folder: Option<Node>,
    /// The options by which URLs are reached; they also allow local files outside that folder.
    options: RemoteOptions,
    list: Vec<Target>,
}

#[derive(Debug)]
struct Target {
    text: String,
    node: OnceLock<Result<Node, String>>,
}

impl Targets {
    /// The targets of a reference file.
    pub(super) fn new(file: &Node, texts: Vec<String>, options: RemoteOptions) -> Self {
        let list = texts.into_iter().map(|text| Target { text, node: OnceLock::new() }).collect();
        Targets { folder: file.parent(), options, list }
    }

    /// The object of a target; `name` is what points at it.
    pub(super) fn get(&self, place: u32, name: impl Fn() -> String) -> Result<&Node> {
        let target = usize::try_from(place).ok().and_then(|place| self.list.get(place));
        let refused = |reason: &str| StoreError::Io {
            action: "read",
            object: name(),
            source: std::io::Error::new(std::io::ErrorKind::PermissionDenied, reason),
        };
        let target = target.ok_or_else(|| refused("it points at nothing"))?;
        let node = target.node.get_or_init(|| self.open(&target.text));
        node.as_ref().map_err(|reason| refused(reason))
    }

    /// The objects of all targets that may be read.
    pub(super) fn all(&self) -> Vec<Node> {
        let places = 0..u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        places.filter_map(|place| self.get(place, String::new).ok().cloned()).collect()
    }

    /// The object that a text names; else why it is not read.
    fn open(&self, text: &str) -> Result<Node, String> {
        let path = if text.contains("://") {
            let location =
                Location::parse(text).map_err(|error| format!("it points at `{}`: {error}", without_secrets(text)))?;
            let object = location.with_options(&self.options).object();
            match object.local_path() {
                Some(path) => path,
                None => return Ok(object),
            }
        } else {
            PathBuf::from(text)
        };
        if let Some(local) = self.folder.as_ref().and_then(Node::local_path) {
            return self.local(text, &local, &path);
        }
        match &self.folder {
            // Beside the file, in a bucket or on a server.
            Some(folder) if path.is_relative() => {
                beside(folder, text).ok_or_else(|| format!("it points at `{text}`, which leads out of its store"))
            }
            _ if self.options.allows_file_references => Ok(Node::new(&path)),
            _ => Err(outside(text)),
        }
    }

    /// A local file, of a reference file in a local folder.
    fn local(&self, text: &str, folder: &Path, path: &Path) -> Result<Node, String> {
        let path = folder.join(path);
        if self.options.allows_file_references {
            return Ok(Node::new(path));
        }
        // A name in the folder may be a link out of it. What is not there is told once it is read.
        let around = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let goes_up = path.components().any(|part| part == std::path::Component::ParentDir);
        let is_inside = file::is_inside(&path, around) && (path.exists() || !goes_up);
        if is_inside { Ok(Node::new(path)) } else { Err(outside(text)) }
    }
}

fn outside(text: &str) -> String {
    format!(
        "it points at `{text}`, a local file outside the folder of the reference file; `--allow-file-references` \
         reads such files, too"
    )
}

/// The object of a relative path, `..` gone up.
fn beside(folder: &Node, path: &str) -> Option<Node> {
    let mut folder = folder.clone();
    let mut names = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                if names.pop().is_none() {
                    let (above, _) = folder.prefix.split_last()?;
                    folder.prefix = above.into_owned();
                }
            }
            name => names.push(name),
        }
    }
    let path = names.join("/");
    Key::new(&path).ok()?;
    folder.child(&path).ok()
}
