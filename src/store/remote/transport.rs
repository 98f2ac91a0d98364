//! The one HTTP service under all clients: bounded requests in flight, deadlines, requests that are made again,
//! redirects.
//!
//! `object_store` has retries of its own; they are not used, because they hang where a server accepts and never answers,
//! and know neither `Retry-After` nor how many requests are too many.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use object_store::client::{HttpRequest, HttpRequestBody};
use reqwest::header::{ACCEPT_ENCODING, AUTHORIZATION, DATE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Method, StatusCode, Url};

use super::backend::Backend;
use super::body::{Body, Keep};
use super::certificate;
use super::date;
use super::lease::{LOST, LOST_HELP, Lease};
use super::limiter::{Limiter, Permit};

/// A store that cannot be reached at first contact is given up after this time.
const FIRST_CONTACT: Duration = Duration::from_secs(13);
/// At first contact, one attempt takes no longer.
const FIRST_ATTEMPT: Duration = Duration::from_secs(6);
/// Later a request is made again for this time.
const PATIENCE: Duration = Duration::from_mins(3);
/// An answer begins, and each piece of its body comes, within this time.
const SILENCE: Duration = Duration::from_secs(30);
/// Bytes of a body that is sent take no longer than a second for this many.
const SLOWEST_UPLOAD: u64 = 64 << 10;
/// Bytes that the server moves itself take no longer than a second for this many.
const SLOWEST_MOVE: u64 = 8 << 20;
const SHORTEST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const MOST_REDIRECTS: usize = 10;

/// The client under a store.
#[derive(Debug)]
pub(super) struct Transport {
    client: reqwest::Client,
    limiter: Limiter,
    /// Whether the store has answered once.
    is_in_contact: AtomicBool,
    /// Why it was given up.
    given_up: OnceLock<String>,
}

/// A request, which may be made several times.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: Method,
    /// The key of an object; `None` for the bucket.
    pub(super) key: Option<String>,
    pub(super) query: Vec<(&'static str, String)>,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: HttpRequestBody,
    /// Bytes that the server moves before it answers.
    pub(super) moves: u64,
}

impl Request {
    pub(super) fn new(method: Method, key: Option<&str>) -> Self {
        let body = HttpRequestBody::empty();
        let (query, headers) = (Vec::new(), Vec::new());
        Request { method, key: key.map(str::to_owned), query, headers, body, moves: 0 }
    }

    /// Whether it asks for what some servers have not learned, and fail at: more bytes from the end than an object may have, or
    /// many objects to be removed.
    fn fails_by(&self, status: StatusCode) -> bool {
        let is_from_end = |(name, value): &(&str, String)| *name == "range" && value.starts_with("bytes=-");
        let is_of_many = self.query.iter().any(|(name, _)| *name == "delete");
        status == StatusCode::INTERNAL_SERVER_ERROR && (is_of_many || self.headers.iter().any(is_from_end))
    }

    /// Whether it is of a run's lock or notes, which slow writes of chunks may not keep waiting.
    fn is_urgent(&self) -> bool {
        let name = self.key.as_deref().and_then(|key| key.rsplit_once(".zarrcast/")).map(|(_, name)| name);
        name.is_some_and(|name| name.ends_with("lock") || name.contains("journal/"))
    }

    /// Whether it makes an object, or begins one that comes in parts.
    pub(super) fn makes_object(&self) -> bool {
        let asks = |wanted| self.query.iter().any(|(name, _)| *name == wanted);
        (self.method == Method::PUT && !asks("partNumber"))
            || (self.method == Method::POST && asks("uploads"))
    }

    pub(super) fn with_query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    pub(super) fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// What was answered, an error of the server included.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// What of the object was wanted; of an error, its first bytes.
    pub(super) body: Vec<u8>,
    /// The size of the whole object, where it is known.
    pub(super) object_bytes: Option<u64>,
    /// The server to which another one led, without the credentials, which were for that one.
    pub(super) led_to: Option<String>,
}

impl Answer {
    /// Whether it brings an object, or a part of one. Other successes, such as 204, bring nothing.
    pub(super) fn has_content(&self) -> bool {
        matches!(self.status.as_u16(), 200 | 206)
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The store cannot be reached, or not often enough.
    GivenUp(String),
    /// The object holds more bytes than may be read.
    TooLarge(u64),
    /// There are no credentials.
    Credentials(String),
    /// The server gives other bytes where the last ones of an object are asked for.
    NotFromEnd,
    /// No other attempt can succeed: why, and what to do.
    Final(String, &'static str),
}

/// Why one attempt failed.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It may succeed another time.
    Passing(String),
    Failure(Failure),
}

fn passing(error: reqwest::Error) -> Trouble {
    if let Some((why, help)) = certificate::untrusted(&error) {
        return Trouble::Failure(Failure::Final(why, help));
    }
    Trouble::Passing(reason(&error.without_url()))
}

/// The innermost cause, which says most: "connection refused".
fn reason(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    innermost.to_string()
}

impl Transport {
    pub(super) fn new(requests: usize) -> Result<Self, String> {
        Ok(Transport {
            client: client(requests, None)?,
            limiter: Limiter::new(requests),
            is_in_contact: AtomicBool::new(false),
            given_up: OnceLock::new(),
        })
    }

    /// Makes a request until it is answered by anything but a passing error.
    pub(super) async fn send(
        &self,
        backend: &Backend,
        (request, leases): (&Request, &[Arc<Lease>]),
        keep: Keep,
    ) -> Result<Answer, Failure> {
        let mut began = None;
        let mut attempts = 0;
        loop {
            let permit = self.permit(request, leases).await?;
            if let Some(why) = self.given_up.get() {
                return Err(Failure::GivenUp(why.clone()));
            }
            let is_first = !self.is_in_contact.load(Ordering::Acquire);
            let patience = if is_first { FIRST_CONTACT } else { PATIENCE };
            let left = patience.saturating_sub(began.get_or_insert_with(Instant::now).elapsed());
            let silence = if is_first { FIRST_ATTEMPT.min(left) } else { SILENCE };
            let (why, asked) = match self.follow(backend, request, keep, silence).await {
                Ok(answer) if !is_passing(answer.status) || request.fails_by(answer.status) => {
                    self.is_in_contact.store(true, Ordering::Release);
                    permit.succeeded();
                    return Ok(answer);
                }
                Ok(answer) => {
                    if matches!(answer.status.as_u16(), 429 | 503) {
                        permit.too_many();
                    }
                    (format!("the server answers {}", answer.status), retry_after(&answer.headers))
                }
                Err(Trouble::Failure(failure)) => return Err(failure),
                Err(Trouble::Passing(why)) => (why, None),
            };
            attempts += 1;
            let wait = asked.unwrap_or_else(|| backoff(attempts));
            let left = patience.saturating_sub(began.get_or_insert_with(Instant::now).elapsed());
            if wait >= left {
                let seconds = patience.saturating_sub(left).as_secs();
                let why = format!("{why} ({attempts} attempts in {seconds} s)");
                if is_first && !self.is_in_contact.load(Ordering::Acquire) {
                    let _ = self.given_up.set(why.clone());
                }
                return Err(Failure::GivenUp(why));
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// Leave to make a request, once the locks that it needs are known to be held.
    async fn permit(&self, request: &Request, leases: &[Arc<Lease>]) -> Result<Permit<'_>, Failure> {
        let began = Instant::now();
        loop {
            let permit =
                if request.is_urgent() { self.limiter.permit_at_once() } else { self.limiter.permit().await };
            if leases.iter().any(|lease| lease.is_lost()) {
                return Err(Failure::Final(LOST.to_owned(), LOST_HELP));
            }
            if leases.iter().all(|lease| lease.is_known()) {
                return Ok(permit);
            }
            drop(permit);
            if began.elapsed() > PATIENCE {
                return Err(Failure::GivenUp("the lock of the run could not be renewed".to_owned()));
            }
            tokio::time::sleep(SHORTEST_WAIT).await;
        }
    }

    /// Makes a request once, where it leads.
    async fn follow(
        &self,
        backend: &Backend,
        request: &Request,
        keep: Keep,
        silence: Duration,
    ) -> Result<Answer, Trouble> {
        let signed = backend.signed(request).await.map_err(Failure::Credentials).map_err(Trouble::Failure)?;
        let mut outgoing = outgoing(&signed, request)?;
        let mut led_to = None;
        for _ in 0..MOST_REDIRECTS {
            let again = outgoing.try_clone();
            let mut answer = self.attempt(outgoing, request, keep, silence).await?;
            answer.led_to.clone_from(&led_to);
            if backend.takes_region_of(&answer) {
                return Err(Trouble::Passing("the bucket lies in another region".to_owned()));
            }
            let target = redirect(&answer).zip(again);
            let Some((target, mut next)) = target else { return Ok(answer) };
            let Ok(url) = next.url().join(&target) else { return Ok(answer) };
            if url.origin() != next.url().origin() {
                // Whoever asks is no business of another server.
                next.headers_mut().remove(AUTHORIZATION);
                next.headers_mut().remove("x-amz-security-token");
                led_to = Some(url.origin().ascii_serialization());
            }
            *next.url_mut() = url;
            outgoing = next;
        }
        Err(Trouble::Passing(format!("more than {MOST_REDIRECTS} redirects")))
    }

    async fn attempt(
        &self,
        outgoing: reqwest::Request,
        request: &Request,
        keep: Keep,
        silence: Duration,
    ) -> Result<Answer, Trouble> {
        let bytes = request.body.content_length() as u64;
        let upload = Duration::from_secs(bytes / SLOWEST_UPLOAD + request.moves / SLOWEST_MOVE);
        let answered = tokio::time::timeout(silence + upload, self.client.execute(outgoing)).await;
        let silent = || {
            Trouble::Passing(format!(
                "no answer came within {:.0} s",
                (silence + upload).as_secs_f64().ceil()
            ))
        };
        let mut response = answered.map_err(|_| silent())?.map_err(passing)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let has_body = request.method != Method::HEAD;
        let mut body = Body::new(keep, status, &headers, has_body)?;
        while has_body && !body.is_done() {
            let piece = tokio::time::timeout(silence, response.chunk()).await;
            let silent = || Trouble::Passing(format!("the answer stopped for {} s", silence.as_secs()));
            match piece.map_err(|_| silent())?.map_err(passing)? {
                Some(piece) => body.take(&piece)?,
                None => break,
            }
        }
        let (body, object_bytes) = body.finish()?;
        Ok(Answer { status, headers, body, object_bytes, led_to: None })
    }
}

/// A client of `reqwest`; with `limit`, no exchange takes longer.
pub(super) fn client(requests: usize, limit: Option<Duration>) -> Result<reqwest::Client, String> {
    // The first of all in the process counts, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(limit.unwrap_or(FIRST_ATTEMPT))
        .pool_max_idle_per_host(requests)
        .user_agent(concat!("zarrcast/", env!("CARGO_PKG_VERSION")));
    let builder = match limit {
        Some(limit) => builder.timeout(limit),
        None => builder,
    };
    let builder = match certificate::authorities_instead() {
        Some(authorities) => builder.tls_certs_only(authorities),
        None => builder,
    };
    builder.build().map_err(|error| reason(&error))
}

fn outgoing(signed: &HttpRequest, request: &Request) -> Result<reqwest::Request, Trouble> {
    let no_url = |why| Trouble::Failure(Failure::Final(why, "check the address and the endpoint"));
    // A URL would lead to another object: `a/../b` is `b` there.
    if request.key.as_ref().is_some_and(|key| key.split('/').any(|name| matches!(name, "." | ".."))) {
        return Err(no_url("a name in its key is `.` or `..`, which no URL holds".to_owned()));
    }
    let url = signed.uri().to_string();
    let url = Url::parse(&url).map_err(|error| no_url(format!("the address is no URL: {error}")))?;
    let mut outgoing = reqwest::Request::new(signed.method().clone(), url);
    if let Some(bytes) =
        signed.body().as_bytes().filter(|_| matches!(signed.method().as_str(), "PUT" | "POST"))
    {
        *outgoing.body_mut() = Some(bytes.clone().into());
    }
    *outgoing.headers_mut() = signed.headers().clone();
    if request.method == Method::GET {
        // Not signed: servers on the way may change it.
        outgoing.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    Ok(outgoing)
}

/// Where an answer leads.
fn redirect(answer: &Answer) -> Option<String> {
    let leads = matches!(answer.status.as_u16(), 301 | 302 | 303 | 307 | 308);
    let target = answer.headers.get(LOCATION).filter(|_| leads)?;
    Some(target.to_str().ok()?.to_owned())
}

/// Whether a server says so that does not know what it will say the next time.
fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 429 | 500 | 502 | 503 | 504)
}

/// How long the server asks to wait: so many seconds, or until a date by its own clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = date::seconds(text)?;
    let now = headers.get(DATE).and_then(|now| date::seconds(now.to_str().ok()?));
    let here = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    Some(Duration::from_secs(until.saturating_sub(now.unwrap_or_else(here))))
}

/// Twice as long each time, less up to a half, so that not all come back at once.
fn backoff(attempts: u32) -> Duration {
    let longest = SHORTEST_WAIT.saturating_mul(1 << attempts.clamp(1, 10)).min(LONGEST_WAIT);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    longest.mul_f64(1.0 - f64::from(now.subsec_nanos() % 1000) / 2000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_that_a_server_asks_for_is_seconds_or_a_date_by_its_clock() {
        let asked = |wait: &str| {
            let headers = [(RETRY_AFTER, wait), (DATE, "Sun, 06 Nov 1994 08:49:37 GMT")];
            let headers = headers.map(|(name, value)| (name, value.parse().unwrap()));
            retry_after(&HeaderMap::from_iter(headers)).map(|wait| wait.as_secs())
        };
        assert_eq!(asked("7"), Some(7));
        assert_eq!(asked("Sun, 06 Nov 1994 08:50:07 GMT"), Some(30));
        assert_eq!(asked("Sun, 06 Nov 1994 08:00:00 GMT"), Some(0));
        assert_eq!(asked("soon"), None);
    }
}
