//! Pages of a listing.

use reqwest::Method;
use serde::Deserialize;

use super::address::{Service, form_decoded};
use super::transport::Request;

/// The most bytes of a page: a thousand keys of a thousand letters, each of which may be written in six.
pub(super) const MOST_PAGE_BYTES: u64 = 16 << 20;

/// A page of a listing. Keys are whole.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// Objects and their sizes in bytes.
    pub(super) objects: Vec<(String, u64)>,
    /// The keys of folders, which end in a slash.
    pub(super) folders: Vec<String>,
    /// Where the next page begins, where there is one.
    pub(super) next: Option<String>,
}

/// What is listed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listed<'a> {
    /// With what the keys begin.
    pub(super) prefix: &'a str,
    /// Whether keys that go on behind a slash are one folder.
    pub(super) by_folder: bool,
    /// The most keys of a page; `None`: what the store gives, a thousand or more.
    pub(super) most: Option<u32>,
}

/// The request for a page.
pub(super) fn request(service: Service, listed: Listed<'_>, next: Option<&str>) -> Request {
    let Listed { prefix, by_folder, most } = listed;
    let mut request = Request::new(Method::GET, None);
    let is_azure = service == Service::Azure;
    request = if is_azure {
        request.with_query("restype", "container").with_query("comp", "list")
    } else {
        request.with_query("list-type", "2").with_query("encoding-type", "url")
    };
    if !prefix.is_empty() {
        request = request.with_query("prefix", prefix);
    }
    if by_folder {
        request = request.with_query("delimiter", "/");
    }
    if let Some(most) = most {
        request = request.with_query(if is_azure { "maxresults" } else { "max-keys" }, most.to_string());
    }
    if let Some(next) = next {
        request = request.with_query(if is_azure { "marker" } else { "continuation-token" }, next);
    }
    request
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BucketPage {
    #[serde(default)]
    contents: Vec<BucketObject>,
    #[serde(default)]
    common_prefixes: Vec<BucketFolder>,
    #[serde(default)]
    is_truncated: bool,
    next_continuation_token: Option<String>,
    encoding_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BucketObject {
    key: String,
    #[serde(default)]
    size: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BucketFolder {
    #[serde(default)]
    prefix: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ContainerPage {
    #[serde(default)]
    blobs: Blobs,
    next_marker: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase")]
struct Blobs {
    #[serde(default)]
    blob: Vec<Blob>,
    #[serde(default)]
    blob_prefix: Vec<BlobFolder>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Blob {
    name: BlobName,
    #[serde(default)]
    properties: BlobProperties,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BlobFolder {
    name: BlobName,
}

/// A name, which is percent-encoded where XML could not hold it.
#[derive(Deserialize)]
struct BlobName {
    #[serde(rename = "@Encoded")]
    is_encoded: Option<bool>,
    #[serde(rename = "$text", default)]
    text: String,
}

#[derive(Deserialize, Default)]
struct BlobProperties {
    #[serde(rename = "Content-Length", default)]
    length: u64,
}

impl BlobName {
    fn decoded(self) -> Option<String> {
        if self.is_encoded == Some(true) {
            form_decoded(&self.text.replace('+', "%2B"))
        } else {
            Some(self.text)
        }
    }
}

/// Reads a page of what lies below `prefix`; `None` where it is none.
pub(super) fn page(service: Service, prefix: &str, body: &[u8]) -> Option<Page> {
    let text = std::str::from_utf8(body).ok()?;
    let is_below = |page: &Page| {
        let mut keys = page.objects.iter().map(|(key, _)| key).chain(&page.folders);
        keys.all(|key| key.starts_with(prefix))
    };
    if service == Service::Azure {
        let page: ContainerPage = quick_xml::de::from_str(text.trim_start_matches('\u{feff}')).ok()?;
        return container_page(page).filter(is_below);
    }
    if !text.contains("ListBucketResult") {
        return None;
    }
    let page: BucketPage = quick_xml::de::from_str(text).ok()?;
    let is_encoded = page.encoding_type.as_deref() == Some("url");
    // Some servers say that they encode keys, and do not: what lies elsewhere once it is decoded is such a key.
    let decoded = bucket_page(&page, is_encoded).filter(is_below);
    decoded.or_else(|| bucket_page(&page, false).filter(is_below))
}

fn container_page(page: ContainerPage) -> Option<Page> {
    let objects = page.blobs.blob.into_iter();
    let objects = objects.map(|blob| Some((blob.name.decoded()?, blob.properties.length)));
    let folders = page.blobs.blob_prefix.into_iter().map(|folder| folder.name.decoded());
    Some(Page {
        objects: objects.collect::<Option<_>>()?,
        folders: folders.collect::<Option<_>>()?,
        next: page.next_marker.filter(|next| !next.is_empty()),
    })
}

fn bucket_page(page: &BucketPage, is_encoded: bool) -> Option<Page> {
    let key = |text: &str| if is_encoded { form_decoded(text) } else { Some(text.to_owned()) };
    let objects = page.contents.iter().map(|object| Some((key(&object.key)?, object.size)));
    let folders = page.common_prefixes.iter().map(|folder| key(&folder.prefix));
    Some(Page {
        objects: objects.collect::<Option<_>>()?,
        folders: folders.collect::<Option<_>>()?,
        next: page.next_continuation_token.clone().filter(|next| page.is_truncated && !next.is_empty()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_of_a_bucket_is_read_whatever_its_order() {
        let text = r#"<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
            <Name>b</Name><CommonPrefixes><Prefix>a/c/</Prefix></CommonPrefixes><IsTruncated>true</IsTruncated>
            <Contents><Key>a/b%2B+c</Key><LastModified>x</LastModified><Size>7</Size><Owner><ID>i</ID></Owner></Contents>
            <CommonPrefixes><Prefix>a//</Prefix></CommonPrefixes><Contents><Key>a/%5B%C3%A4</Key><Size>0</Size></Contents>
            <EncodingType>url</EncodingType><NextContinuationToken>t/=</NextContinuationToken></ListBucketResult>"#;
        let page = page(Service::S3, "a/", text.as_bytes()).unwrap();
        assert_eq!(page.objects, [("a/b+ c".to_owned(), 7), ("a/[ä".to_owned(), 0)]);
        assert_eq!(page.folders, ["a/c/", "a//"]);
        assert_eq!(page.next.as_deref(), Some("t/="));
    }

    #[test]
    fn page_of_a_container_is_read() {
        let text = "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults><Blobs>
            <Blob><Name>a/b&amp;c</Name><Properties><Content-Length>12</Content-Length></Properties></Blob>
            <BlobPrefix><Name>a/c/</Name></BlobPrefix><Blob><Name Encoded=\"true\">a%01</Name></Blob></Blobs>
            <NextMarker>m</NextMarker></EnumerationResults>";
        let page = page(Service::Azure, "", text.as_bytes()).unwrap();
        assert_eq!(page.objects, [("a/b&c".to_owned(), 12), ("a\u{1}".to_owned(), 0)]);
        assert_eq!((page.folders, page.next.as_deref()), (vec!["a/c/".to_owned()], Some("m")));
    }

    #[test]
    fn page_that_is_none_is_not_an_empty_one() {
        for text in ["", "<html></html>", "<Error><Code>AccessDenied</Code></Error>", "{}"] {
            assert_eq!(page(Service::S3, "", text.as_bytes()), None, "{text}");
        }
        assert_eq!(page(Service::Azure, "", b"<html>"), None);
    }

    #[test]
    fn server_that_says_it_encodes_keys_and_does_not_is_found_out() {
        let listed = |key: &str, prefix: &str| {
            let text = format!(
                "<ListBucketResult><Contents><Key>{key}</Key><Size>1</Size></Contents>\
                 <EncodingType>url</EncodingType></ListBucketResult>"
            );
            page(Service::S3, prefix, text.as_bytes()).map(|page| page.objects[0].0.clone())
        };
        assert_eq!(listed("50%25/c", "50%25/").as_deref(), Some("50%25/c"));
        assert_eq!(listed("50%2525/c", "50%25/").as_deref(), Some("50%25/c"));
        assert_eq!(listed("a+b/c", "a+b/").as_deref(), Some("a+b/c"));
        assert_eq!(listed("other/c", "a/"), None, "it was not asked for");
    }
}
