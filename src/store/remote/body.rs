//! What is kept of the body of an answer while it comes.

use reqwest::StatusCode;
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, HeaderMap};

use super::answer::header;
use super::service::{AttemptError, Failure};

/// What of an object is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyLimit {
    /// All of it; more than `most` bytes are too many.
    All {
        most: u64,
    },
    Range {
        offset: u64,
        length: u64,
    },
    /// So many bytes from its end; an object of which only reading tells how long it is has at most `most`.
    Last {
        length: u64,
        most: u64,
    },
}

impl BodyLimit {
    /// What a header `Range` asks for, as `object_store` writes it; of a whole answer at most `most` bytes.
    pub(super) fn of(range: Option<&str>, most: u64) -> Self {
        let ends = range.and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
        let ends = ends.map(|(first, last)| (first.parse::<u64>().ok(), last.parse::<u64>().ok()));
        match ends {
            Some((Some(offset), Some(last))) => {
                BodyLimit::Range { offset, length: last.saturating_sub(offset).saturating_add(1) }
            }
            Some((None, Some(length))) => BodyLimit::Last { length, most },
            _ => BodyLimit::All { most },
        }
    }
}

/// The most bytes of what a server says of an error.
const ERROR_BYTES: u64 = 64 << 10;

/// The most bytes of a body that does not say how long it is, where the end of the object is looked for.
const MOST_UNTOLD: u64 = 1 << 30;

/// Bytes that are reserved before any has come.
const FIRST_ROOM: u64 = 1 << 20;

/// A body of which some comes.
#[derive(Debug)]
pub(super) struct Body {
    kept: Vec<u8>,
    /// Bytes at its beginning that are not wanted, and how many are of those behind.
    skip: u64,
    most: u64,
    /// More bytes than this are an error.
    limit: u64,
    /// Only so many of its last bytes are wanted, of a body that does not say how long it is.
    last: Option<usize>,
    come: u64,
    /// What it said of its length.
    announced: Option<u64>,
    object_bytes: Option<u64>,
}

impl Body {
    pub(super) fn new(
        keep: BodyLimit,
        status: StatusCode,
        headers: &HeaderMap,
        has_body: bool,
    ) -> Result<Self, AttemptError> {
        let announced = header(headers, CONTENT_LENGTH.as_str()).and_then(|length| length.parse().ok());
        let (kept, limit) = (Vec::new(), if announced.is_some() { u64::MAX } else { MOST_UNTOLD });
        let (skip, most, last, come, object_bytes) = (0, u64::MAX, None, 0, None);
        let mut body = Body { kept, skip, most, limit, last, come, announced, object_bytes };
        if !has_body {
            body.object_bytes = body.announced.take();
        } else if !status.is_success() {
            body.most = ERROR_BYTES;
            body.object_bytes = header(headers, CONTENT_RANGE.as_str()).and_then(unsatisfied);
        } else if status == StatusCode::PARTIAL_CONTENT {
            body.of_part(keep, headers)?;
        } else {
            body.of_whole(keep)?;
        }
        let room = announced.unwrap_or(0).saturating_sub(body.skip).min(body.most).min(FIRST_ROOM);
        body.kept.reserve(usize::try_from(room).unwrap_or(0));
        Ok(body)
    }

    fn of_part(&mut self, keep: BodyLimit, headers: &HeaderMap) -> Result<(), AttemptError> {
        let range = header(headers, CONTENT_RANGE.as_str()).and_then(content_range);
        let Some((first, last, total)) = range else {
            return Err(AttemptError::passing("a part came without saying of what"));
        };
        let length = (last - first).saturating_add(1);
        let is_end = total.is_none_or(|total| total == last + 1);
        let is_asked_for = match keep {
            BodyLimit::All { .. } => first == 0 && is_end,
            BodyLimit::Range { offset, length: wanted } => first == offset && length <= wanted,
            BodyLimit::Last { length: wanted, .. } => length == wanted.min(last + 1) && is_end,
        };
        if !is_asked_for && matches!(keep, BodyLimit::Last { .. }) {
            return Err(AttemptError::Failure(Failure::NotFromEnd));
        }
        if !is_asked_for || self.announced.is_some_and(|announced| announced != length) {
            return Err(AttemptError::passing(format!(
                "bytes {first} to {last} came, which were not asked for"
            )));
        }
        (self.most, self.announced) = (length, Some(length));
        self.object_bytes = Some(total.unwrap_or(last + 1));
        Ok(())
    }

    /// A server that knows no ranges gives the whole object; what is wanted of it is cut out.
    fn of_whole(&mut self, keep: BodyLimit) -> Result<(), AttemptError> {
        self.object_bytes = self.announced;
        match (keep, self.announced) {
            (BodyLimit::All { most }, Some(found)) if found > most => {
                return Err(AttemptError::Failure(Failure::TooLarge(found)));
            }
            (BodyLimit::All { most }, _) => self.limit = most,
            (BodyLimit::Range { offset, length }, _) => (self.skip, self.most) = (offset, length),
            (BodyLimit::Last { length, .. }, Some(total)) => {
                (self.skip, self.most) = (total.saturating_sub(length), length);
            }
            (BodyLimit::Last { length, most }, None) => {
                self.last = Some(usize::try_from(length).unwrap_or(usize::MAX));
                self.limit = most.min(MOST_UNTOLD);
            }
        }
        Ok(())
    }

    /// Whether no more of it is wanted.
    pub(super) fn is_done(&self) -> bool {
        self.object_bytes.is_some() && self.kept.len() as u64 >= self.most
    }

    /// Takes the next piece.
    pub(super) fn take(&mut self, piece: &[u8]) -> Result<(), AttemptError> {
        let before = self.come;
        self.come += piece.len() as u64;
        if self.come > self.limit {
            return Err(AttemptError::Failure(Failure::TooLarge(self.come)));
        }
        let skipped = usize::try_from(self.skip.saturating_sub(before)).unwrap_or(usize::MAX);
        let wanted = piece.get(skipped..).unwrap_or_default();
        let room = usize::try_from(self.most - self.kept.len() as u64).unwrap_or(usize::MAX);
        self.kept.extend_from_slice(&wanted[..wanted.len().min(room)]);
        if let Some(last) = self.last.filter(|last| self.kept.len() > last.saturating_mul(2)) {
            self.kept.drain(..self.kept.len() - last);
        }
        Ok(())
    }

    /// What was wanted, and the size of the object.
    pub(super) fn finish(mut self) -> Result<(Vec<u8>, Option<u64>), AttemptError> {
        if let Some(announced) = self.announced.filter(|announced| self.come < *announced && !self.is_done())
        {
            return Err(AttemptError::passing(format!("{} of {announced} bytes came", self.come)));
        }
        if let Some(last) = self.last {
            self.kept.drain(..self.kept.len().saturating_sub(last));
        }
        Ok((self.kept, self.object_bytes.or(Some(self.come))))
    }
}

/// `bytes 0-9/100` or `bytes 0-9/*`.
fn content_range(text: &str) -> Option<(u64, u64, Option<u64>)> {
    let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first <= last).then_some((first, last, total.trim().parse().ok()))
}

/// The size of an object that lacks a range: `bytes */100`.
fn unsatisfied(text: &str) -> Option<u64> {
    text.trim().strip_prefix("bytes */")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(
        keep: BodyLimit,
        status: u16,
        fields: &[(&'static str, &str)],
        pieces: &[&[u8]],
    ) -> Option<(Vec<u8>, u64)> {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.insert(*name, value.parse().unwrap());
        }
        let status = StatusCode::from_u16(status).unwrap();
        let mut body = Body::new(keep, status, &headers, true).ok()?;
        for piece in pieces {
            body.take(piece).ok()?;
        }
        let (kept, object_bytes) = body.finish().ok()?;
        Some((kept, object_bytes.unwrap()))
    }

    #[test]
    fn part_of_an_object_is_cut_out_where_the_server_gives_all_of_it() {
        let pieces: [&[u8]; 3] = [b"0123", b"456", b"789"];
        let length = [("content-length", "10")];
        for fields in [&length[..], &[]] {
            let kept = |keep| body(keep, 200, fields, &pieces);
            assert_eq!(kept(BodyLimit::All { most: 10 }), Some((b"0123456789".to_vec(), 10)));
            assert_eq!(kept(BodyLimit::All { most: 9 }), None);
            assert_eq!(kept(BodyLimit::Range { offset: 3, length: 4 }), Some((b"3456".to_vec(), 10)));
            assert_eq!(kept(BodyLimit::Last { length: 2, most: 100 }), Some((b"89".to_vec(), 10)));
            assert_eq!(kept(BodyLimit::Last { length: 20, most: 100 }), Some((b"0123456789".to_vec(), 10)));
        }
    }

    #[test]
    fn part_that_was_not_asked_for_is_no_answer() {
        let part = |keep, range| body(keep, 206, &[("content-range", range)], &[b"234"]);
        let keep = BodyLimit::Range { offset: 2, length: 3 };
        assert_eq!(part(keep, "bytes 2-4/9"), Some((b"234".to_vec(), 9)));
        assert_eq!(part(keep, "bytes 3-5/9"), None);
        assert_eq!(part(keep, "bytes 2-7/9"), None);
        assert_eq!(part(keep, "items 2-4/9"), None);
        assert_eq!(part(BodyLimit::Last { length: 3, most: 100 }, "bytes 2-4/5"), Some((b"234".to_vec(), 5)));
        assert_eq!(part(BodyLimit::Last { length: 3, most: 100 }, "bytes 2-4/6"), None);
    }

    #[test]
    fn body_without_an_end_is_not_read_for_ever() {
        let megabyte = vec![0; 1 << 20];
        let last = BodyLimit::Last { length: 10, most: u64::MAX };
        for keep in [last, BodyLimit::Range { offset: 0, length: 10 }] {
            let mut body = Body::new(keep, StatusCode::OK, &HeaderMap::new(), true).unwrap();
            let come = (0..2000).take_while(|_| body.take(&megabyte).is_ok()).count();
            assert_eq!(come, 1 << 10);
        }
        let mut body =
            Body::new(BodyLimit::All { most: 10 }, StatusCode::OK, &HeaderMap::new(), true).unwrap();
        assert!(body.take(&[0; 10]).is_ok() && body.take(&[0]).is_err());
    }

    #[test]
    fn body_that_ends_too_soon_is_no_answer() {
        assert_eq!(
            body(BodyLimit::All { most: 100 }, 200, &[("content-length", "11")], &[b"0123456789"]),
            None
        );
        assert_eq!(
            body(
                BodyLimit::Last { length: 3, most: 100 },
                206,
                &[("content-range", "bytes 2-4/5")],
                &[b"23"]
            ),
            None
        );
    }
}
