//! Why a request came to nothing, in words, and what to do about it.

use std::error::Error;
use std::io;
use std::time::Duration;

use reqwest::StatusCode;
use rustls::CertificateError;

use super::{Answer, Client, Kind};
use crate::store::{RemoteError, StoreError};

/// The most letters of a server's own words.
const MOST_WORDS: usize = 200;

/// Why there is no answer, or none of a success.
#[derive(Debug)]
pub(super) enum Failure {
    /// Another attempt may succeed, after a wait that the store may have asked for.
    Passing(String, Option<Duration>),
    /// The object holds more bytes than may be read.
    TooLarge { found: u64, bound: u64 },
    /// The store answers, and asking again would change nothing. A success gives other bytes than the last ones, which were
    /// asked for.
    Answered(Box<Answer>),
    /// No other attempt can succeed: why, and what to do.
    Final(String, &'static str),
}

impl Failure {
    pub(super) fn passing(why: impl Into<String>) -> Self {
        Failure::Passing(why.into(), None)
    }

    /// An answer of which only the status is known.
    pub(super) fn of_status(status: StatusCode) -> Self {
        Failure::Answered(Box::new(Answer { status, ..Answer::default() }))
    }

    /// The failure of sending a request, or of reading its answer.
    pub(super) fn of_transport(error: &(dyn Error + 'static)) -> Self {
        untrusted(error).unwrap_or_else(|| Failure::passing(cause(error)))
    }

    /// The status of an answer.
    pub(super) fn status(&self) -> Option<u16> {
        if let Failure::Answered(answer) = self { Some(answer.status.as_u16()) } else { None }
    }
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

/// The failure of a server that is not spoken to, since nobody knows who it is; `None` for an error of another kind.
fn untrusted(error: &(dyn Error + 'static)) -> Option<Failure> {
    let mut next = error;
    let tls = loop {
        if let Some(tls) = next.downcast_ref() {
            break tls;
        }
        // An error of the system that holds another one gives the cause of that one as its own.
        next = match next.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inside) => inside,
            None => next.source()?,
        };
    };
    let why = match tls {
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

/// Whom is asked, and by whom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Who {
    pub(super) kind: Kind,
    /// True if nothing is signed.
    pub(super) is_anonymous: bool,
}

/// An error of what was attempted on an object, as messages name it.
pub(super) fn error(action: &'static str, object: String, why: impl Into<String>, help: &str) -> StoreError {
    let (why, help) = (why.into(), help.to_owned());
    StoreError::Remote(Box::new(RemoteError { action, object, why, help, is_refused: false }))
}

impl Client {
    /// An error of what was attempted on an object.
    pub(super) fn error(&self, action: &'static str, key: &str, why: impl Into<String>, help: &str) -> StoreError {
        error(action, self.shown(key), why, help)
    }

    /// The error of a call that has failed.
    pub(super) fn failed(&self, action: &'static str, key: &str, failure: Failure) -> StoreError {
        let object = self.shown(key);
        let is_refused = matches!(&failure, Failure::Answered(answer) if is_refused(answer));
        let (why, help) = match failure {
            Failure::TooLarge { found, bound } => return StoreError::TooLarge { object, found, bound },
            Failure::Answered(answer) => answered(&answer, self.who),
            Failure::Passing(why, _) => (why, unreachable_help(self.who.kind).to_owned()),
            Failure::Final(why, help) => (why, help.to_owned()),
        };
        StoreError::Remote(Box::new(RemoteError { action, object, why, help, is_refused }))
    }
}

/// Why an answer is none of a success, and what to do.
fn answered(answer: &Answer, who: Who) -> (String, String) {
    let status = answer.status;
    let region = answer.header("x-amz-bucket-region");
    if let Some(region) = region.filter(|_| matches!(status.as_u16(), 301 | 307 | 400)) {
        return (format!("the bucket is in the region {region} ({status})"), format!("set AWS_REGION={region}"));
    }
    if let Some(location) = answer.header("location").filter(|_| status.is_redirection()) {
        let Ok(url) = reqwest::Url::parse(location) else {
            return (format!("it redirects to an address that is no URL ({status})"), "check the endpoint".to_owned());
        };
        let led_to = url.origin().ascii_serialization();
        let why = format!("the store redirects to {led_to}, which must not get the credentials of the store");
        return (format!("{why} ({status})"), format!("if you trust {led_to}, set it as the endpoint"));
    }
    let code = answer.code().map(line);
    // In the store's own words, without the number and the time of the request, which Azure puts behind them.
    let message = answer.element("Message").map(line);
    let message = message.as_deref().and_then(|message| message.split(" RequestId:").next());
    let words = match (&code, message.filter(|message| !message.is_empty())) {
        (Some(code), Some(message)) => format!("the store answers {status}: {code}, {message}"),
        (Some(code), None) => format!("the store answers {status}: {code}"),
        (None, _) => format!("the store answers {status}"),
    };
    (words, help(code.as_deref().unwrap_or_default(), status, who))
}

/// True if one object is refused, and others may not be: nothing is wrong with who asks.
pub(super) fn is_refused(answer: &Answer) -> bool {
    answer.status.as_u16() == 403 && answer.code().and_then(known).is_none()
}

/// True if the bucket itself is absent, not only the object.
pub(super) fn lacks_bucket(answer: &Answer) -> bool {
    answer.code().and_then(known) == Some(NO_BUCKET)
}

/// A text on one line, as much of it as is shown.
fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(MOST_WORDS).collect()
}

const NO_BUCKET: &str = "there is no such bucket or container: check its name, the endpoint and the region";
/// Stands for what is said of the credentials of a kind of store.
const CREDENTIALS: &str = "";

/// Help for a code that says what is wrong with the bucket, or with who asks.
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

fn help(code: &str, status: StatusCode, who: Who) -> String {
    let help = match (known(code), status.as_u16()) {
        (Some(CREDENTIALS), _) | (None, 401) => credentials_help(who.kind),
        (Some(help), _) => help,
        (None, 403) => {
            let who = if who.is_anonymous {
                credentials_help(who.kind)
            } else {
                "the credentials do not allow it; public data may need `--anonymous`"
            };
            return format!("{who}; if the store answers 403 for missing objects, add `--missing-status 403`");
        }
        (None, 301 | 307 | 308) => "check the endpoint and the region",
        (None, 404) => "check the address",
        (None, 405 | 501) => "the server does not support this: check that the address is that of a store",
        (None, _) => "check the address and the options of the store",
    };
    help.to_owned()
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
        let told = |error: &(dyn Error + 'static)| match untrusted(error) {
            Some(Failure::Final(why, help)) => format!("{why}; {help}"),
            _ => String::new(),
        };
        let error = rustls::Error::InvalidCertificate(CertificateError::Expired);
        assert!(told(&error).contains("xpired"), "{}", told(&error));
        let error = io::Error::other(io::Error::other(error));
        assert!(told(&error).contains("xpired"));
        let error = io::Error::other(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer));
        assert!(told(&error).contains("not signed by an authority") && told(&error).contains("SSL_CERT_FILE"));
        assert!(untrusted(&io::Error::other("connection reset")).is_none());
    }
}
