//! Reasons of failed requests, and advice for the user.

use std::error::Error;
use std::io;
use std::iter::successors;
use std::time::Duration;

use reqwest::StatusCode;
use rustls::CertificateError;

use super::answer::StoreResponse;
use super::{Client, Kind};
use crate::store::{RemoteError, StoreError, held};

/// Most characters that are shown of a server's message.
const MOST_WORDS: usize = 200;

/// Reason of a failed request.
#[derive(Debug)]
pub(super) enum Failure {
    /// Another attempt may succeed, after the delay that the store may have requested.
    Passing(String, Option<Duration>),
    /// The object has more bytes than allowed.
    TooLarge { found: u64, bound: u64 },
    /// The store answered, and a repetition would not help. A success status means that the server ignored a suffix
    /// range.
    Answered(Box<StoreResponse>),
    /// No attempt can succeed. Contains the reason and the advice.
    Final(String, &'static str),
}

impl Failure {
    pub(super) fn passing(why: impl Into<String>) -> Self {
        Failure::Passing(why.into(), None)
    }

    /// Returns the failure of an answer with only a status.
    pub(super) fn of_status(status: StatusCode) -> Self {
        Failure::Answered(Box::new(StoreResponse { status, ..StoreResponse::default() }))
    }

    /// Converts an error of a request, or of reading its answer.
    pub(super) fn of_transport(error: &(dyn Error + 'static)) -> Self {
        untrusted(error).unwrap_or_else(|| Failure::passing(cause(error)))
    }

    pub(super) fn status(&self) -> Option<u16> {
        if let Failure::Answered(answer) = self { Some(answer.status.as_u16()) } else { None }
    }
}

/// Returns the innermost cause of an error, which is the most specific: "connection refused". The messages of
/// `object_store` contain its type names, and may contain secrets.
pub(super) fn cause(error: &(dyn Error + 'static)) -> String {
    successors(Some(error), |&error| error.source()).last().unwrap_or(error).to_string()
}

/// Returns the failure of a server that cannot be trusted. `None` means an error of another kind.
fn untrusted(error: &(dyn Error + 'static)) -> Option<Failure> {
    // `io::Error::source` skips the contained error and returns the source of that one.
    let mut errors = successors(Some(error), |&error| match error.downcast_ref().and_then(io::Error::get_ref) {
        Some(inside) => Some(inside),
        None => error.source(),
    });
    let why = match errors.find_map(|error| error.downcast_ref())? {
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "the server's certificate is not signed by an authority that this machine trusts".to_owned()
        }
        rustls::Error::InvalidCertificate(error) => format!("the server's certificate is not valid: {error}"),
        rustls::Error::InvalidMessage(_) => "the server does not use TLS there".to_owned(),
        _ => return None,
    };
    let help = "check the address (name, port, http:// or https://) and the clock of this machine; to trust another \
        authority, set SSL_CERT_FILE to a PEM file of all certificates";
    Some(Failure::Final(why, help))
}

/// Creates an error of a remote store. `object` is the name in messages.
pub(super) fn error(action: &'static str, object: String, why: impl Into<String>, help: &str) -> StoreError {
    let (why, help) = (why.into(), help.to_owned());
    StoreError::remote(RemoteError { action, object, why, help, ..RemoteError::default() })
}

impl Client {
    /// Creates an error for an object of this store.
    pub(super) fn error(&self, action: &'static str, key: &str, why: impl Into<String>, help: &str) -> StoreError {
        error(action, self.shown(key), why, help)
    }

    pub(super) fn failed(&self, action: &'static str, key: &str, failure: Failure) -> StoreError {
        let object = self.shown(key);
        let is_refused = matches!(&failure, Failure::Answered(answer) if is_refused(answer));
        let is_unauthorized = failure.status() == Some(401);
        if is_unauthorized {
            // Announced reads that have not started would fail, too.
            held(&self.prefetched).clear();
        }
        let (why, help) = match failure {
            Failure::TooLarge { found, bound } => return StoreError::TooLarge { object, found, bound },
            Failure::Answered(answer) => self.answered(action, &answer),
            Failure::Passing(why, _) => (why, unreachable_help(self.service.kind).to_owned()),
            Failure::Final(why, help) => (why, help.to_owned()),
        };
        StoreError::remote(RemoteError { action, object, why, help, is_refused, is_unauthorized })
    }

    /// Returns the reason of an error answer, and the advice.
    fn answered(&self, action: &str, answer: &StoreResponse) -> (String, String) {
        let status = answer.status;
        let region = answer.header("x-amz-bucket-region");
        // Amazon answers a request to a wrong region with one of these statuses.
        if let Some(region) = region.filter(|_| matches!(status.as_u16(), 301 | 307 | 400)) {
            return (format!("the bucket is in the region {region} ({status})"), format!("set AWS_REGION={region}"));
        }
        if let Some(location) = answer.header("location").filter(|_| status.is_redirection()) {
            // The rest of the address may be a secret.
            let led_to = reqwest::Url::parse(location)
                .map_or_else(|_| "an address that is no URL".to_owned(), |url| url.origin().ascii_serialization());
            let why = format!("the store redirects to {led_to}, which must not get the credentials of the store");
            return (format!("{why} ({status})"), format!("if you trust {led_to}, set it as the endpoint"));
        }
        let code = answer.code().map(line);
        // Azure appends the request id and the time to its message.
        let message = answer.element("Message").map(line);
        let message = message.as_deref().and_then(|message| message.split(" RequestId:").next());
        let words = match (&code, message.filter(|message| !message.is_empty())) {
            (Some(code), Some(message)) => format!("the store answers {status}: {code}, {message}"),
            (Some(code), None) => format!("the store answers {status}: {code}"),
            (None, _) => format!("the store answers {status}"),
        };
        (words, self.help(action, code.as_deref().unwrap_or_default(), status))
    }

    fn help(&self, action: &str, code: &str, status: StatusCode) -> String {
        let help = match (known(code), status.as_u16()) {
            (Some(CREDENTIALS), _) | (None, 401) => credentials_help(self.service.kind),
            (Some(help), _) => help,
            (None, 403) => {
                let who = if self.stores.is_anonymous {
                    credentials_help(self.service.kind)
                } else {
                    "the credentials do not allow it; public data may need `--anonymous`"
                };
                // Amazon answers 403 for an absent object if the user may not list the bucket.
                let is_for_missing = matches!(action, "read" | "look at") && !self.options.refused_is_absent;
                let more = "; if the store answers 403 for missing objects, add `--missing-status 403`";
                return format!("{who}{}", if is_for_missing { more } else { "" });
            }
            (None, 301 | 307 | 308) => "check the endpoint and the region",
            (None, 404) => "check the address",
            (None, 405 | 501) => "the server does not support this: check that the address is that of a store",
            (None, _) => "check the address and the options of the store",
        };
        help.to_owned()
    }
}

/// Returns true if only this object is refused. The bucket and the credentials are valid.
pub(super) fn is_refused(answer: &StoreResponse) -> bool {
    answer.status.as_u16() == 403 && answer.code().and_then(known).is_none()
}

/// Returns true if the bucket itself is absent, not only the object.
pub(super) fn lacks_bucket(answer: &StoreResponse) -> bool {
    answer.code().and_then(known) == Some(NO_BUCKET)
}

/// Converts a text to one line, and truncates it.
fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(MOST_WORDS).collect()
}

const NO_BUCKET: &str = "there is no such bucket or container: check its name, the endpoint and the region";

/// Placeholder for the advice on credentials, which depends on the kind of store.
const CREDENTIALS: &str = "";

/// Returns the advice for a code that concerns the bucket or the credentials.
fn known(code: &str) -> Option<&'static str> {
    Some(match code {
        "NoSuchBucket" | "ContainerNotFound" | "ContainerBeingDeleted" | "InvalidBucketName" => NO_BUCKET,
        "InvalidAccessKeyId" | "NotSignedUp" => {
            "the store does not know the access key: check AWS_ACCESS_KEY_ID, AWS_PROFILE and the endpoint"
        }
        "SignatureDoesNotMatch" => "the secret key does not belong to the access key: check AWS_SECRET_ACCESS_KEY",
        "ExpiredToken" | "InvalidToken" | "ExpiredTokenException" => {
            "the credentials have expired: get new ones, such as by `aws sso login`"
        }
        "RequestTimeTooSkewed" => "the clock of this machine is wrong: set it",
        "AuthorizationHeaderMalformed" => "the region or the access key is wrong: check AWS_REGION",
        "InvalidResourceName" => "a container name has 3 to 63 lowercase letters, digits and single `-`",
        "AuthenticationFailed" | "AuthenticationRequired" | "AuthorizationFailure" | "InvalidAuthenticationInfo" => {
            CREDENTIALS
        }
        _ => return None,
    })
}

pub(super) fn credentials_help(kind: Kind) -> &'static str {
    match kind {
        Kind::Http => "give user and password in the URL, or an address that is signed",
        Kind::S3 => "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; public data need `--anonymous`",
        Kind::Google => "set GOOGLE_APPLICATION_CREDENTIALS to a file of credentials; public data need `--anonymous`",
        Kind::Azure => {
            "check AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_KEY, which expires; \
             public data need `--anonymous`"
        }
    }
}

pub(super) fn unreachable_help(kind: Kind) -> &'static str {
    match kind {
        Kind::Http => "check the address and the network, and try again",
        Kind::S3 => "check AWS_ENDPOINT_URL, AWS_REGION and the network, and try again",
        Kind::Google | Kind::Azure => "check the account, the endpoint and the network, and try again",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificate_error_is_found_however_deep_it_lies() {
        let shown = |error: &(dyn Error + 'static)| match untrusted(error) {
            Some(Failure::Final(why, help)) => format!("{why}; {help}"),
            _ => String::new(),
        };
        let error = rustls::Error::InvalidCertificate(CertificateError::Expired);
        assert!(shown(&error).contains("xpired"), "{}", shown(&error));
        let error = io::Error::other(io::Error::other(error));
        assert!(shown(&error).contains("xpired"));
        let error = io::Error::other(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer));
        assert!(shown(&error).contains("not signed by an authority") && shown(&error).contains("SSL_CERT_FILE"));
        assert!(untrusted(&io::Error::other("connection reset")).is_none());
    }
}
