//! A page of a listing, as S3 and Google (`ListBucketResult`) and Azure (`EnumerationResults`) write it.

use serde::Deserialize;

use crate::store::Key;

/// A page of a listing. Keys are whole.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// Objects and their sizes in bytes.
    pub(super) objects: Vec<(String, u64)>,
    pub(super) folders: Vec<String>,
    /// Keys that are no paths, and those of folders that are none.
    pub(super) left_out: Vec<String>,
    /// Where the next page begins, where there is one.
    pub(super) next: Option<String>,
}

/// What both kinds have in common is the elements' content, not their names.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Document {
    contents: Vec<Content>,
    common_prefixes: Vec<CommonPrefix>,
    blobs: Blobs,
    next_continuation_token: Option<String>,
    next_marker: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Content {
    key: String,
    size: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct CommonPrefix {
    prefix: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Blobs {
    blob: Vec<Blob>,
    blob_prefix: Vec<Blob>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Blob {
    name: Name,
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
    /// One that is percent-encoded is so since XML cannot hold it: it is no path.
    fn key(self) -> String {
        if self.is_encoded { format!("{}\u{1}", self.text) } else { self.text }
    }
}

impl Page {
    /// Reads the body of an answer; `None` where it is no listing.
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(body).ok()?;
        // Whatever the root is, the parser would take it for a page without keys.
        ["<ListBucketResult", "<EnumerationResults"].iter().find(|name| text.contains(**name))?;
        let Document { contents, common_prefixes, blobs, next_continuation_token, next_marker } =
            quick_xml::de::from_str(text.trim_start_matches('\u{feff}')).ok()?;
        // Folders of Azure that are objects are listed as what lies in them.
        let blobs_of = blobs.blob.into_iter().filter(|blob| blob.properties.kind != "directory");
        let objects = contents.into_iter().map(|content| (content.key, content.size));
        let objects = objects.chain(blobs_of.map(|blob| (blob.name.key(), blob.properties.bytes)));
        let folders = common_prefixes.into_iter().map(|folder| folder.prefix);
        let folders = folders.chain(blobs.blob_prefix.into_iter().map(|folder| folder.name.key()));
        let mut page = Page::default();
        for (key, bytes) in objects {
            if Key::new(&key).is_ok() {
                page.objects.push((key, bytes));
            } else if bytes > 0 || !key.ends_with('/') {
                // Other tools make empty objects so that a folder is seen.
                page.left_out.push(key);
            }
        }
        for key in folders {
            match key.strip_suffix('/').filter(|folder| Key::new(folder).is_ok()) {
                Some(folder) => page.folders.push(folder.to_owned()),
                None => page.left_out.push(key),
            }
        }
        page.next = next_continuation_token.or(next_marker).filter(|next| !next.is_empty());
        Some(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_no_paths_are_apart_from_others() {
        let entry =
            |key: &str, bytes: u64| format!("<Contents><Key>{key}</Key><Size>{bytes}</Size></Contents>");
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
        let text = format!(
            "<?xml version=\"1.0\"?><ListBucketResult><Name>b</Name>{}</ListBucketResult>",
            entries.concat()
        );
        let page = Page::parse(text.as_bytes()).unwrap();
        assert_eq!(page.objects, [("a/b& c".to_owned(), 0), ("a/[ä]%2F".to_owned(), 7)]);
        assert_eq!((page.folders, page.next), (vec!["a/c".to_owned()], None));
        assert_eq!(page.left_out, ["a//x", "/a", "a/../b", "a\u{1}", "d/", "a//"]);
        let text = "\u{feff}<EnumerationResults><Blobs><Blob><Name>a</Name><Properties><Content-Length>3</Content-Length>\
            </Properties></Blob><BlobPrefix><Name>c/</Name></BlobPrefix><Blob><Name Encoded=\"true\">b%01</Name><Properties>\
            <Content-Length>1</Content-Length></Properties></Blob><Blob><Name>c</Name><Properties><ResourceType>directory\
            </ResourceType></Properties></Blob></Blobs><NextMarker>m</NextMarker></EnumerationResults>";
        let page = Page::parse(text.as_bytes()).unwrap();
        assert_eq!((page.objects, page.folders), (vec![("a".to_owned(), 3)], vec!["c".to_owned()]));
        assert_eq!((page.left_out, page.next), (vec!["b%01\u{1}".to_owned()], Some("m".to_owned())));
    }

    #[test]
    fn page_that_is_none_is_not_an_empty_one() {
        for text in
            ["", "<html></html>", "<Error><Code>AccessDenied</Code></Error>", "{}", "<ListBucketResult><Blob"]
        {
            assert!(Page::parse(text.as_bytes()).is_none(), "{text}");
        }
        assert!(Page::parse(b"<ListBucketResult/>").is_some());
        assert!(Page::parse(b"<EnumerationResults><Blobs/><NextMarker/></EnumerationResults>").is_some());
    }
}
