//! What a server answers, and how `object_store` is told of it: as a server that does all that is asked would answer.

use object_store::client::{HttpRequest, HttpResponse};
use object_store::path::Path;
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderValue, LAST_MODIFIED, RANGE};
use reqwest::{Method, StatusCode};

use super::service::{AttemptError, Failure};

/// An answer, of whatever status.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// What of the object was wanted; of an error, its first bytes.
    pub(super) body: Vec<u8>,
    /// The size of the whole object, where it is known.
    pub(super) object_bytes: Option<u64>,
}

/// Codes of errors that may not come again.
const PASSING: [&str; 3] = ["InternalError", "SlowDown", "ServiceUnavailable"];

/// The text of a header.
pub(super) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The text of the first element of a name.
pub(super) fn element<'a>(body: &'a [u8], name: &str) -> Option<&'a str> {
    let text = std::str::from_utf8(body).ok()?;
    let start = text.find(&format!("<{name}>"))? + name.len() + 2;
    let end = start + text[start..].find('<')?;
    Some(text[start..end].trim())
}

/// Whether a request is to remove many objects.
pub(super) fn is_of_many(request: &HttpRequest) -> bool {
    let query = request.uri().query().unwrap_or_default();
    request.method() == Method::POST && (query.starts_with("delete") || query.contains("comp=batch"))
}

fn is_copy(request: &HttpRequest) -> bool {
    let names = ["x-amz-copy-source", "x-goog-copy-source", "x-ms-copy-source"];
    names.iter().any(|name| request.headers().contains_key(*name))
}

impl Answer {
    /// An answer of which only the status is known.
    pub(super) fn new(status: StatusCode) -> Self {
        Answer { status, headers: HeaderMap::new(), body: Vec::new(), object_bytes: None }
    }

    /// A success that is one; and of a listing what is a path, and the keys of the rest.
    pub(super) fn checked(
        self,
        request: &HttpRequest,
        is_of_object: bool,
    ) -> Result<(Self, Vec<String>), AttemptError> {
        let is_get = request.method() == Method::GET;
        // Other successes, such as 204, bring nothing.
        let brings = !is_get || matches!(self.status.as_u16(), 200 | 206);
        if !self.status.is_success() || !brings {
            return Err(AttemptError::answered(self));
        }
        if is_get && !is_of_object {
            return self.page();
        }
        let holds = match self.code() {
            _ if is_of_many(request) => {
                self.names_only(request.body().as_bytes().map_or(&[], |body| &body[..]))
            }
            // The store answers before it knows: an error may follow the status of a success.
            _ if is_copy(request) => self.tells_of_copy(),
            Some(code) if !is_get && PASSING.contains(&code) => {
                return Err(AttemptError::passing(format!("the store answers: {code}")));
            }
            code => is_get || code.is_none(),
        };
        if holds { Ok((self, Vec::new())) } else { Err(AttemptError::answered(self)) }
    }

    /// The code of an error: of the document that is the answer's body, or of a header.
    pub(super) fn code(&self) -> Option<&str> {
        header(&self.headers, "x-ms-error-code").or_else(|| element(&self.body, "Code"))
    }

    /// Whether it says that an object was copied. A server that does not know the header has written an empty one; what is
    /// copied later may come over what is written later.
    fn tells_of_copy(&self) -> bool {
        match header(&self.headers, "x-ms-copy-status") {
            Some(status) => status == "success",
            None => std::str::from_utf8(&self.body).is_ok_and(|text| text.contains("CopyObjectResult")),
        }
    }

    /// Whether an answer to a request to remove many objects names none but those; and no error that passes, since why
    /// they are left shows when each is removed by itself.
    fn names_only(&self, request: &[u8]) -> bool {
        let (Ok(text), Ok(asked)) = (std::str::from_utf8(&self.body), std::str::from_utf8(request)) else {
            return false;
        };
        let is_named = |key: &str| {
            key.split_once("</Key>").is_some_and(|(key, _)| asked.contains(&format!("<Key>{key}</Key>")))
        };
        let is_part = |id: &str| {
            let number: Option<usize> = id.split_once("\r\n").and_then(|(id, _)| id.trim().parse().ok());
            number.is_none_or(|number| asked.contains(&format!("Content-ID: {number}\r\n")))
        };
        text.split("<Key>").skip(1).all(is_named)
            && text.to_ascii_lowercase().split("content-id:").skip(1).all(is_part)
            && !PASSING.iter().any(|code| text.contains(code))
    }

    /// A page of a listing.
    fn page(mut self) -> Result<(Self, Vec<String>), AttemptError> {
        let text = std::str::from_utf8(&self.body).ok();
        let text = text.filter(|text| {
            ["<ListBucketResult", "<EnumerationResults"].iter().any(|name| text.contains(name))
        });
        let Some(text) = text else {
            let help = "check that the address is that of a store, and its endpoint";
            return Err(AttemptError::Failure(Failure::Final("the answer is no listing".to_owned(), help)));
        };
        let (kept, left_out) = paths_of(text.trim_start_matches('\u{feff}'));
        self.body = kept.into_bytes();
        Ok((self, left_out))
    }

    /// The answer as `object_store` understands it: what is wanted of an object is a part of it, whatever the server knows
    /// of parts, and has a length, a tag and a date. It compares none of them: that is done with what the server said.
    pub(super) fn into_response(
        self,
        request: &HttpRequest,
        is_of_object: bool,
    ) -> Result<HttpResponse, AttemptError> {
        let Answer { mut status, mut headers, body, object_bytes } = self;
        let reads = is_of_object && matches!(*request.method(), Method::GET | Method::HEAD);
        if reads {
            let length = body.len() as u64;
            let total = match (object_bytes, *request.method() == Method::HEAD) {
                (Some(total), _) => total,
                (None, false) => length,
                (None, true) => {
                    return Err(AttemptError::answered(Answer { status, headers, body, object_bytes }));
                }
            };
            let range = request.headers().get(RANGE).and_then(|range| range.to_str().ok());
            let range = range.and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
            headers.clear();
            headers.insert(CONTENT_LENGTH, if range.is_some() { length } else { total }.into());
            headers.insert(LAST_MODIFIED, HeaderValue::from_static("Thu, 01 Jan 1970 00:00:00 GMT"));
            if let Some((first, _)) = range {
                let first = first.parse().unwrap_or(total.saturating_sub(length));
                let range = format!("bytes {first}-{}/{total}", (first + length).saturating_sub(1));
                let range = HeaderValue::try_from(range).ok().filter(|_| length > 0);
                let Some(range) = range else {
                    // Nothing is a part of an empty object.
                    let (status, object_bytes) = (StatusCode::RANGE_NOT_SATISFIABLE, Some(total));
                    return Err(AttemptError::answered(Answer { status, headers, body, object_bytes }));
                };
                headers.insert(CONTENT_RANGE, range);
                status = StatusCode::PARTIAL_CONTENT;
            }
        }
        let is_part = request.uri().query().is_some_and(|query| query.contains("partNumber="));
        if !is_part && header(&headers, ETAG.as_str()).is_none() {
            headers.insert(ETAG, HeaderValue::from_static("\"none\""));
        }
        let mut response = HttpResponse::new(body.into());
        (*response.status_mut(), *response.headers_mut()) = (status, headers);
        Ok(response)
    }
}

/// The beginnings and ends of what a page lists, and the elements that hold keys.
const ENTRIES: [(&str, &str, &str); 4] = [
    ("<Contents>", "</Contents>", "Key"),
    ("<CommonPrefixes>", "</CommonPrefixes>", "Prefix"),
    ("<Blob>", "</Blob>", "Name"),
    ("<BlobPrefix>", "</BlobPrefix>", "Name"),
];

/// A page of a listing without keys that are no paths, which `object_store` would refuse with all others, and those keys.
/// Empty objects that other tools make so that a folder is seen are left out of both.
fn paths_of(page: &str) -> (String, Vec<String>) {
    let (mut kept, mut left_out) = (String::with_capacity(page.len()), Vec::new());
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let (before, at) = rest.split_at(start);
        kept.push_str(before);
        let Some((open, close, name)) = ENTRIES.iter().find(|(open, ..)| at.starts_with(open)) else {
            let end = at[1..].find('<').map_or(at.len(), |end| end + 1);
            kept.push_str(&at[..end]);
            rest = &at[end..];
            continue;
        };
        let Some(end) = at.find(close) else {
            rest = at;
            break;
        };
        let (entry, following) = at.split_at(end + close.len());
        rest = following;
        let key = key_of(&entry[open.len()..], name);
        let is_folder = open.ends_with("Prefixes>") || open.ends_with("Prefix>");
        let path = if is_folder { key.strip_suffix('/').unwrap_or(&key) } else { &key };
        if !path.starts_with('/') && !path.ends_with('/') && Path::parse(path).is_ok() {
            kept.push_str(entry);
        } else {
            let is_empty = ["<Size>0<", "<Content-Length>0<"].iter().any(|size| entry.contains(size));
            if is_folder || !key.ends_with('/') || !is_empty {
                left_out.push(key);
            }
        }
    }
    kept.push_str(rest);
    (kept, left_out)
}

/// The key that an element holds. One that is percent-encoded is so since XML cannot hold it: it is no path.
fn key_of(entry: &str, name: &str) -> String {
    let text = entry.split_once(&format!("<{name}")).and_then(|(_, rest)| rest.split_once('>'));
    let text = text.and_then(|(attributes, rest)| Some((attributes, rest.split_once('<')?.0)));
    match text {
        Some((attributes, text)) if attributes.contains("true") => format!("{text}\u{1}"),
        Some((_, text)) => quick_xml::escape::unescape(text).map_or_else(|_| format!("/{text}"), Into::into),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_no_paths_are_taken_out_of_a_page() {
        let entry =
            |key: &str, bytes: u64| format!("<Contents><Key>{key}</Key><Size>{bytes}</Size></Contents>");
        let page = |entries: &[String]| {
            format!("<?xml?><ListBucketResult><Name>b</Name>{}</ListBucketResult>", entries.concat())
        };
        let folder = |key: &str| format!("<CommonPrefixes><Prefix>{key}</Prefix></CommonPrefixes>");
        let good = [entry("a/b&amp; c", 0), entry("a/[ä]%2F", 7), folder("a/c/")];
        let markers = [entry("a/", 0), entry("a/c/", 0)];
        let odd = [
            entry("a//x", 1),
            entry("/a", 1),
            entry("a/../b", 1),
            entry("a&#1;", 1),
            entry("d/", 3),
            folder("a//"),
        ];
        let all = [&good[..], &markers, &odd].concat();
        let (kept, left_out) = paths_of(&page(&all));
        assert_eq!(kept, page(&good));
        assert_eq!(left_out, ["a//x", "/a", "a/../b", "a\u{1}", "d/", "a//"]);
        let blob = "<Blob><Name>a</Name></Blob><Blob><Name Encoded=\"true\">b%01</Name></Blob><BlobPrefix><Name>c/</Name></BlobPrefix>";
        let (kept, left_out) = paths_of(blob);
        assert_eq!(kept, "<Blob><Name>a</Name></Blob><BlobPrefix><Name>c/</Name></BlobPrefix>");
        assert_eq!(left_out, ["b%01\u{1}"]);
    }

    #[test]
    fn page_that_is_none_is_not_an_empty_one() {
        for text in ["", "<html></html>", "<Error><Code>AccessDenied</Code></Error>", "{}"] {
            let answer = Answer { body: text.into(), ..Answer::new(StatusCode::OK) };
            assert!(answer.page().is_err(), "{text}");
        }
        for text in ["<Contents>", "<Contents><Contents>", "<ListBucketResult><Blob", "<"] {
            assert_eq!(paths_of(text), (text.to_owned(), Vec::new()));
        }
    }

    #[test]
    fn answer_about_many_objects_names_none_but_those() {
        let names = |body: &str| {
            Answer { body: body.into(), ..Answer::new(StatusCode::OK) }
                .names_only(b"<Delete><Object><Key>a/c/0</Key></Object></Delete>Content-ID: 0\r\n")
        };
        assert!(names("<DeleteResult><Deleted><Key>a/c/0</Key></Deleted></DeleteResult>"));
        assert!(names("--b\r\nContent-ID: 0\r\nHTTP/1.1 202 Accepted"));
        for body in [
            "<DeleteResult><Error><Key>a%2Fc%2F0</Key></Error></DeleteResult>",
            "<DeleteResult><Error><Key>a/c/0</Key><Code>InternalError</Code></Error></DeleteResult>",
            "--b\r\ncontent-id: 256\r\nHTTP/1.1 202 Accepted",
        ] {
            assert!(!names(body), "{body}");
        }
    }
}
