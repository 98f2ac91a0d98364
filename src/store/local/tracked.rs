//! Files that are made durable by themselves, instead of the whole file system with what others write there.
#![expect(clippy::disallowed_methods, reason = "this module owns the file system")]

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::io_error;
use crate::store::StoreError;

/// Files that a thread makes durable at a time, and the most threads: each waits for the disk or a server.
const AT_ONCE: usize = 16;
const MOST_THREADS: usize = 16;

/// What was written below a folder and is not known to be durable.
#[derive(Debug)]
pub(super) struct Tracked {
    root: PathBuf,
    /// Below it, with a zero byte after each; a folder ends with a slash.
    paths: Mutex<String>,
}

impl Tracked {
    pub(super) fn new(root: &Path) -> Self {
        Tracked { root: root.to_path_buf(), paths: Mutex::default() }
    }

    fn paths(&self) -> MutexGuard<'_, String> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file was written.
    pub(super) fn wrote(&self, file: &Path) {
        self.add(file, "");
    }

    /// The names in a folder have changed.
    pub(super) fn changed(&self, folder: &Path) {
        self.add(folder, "/");
    }

    fn add(&self, path: &Path, end: &str) {
        // All paths are made of keys, which are text.
        let Some(path) = path.strip_prefix(&self.root).ok().and_then(Path::to_str) else { return };
        let mut paths = self.paths();
        paths.push_str(path);
        paths.push_str(end);
        paths.push('\0');
    }

    /// Makes all of it durable, and the folders that lead to it.
    pub(super) fn settle(&self) -> Result<(), StoreError> {
        let paths = std::mem::take(&mut *self.paths());
        let all: BTreeSet<&str> = paths.split_terminator('\0').collect();
        let (folders, files): (Vec<&str>, Vec<&str>) = all.into_iter().partition(|path| path.ends_with('/'));
        let mut leading = BTreeSet::new();
        for path in folders.into_iter().chain(files.iter().copied()) {
            let ends = path.match_indices('/').map(|(slash, _)| &path[..slash]);
            // The longest first: those above one that is known are known.
            for folder in ends.rev() {
                if !leading.insert(folder) {
                    break;
                }
            }
        }
        let settled = settle_each(&files, |file| settle_file(&self.root.join(file))).and_then(|()| {
            let leading: Vec<&str> = leading.into_iter().chain((!paths.is_empty()).then_some("")).collect();
            settle_each(&leading, |folder| settle_folder(&self.root.join(folder)))
        });
        if settled.is_err() {
            self.paths().push_str(&paths);
        }
        settled
    }
}

/// Does something with each path, with several threads where there are many.
fn settle_each(
    paths: &[&str],
    settle: impl Fn(&str) -> Result<(), StoreError> + Sync,
) -> Result<(), StoreError> {
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let first = next.fetch_add(AT_ONCE, Ordering::Relaxed);
            let Some(rest) = paths.get(first..).filter(|rest| !rest.is_empty()) else { return Ok(()) };
            rest.iter().take(AT_ONCE).try_for_each(|path| settle(path))?;
        }
    };
    let threads = paths.len().div_ceil(AT_ONCE).min(MOST_THREADS);
    if threads <= 1 {
        return work();
    }
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let died = |_| io_error("sync", Path::new("."))(io::Error::other("a thread has died"));
        workers.into_iter().try_for_each(|worker| worker.join().map_err(died)?)
    })
}

/// What is there no more need not be durable.
fn settle_file(path: &Path) -> Result<(), StoreError> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
    match OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path) {
        Ok(file) => file.sync_data().map_err(io_error("sync", path)),
        Err(error) if is_gone(&error) => Ok(()),
        Err(error) => Err(io_error("open", path)(error)),
    }
}

fn settle_folder(path: &Path) -> Result<(), StoreError> {
    match File::open(path) {
        Ok(folder) => folder.sync_all().map_err(io_error("sync", path)),
        Err(error) if is_gone(&error) => Ok(()),
        Err(error) => Err(io_error("open", path)(error)),
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Node;

    #[test]
    fn files_that_were_written_are_settled_once_with_the_folders_that_lead_to_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let tracked = Tracked::new(root);
        for index in 0..500 {
            let file = root.join(format!("c/{}/{index}", index % 7));
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "x").unwrap();
            tracked.wrote(&file);
        }
        tracked.wrote(&root.join("c/gone/0"));
        tracked.changed(&root.join("d"));
        tracked.settle().unwrap();
        assert!(tracked.paths().is_empty());
        // What cannot be made durable stays to be.
        std::os::unix::fs::symlink("c", root.join("link")).unwrap();
        tracked.wrote(&root.join("link"));
        assert!(tracked.settle().is_err());
        assert_eq!(*tracked.paths(), "link\0");
    }

    #[test]
    fn store_that_syncs_its_own_files_knows_all_that_it_wrote() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("source"), "bytes").unwrap();
        let source = Node::new(folder.path());
        let node = Node::new(folder.path()).syncing_own_files().child("array").unwrap();
        let written = |node: &Node| {
            let store = node.store.as_local().unwrap();
            let paths = store.tracked().unwrap().paths().clone();
            paths.split_terminator('\0').map(str::to_owned).collect::<Vec<_>>()
        };
        node.write("c/0", b"a").unwrap();
        let mut writer = node.create("c/1").unwrap();
        writer.append(b"b").unwrap();
        assert_eq!(written(&node), ["array/c/0"]);
        writer.finish().unwrap();
        node.copy_from(&source, ("source", "c/2"), 9).unwrap();
        node.replace("zarr.json", b"{}").unwrap();
        node.settle_later("c/3").unwrap();
        assert!(node.remove("c/0").unwrap() && !node.remove("c/0").unwrap());
        let other = node.clone().with_permissions_of(&source, "source");
        other.write("c/4", b"d").unwrap();
        let expected =
            ["array/c/0", "array/c/1", "array/c/2", "array/zarr.json", "array/c/3", "array/c/", "array/c/4"];
        assert_eq!(written(&node), expected);
        other.sync().unwrap();
        assert!(written(&node).is_empty());
    }
}
