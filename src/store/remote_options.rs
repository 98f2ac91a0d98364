//! What users say of stores behind a network, beside their addresses.

use std::fmt;
use std::num::NonZeroUsize;

use super::location::without_secrets;

/// Requests in flight where nothing else is asked for.
const REQUESTS: NonZeroUsize = NonZeroUsize::new(64).unwrap();

/// Options of stores behind a network, and of the targets of reference files. Local stores have none.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RemoteOptions {
    /// `--storage-option KEY=VALUE`: settings by the names that the clouds' own tools have, before what the environment
    /// and files say. Values may be secrets.
    pub settings: Vec<(String, String)>,
    /// `--anonymous`: no request is signed, and no credentials are looked for.
    pub anonymous: bool,
    /// `--requests N`: the most requests in flight.
    pub requests: NonZeroUsize,
    /// `--missing-status 403`: what the store refuses counts as absent.
    pub refused_is_absent: bool,
    /// `--allow-file-references`: a reference file may point at local files outside its folder. Who made the file chose
    /// them, not who reads it.
    pub allows_file_references: bool,
}

impl RemoteOptions {
    /// True if a store that this build has knows a setting of this name, such as `aws_region` or `endpoint`.
    pub fn is_setting(name: &str) -> bool {
        #[cfg(feature = "remote")]
        return super::remote::is_setting(name);
        #[cfg(not(feature = "remote"))]
        return !name.is_empty();
    }

    /// True if a setting that is known changes anything.
    pub fn has_effect(name: &str, value: &str) -> bool {
        #[cfg(feature = "remote")]
        return super::remote::has_effect(name, value);
        #[cfg(not(feature = "remote"))]
        return !name.is_empty() && !value.is_empty();
    }

    /// True if a setting may be a secret: a key, a token, a password, or a URL with one. Paths of files that hold some are
    /// none.
    pub fn may_be_secret(name: &str, value: &str) -> bool {
        const SECRETS: [&str; 5] = ["key", "token", "secret", "password", "sas"];
        // The last words of names of what is known to whoever may read the bucket's settings, and of places.
        const OPEN: [&str; 5] = ["kms_key_id", "key_enabled", "token_file", "service_url", "path"];
        let name = name.to_ascii_lowercase();
        let is_named = name.split('_').any(|word| SECRETS.contains(&word));
        let has_password = value.split_once('@').is_some_and(|(user, _)| user.contains(':'));
        let is_open = OPEN.iter().any(|open| name.ends_with(open));
        (is_named && !is_open) || has_password || without_secrets(value) != value
    }
}

impl Default for RemoteOptions {
    fn default() -> Self {
        let (settings, requests) = (Vec::new(), REQUESTS);
        RemoteOptions { settings, anonymous: false, requests, refused_is_absent: false, allows_file_references: false }
    }
}

/// Without the values of the settings, which may be secrets.
impl fmt::Debug for RemoteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.settings.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("RemoteOptions").field("settings", &names).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use crate::store::RemoteOptions;

    #[test]
    fn settings_that_may_be_secrets_are_known_by_name_or_value() {
        let secrets = "aws_access_key_id AWS_SECRET_ACCESS_KEY secret_access_key aws_session_token token access_key \
            aws_sse_customer_key_base64 azure_storage_account_key azure_client_secret sas_token azure_storage_sas_key \
            azure_fabric_session_token encryption_key google_service_account_key bearer_token";
        for name in secrets.split_whitespace() {
            assert!(RemoteOptions::may_be_secret(name, "x"), "{name}");
        }
        let others = "aws_region endpoint aws_virtual_hosted_style_request aws_sse_kms_key_id aws_sse_bucket_key_enabled \
            aws_web_identity_token_file aws_skip_signature azure_storage_account_name azure_client_id \
            azure_fabric_token_service_url google_service_account google_application_credentials";
        for name in others.split_whitespace() {
            assert!(!RemoteOptions::may_be_secret(name, "http://localhost:9000"), "{name}");
            assert!(RemoteOptions::may_be_secret(name, "http://user:word@localhost"), "{name}");
            assert!(RemoteOptions::may_be_secret(name, "http://localhost?sig=x"), "{name}");
            assert!(RemoteOptions::may_be_secret(name, "user:word@localhost:8080"), "{name}");
            assert!(!RemoteOptions::may_be_secret(name, "name@project.iam.example"), "{name}");
        }
    }
}
