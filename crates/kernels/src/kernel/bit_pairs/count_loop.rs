//! Counts of set bits, by position, in a tile of words.
//!
//! Words are added bit by bit, sixteen at a time (carry-save adders, after Harley and Seal). So only every sixteenth is
//! counted by position, eight positions at a time, as bytes that count.

use crate::kernel::dispatch::TileLoop;

/// Words in parallel, so that the compiler uses vectors.
const LANES: usize = 4;

/// Vectors that are added at a time.
const BLOCK: usize = 16;

/// The lowest bit of each byte.
const LOWEST: u64 = 0x0101_0101_0101_0101;

type Vector = [u64; LANES];

/// Counts by position in a 64-bit word, from the least significant.
pub(super) type TileOnes = [u32; 64];

/// The loop over a tile of at most 255 blocks of words, aligned to blocks.
pub(super) struct CountLoop;

impl TileLoop for CountLoop {
    type State = ();
    type Outcome = TileOnes;

    #[inline(always)]
    fn run<const ROUNDS: bool>(&self, source: &[u8], _target: &mut [u8], (): &()) -> TileOnes {
        let words: &[u64] = bytemuck::try_cast_slice(source).unwrap_or_default();
        let mut all = [0_u32; 64];
        let (blocks, rest) = words.as_chunks::<{ LANES * BLOCK }>();
        debug_assert!(blocks.len() <= 255, "a byte counts them");
        let [mut ones, mut twos, mut fours, mut eights] = [[0; LANES]; 4];
        let mut bytes = [[0_u64; LANES]; 8];
        for block in blocks {
            let (vectors, _) = block.as_chunks::<LANES>();
            let mut eight = [[0; LANES]; 2];
            for (half, eight) in vectors.chunks_exact(8).zip(&mut eight) {
                let mut four = [[0; LANES]; 2];
                for (quarter, four) in half.chunks_exact(4).zip(&mut four) {
                    let mut two = [[0; LANES]; 2];
                    for (pair, two) in quarter.chunks_exact(2).zip(&mut two) {
                        (ones, *two) = added(ones, pair[0], pair[1]);
                    }
                    (twos, *four) = added(twos, two[0], two[1]);
                }
                (fours, *eight) = added(fours, four[0], four[1]);
            }
            let (low, sixteens) = added(eights, eight[0], eight[1]);
            eights = low;
            for (bit, bytes) in bytes.iter_mut().enumerate() {
                for (bytes, word) in bytes.iter_mut().zip(&sixteens) {
                    *bytes += (word >> bit) & LOWEST;
                }
            }
        }
        for (bit, bytes) in bytes.iter().enumerate() {
            spread(bytes, bit, 16, &mut all);
        }
        for (vector, weight) in [(ones, 1), (twos, 2), (fours, 4), (eights, 8)] {
            tally(&vector, weight, &mut all);
        }
        tally(rest, 1, &mut all);
        all
    }
}

/// Adds three words: returns the lower and the upper bit of the sum at each position.
#[inline(always)]
fn added(a: Vector, b: Vector, c: Vector) -> (Vector, Vector) {
    let (mut low, mut high) = ([0; LANES], [0; LANES]);
    for lane in 0..LANES {
        let differing = a[lane] ^ b[lane];
        low[lane] = differing ^ c[lane];
        high[lane] = (a[lane] & b[lane]) | (differing & c[lane]);
    }
    (low, high)
}

#[inline(always)]
fn tally(words: &[u64], weight: u32, all: &mut TileOnes) {
    for bit in 0..8 {
        for word in words {
            spread(&[(word >> bit) & LOWEST], bit, weight, all);
        }
    }
}

/// Adds the bytes of words. Each byte is a count of position `bit` of a byte.
#[inline(always)]
fn spread(words: &[u64], bit: usize, weight: u32, all: &mut TileOnes) {
    for word in words {
        for byte in 0..8 {
            let count = u32::from(word.to_le_bytes()[byte]);
            all[8 * byte + bit] += weight * count;
        }
    }
}
