//! URLs of remote stores, and their clients in `object_store`. Credentials, endpoints and regions come from options,
//! the environment and the files of the clouds' own tools.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::{HttpClient, StaticCredentialProvider};
use object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ClientConfigKey, RetryConfig};

use super::aws_files::AwsFiles;
use super::{Caller, Connector, Service, Stores, cause, client_builder, runtime};
use crate::store::location::{BAD_PERCENT, percent_decoded};
use crate::store::{Key, RemoteOptions};

/// Time limit of a request for credentials.
const CREDENTIALS: Duration = Duration::from_secs(4);

/// Settings without effect. The URL contains the bucket, and the other settings concern operations that are never or
/// always used.
const UNUSED: &str = "aws_bucket aws_conditional_put aws_copy_if_not_exists aws_disable_tagging azure_container_name \
    azure_disable_tagging google_bucket";
/// Settings, and those that have an effect only with them.
const NEEDED: [(&str, &str); 5] = [
    ("aws_server_side_encryption or aws_sse_kms_key_id", "aws_sse_bucket_key_enabled"),
    ("aws_web_identity_token_file", "aws_role_arn aws_role_session_name aws_endpoint_url_sts"),
    ("aws_role_arn", "aws_web_identity_token_file"),
    ("azure_storage_client_id", "azure_storage_client_secret azure_federated_token_file"),
    ("azure_storage_tenant_id", "azure_storage_client_secret azure_federated_token_file"),
];
/// Valid values of `AWS_SERVER_SIDE_ENCRYPTION`.
const ENCRYPTIONS: [&str; 4] = ["AES256", "aws:kms", "aws:kms:dsse", "sse-c"];

/// Returns the stores at an address, and their service.
pub(super) fn connect(address: &Address, options: &RemoteOptions) -> Result<(Stores, Arc<Service>), String> {
    let authorization = address.user.as_ref().map(|user| format!("Basic {}", STANDARD.encode(user)));
    let service = Arc::new(Service::new(options.requests.get(), address.kind, authorization.as_deref())?);
    let connector = Connector(HttpClient::new(Caller(service.clone())));
    let bucket = address.root.rsplit('/').next().unwrap_or_default();
    let stores = match address.kind {
        Kind::Http => web(address, connector)?,
        Kind::S3 => s3(bucket, options, connector)?,
        Kind::Google => google(bucket, options, connector)?,
        Kind::Azure => azure(bucket, options, connector)?,
    };
    Ok((stores, service))
}

fn web(address: &Address, connector: Connector) -> Result<Stores, String> {
    let query = address.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
    let builder = HttpBuilder::new().with_url(format!("{}/{}{query}", address.root, address.path));
    let built = builder.with_retry(one_retry()).with_http_connector(connector).build();
    let store = Arc::new(built.map_err(|_| "the address is no URL".to_owned())?);
    Ok(Stores { objects: store.clone(), one_by_one: store, bucket: None, is_anonymous: address.user.is_none() })
}

/// Returns the HTTP client for requests for credentials.
fn credentials_client() -> Result<reqwest::Client, String> {
    client_builder().timeout(CREDENTIALS).build().map_err(|error| cause(&error))
}

fn credentials() -> Result<Connector, String> {
    credentials_client().map(|client| Connector(HttpClient::new(client)))
}

/// Returns the retries of requests for credentials. The service repeats all other requests, and returns no retryable
/// error.
fn one_retry() -> RetryConfig {
    let backoff = BackoffConfig { init_backoff: Duration::from_millis(200), ..BackoffConfig::default() };
    RetryConfig { backoff, max_retries: 1, retry_timeout: CREDENTIALS }
}

/// Returns the services that have a setting, and its names in `object_store`.
fn known_as(name: &str) -> impl Iterator<Item = (Kind, String)> + use<> {
    let name = name.to_ascii_lowercase();
    let of_amazon = name.parse::<AmazonS3ConfigKey>().ok().map(|key| (Kind::S3, key.as_ref().to_owned()));
    let of_google = name.parse::<GoogleConfigKey>().ok().map(|key| (Kind::Google, key.as_ref().to_owned()));
    let of_azure = name.parse::<AzureConfigKey>().ok().map(|key| (Kind::Azure, key.as_ref().to_owned()));
    [of_amazon, of_google, of_azure].into_iter().flatten()
}

/// Returns true if any service has a setting with this name.
pub(crate) fn is_setting(name: &str) -> bool {
    known_as(name).next().is_some()
}

/// Returns true if a setting has an effect for a service, or for some service if it is `None`. HTTP client settings have
/// none, as the client is created here.
pub(crate) fn has_effect(name: &str, value: &str, kind: Option<Kind>) -> bool {
    known_as(name).filter(|(of, _)| kind.is_none_or(|kind| kind == *of)).any(|(_, name)| match name.parse() {
        // HTTP is allowed for every endpoint, so only the value `true` is respected.
        Ok(ClientConfigKey::AllowHttp) => value == "true",
        Ok(_) => false,
        Err(_) => UNUSED.split(' ').all(|unused| unused != name),
    })
}

/// Returns the settings of which one is needed for an effect of this one, if neither options nor variables give it.
pub(crate) fn missing(name: &str, options: &[(String, String)]) -> Option<&'static str> {
    let variables = std::env::vars_os().filter(|(_, value)| !value.is_empty());
    let variables = variables.filter_map(|(name, _)| name.into_string().ok());
    let variables = variables.filter(|name| name.starts_with("AWS_") || name.starts_with("AZURE_"));
    let names = variables.chain(options.iter().map(|(name, _)| name.clone()));
    let given: Vec<String> = names.flat_map(|name| known_as(&name).map(|(_, name)| name)).collect();
    let depends = |settings: &str| known_as(name).any(|(_, name)| settings.split(' ').any(|setting| setting == name));
    let has_any = |needed: &str| needed.split(" or ").any(|needed| given.iter().any(|name| name == needed));
    NEEDED.iter().find(|(needed, settings)| depends(settings) && !has_any(needed)).map(|(needed, _)| *needed)
}

/// Returns the settings of a service. Options win over environment variables with the prefix, and those over `defaults`.
/// Variables that are empty or have no effect are skipped. Options of other services are allowed.
fn settings<K: FromStr + Eq + Hash, const N: usize>(
    prefix: &str,
    options: &RemoteOptions,
    defaults: [(K, Option<String>); N],
) -> Result<HashMap<K, String>, String> {
    let given = defaults.into_iter().filter_map(|(key, value)| Some((key, value?)));
    let mut settings: HashMap<K, String> = given.collect();
    for (name, value) in std::env::vars_os() {
        if let (Some(name), Some(value)) = (name.to_str(), value.to_str())
            && name.starts_with(prefix)
            && !value.is_empty()
            // `AWS_CONDITIONAL_PUT=disabled` would switch off the conditions that exclude a second run.
            && has_effect(name, value, None)
            && let Ok(key) = name.to_ascii_lowercase().parse()
        {
            settings.insert(key, value.to_owned());
        }
    }
    for (name, value) in &options.settings {
        match name.to_ascii_lowercase().parse() {
            Ok(key) => drop(settings.insert(key, value.clone())),
            Err(_) if is_setting(name) => {}
            Err(_) => return Err(format!("`--storage-option {name}` is not known")),
        }
    }
    Ok(settings)
}

fn is_on<K: Eq + Hash>(settings: &HashMap<K, String>, key: &K) -> bool {
    settings.get(key).is_some_and(|value| value == "true")
}

/// Returns the value of an environment variable unless it is empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Checks the URL of a service, and removes slashes at its end.
fn endpoint(text: &str) -> Result<String, String> {
    let no_url = "the endpoint is not a URL such as https://example.org:9000";
    let url = reqwest::Url::parse(text).map_err(|error| format!("{no_url}: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(no_url.to_owned());
    }
    let has_user = !url.username().is_empty() || url.password().is_some();
    if has_user || url.query().is_some() || url.fragment().is_some() {
        return Err("the endpoint may have only a host and a path".to_owned());
    }
    Ok(text.trim_end_matches('/').to_owned())
}

fn s3(bucket: &str, options: &RemoteOptions, connector: Connector) -> Result<Stores, String> {
    use AmazonS3ConfigKey as Key;
    let files = AwsFiles::read()?;
    let defaults = [(Key::Endpoint, files.endpoint()), (Key::Region, files.value("region"))];
    let mut settings = settings("AWS_", options, defaults)?;
    let is_signed = !options.anonymous && !is_on(&settings, &Key::SkipSignature);
    let named = settings.get(&Key::S3Endpoint).or(settings.get(&Key::Endpoint));
    let address = named.map(|named| endpoint(named)).transpose()?;
    if !settings.contains_key(&Key::Region) && address.is_none() && !is_on(&settings, &Key::S3Express) {
        settings.extend(region_of(bucket).map(|region| (Key::Region, region)));
    }
    settings.extend(address.map(|address| (Key::S3Endpoint, address)));
    let given = [Key::AccessKeyId, Key::SecretAccessKey, Key::WebIdentityTokenFile];
    let is_given = given.iter().any(|key| settings.contains_key(key));
    let found = if is_signed && !is_given { files.credentials()? } else { None };
    let kind = "aws_server_side_encryption".parse().map_err(|_| "no encryption is known".to_owned())?;
    settings.extend(encryption(&settings)?.map(|encryption| (kind, encryption.to_owned())));
    settings.insert(Key::Bucket, bucket.to_owned());
    let builder = AmazonS3Builder::new().with_retry(one_retry());
    let builder = settings.into_iter().fold(builder, |builder, (key, value)| builder.with_config(key, value));
    let mut builder = found.into_iter().fold(builder, AmazonS3Builder::with_credentials);
    builder = if is_signed {
        // Requests for credentials have a client of their own. The service would take their answers for those of the
        // store.
        let built = builder.clone().with_http_connector(credentials()?).build();
        builder.with_credentials(built.map_err(|error| cause(&error))?.credentials().clone())
    } else {
        builder.with_skip_signature(true)
    };
    let builder = builder.with_http_connector(connector);
    let Stores { one_by_one, .. } =
        Stores::of_bucket(builder.clone().with_disable_bulk_delete(true).build(), !is_signed)?;
    Ok(Stores { one_by_one, ..Stores::of_bucket(builder.build(), !is_signed)? })
}

/// Returns the region of an Amazon bucket. The request needs no credentials.
fn region_of(bucket: &str) -> Option<String> {
    let client = credentials_client().ok()?;
    let asked = async { client.head(format!("https://s3.amazonaws.com/{bucket}")).send().await };
    let answer = runtime().ok()?.block_on(asked).ok()?;
    Some(answer.headers().get("x-amz-bucket-region")?.to_str().ok()?.to_owned())
}

/// Returns the implied kind of encryption. A key id without a kind means the key management service.
fn encryption(settings: &HashMap<AmazonS3ConfigKey, String>) -> Result<Option<&'static str>, String> {
    let named = |name: &str| settings.get(&name.parse().ok()?).map(String::as_str);
    let kind = named("aws_server_side_encryption");
    if kind.is_some_and(|kind| !ENCRYPTIONS.contains(&kind)) {
        return Err(format!("AWS_SERVER_SIDE_ENCRYPTION is none of {}", ENCRYPTIONS.join(", ")));
    }
    let own_key = named("aws_sse_customer_key_base64");
    if own_key.is_some_and(|key| STANDARD.decode(key).is_err()) {
        return Err("AWS_SSE_CUSTOMER_KEY_BASE64 is not base64".to_owned());
    }
    Ok(match (kind, own_key, named("aws_sse_kms_key_id")) {
        (None, Some(_), _) => Some("sse-c"),
        (None, None, Some(_)) => Some("aws:kms"),
        _ => None,
    })
}

fn google(bucket: &str, options: &RemoteOptions, connector: Connector) -> Result<Stores, String> {
    use GoogleConfigKey as Key;
    let mut settings = settings("GOOGLE_", options, [(Key::ServiceAccount, variable("SERVICE_ACCOUNT"))])?;
    if let Some(base) = settings.get_mut(&Key::BaseUrl) {
        *base = endpoint(base)?;
    }
    let is_anonymous = options.anonymous || is_on(&settings, &Key::SkipSignature);
    let path = settings.get(&Key::ServiceAccount).or(settings.get(&Key::ApplicationCredentials));
    let given = match (settings.get(&Key::ServiceAccountKey), path) {
        (Some(_), _) => "GOOGLE_SERVICE_ACCOUNT_KEY".to_owned(),
        (None, Some(path)) => format!("`{path}`"),
        (None, None) => "the file of gcloud's credentials".to_owned(),
    };
    settings.insert(Key::Bucket, bucket.to_owned());
    let builder = GoogleCloudStorageBuilder::new().with_retry(one_retry());
    let builder = settings.into_iter().fold(builder, |builder, (key, value)| builder.with_config(key, value));
    let builder = if is_anonymous {
        // Anonymous requests must not need credentials on this machine.
        let nobody = StaticCredentialProvider::new(GcpCredential { bearer: String::new() });
        builder.with_credentials(Arc::new(nobody)).with_skip_signature(true)
    } else {
        let built = builder.clone().with_http_connector(credentials()?).build();
        let built = built.map_err(|error| match cause(&error) {
            cause if cause.contains("(os error") => format!("{given} cannot be read: {cause}"),
            // Any other cause may contain a part of the credentials.
            _ => format!("{given} contains no credentials of a service account or of a user as JSON"),
        })?;
        builder.with_credentials(built.credentials().clone())
    };
    Stores::of_bucket(builder.with_http_connector(connector).build(), is_anonymous)
}

fn azure(container: &str, options: &RemoteOptions, connector: Connector) -> Result<Stores, String> {
    use AzureConfigKey as Key;
    let mut settings = settings("AZURE_", options, [(Key::MsiEndpoint, variable("IDENTITY_ENDPOINT"))])?;
    let is_emulator = is_on(&settings, &Key::UseEmulator);
    let account = settings.get(&Key::AccountName).cloned();
    if !is_emulator && account.is_none() {
        return Err("no storage account is named: set AZURE_STORAGE_ACCOUNT_NAME".to_owned());
    }
    let address = settings.get(&Key::Endpoint).map(|address| endpoint(address)).transpose()?;
    settings.extend(address.clone().map(|address| (Key::Endpoint, address)));
    let is_anonymous = options.anonymous || is_on(&settings, &Key::SkipSignature);
    if !is_anonymous {
        check_azure_secrets(&settings)?;
    }
    settings.insert(Key::ContainerName, container.to_owned());
    let builder = MicrosoftAzureBuilder::new().with_retry(one_retry());
    let mut builder = settings.into_iter().fold(builder, |builder, (key, value)| builder.with_config(key, value));
    builder = if is_anonymous {
        builder.with_skip_signature(true)
    } else {
        let built = builder.clone().with_http_connector(credentials()?).build();
        builder.with_credentials(built.map_err(|error| cause(&error))?.credentials().clone())
    };
    if let Some(address) = address.filter(|_| is_emulator && variable("AZURITE_BLOB_STORAGE_URL").is_none()) {
        // `object_store` would use the default address of the emulator.
        let account = account.unwrap_or_else(|| "devstoreaccount1".to_owned());
        let service = format!("{address}/{account}");
        builder = builder.with_use_emulator(false).with_account(account).with_endpoint(service);
    }
    Stores::of_bucket(builder.with_http_connector(connector).build(), is_anonymous)
}

/// Checks the format of keys and signatures. The errors of `object_store` do not name the setting.
fn check_azure_secrets(settings: &HashMap<AzureConfigKey, String>) -> Result<(), String> {
    if settings.get(&AzureConfigKey::AccessKey).is_some_and(|key| STANDARD.decode(key).is_err()) {
        return Err("AZURE_STORAGE_ACCOUNT_KEY is not a key: it is base64, such as the portal shows it".to_owned());
    }
    let is_signature = |text: &str| text.trim_start_matches('?').split('&').all(|pair| pair.contains('='));
    if settings.get(&AzureConfigKey::SasKey).is_some_and(|text| !is_signature(text)) {
        return Err("AZURE_STORAGE_SAS_KEY is not a shared access signature: it is `sv=...&sig=...`".to_owned());
    }
    Ok(())
}

/// Kind of store of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// `http://`, `https://`: a web server.
    Http,
    /// `s3://`: Amazon S3 and compatible servers.
    S3,
    /// `gs://`: Google Cloud Storage.
    Google,
    /// `az://`: Azure Blob Storage.
    Azure,
}

/// Parsed URL of a remote store.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    pub(in crate::store) kind: Kind,
    /// Scheme, and host, bucket or container: `https://example.org:8080`, `s3://bucket`.
    pub(super) root: String,
    /// Path after the root, without slashes at its end. It is percent-encoded only for a web server.
    pub(super) path: String,
    /// Query of a web server's URL, which is appended to every request. It may be a secret.
    pub(super) query: Option<String>,
    /// `user:password`, percent-decoded.
    pub(super) user: Option<String>,
}

/// Omits fields that may contain secrets.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Address").field(&self.shown()).finish()
    }
}

impl Address {
    /// Parses a URL from its scheme and the text after `://`. Returns `None` for any other scheme.
    pub(crate) fn parse(scheme: &str, rest: &str) -> Option<Result<Self, &'static str>> {
        let scheme = scheme.to_ascii_lowercase();
        let kind = match scheme.as_str() {
            "http" | "https" => return Some(Self::of_web(&scheme, rest)),
            "s3" => Kind::S3,
            "gs" => Kind::Google,
            "az" => Kind::Azure,
            _ => return None,
        };
        Some(Self::of_bucket(kind, &scheme, rest))
    }

    fn of_bucket(kind: Kind, scheme: &str, rest: &str) -> Result<Self, &'static str> {
        let (bucket, path) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err("the name of a bucket or container follows ://");
        }
        // `$` is for the containers `$root`, `$web` and `$logs` of Azure.
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'$');
        if !bucket.bytes().all(is_name) {
            return Err("the name of a bucket or container has only letters, digits, `.`, `-` and `_`");
        }
        let path = path.strip_suffix('/').unwrap_or(path).to_owned();
        // Messages show keys, and must not show a signature.
        let is_signature =
            |pair: &str| ["sig=", "signature=", "x-amz-signature="].iter().any(|name| pair.starts_with(name));
        if path.split_once('?').is_some_and(|(_, query)| query.to_lowercase().split('&').any(is_signature)) {
            return Err("a signed URL begins with https://");
        }
        if !path.is_empty() && Key::new(&path).is_err() {
            return Err("a key has no name that is empty, `.` or `..`, and no control character");
        }
        Ok(Address { kind, root: format!("{scheme}://{bucket}"), path, query: None, user: None })
    }

    fn of_web(scheme: &str, rest: &str) -> Result<Self, &'static str> {
        if rest.contains('#') {
            return Err("the URL of a store has no fragment: write # as %23");
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
        if host.is_empty() {
            return Err("the name of a server follows ://");
        }
        let decoded = |text: &str| percent_decoded(text).ok_or(BAD_PERCENT);
        // Basic authentication needs the colon, also without a password.
        let user = user.map(|user| if user.contains(':') { user.to_owned() } else { format!("{user}:") });
        let user = user.map(|user| decoded(&user)).transpose()?;
        decoded(path)?;
        if path.split('/').any(|name| matches!(name, "." | "..")) {
            return Err("the URL of a store has no `.` and no `..` in its path");
        }
        let path = path.trim_end_matches('/').to_owned();
        let root = format!("{scheme}://{host}");
        let query = Some(query.to_owned()).filter(|query| !query.is_empty());
        Ok(Address { kind: Kind::Http, root, path, query, user })
    }

    /// Returns the name in messages: without user, password and query.
    pub(crate) fn shown(&self) -> String {
        let separator = if self.path.is_empty() { "" } else { "/" };
        format!("{}{separator}{}", self.root, self.path)
    }

    /// Splits the path after the first name with this property. Returns the address of that file and the rest of the
    /// path.
    pub(crate) fn split_file(&self, is_named_so: impl Fn(&str) -> bool) -> Option<(Address, String)> {
        let mut ends = self.path.match_indices('/').map(|(end, _)| end).chain([self.path.len()]);
        let is_file = |end: &usize| self.path[..*end].rsplit('/').next().is_some_and(&is_named_so);
        let (file, inside) = self.path.split_at(ends.find(is_file)?);
        let inside = inside.trim_start_matches('/');
        let inside = if self.kind == Kind::Http { percent_decoded(inside)? } else { inside.to_owned() };
        Some((self.with_path(file), inside))
    }

    pub(super) fn with_path(&self, path: &str) -> Address {
        Address { path: path.to_owned(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Result<Address, &'static str> {
        let (scheme, rest) = text.split_once("://").unwrap();
        Address::parse(scheme, rest).unwrap()
    }

    #[test]
    fn address_of_a_bucket_is_taken_literally() {
        let found = address("s3://bucket/a%20b/[ä]/?x#y/").unwrap();
        assert_eq!((found.root.as_str(), found.path.as_str()), ("s3://bucket", "a%20b/[ä]/?x#y"));
        assert_eq!(found.shown(), "s3://bucket/a%20b/[ä]/?x#y");
        assert_eq!(address("gs://b").unwrap().shown(), "gs://b");
        let no_keys = ["s3://b/a/../c", "az://b/.", "gs://b/./a", "az://b//a", "s3://b/a//c", "s3://b/a\tc"];
        let signed = ["s3://b/a?x=1&X-Amz-Signature=x", "gs://b/a?Signature=x", "az://b/a?sv=1&sig=x"];
        for text in ["s3://", "s3:///a", "s3://user:secret@bucket/a"].into_iter().chain(signed).chain(no_keys) {
            assert!(address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn address_of_a_web_server_never_shows_its_secrets() {
        let found = address("HTTPS://us%65r:se%63ret@host:8080/a%20b/c.zarr/?signature=secret").unwrap();
        assert_eq!(found.shown(), "https://host:8080/a%20b/c.zarr");
        assert_eq!(format!("{found:?}"), r#"Address("https://host:8080/a%20b/c.zarr")"#);
        assert_eq!(found.user.as_deref(), Some("user:secret"));
        assert_eq!(found.query.as_deref(), Some("signature=secret"));
        for text in ["http://", "http:///a", "http://h/a#b", "http://h/%2", "http://h/%ff", "http://h/a/../b"] {
            assert!(address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn address_of_other_schemes_is_none() {
        assert!(Address::parse("abfs", "a@b/c").is_none() && Address::parse("memory", "a").is_none());
    }
}
