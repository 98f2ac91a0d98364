//! Folders for what a run keeps only until it is done, outside of the destination.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::store::io_error;
use super::tree;
use crate::store::{Node, StoreError};

/// The folder of this user's scratch data in `parent`, for what `name` tells apart. Nothing is touched.
pub(in crate::store) fn folder(parent: &Path, name: &str) -> Node {
    Node::confined(parent.join(format!(".zarrcast-{}-{name}", rustix::process::geteuid().as_raw())))
}

/// Makes a folder of scratch data, which no others may look into. One that is there is taken if it is this user's alone: where
/// all may write, such as in `/tmp`, another could have made it, or a link.
pub(in crate::store) fn make(folder: &Path) -> Result<(), StoreError> {
    match tree::create_folder(folder, 0o700) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made.map_err(io_error("create", folder)),
    }
    let found = std::fs::symlink_metadata(folder).map_err(io_error("look at", folder))?;
    let is_own = found.is_dir() && tree::is_own(&found) && found.mode() & 0o022 == 0;
    if is_own {
        return Ok(());
    }
    let other = io::Error::other(
        "something stands there that is not this user's own folder: remove it, or name another folder by TMPDIR",
    );
    Err(io_error("use", folder)(other))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make and look at files")]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn scratch_folder_of_others_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let [own, open, link, file] = ["own", "open", "link", "file"].map(|name| parent.path().join(name));
        make(&own).unwrap();
        assert_eq!(std::fs::metadata(&own).unwrap().permissions().mode() & 0o777, 0o700);
        make(&own).unwrap();
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
        symlink(&own, &link).unwrap();
        std::fs::write(&file, "").unwrap();
        for place in [open, link, file] {
            let refused = make(&place).unwrap_err().to_string();
            assert!(refused.contains(&*place.to_string_lossy()), "{refused}");
        }
    }
}
