//! FIFOs, sockets, devices and folders instead of files, names that are not text, and unreadable files.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use crate::hostile::case::{BYTES, Case, Store, case, document, index, sharding};
use crate::support::temporary_folder;

/// Returns an array with something other than a file at a key.
fn other(name: &'static str, key: &'static str, make: fn(&Store, &str)) -> Case {
    case(name, move |store| {
        store.array(&[]).write("c/1", [1, 2, 3, 4]);
        let _ = fs::remove_file(store.path(key));
        make(store, key);
    })
}

fn fifo(store: &Store, key: &str) {
    make_fifo(&store.path(key));
}

fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A socket's path must be short, so it is created at a short path and moved.
fn socket(store: &Store, key: &str) {
    let short = temporary_folder();
    drop(UnixListener::bind(short.path().join("s")).unwrap());
    fs::rename(short.path().join("s"), store.path(key)).unwrap();
}

fn folder(store: &Store, key: &str) {
    fs::create_dir(store.path(key)).unwrap();
}

fn full_folder(store: &Store, key: &str) {
    store.write(&format!("{key}/zarr.json"), document(&[])).write(&format!("{key}/c/0"), "1234");
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = kinds();
    cases.extend(names());
    cases.extend(crowds());
    // The superuser can read everything.
    // SAFETY: a call without arguments that cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        cases.extend(unreadable());
    }
    cases
}

fn kinds() -> Vec<Case> {
    vec![
        other("FIFO as a chunk", "c/0", fifo),
        other("FIFO as the document", "zarr.json", fifo),
        other("FIFO beside the document", "fifo", fifo).harmless(),
        other("socket as a chunk", "c/0", socket),
        other("socket as the document", "zarr.json", socket),
        other("folder as a chunk", "c/0", folder),
        other("array as a chunk", "c/0", full_folder),
        other("folder as the document", "zarr.json", folder),
        other("file as the folder of chunks", "c/1", |store, _| {
            fs::remove_dir_all(store.path("c")).unwrap();
            store.write("c", "1234");
        })
        .harmless(),
        case("FIFO as a shard", |store| {
            store.array(&[("codecs", &format!("[{}]", sharding("[2]", BYTES)))]);
            store.write("c/1", index(&[(0, 2), (0, 2)]));
            fifo(store, "c/0");
        }),
        case("FIFOs as v2 documents", |store| {
            for key in [".zarray", ".zgroup", ".zattrs", ".zmetadata"] {
                fifo(store, key);
            }
        }),
        case("v2 array with a FIFO as attributes", |store| {
            store.write(".zarray", r#"{"zarr_format":2,"shape":[8],"chunks":[4],"dtype":"|u1","compressor":null,"fill_value":0,"order":"C","filters":null}"#);
            fifo(store, ".zattrs");
        }),
        case("group whose nodes are FIFOs", |store| {
            store.write("zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#);
            fs::create_dir(store.path("a")).unwrap();
            fifo(store, "a/zarr.json");
            fifo(store, "b");
        }),
        case("file as the store", |store| {
            fs::remove_dir(store.root()).unwrap();
            fs::write(store.root(), "no store").unwrap();
        }),
        case("FIFO as the store", |store| {
            fs::remove_dir(store.root()).unwrap();
            make_fifo(store.root());
        }),
        case("nothing in the store", |_| {}),
    ]
}

fn names() -> Vec<Case> {
    let named = |name: &'static str, file: &'static [u8]| {
        case(name, move |store| {
            store.array(&[]).write("c/0", [1, 2, 3, 4]);
            fs::write(store.root().join(OsStr::from_bytes(file)), "").unwrap();
        })
        .harmless()
    };
    vec![
        named("name that is no UTF-8", b"\xff\xfe"),
        named("name that ends within a character", b"name\xe2\x82"),
        named("name of 255 bytes", &[b'a'; 255]),
        named("name of white space", b" \t "),
        named("temporary file of a writer", b"zarr.json.zarrcast-partial"),
        case("chunk whose name is no UTF-8", |store| {
            store.array(&[]).write("c/0", [1, 2, 3, 4]);
            fs::write(store.path("c").join(OsStr::from_bytes(b"1\xff")), "").unwrap();
        })
        .harmless(),
        case("node whose name is no UTF-8", |store| {
            store.write("zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#);
            let folder = store.root().join(OsStr::from_bytes(b"\xff"));
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("zarr.json"), document(&[])).unwrap();
        })
        .harmless(),
        case("chunk names that are nearly right", |store| {
            store.array(&[]);
            for name in ["00", "01", "+1", "-0", "1 ", "0x1", "1e0", "\u{661}", "2", "1.0", "c0"] {
                store.write(&format!("c/{name}"), "");
            }
        })
        .harmless(),
    ]
}

fn crowds() -> Vec<Case> {
    vec![
        case("100000 other files", |store| {
            store.array(&[]).write("c/0", [1, 2, 3, 4]);
            for number in 0..100_000 {
                fs::File::create(store.path(&format!("other{number}"))).unwrap();
            }
        })
        .harmless(),
        case("20000 folders in a group", |store| {
            store.write("zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#);
            for number in 0..20_000 {
                fs::create_dir(store.path(&format!("other{number}"))).unwrap();
            }
        })
        .harmless(),
        case("1000 folders within each other", |store| {
            store.array(&[]).write("c/0", [1, 2, 3, 4]).write(&format!("{}x", "d/".repeat(1000)), "");
        })
        .harmless(),
        case("1000 groups within each other", |store| {
            for depth in 0..1000 {
                store.write(&format!("{}zarr.json", "g/".repeat(depth)), r#"{"zarr_format":3,"node_type":"group"}"#);
            }
        })
        .harmless(),
    ]
}

fn unreadable() -> Vec<Case> {
    let closed = |name: &'static str, key: &'static str| {
        case(name, move |store| {
            store.array(&[]).write("c/0", [1, 2, 3, 4]);
            fs::set_permissions(store.path(key), fs::Permissions::from_mode(0o000)).unwrap();
        })
    };
    vec![closed("closed document", "zarr.json"), closed("closed chunk", "c/0"), closed("closed folder", "c")]
}
