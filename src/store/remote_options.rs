//! Options of remote stores.

use std::fmt;
use std::num::NonZeroUsize;

use super::location::without_secrets;

/// Default limit of concurrent requests.
const REQUESTS: NonZeroUsize = NonZeroUsize::new(64).unwrap();

/// Options of remote stores and of the targets of reference files. Local stores have none.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RemoteOptions {
    /// `--storage-option KEY=VALUE`: settings with the names of the clouds' own tools. They override the environment
    /// and files. Values may be secrets.
    pub settings: Vec<(String, String)>,
    /// `--anonymous`: requests are not signed, and credentials are not searched.
    pub anonymous: bool,
    /// `--requests N`: limit of concurrent requests.
    pub requests: NonZeroUsize,
    /// `--missing-status 403`: refused objects count as absent.
    pub refused_is_absent: bool,
    /// `--allow-file-references`: a reference file may point at local files outside its folder. The author of the file
    /// chooses them, not its reader.
    pub allows_file_references: bool,
}

impl RemoteOptions {
    /// Returns true if a store of this build knows a setting with this name, such as `aws_region` or `endpoint`.
    pub fn is_setting(name: &str) -> bool {
        #[cfg(feature = "remote")]
        return super::remote::is_setting(name);
        #[cfg(not(feature = "remote"))]
        return !name.is_empty();
    }

    /// Returns true if a setting has an effect for some store.
    pub fn has_effect(name: &str, value: &str) -> bool {
        #[cfg(feature = "remote")]
        return super::remote::has_effect(name, value, None);
        #[cfg(not(feature = "remote"))]
        return !(name.is_empty() || value.is_empty());
    }

    /// Returns the settings of which one is needed for an effect of this one, if none of them is given.
    pub fn missing(name: &str, options: &[(String, String)]) -> Option<&'static str> {
        #[cfg(feature = "remote")]
        return super::remote::missing(name, options);
        #[cfg(not(feature = "remote"))]
        {
            let _ = (name, options);
            None
        }
    }

    /// Returns true if a setting serves only to sign requests.
    pub fn is_credential(name: &str) -> bool {
        const SIGNING: &str = "access_key_id access_key account_key sas_key token token_file client_secret role_arn \
            role_session_name";
        let name = name.to_ascii_lowercase();
        SIGNING.split(' ').any(|end| name.ends_with(end))
    }

    /// Returns true if a setting serves only to encrypt objects that are written. A customer's key is also read with.
    pub fn is_of_writes(name: &str, value: &str) -> bool {
        const ENCRYPTING: [&str; 3] = ["server_side_encryption", "sse_kms_key_id", "bucket_key_enabled"];
        let name = name.to_ascii_lowercase();
        value != "sse-c" && ENCRYPTING.iter().any(|end| name.ends_with(end))
    }

    /// Returns true if a setting is a switch, and its value neither on nor off.
    pub fn is_bad_switch(name: &str, value: &str) -> bool {
        const SWITCHES: [&str; 12] = [
            "allow_http",
            "bucket_key_enabled",
            "disable_bulk_delete",
            "imdsv1_fallback",
            "request_payer",
            "s3_express",
            "skip_signature",
            "unsigned_payload",
            "use_azure_cli",
            "use_emulator",
            "use_fabric_endpoint",
            "virtual_hosted_style_request",
        ];
        const VALUES: [&str; 10] = ["1", "true", "on", "yes", "y", "0", "false", "off", "no", "n"];
        let (name, value) = (name.to_ascii_lowercase(), value.to_ascii_lowercase());
        // A name may have the prefix of a cloud: `aws_allow_http`.
        SWITCHES.iter().any(|switch| name.ends_with(switch)) && !VALUES.contains(&value.as_str())
    }

    /// Returns true if a setting may be a secret: a key, a token, a password, or a URL with one. The path of a file
    /// with a secret is not one.
    pub fn may_be_secret(name: &str, value: &str) -> bool {
        const SECRETS: [&str; 5] = ["key", "token", "secret", "password", "sas"];
        // Ends of names that are not secret: readers of the bucket's settings know them, or they are paths and
        // addresses.
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

/// Omits the values of the settings, which may be secrets.
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
