//! What a plan is told apart by.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The identity of a plan: named parts, each as a digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The version of the program: another may write other bytes.
    program: String,
    /// Digests by the names of what they were made of.
    plan: BTreeMap<String, String>,
}

impl Fingerprint {
    /// The fingerprint of a plan, from the texts of its parts, each in pieces.
    pub fn new<'a>(parts: impl IntoIterator<Item = (&'a str, Vec<&'a [u8]>)>) -> Self {
        let plan = parts.into_iter().map(|(name, text)| (name.to_owned(), digest(text))).collect();
        Fingerprint { program: env!("CARGO_PKG_VERSION").to_owned(), plan }
    }

    /// The names of what differs from another plan.
    pub(super) fn differences(&self, other: &Fingerprint) -> Vec<String> {
        let mut names: Vec<String> = self
            .plan
            .iter()
            .filter(|(name, digest)| other.plan.get(*name) != Some(digest))
            .map(|(name, _)| name.clone())
            .collect();
        if self.program != other.program {
            names.push(format!("the version of zarrcast ({} then)", other.program));
        }
        names
    }
}

/// The digest of a text in pieces, as hexadecimal digits.
pub fn digest<'a>(text: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut digest = Sha256::new();
    for piece in text {
        // Pieces are told apart by their lengths.
        digest.update((piece.len() as u64).to_le_bytes());
        digest.update(piece);
    }
    digest.finalize().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
