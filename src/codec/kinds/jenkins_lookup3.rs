//! `numcodecs.jenkins_lookup3`: Bob Jenkins' lookup3 (`hashlittle`), as HDF5 has it.

use super::BytesKind;
use super::checksum::{Checksum, Location, RULE};
use super::numcodecs::{self, Absent, Form, Member};

const MEMBERS: &[Member] = &[
    Member::new("initval", Form::Integer(0, u32::MAX as i64), Absent::Integer(0)),
    Member::new("prefix", Form::Any, Absent::Nothing),
];

/// `numcodecs.jenkins_lookup3`.
pub(crate) static JENKINS_LOOKUP3: BytesKind = BytesKind::new(
    |source| {
        numcodecs::parse("numcodecs.jenkins_lookup3", source, MEMBERS, |values| Checksum {
            sum: jenkins_lookup3,
            seed: u32::try_from(values.integer("initval")).unwrap_or(0),
            location: Location::End,
        })
    },
    RULE,
)
.with_checksum(|_| true);

/// Published by its author in the public domain: <https://www.burtleburtle.net/bob/c/lookup3.c>.
fn jenkins_lookup3(bytes: &[u8], initval: u32) -> u32 {
    const START: u32 = 0xdead_beef;
    const BLOCK: usize = 12;
    #[expect(clippy::cast_possible_truncation, reason = "the length counts modulo 2^32")]
    let start = START.wrapping_add(bytes.len() as u32).wrapping_add(initval);
    let mut state = [start; 3];
    let mut rest = bytes;
    // The last block is mixed in another way, be it whole or not.
    while rest.len() > BLOCK {
        let (block, following) = rest.split_at(BLOCK);
        add_words(&mut state, block);
        mix(&mut state);
        rest = following;
    }
    if !rest.is_empty() {
        add_words(&mut state, rest);
        finish(&mut state);
    }
    state[2]
}

/// Adds up to 12 bytes as little-endian words.
fn add_words(state: &mut [u32; 3], bytes: &[u8]) {
    for (word, bytes) in state.iter_mut().zip(bytes.chunks(4)) {
        let value = bytes.iter().rev().fold(0, |value, byte| (value << 8) | u32::from(*byte));
        *word = word.wrapping_add(value);
    }
}

fn mix(state: &mut [u32; 3]) {
    let [mut a, mut b, mut c] = *state;
    for rotations in [[4, 6, 8], [16, 19, 4]] {
        a = a.wrapping_sub(c) ^ c.rotate_left(rotations[0]);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(rotations[1]);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(rotations[2]);
        b = b.wrapping_add(a);
    }
    *state = [a, b, c];
}

fn finish(state: &mut [u32; 3]) {
    let [mut a, mut b, mut c] = *state;
    let step = |word: u32, by: u32, rotation: u32| (word ^ by).wrapping_sub(by.rotate_left(rotation));
    c = step(c, b, 14);
    a = step(a, c, 11);
    b = step(b, a, 25);
    c = step(c, b, 16);
    a = step(a, c, 4);
    b = step(b, a, 14);
    c = step(c, b, 24);
    *state = [a, b, c];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jenkins_lookup3_is_that_of_the_reference() {
        // Those of the reference's own test.
        let text = b"Four score and seven years ago";
        for (bytes, initval, expected) in [
            (&b""[..], 0, 0xdead_beef),
            (b"", 0xdead_beef, 0xbd5b_7dde),
            (text, 0, 0x1777_0551),
            (text, 1, 0xcd62_8161),
        ] {
            assert_eq!(jenkins_lookup3(bytes, initval), expected, "{bytes:?}");
        }
    }
}
