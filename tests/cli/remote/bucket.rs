//! The objects of the test server, and requests that change them, as in S3.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};

use crate::remote::server::{Answer, Objects, Request, decoded};

type Headers = Vec<(&'static str, String)>;

/// Objects by their paths (`/bucket/key`).
#[derive(Debug, Default)]
pub(crate) struct Bucket {
    objects: BTreeMap<String, Object>,
    uploads: BTreeMap<String, BTreeMap<usize, Vec<u8>>>,
    uploads_begun: usize,
    changes: u64,
}

#[derive(Debug)]
struct Object {
    bytes: Vec<u8>,
    tag: String,
    modified: SystemTime,
}

impl Bucket {
    pub(crate) fn new(objects: Objects) -> Self {
        let object = |bytes| Object { bytes, tag: "\"e\"".to_owned(), modified: UNIX_EPOCH };
        let objects = objects.into_iter().map(|(path, bytes)| (path, object(bytes)));
        Bucket { objects: objects.collect(), ..Bucket::default() }
    }

    pub(crate) fn objects(&self) -> Objects {
        self.objects.iter().map(|(path, object)| (path.clone(), object.bytes.clone())).collect()
    }

    /// Counts all multipart uploads, and those that are neither completed nor aborted.
    pub(crate) fn uploads(&self) -> (usize, usize) {
        (self.uploads_begun, self.uploads.len())
    }

    /// Returns the bytes and the headers of an object.
    pub(crate) fn get(&self, path: &str) -> Option<(Vec<u8>, Headers)> {
        let object = self.objects.get(path)?;
        let headers = vec![("etag", object.tag.clone()), ("last-modified", http_date(object.modified))];
        Some((object.bytes.clone(), headers))
    }

    /// Answers a request that changes objects. `is_careful` means that conditions and copies are respected.
    pub(crate) fn change(&mut self, request: &Request, is_careful: bool, now: SystemTime) -> Answer {
        let (path, parameters) = (decoded(&request.path), request.parameters());
        let upload = parameters.get("uploadId");
        match (request.method.as_str(), upload) {
            ("POST", None) if parameters.contains_key("delete") => self.delete(&path, request, is_careful),
            ("POST", None) => {
                self.uploads_begun += 1;
                let id = format!("upload{}", self.uploads_begun);
                self.uploads.insert(id.clone(), BTreeMap::new());
                Answer::new(200, format!("<R><UploadId>{id}</UploadId></R>"))
            }
            (_, Some(id)) if !self.uploads.contains_key(id) => {
                Answer::new(404, "<Error><Code>NoSuchUpload</Code></Error>")
            }
            ("PUT", Some(id)) => {
                let number = parameters["partNumber"].parse().unwrap();
                self.uploads.get_mut(id).unwrap().insert(number, request.body.clone());
                Answer::new(200, "").with("etag", format!("\"part{number}\""))
            }
            ("POST", Some(id)) => {
                let parts = self.uploads.remove(id).unwrap();
                self.put(path, parts.into_values().flatten().collect(), now);
                Answer::new(200, "<CompleteMultipartUploadResult><ETag>\"e\"</ETag></CompleteMultipartUploadResult>")
            }
            ("DELETE", Some(id)) => {
                self.uploads.remove(id);
                Answer::new(204, "")
            }
            ("DELETE", None) => {
                self.objects.remove(&path);
                Answer::new(204, "")
            }
            ("PUT", None) => self.answer_put(path, request, is_careful, now),
            _ => Answer::new(405, ""),
        }
    }

    /// Removes the objects of a request. Like S3, it refuses a request without the digest of its body.
    fn delete(&mut self, bucket: &str, request: &Request, is_careful: bool) -> Answer {
        if !is_careful {
            return Answer::new(501, "<Error><Code>NotImplemented</Code></Error>");
        }
        let digest = STANDARD.encode(Md5::digest(&request.body));
        if request.headers.get("content-md5") != Some(&digest) {
            return Answer::new(400, "<Error><Code>BadDigest</Code></Error>");
        }
        let text = String::from_utf8(request.body.clone()).unwrap();
        let mut deleted = String::new();
        for key in text.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next()) {
            deleted.extend(["<Deleted><Key>", key, "</Key></Deleted>"]);
            let key = quick_xml::escape::unescape(key).unwrap();
            self.objects.remove(&format!("{}/{key}", bucket.trim_end_matches('/')));
        }
        Answer::new(200, format!("<DeleteResult>{deleted}</DeleteResult>"))
    }

    fn answer_put(&mut self, path: String, request: &Request, is_careful: bool, now: SystemTime) -> Answer {
        let header = |name: &str| request.headers.get(name).filter(|_| is_careful);
        let found = self.objects.get(&path).map(|object| &object.tag);
        let holds = header("if-match").is_none_or(|tag| found == Some(tag))
            && (header("if-none-match").is_none() || found.is_none());
        if !holds {
            return Answer::new(412, "<Error><Code>PreconditionFailed</Code></Error>");
        }
        let Some(source) = header("x-amz-copy-source") else {
            let tag = self.put(path, request.body.clone(), now);
            return Answer::new(200, "").with("etag", tag);
        };
        let Some(object) = self.objects.get(&format!("/{}", decoded(source))) else {
            return Answer::new(404, "<Error><Code>NoSuchKey</Code></Error>");
        };
        let bytes = object.bytes.clone();
        let tag = self.put(path, bytes, now);
        Answer::new(200, format!("<CopyObjectResult><ETag>{tag}</ETag></CopyObjectResult>"))
    }

    fn put(&mut self, path: String, bytes: Vec<u8>, now: SystemTime) -> String {
        self.changes += 1;
        let tag = format!("\"e{}\"", self.changes);
        self.objects.insert(path, Object { bytes, tag: tag.clone(), modified: now });
        tag
    }
}

/// Formats a time for HTTP: `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(crate) fn http_date(time: SystemTime) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    let (days, second) = (seconds / 86400, seconds % 86400);
    let weekday = DAYS[usize::try_from(days % 7).unwrap()];
    let (mut year, mut left) = (1970, days);
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    while left >= 365 + u64::from(is_leap(year)) {
        left -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while left >= lengths[month] {
        left -= lengths[month];
        month += 1;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{weekday}, {:02} {} {year} {hour:02}:{minute:02}:{second:02} GMT", left + 1, MONTHS[month])
}
