//! Whether a web address leads to what a bucket holds. Many addresses do, so the objects themselves are compared.

use object_store::{GetOptions, GetRange};

use super::RemoteStore;
use super::address::{Kind, percent_decoded};
use super::errors::Failure;
use crate::store::{Key, Node, Relation, Result};

/// The documents by which two nodes are compared.
const DOCUMENTS: [&str; 3] = ["zarr.json", ".zarray", ".zgroup"];

/// The size of an object, its tag and its date, as far as its server tells them.
type Description = [Option<String>; 3];

/// True if nothing tells an object from another.
fn may_be_same(a: &Description, b: &Description) -> bool {
    a.iter().zip(b).all(|(a, b)| a.is_none() || b.is_none() || a == b)
}

/// Returns the relation of a node or an object of a web server to a place in a bucket; `None` where both are of one kind.
pub(in crate::store) fn relation(place: &Node, other: &Node) -> Result<Option<Relation>> {
    let file = std::iter::successors(Some(other), |node| node.store.container()).last().unwrap_or(other);
    let (Some(bucket), Some(web)) = (place.store.network(), file.store.network()) else {
        return Ok(None);
    };
    let (bucket, web) = (bucket.as_remote(), web.as_remote());
    if web.address.kind != Kind::Http || bucket.address.kind == Kind::Http {
        return Ok(None);
    }
    for (below_web, below_place) in pairs(&web.path_of(&file.prefix), place.prefix.as_str()) {
        for name in DOCUMENTS.into_iter().chain([""]) {
            let web_key = below(&file.prefix, [&below_web, name])?;
            let own_key = below(&place.prefix, [&below_place, name])?;
            let Some(found) = web.describe(&web_key)? else { continue };
            if bucket.describe(&own_key)?.is_some_and(|own| may_be_same(&own, &found)) {
                return Ok(Some(Relation::of(below_place.is_empty(), below_web.is_empty())));
            }
        }
    }
    Ok(Some(Relation::Apart))
}

/// Where one may lie in the other, by names that both paths have: what follows the path of the web server, and what follows
/// the key in the bucket.
fn pairs(web: &str, place: &str) -> Vec<(String, String)> {
    let names = |path: &str| path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let (web, place): (Vec<String>, Vec<String>) = (names(web), names(place));
    let mut pairs = Vec::new();
    if web.is_empty() || web.last() == place.last() {
        pairs.push((String::new(), String::new()));
    }
    for first in 0..web.len() {
        if let Some(rest) = web[first..].strip_prefix(&place[..]).filter(|rest| !rest.is_empty()) {
            pairs.push((String::new(), rest.join("/")));
        }
    }
    for end in 1..place.len() {
        if web.ends_with(&place[..end]) {
            pairs.push((place[end..].join("/"), String::new()));
        }
    }
    pairs
}

fn below(prefix: &Key<'_>, names: [&str; 2]) -> Result<Key<'static>> {
    let mut names = names.into_iter().filter(|name| !name.is_empty());
    names.try_fold(prefix.clone().into_owned(), |key, name| Ok(key.join(name)?.into_owned()))
}

impl RemoteStore {
    /// The path of a key at a web server, decoded.
    fn path_of(&self, key: &Key<'_>) -> String {
        let base = percent_decoded(&self.address.path).unwrap_or_default();
        let separator = if base.is_empty() || key.is_root() { "" } else { "/" };
        format!("{base}{separator}{}", key.as_str())
    }

    /// Asks the server for the description of an object; `None` where it gives none.
    fn describe(&self, key: &Key<'_>) -> Result<Option<Description>> {
        let client = self.client()?;
        // Some addresses are signed for this method alone.
        let options = GetOptions { range: Some(GetRange::Bounded(0..1)), ..GetOptions::default() };
        let (bytes, answer) = match client.wait(client.get(key.as_str(), u64::MAX, options)) {
            Ok(answer) => (answer.object_bytes, answer),
            Err(Failure::Answered(answer)) if answer.status.as_u16() == 416 => (Some(0), *answer),
            Err(Failure::Answered(_)) => return Ok(None),
            Err(failure) => return Err(client.failed("look at", key.as_str(), failure)),
        };
        let text = |name| answer.header(name).map(str::to_owned);
        Ok(Some([bytes.map(|bytes| bytes.to_string()), text("etag"), text("last-modified")]))
    }
}

#[cfg(test)]
mod tests {
    use super::pairs;

    #[test]
    fn paths_that_may_lead_to_one_object_are_compared() {
        let found = |web, place| {
            let pairs = pairs(web, place);
            pairs.into_iter().map(|(a, b)| format!("{a}|{b}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(found("bucket/a", "a"), "|");
        assert_eq!(found("", "a/b"), "|");
        assert_eq!(found("bucket/a/b/c/0", "a/b"), "|c/0");
        assert_eq!(found("bucket/a", "a/b/c"), "b/c|");
        assert_eq!(found("bucket/x", "a"), "");
        assert_eq!(found("bucket", "a"), "");
    }
}
