//! What the kinds of stores differ in: addresses and signatures.

use std::sync::{PoisonError, RwLock};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use object_store::aws::{AwsAuthorizer, AwsCredentialProvider};
use object_store::azure::{AzureAuthorizer, AzureCredentialProvider};
use object_store::client::HttpRequest;
use object_store::gcp::GcpCredentialProvider;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};

use super::address::{Address, Service, percent_encoded};
use super::body::header;
use super::transport::{Answer, Request};

/// A bucket or a server, and who asks.
#[derive(Debug)]
pub(super) enum Backend {
    Web {
        root: String,
        /// The query that goes with every key.
        query: Option<String>,
        /// The whole header `Authorization`.
        authorization: Option<String>,
    },
    S3(S3),
    Google {
        /// With the bucket.
        root: String,
        credentials: Option<GcpCredentialProvider>,
    },
    Azure {
        /// With the container.
        root: String,
        account: String,
        credentials: Option<AzureCredentialProvider>,
    },
}

/// A bucket of S3, or of what speaks like it.
#[derive(Debug)]
pub(super) struct S3 {
    pub(super) endpoint: S3Endpoint,
    pub(super) bucket: String,
    pub(super) region: RwLock<String>,
    /// Nobody gave the region: it may be another one.
    pub(super) learns_region: bool,
    pub(super) credentials: Option<AwsCredentialProvider>,
    pub(super) signs_bodies: bool,
    pub(super) requester_pays: bool,
    /// The headers of each request that makes an object.
    pub(super) encryption: Vec<(&'static str, String)>,
}

/// How the address of a bucket comes about.
#[derive(Debug)]
pub(super) enum S3Endpoint {
    /// `https://s3.REGION.amazonaws.com/BUCKET`.
    AmazonPath,
    /// `https://BUCKET.s3.REGION.amazonaws.com`.
    AmazonHost,
    /// Another one, with the bucket.
    Other(String),
}

impl S3 {
    fn region(&self) -> String {
        self.region.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn root(&self) -> String {
        match &self.endpoint {
            S3Endpoint::AmazonPath => format!("https://s3.{}.amazonaws.com/{}", self.region(), self.bucket),
            S3Endpoint::AmazonHost => format!("https://{}.s3.{}.amazonaws.com", self.bucket, self.region()),
            S3Endpoint::Other(root) => root.clone(),
        }
    }
}

/// The version of Azure's interface that is spoken.
const AZURE_VERSION: &str = "2023-11-03";

impl Backend {
    /// A web server.
    pub(super) fn web(address: &Address) -> Self {
        let authorization = address
            .user()
            .map(|(name, password)| format!("Basic {}", STANDARD.encode(format!("{name}:{password}"))));
        let query = address.query().map(str::to_owned);
        Backend::Web { root: address.root.clone(), query, authorization }
    }

    pub(super) fn service(&self) -> Service {
        match self {
            Backend::Web { .. } => Service::Http,
            Backend::S3(_) => Service::S3,
            Backend::Google { .. } => Service::Google,
            Backend::Azure { .. } => Service::Azure,
        }
    }

    /// Whether requests are signed.
    pub(super) fn is_anonymous(&self) -> bool {
        match self {
            Backend::Web { authorization, .. } => authorization.is_none(),
            Backend::S3(bucket) => bucket.credentials.is_none(),
            Backend::Google { credentials, .. } => credentials.is_none(),
            Backend::Azure { credentials, .. } => credentials.is_none(),
        }
    }

    fn url(&self, request: &Request) -> String {
        let mut url = match self {
            Backend::S3(bucket) => bucket.root(),
            Backend::Web { root, .. } | Backend::Google { root, .. } | Backend::Azure { root, .. } => {
                root.clone()
            }
        };
        if let Some(key) = &request.key {
            url.push('/');
            match self {
                // The beginning of the key stands in the URL as it was given.
                Backend::Web { .. } => url.push_str(key),
                _ => percent_encoded(key, true, &mut url),
            }
        }
        let mut separator = '?';
        if let Backend::Web { query: Some(query), .. } = self {
            url.push(separator);
            url.push_str(query);
            separator = '&';
        }
        for (name, value) in &request.query {
            url.push(separator);
            url.push_str(name);
            url.push('=');
            percent_encoded(value, false, &mut url);
            separator = '&';
        }
        url
    }

    /// The header by which a server is told which object it copies.
    pub(super) fn copy_source(&self, key: &str) -> Option<(&'static str, String)> {
        let (name, mut value) = match self {
            Backend::Web { .. } => return None,
            Backend::S3(bucket) => ("x-amz-copy-source", bucket.bucket.clone()),
            // The bucket is the last of the address.
            Backend::Google { root, .. } => ("x-goog-copy-source", root.rsplit('/').next()?.to_owned()),
            Backend::Azure { root, .. } => ("x-ms-copy-source", root.clone()),
        };
        value.push('/');
        percent_encoded(key, true, &mut value);
        Some((name, value))
    }

    /// A request with its address and its signature; an error where there are no credentials.
    pub(super) async fn signed(&self, request: &Request) -> Result<HttpRequest, String> {
        let url = self.url(request);
        let mut signed = HttpRequest::new(request.body.clone());
        *signed.method_mut() = request.method.clone();
        *signed.uri_mut() = url.parse().map_err(|error| format!("the address is no URL: {error}"))?;
        let encryption = match self {
            Backend::S3(bucket) if request.makes_object() => &bucket.encryption[..],
            _ => &[],
        };
        for (name, value) in request.headers.iter().chain(encryption) {
            let value = HeaderValue::from_str(value).map_err(|error| error.to_string())?;
            signed.headers_mut().insert(HeaderName::from_static(name), value);
        }
        match self {
            Backend::Web { authorization: Some(authorization), .. } => authorize(&mut signed, authorization)?,
            Backend::S3(bucket) => bucket.sign(&mut signed).await?,
            Backend::Google { credentials: Some(credentials), .. } => {
                let credential = credentials.get_credential().await.map_err(|error| cause(&error))?;
                if !credential.bearer.is_empty() {
                    authorize(&mut signed, &format!("Bearer {}", credential.bearer))?;
                }
            }
            Backend::Azure { account, credentials, .. } => {
                let version = HeaderValue::from_static(AZURE_VERSION);
                signed.headers_mut().insert(HeaderName::from_static("x-ms-version"), version);
                if let Some(credentials) = credentials {
                    let credential = credentials.get_credential().await.map_err(|error| cause(&error))?;
                    let authorizer = AzureAuthorizer::new(&credential, account);
                    authorizer.try_authorize(&mut signed).map_err(|error| cause(&error))?;
                }
            }
            Backend::Web { authorization: None, .. } | Backend::Google { credentials: None, .. } => {}
        }
        Ok(signed)
    }

    /// Whether an answer told the region of the bucket, which nobody knew.
    pub(super) fn takes_region_of(&self, answer: &Answer) -> bool {
        let Backend::S3(bucket) = self else { return false };
        let told = header(&answer.headers, "x-amz-bucket-region");
        let is_elsewhere = matches!(answer.status.as_u16(), 301 | 307 | 400 | 403);
        let Some(told) = told.filter(|_| bucket.learns_region && is_elsewhere) else { return false };
        let mut region = bucket.region.write().unwrap_or_else(PoisonError::into_inner);
        let is_other = *region != told;
        told.clone_into(&mut region);
        is_other
    }
}

impl S3 {
    async fn sign(&self, request: &mut HttpRequest) -> Result<(), String> {
        let Some(credentials) = &self.credentials else { return Ok(()) };
        let credential = credentials.get_credential().await.map_err(|error| cause(&error))?;
        let region = self.region();
        let authorizer = AwsAuthorizer::new(&credential, "s3", &region)
            .with_sign_payload(self.signs_bodies)
            .with_request_payer(self.requester_pays);
        authorizer.try_authorize(request, None).map_err(|error| cause(&error))
    }
}

fn authorize(request: &mut HttpRequest, authorization: &str) -> Result<(), String> {
    let mut value = HeaderValue::from_str(authorization).map_err(|error| error.to_string())?;
    value.set_sensitive(true);
    request.headers_mut().insert(AUTHORIZATION, value);
    Ok(())
}

/// The innermost cause of an error of `object_store`, whose own words name its types.
pub(super) fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(next) = innermost.source() {
        innermost = next;
    }
    innermost.to_string()
}
