//! Credentials, endpoints and regions: from options, the environment, and the files that the clouds' own tools use.

use std::str::FromStr;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::{HttpClient, HttpConnector};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, RetryConfig};

use super::address::{Address, Service};
use super::aws_files::{AwsFiles, Source};
use super::backend::{Backend, S3, S3Endpoint, cause};
use super::transport;
use crate::store::RemoteOptions;

/// Whoever gives credentials answers within this time.
const CREDENTIALS: Duration = Duration::from_secs(4);

/// Values of `AWS_SERVER_SIDE_ENCRYPTION`.
const ENCRYPTIONS: [&str; 3] = ["AES256", "aws:kms", "aws:kms:dsse"];

/// The backend of an address.
pub(super) fn backend(address: &Address, options: &RemoteOptions) -> Result<Backend, String> {
    match address.service {
        Service::Http => Ok(Backend::web(address)),
        Service::S3 => s3(&address.root, options),
        Service::Google => google(&address.root, options),
        Service::Azure => azure(&address.root, options),
    }
}

/// Gives `object_store` the client by which it asks for credentials.
#[derive(Debug)]
struct Connector(reqwest::Client);

impl HttpConnector for Connector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.0.clone()))
    }
}

fn connector() -> Result<Connector, String> {
    transport::client(1, Some(CREDENTIALS)).map(Connector)
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

/// Whether a setting changes anything for a service that has it. Requests are made here, and the bucket is that of the URL.
pub(in crate::store) fn has_effect(name: &str, value: &str) -> bool {
    use {AmazonS3ConfigKey as Amazon, AzureConfigKey as Azure, GoogleConfigKey as Google};
    let name = name.to_ascii_lowercase();
    // What it asks for is so for every endpoint.
    let asks = |key: ClientConfigKey| matches!(key, ClientConfigKey::AllowHttp) && value == "true";
    let of_amazon = match name.parse() {
        Ok(Amazon::Client(key)) => asks(key),
        Ok(
            Amazon::Bucket
            | Amazon::S3Express
            | Amazon::Checksum
            | Amazon::CopyIfNotExists
            | Amazon::ConditionalPut
            | Amazon::DisableTagging
            | Amazon::DisableBulkDelete,
        )
        | Err(_) => false,
        Ok(Amazon::Encryption(_)) => !name.ends_with("customer_key_base64"),
        Ok(_) => true,
    };
    let of_google = match name.parse() {
        Ok(Google::Client(key)) => asks(key),
        Ok(Google::Bucket) | Err(_) => false,
        Ok(_) => true,
    };
    let of_azure = match name.parse() {
        Ok(Azure::Client(key)) => asks(key),
        Ok(
            Azure::ContainerName | Azure::DisableTagging | Azure::UseFabricEndpoint | Azure::EncryptionKey,
        )
        | Err(_) => false,
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

fn s3(bucket: &str, options: &RemoteOptions) -> Result<Backend, String> {
    use AmazonS3ConfigKey as Key;
    let mut builder = AmazonS3Builder::new();
    for (key, value) in settings::<Key>("AWS_", options)? {
        builder = builder.with_config(key, value);
    }
    let value = |builder: &AmazonS3Builder, key| builder.get_config_value(&key);
    let is_on = |builder: &AmazonS3Builder, key| value(builder, key).is_some_and(|text| text == "true");
    let files = AwsFiles::read()?;
    let is_signed = !options.anonymous && !is_on(&builder, Key::SkipSignature);
    // A `--storage-option` or a variable of the environment comes before the files.
    if value(&builder, Key::Region).is_none()
        && let Some(region) = files.region()
    {
        builder = builder.with_region(region);
    }
    let given = value(&builder, Key::S3Endpoint).or_else(|| value(&builder, Key::Endpoint));
    let address = given.or_else(|| files.endpoint());
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
    let region = value(&builder, Key::Region);
    let is_virtual = is_on(&builder, Key::VirtualHostedStyleRequest);
    let signs_bodies = !is_on(&builder, Key::UnsignedPayload);
    let requester_pays = is_on(&builder, Key::RequestPayer);
    let encryption = encryption(&builder)?;
    let credentials = if is_signed {
        let builder = builder.with_bucket_name(bucket).with_http_connector(connector()?);
        let built = builder.with_retry(one_retry()).build().map_err(|error| cause(&error))?;
        Some(built.credentials().clone())
    } else {
        None
    };
    let learns_region = region.is_none();
    let endpoint = match address {
        Some(text) if is_virtual => S3Endpoint::Other(endpoint(&text)?.to_owned()),
        Some(text) if files.names_bucket_in_host() => {
            S3Endpoint::Other(with_bucket(endpoint(&text)?, bucket))
        }
        Some(text) => S3Endpoint::Other(format!("{}/{bucket}", endpoint(&text)?)),
        None if is_virtual || files.names_bucket_in_host() => S3Endpoint::AmazonHost,
        None => S3Endpoint::AmazonPath,
    };
    Ok(Backend::S3(S3 {
        endpoint,
        bucket: bucket.to_owned(),
        region: RwLock::new(region.unwrap_or_else(|| "us-east-1".to_owned())),
        learns_region,
        credentials,
        signs_bodies,
        requester_pays,
        encryption,
    }))
}

/// The headers that ask for objects to be encrypted.
fn encryption(builder: &AmazonS3Builder) -> Result<Vec<(&'static str, String)>, String> {
    let value = |name: &str| builder.get_config_value(&name.parse().ok()?);
    let kind = value("aws_server_side_encryption");
    if value("aws_sse_customer_key_base64").is_some() {
        return Err("this build does not encrypt with a key of yours: AWS_SSE_CUSTOMER_KEY_BASE64".to_owned());
    }
    if kind.as_ref().is_some_and(|kind| !ENCRYPTIONS.contains(&kind.as_str())) {
        return Err(format!("AWS_SERVER_SIDE_ENCRYPTION is none of {}", ENCRYPTIONS.join(", ")));
    }
    let key = value("aws_sse_kms_key_id");
    // A key is one of that service.
    let kind = kind.or_else(|| key.is_some().then(|| "aws:kms".to_owned()));
    let headers = [
        ("x-amz-server-side-encryption", kind),
        ("x-amz-server-side-encryption-aws-kms-key-id", key),
        ("x-amz-server-side-encryption-bucket-key-enabled", value("aws_sse_bucket_key_enabled")),
    ];
    Ok(headers.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
}

/// An endpoint with the bucket before the name of its host.
fn with_bucket(endpoint: &str, bucket: &str) -> String {
    match endpoint.split_once("://") {
        Some((scheme, host)) => format!("{scheme}://{bucket}.{host}"),
        None => format!("{bucket}.{endpoint}"),
    }
}

fn google(bucket: &str, options: &RemoteOptions) -> Result<Backend, String> {
    use GoogleConfigKey as Key;
    let mut builder = GoogleCloudStorageBuilder::new();
    if let Some(path) = variable("SERVICE_ACCOUNT") {
        builder = builder.with_service_account_path(path);
    }
    for (key, value) in settings::<Key>("GOOGLE_", options)? {
        builder = builder.with_config(key, value);
    }
    let root = builder.get_config_value(&Key::BaseUrl);
    let root = root.unwrap_or_else(|| "https://storage.googleapis.com".to_owned());
    let root = endpoint(&root)?;
    let skips = builder.get_config_value(&Key::SkipSignature).is_some_and(|text| text == "true");
    let credentials = if options.anonymous || skips {
        None
    } else {
        let given = google_credentials(&builder);
        let builder = builder.with_bucket_name(bucket).with_http_connector(connector()?);
        let built = builder.with_retry(one_retry()).build();
        let built = built.map_err(|error| no_google_credentials(&given, &cause(&error)))?;
        Some(built.credentials().clone())
    };
    Ok(Backend::Google { root: format!("{root}/{bucket}"), credentials })
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

fn azure(container: &str, options: &RemoteOptions) -> Result<Backend, String> {
    use AzureConfigKey as Key;
    let mut builder = MicrosoftAzureBuilder::new();
    if let Some(address) = variable("IDENTITY_ENDPOINT") {
        builder = builder.with_msi_endpoint(address);
    }
    for (key, value) in settings::<Key>("AZURE_", options)? {
        builder = builder.with_config(key, value);
    }
    let is_on = |builder: &MicrosoftAzureBuilder, key| {
        builder.get_config_value(&key).is_some_and(|text| text == "true")
    };
    if builder.get_config_value(&Key::EncryptionKey).is_some() {
        return Err(
            "this build does not encrypt with a key of yours: AZURE_STORAGE_ENCRYPTION_KEY".to_owned()
        );
    }
    let is_emulator = is_on(&builder, Key::UseEmulator);
    let account = builder.get_config_value(&Key::AccountName);
    let address = builder.get_config_value(&Key::Endpoint);
    let (account, service) = match (account, address) {
        (account, address) if is_emulator => {
            let account = account.unwrap_or_else(|| "devstoreaccount1".to_owned());
            let host = variable("AZURITE_BLOB_STORAGE_URL").or(address);
            let host = host.unwrap_or_else(|| "http://127.0.0.1:10000".to_owned());
            let service = format!("{}/{account}", host.trim_end_matches('/'));
            (account, service)
        }
        (Some(account), Some(address)) => (account, address),
        (Some(account), None) => {
            let service = format!("https://{account}.blob.core.windows.net");
            (account, service)
        }
        (None, _) => return Err("no storage account is named: set AZURE_STORAGE_ACCOUNT_NAME".to_owned()),
    };
    let root = format!("{}/{container}", endpoint(&service)?);
    let credentials = if options.anonymous || is_on(&builder, Key::SkipSignature) {
        None
    } else {
        check_azure_secrets(&builder)?;
        let builder = builder.with_container_name(container).with_http_connector(connector()?);
        let built = builder.with_retry(one_retry()).build().map_err(|error| cause(&error))?;
        Some(built.credentials().clone())
    };
    Ok(Backend::Azure { root, account, credentials })
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
