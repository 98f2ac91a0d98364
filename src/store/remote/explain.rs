//! What a store answered, in words, and what to do about it.

use super::address::Kind;
use super::answer::{Answer, element, header};
use super::client::Client;
use super::service::Failure;
use crate::store::{RemoteError, StoreError};

/// The most letters of a server's own words.
const MOST_WORDS: usize = 200;

/// Whom is asked, and by whom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Who {
    pub(super) kind: Kind,
    /// Whether nothing is signed.
    pub(super) is_anonymous: bool,
}

/// An error of what was attempted on an object, as messages name it.
pub(super) fn error(
    action: &'static str,
    object: String,
    why: impl Into<String>,
    help: impl Into<String>,
) -> StoreError {
    let (why, help) = (why.into(), help.into());
    StoreError::Remote(Box::new(RemoteError { action, object, why, help, is_refused: false }))
}

impl Client {
    /// An error of what was attempted on an object.
    pub(super) fn error(
        &self,
        action: &'static str,
        key: &str,
        why: impl Into<String>,
        help: impl Into<String>,
    ) -> StoreError {
        error(action, self.shown(key), why, help)
    }

    /// The error of a call that has failed.
    pub(super) fn failed(
        &self,
        action: &'static str,
        key: &str,
        (failure, bound): (Failure, u64),
    ) -> StoreError {
        let kind = self.who.kind;
        let (why, help) = match failure {
            Failure::TooLarge(found) => {
                return StoreError::TooLarge { object: self.shown(key), found, bound };
            }
            Failure::GivenUp(why) => (why, unreachable_help(kind)),
            Failure::Credentials(why) => (format!("there are no credentials: {why}"), credentials_help(kind)),
            Failure::NotFromEnd => {
                ("other bytes came than were asked for".to_owned(), unreachable_help(kind))
            }
            Failure::Final(why, help) => (why, help),
            Failure::Answered(answer) => {
                let (why, help) = answered(&answer, self.who);
                let (object, is_refused) = (self.shown(key), is_refused(&answer));
                return StoreError::Remote(Box::new(RemoteError { action, object, why, help, is_refused }));
            }
        };
        self.error(action, key, why, help)
    }
}

/// Why an answer is none of a success, and what to do.
fn answered(answer: &Answer, who: Who) -> (String, String) {
    let code = answer.code().map(line);
    let known = code.as_deref().and_then(|code| known(code, who.kind));
    let status = answer.status;
    let words = match (&code, message(answer)) {
        (Some(code), Some(message)) => format!("the store answers {status}: {code}, {message}"),
        (Some(code), None) => format!("the store answers {status}: {code}"),
        (None, _) => format!("the store answers {status}"),
    };
    let region = header(&answer.headers, "x-amz-bucket-region");
    if let Some(region) = region.filter(|_| matches!(status.as_u16(), 301 | 307 | 400)) {
        let why = format!("the bucket lies in the region {region} ({status})");
        return (why, format!("set AWS_REGION={region}"));
    }
    let location = header(&answer.headers, "location").filter(|_| status.is_redirection());
    if let Some(url) = location.and_then(|url| reqwest::Url::parse(url).ok()) {
        let led_to = url.origin().ascii_serialization();
        let why = format!(
            "the store leads to {led_to}, which gets no credentials that were for the store ({status})"
        );
        return (why, format!("name {led_to} as the endpoint, where you trust it"));
    }
    if location.is_some() {
        let why = format!("its redirects lead to no answer ({status})");
        return (why, "check the endpoint".to_owned());
    }
    let help = match (known, status.as_u16()) {
        (Some(help), _) => help.to_owned(),
        (None, 401) => credentials_help(who.kind).to_owned(),
        (None, 403) => refused_help(who),
        (None, 301 | 307 | 308) => "check the endpoint and the region".to_owned(),
        (None, 404) => "check the address".to_owned(),
        (None, 405 | 501) => {
            "the server does not do this: check that the address is that of a store".to_owned()
        }
        (None, _) => "check the address and the options of the store".to_owned(),
    };
    (words, help)
}

/// Whether one object is refused, and others may not be: nothing is wrong with who asks.
pub(super) fn is_refused(answer: &Answer) -> bool {
    const OF_WHO_ASKS: [&str; 9] = [
        "InvalidAccessKeyId",
        "NotSignedUp",
        "SignatureDoesNotMatch",
        "ExpiredToken",
        "InvalidToken",
        "RequestTimeTooSkewed",
        "AuthenticationFailed",
        "AuthorizationFailure",
        "InvalidAuthenticationInfo",
    ];
    answer.status.as_u16() == 403 && answer.code().is_none_or(|code| !OF_WHO_ASKS.contains(&code))
}

/// Whether the bucket itself is absent, not only the object.
pub(super) fn lacks_bucket(answer: &Answer) -> bool {
    const CODES: [&str; 4] =
        ["NoSuchBucket", "ContainerNotFound", "ContainerBeingDeleted", "InvalidBucketName"];
    answer.code().is_some_and(|code| CODES.contains(&code))
}

/// In the store's own words, without the number and the time of the request, which Azure puts behind them.
fn message(answer: &Answer) -> Option<String> {
    let message = line(element(&answer.body, "Message")?);
    let words = message.split(" RequestId:").next().unwrap_or_default();
    (!words.is_empty()).then(|| words.to_owned())
}

/// A text on one line, as much of it as is shown.
fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(MOST_WORDS).collect()
}

fn known(code: &str, kind: Kind) -> Option<&'static str> {
    Some(match code {
        "NoSuchBucket" | "ContainerNotFound" | "InvalidBucketName" => {
            "there is no such bucket or container: check its name, the endpoint and the region"
        }
        "InvalidAccessKeyId" | "NotSignedUp" => {
            "the access key is not known there: check AWS_ACCESS_KEY_ID, AWS_PROFILE and the endpoint"
        }
        "SignatureDoesNotMatch" => {
            "the secret key does not belong to the access key: check AWS_SECRET_ACCESS_KEY"
        }
        "ExpiredToken" | "InvalidToken" | "ExpiredTokenException" => {
            "the credentials have expired: get new ones, such as by `aws sso login`"
        }
        "RequestTimeTooSkewed" => "the clock of this machine is wrong: set it",
        "AuthorizationHeaderMalformed" => "the region or the access key is wrong: check AWS_REGION",
        "InvalidResourceName" => {
            "that is no name of a container: 3 to 63 small letters, digits and single `-`"
        }
        "AuthenticationFailed"
        | "AuthorizationFailure"
        | "InvalidAuthenticationInfo"
        | "AuthenticationRequired" => credentials_help(kind),
        _ => return None,
    })
}

fn refused_help(who: Who) -> String {
    let who = if who.is_anonymous {
        credentials_help(who.kind)
    } else {
        "the credentials do not allow it; public data may need `--anonymous`"
    };
    format!("{who}; where the store answers 403 for what is absent, `--missing-status 403` takes it so")
}

fn credentials_help(kind: Kind) -> &'static str {
    match kind {
        Kind::Http => "give user and password in the URL, or an address that is signed",
        Kind::S3 => {
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; public data need `--anonymous`"
        }
        Kind::Google => {
            "set GOOGLE_APPLICATION_CREDENTIALS to a file of credentials; public data need `--anonymous`"
        }
        Kind::Azure => {
            "check AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_KEY, which expires; \
             public data need `--anonymous`"
        }
    }
}

fn unreachable_help(kind: Kind) -> &'static str {
    match kind {
        Kind::Http => "check the address and the network, and try again",
        Kind::S3 => "check AWS_ENDPOINT_URL, AWS_REGION and the network, and try again",
        Kind::Google | Kind::Azure => "check the account, the endpoint and the network, and try again",
    }
}
