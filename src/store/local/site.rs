//! Places of hierarchies on the local disk.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::tree;
use crate::store::site::{Relation, Site, Spot};
use crate::store::{Node, StoreError};

/// A folder, and `.NAME.zarrcast` and `.NAME.zarrcast-old` beside it.
#[derive(Debug)]
pub(in crate::store) struct LocalSite {
    /// With every link resolved.
    place: PathBuf,
}

impl LocalSite {
    /// The site of a folder, which need not be there yet. Nothing is touched.
    pub(in crate::store) fn new(path: &Path) -> Result<Self, StoreError> {
        Ok(LocalSite { place: tree::resolved(path)? })
    }

    pub(in crate::store) fn path(&self, spot: Spot) -> PathBuf {
        let suffix = match spot {
            Spot::Place => return self.place.clone(),
            Spot::Staging => "",
            Spot::Aside => "-old",
        };
        let mut name = OsString::from(".");
        name.push(self.place.file_name().unwrap_or_default());
        name.push(".zarrcast");
        name.push(suffix);
        self.place.with_file_name(name)
    }
}

impl LocalSite {
    /// Moves a file to the place, at once: over the one that is there if it is to replace that, else where nothing is.
    pub(in crate::store) fn move_file_to_place(&self, file: &Path, replaces: bool) -> Result<(), StoreError> {
        if replaces { tree::rename(file, &self.place) } else { tree::rename_to_nothing(file, &self.place) }
    }
}

/// Whether one path lies in another, whatever names lead to them.
fn lies_in(inner: &Path, outer: &Path) -> bool {
    let folder = tree::identity(outer);
    inner.starts_with(outer)
        || folder.is_some_and(|folder| inner.ancestors().any(|path| tree::identity(path) == Some(folder)))
}

impl Site for LocalSite {
    fn node(&self, spot: Spot) -> Node {
        Node::confined(self.path(spot))
    }

    fn relation(&self, other: &Node) -> Result<Relation, StoreError> {
        let Some(other) = other.local_path() else { return Ok(Relation::Apart) };
        let (other, place) = (tree::resolved(&other)?, &self.place);
        Ok(Relation::of(lies_in(place, &other), lies_in(&other, place), || {
            (other.display().to_string(), place.display().to_string())
        }))
    }

    fn is_fixed(&self) -> bool {
        tree::is_mount_point(&self.place)
    }

    fn link_from(&self, other: &Node) -> Result<Option<String>, StoreError> {
        // There are none in a file.
        let Some(other) = other.local_path().filter(|path| path.is_dir()) else { return Ok(None) };
        Ok(tree::link_into(&other, &self.place)?.map(|link| link.display().to_string()))
    }

    fn exchange(&self, a: Spot, b: Spot) -> Result<bool, StoreError> {
        tree::exchange(&self.path(a), &self.path(b))
    }

    fn rename(&self, from: Spot, to: Spot) -> Result<(), StoreError> {
        tree::rename(&self.path(from), &self.path(to))
    }

    fn settle_spots(&self) -> Result<(), StoreError> {
        tree::sync_folder(self.place.parent().unwrap_or(&self.place))
    }

    fn settle_names(&self) -> Result<(), StoreError> {
        tree::sync_folder(&self.place)
    }
}
