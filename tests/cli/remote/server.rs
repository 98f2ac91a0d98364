//! A web server in the test process with chosen answers: as S3, as a plain server, or wrong ones.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime};

use crate::remote::bucket::{self, Bucket};

#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Percent-encoded as in the request, without the query.
    pub(crate) path: String,
    pub(crate) query: String,
    /// By lowercase name.
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// Returns the decoded query parameters.
    pub(crate) fn parameters(&self) -> HashMap<String, String> {
        let pairs = self.query.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        pairs.map(|(name, value)| (name.to_owned(), decoded(value))).collect()
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    /// The number of body bytes after which the connection ends.
    pub(crate) cut: Option<usize>,
    /// The body is repeated forever and has no declared length.
    pub(crate) is_endless: bool,
    /// The delay before the answer.
    pub(crate) delay: Duration,
}

impl Answer {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Answer { status, body: body.into(), ..Answer::default() }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// A fault: returns the answer to replace the right one, from the number of the request (from 0) and the request.
pub(crate) type Fault = Box<dyn Fn(usize, &Request) -> Option<Answer> + Send + Sync>;

/// Objects by their paths (`/bucket/key`), as bytes.
pub(crate) type Objects = BTreeMap<String, Vec<u8>>;

/// A server that runs until the process ends.
pub(crate) struct Server {
    pub(crate) address: String,
    requests: Arc<Mutex<Vec<Request>>>,
    bucket: Arc<Mutex<Bucket>>,
    clock: Arc<AtomicU64>,
}

/// The answers of the server without a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// As S3, with `page` keys per page.
    Bucket { page: usize },
    /// As S3, but conditions and copies are ignored: it accepts them and writes the body.
    Careless { page: usize },
    /// As web servers that support ranges.
    Ranges,
    /// As web servers without ranges.
    Whole,
    /// As old web servers: by HTTP/1.0, with a connection for each request.
    Closing,
}

impl Server {
    pub(crate) fn start(objects: Objects, manner: Manner, fault: Fault) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (bucket, fault) = (Arc::new(Mutex::new(Bucket::new(objects))), Arc::new(fault));
        let clock = Arc::new(AtomicU64::new(0));
        let server = Server { address, requests, bucket, clock };
        let (bucket, seen, clock) = (server.bucket.clone(), server.requests.clone(), server.clock.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (bucket, fault, seen, clock) = (bucket.clone(), fault.clone(), seen.clone(), clock.clone());
                thread::spawn(move || serve(stream.unwrap(), (&bucket, manner, &clock), &**fault, &seen));
            }
        });
        server
    }

    /// Returns the stored objects.
    pub(crate) fn objects(&self) -> Objects {
        self.bucket.lock().unwrap().objects()
    }

    /// Counts the multipart uploads that are neither completed nor aborted.
    pub(crate) fn uploads(&self) -> (usize, usize) {
        self.bucket.lock().unwrap().uploads()
    }

    /// Sets its clock forward by a number of seconds.
    pub(crate) fn wait_for(&self, seconds: u64) {
        self.clock.fetch_add(seconds, Ordering::Relaxed);
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns the requests in short form: `GET /b/a/zarr.json`.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.requests().iter().map(|request| format!("{} {}", request.method, request.path)).collect()
    }
}

fn serve(
    mut stream: TcpStream,
    (bucket, manner, clock): (&Mutex<Bucket>, Manner, &AtomicU64),
    fault: &(dyn Fn(usize, &Request) -> Option<Answer> + Send + Sync),
    seen: &Mutex<Vec<Request>>,
) {
    // Head and body are written one after the other, which Nagle's algorithm would delay.
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(request) = read(&mut reader) {
        let number = {
            let mut seen = seen.lock().unwrap();
            seen.push(request.clone());
            seen.len() - 1
        };
        let now = SystemTime::now() + Duration::from_secs(clock.load(Ordering::Relaxed));
        let answer =
            fault(number, &request).unwrap_or_else(|| answer(&request, &mut bucket.lock().unwrap(), manner, now));
        let answer = answer.with("date", bucket::http_date(now));
        thread::sleep(answer.delay);
        let is_old = manner == Manner::Closing;
        let mut head = format!("HTTP/1.{} {} Said\r\n", u8::from(!is_old), answer.status);
        if !answer.is_endless && answer.headers.iter().all(|(name, _)| *name != "content-length") {
            let _ = write!(head, "content-length: {}\r\n", answer.body.len());
        }
        for (name, value) in &answer.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head.push_str("\r\n");
        let body = if request.method == "HEAD" { &[][..] } else { &answer.body };
        let end = answer.cut.map_or(body.len(), |cut| cut.min(body.len()));
        let sent = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body[..end]));
        let many = if answer.is_endless { body.repeat(1 << 14) } else { Vec::new() };
        while answer.is_endless && stream.write_all(&many).is_ok() {}
        if sent.is_err() || answer.cut.is_some() || answer.is_endless || is_old {
            return;
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut request = Request { method, path: path.to_owned(), query: query.to_owned(), ..Request::default() };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        request.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = request.headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    reader.take(length).read_to_end(&mut request.body).ok()?;
    Some(request)
}

fn answer(request: &Request, bucket: &mut Bucket, manner: Manner, now: SystemTime) -> Answer {
    if let Manner::Bucket { page } | Manner::Careless { page } = manner {
        let parameters = request.parameters();
        if parameters.contains_key("list-type") {
            return listing(&format!("{}/", decoded(&request.path)), &parameters, &bucket.objects(), page);
        }
        if !matches!(request.method.as_str(), "GET" | "HEAD") {
            return bucket.change(request, matches!(manner, Manner::Bucket { .. }), now);
        }
    }
    let path = decoded(&request.path);
    let Some((object, headers)) = bucket.get(&path) else {
        let code = "<Error><Code>NoSuchKey</Code><Message>no such key</Message></Error>";
        return Answer::new(404, code);
    };
    let range = request.headers.get("range").filter(|_| manner != Manner::Whole);
    let tagged = |mut answer: Answer| {
        answer.headers.extend(headers.clone());
        answer
    };
    let Some(range) = range.and_then(|range| range.strip_prefix("bytes=")) else {
        return tagged(Answer::new(200, object.clone()));
    };
    let length = object.len();
    let (first, last) = range.split_once('-').unwrap();
    let (first, last) = match (first.parse::<usize>(), last.parse::<usize>()) {
        (Ok(first), Ok(last)) => (first, last.min(length.saturating_sub(1))),
        (Ok(first), Err(_)) => (first, length.saturating_sub(1)),
        (Err(_), Ok(count)) => (length - count.min(length), length.saturating_sub(1)),
        _ => (0, 0),
    };
    if first >= length {
        return Answer::new(416, "").with("content-range", format!("bytes */{length}"));
    }
    let part = object[first..=last].to_vec();
    tagged(Answer::new(206, part).with("content-range", format!("bytes {first}-{last}/{length}")))
}

fn listing(bucket: &str, parameters: &HashMap<String, String>, objects: &Objects, page: usize) -> Answer {
    let prefix = parameters.get("prefix").cloned().unwrap_or_default();
    let after = ["continuation-token", "start-after"].into_iter().find_map(|name| parameters.get(name).cloned());
    let most = parameters.get("max-keys").and_then(|most| most.parse().ok()).unwrap_or(page).min(page);
    let mut entries: Vec<(String, Option<usize>)> = Vec::new();
    for (path, bytes) in objects {
        let Some(key) = path.strip_prefix(bucket).filter(|key| key.starts_with(&prefix)) else { continue };
        let slash = parameters.get("delimiter").and_then(|_| key[prefix.len()..].find('/'));
        let entry = match slash {
            Some(slash) => (key[..=prefix.len() + slash].to_owned(), None),
            None => (key.to_owned(), Some(bytes.len())),
        };
        if entries.last() != Some(&entry) {
            entries.push(entry);
        }
    }
    entries.retain(|(key, _)| after.as_ref().is_none_or(|after| key > after));
    let is_truncated = entries.len() > most;
    entries.truncate(most);
    let mut text = "<ListBucketResult>".to_owned();
    for (key, bytes) in &entries {
        let key = key.replace('&', "&amp;").replace('<', "&lt;");
        let _ = match bytes {
            Some(bytes) => write!(
                text,
                "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>\
                 <Size>{bytes}</Size></Contents>"
            ),
            None => write!(text, "<CommonPrefixes><Prefix>{key}</Prefix></CommonPrefixes>"),
        };
    }
    if let (true, Some((last, _))) = (is_truncated, entries.last()) {
        let _ = write!(text, "<NextContinuationToken>{last}</NextContinuationToken>");
    }
    let _ = write!(text, "<IsTruncated>{is_truncated}</IsTruncated></ListBucketResult>");
    Answer::new(200, text)
}

pub(crate) fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, following @ ..] = rest {
        rest = following;
        if *first == b'%' {
            bytes.push(u8::from_str_radix(std::str::from_utf8(&rest[..2]).unwrap(), 16).unwrap());
            rest = &rest[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).unwrap()
}
