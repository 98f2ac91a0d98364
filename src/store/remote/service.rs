//! The HTTP service below `object_store`: bounded requests in flight, deadlines, waits, and what an answer must be.
//!
//! `object_store` makes requests and signs them. When one is made again, and when it is given up, is decided here, since that
//! knows neither `Retry-After` nor how many requests are too many. What is read of an object or a listing is taken here as
//! well: `object_store` asks for headers that not every server sends, and gives no key of a page with one that is no path.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use chrono::DateTime;
use futures_util::StreamExt;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::{ClientOptions, GetRange};
use reqwest::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, DATE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Method, StatusCode, Url};
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

use super::{
    Answer, Body, Failure, Kind, LOST, LOST_HELP, Limiter, LockOwner, Permit, answer, cause, credentials_help, header,
    unreachable_help,
};
use crate::store::held;

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
/// Bytes that the server copies itself take no longer than a second for this many.
const SLOWEST_COPY: u64 = 8 << 20;
const SHORTEST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const MOST_REDIRECTS: usize = 10;

/// The result of a call of `object_store`.
pub(super) type Made<T> = object_store::Result<T>;
tokio::task_local! {
    static CALL: Arc<Call>;
}

/// One call of `object_store`, which makes a request.
#[derive(Debug, Default)]
pub(super) struct Call {
    /// The whole key of the object; `None` for the bucket, of which many objects are listed or removed.
    pub(super) key: Option<String>,
    /// The part of the object that is read; `None` for all of it.
    pub(super) range: Option<GetRange>,
    /// The most bytes of an answer.
    most: u64,
    /// Bytes of an object that the server copies before it answers.
    pub(super) copied: Option<u64>,
    /// Leave for the first attempt.
    permit: Mutex<Option<Permit>>,
    outcome: Mutex<Option<Result<Answer, Failure>>>,
}

impl Call {
    /// A call for an object, or for the bucket, of whose answer at most `most` bytes are read.
    pub(super) fn of(key: Option<&str>, most: u64) -> Self {
        Call { key: key.map(str::to_owned), most, ..Call::default() }
    }

    /// True if it is of a run's lock or notes, which slow writes of chunks may not keep waiting.
    fn is_urgent(&self) -> bool {
        let name = self.key.as_deref().and_then(|key| key.rsplit_once(".zarrcast/")).map(|(_, name)| name);
        name.is_some_and(|name| name.ends_with("lock") || name.contains("journal/"))
    }
}

/// Placeholder for the outcome that the call holds, while `object_store` hands it on.
#[derive(Debug, thiserror::Error)]
#[error("the request failed")]
struct HeldByCall;

/// The service of a store.
#[derive(Debug)]
pub(super) struct Service {
    client: HttpClient,
    limiter: Arc<Limiter>,
    /// True if the store has answered once.
    is_in_contact: AtomicBool,
    /// Why it was given up.
    given_up: OnceLock<String>,
    kind: Kind,
    /// Uploads in parts that were begun and not ended, by their keys and the names that the store gave them.
    pub(super) uploads: Mutex<Vec<(String, String)>>,
    /// The locks that this process has.
    pub(super) locks: Mutex<Vec<Weak<LockOwner>>>,
}

impl Service {
    /// The service of a store; `authorization` goes with each request to the server that is named.
    pub(super) fn new(requests: usize, kind: Kind, authorization: Option<&str>) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        if let Some(Ok(mut value)) = authorization.map(HeaderValue::from_str) {
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let builder = client_builder();
        let builder = if kind == Kind::Http { builder.redirect(Policy::limited(MOST_REDIRECTS)) } else { builder };
        let builder = builder.connect_timeout(FIRST_ATTEMPT).pool_max_idle_per_host(requests).default_headers(headers);
        let client = HttpClient::new(builder.build().map_err(|error| cause(&error))?);
        let (limiter, is_in_contact) = (Arc::new(Limiter::new(requests)), AtomicBool::new(false));
        let (given_up, uploads, locks) = (OnceLock::new(), Mutex::default(), Mutex::default());
        Ok(Service { client, limiter, is_in_contact, given_up, kind, uploads, locks })
    }

    /// Waits for what `object_store` changes by this service; what it makes of the answer, and the headers of that.
    pub(super) async fn change<T>(
        &self,
        call: Call,
        work: impl Future<Output = Made<T>>,
    ) -> Result<(T, HeaderMap), Failure> {
        let (made, answer) = self.run(call, work).await?;
        match made {
            Ok(made) => Ok((made, answer.headers)),
            // Azure removes by a batch, whose answer is a success with that of the object inside.
            Err(object_store::Error::NotFound { .. }) => Err(Failure::of_status(StatusCode::NOT_FOUND)),
            Err(error) => Err(Failure::Final(
                format!("the answer cannot be read: {}", cause(&error)),
                "check that the address is that of a store, and its endpoint",
            )),
        }
    }

    /// Waits for what `object_store` asks for by this service.
    pub(super) async fn read<T>(&self, call: Call, work: impl Future<Output = Made<T>>) -> Result<Answer, Failure> {
        self.run(call, work).await.map(|(_, answer)| answer)
    }

    async fn run<T>(&self, call: Call, work: impl Future<Output = Made<T>>) -> Result<(Made<T>, Answer), Failure> {
        // Before the request is signed, which holds for some minutes only.
        let permit = self.permit(&call).await;
        *held(&call.permit) = Some(permit);
        let call = Arc::new(call);
        let made = CALL.scope(call.clone(), work).await;
        let outcome = held(&call.outcome).take();
        match (outcome, made) {
            (Some(outcome), made) => outcome.map(|answer| (made, answer)),
            (None, Ok(made)) => Ok((Ok(made), Answer::default())),
            (None, Err(object_store::Error::NotImplemented { .. } | object_store::Error::NotSupported { .. })) => {
                Err(Failure::of_status(StatusCode::NOT_IMPLEMENTED))
            }
            (None, Err(error)) => {
                Err(Failure::Final(format!("there are no credentials: {}", cause(&error)), credentials_help(self.kind)))
            }
        }
    }

    async fn permit(&self, call: &Call) -> Permit {
        if call.is_urgent() { self.limiter.permit_at_once() } else { self.limiter.permit().await }
    }

    /// Leave to make a request, once the locks that it needs are known to be held.
    async fn leave(&self, call: &Call, request: &HttpRequest) -> Result<Permit, Failure> {
        let locks = self.locks_for(call, request);
        let began = Instant::now();
        let mut permit = held(&call.permit).take();
        loop {
            let held = match permit.take() {
                Some(permit) => permit,
                None => self.permit(call).await,
            };
            if locks.iter().any(|lock| lock.is_lost()) {
                return Err(Failure::Final(LOST.to_owned(), LOST_HELP));
            }
            if locks.iter().all(|lock| lock.is_known()) {
                return Ok(held);
            }
            drop(held);
            if began.elapsed() > PATIENCE {
                return Err(self.given_up("the lock of the run could not be renewed"));
            }
            tokio::time::sleep(SHORTEST_WAIT).await;
        }
    }

    /// The locks that this process must hold before a request is made: those that guard what it changes.
    fn locks_for(&self, call: &Call, request: &HttpRequest) -> Vec<Arc<LockOwner>> {
        let aborts = request.method() == Method::DELETE && request.uri().query().is_some();
        if matches!(*request.method(), Method::GET | Method::HEAD) || aborts {
            return Vec::new();
        }
        let guards = |lock: &Arc<LockOwner>| call.key.as_deref().is_none_or(|key| lock.guards(key));
        held(&self.locks).iter().filter_map(Weak::upgrade).filter(guards).collect()
    }

    /// A lock is given back, or was removed with all that lay beside it: nothing that is changed from now on needs it.
    pub(super) fn forget_lock(&self, key: &str) {
        held(&self.locks).retain(|lock| match lock.upgrade() {
            Some(lock) if lock.key == key => {
                lock.lose();
                false
            }
            other => other.is_some(),
        });
    }

    fn given_up(&self, why: &str) -> Failure {
        Failure::Final(why.to_owned(), unreachable_help(self.kind))
    }

    /// Makes a request until another attempt could not succeed any more, or takes too long.
    async fn answer(&self, call: &Call, mut request: HttpRequest) -> Result<Answer, Failure> {
        complete(&mut request, call.key.is_none())?;
        let (mut attempts, mut began) = (0, None);
        loop {
            let permit = self.leave(call, &request).await?;
            if let Some(why) = self.given_up.get() {
                return Err(self.given_up(why));
            }
            let began = *began.get_or_insert_with(Instant::now);
            let outcome = self.attempt(call, &request, permit, began).await;
            let Err(Failure::Passing(why, asked)) = outcome else { return outcome };
            attempts += 1;
            let wait = asked.unwrap_or_else(|| backoff(attempts));
            if wait >= self.left(began).0 {
                let why = format!("{why} ({attempts} attempts in {} s)", began.elapsed().as_secs());
                let failure = self.given_up(&why);
                if !self.is_in_contact.load(Ordering::Acquire) {
                    let _ = self.given_up.set(why);
                }
                return Err(failure);
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// The time that a call has left which has begun then, and the time that it waits for a sign of the server.
    fn left(&self, began: Instant) -> (Duration, Duration) {
        let is_first = !self.is_in_contact.load(Ordering::Acquire);
        let left = if is_first { FIRST_CONTACT } else { PATIENCE }.saturating_sub(began.elapsed());
        (left, if is_first { FIRST_ATTEMPT.min(left) } else { SILENCE })
    }

    /// Makes a request once.
    async fn attempt(
        &self,
        call: &Call,
        request: &HttpRequest,
        permit: Permit,
        began: Instant,
    ) -> Result<Answer, Failure> {
        let answer = self.receive(call, request.clone(), self.left(began).1).await?;
        // Some servers have not learned what they are asked for, and fail at it: more bytes from the end than an object may
        // have, or many objects to be removed.
        let fails_by_request = answer.status == StatusCode::INTERNAL_SERVER_ERROR
            && (matches!(call.range, Some(GetRange::Suffix(_))) || answer::is_of_many(request));
        if matches!(answer.status.as_u16(), 408 | 429 | 500 | 502 | 503 | 504) && !fails_by_request {
            if matches!(answer.status.as_u16(), 429 | 503) {
                permit.too_many();
            }
            return Err(Failure::Passing(
                format!("the server answers {}", answer.status),
                retry_after(&answer.headers),
            ));
        }
        self.is_in_contact.store(true, Ordering::Release);
        permit.succeeded();
        answer.checked(call, request)
    }

    /// Sends a request, and reads what comes.
    async fn receive(&self, call: &Call, request: HttpRequest, silence: Duration) -> Result<Answer, Failure> {
        let sent = request.body().content_length() as u64;
        let longest = silence + Duration::from_secs(sent / SLOWEST_UPLOAD + call.copied.unwrap_or(0) / SLOWEST_COPY);
        let range = call.range.clone().filter(|_| answer::is_read(&request));
        let is_head = request.method() == Method::HEAD;
        let silent = |_| Failure::passing(format!("no answer came within {:.0} s", longest.as_secs_f64().ceil()));
        let answered = tokio::time::timeout(longest, self.client.execute(request)).await.map_err(silent)?;
        let (parts, body) = answered.map_err(|error| Failure::of_transport(&error))?.into_parts();
        let (status, headers) = (parts.status, parts.headers);
        if is_head {
            let object_bytes = header(&headers, CONTENT_LENGTH).and_then(|length| length.parse().ok());
            return Ok(Answer { status, headers, object_bytes, ..Answer::default() });
        }
        let mut kept = Body::new(range, call.most, status, headers)?;
        let mut pieces = body.bytes_stream();
        while !kept.is_done() {
            let silent = |_| Failure::passing(format!("the answer stopped for {} s", silence.as_secs()));
            let Some(piece) = tokio::time::timeout(silence, pieces.next()).await.map_err(silent)? else { break };
            kept.take(&piece.map_err(|error| Failure::of_transport(&error))?)?;
        }
        kept.finish()
    }
}

/// Adds what `object_store` does not know, or may not sign since servers on the way change it.
fn complete(request: &mut HttpRequest, is_of_bucket: bool) -> Result<(), Failure> {
    let no_url = |why| Failure::Final(why, "check the address and the endpoint");
    let mut url = request.uri().to_string();
    if let Some((path, query)) = url.split_once('?').filter(|_| is_of_bucket) {
        // Not all servers take `+` for the space that it stands for in a query.
        url = format!("{path}?{}", query.replace('+', "%20"));
    }
    Url::parse(&url).map_err(|error| no_url(format!("the address is no URL: {error}")))?;
    *request.uri_mut() = url.parse().map_err(|_| no_url("the address is no URL".to_owned()))?;
    request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    Ok(())
}

/// Gives `object_store` a client.
#[derive(Debug, Clone)]
pub(super) struct Connector(pub(super) HttpClient);

impl HttpConnector for Connector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(self.0.clone())
    }
}

/// The service as `object_store` calls it.
#[derive(Debug)]
pub(super) struct Caller(pub(super) Arc<Service>);

#[async_trait]
impl HttpService for Caller {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let call = CALL.try_with(Arc::clone).unwrap_or_default();
        let outcome = self.0.answer(&call, request.clone()).await;
        let response = match &outcome {
            Ok(answer) if !answer::is_read(&request) => Ok(answer.to_response(&request)),
            _ => Err(HttpError::new(HttpErrorKind::Unknown, HeldByCall)),
        };
        *held(&call.outcome) = Some(outcome);
        response
    }
}

/// The common settings of all clients of `reqwest`; they follow redirects only on one host.
pub(super) fn client_builder() -> reqwest::ClientBuilder {
    let on_host = Policy::custom(|attempt| {
        let is_same = attempt.previous().last().is_some_and(|last| last.origin() == attempt.url().origin());
        match attempt.previous().len() {
            0..MOST_REDIRECTS if is_same => attempt.follow(),
            _ => attempt.stop(),
        }
    });
    // The first of all in the process counts, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let agent = concat!("zarrcast/", env!("CARGO_PKG_VERSION"));
    let builder = reqwest::Client::builder().redirect(on_host).user_agent(agent);
    if let Some(authorities) = authorities_instead() { builder.tls_certs_only(authorities) } else { builder }
}

/// Whom to trust instead of the system's authorities; `None` where there are some.
///
/// A system that has none, as an empty container, gets those that Mozilla trusts, which are in the program. Where the environment names
/// a file or a folder of authorities in which there is none, nobody is trusted, and all that needs no certificate works.
#[cfg(all(unix, not(target_vendor = "apple")))]
fn authorities_instead() -> Option<Vec<Certificate>> {
    // It is looked at once: the files are long.
    static HAS_SOME: LazyLock<bool> = LazyLock::new(|| !rustls_native_certs::load_native_certs().certs.is_empty());
    if *HAS_SOME {
        return None;
    }
    let is_named = ["SSL_CERT_FILE", "SSL_CERT_DIR"].iter().any(|name| std::env::var_os(name).is_some());
    let bundled = TLS_SERVER_ROOT_CERTS.iter().filter(|_| !is_named);
    Some(bundled.filter_map(|authority| Certificate::from_der(authority).ok()).collect())
}

/// Other systems verify certificates themselves.
#[cfg(not(all(unix, not(target_vendor = "apple"))))]
fn authorities_instead() -> Option<Vec<Certificate>> {
    None
}

/// Seconds since 1970 of a date of HTTP: `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(super) fn seconds(date: &str) -> Option<u64> {
    DateTime::parse_from_rfc2822(date.trim()).ok()?.timestamp().try_into().ok()
}

/// The time that the server asks to wait: so many seconds, or until a date by its own clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = header(headers, RETRY_AFTER)?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let here = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let now = header(headers, DATE).and_then(seconds).unwrap_or_else(here);
    Some(Duration::from_secs(seconds(text)?.saturating_sub(now)))
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
        assert_eq!(seconds("Thu, 29 Feb 2024 23:59:60 GMT"), Some(1_709_251_199));
    }

    #[test]
    fn every_bundled_authority_is_one_that_can_be_trusted() {
        let mut store = rustls::RootCertStore::empty();
        let (added, ignored) = store.add_parsable_certificates(TLS_SERVER_ROOT_CERTS.iter().cloned());
        assert!(ignored == 0 && added > 100);
    }
}
