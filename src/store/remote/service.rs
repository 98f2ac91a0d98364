//! HTTP service below `object_store`. It limits concurrent requests, sets deadlines, waits, and checks the answers.
//!
//! `object_store` builds requests and signs them. This service decides about repetitions, as `object_store` knows
//! neither `Retry-After` nor the limit of concurrent requests.
//!
//! It also reads answers itself, as `object_store` requires headers that some servers do not send. If one key of a page
//! is not a valid path, `object_store` returns no key of that page.

use std::collections::BTreeMap;
use std::io;
use std::panic::catch_unwind;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use chrono::DateTime;
use futures_util::StreamExt;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::{ClientOptions, GetRange};
use reqwest::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, DATE, HeaderMap, HeaderValue, RETRY_AFTER,
};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Method, StatusCode, Url, Version};
use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

use super::limiter::{Limiter, Permit};
use super::{
    Answer, Body, Failure, Kind, LOST, LOST_HELP, LockOwner, StoreResponse, answer, cause, credentials_help, header,
    unreachable_help,
};
use crate::store::held;

/// Time limit for the first answer of a store.
const FIRST_CONTACT: Duration = Duration::from_secs(13);

/// Time limit of one attempt before the first answer.
const FIRST_ATTEMPT: Duration = Duration::from_secs(6);

/// Time during which later requests are repeated.
const PATIENCE: Duration = Duration::from_mins(3);

/// Time limit for the start of an answer, and for each piece of its body.
const SILENCE: Duration = Duration::from_secs(30);

/// Slowest upload that is accepted, in bytes per second.
const SLOWEST_UPLOAD: u64 = 64 << 10;

/// Slowest copy by the server that is accepted, in bytes per second.
const SLOWEST_COPY: u64 = 8 << 20;

const SHORTEST_WAIT: Duration = Duration::from_millis(100);

const LONGEST_WAIT: Duration = Duration::from_secs(10);

const MOST_REDIRECTS: usize = 10;

/// The result of a call of `object_store`.
pub(super) type CallResult<T> = object_store::Result<T>;

tokio::task_local! {
    static CALL: Arc<Call>;
}

/// Call of `object_store` that sends a request.
#[derive(Default)]
pub(super) struct Call {
    /// Whole key of the object. `None` means the bucket, for listings and bulk removals.
    pub(super) key: Option<String>,
    /// Part of the object to read. `None` means all of it.
    pub(super) range: Option<GetRange>,
    /// Most bytes of an answer.
    most: u64,
    /// Size in bytes of an object that the server copies before it answers.
    pub(super) copied: Option<u64>,
    /// True if it does not wait for the limit of requests.
    pub(super) is_urgent: bool,
    /// Permit for the first attempt.
    permit: Mutex<Option<Permit>>,
    outcome: Mutex<Option<Answer>>,
}

impl Call {
    /// Creates a call for an object, or for the bucket if `key` is `None`. At most `most` bytes of the answer are read.
    pub(super) fn new(key: Option<&str>, most: u64) -> Self {
        // The lock and the log of a run must not wait for slow writes of chunks.
        let name = key.and_then(|key| key.rsplit_once(".zarrcast/")).map(|(_, name)| name);
        let is_urgent = name.is_some_and(|name| name.ends_with("lock") || name.contains("journal/"));
        Call { key: key.map(str::to_owned), most, is_urgent, ..Call::default() }
    }
}

/// Service of one store.
#[derive(Debug)]
pub(super) struct Service {
    client: HttpClient,
    limiter: Arc<Limiter>,
    /// Time of the last answer of the store. `None` before the first one.
    last_answer: Mutex<Option<Instant>>,
    /// Time during which requests are repeated after the first answer.
    patience: Duration,
    /// Reason why the store was given up.
    given_up: OnceLock<String>,
    pub(super) kind: Kind,
    /// Parts in flight of the incomplete multipart uploads, by their keys and ids.
    pub(super) uploads: Mutex<BTreeMap<(String, String), Vec<AbortHandle>>>,
    /// Locks of this process.
    pub(super) locks: Mutex<Vec<Weak<LockOwner>>>,
}

impl Service {
    /// Creates the service of a store. `authorization` is sent with each request to the named server.
    pub(super) fn new(requests: usize, kind: Kind, authorization: Option<&str>) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        if let Some(Ok(mut value)) = authorization.map(HeaderValue::from_str) {
            // Such a value is not shown in debug output.
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let builder = client_builder();
        // Web servers also redirect to other hosts. `reqwest` then leaves the authorization out.
        let builder = if kind == Kind::Http { builder.redirect(Policy::limited(MOST_REDIRECTS)) } else { builder };
        let builder = builder.connect_timeout(FIRST_ATTEMPT).pool_max_idle_per_host(requests).default_headers(headers);
        let client = HttpClient::new(builder.build().map_err(|error| cause(&error))?);
        Ok(Service {
            client,
            limiter: Arc::new(Limiter::new(requests)),
            last_answer: Mutex::default(),
            patience: PATIENCE,
            given_up: OnceLock::new(),
            kind,
            uploads: Mutex::default(),
            locks: Mutex::default(),
        })
    }

    /// Runs a change of `object_store` through this service. Returns its result.
    pub(super) async fn change<T>(&self, call: Call, work: impl Future<Output = CallResult<T>>) -> Result<T, Failure> {
        self.run(call, work).await?.0.map_err(|error| match error {
            // Azure removes objects by a batch. The batch succeeds, and its body contains the status of each object.
            object_store::Error::NotFound { .. } => Failure::of_status(StatusCode::NOT_FOUND),
            error => {
                let why = format!("the answer cannot be read: {}", cause(&error));
                Failure::Final(why, "check that the address is that of a store, and its endpoint")
            }
        })
    }

    /// Runs a call of `object_store` through this service. Returns its result, which is an error for all reads, and the
    /// answer.
    pub(super) async fn run<T>(
        &self,
        call: Call,
        work: impl Future<Output = CallResult<T>>,
    ) -> Result<(CallResult<T>, StoreResponse), Failure> {
        // The permit comes before the signature, which is valid for only a few minutes.
        let permit = self.limiter.permit(call.is_urgent).await;
        let call = Arc::new(Call { permit: Mutex::new(Some(permit)), ..call });
        let made = CALL.scope(call.clone(), work).await;
        let outcome = held(&call.outcome).take();
        match (outcome, made) {
            (Some(outcome), made) => outcome.map(|answer| (made, answer)),
            (None, Ok(made)) => Ok((Ok(made), StoreResponse::default())),
            (None, Err(object_store::Error::NotImplemented { .. } | object_store::Error::NotSupported { .. })) => {
                Err(Failure::of_status(StatusCode::NOT_IMPLEMENTED))
            }
            // No request was sent. So `object_store` failed before it, when it asked for credentials.
            (None, Err(error)) => {
                Err(Failure::Final(format!("there are no credentials: {}", cause(&error)), credentials_help(self.kind)))
            }
        }
    }

    /// Waits for a permit, and until the required locks are known to be valid.
    async fn leave(&self, call: &Call, request: &HttpRequest) -> Result<Permit, Failure> {
        let locks = self.locks_for(call, request);
        let began = Instant::now();
        let mut permit = held(&call.permit).take();
        loop {
            let held = match permit.take() {
                Some(permit) => permit,
                None => self.limiter.permit(call.is_urgent).await,
            };
            if locks.iter().any(|lock| lock.is_lost()) {
                return Err(Failure::Final(LOST.to_owned(), LOST_HELP));
            }
            if locks.iter().all(|lock| lock.is_known()) {
                return Ok(held);
            }
            drop(held);
            if began.elapsed() > self.patience {
                return Err(self.given_up("the lock of the run could not be renewed"));
            }
            tokio::time::sleep(SHORTEST_WAIT).await;
        }
    }

    /// Returns the locks that guard the objects that a request changes. This process must have all of them.
    fn locks_for(&self, call: &Call, request: &HttpRequest) -> Vec<Arc<LockOwner>> {
        // A removal with a query aborts an upload, which changes no object.
        let aborts = request.method() == Method::DELETE && request.uri().query().is_some();
        if matches!(*request.method(), Method::GET | Method::HEAD) || aborts {
            return Vec::new();
        }
        let guards = |lock: &Arc<LockOwner>| call.key.as_deref().is_none_or(|key| lock.guards(key));
        held(&self.locks).iter().filter_map(Weak::upgrade).filter(guards).collect()
    }

    /// Forgets a lock that was released, or removed with everything that it guarded. Later changes do not need it.
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

    /// Sends a request until it succeeds, no further attempt can succeed, or the time is over.
    async fn answer(&self, call: &Call, mut request: HttpRequest) -> Answer {
        complete(&mut request, call.key.is_none())?;
        let (mut attempts, mut began) = (0, None);
        loop {
            let permit = self.leave(call, &request).await?;
            if let Some(why) = self.given_up.get() {
                return Err(self.given_up(why));
            }
            // Measured from the first permit, as waiting for other requests is no fault of the store.
            let began = *began.get_or_insert_with(Instant::now);
            let outcome = self.attempt(call, &request, permit, began).await;
            let Err(Failure::Passing(why, asked)) = outcome else { return outcome };
            attempts += 1;
            let wait = asked.unwrap_or_else(|| backoff(attempts));
            if wait >= self.left(began).0 {
                let why = format!("{why} ({attempts} attempts in {} s)", began.elapsed().as_secs());
                let failure = self.given_up(&why);
                // A store that answers no request has no answer to the next ones either. After a long `Retry-After` that
                // is not known.
                if held(&self.last_answer).is_none_or(|last| last < began && wait <= LONGEST_WAIT) {
                    let _ = self.given_up.set(why);
                }
                return Err(failure);
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// Returns the remaining time of a call, and the time limit for the next sign of the server.
    fn left(&self, began: Instant) -> (Duration, Duration) {
        let is_first = held(&self.last_answer).is_none();
        let left = if is_first { FIRST_CONTACT } else { self.patience }.saturating_sub(began.elapsed());
        (left, if is_first { FIRST_ATTEMPT.min(left) } else { SILENCE })
    }

    /// Sends a request once.
    async fn attempt(&self, call: &Call, request: &HttpRequest, permit: Permit, began: Instant) -> Answer {
        let answer = self.receive(call, request.clone(), self.left(began).1).await?;
        // Some servers answer 500 to a request that they do not support. It may be a suffix longer than the object, or
        // a bulk removal.
        let fails_by_request = answer.status == StatusCode::INTERNAL_SERVER_ERROR
            && (matches!(call.range, Some(GetRange::Suffix(_))) || answer::is_of_many(request));
        if matches!(answer.status.as_u16(), 408 | 429 | 500 | 502 | 503 | 504) && !fails_by_request {
            if matches!(answer.status.as_u16(), 429 | 503) {
                permit.too_many();
            }
            let why = format!("the server answers {}", answer.status);
            return Err(Failure::Passing(why, retry_after(&answer.headers)));
        }
        *held(&self.last_answer) = Some(Instant::now());
        permit.succeeded(header(&answer.headers, CONNECTION).is_some_and(|word| word.eq_ignore_ascii_case("close")));
        answer.checked(call, request)
    }

    /// Sends a request and reads the answer.
    async fn receive(&self, call: &Call, request: HttpRequest, silence: Duration) -> Answer {
        let sent = request.body().content_length() as u64;
        let longest = silence + Duration::from_secs(sent / SLOWEST_UPLOAD + call.copied.unwrap_or(0) / SLOWEST_COPY);
        let range = call.range.clone().filter(|_| answer::is_read(&request));
        let is_head = request.method() == Method::HEAD;
        let silent = |_| Failure::passing(format!("no answer came within {:.0} s", longest.as_secs_f64().ceil()));
        let answered = tokio::time::timeout(longest, self.client.execute(request)).await.map_err(silent)?;
        let (parts, body) = answered.map_err(|error| Failure::of_transport(&error))?.into_parts();
        let (status, mut headers) = (parts.status, parts.headers);
        // HTTP 1.0 closes connections without saying so.
        if parts.version == Version::HTTP_10 {
            headers.entry(CONNECTION).or_insert(HeaderValue::from_static("close"));
        }
        if is_head {
            let object_bytes = header(&headers, CONTENT_LENGTH).and_then(|length| length.parse().ok());
            return Ok(StoreResponse { status, headers, object_bytes, ..StoreResponse::default() });
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

/// Adds to a request what `object_store` does not know, or must not sign because proxies change it.
fn complete(request: &mut HttpRequest, is_of_bucket: bool) -> Result<(), Failure> {
    let no_url = |why| Failure::Final(why, "check the address and the endpoint");
    let mut url = request.uri().to_string();
    if let Some((path, query)) = url.split_once('?').filter(|_| is_of_bucket) {
        // Some servers do not decode `+` as a space in a query.
        url = format!("{path}?{}", query.replace('+', "%20"));
    }
    Url::parse(&url).map_err(|error| no_url(format!("the address is no URL: {error}")))?;
    *request.uri_mut() = url.parse().map_err(|_| no_url("the address is no URL".to_owned()))?;
    // The stored bytes are needed. A server may otherwise compress them for the transfer.
    request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    Ok(())
}

/// Returns the client of the service to `object_store`.
#[derive(Debug, Clone)]
pub(super) struct Connector(pub(super) HttpClient);

impl HttpConnector for Connector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(self.0.clone())
    }
}

/// Interface of the service for `object_store`.
#[derive(Debug)]
pub(super) struct Caller(pub(super) Arc<Service>);

#[async_trait]
impl HttpService for Caller {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let call = CALL.try_with(Arc::clone).unwrap_or_default();
        let outcome = self.0.answer(&call, request.clone()).await;
        let response = match &outcome {
            Ok(answer) if !answer::is_read(&request) => Ok(answer.to_response(&request)),
            // A placeholder, as the call contains the outcome.
            _ => Err(HttpError::new(HttpErrorKind::Unknown, io::Error::other("the request failed"))),
        };
        *held(&call.outcome) = Some(outcome);
        response
    }
}

/// Returns the common settings of all `reqwest` clients. They follow redirects only within one host.
pub(super) fn client_builder() -> reqwest::ClientBuilder {
    let on_host = Policy::custom(|attempt| {
        let is_same = attempt.previous().last().is_some_and(|last| last.origin() == attempt.url().origin());
        match attempt.previous().len() {
            0..MOST_REDIRECTS if is_same => attempt.follow(),
            _ => attempt.stop(),
        }
    });
    // If the process has a default provider already, that one is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let agent = concat!("zarrcast/", env!("CARGO_PKG_VERSION"));
    let builder = reqwest::Client::builder().redirect(on_host).user_agent(agent);
    if let Some(authorities) = authorities_instead() { builder.tls_certs_only(authorities) } else { builder }
}

/// Returns the authorities to trust instead of the system's, or `None` if the system has some.
///
/// A system without authorities, such as an empty container, uses the bundled ones of Mozilla. If the environment names
/// a file or folder without authorities, none is trusted. Connections without a certificate still work.
#[cfg(all(unix, not(target_vendor = "apple")))]
fn authorities_instead() -> Option<Vec<Certificate>> {
    // Loaded once, as the files are long.
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

/// Parses an HTTP date such as `Sun, 06 Nov 1994 08:49:37 GMT`. Returns seconds since 1970.
pub(super) fn seconds(date: &str) -> Option<u64> {
    DateTime::parse_from_rfc2822(date.trim()).ok()?.timestamp().try_into().ok()
}

/// Returns the delay that the server requests, in seconds or as a date by its own clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = header(headers, RETRY_AFTER)?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let here = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let now = header(headers, DATE).and_then(seconds).unwrap_or_else(here);
    Some(Duration::from_secs(seconds(text)?.saturating_sub(now)))
}

/// Returns the delay before the next attempt. It doubles each time. It is reduced by up to a half, so that clients do
/// not repeat at the same time.
fn backoff(attempts: u32) -> Duration {
    let longest = SHORTEST_WAIT.saturating_mul(1 << attempts.clamp(1, 10)).min(LONGEST_WAIT);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    longest.mul_f64(1.0 - f64::from(now.subsec_nanos() % 1000) / 2000.0)
}

/// Threads for connections. Blocking and computing work runs on the caller's threads.
const THREADS: usize = 2;

/// Returns the shared runtime. Fails if the system has no more threads.
pub(super) fn runtime() -> Result<&'static Runtime, io::Error> {
    static RUNTIME: OnceLock<Result<Runtime, io::Error>> = OnceLock::new();
    let made = RUNTIME.get_or_init(|| {
        let build = || Builder::new_multi_thread().worker_threads(THREADS).thread_name("requests").enable_all().build();
        // tokio panics if the system refuses a thread.
        let refused = |_| io::Error::other("no memory or no threads for requests: raise the limits of the process");
        catch_unwind(build).unwrap_or_else(|panic| Err(refused(panic)))
    });
    made.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use object_store::client::HttpRequestBody;

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

    /// Other requests then fail at once: 10,000 chunks would wait for hours.
    #[test]
    fn store_that_answered_and_then_answers_no_request_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/a", listener.local_addr().unwrap());
        let once = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx").unwrap();
        });
        let service = Service::new(4, Kind::Http, None).unwrap();
        let service = Service { patience: Duration::from_millis(300), ..service };
        let get = || {
            let mut request = HttpRequest::new(HttpRequestBody::empty());
            *request.uri_mut() = url.parse().unwrap();
            runtime().unwrap().block_on(service.answer(&Call::new(Some("a"), 9), request))
        };
        assert!(get().is_ok());
        once.join().unwrap();
        assert!(service.given_up.get().is_none());
        assert!(get().is_err() && service.given_up.get().is_some());
        assert!(matches!(get(), Err(Failure::Final(why, _)) if why.contains("attempts in")));
    }

    #[test]
    fn every_bundled_authority_is_one_that_can_be_trusted() {
        let mut store = rustls::RootCertStore::empty();
        let (added, ignored) = store.add_parsable_certificates(TLS_SERVER_ROOT_CERTS.iter().cloned());
        assert!(ignored == 0 && added > 100);
    }
}
