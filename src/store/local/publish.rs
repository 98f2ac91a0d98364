//! Files and folders that are never seen in part.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use super::object::{sync_all, write_all};
use super::store::{LocalStore, io_error};
use super::tree;
use crate::store::{Node, Result, StoreError, machine};

/// The folder of a run beside a place, which no others may look into, and the path of what is written in it.
pub(in crate::store) fn beside(place: &Path) -> (Node, PathBuf) {
    let mut name = OsString::from(".");
    name.push(place.file_name().unwrap_or_default());
    name.push(".zarrcast");
    let run = place.with_file_name(name);
    let data = run.join("data");
    let mut store = LocalStore::new(run).confined();
    store.modes.folder = 0o700;
    (Node::of(Arc::new(store)), data)
}

impl LocalStore {
    /// Writes a whole object under a temporary name beside it, and gives it its own; the folder where it stands.
    pub(super) fn replace(&self, path: &Path, bytes: &[u8], syncs: bool) -> Result<File> {
        let temporary = path.with_extension("zarrcast-partial");
        let mut file = self.create_file(&temporary, self.modes.file)?;
        write_all(&mut file, bytes, &temporary)?;
        if syncs {
            sync_all(&file, &temporary)?;
        }
        self.beneath.rename_file(&temporary, path).map_err(io_error("rename", &temporary))
    }

    /// Makes a whole file, durable with the folders that lead to it, where nothing is; false where something is.
    ///
    /// It is made under another name: a link to that is made at once or not at all, on file systems behind a network, too,
    /// where neither locks nor renaming may be trusted for that.
    pub(super) fn put_new(&self, path: &Path, bytes: &[u8]) -> Result<bool> {
        let folder = path.parent().unwrap_or(&self.root);
        let temporary = folder.join(format!(".{}", machine::unique_name()));
        let mut file = self.create_file(&temporary, self.modes.file)?;
        let made = write_all(&mut file, bytes, &temporary)
            .and_then(|()| sync_all(&file, &temporary))
            .and_then(|()| self.give_new_name(&file, &temporary, path));
        // Where it cannot be removed, it is beside what a run removes at its end.
        let _ = self.beneath.remove_file(&temporary);
        let made = made?;
        let leading = path.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.root));
        leading.into_iter().try_for_each(tree::sync_folder)?;
        Ok(made)
    }

    fn give_new_name(&self, file: &File, from: &Path, to: &Path) -> Result<bool> {
        let Err(error) = self.beneath.link_file(from, to) else { return Ok(true) };
        if error.kind() == io::ErrorKind::AlreadyExists {
            // A server may have been asked twice, since its first answer was lost.
            let names = file.metadata().map_err(io_error("look at", to))?.nlink();
            return Ok(names > 1);
        }
        let without_links = [Errno::PERM, Errno::NOSYS, Errno::OPNOTSUPP, Errno::INVAL, Errno::MLINK];
        if !Errno::from_io_error(&error).is_some_and(|errno| without_links.contains(&errno)) {
            return Err(io_error("create", to)(error));
        }
        match tree::rename(from, to, false) {
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            renamed => renamed,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::store::{MemoryStore, Node};

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
