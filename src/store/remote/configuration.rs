//! Stores of `object_store`, with credentials, endpoints and regions from options, the environment, and the files that the
//! clouds' own tools use.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::{HttpClient, HttpConnector, StaticCredentialProvider};
use object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, RetryConfig};

use super::address::{Address, Kind};
use super::aws_files::{AwsFiles, Source};
use super::client::Stores;
use super::errors::cause;
use super::runtime::runtime;
use super::service::{Connector, Service, client_builder};
use crate::store::RemoteOptions;

/// Whoever gives credentials answers within this time.
const CREDENTIALS: Duration = Duration::from_secs(4);

/// Values of `AWS_SERVER_SIDE_ENCRYPTION`.
const ENCRYPTIONS: [&str; 4] = ["AES256", "aws:kms", "aws:kms:dsse", "sse-c"];

/// The stores at an address, below a path of a web server; their service; and whether nothing is signed.
pub(super) fn connect(
    address: &Address,
    base: &str,
    options: &RemoteOptions,
) -> Result<(Stores, Arc<Service>, bool), String> {
    let user = address.user().map(|(name, password)| STANDARD.encode(format!("{name}:{password}")));
    let authorization = user.map(|user| format!("Basic {user}"));
    let is_web = address.kind == Kind::Http;
    let service = Arc::new(Service::new(options.requests.get(), is_web, authorization.as_deref())?);
    let connector = Connector(service.clone());
    let (stores, is_anonymous) = match address.kind {
        Kind::Http => {
            let query = address.query().map(|query| format!("?{query}")).unwrap_or_default();
            (web(&format!("{}/{base}{query}", address.root), connector)?, authorization.is_none())
        }
        Kind::S3 => s3(&address.root, options, connector)?,
        Kind::Google => google(&address.root, options, connector)?,
        Kind::Azure => azure(&address.root, options, connector)?,
    };
    Ok((stores, service, is_anonymous))
}

/// The service makes requests again.
fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}

fn web(url: &str, connector: Connector) -> Result<Stores, String> {
    let builder = HttpBuilder::new().with_url(url).with_retry(no_retries()).with_http_connector(connector);
    let store = Arc::new(builder.build().map_err(|_| "the address is no URL".to_owned())?);
    Ok(Stores { objects: store.clone(), one_by_one: store, bucket: None })
}

/// Gives `object_store` the client by which it asks for credentials.
#[derive(Debug)]
struct Credentials(reqwest::Client);

impl HttpConnector for Credentials {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.0.clone()))
    }
}

fn credentials_client() -> Result<reqwest::Client, String> {
    client_builder().timeout(CREDENTIALS).build().map_err(|error| cause(&error))
}

fn credentials() -> Result<Credentials, String> {
    credentials_client().map(Credentials)
}

fn one_retry() -> RetryConfig {
    let backoff = BackoffConfig { init_backoff: Duration::from_millis(200), ..BackoffConfig::default() };
    RetryConfig { backoff, max_retries: 1, retry_timeout: CREDENTIALS }
}

/// Whether any service has a setting of this name.
pub(in crate::store) fn is_setting(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.parse::<AmazonS3ConfigKey>().is_ok()
        || name.parse::<GoogleConfigKey>().is_ok()
        || name.parse::<AzureConfigKey>().is_ok()
}

/// Whether a setting changes anything for a service that has it: the client of HTTP is made here, and the bucket is that of
/// the URL.
pub(in crate::store) fn has_effect(name: &str, value: &str) -> bool {
    use {AmazonS3ConfigKey as Amazon, AzureConfigKey as Azure, GoogleConfigKey as Google};
    let name = name.to_ascii_lowercase();
    // What it asks for is so for every endpoint.
    let asks = |key: ClientConfigKey| matches!(key, ClientConfigKey::AllowHttp) && value == "true";
    let of_amazon = match name.parse() {
        Ok(Amazon::Client(key)) => asks(key),
        Ok(Amazon::Bucket | Amazon::CopyIfNotExists | Amazon::ConditionalPut | Amazon::DisableTagging)
        | Err(_) => false,
        Ok(_) => true,
    };
    let of_google = match name.parse() {
        Ok(Google::Client(key)) => asks(key),
        Ok(Google::Bucket) | Err(_) => false,
        Ok(_) => true,
    };
    let of_azure = match name.parse() {
        Ok(Azure::Client(key)) => asks(key),
        Ok(Azure::ContainerName | Azure::DisableTagging) | Err(_) => false,
        Ok(_) => true,
    };
    of_amazon || of_google || of_azure
}

/// The settings of a service, in the order in which they are made: variables of the environment whose names begin with
/// `prefix`, of which empty ones count as not set, then the options, of which some may be another service's.
fn settings<K: FromStr>(prefix: &str, options: &RemoteOptions) -> Result<Vec<(K, String)>, String> {
    let mut settings = Vec::new();
    for (name, value) in std::env::vars_os() {
        if let (Some(name), Some(value)) = (name.to_str(), value.to_str())
            && name.starts_with(prefix)
            && !value.is_empty()
            && let Ok(key) = name.to_ascii_lowercase().parse()
        {
            settings.push((key, value.to_owned()));
        }
    }
    for (name, value) in &options.settings {
        match name.to_ascii_lowercase().parse() {
            Ok(key) => settings.push((key, value.clone())),
            Err(_) if is_setting(name) => {}
            Err(_) => return Err(format!("`--storage-option {name}` is not known")),
        }
    }
    Ok(settings)
}

/// A variable of the environment that is set, and not empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The address of a service without slashes at its end; an error where it is none.
fn endpoint(text: &str) -> Result<&str, String> {
    let no_url = "the endpoint is not a URL such as https://example.org:9000";
    let url = reqwest::Url::parse(text).map_err(|error| format!("{no_url}: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(no_url.to_owned());
    }
    if url.query().is_some()
        || url.fragment().is_some()
        || !url.username().is_empty()
        || url.password().is_some()
    {
        return Err("the endpoint is more than a URL with a host and a path".to_owned());
    }
    Ok(text.trim_end_matches('/'))
}

fn s3(bucket: &str, options: &RemoteOptions, connector: Connector) -> Result<(Stores, bool), String> {
    use AmazonS3ConfigKey as Key;
    let mut builder = AmazonS3Builder::new().with_bucket_name(bucket);
    for (key, value) in settings::<Key>("AWS_", options)? {
        builder = builder.with_config(key, value);
    }
    let value = |builder: &AmazonS3Builder, key| builder.get_config_value(&key);
    let is_on = |builder: &AmazonS3Builder, key| value(builder, key).is_some_and(|text| text == "true");
    let files = AwsFiles::read()?;
    let is_signed = !options.anonymous && !is_on(&builder, Key::SkipSignature);
    let is_express = is_on(&builder, Key::S3Express);
    let is_virtual = is_on(&builder, Key::VirtualHostedStyleRequest);
    // A `--storage-option` or a variable of the environment comes before the files.
    let address = value(&builder, Key::S3Endpoint).or_else(|| value(&builder, Key::Endpoint));
    let address = match address.or_else(|| files.endpoint()) {
        Some(text) if !is_virtual && files.names_bucket_in_host() => {
            builder = builder.with_virtual_hosted_style_request(true);
            Some(endpoint(&with_bucket(endpoint(&text)?, bucket))?.to_owned())
        }
        Some(text) => Some(endpoint(&text)?.to_owned()),
        None if files.names_bucket_in_host() => {
            builder = builder.with_virtual_hosted_style_request(true);
            None
        }
        None => None,
    };
    let region = value(&builder, Key::Region).or_else(|| files.region());
    if let Some(region) = region.or_else(|| region_of(bucket).filter(|_| address.is_none() && !is_express)) {
        builder = builder.with_region(region);
    }
    if let Some(address) = address {
        builder = builder.with_config(Key::S3Endpoint, address);
    }
    let given = [Key::AccessKeyId, Key::SecretAccessKey, Key::WebIdentityTokenFile];
    let is_given = given.into_iter().any(|key| value(&builder, key).is_some());
    if is_signed && !is_given {
        builder = match files.credentials()? {
            Some(Source::Keys { key_id, secret_key, token }) => {
                let builder = builder.with_access_key_id(key_id).with_secret_access_key(secret_key);
                token.into_iter().fold(builder, AmazonS3Builder::with_token)
            }
            Some(Source::Process(process)) => builder.with_credentials(Arc::new(process)),
            None => builder,
        };
    }
    builder = encrypted(builder)?;
    builder = if is_signed {
        let built = builder.clone().with_http_connector(credentials()?).with_retry(one_retry()).build();
        builder.with_credentials(built.map_err(|error| cause(&error))?.credentials().clone())
    } else {
        builder.with_skip_signature(true)
    };
    let builder = builder.with_http_connector(connector).with_retry(no_retries());
    let store = Arc::new(builder.clone().build().map_err(|error| cause(&error))?);
    let one_by_one = builder.with_disable_bulk_delete(true).build().map_err(|error| cause(&error))?;
    let stores = Stores { objects: store.clone(), one_by_one: Arc::new(one_by_one), bucket: Some(store) };
    Ok((stores, !is_signed))
}

/// The region of a bucket of Amazon, which anybody is told.
fn region_of(bucket: &str) -> Option<String> {
    let client = credentials_client().ok()?;
    let asked = async { client.head(format!("https://s3.amazonaws.com/{bucket}")).send().await };
    let answer = runtime().ok()?.block_on(asked).ok()?;
    Some(answer.headers().get("x-amz-bucket-region")?.to_str().ok()?.to_owned())
}

/// Checks how objects are to be encrypted. A key without more said is one of the service for keys.
fn encrypted(builder: AmazonS3Builder) -> Result<AmazonS3Builder, String> {
    let value = |name: &str| builder.get_config_value(&name.parse().ok()?);
    let kind = value("aws_server_side_encryption");
    if kind.as_ref().is_some_and(|kind| !ENCRYPTIONS.contains(&kind.as_str())) {
        return Err(format!("AWS_SERVER_SIDE_ENCRYPTION is none of {}", ENCRYPTIONS.join(", ")));
    }
    let own_key = value("aws_sse_customer_key_base64");
    if own_key.as_ref().is_some_and(|key| STANDARD.decode(key).is_err()) {
        return Err("AWS_SSE_CUSTOMER_KEY_BASE64 is not base64".to_owned());
    }
    let implied = match (kind, own_key, value("aws_sse_kms_key_id")) {
        (None, Some(_), _) => "sse-c",
        (None, None, Some(_)) => "aws:kms",
        _ => return Ok(builder),
    };
    let key = "aws_server_side_encryption".parse().map_err(|_| "no encryption is known".to_owned())?;
    Ok(builder.with_config(key, implied))
}

/// An endpoint with the bucket before the name of its host.
fn with_bucket(endpoint: &str, bucket: &str) -> String {
    match endpoint.split_once("://") {
        Some((scheme, host)) => format!("{scheme}://{bucket}.{host}"),
        None => format!("{bucket}.{endpoint}"),
    }
}

fn google(bucket: &str, options: &RemoteOptions, connector: Connector) -> Result<(Stores, bool), String> {
    use GoogleConfigKey as Key;
    let mut builder = GoogleCloudStorageBuilder::new().with_bucket_name(bucket);
    if let Some(path) = variable("SERVICE_ACCOUNT") {
        builder = builder.with_service_account_path(path);
    }
    for (key, value) in settings::<Key>("GOOGLE_", options)? {
        builder = builder.with_config(key, value);
    }
    if let Some(root) = builder.get_config_value(&Key::BaseUrl) {
        builder = builder.with_base_url(endpoint(&root)?);
    }
    let skips = builder.get_config_value(&Key::SkipSignature).is_some_and(|text| text == "true");
    let is_anonymous = options.anonymous || skips;
    builder = if is_anonymous {
        // Without the credentials of this machine, which need not be there.
        let nobody = StaticCredentialProvider::new(GcpCredential { bearer: String::new() });
        builder.with_credentials(Arc::new(nobody)).with_skip_signature(true)
    } else {
        let given = google_credentials(&builder);
        let built = builder.clone().with_http_connector(credentials()?).with_retry(one_retry()).build();
        let built = built.map_err(|error| no_google_credentials(&given, &cause(&error)))?;
        builder.with_credentials(built.credentials().clone())
    };
    let built = builder.with_http_connector(connector).with_retry(no_retries()).build();
    let store = Arc::new(built.map_err(|error| cause(&error))?);
    let stores = Stores { objects: store.clone(), one_by_one: store.clone(), bucket: Some(store) };
    Ok((stores, is_anonymous))
}

/// What Google's credentials are read from, as messages name it.
fn google_credentials(builder: &GoogleCloudStorageBuilder) -> String {
    use GoogleConfigKey as Key;
    if builder.get_config_value(&Key::ServiceAccountKey).is_some() {
        return "GOOGLE_SERVICE_ACCOUNT_KEY".to_owned();
    }
    let path = builder.get_config_value(&Key::ServiceAccount);
    let path = path.or_else(|| builder.get_config_value(&Key::ApplicationCredentials));
    path.map_or_else(|| "the file of gcloud's credentials".to_owned(), |path| format!("`{path}`"))
}

/// Why they cannot be used. The cause may hold a part of them, unless it is one of the system.
fn no_google_credentials(given: &str, cause: &str) -> String {
    if cause.contains("(os error") {
        return format!("{given} cannot be read: {cause}");
    }
    format!("{given} does not hold the credentials of a service account or of a user, as JSON with its keys")
}

fn azure(container: &str, options: &RemoteOptions, connector: Connector) -> Result<(Stores, bool), String> {
    use AzureConfigKey as Key;
    let mut builder = MicrosoftAzureBuilder::new().with_container_name(container);
    if let Some(address) = variable("IDENTITY_ENDPOINT") {
        builder = builder.with_msi_endpoint(address);
    }
    for (key, value) in settings::<Key>("AZURE_", options)? {
        builder = builder.with_config(key, value);
    }
    let is_on = |builder: &MicrosoftAzureBuilder, key| {
        builder.get_config_value(&key).is_some_and(|text| text == "true")
    };
    let is_emulator = is_on(&builder, Key::UseEmulator);
    if !is_emulator && builder.get_config_value(&Key::AccountName).is_none() {
        return Err("no storage account is named: set AZURE_STORAGE_ACCOUNT_NAME".to_owned());
    }
    let address = builder.get_config_value(&Key::Endpoint);
    let address = address.map(|address| endpoint(&address).map(str::to_owned)).transpose()?;
    if let Some(address) = &address {
        builder = builder.with_endpoint(address.clone());
    }
    let is_anonymous = options.anonymous || is_on(&builder, Key::SkipSignature);
    builder = if is_anonymous {
        builder.with_skip_signature(true)
    } else {
        check_azure_secrets(&builder)?;
        let built = builder.clone().with_http_connector(credentials()?).with_retry(one_retry()).build();
        builder.with_credentials(built.map_err(|error| cause(&error))?.credentials().clone())
    };
    if let Some(address) = address.filter(|_| is_emulator && variable("AZURITE_BLOB_STORAGE_URL").is_none()) {
        // `object_store` would go to the usual address of the emulator.
        let account = builder.get_config_value(&Key::AccountName);
        let account = account.unwrap_or_else(|| "devstoreaccount1".to_owned());
        let service = format!("{}/{account}", address.trim_end_matches('/'));
        builder = builder.with_use_emulator(false).with_account(account).with_endpoint(service);
    }
    let built = builder.with_http_connector(connector).with_retry(no_retries()).build();
    let store = Arc::new(built.map_err(|error| cause(&error))?);
    let stores = Stores { objects: store.clone(), one_by_one: store.clone(), bucket: Some(store) };
    Ok((stores, is_anonymous))
}

/// What `object_store` would say of a wrong key or signature does not say of what.
fn check_azure_secrets(builder: &MicrosoftAzureBuilder) -> Result<(), String> {
    let key = builder.get_config_value(&AzureConfigKey::AccessKey);
    if key.is_some_and(|key| STANDARD.decode(key).is_err()) {
        return Err(
            "AZURE_STORAGE_ACCOUNT_KEY is not a key: it is base64, such as the portal shows it".to_owned()
        );
    }
    let signature = builder.get_config_value(&AzureConfigKey::SasKey);
    if signature.is_some_and(|text| !text.trim_start_matches('?').split('&').all(|pair| pair.contains('='))) {
        return Err(
            "AZURE_STORAGE_SAS_KEY is not a shared access signature: it is `sv=...&sig=...`".to_owned()
        );
    }
    Ok(())
}
