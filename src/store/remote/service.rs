//! The HTTP service below `object_store`: bounded requests in flight, deadlines, waits, and what an answer must be.
//!
//! `object_store` signs requests and makes them again. How long it waits before that, and when it gives up, is decided
//! here, since it knows neither `Retry-After` nor how many requests are too many. Bodies are read here, so that one which
//! breaks off is asked for again.

use std::error::Error;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use futures_util::StreamExt;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use reqwest::header::{ACCEPT_ENCODING, AUTHORIZATION, DATE, HeaderMap, HeaderValue, RANGE, RETRY_AFTER};
use reqwest::{Method, StatusCode, Url};

use super::answer::{self, Answer};
use super::body::{Body, BodyLimit};
use super::certificate;
use super::date;
use super::lease::{LOST, LOST_HELP};
use super::let_go::OpenUploads;
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

tokio::task_local! {
    static CALL: Arc<Call>;
}

/// One call of `object_store`, which makes a request, again and again where that fails.
#[derive(Debug, Default)]
pub(super) struct Call {
    /// The whole key of the object; `None` for the bucket.
    key: Option<String>,
    /// The most bytes of an answer.
    most: u64,
    /// Bytes that the server moves before it answers.
    moves: u64,
    progress: Mutex<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    permit: Option<Permit>,
    began: Option<Instant>,
    attempts: u32,
    headers: HeaderMap,
    left_out: Vec<String>,
    failure: Option<Failure>,
}

impl Call {
    /// A call for an object, or for the bucket, of whose answer at most `most` bytes are read.
    pub(super) fn of(key: Option<&str>, most: u64) -> Self {
        Call { key: key.map(str::to_owned), most, ..Call::default() }
    }

    /// The same, where the server moves so many bytes.
    pub(super) fn moving(self, moves: u64) -> Self {
        Call { moves, ..self }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is of a run's lock or notes, which slow writes of chunks may not keep waiting.
    fn is_urgent(&self) -> bool {
        let name = self.key.as_deref().and_then(|key| key.rsplit_once(".zarrcast/")).map(|(_, name)| name);
        name.is_some_and(|name| name.ends_with("lock") || name.contains("journal/"))
    }
}

/// A call that has succeeded.
#[derive(Debug)]
pub(super) struct Response<T> {
    pub(super) value: T,
    /// Those of the last answer.
    pub(super) headers: HeaderMap,
    /// The keys of a listing that are no paths.
    pub(super) left_out: Vec<String>,
}

/// Why there is no answer, or none of a success.
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
    /// The store answers, and asking again would change nothing.
    Answered(Box<Answer>),
    /// No other attempt can succeed: why, and what to do.
    Final(String, &'static str),
}

/// Why one attempt failed.
#[derive(Debug)]
pub(super) enum AttemptError {
    /// It may succeed another time, after a wait that the store may have asked for.
    Passing(String, Option<Duration>),
    Failure(Failure),
}

impl AttemptError {
    pub(super) fn passing(why: impl Into<String>) -> Self {
        AttemptError::Passing(why.into(), None)
    }

    pub(super) fn answered(answer: Answer) -> Self {
        AttemptError::Failure(Failure::Answered(Box::new(answer)))
    }
}

/// Stands for a [`Failure`] that the call has kept, while `object_store` hands it on.
#[derive(Debug, thiserror::Error)]
#[error("the request failed")]
struct Failed;

/// The query and the header `Authorization` that go with each request to a web server. They may be secrets.
#[derive(Default)]
pub(super) struct Secrets {
    pub(super) query: Option<String>,
    pub(super) authorization: Option<String>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

/// The service of a store.
#[derive(Debug)]
pub(super) struct Service {
    client: HttpClient,
    secrets: Secrets,
    limiter: Arc<Limiter>,
    /// Whether the store has answered once.
    is_in_contact: AtomicBool,
    /// Why it was given up.
    given_up: OnceLock<String>,
    /// What is let go of where the process ends.
    pub(super) open: OpenUploads,
}

impl Service {
    pub(super) fn new(requests: usize, secrets: Secrets, is_web: bool) -> Result<Self, String> {
        Ok(Service {
            client: HttpClient::new(client(requests, None, is_web)?),
            secrets,
            limiter: Arc::new(Limiter::new(requests)),
            is_in_contact: AtomicBool::new(false),
            given_up: OnceLock::new(),
            open: OpenUploads::default(),
        })
    }

    /// Waits for what `object_store` does by this service.
    pub(super) async fn run<T>(
        &self,
        call: Call,
        work: impl Future<Output = object_store::Result<T>>,
    ) -> Result<Response<T>, Failure> {
        // Before the request is signed, which holds for some minutes only.
        let permit = self.permit(&call).await;
        call.progress().permit = Some(permit);
        let call = Arc::new(call);
        let outcome = CALL.scope(call.clone(), work).await;
        let mut progress = call.progress();
        match outcome {
            Ok(value) => {
                let headers = std::mem::take(&mut progress.headers);
                Ok(Response { value, headers, left_out: std::mem::take(&mut progress.left_out) })
            }
            Err(error) => Err(match (progress.failure.take(), error) {
                (Some(failure), _) => failure,
                (
                    None,
                    object_store::Error::NotImplemented { .. } | object_store::Error::NotSupported { .. },
                ) => Failure::Answered(Box::new(Answer::new(StatusCode::NOT_IMPLEMENTED))),
                (None, object_store::Error::NotFound { .. }) => {
                    Failure::Answered(Box::new(Answer::new(StatusCode::NOT_FOUND)))
                }
                (None, error) if progress.began.is_none() => Failure::Credentials(cause(&error)),
                (None, error) => Failure::Final(
                    format!("the answer cannot be read: {}", cause(&error)),
                    "check that the address is that of a store, and its endpoint",
                ),
            }),
        }
    }

    async fn permit(&self, call: &Call) -> Permit {
        if call.is_urgent() { self.limiter.permit_at_once() } else { self.limiter.permit().await }
    }

    /// Leave to make a request, once the locks that it needs are known to be held.
    async fn leave(&self, call: &Call, request: &HttpRequest) -> Result<Permit, AttemptError> {
        let leases = self.open.leases(request, call.key.as_deref());
        let began = Instant::now();
        let mut permit = call.progress().permit.take();
        loop {
            let held = match permit.take() {
                Some(permit) => permit,
                None => self.permit(call).await,
            };
            if leases.iter().any(|lease| lease.is_lost()) {
                return Err(AttemptError::Failure(Failure::Final(LOST.to_owned(), LOST_HELP)));
            }
            if leases.iter().all(|lease| lease.is_known()) {
                return Ok(held);
            }
            drop(held);
            if began.elapsed() > PATIENCE {
                let why = "the lock of the run could not be renewed".to_owned();
                return Err(AttemptError::Failure(Failure::GivenUp(why)));
            }
            tokio::time::sleep(SHORTEST_WAIT).await;
        }
    }

    /// How much longer a call may take, and how long it waits for a sign of the server.
    fn patience(&self, call: &Call) -> (Duration, Duration) {
        let began = *call.progress().began.get_or_insert_with(Instant::now);
        let is_first = !self.is_in_contact.load(Ordering::Acquire);
        let left = if is_first { FIRST_CONTACT } else { PATIENCE }.saturating_sub(began.elapsed());
        (left, if is_first { FIRST_ATTEMPT.min(left) } else { SILENCE })
    }

    /// Makes a request once.
    async fn attempt(&self, call: &Call, mut request: HttpRequest) -> Result<HttpResponse, AttemptError> {
        let permit = self.leave(call, &request).await?;
        if let Some(why) = self.given_up.get() {
            return Err(AttemptError::Failure(Failure::GivenUp(why.clone())));
        }
        let (_, silence) = self.patience(call);
        self.complete(&mut request)?;
        let answer = self.receive(call, request.clone(), silence).await?;
        if is_passing(answer.status) && !fails_by(&request, answer.status) {
            if matches!(answer.status.as_u16(), 429 | 503) {
                permit.too_many();
            }
            let why = format!("the server answers {}", answer.status);
            return Err(AttemptError::Passing(why, retry_after(&answer.headers)));
        }
        self.is_in_contact.store(true, Ordering::Release);
        permit.succeeded();
        let (answer, left_out) = answer.checked(&request, call.key.is_some())?;
        let mut progress = call.progress();
        progress.headers = answer.headers.clone();
        progress.left_out = left_out;
        drop(progress);
        answer.into_response(&request, call.key.is_some())
    }

    /// Adds what `object_store` does not know, or may not sign since servers on the way change it.
    fn complete(&self, request: &mut HttpRequest) -> Result<(), AttemptError> {
        let no_url =
            |why: String| AttemptError::Failure(Failure::Final(why, "check the address and the endpoint"));
        // Not all servers take `+` for the space that it stands for in a query.
        let url = match (&self.secrets.query, request.uri().to_string().split_once('?')) {
            (Some(query), _) => format!("{}?{query}", request.uri()),
            (None, Some((path, query))) => format!("{path}?{}", query.replace('+', "%20")),
            (None, None) => request.uri().to_string(),
        };
        Url::parse(&url).map_err(|error| no_url(format!("the address is no URL: {error}")))?;
        *request.uri_mut() = url.parse().map_err(|_| no_url("the address is no URL".to_owned()))?;
        if let Some(authorization) = &self.secrets.authorization
            && let Ok(mut value) = HeaderValue::from_str(authorization)
        {
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        if request.method() == Method::GET {
            request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        Ok(())
    }

    /// Sends a request, and reads what comes.
    async fn receive(
        &self,
        call: &Call,
        request: HttpRequest,
        silence: Duration,
    ) -> Result<Answer, AttemptError> {
        let sent = request.body().content_length() as u64;
        let longest = silence + Duration::from_secs(sent / SLOWEST_UPLOAD + call.moves / SLOWEST_MOVE);
        let has_body = request.method() != Method::HEAD;
        let range = request.headers().get(RANGE).and_then(|range| range.to_str().ok());
        let keep = BodyLimit::of(range, call.most);
        let answered = tokio::time::timeout(longest, self.client.execute(request)).await;
        let silent =
            || AttemptError::passing(format!("no answer came within {:.0} s", longest.as_secs_f64().ceil()));
        let (parts, body) = answered.map_err(|_| silent())?.map_err(|error| passing(&error))?.into_parts();
        let mut kept = Body::new(keep, parts.status, &parts.headers, has_body)?;
        let mut pieces = body.bytes_stream();
        while has_body && !kept.is_done() {
            let silent = |_| AttemptError::passing(format!("the answer stopped for {} s", silence.as_secs()));
            match tokio::time::timeout(silence, pieces.next()).await.map_err(silent)? {
                Some(piece) => kept.take(&piece.map_err(|error| passing(&error))?)?,
                None => break,
            }
        }
        let (body, object_bytes) = kept.finish()?;
        Ok(Answer { status: parts.status, headers: parts.headers, body, object_bytes })
    }

    /// Waits before a request is made again, or keeps why it is not.
    async fn failed(&self, call: &Call, trouble: AttemptError) -> HttpError {
        let failure = match trouble {
            AttemptError::Failure(failure) => failure,
            AttemptError::Passing(why, asked) => {
                call.progress().attempts += 1;
                let attempts = call.progress().attempts;
                let wait = asked.unwrap_or_else(|| backoff(attempts));
                let (left, _) = self.patience(call);
                if wait < left {
                    tokio::time::sleep(wait).await;
                    return HttpError::new(HttpErrorKind::Request, Failed);
                }
                let began = call.progress().began.map_or(0, |began| began.elapsed().as_secs());
                let why = format!("{why} ({attempts} attempts in {began} s)");
                if !self.is_in_contact.load(Ordering::Acquire) {
                    let _ = self.given_up.set(why.clone());
                }
                Failure::GivenUp(why)
            }
        };
        call.progress().failure = Some(failure);
        HttpError::new(HttpErrorKind::Unknown, Failed)
    }
}

/// Gives `object_store` the service.
#[derive(Debug, Clone)]
pub(super) struct Connector(pub(super) Arc<Service>);

impl HttpConnector for Connector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

impl HttpService for Connector {
    // As `async_trait` has it, which is not worth a dependency.
    fn call<'life, 'future>(
        &'life self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'future>>
    where
        'life: 'future,
        Self: 'future,
    {
        Box::pin(async move {
            let call = CALL.try_with(Arc::clone).unwrap_or_default();
            match self.0.attempt(&call, request).await {
                Ok(response) => Ok(response),
                Err(trouble) => Err(self.0.failed(&call, trouble).await),
            }
        })
    }
}

/// A client of `reqwest`; with `limit`, no exchange takes longer. Redirects are followed: of a bucket only on its own host.
pub(super) fn client(
    requests: usize,
    limit: Option<Duration>,
    is_web: bool,
) -> Result<reqwest::Client, String> {
    use reqwest::redirect::Policy;
    // The first of all in the process counts, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let on_host = Policy::custom(|attempt| {
        let is_same = attempt.previous().last().is_some_and(|last| last.origin() == attempt.url().origin());
        match attempt.previous().len() {
            0..MOST_REDIRECTS if is_same => attempt.follow(),
            _ => attempt.stop(),
        }
    });
    let builder = reqwest::Client::builder()
        .redirect(if is_web { Policy::limited(MOST_REDIRECTS) } else { on_host })
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
    builder.build().map_err(|error| cause(&error))
}

/// The innermost cause of an error, which says most: "connection refused". The words of `object_store` name its types, and
/// may name secrets.
pub(super) fn cause(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(next) = innermost.source() {
        innermost = next;
    }
    innermost.to_string()
}

fn passing(error: &HttpError) -> AttemptError {
    match certificate::untrusted(error) {
        Some((why, help)) => AttemptError::Failure(Failure::Final(why, help)),
        None => AttemptError::passing(cause(error)),
    }
}

/// Whether a server says so that does not know what it will say the next time.
fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 429 | 500 | 502 | 503 | 504)
}

/// Whether it asks for what some servers have not learned, and fail at: more bytes from the end than an object may have, or
/// many objects to be removed.
fn fails_by(request: &HttpRequest, status: StatusCode) -> bool {
    let is_from_end =
        request.headers().get(RANGE).is_some_and(|range| range.as_bytes().starts_with(b"bytes=-"));
    status == StatusCode::INTERNAL_SERVER_ERROR && (is_from_end || answer::is_of_many(request))
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
