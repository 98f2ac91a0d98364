//! Operations on whole folders: create, rename, exchange, list and compare.
#![expect(clippy::disallowed_methods, reason = "this module owns the file system")]

use std::fs::{DirBuilder, File};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::store::{io_error, sync_all};
use crate::store::{Entry, EntryKind, Key, Relation, Result, Visit};

/// Creates a folder. Its parent must exist.
pub(super) fn create_folder(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(mode).create(path)
}

/// Creates a folder and its missing parents.
pub(super) fn create_folders(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(mode).create(path)
}

/// Creates a folder and its missing parents below an existing folder. Only their owner can access them. Folders that
/// exist stay as they are.
pub(super) fn create_private_folders(path: &Path, below: &Path) -> Result<()> {
    if let Some(parent) = path.parent().filter(|parent| parent.starts_with(below) && *parent != below) {
        create_private_folders(parent, below)?;
    }
    match create_folder(path, 0o700) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_folder(path) => Ok(()),
        created => created.map_err(io_error("create", path)),
    }
}

/// Returns true if the current user owns a file or folder.
pub(super) fn is_own(found: &std::fs::Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw()
}

/// Fails if another user owns a folder in a shared folder such as `/tmp`. It may be a trap, and may change during
/// writes.
pub(super) fn refuse_planted(folder: &Path) -> Result<()> {
    const STICKY: u32 = 0o1000;
    let look = |path: &Path| std::fs::symlink_metadata(path).map_err(io_error("look at", path));
    // Everybody may create entries in a folder with the sticky bit, but not remove those of others.
    let is_shared = folder.parent().map(look).transpose()?.is_some_and(|parent| parent.mode() & STICKY != 0);
    if is_shared && !is_own(&look(folder)?) {
        let other = io::Error::other("it belongs to another user: move it, or choose another DEST");
        return Err(io_error("use", folder)(other));
    }
    Ok(())
}

/// Renames a file, and replaces an existing file of that name.
pub(crate) fn replace_file(from: &Path, to: &Path) -> Result<()> {
    std::fs::rename(from, to).map_err(io_error("rename", from))
}

/// Renames a file or a folder. The new name must be free, or the two are exchanged. Returns false if the file system
/// cannot exchange.
pub(crate) fn rename(from: &Path, to: &Path, exchanges: bool) -> Result<bool> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let flags = if exchanges { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
    match renameat_with(CWD, from, CWD, to, flags).map_err(io::Error::from) {
        Ok(()) => return Ok(true),
        // The file system cannot exchange, or cannot check atomically that the name is free.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {}
        Err(error) => return Err(io_error("rename", to)(error)),
    }
    if exchanges {
        return Ok(false);
    }
    if std::fs::symlink_metadata(to).is_ok() {
        return Err(io_error("rename", to)(io::ErrorKind::AlreadyExists.into()));
    }
    replace_file(from, to).map(|()| true)
}

/// Creates a folder for scratch data that only its owner can access. An existing folder must belong to this user alone.
/// In a shared folder such as `/tmp`, another user may have created it, or a link.
pub(crate) fn make_scratch(folder: &Path) -> Result<()> {
    match create_folder(folder, 0o700) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made.map_err(io_error("create", folder)),
    }
    let found = std::fs::symlink_metadata(folder).map_err(io_error("look at", folder))?;
    if found.is_dir() && is_own(&found) && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    let other = io::Error::other("it is not a folder of this user: remove it, or set TMPDIR to another folder");
    Err(io_error("use", folder)(other))
}

/// Makes the names in a folder durable, or the contents of a file.
pub(crate) fn sync_folder(path: &Path) -> Result<()> {
    let folder = File::open(path).map_err(io_error("open", path))?;
    sync_all(&folder, path)
}

/// Makes a folder and everything below it durable. Returns the number of files and folders. Does not follow links.
/// Entries that are removed meanwhile are skipped.
#[cfg(any(test, not(target_os = "linux")))]
pub(super) fn sync_below(path: &Path) -> Result<u64> {
    let entries = std::fs::read_dir(path).map_err(io_error("list", path))?;
    let mut synced = 1;
    for entry in entries {
        let entry = entry.map_err(io_error("list", path))?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(io_error("look at", path))?);
        let done = match () {
            () if kind.is_dir() => sync_below(&path),
            () if kind.is_file() => sync_folder(&path).map(|()| 1),
            () => Ok(0),
        };
        synced += match done {
            Err(crate::store::StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => 0,
            done => done?,
        };
    }
    sync_folder(path)?;
    Ok(synced)
}

/// Returns the path after all links. The part that does not exist yet is appended unchanged.
pub(crate) fn resolved(path: &Path) -> Result<PathBuf> {
    let absolute = std::path::absolute(path).map_err(io_error("resolve", path))?;
    for existing in absolute.ancestors() {
        match existing.canonicalize() {
            Ok(resolved) => {
                let missing = absolute.strip_prefix(existing).unwrap_or(Path::new("")).components();
                return Ok(missing.fold(resolved, |path, name| path.join(name)));
            }
            // A path that ends in `..` has no file name. After a missing name it cannot be resolved.
            Err(error) if error.kind() == io::ErrorKind::NotFound && existing.file_name().is_some() => {}
            Err(error) => return Err(io_error("resolve", path)(error)),
        }
    }
    Ok(absolute)
}

/// Calls `each` for every entry of a folder until it returns `Break`. A missing folder has no entries.
pub(super) fn each_entry(path: &Path, each: &mut Visit<'_>) -> Result<ControlFlow<()>> {
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ControlFlow::Continue(())),
        Err(error) => return Err(io_error("list", path)(error)),
    };
    for entry in entries {
        let entry = entry.map_err(io_error("list", path))?;
        let name = entry.file_name();
        let flow = match name.to_str().filter(|name| Key::new(name).is_ok()) {
            None => each(Entry::new(&name.to_string_lossy(), EntryKind::Unnamed)),
            Some(name) => {
                let file_type = entry.file_type().map_err(io_error("list", path))?;
                each(Entry::new(name, EntryKind::from_file_type(file_type)))
            }
        };
        if flow.is_break() {
            return Ok(flow);
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Calls `each` for every entry below a folder except folders, until it returns `Break`. Does not follow links.
pub(super) fn each_object(path: &Path, each: &mut Visit<'_>) -> Result<()> {
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let flow = each_entry(&path.join(&folder), &mut |Entry { name, kind, .. }| {
            let name = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            if kind == EntryKind::Folder {
                folders.push(name);
                return ControlFlow::Continue(());
            }
            each(Entry::new(&name, kind))
        })?;
        if flow.is_break() {
            break;
        }
    }
    Ok(())
}

/// Returns true if a path is a folder and not a link to one.
pub(super) fn is_folder(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Returns the device and the inode of a path after links, or `None` if it does not exist.
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// Compares two paths, whatever names they have.
pub(crate) fn relation(path: &Path, other: &Path) -> Result<Relation> {
    let (path, other) = (resolved(path)?, resolved(other)?);
    let lies_in = |inner: &Path, outer: &Path| {
        // Device and inode are compared too. A bind mount shows a folder under a second path.
        let folder = identity(outer);
        inner.starts_with(outer)
            || folder.is_some_and(|folder| inner.ancestors().any(|path| identity(path) == Some(folder)))
    };
    Ok(Relation::new(lies_in(&path, &other), lies_in(&other, &path)))
}

/// Returns true if a folder is a mount point, or does not exist.
pub(crate) fn is_mount_point(path: &Path) -> bool {
    let device = |path| identity(path).map(|(device, _)| device);
    let (own, parent) = (device(path), path.parent().and_then(device));
    own.is_none() || own != parent
}

/// Returns a link below `folder` to a path in `target`, if there is one. Does not follow links to folders.
pub(crate) fn link_into(folder: &Path, target: &Path) -> Result<Option<PathBuf>> {
    let mut found = None;
    each_object(folder, &mut |Entry { name, kind, .. }| {
        let link = Some(folder.join(name)).filter(|_| kind == EntryKind::Link);
        found = link.filter(|link| link.canonicalize().is_ok_and(|resolved| resolved.starts_with(target)));
        if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_of_another_user_is_refused_where_all_may_write() {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join(".a.zarrcast");
        std::fs::create_dir(&folder).unwrap();
        for mode in [0o777, 0o1777] {
            std::fs::set_permissions(parent.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            refuse_planted(&folder).unwrap();
        }
        // Only root may change the owner of a folder.
        if std::os::unix::fs::chown(&folder, Some(12_345), None).is_ok() {
            assert!(refuse_planted(&folder).unwrap_err().to_string().contains(".a.zarrcast"));
        }
    }

    #[test]
    fn scratch_folder_of_others_is_refused() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let parent = tempfile::tempdir().unwrap();
        let [own, open, link, file] = ["own", "open", "link", "file"].map(|name| parent.path().join(name));
        make_scratch(&own).unwrap();
        assert_eq!(std::fs::metadata(&own).unwrap().permissions().mode() & 0o777, 0o700);
        make_scratch(&own).unwrap();
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
        symlink(&own, &link).unwrap();
        std::fs::write(&file, "").unwrap();
        for folder in [open, link, file] {
            let refused = make_scratch(&folder).unwrap_err().to_string();
            assert!(refused.contains(&*folder.to_string_lossy()), "{refused}");
        }
    }

    #[test]
    fn all_below_a_folder_is_synced_file_by_file_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for file in ["zarr.json", "c/0/0", "c/0/1", "c/1/0"] {
            create_folders(root.join(file).parent().unwrap(), 0o777).unwrap();
            std::fs::write(root.join(file), "x").unwrap();
        }
        for (target, link) in [("/", "all"), ("nowhere", "c/2"), ("../zarr.json", "c/3")] {
            std::os::unix::fs::symlink(target, root.join(link)).unwrap();
        }
        // Four files, and the folders: the root, `c`, `c/0` and `c/1`.
        assert_eq!(sync_below(root).unwrap(), 8);
    }
}
