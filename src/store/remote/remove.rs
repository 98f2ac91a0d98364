//! What lies below a key goes object by object, in an order in which nothing opens that is not whole, and nothing is left
//! that no run knows to go on with.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};
use reqwest::Method;
use serde::Deserialize;

use super::RemoteStore;
use super::body::Keep;
use super::client::Client;
use super::explain::Attempt;
use super::listing::Listed;
use super::reader::io;
use super::transport::Request;
use super::upload::with_body;
use crate::store::{Key, StoreError};

/// Objects that one request removes at the most (Amazon S3, `DeleteObjects`).
const MOST_TOGETHER: usize = 1000;
/// The most bytes of the answer, which may name each with an error.
const ANSWER: Keep = Keep::All { most: 16 << 20 };

/// When an object goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    /// From then on nothing opens. The documents above go before those below.
    Document {
        depth: usize,
    },
    Chunk,
    /// What a run keeps beside what it writes: as long as it is there, what is left is known for what it is. A lock alone
    /// says that nothing was begun.
    Lock,
    /// The beginning of its log, without which the rest says nothing: some of its lines without others would be wrong.
    LogBeginning,
    LogRest,
}

impl RemoteStore {
    /// Removes all that lies below a key but what lies below `kept`.
    pub(super) fn remove_all(&self, key: &Key<'_>, kept: Option<&Key<'_>>) -> Result<(), StoreError> {
        self.check_writable("remove", key)?;
        let (client, runtime, prefix) = (self.client()?, self.runtime()?, self.prefix(key));
        let kept = kept.map(|kept| self.prefix(kept));
        let mut keys = Vec::new();
        self.pages(key, Listed { prefix: &prefix, by_folder: false, most: None }, |page| {
            let found = page.objects.into_iter().map(|(key, _)| key);
            keys.extend(found.filter(|key| !kept.as_ref().is_some_and(|kept| key.starts_with(kept))));
            ControlFlow::Continue(())
        })?;
        keys.sort_by_cached_key(|key| turn(key));
        for keys in keys.chunk_by(|key, next| turn(key) == turn(next)) {
            for key in self.remove_together(client, keys)? {
                let (client, object) = (client.clone(), format!("{}/{key}", self.address.shown_root()));
                let removed = key.clone();
                self.writes.begin(runtime, &key, 0, async move {
                    client.delete(&removed, &object).await?;
                    client.forget(&removed);
                    Ok(())
                })?;
            }
            self.writes.finish(runtime)?;
        }
        Ok(())
    }

    /// Removes objects by requests for many of them, where the store has such; those that are left.
    fn remove_together(&self, client: &Arc<Client>, keys: &[String]) -> Result<Vec<String>, StoreError> {
        // One that XML cannot hold goes by itself.
        let (mut left, together): (Vec<&String>, Vec<&String>) =
            keys.iter().partition(|key| key.chars().any(char::is_control));
        if !client.deletes_together.load(Ordering::Relaxed) || together.len() < 2 {
            return Ok(keys.to_vec());
        }
        let mut pieces = together.chunks(MOST_TOGETHER).map(|piece| piece.iter().copied().cloned().collect());
        let mut others = Vec::new();
        // The first tells whether the store does it at all; the rest then go beside each other.
        if let Some(first) = pieces.next() {
            others.extend(self.wait(client.clone().delete_together(first, self.name.clone()))?);
        }
        let runtime = self.runtime()?;
        let rest: Vec<_> = pieces
            .map(|piece| runtime.spawn(client.clone().delete_together(piece, self.name.clone())))
            .collect();
        let ended = |error| io("remove", &self.name, std::io::Error::other(error));
        // All end before an error is told: none may come over what is written next.
        let rest: Vec<_> = rest.into_iter().map(|piece| runtime.block_on(piece)).collect();
        for piece in rest {
            others.extend(piece.map_err(ended)??);
        }
        left.extend(&others);
        Ok(left.into_iter().cloned().collect())
    }
}

/// What became of a request to remove many objects: only what failed is named, as it is asked for (`Quiet`).
#[derive(Deserialize)]
#[serde(rename = "DeleteResult", rename_all = "PascalCase")]
struct Removed {
    #[serde(default)]
    error: Vec<NotRemoved>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct NotRemoved {
    key: String,
}

impl Client {
    /// Removes objects by one request; those that are left, which are all where the store has no such request. Why they are
    /// left shows when each is removed by itself.
    async fn delete_together(
        self: Arc<Self>,
        keys: Vec<String>,
        store: String,
    ) -> Result<Vec<String>, StoreError> {
        if !self.deletes_together.load(Ordering::Relaxed) {
            return Ok(keys);
        }
        let attempt = Attempt { action: "remove", object: &store };
        let text = request_text(&keys);
        let request = Request::new(Method::POST, None)
            .with_query("delete", "")
            .with_header("content-type", "application/xml")
            // Amazon S3 wants a digest of the list, and of all digests this one is known to most stores.
            .with_header("content-md5", STANDARD.encode(Md5::digest(&text)));
        // What fails is asked for one by one, which says why.
        let answer = self.send(attempt, &with_body(request, text.into_bytes()), ANSWER).await.ok();
        let answer = answer.filter(|answer| answer.status.is_success());
        let removed = answer.and_then(|answer| not_removed(&answer.body));
        // A key that was not asked for may be one of them, written otherwise.
        let Some(left) = removed.filter(|left| left.iter().all(|key| keys.contains(key))) else {
            self.deletes_together.store(false, Ordering::Relaxed);
            return Ok(keys);
        };
        let is_left = |key: &String| left.contains(key);
        let (left, gone): (Vec<_>, Vec<_>) = keys.into_iter().partition(is_left);
        for key in &gone {
            self.forget(key);
        }
        Ok(left)
    }
}

fn request_text(keys: &[String]) -> String {
    let mut text = "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>".to_owned();
    for key in keys {
        text.push_str("<Object><Key>");
        text.push_str(&quick_xml::escape::escape(key.as_str()));
        text.push_str("</Key></Object>");
    }
    text.push_str("</Delete>");
    text
}

/// The keys that an answer says are left; `None` where it is no answer to such a request.
fn not_removed(answer: &[u8]) -> Option<Vec<String>> {
    let text = std::str::from_utf8(answer).ok()?;
    if !text.contains("DeleteResult") {
        return None;
    }
    let removed: Removed = quick_xml::de::from_str(text).ok()?;
    Some(removed.error.into_iter().map(|left| left.key).collect())
}

fn turn(key: &str) -> Turn {
    let name = key.rsplit('/').next().unwrap_or(key);
    if key.contains("/.zarrcast/") || key.starts_with(".zarrcast/") {
        return match name {
            "lock" => Turn::Lock,
            "00000000" => Turn::LogBeginning,
            _ => Turn::LogRest,
        };
    }
    let is_document = name == "zarr.json" || name.starts_with(".z");
    if is_document { Turn::Document { depth: key.matches('/').count() } } else { Turn::Chunk }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_go_first_and_what_a_run_keeps_last() {
        let expected = [
            "a/.zgroup",
            "a/b/zarr.json",
            "a/c/0",
            "a/.zarrcast/lock",
            "a/.zarrcast/journal/00000000",
            "a/.zarrcast/journal/00000001",
        ];
        let mut keys = expected;
        keys.reverse();
        keys.sort_by_cached_key(|key| turn(key));
        assert_eq!(keys, expected);
    }

    #[test]
    fn request_for_many_objects_names_each_and_its_answer_what_is_left() {
        let keys = ["a/c/0".to_owned(), "a <b> & \"c\"".to_owned()];
        let text = request_text(&keys);
        assert!(
            text.contains("<Object><Key>a &lt;b&gt; &amp; &quot;c&quot;</Key></Object></Delete>"),
            "{text}"
        );
        let answer = "<?xml version=\"1.0\"?><DeleteResult xmlns=\"x\"><Error><Key>a &lt;b&gt; &amp; \"c\"</Key>\
            <Code>AccessDenied</Code></Error><Error><Key>x</Key></Error></DeleteResult>";
        assert_eq!(not_removed(answer.as_bytes()).unwrap(), [keys[1].as_str(), "x"]);
        assert!(not_removed(b"<DeleteResult/>").unwrap().is_empty());
        for other in ["", "<Error><Code>NotImplemented</Code></Error>", "<DeleteResult><Error>", "{}"] {
            assert!(not_removed(other.as_bytes()).is_none(), "{other}");
        }
    }
}
