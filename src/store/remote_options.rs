//! What users say of stores behind a network, beside their addresses.

use std::fmt;
use std::num::NonZeroUsize;

/// Requests in flight where nothing else is asked for.
const REQUESTS: NonZeroUsize = NonZeroUsize::new(64).unwrap();

/// How stores behind a network, and what reference files point at, are reached. Local stores know nothing of it.
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
    /// Whether a store that this build has knows a setting of this name, such as `aws_region` or `endpoint`.
    pub fn is_setting(name: &str) -> bool {
        #[cfg(feature = "remote")]
        return super::remote::is_setting(name);
        #[cfg(not(feature = "remote"))]
        return !name.is_empty();
    }
}

impl Default for RemoteOptions {
    fn default() -> Self {
        RemoteOptions {
            settings: Vec::new(),
            anonymous: false,
            requests: REQUESTS,
            refused_is_absent: false,
            allows_file_references: false,
        }
    }
}

/// Without the values of the settings, which may be secrets.
impl fmt::Debug for RemoteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.settings.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("RemoteOptions")
            .field("settings", &names)
            .field("anonymous", &self.anonymous)
            .field("requests", &self.requests)
            .field("refused_is_absent", &self.refused_is_absent)
            .field("allows_file_references", &self.allows_file_references)
            .finish()
    }
}
