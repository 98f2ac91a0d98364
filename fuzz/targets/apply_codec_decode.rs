//! Chunks: any bytes decode by any chain to a chunk of the right size, or are refused. The input is an array's document,
//! NUL, and a chunk.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zarrcast::codec::Workspace;

/// Larger chunks are only slower.
const MOST_BYTES: u64 = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let Some(end) = bytes.iter().position(|byte| *byte == 0) else { return };
    let Some(chain) = zarrcast_fuzz::chain(&bytes[..end]) else { return };
    if chain.max_representation_bytes() > MOST_BYTES {
        return;
    }
    let mut decoded = Vec::new();
    if chain.decode(&bytes[end + 1..], &mut decoded, &mut Workspace::default()).is_ok()
        && let Some(expected) = chain.decoded().num_bytes()
    {
        assert_eq!(decoded.len() as u64, expected);
    }
});
