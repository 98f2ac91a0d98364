//! What a server answers: as much of it as is wanted, once it is what was asked for.

use object_store::GetRange;
use object_store::client::{HttpRequest, HttpResponse};
use reqwest::header::{CONTENT_LENGTH, ETAG, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, StatusCode};

use super::{Call, Failure};

/// An answer, of whatever status.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// The wanted part of the object; of an error, its first bytes.
    pub(super) body: Vec<u8>,
    /// Where that part begins in the object.
    pub(super) offset: u64,
    /// The size of the whole object, where it is known.
    pub(super) object_bytes: Option<u64>,
}

/// Codes of errors that may not come again.
const PASSING: [&str; 3] = ["InternalError", "SlowDown", "ServiceUnavailable"];
/// The most bytes of what a server says of an error.
const ERROR_BYTES: u64 = 64 << 10;
/// The most bytes of a body that does not say how long it is, where a part of it is looked for.
const MOST_UNTOLD: u64 = 1 << 30;
/// Bytes that are reserved before any has come.
const FIRST_ROOM: u64 = 1 << 20;

/// The text of a header.
pub(super) fn header(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// True if a request is to remove many objects, or one by the same request, as Azure does.
pub(super) fn is_of_many(request: &HttpRequest) -> bool {
    let query = request.uri().query().unwrap_or_default();
    request.method() == Method::POST && (query.starts_with("delete") || query.contains("comp=batch"))
}

/// True if it asks for an object or a listing, not for credentials.
pub(super) fn is_read(request: &HttpRequest) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD) && request.uri().query() != Some("session")
}

impl Answer {
    /// The text of a header.
    pub(super) fn header(&self, name: &'static str) -> Option<&str> {
        header(&self.headers, HeaderName::from_static(name))
    }

    /// The version of the object: its tag, else its date, which is compared as weak tags are; `None` where it has neither.
    pub(super) fn version(&self) -> Option<String> {
        let date = || Some(format!("W/{}", self.header("last-modified")?));
        self.header("etag").map(str::to_owned).or_else(date)
    }

    /// Its bytes from an offset in the object on, if they are `length` or more.
    pub(super) fn bytes_at(&self, offset: u64, length: u64) -> Option<&[u8]> {
        let start = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        self.body.get(start..).filter(|bytes| bytes.len() as u64 >= length)
    }

    /// The text of the first element of a name in its body.
    pub(super) fn element(&self, name: &str) -> Option<&str> {
        let (_, rest) = std::str::from_utf8(&self.body).ok()?.split_once(&format!("<{name}>"))?;
        Some(rest.split_once('<')?.0.trim())
    }

    /// The code of an error: of the document that is the answer's body, or of a header.
    pub(super) fn code(&self) -> Option<&str> {
        self.header("x-ms-error-code").or_else(|| self.element("Code"))
    }

    /// A success that is one.
    pub(super) fn checked(self, call: &Call, request: &HttpRequest) -> Result<Self, Failure> {
        let is_get = request.method() == Method::GET;
        // Other successes, such as 204, bring nothing.
        let brings = !is_get || matches!(self.status.as_u16(), 200 | 206);
        if !self.status.is_success() || !brings {
            return Err(Failure::Answered(Box::new(self)));
        }
        if is_get {
            return Ok(self);
        }
        let holds = match self.code() {
            _ if is_of_many(request) => self.names_only(request.body().as_bytes().map_or(&[], |body| &body[..])),
            // The store answers before it knows: an error may follow the status of a success.
            _ if call.copied.is_some() => self.tells_of_copy(),
            Some(code) if PASSING.contains(&code) => {
                return Err(Failure::passing(format!("the store answers: {code}")));
            }
            code => code.is_none(),
        };
        if holds { Ok(self) } else { Err(Failure::Answered(Box::new(self))) }
    }

    /// True if it says that an object was copied. A server that does not know the header has written an empty one; what is
    /// copied later may come over what is written later.
    fn tells_of_copy(&self) -> bool {
        match self.header("x-ms-copy-status") {
            Some(status) => status == "success",
            None => std::str::from_utf8(&self.body).is_ok_and(|text| text.contains("CopyObjectResult")),
        }
    }

    /// True if an answer to a request to remove many objects names none but those; and no error that passes, since why
    /// they are left shows when each is removed by itself.
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

    /// The answer to a change as `object_store` understands it. It wants a tag of what was written, which not all servers give.
    pub(super) fn to_response(&self, request: &HttpRequest) -> HttpResponse {
        let mut response = HttpResponse::new(self.body.clone().into());
        (*response.status_mut(), *response.headers_mut()) = (self.status, self.headers.clone());
        if !request.uri().query().is_some_and(|query| query.contains("partNumber=")) {
            response.headers_mut().entry(ETAG).or_insert(HeaderValue::from_static("\"none\""));
        }
        response
    }
}

/// An answer of whose body some comes.
#[derive(Debug)]
pub(super) struct Body {
    answer: Answer,
    /// Bytes at its beginning that are not wanted, and how many are of those behind.
    skip: u64,
    most: u64,
    /// More bytes than this are an error.
    limit: u64,
    come: u64,
    /// The length that it announced.
    announced: Option<u64>,
}

impl Body {
    /// The body of an answer to a request for a part of an object, or for all of it; where only reading it tells how many bytes
    /// it has, for at most `most`.
    pub(super) fn new(
        range: Option<GetRange>,
        most: u64,
        status: StatusCode,
        headers: HeaderMap,
    ) -> Result<Self, Failure> {
        let announced = header(&headers, CONTENT_LENGTH).and_then(|length| length.parse().ok());
        let limit = if announced.is_some() { u64::MAX } else { MOST_UNTOLD };
        let answer = Answer { status, headers, object_bytes: announced, ..Answer::default() };
        let mut body = Body { answer, skip: 0, most: u64::MAX, limit, come: 0, announced };
        if !status.is_success() {
            body.most = ERROR_BYTES;
            body.answer.object_bytes = body.answer.header("content-range").and_then(unsatisfied);
        } else if status == StatusCode::PARTIAL_CONTENT {
            body.of_part(range)?;
        } else {
            body.of_whole(range, most)?;
        }
        let room = announced.unwrap_or(0).saturating_sub(body.skip).min(body.most).min(FIRST_ROOM);
        body.answer.body.reserve(usize::try_from(room).unwrap_or(0));
        Ok(body)
    }

    fn of_part(&mut self, range: Option<GetRange>) -> Result<(), Failure> {
        let Some((first, last, total)) = self.answer.header("content-range").and_then(content_range) else {
            return Err(Failure::passing("the server sent a part without saying which bytes it has"));
        };
        let length = (last - first).saturating_add(1);
        let is_end = total.is_none_or(|total| total == last + 1);
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
        self.answer.object_bytes = Some(total.unwrap_or(last + 1));
        Ok(())
    }

    /// A server that knows no ranges gives the whole object; what is wanted of it is cut out.
    fn of_whole(&mut self, range: Option<GetRange>, most: u64) -> Result<(), Failure> {
        match (range, self.announced) {
            (Some(GetRange::Bounded(range)), announced) => {
                (self.skip, self.most) = (range.start, range.end - range.start);
                self.limit = if announced.is_some() { u64::MAX } else { most.min(MOST_UNTOLD) };
            }
            (Some(GetRange::Suffix(length)), Some(total)) => {
                (self.skip, self.most) = (total.saturating_sub(length), length);
            }
            // Where its end is shows when all of it has come.
            (Some(GetRange::Suffix(_)), None) => return Err(Failure::of_status(self.answer.status)),
            (_, Some(found)) if found > most => return Err(Failure::TooLarge { found, bound: most }),
            _ => self.limit = most,
        }
        self.answer.offset = self.skip;
        Ok(())
    }

    /// True if no more of it is wanted.
    pub(super) fn is_done(&self) -> bool {
        self.answer.object_bytes.is_some() && self.answer.body.len() as u64 >= self.most
    }

    /// Takes the next piece.
    pub(super) fn take(&mut self, piece: &[u8]) -> Result<(), Failure> {
        let before = self.come;
        self.come += piece.len() as u64;
        if self.come > self.limit {
            return Err(Failure::TooLarge { found: self.come, bound: self.limit });
        }
        let skipped = usize::try_from(self.skip.saturating_sub(before)).unwrap_or(usize::MAX);
        let wanted = piece.get(skipped..).unwrap_or_default();
        let room = usize::try_from(self.most - self.answer.body.len() as u64).unwrap_or(usize::MAX);
        self.answer.body.extend_from_slice(&wanted[..wanted.len().min(room)]);
        Ok(())
    }

    /// Returns the answer with the wanted bytes, and the size of the object.
    pub(super) fn finish(mut self) -> Result<Answer, Failure> {
        if let Some(announced) = self.announced.filter(|announced| self.come < *announced && !self.is_done()) {
            return Err(Failure::passing(format!("only {} of {announced} bytes arrived", self.come)));
        }
        self.answer.object_bytes.get_or_insert(self.come);
        Ok(self.answer)
    }
}

/// `bytes 0-9/100` or `bytes 0-9/*`.
fn content_range(text: &str) -> Option<(u64, u64, Option<u64>)> {
    let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse::<u64>().ok()?);
    (first <= last && last < u64::MAX).then_some((first, last, total.trim().parse().ok()))
}

/// The size of an object that lacks a range: `bytes */100`.
fn unsatisfied(text: &str) -> Option<u64> {
    text.trim().strip_prefix("bytes */")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_about_many_objects_names_none_but_those() {
        let names = |body: &str| {
            Answer { body: body.into(), ..Answer::default() }
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

    type Wanted = (Option<GetRange>, u64);

    fn body(
        (range, most): Wanted,
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

    const fn part(range: std::ops::Range<u64>) -> Wanted {
        (Some(GetRange::Bounded(range)), u64::MAX)
    }

    const fn last(length: u64) -> Wanted {
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
            let told = |kept: &[u8]| (!fields.is_empty()).then(|| (kept.to_vec(), 10));
            assert_eq!(kept(last(2)), told(b"89"));
            assert_eq!(kept(last(20)), told(b"0123456789"));
        }
    }

    #[test]
    fn part_that_was_not_asked_for_is_no_answer() {
        let come = |wanted, range| body(wanted, 206, &[("content-range", range)], &[b"234"]);
        assert_eq!(come(part(2..5), "bytes 2-4/9"), Some((b"234".to_vec(), 9)));
        for range in ["bytes 3-5/9", "bytes 2-7/9", "items 2-4/9"] {
            assert_eq!(come(part(2..5), range), None);
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
