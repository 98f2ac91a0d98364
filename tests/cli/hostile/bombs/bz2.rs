//! `numcodecs.bz2`: streams with more bytes than the chunk.

use std::io::Write;

use super::{bz2, bz2_bomb, stored, stored_as};
use crate::hostile::case::{Case, case, codec};

fn plain(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::new(1));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Returns a configuration with this level, which sets the library's block size.
fn level(level: &'static str) -> Case {
    let codecs = super::after_bytes(&codec("numcodecs.bz2", &format!(r#"{{"level":{level}}}"#)));
    case(format!("level {level}"), move |store| {
        store.array(&[("codecs", &codecs)]).write("c/0", plain(&[1, 2, 3, 4]));
    })
}

pub(crate) fn cases() -> Vec<Case> {
    let codec = &bz2();
    vec![
        stored("16 MiB of zeros in a chunk of 4", codec, bz2_bomb),
        stored("16 MiB of zeros in each of 1000 streams", codec, || bz2_bomb().repeat(1000)),
        stored_as("chunk of 2^40 bytes, 16 MiB of zeros", codec, "[1099511627776]", bz2_bomb),
        stored_as("chunk of 2^28 bytes, 16 MiB of zeros", codec, "[268435456]", bz2_bomb),
        stored("10000 empty streams", codec, || plain(&[]).repeat(10_000)),
        stored("one byte too many", codec, || plain(&[1, 2, 3, 4, 5])),
        stored("one byte too few", codec, || plain(&[1, 2, 3])),
        stored("a block size of 0", codec, || {
            let mut stream = plain(&[1, 2, 3, 4]);
            stream[3] = b'0';
            stream
        }),
        stored("wrong checksum", codec, || {
            let mut stream = plain(&[1, 2, 3, 4]);
            stream[12] ^= 1;
            stream
        }),
        stored("truncated", codec, || {
            let mut stream = plain(&[1, 2, 3, 4]);
            stream.truncate(20);
            stream
        }),
        stored("garbage after the header", codec, || [b"BZh91AY&SY".to_vec(), vec![0xff; 4096]].concat()),
        stored("content and garbage", codec, || [plain(&[1, 2, 3, 4]), b"BZ".to_vec()].concat()),
        stored("nothing", codec, Vec::new),
        level("0"),
        level("-1"),
        level("10"),
        level("4294967297"),
    ]
}
