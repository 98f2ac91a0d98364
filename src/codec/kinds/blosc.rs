//! `blosc` and `numcodecs.blosc`: the format of c-blosc 1, with a safe interface to that library. It uses whole buffers
//! and one thread, and keeps nothing between two calls.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v3/codecs/blosc/>

use std::ffi::{CStr, c_int};

use blosc_src::{BLOSC_MAX_OVERHEAD, blosc_cbuffer_validate, blosc_compress_ctx, blosc_decompress_ctx};

use super::error::{CodecError, reserve};
use super::members::{Member, MemberDefault, MemberType};
use super::{Binding, Coder, InV3, Kind, Made, Output, Part, Shorthand, SizeRule, V2Form};
use crate::diagnostic::code;
use crate::metadata::json::{Json, Object};

pub(crate) static BLOSC: Kind = Kind {
    v2: V2Form { members: NUMCODECS_MEMBERS, read: read_v2, write: write_v2 },
    shorthand: Some(Shorthand {
        usage: "blosc[:COMPRESSOR[:LEVEL[:SHUFFLE]]]",
        aliases: &[("lz4", "blosc:lz4"), ("snappy", "blosc:snappy")],
        parts: &[
            Part::Choice("cname", "compressor", &COMPRESSORS, "lz4"),
            Part::Level("clevel", [0, 9], 5),
            Part::Choice("shuffle", "shuffle", &SHUFFLES, "shuffle"),
            Part::Zero("blocksize"),
        ],
    }),
    size: SizeRule::AtMost(|decoded| decoded.checked_add(HEADER as u64)),
    ..Kind::new(|_| MEMBERS, make)
};

pub(crate) static NUMCODECS: Kind = Kind { members: |_| NUMCODECS_MEMBERS, v2: V2Form::SAME, shorthand: None, ..BLOSC };

/// Bytes of the header, which is the most that blosc adds.
const HEADER: usize = 16;

const COMPRESSORS: [&str; 6] = ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"];
const ZSTD: usize = 5;
/// shuffle groups the bytes of the elements by significance, bitshuffle their bits.
const SHUFFLES: [&str; 3] = ["noshuffle", "shuffle", "bitshuffle"];

const MEMBERS: &[Member] = &[
    Member::required("cname", MemberType::Choice(&COMPRESSORS)),
    Member::required("clevel", MemberType::Integer(0, 9)),
    Member::required("shuffle", MemberType::Choice(&SHUFFLES)),
    Member::optional("typesize", MemberType::Integer(1, u32::MAX as i64)),
    Member::required("blocksize", MemberType::Integer(0, i32::MAX as i64)),
];

/// The members of `numcodecs.blosc`. The shuffles are numbers, and -1 chooses one by the size of an element.
const NUMCODECS_MEMBERS: &[Member] = &[
    Member::new("cname", MemberType::Choice(&COMPRESSORS), MemberDefault::Text("lz4")),
    Member::new("clevel", MemberType::Integer(0, 9), MemberDefault::Integer(5)),
    Member::new("shuffle", MemberType::Integer(-1, 2), MemberDefault::Integer(1)),
    Member::new("blocksize", MemberType::Integer(0, i32::MAX as i64), MemberDefault::Integer(0)),
    Member::optional("typesize", MemberType::Integer(1, i32::MAX as i64)),
];

fn index_of(names: &[&str], name: &str) -> Option<usize> {
    names.iter().position(|known| *known == name)
}

fn make(Binding { members, .. }: &mut Binding<'_>) -> Option<Made> {
    let name = members.text_value("shuffle");
    let shuffle = if name.is_empty() {
        // numcodecs numbers the shuffles. -1 depends on the size of an element. Bytes have none, so it is 1 here.
        usize::try_from(members.integer_value::<i64>("shuffle")).unwrap_or(1)
    } else {
        index_of(&SHUFFLES, name)?
    };
    if shuffle > 0 && !name.is_empty() && members.get("typesize").is_none() {
        let message = "`blosc` lacks `typesize`, which its `shuffle` needs";
        return members.refuse(code::CONFIGURATION_MISSING, "shuffle", message);
    }
    Some(Made::of_bytes(Blosc {
        compressor: index_of(&COMPRESSORS, members.text_value("cname"))?,
        level: members.integer_value("clevel"),
        shuffle,
        element_bytes: members.integer_value::<usize>("typesize").max(1),
        block_bytes: members.integer_value("blocksize"),
    }))
}

/// Converts from numcodecs, which numbers the shuffles and uses the element size of the array.
fn read_v2(mut members: Object, item_size: u64) -> InV3 {
    let shuffle = match members.get("shuffle").and_then(Json::as_i128) {
        // Automatic: the size of an element decides.
        Some(-1) => Some(if item_size == 1 { "bitshuffle" } else { "shuffle" }),
        number => number.and_then(|number| SHUFFLES.get(usize::try_from(number).ok()?).copied()),
    };
    if let Some(shuffle) = shuffle {
        members.insert("shuffle", shuffle);
    }
    if members.get("typesize").is_none_or(Json::is_null) {
        // The size has one byte in Blosc's header, and larger elements are shuffled as bytes.
        members.insert("typesize", if item_size <= 255 { item_size.max(1) } else { 1 });
    }
    (None, Some(members))
}

/// Converts to numcodecs, which numbers the shuffles and uses the element size of the array.
fn write_v2(mut configuration: Object) -> Object {
    configuration.remove("typesize");
    let shuffle = configuration.get("shuffle").and_then(Json::as_str);
    if let Some(number) = shuffle.and_then(|shuffle| index_of(&SHUFFLES, shuffle)) {
        configuration.insert("shuffle", number as u64);
    }
    configuration
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Blosc {
    /// The index of the compressor in `NAMES`.
    compressor: usize,
    /// From 0 (stored) to 9.
    level: u8,
    /// The library's number of the shuffle.
    shuffle: usize,
    /// Bytes of an element, at least 1. Only the shuffles need it.
    element_bytes: usize,
    /// Bytes of a block. With 0 the library chooses the size.
    block_bytes: usize,
}

/// The compressors, with the names and order of `blosc`.
const NAMES: [&CStr; 6] = [c"blosclz", c"lz4", c"lz4hc", c"snappy", c"zlib", c"zstd"];

impl Coder for Blosc {
    /// Encodes with one thread inside the library, so that the result does not depend on a number of threads.
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let capacity = decoded.len().saturating_add(BLOSC_MAX_OVERHEAD as usize);
        reserve(out.bytes, capacity)?;
        let shuffle = c_int::try_from(self.shuffle).unwrap_or(0);
        let name = NAMES[self.compressor];
        // SAFETY: `decoded` is read within its length, and `out` has `capacity` bytes to write to. They do not overlap.
        // The name of the compressor ends with a zero, and no pointer is kept.
        let written = unsafe {
            blosc_compress_ctx(
                c_int::from(self.level),
                shuffle,
                self.element_bytes.max(1),
                decoded.len(),
                decoded.as_ptr().cast(),
                out.bytes.as_mut_ptr().cast(),
                capacity,
                name.as_ptr(),
                self.block_bytes,
                1,
            )
        };
        match usize::try_from(written) {
            Ok(written) if written > 0 && written <= capacity => {
                // SAFETY: `written` bytes have been written into the reserved memory.
                unsafe { out.bytes.set_len(written) };
                Ok(())
            }
            _ => Err(CodecError::encode(format!("blosc cannot compress {} bytes ({written})", decoded.len()))),
        }
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let Some(header) = encoded.first_chunk::<HEADER>() else {
            return Err(CodecError::short(HEADER, encoded.len()));
        };
        let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (content, stored) = (word(4), word(12));
        let size = usize::try_from(content).unwrap_or(usize::MAX);
        out.allowed.check(size)?;
        match usize::try_from(stored).ok().and_then(|stored| encoded.len().checked_sub(stored)) {
            None => {
                return Err(CodecError::short(usize::try_from(stored).unwrap_or(usize::MAX), encoded.len()));
            }
            Some(0) => {}
            Some(count) => return Err(CodecError::trailing(count)),
        }
        // For an empty chunk the library returns 0, which `decompress` takes for a failure.
        if size == 0 { Ok(()) } else { decompress(encoded, size, out.bytes) }
    }

    /// Estimates the library's memory: buffers of a block, and the context of the inner compressor. A block is at most
    /// the chunk, and at most 8 MiB if the library chooses its size.
    fn context_bytes(&self, decoded: u64) -> u64 {
        const GREATEST_BLOCK: u64 = 8 << 20;
        const SMALL_CONTEXT: u64 = 512 << 10;
        let chosen = u64::try_from(self.block_bytes).unwrap_or(u64::MAX);
        let block = decoded.min(if chosen == 0 { GREATEST_BLOCK } else { chosen });
        let context = match (self.compressor, self.level) {
            // blosc maps its levels to those of Zstandard in this way.
            (ZSTD, 9..) => super::zstd::context_bytes(22, block),
            (ZSTD, level) => super::zstd::context_bytes(i32::from(level) * 2 - 1, block),
            _ => SMALL_CONTEXT,
        };
        // Encoding allocates a second chunk, and three blocks.
        decoded.saturating_add(block.saturating_mul(3)).saturating_add(context)
    }
}

/// Decompresses a buffer with a valid header to `size` bytes, into the empty `decoded`.
fn decompress(encoded: &[u8], size: usize, decoded: &mut Vec<u8>) -> Result<(), CodecError> {
    let mut claimed = 0;
    // SAFETY: the header is read within the length, and `claimed` may be written to.
    let state = unsafe { blosc_cbuffer_validate(encoded.as_ptr().cast(), encoded.len(), &raw mut claimed) };
    if (state, claimed) != (0, size) {
        return Err(CodecError::corrupt("the blosc header is not valid"));
    }
    reserve(decoded, size)?;
    // SAFETY: the header fits the buffer, within which the library reads, as was just checked. `decoded` has capacity
    // for the `size` bytes that it may write.
    let written = unsafe { blosc_decompress_ctx(encoded.as_ptr().cast(), decoded.as_mut_ptr().cast(), size, 1) };
    match usize::try_from(written) {
        Ok(written) if written > 0 && written <= size => {
            // SAFETY: `written` bytes have been written into the reserved memory.
            unsafe { decoded.set_len(written) };
            Ok(())
        }
        _ => Err(CodecError::corrupt("blosc cannot decompress its blocks")),
    }
}
