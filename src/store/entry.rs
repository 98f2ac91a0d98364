//! What stands at the keys of a store.

/// The kind of thing that stands at a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// A regular file.
    File,
    /// A symbolic link, wherever it leads.
    Link,
    /// None of these: "a FIFO", "a socket".
    Other(&'static str),
    /// Whatever it is, its name is no UTF-8, and so no key.
    Unnamed,
}

impl EntryKind {
    pub(super) fn of(file_type: std::fs::FileType) -> Self {
        if file_type.is_file() {
            EntryKind::File
        } else if file_type.is_dir() {
            EntryKind::Folder
        } else if file_type.is_symlink() {
            EntryKind::Link
        } else {
            EntryKind::Other(describe(file_type))
        }
    }
}

/// The contents of a folder, by keys relative to the node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FolderListing {
    /// Its folders.
    pub folders: Vec<String>,
    /// Its regular files.
    pub files: Vec<String>,
    /// Its symbolic links, wherever they lead.
    pub links: Vec<String>,
    /// All others, each with its kind: "a FIFO", "a socket".
    pub others: Vec<(String, &'static str)>,
    /// Names that are no UTF-8, and so no keys, as well as they can be shown.
    pub unnamed: Vec<String>,
}

/// The target of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkTarget {
    /// A folder, not an object.
    pub is_folder: bool,
    /// It lies in the node's own folder.
    pub is_inside: bool,
}

/// Describes what stands at a path and is no regular file.
pub(super) fn describe(file_type: std::fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if file_type.is_dir() {
        "a folder"
    } else if file_type.is_fifo() {
        "a FIFO"
    } else if file_type.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}
