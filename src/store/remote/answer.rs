//! Answers of servers: checks them, and extracts the requested bytes.

use object_store::GetRange;
use object_store::client::{HttpRequest, HttpResponse};
use reqwest::header::{CONTENT_LENGTH, ETAG, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, StatusCode};

use super::Call;
use super::failure::Failure;
use crate::store::part;

type Result<T> = std::result::Result<T, Failure>;

/// Result of a request.
pub(super) type Answer = Result<StoreResponse>;

/// Answer with any status.
#[derive(Debug, Default)]
pub(super) struct StoreResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// Requested bytes of the object. For an error status, the first bytes of the body.
    pub(super) body: Vec<u8>,
    pub(super) offset: u64,
    /// Size of the whole object, if known.
    pub(super) object_bytes: Option<u64>,
}

/// Codes of temporary errors.
const PASSING: [&str; 3] = ["InternalError", "SlowDown", "ServiceUnavailable"];

/// Most bytes that are kept of the body of an error.
const ERROR_BYTES: u64 = 64 << 10;

/// Most bytes that are read of a body without a length, to find a part of it.
const MOST_UNTOLD: u64 = 1 << 30;

/// Most bytes that are reserved before any have arrived.
const FIRST_CAPACITY: u64 = 1 << 20;

pub(super) fn header(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// Returns true if a request removes many objects. On Azure a request of the same kind may remove only one.
pub(super) fn is_of_many(request: &HttpRequest) -> bool {
    let query = request.uri().query().unwrap_or_default();
    request.method() == Method::POST && (query.starts_with("delete") || query.contains("comp=batch"))
}

/// Returns true if a request reads an object or a listing, not credentials.
pub(super) fn is_read(request: &HttpRequest) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD) && request.uri().query() != Some("session")
}

impl StoreResponse {
    pub(super) fn header(&self, name: &'static str) -> Option<&str> {
        header(&self.headers, HeaderName::from_static(name))
    }

    /// Returns the version of the object: its tag, else its date, else its size. The last two are marked as weak tags, as
    /// they are compared like them.
    pub(super) fn version(&self) -> Option<String> {
        let date = || Some(format!("W/{}", self.header("last-modified")?));
        let size = || Some(format!("W/{} bytes", self.object_bytes?));
        self.header("etag").map(str::to_owned).or_else(date).or_else(size)
    }

    /// Returns `length` bytes from an offset in the object, if they have arrived.
    pub(super) fn bytes_at(&self, offset: u64, length: u64) -> Option<&[u8]> {
        part(&self.body, offset.checked_sub(self.offset)?, length)
    }

    /// Returns the text of the first XML element with this name in the body.
    pub(super) fn element(&self, name: &str) -> Option<&str> {
        let (_, rest) = std::str::from_utf8(&self.body).ok()?.split_once(&format!("<{name}>"))?;
        Some(rest.split_once('<')?.0.trim())
    }

    /// Returns the code of an error, from a header or from the XML document in the body.
    pub(super) fn code(&self) -> Option<&str> {
        self.header("x-ms-error-code").or_else(|| self.element("Code"))
    }

    /// Returns the answer if it is a success and its body does not report an error.
    pub(super) fn checked(self, call: &Call, request: &HttpRequest) -> Result<Self> {
        let is_get = request.method() == Method::GET;
        // Other success codes, such as 204, have no body.
        let brings = !is_get || matches!(self.status.as_u16(), 200 | 206);
        if !self.status.is_success() || !brings {
            return Err(Failure::Answered(Box::new(self)));
        }
        if is_get {
            return Ok(self);
        }
        let holds = match self.code() {
            _ if is_of_many(request) => self.names_only(request.body().as_bytes().map_or(&[], |body| &body[..])),
            // S3 sends the status before the copy ends. An error may follow in the body.
            _ if call.copied.is_some() => self.tells_of_copy(),
            Some(code) if PASSING.contains(&code) => {
                return Err(Failure::passing(format!("the store answers: {code}")));
            }
            code => code.is_none(),
        };
        if holds { Ok(self) } else { Err(Failure::Answered(Box::new(self))) }
    }

    /// Returns true if the answer reports a completed copy. A server that ignores the copy header has written an empty
    /// object. A postponed copy could overwrite later writes.
    fn tells_of_copy(&self) -> bool {
        match self.header("x-ms-copy-status") {
            Some(status) => status == "success",
            None => std::str::from_utf8(&self.body).is_ok_and(|text| text.contains("CopyObjectResult")),
        }
    }

    /// Returns true if the answer to a bulk removal names only requested objects and has no temporary error. Objects
    /// that are left are then removed one by one, which shows the reason.
    fn names_only(&self, request: &[u8]) -> bool {
        let (Ok(text), Ok(asked)) = (std::str::from_utf8(&self.body), std::str::from_utf8(request)) else {
            return false;
        };
        let is_named =
            |key: &str| key.split_once("</Key>").is_some_and(|(key, _)| asked.contains(&format!("<Key>{key}</Key>")));
        let is_part = |id: &str| {
            let number: Option<usize> = id.split_once("\r\n").and_then(|(id, _)| id.trim().parse().ok());
            number.is_none_or(|number| asked.contains(&format!("Content-ID: {number}\r\n")))
        };
        text.split("<Key>").skip(1).all(is_named)
            && text.to_ascii_lowercase().split("content-id:").skip(1).all(is_part)
            && !PASSING.iter().any(|code| text.contains(code))
    }

    /// Converts an answer to a change for `object_store`. It requires a tag of the written object, but not all servers
    /// send one.
    pub(super) fn to_response(&self, request: &HttpRequest) -> HttpResponse {
        let mut response = HttpResponse::new(self.body.clone().into());
        (*response.status_mut(), *response.headers_mut()) = (self.status, self.headers.clone());
        // The tag of a part is its id at the end of the upload, so a part without one must fail.
        if !request.uri().query().is_some_and(|query| query.contains("partNumber=")) {
            response.headers_mut().entry(ETAG).or_insert(HeaderValue::from_static("\"none\""));
        }
        response
    }
}

/// Answer whose body is still arriving.
pub(super) struct Body {
    answer: StoreResponse,
    /// Number of unwanted bytes at the start of the body, and the most bytes that are kept after them.
    skip: u64,
    most: u64,
    /// A body of more bytes is an error.
    limit: u64,
    come: u64,
    /// Length in the headers.
    announced: Option<u64>,
}

impl Body {
    /// Starts the body of an answer to a request for a part of an object, or the whole. Without a known length it may
    /// have at most `most` bytes.
    pub(super) fn new(range: Option<GetRange>, most: u64, status: StatusCode, headers: HeaderMap) -> Result<Self> {
        let announced = header(&headers, CONTENT_LENGTH).and_then(|length| length.parse().ok());
        let limit = if announced.is_some() { u64::MAX } else { MOST_UNTOLD };
        let answer = StoreResponse { status, headers, object_bytes: announced, ..StoreResponse::default() };
        let mut body = Body { answer, skip: 0, most: u64::MAX, limit, come: 0, announced };
        if !status.is_success() {
            body.most = ERROR_BYTES;
            // An object without the range: `bytes */100`.
            let size = |text: &str| text.trim().strip_prefix("bytes */")?.trim().parse().ok();
            body.answer.object_bytes = body.answer.header("content-range").and_then(size);
        } else if status == StatusCode::PARTIAL_CONTENT {
            body.of_part(range)?;
        } else {
            body.of_whole(range, most)?;
        }
        let capacity = announced.unwrap_or(0).saturating_sub(body.skip).min(body.most).min(FIRST_CAPACITY);
        body.answer.body.reserve(usize::try_from(capacity).unwrap_or(0));
        Ok(body)
    }

    fn of_part(&mut self, range: Option<GetRange>) -> Result<()> {
        let Some((first, last, total)) = self.answer.header("content-range").and_then(content_range) else {
            return Err(Failure::passing("the server sent a part without saying which bytes it has"));
        };
        let length = (last - first).saturating_add(1);
        let is_end = total.is_none_or(|total| total == last + 1);
        let is_bounded = matches!(range, Some(GetRange::Bounded(_)));
        let is_asked_for = match range {
            Some(GetRange::Bounded(range)) => first == range.start && last < range.end,
            Some(GetRange::Suffix(wanted)) if length != wanted.min(last + 1) || !is_end => {
                return Err(Failure::of_status(self.answer.status));
            }
            Some(GetRange::Suffix(_)) => true,
            Some(GetRange::Offset(_)) | None => first == 0 && is_end,
        };
        if !is_asked_for || self.announced.is_some_and(|announced| announced != length) {
            return Err(Failure::passing(format!("the server sent bytes {first} to {last}, which were not requested")));
        }
        (self.most, self.announced, self.answer.offset) = (length, Some(length), first);
        // Only a part that was not bounded ends where the object ends.
        self.answer.object_bytes = total.or_else(|| (!is_bounded).then_some(last + 1));
        Ok(())
    }

    /// Handles a server that ignores ranges and sends the whole object. Only the requested bytes are kept.
    fn of_whole(&mut self, range: Option<GetRange>, most: u64) -> Result<()> {
        match (range, self.announced) {
            (Some(GetRange::Bounded(range)), announced) => {
                (self.skip, self.most) = (range.start, range.end - range.start);
                self.limit = if announced.is_some() { u64::MAX } else { most.min(MOST_UNTOLD) };
            }
            (Some(GetRange::Suffix(length)), Some(total)) => {
                (self.skip, self.most) = (total.saturating_sub(length), length);
            }
            // Without a length the start of the suffix is unknown.
            (Some(GetRange::Suffix(_)), None) => return Err(Failure::of_status(self.answer.status)),
            (_, Some(found)) if found > most => return Err(Failure::TooLarge { found, bound: most }),
            _ => self.limit = most,
        }
        self.answer.offset = self.skip;
        Ok(())
    }

    pub(super) fn is_done(&self) -> bool {
        self.announced.is_some() && self.answer.body.len() as u64 >= self.most
    }

    /// Adds the next bytes of the body.
    pub(super) fn take(&mut self, piece: &[u8]) -> Result<()> {
        let before = self.come;
        self.come += piece.len() as u64;
        if self.come > self.limit {
            return Err(Failure::TooLarge { found: self.come, bound: self.limit });
        }
        let skipped = usize::try_from(self.skip.saturating_sub(before)).unwrap_or(usize::MAX);
        let wanted = piece.get(skipped..).unwrap_or_default();
        let capacity = usize::try_from(self.most - self.answer.body.len() as u64).unwrap_or(usize::MAX);
        self.answer.body.extend_from_slice(&wanted[..wanted.len().min(capacity)]);
        Ok(())
    }

    /// Returns the answer with the requested bytes, and the size of the object if the server gave it or sent all of the
    /// object. Fails if the body is too short.
    pub(super) fn finish(mut self) -> Answer {
        if let Some(announced) = self.announced.filter(|announced| self.come < *announced && !self.is_done()) {
            return Err(Failure::passing(format!("only {} of {announced} bytes arrived", self.come)));
        }
        if self.answer.status != StatusCode::PARTIAL_CONTENT {
            self.answer.object_bytes.get_or_insert(self.come);
        }
        Ok(self.answer)
    }
}

/// Parses `bytes 0-9/100` or `bytes 0-9/*`.
fn content_range(text: &str) -> Option<(u64, u64, Option<u64>)> {
    let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse::<u64>().ok()?);
    // `last + 1` must not overflow.
    (first <= last && last < u64::MAX).then_some((first, last, total.trim().parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_about_many_objects_names_none_but_those() {
        let names = |body: &str| {
            StoreResponse { body: body.into(), ..StoreResponse::default() }
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

    type RequestedRange = (Option<GetRange>, u64);

    fn body(
        (range, most): RequestedRange,
        status: u16,
        fields: &[(&'static str, &str)],
        pieces: &[&[u8]],
    ) -> Option<(Vec<u8>, u64)> {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.insert(*name, value.parse().unwrap());
        }
        let status = StatusCode::from_u16(status).unwrap();
        let mut body = Body::new(range, most, status, headers).ok()?;
        for piece in pieces {
            body.take(piece).ok()?;
        }
        let answer = body.finish().ok()?;
        Some((answer.body, answer.object_bytes.unwrap()))
    }

    const fn part(range: std::ops::Range<u64>) -> RequestedRange {
        (Some(GetRange::Bounded(range)), u64::MAX)
    }

    const fn last(length: u64) -> RequestedRange {
        (Some(GetRange::Suffix(length)), 100)
    }

    #[test]
    fn part_of_an_object_is_cut_out_where_the_server_gives_all_of_it() {
        let pieces: [&[u8]; 3] = [b"0123", b"456", b"789"];
        let length = [("content-length", "10")];
        for fields in [&length[..], &[]] {
            let kept = |wanted| body(wanted, 200, fields, &pieces);
            assert_eq!(kept((None, 10)), Some((b"0123456789".to_vec(), 10)));
            assert_eq!(kept((None, 9)), None);
            assert_eq!(kept(part(3..7)), Some((b"3456".to_vec(), 10)));
            let expected = |kept: &[u8]| (!fields.is_empty()).then(|| (kept.to_vec(), 10));
            assert_eq!(kept(last(2)), expected(b"89"));
            assert_eq!(kept(last(20)), expected(b"0123456789"));
        }
    }

    #[test]
    fn part_that_was_not_asked_for_is_no_answer() {
        let come = |wanted, range| body(wanted, 206, &[("content-range", range)], &[b"234"]);
        assert_eq!(come(part(2..5), "bytes 2-4/9"), Some((b"234".to_vec(), 9)));
        for range in ["bytes 3-5/9", "bytes 2-7/9", "items 2-4/9"] {
            assert_eq!(come(part(2..5), range), None);
        }
        // The end of a part with bounds is not that of the object.
        let headers = HeaderMap::from_iter([("content-range".parse().unwrap(), "bytes 2-4/*".parse().unwrap())]);
        for (range, size) in [(part(2..5).0, None), (last(3).0, Some(5))] {
            let mut body = Body::new(range, 9, StatusCode::PARTIAL_CONTENT, headers.clone()).unwrap();
            body.take(b"234").unwrap();
            assert_eq!(body.finish().unwrap().object_bytes, size);
        }
        assert_eq!(come(last(3), "bytes 2-4/5"), Some((b"234".to_vec(), 5)));
        assert_eq!(come(last(3), "bytes 2-4/6"), None);
    }

    #[test]
    fn body_without_an_end_is_not_read_for_ever() {
        let megabyte = vec![0; 1 << 20];
        let part = Some(GetRange::Bounded(0..10));
        let mut body = Body::new(part, u64::MAX, StatusCode::OK, HeaderMap::new()).unwrap();
        let come = (0..2000).take_while(|_| body.take(&megabyte).is_ok()).count();
        assert_eq!(come, 1 << 10);
        let mut body = Body::new(None, 10, StatusCode::OK, HeaderMap::new()).unwrap();
        assert!(body.take(&[0; 10]).is_ok() && body.take(&[0]).is_err());
    }

    #[test]
    fn body_that_ends_too_soon_is_no_answer() {
        assert_eq!(body((None, 100), 200, &[("content-length", "11")], &[b"0123456789"]), None);
        assert_eq!(body(last(3), 206, &[("content-range", "bytes 2-4/5")], &[b"23"]), None);
    }
}
