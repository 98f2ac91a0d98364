//! Pages of listings of S3 and Google (`ListBucketResult`) and Azure (`EnumerationResults`).

use serde::Deserialize;

use crate::store::{EntryKind, Key};

/// Page of a listing with whole keys.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// Objects with their sizes in bytes, and folders. Those with invalid keys are [`EntryKind::Unnamed`].
    pub(super) entries: Vec<(String, EntryKind, Option<u64>)>,
    /// Token of the next page, if there is one.
    pub(super) next: Option<String>,
}

/// XML document of a page. Azure has its entries in `Blobs`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Document {
    contents: Vec<Entry>,
    common_prefixes: Vec<Entry>,
    blobs: Blobs,
    #[serde(alias = "NextMarker")]
    next_continuation_token: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Blobs {
    blob: Vec<Entry>,
    blob_prefix: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    #[serde(alias = "Name", alias = "Prefix")]
    key: Name,
    #[serde(default)]
    size: u64,
    #[serde(default)]
    properties: Properties,
}

#[derive(Debug, Deserialize)]
struct Name {
    #[serde(rename = "@Encoded", default)]
    is_encoded: bool,
    #[serde(rename = "$text", default)]
    text: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Properties {
    #[serde(rename = "Content-Length")]
    bytes: u64,
    #[serde(rename = "ResourceType")]
    kind: String,
}

impl Name {
    /// Returns the key. A percent-encoded name contains characters that XML cannot, so the result is an invalid key.
    fn key(self) -> String {
        if self.is_encoded { format!("{}\u{1}", self.text) } else { self.text }
    }
}

impl Page {
    /// Parses the body of an answer. Returns `None` if it is not a listing.
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(body).ok()?;
        // The parser ignores the name of the root, and would read any document as an empty page.
        ["<ListBucketResult", "<EnumerationResults"].iter().find(|name| text.contains(**name))?;
        let document: Document = quick_xml::de::from_str(text.trim_start_matches('\u{feff}')).ok()?;
        let objects = document.contents.into_iter().chain(document.blobs.blob);
        // Azure lists real folders also as objects. Their contents have entries of their own.
        let objects = objects.filter(|entry| entry.properties.kind != "directory");
        // S3 and Google have the size in one element, and Azure in the other. The missing one is 0.
        let objects = objects.map(|entry| (entry.key.key(), entry.size.max(entry.properties.bytes)));
        let folders = document.common_prefixes.into_iter().chain(document.blobs.blob_prefix);
        let mut entries = Vec::new();
        for (key, bytes) in objects {
            if Key::new(&key).is_ok() {
                entries.push((key, EntryKind::File, Some(bytes)));
            } else if bytes > 0 || !key.ends_with('/') {
                // Other tools create empty objects to make a folder visible.
                entries.push((key, EntryKind::Unnamed, None));
            }
        }
        for key in folders.map(|entry| entry.key.key()) {
            match key.strip_suffix('/').filter(|folder| Key::new(folder).is_ok()) {
                Some(folder) => entries.push((folder.to_owned(), EntryKind::Folder, None)),
                None => entries.push((key, EntryKind::Unnamed, None)),
            }
        }
        Some(Page { entries, next: document.next_continuation_token.filter(|next| !next.is_empty()) })
    }

    /// Returns the keys and the sizes in bytes of the objects.
    pub(super) fn objects(self) -> impl Iterator<Item = (String, u64)> {
        self.entries.into_iter().filter_map(|(key, _, bytes)| Some((key, bytes?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(page: &Page, of: EntryKind) -> Vec<&str> {
        page.entries.iter().filter(|(_, kind, _)| *kind == of).map(|(key, ..)| key.as_str()).collect()
    }

    #[test]
    fn keys_that_are_no_paths_are_apart_from_others() {
        let entry = |key: &str, bytes: u64| format!("<Contents><Key>{key}</Key><Size>{bytes}</Size></Contents>");
        let folder = |key: &str| format!("<CommonPrefixes><Prefix>{key}</Prefix></CommonPrefixes>");
        let entries = [
            entry("a/b&amp; c", 0),
            folder("a/c/"),
            entry("a/[ä]%2F", 7),
            entry("a/", 0),
            entry("a/c/", 0),
            entry("a//x", 1),
            entry("/a", 1),
            entry("a/../b", 1),
            entry("a&#1;", 1),
            entry("d/", 3),
            folder("a//"),
        ];
        let text =
            format!("<?xml version=\"1.0\"?><ListBucketResult><Name>b</Name>{}</ListBucketResult>", entries.concat());
        let page = Page::parse(text.as_bytes()).unwrap();
        assert_eq!((keys(&page, EntryKind::Folder), &page.next), (vec!["a/c"], &None));
        assert_eq!(keys(&page, EntryKind::Unnamed), ["a//x", "/a", "a/../b", "a\u{1}", "d/", "a//"]);
        assert!(page.objects().eq([("a/b& c".to_owned(), 0), ("a/[ä]%2F".to_owned(), 7)]));
        let text = "\u{feff}<EnumerationResults><Blobs><Blob><Name>a</Name><Properties><Content-Length>3</Content-Length>\
            </Properties></Blob><BlobPrefix><Name>c/</Name></BlobPrefix><Blob><Name Encoded=\"true\">b%01</Name><Properties>\
            <Content-Length>1</Content-Length></Properties></Blob><Blob><Name>c</Name><Properties><ResourceType>directory\
            </ResourceType></Properties></Blob></Blobs><NextMarker>m</NextMarker></EnumerationResults>";
        let page = Page::parse(text.as_bytes()).unwrap();
        assert_eq!((keys(&page, EntryKind::Unnamed), keys(&page, EntryKind::Folder)), (vec!["b%01\u{1}"], vec!["c"]));
        assert_eq!(page.next.as_deref(), Some("m"));
        assert!(page.objects().eq([("a".to_owned(), 3)]));
    }

    #[test]
    fn page_that_is_none_is_not_an_empty_one() {
        for text in ["", "<html></html>", "<Error><Code>AccessDenied</Code></Error>", "{}", "<ListBucketResult><Blob"] {
            assert!(Page::parse(text.as_bytes()).is_none(), "{text}");
        }
        assert!(Page::parse(b"<ListBucketResult/>").is_some());
        assert!(Page::parse(b"<EnumerationResults><Blobs/><NextMarker/></EnumerationResults>").is_some());
    }
}
