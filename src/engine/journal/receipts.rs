//! Receipts: that a part of a job is done and durable, with what was counted, so that a listing tells it of thousands.

use std::collections::BTreeMap;

use crate::store::{Node, Part, StoreError};

/// Between the number of a part and its text.
const MARK: char = '~';
/// A name has no more bytes: file systems have room for 255, and there are object stores that keep whole keys, encoded, in one
/// name of a file.
const MOST_BYTES: usize = 120;
/// A text is read as far as this.
const MOST_TEXT: u64 = 16 << 20;

/// That a part is done.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Receipt {
    /// The object, by its key in the node.
    key: String,
    /// `None` where it is too long for a name: then it is what the object holds.
    text: Option<String>,
}

impl Receipt {
    /// Makes the receipt of a part, durable when this returns. Where the part was done twice, there may be two: one of them
    /// counts, for whoever asks the same.
    pub fn make(node: &Node, folder: &str, part: u64, text: &str) -> Result<(), StoreError> {
        let name = format!("{part}{MARK}");
        let is_name = name.len() + text.len() <= MOST_BYTES && text.bytes().all(is_plain);
        let (end, held) = if is_name { (text, "") } else { ("", text) };
        node.publish_new(&format!("{folder}/{name}{end}"), held.as_bytes()).map(drop)
    }

    /// All receipts in a folder by the numbers of their parts, by one listing.
    pub fn all(node: &Node, folder: &str) -> Result<BTreeMap<u64, Receipt>, StoreError> {
        let mut all: BTreeMap<u64, Receipt> = BTreeMap::new();
        node.each_entry(folder, |key, _, _| {
            let Some((part, text)) = key[folder.len() + 1..].split_once(MARK) else { return };
            // What is not written so is no receipt.
            let Some(part) = part.parse().ok().filter(|number: &u64| number.to_string() == part) else {
                return;
            };
            let text = (!text.is_empty()).then(|| text.to_owned());
            let receipt = Receipt { key: key.to_owned(), text };
            let first = all.entry(part).or_insert_with(|| receipt.clone());
            if receipt < *first {
                *first = receipt;
            }
        })?;
        Ok(all)
    }

    /// Removes all receipts of a part: it counts as not done.
    pub fn remove(node: &Node, folder: &str, part: u64) -> Result<(), StoreError> {
        let mut keys = Vec::new();
        let first = format!("{folder}/{part}{MARK}");
        node.each_entry(folder, |key, _, _| {
            keys.extend(key.starts_with(&first).then(|| key.to_owned()));
        })?;
        keys.iter().try_for_each(|key| node.remove(key).map(drop))
    }

    /// The object, by its key in the node.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Tells the store that the texts of receipts will be asked for soon, in this order.
    pub fn expect<'a>(node: &Node, receipts: impl Iterator<Item = &'a Receipt>) {
        let held = receipts.filter(|receipt| receipt.text.is_none());
        node.expect(&held.map(|receipt| (receipt.key.clone(), Part::Whole)).collect::<Vec<_>>());
    }

    /// Its text, which is read where it does not stand in the name.
    pub fn text(&self, node: &Node) -> Result<String, StoreError> {
        if let Some(text) = &self.text {
            return Ok(text.clone());
        }
        let mut bytes = Vec::new();
        node.read_into(&self.key, MOST_TEXT, &mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Whether names may have a letter in every store.
fn is_plain(letter: u8) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'-')
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustix::io::Errno;

    use super::*;
    use crate::store::MemoryStore;
    use crate::store::tests::faulty::{Call, Failure, Faults};

    #[test]
    fn receipts_are_listed_with_their_texts() {
        let folder = tempfile::tempdir().unwrap();
        let local = Node::new(folder.path());
        for node in [local, Node::of(Arc::new(MemoryStore::new("m")))] {
            assert!(Receipt::all(&node, "write").unwrap().is_empty());
            let long = "a".repeat(300);
            let texts =
                [(3, "a1_2-a"), (0, ""), (7, long.as_str()), (12, "two words"), (3, "a1_3-a"), (3, "a1_2-a")];
            for (part, text) in texts {
                Receipt::make(&node, "write", part, text).unwrap();
            }
            for name in ["x~1", "03~a", "~", ".9~a", "+4~a", "5"] {
                node.write(&format!("write/{name}"), b"").unwrap();
            }
            Receipt::make(&node, "range", 5, "b").unwrap();
            let all = Receipt::all(&node, "write").unwrap();
            let found: Vec<(u64, String)> =
                all.iter().map(|(part, receipt)| (*part, receipt.text(&node).unwrap())).collect();
            let expected = [(0, ""), (3, "a1_2-a"), (7, &long), (12, "two words")];
            assert_eq!(found, expected.map(|(part, text)| (part, text.to_owned())));
        }
    }

    #[test]
    fn receipt_that_cannot_be_made_is_none_and_is_made_again() {
        let node = Node::of(Arc::new(MemoryStore::new("m")));
        for failure in [Failure::Error(Errno::NOSPC), Failure::Late] {
            let faulty = Faults::of_kind(Call::Publish, failure).wrap(&node);
            assert!(Receipt::make(&faulty, "write", 1, "a").is_err());
            assert_eq!(Receipt::all(&node, "write").unwrap().len(), usize::from(failure == Failure::Late));
        }
        Receipt::make(&node, "write", 1, "a").unwrap();
        Receipt::make(&node, "write", 11, "a").unwrap();
        assert_eq!(Receipt::all(&node, "write").unwrap()[&1].text(&node).unwrap(), "a");
        Receipt::remove(&node, "write", 1).unwrap();
        assert!(Receipt::all(&node, "write").unwrap().into_keys().eq([11]));
    }
}
