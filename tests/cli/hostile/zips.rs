//! Zip files with false headers, and members with false contents.

use std::io::{Seek, SeekFrom, Write};

use crate::hostile::case::{Case, LITTLE, Store, case, document, sharding};
use crate::support::zip::{Member, end_record, zip, zip_with};

/// The file in the folder of a case.
const FILE: &str = "store.zarr/x.zip";

/// Returns a zip file of an array with two chunks. The second is valid.
fn with(name: &'static str, members: impl Fn() -> Vec<Member> + Send + Sync + 'static) -> Case {
    case(name, move |store| {
        let mut all = vec![Member::stored("zarr.json", document(&[])), Member::stored("c/1", [1, 2, 3, 4])];
        all.extend(members());
        store.write("x.zip", zip(&all));
    })
    .in_file(FILE)
}

fn file(name: &'static str, bytes: impl Fn(&[Member]) -> Vec<u8> + Send + Sync + 'static) -> Case {
    case(name, move |store| {
        let members = [
            Member::stored("zarr.json", document(&[])),
            Member::stored("c/0", [1, 2, 3, 4]),
            Member::deflated("c/1", [1, 2, 3, 4]),
        ];
        store.write("x.zip", bytes(&members));
    })
    .in_file(FILE)
}

fn chunk() -> Member {
    Member::stored("c/0", [1, 2, 3, 4])
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = members();
    cases.extend(files());
    cases.extend(bombs());
    cases.extend(holes());
    cases
}

fn members() -> Vec<Case> {
    vec![
        with("encrypted chunk", || vec![Member { flags: 1, ..chunk() }]),
        with("chunk by a method that nobody has", || vec![Member { method: 99, ..chunk() }]),
        with("chunk twice", || vec![chunk(), chunk()]),
        with("document twice", || vec![chunk(), Member::stored("zarr.json", "{}")]),
        with("wrong checksum", || vec![Member { crc32: 7, ..chunk() }]),
        with("member that leads out", || vec![chunk(), Member::stored("../outside/x", "x")]),
        with("member of an absolute path", || vec![chunk(), Member::stored("/tmp/x", "x")]),
        with("names that a terminal acts on", || {
            vec![chunk(), Member::stored("c/\u{1b}[2J\u{9b}", "x"), Member::stored("\r\n/../x", "x")]
        }),
        with("name that is no UTF-8", || {
            vec![chunk(), Member { name: b"c/\xff\xfe".to_vec(), ..Member::stored("", "x") }]
        })
        .harmless(),
        with("empty name", || vec![chunk(), Member::stored("", "x")]).harmless(),
        with("name of 60,000 bytes", || vec![chunk(), Member::stored(&"a/".repeat(30_000), "x")]).harmless(),
        with("file and folder of one name", || vec![chunk(), Member::stored("c", "x")]).harmless(),
        with("two members in one place", || vec![chunk(), Member { header: Some(0), ..chunk() }]),
        with("member beyond the end", || vec![Member { header: Some(1 << 40), is_zip64: true, ..chunk() }]),
        with("member at the greatest offset", || {
            vec![Member { header: Some(u64::MAX - 1), is_zip64: true, ..chunk() }]
        }),
        with("member of another header", || vec![Member { header_name: Some(b"zarr.json".to_vec()), ..chunk() }]),
        with("extra fields beyond the end", || vec![Member { extra: vec![0xff; 60_000], ..chunk() }]).harmless(),
    ]
}

fn files() -> Vec<Case> {
    vec![
        file("cut in its directory", |members| zip(members)[..zip(members).len() - 40].to_vec()),
        file("cut in its data", |members| zip(members)[..40].to_vec()),
        file("four bytes", |_| b"PK\x03\x04".to_vec()),
        file("nothing", |_| Vec::new()),
        file("count that is too great", |members| {
            let mut bytes = zip(members);
            let end = bytes.len() - 22;
            bytes[end + 8..end + 12].copy_from_slice(&[0xff; 4]);
            bytes
        }),
        file("directory that lies before the file", |members| {
            let mut bytes = zip(members);
            let end = bytes.len() - 22;
            bytes[end + 12..end + 20].copy_from_slice(&[0xff; 8]);
            bytes
        }),
        file("zip64 record of 2^40 members", |members| {
            let bytes = zip(members);
            let (body, end) = bytes.split_at(bytes.len() - 22);
            let at = body.len() as u64;
            let mut record = b"PK\x06\x06\x2c\0\0\0\0\0\0\0\x2d\0\x2d\0\0\0\0\0\0\0\0\0".to_vec();
            for field in [1 << 40, 1 << 40, 1 << 50, 0_u64] {
                record.extend(field.to_le_bytes());
            }
            record.extend(b"PK\x06\x07\0\0\0\0");
            record.extend(at.to_le_bytes());
            record.extend([1, 0, 0, 0]);
            [body, &record, end].concat()
        }),
        file("comment that looks like an end", |members| {
            zip_with(b"", members, &[end_record(0, 0, 0, b""), end_record(9, 9, 9, b"x")].concat())
        })
        .harmless(),
        file("directory in its own comment", |members| zip_with(b"", members, &zip(members))).harmless(),
    ]
}

fn bombs() -> Vec<Case> {
    let zeros = || vec![0_u8; 16 << 20];
    vec![
        with("deflate bomb that tells its size", move || vec![Member::deflated("c/0", zeros())]),
        with("deflate bomb that does not", move || vec![Member { bytes: 4, ..Member::deflated("c/0", zeros()) }]),
        with("zstd bomb that does not tell its size", move || {
            vec![Member { bytes: 4, ..Member::by_zstd("c/0", zeros()) }]
        }),
        with("chunk that is to have 2^40 bytes", || {
            vec![Member { bytes: 1 << 40, is_zip64: true, ..Member::by_zstd("c/0", [1, 2, 3, 4]) }]
        }),
        case("document that is to have 2^40 bytes", |store| {
            let member = Member::deflated("zarr.json", document(&[]));
            store.write("x.zip", zip(&[Member { bytes: 1 << 40, is_zip64: true, ..member }]));
        })
        .in_file(FILE),
        case("shard that is a bomb of 16 GiB", |store| {
            // Frames of RLE blocks: 128 KiB from 4 bytes.
            let mut stored = b"\x28\xb5\x2f\xfd\x00\x58".to_vec();
            for _ in 0..(128 << 10) - 1 {
                stored.extend([2, 0, 16, 0]);
            }
            stored.extend([3, 0, 16, 0]);
            let shard = Member { bytes: 16 << 30, is_zip64: true, ..Member::by_zstd("c/0", "") };
            let shard = Member { stored_bytes: stored.len() as u64, stored, ..shard };
            let codecs = format!("[{}]", sharding("[4]", &format!("[{LITTLE}]")));
            let document = document(&[("codecs", &codecs)]);
            store.write("x.zip", zip(&[Member::stored("zarr.json", document), shard]));
        })
        .in_file(FILE),
    ]
}

/// Returns sparse files.
fn holes() -> Vec<Case> {
    const TIB: u64 = 1 << 40;
    fn sparse(store: &Store, member: Member) {
        let head = zip(&[Member::stored("zarr.json", document(&[]))]);
        let mut file = store.create("x.zip");
        file.write_all(&head[..head.len() - 22 - 46 - 9]).unwrap();
        file.seek(SeekFrom::Start(TIB)).unwrap();
        // A directory after the hole, with entries for members before it.
        let whole = zip(&[Member { header: Some(0), ..Member::stored("zarr.json", document(&[])) }, member]);
        let start = whole.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
        let directory = &whole[start..whole.len() - 22];
        file.write_all(directory).unwrap();
        let mut record = b"PK\x06\x06\x2c\0\0\0\0\0\0\0\x2d\0\x2d\0\0\0\0\0\0\0\0\0".to_vec();
        for field in [2, 2, directory.len() as u64, TIB] {
            record.extend(field.to_le_bytes());
        }
        record.extend(b"PK\x06\x07\0\0\0\0");
        record.extend((TIB + directory.len() as u64).to_le_bytes());
        record.extend([1, 0, 0, 0]);
        file.write_all(&record).unwrap();
        file.write_all(&end_record(2, 0, 0, b"")).unwrap();
        file.flush().unwrap();
    }
    let hole = |name: &'static str, method: u16| {
        case(name, move |store| {
            let header = Some(1 << 20);
            let stored_bytes = (1 << 40) - (1 << 21);
            let member = Member { method, header, is_zip64: true, stored_bytes, bytes: stored_bytes, ..chunk() };
            sparse(store, member);
        })
        .in_file(FILE)
    };
    vec![
        hole("chunk that is a hole of a TiB", 0),
        hole("compressed chunk that is a hole of a TiB", 8),
        hole("chunk by zstd that is a hole of a TiB", 93),
        case("file that is a hole of a TiB", |store| {
            store.write_sparse("x.zip", TIB);
        })
        .in_file(FILE),
        case("directory that is a hole of a TiB", |store| {
            let mut file = store.create("x.zip");
            file.write_all(b"PK\x03\x04").unwrap();
            file.seek(SeekFrom::Start(TIB)).unwrap();
            file.write_all(&end_record(9, 4, 0, b"")).unwrap();
            file.flush().unwrap();
        })
        .in_file(FILE),
    ]
}
