//! Writes below a folder that never leave it. Links are followed neither in the path of a file nor at its end.
//!
//! An unfinished destination may contain links of other users. The kernel resolves each path from a descriptor of the
//! folder (`openat2`, Linux 5.6), which needs no additional calls. Without `openat2` each folder of the path is opened
//! in turn.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::store::{LocalStore, io_error, sync_all, write_all};
use super::tree;
use crate::store::{Node, Result, StoreError, held, machine};

impl LocalStore {
    /// Creates a file, or truncates an existing one.
    pub(super) fn make_file(&self, path: &Path, mode: u32) -> io::Result<File> {
        // Non-blocking, as opening a FIFO would wait for a reader.
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NONBLOCK;
        Ok(self.open_beneath(self.relative(path)?, flags, mode)?.into())
    }

    /// Creates a folder. Its parent must exist.
    pub(super) fn make_folder(&self, path: &Path) -> io::Result<()> {
        let mode = Mode::from_raw_mode(self.modes.folder);
        let last = || held(&self.last);
        let sibling = last().as_ref().filter(|(above, _)| Some(above.as_path()) == path.parent()).cloned();
        if let (Some((_, folder)), Some(name)) = (sibling, path.file_name()) {
            match rustix::fs::mkdirat(&*folder, name, mode) {
                // The parent may have been removed and created again.
                Err(Errno::NOENT) => {}
                made => return Ok(made?),
            }
        }
        let (folder, name) = self.parent(path)?;
        rustix::fs::mkdirat(&folder, name, mode)?;
        *last() = path.parent().map(|above| (above.to_path_buf(), Arc::new(folder)));
        Ok(())
    }

    /// Creates a folder and its missing parents.
    pub(super) fn make_folders(&self, path: &Path) -> io::Result<()> {
        if self.relative(path)?.as_os_str().is_empty() {
            return match self.root_descriptor() {
                Err(error) if error.kind() == io::ErrorKind::NotFound && !self.is_strict => {
                    tree::create_folders(&self.root, self.modes.folder)
                }
                opened => opened.map(drop),
            };
        }
        let created = match self.make_folder(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.make_folders(path.parent().unwrap_or(&self.root))?;
                self.make_folder(path)
            }
            created => created,
        };
        // An existing entry of any kind is no error, as a later open does not follow links.
        created.or_else(|error| if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) })
    }

    /// Removes a file, or a link itself.
    pub(super) fn remove_file(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        Ok(rustix::fs::unlinkat(&folder, name, AtFlags::empty())?)
    }

    /// Writes a whole object under a temporary name in its folder, then renames it.
    pub(super) fn replace(&self, path: &Path, bytes: &[u8], syncs: bool) -> Result<()> {
        // The name is constant, so that a later run overwrites the file that a killed run has left.
        let temporary = path.with_extension("zarrcast-partial");
        let mut file = self.create_file(&temporary, self.modes.file)?;
        write_all(&mut file, bytes, &temporary)?;
        // The bytes are durable before the name. After a crash the name must not lead to an incomplete file.
        if syncs {
            sync_all(&file, &temporary)?;
        }
        let renamed = self.parent(&temporary).and_then(|(folder, from)| {
            rustix::fs::renameat(&folder, from, &folder, path.file_name().unwrap_or_default())?;
            Ok(folder)
        });
        let folder = renamed.map_err(io_error("rename", &temporary))?;
        // A rename is durable only after a sync of its folder.
        if syncs { sync_all(&folder.into(), path.parent().unwrap_or(&self.root)) } else { Ok(()) }
    }

    /// Creates a whole file and makes it durable, with all its parent folders. Returns false if the path exists.
    ///
    /// The file is written under another name first. A hard link is atomic even on network file systems, where locks
    /// and renames are not reliable.
    pub(super) fn put_new(&self, path: &Path, bytes: &[u8]) -> Result<bool> {
        let folder = path.parent().unwrap_or(&self.root);
        let temporary = folder.join(format!(".{}", machine::unique_name()));
        let mut file = self.create_file(&temporary, self.modes.file)?;
        let made = write_all(&mut file, bytes, &temporary)
            .and_then(|()| sync_all(&file, &temporary))
            .and_then(|()| self.give_new_name(&file, &temporary, path));
        // If this fails, the run still removes the whole folder at its end.
        let _ = self.remove_file(&temporary);
        let made = made?;
        let leading = path.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.root));
        leading.into_iter().try_for_each(tree::sync_folder)?;
        Ok(made)
    }

    fn give_new_name(&self, file: &File, from: &Path, to: &Path) -> Result<bool> {
        let linked = self.parent(from).and_then(|(folder, from)| {
            let (other, to) = self.parent(to)?;
            Ok(rustix::fs::linkat(&folder, from, &other, to, AtFlags::empty())?)
        });
        let Err(error) = linked else { return Ok(true) };
        if error.kind() == io::ErrorKind::AlreadyExists {
            // A network server may have received the call twice because its first answer was lost.
            let names = file.metadata().map_err(io_error("look at", to))?.nlink();
            return Ok(names > 1);
        }
        // Some file systems, such as FAT, have no hard links.
        match tree::rename(from, to, false) {
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            renamed => renamed,
        }
    }

    /// Returns the open parent folder of a path, and the last name.
    fn parent<'p>(&self, path: &'p Path) -> io::Result<(OwnedFd, &'p OsStr)> {
        let relative = self.relative(path)?;
        let (Some(folder), Some(name)) = (relative.parent(), relative.file_name()) else {
            return Err(Errno::INVAL.into());
        };
        let opened = if folder.as_os_str().is_empty() {
            self.root_descriptor()?.try_clone_to_owned()?
        } else {
            self.open_beneath(folder, OFlags::RDONLY | OFlags::DIRECTORY, 0)?
        };
        Ok((opened, name))
    }

    fn relative<'p>(&self, path: &'p Path) -> io::Result<&'p Path> {
        path.strip_prefix(&self.root).map_err(io::Error::other)
    }

    fn root_descriptor(&self) -> io::Result<BorrowedFd<'_>> {
        let link = if self.is_strict { OFlags::NOFOLLOW } else { OFlags::empty() };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | link;
        Ok(self.descriptor.get_or_try_init(|| rustix::fs::open(&self.root, flags, Mode::empty()))?.as_fd())
    }

    fn open_beneath(&self, relative: &Path, flags: OFlags, mode: u32) -> io::Result<OwnedFd> {
        let (root, flags) = (self.root_descriptor()?, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC);
        let mode = Mode::from_raw_mode(mode);
        loop {
            let opened = match resolve(root, relative, flags, mode) {
                // A kernel before 5.6, or a sandbox that does not know the call.
                Err(Errno::NOSYS | Errno::PERM) => resolve_by_steps(root, relative, flags, mode),
                opened => opened,
            };
            match opened {
                // AGAIN: an entry was renamed while the path was resolved.
                Err(Errno::INTR | Errno::AGAIN) => {}
                // LOOP means a link in the path, and XDEV a path that leaves the root.
                Err(Errno::LOOP | Errno::XDEV) => return Err(io::Error::other(LINK)),
                opened => return Ok(opened?),
            }
        }
    }
}

/// Error of a path with a link.
const LINK: &str = "a symbolic link is in the path, and writes follow none: remove it";

#[cfg(target_os = "linux")]
fn resolve(root: BorrowedFd<'_>, path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    rustix::fs::openat2(root, path, flags, mode, ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
}

#[cfg(not(target_os = "linux"))]
fn resolve(_: BorrowedFd<'_>, _: &Path, _: OFlags, _: Mode) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// Resolves a path by opening one folder after the other.
fn resolve_by_steps(root: BorrowedFd<'_>, path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Err(Errno::INVAL) };
    let step = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut open: Option<OwnedFd> = None;
    for component in folder.components() {
        let from = open.as_ref().map_or(root, AsFd::as_fd);
        let next = rustix::fs::openat(from, component.as_os_str(), step, Mode::empty());
        open = Some(next.map_err(|error| link_error(from, component.as_os_str(), error))?);
    }
    let from = open.as_ref().map_or(root, AsFd::as_fd);
    rustix::fs::openat(from, name, flags, mode).map_err(|error| link_error(from, name, error))
}

/// Corrects the error of a link in a path. The system reports only that it is not a folder.
fn link_error(folder: BorrowedFd<'_>, name: &OsStr, error: Errno) -> Errno {
    let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    let is_link = found.is_ok_and(|found| rustix::fs::FileType::from_raw_mode(found.st_mode).is_symlink());
    if is_link { Errno::LOOP } else { error }
}

/// Returns the folder of a run next to a path, and the path of the data in it. Only the user can read the folder.
pub(crate) fn beside(target: &Path) -> (Node, PathBuf) {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(".zarrcast");
    let run = target.with_file_name(name);
    let data = run.join("data");
    let mut store = LocalStore::new(run).confined();
    store.modes.folder = 0o700;
    (Node::of(Arc::new(store)), data)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write and read files")]
mod tests {
    use super::*;
    use crate::store::{MemoryStore, Node};

    /// Returns a folder with links to outside, and their targets.
    fn with_links() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
        for made in [&root, &outside] {
            std::fs::create_dir(made).unwrap();
        }
        std::fs::create_dir(root.join("c")).unwrap();
        std::fs::write(outside.join("mine"), "mine").unwrap();
        for (target, link) in [("../outside", "folder"), ("../outside/mine", "file"), ("../outside/new", "new")] {
            std::os::unix::fs::symlink(target, root.join(link)).unwrap();
        }
        std::os::unix::fs::symlink("../folder", root.join("c/deep")).unwrap();
        (folder, root, outside)
    }

    #[test]
    fn files_and_folders_are_made_below_the_root_and_through_no_link() {
        let (_folder, root, outside) = with_links();
        let confined = LocalStore::new(&root).confined();
        confined.make_folders(&root.join("d/e/f")).unwrap();
        drop(confined.make_file(&root.join("d/e/f/0"), 0o666).unwrap());
        assert!(root.join("d/e/f/0").is_file());
        for path in ["folder/x", "folder/mine", "file", "new", "c/deep/x"] {
            let error = confined.make_file(&root.join(path), 0o666).unwrap_err();
            assert!(error.to_string().contains("a symbolic link is in the path"), "{path}: {error}");
        }
        assert!(confined.make_folders(&root.join("folder/x/y")).is_err());
        assert!(confined.make_folder(&root.join("c/deep/x")).is_err());
        assert!(confined.remove_file(&root.join("folder/mine")).is_err());
        let names: Vec<_> = std::fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["mine"]);
        assert_eq!(std::fs::read(outside.join("mine")).unwrap(), b"mine");
        // The link itself may be removed.
        confined.remove_file(&root.join("file")).unwrap();
        assert!(std::fs::symlink_metadata(root.join("file")).is_err());
    }

    #[test]
    fn steps_refuse_what_the_kernel_refuses() {
        let (_folder, root, _outside) = with_links();
        let confined = LocalStore::new(&root).confined();
        let root = confined.root_descriptor().unwrap();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW;
        let open = |path: &str| {
            let mode = Mode::from_raw_mode(0o600);
            let both =
                [resolve(root, Path::new(path), flags, mode), resolve_by_steps(root, Path::new(path), flags, mode)];
            both.map(|opened| opened.map(drop))
        };
        assert_eq!(open("c/0"), [Ok(()), Ok(())]);
        for path in ["folder/x", "file", "new", "c/deep/x"] {
            assert_eq!(open(path), [Err(Errno::LOOP), Err(Errno::LOOP)], "{path}");
        }
    }

    #[test]
    fn of_many_that_make_an_object_at_once_one_does() {
        let folder = tempfile::tempdir().unwrap();
        let memory = Node::of(std::sync::Arc::new(MemoryStore::new("m")));
        for node in [Node::new(folder.path()), Node::confined(folder.path()), memory] {
            let makes = |text: String| node.publish_new("x/y/plan.json", text.as_bytes()).unwrap().then_some(text);
            let made: Vec<String> = std::thread::scope(|scope| {
                let threads: Vec<_> =
                    (0..8).map(|number| scope.spawn(move || makes(format!("plan {number}")))).collect();
                threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
            });
            let [made] = &made[..] else { panic!("{made:?}") };
            assert_eq!(node.read_document("x/y/plan.json").unwrap().as_deref(), Some(made.as_bytes()));
            assert_eq!(node.list("x/y").unwrap().files, ["x/y/plan.json"]);
            assert!(node.remove("x/y/plan.json").unwrap());
        }
    }
}
