//! `~/.aws/config` and `~/.aws/credentials`, read as Amazon's own tools do.

#![expect(clippy::disallowed_methods, reason = "these files belong to no store")]

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use chrono::DateTime;
use object_store::CredentialProvider;
use object_store::aws::{AwsCredential, AwsCredentialProvider};
use object_store::client::StaticCredentialProvider;
use serde::Deserialize;
use tokio::sync::Mutex;
use tokio::task::block_in_place;

/// Profile with the values of both files.
#[derive(Default)]
pub(super) struct AwsFiles {
    profile: String,
    values: BTreeMap<String, String>,
}

impl AwsFiles {
    /// Reads the profile of `AWS_PROFILE`, or `default`. A missing file counts as empty. Fails if a named profile is
    /// missing.
    pub(super) fn read() -> Result<Self, String> {
        let home = || env::var_os("HOME").map(PathBuf::from);
        let file = |variable: &str, name: &str| {
            env::var_os(variable).map(PathBuf::from).or_else(|| Some(home()?.join(".aws").join(name)))
        };
        let text = |path: Option<PathBuf>| path.and_then(|path| std::fs::read_to_string(path).ok());
        let named = ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"].into_iter().find_map(|name| env::var(name).ok());
        let profile = named.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| "default".to_owned());
        let config = text(file("AWS_CONFIG_FILE", "config")).unwrap_or_default();
        let credentials = text(file("AWS_SHARED_CREDENTIALS_FILE", "credentials")).unwrap_or_default();
        let mut values = BTreeMap::new();
        // In this file the sections of all profiles except `default` begin with the word `profile`.
        let in_config = read_section(&config, &[&profile, &format!("profile {profile}")], &mut values);
        // Read later, as the values of `credentials` win over those of `config`.
        let in_credentials = read_section(&credentials, &[&profile], &mut values);
        if named.is_some_and(|name| name == profile) && !in_config && !in_credentials {
            return Err(format!("the profile `{profile}` of AWS_PROFILE is in no file of ~/.aws"));
        }
        if let Some(services) = values.get("services").cloned() {
            let mut of_services = BTreeMap::new();
            read_section(&config, &[&format!("services {services}")], &mut of_services);
            values.extend(of_services.remove_entry("s3.endpoint_url"));
        }
        Ok(AwsFiles { profile, values })
    }

    pub(super) fn value(&self, name: &str) -> Option<String> {
        self.values.get(name).filter(|value| !value.is_empty()).cloned()
    }

    pub(super) fn endpoint(&self) -> Option<String> {
        self.value("s3.endpoint_url").or_else(|| self.value("endpoint_url"))
    }

    /// Returns the source of the keys, or `None` if the profile has none. Fails for sources that this build does not
    /// support.
    pub(super) fn credentials(&self) -> Result<Option<AwsCredentialProvider>, String> {
        let keys = self.value("aws_access_key_id").zip(self.value("aws_secret_access_key"));
        if let Some((key_id, secret_key)) = keys {
            let credential = AwsCredential { key_id, secret_key, token: self.value("aws_session_token") };
            return Ok(Some(Arc::new(StaticCredentialProvider::new(credential))));
        }
        if let Some(command) = self.value("credential_process") {
            let words = shlex::split(&command).filter(|words| !words.is_empty());
            let words = words
                .ok_or_else(|| format!("the credential_process of the profile `{}` is not a command", self.profile))?;
            return Ok(Some(Arc::new(CredentialProcess { words, kept: Mutex::default() })));
        }
        let elsewhere = ["role_arn", "sso_session", "sso_start_url", "login_session"];
        match elsewhere.into_iter().find(|name| self.value(name).is_some()) {
            Some(name) => Err(format!(
                "the profile `{}` gets its credentials by `{name}`, which is not supported: get them with `aws \
                    configure export-credentials --format env`",
                self.profile
            )),
            None => Ok(None),
        }
    }
}

/// Reads the sections with these names. Later values win. Indented lines belong to the name before them, as
/// `s3.endpoint_url` does to `s3`. Returns true if there is such a section.
fn read_section(text: &str, names: &[&str], into: &mut BTreeMap<String, String>) -> bool {
    let (mut is_inside, mut found, mut above) = (false, false, String::new());
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
            is_inside = names.contains(&name.as_str());
            found |= is_inside;
            continue;
        }
        let Some((name, value)) = trimmed.split_once('=').filter(|_| is_inside) else { continue };
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim().to_owned());
        if line.starts_with([' ', '\t']) && !above.is_empty() {
            into.insert(format!("{above}.{name}"), value);
        } else {
            above = if value.is_empty() { name.clone() } else { String::new() };
            into.insert(name, value);
        }
    }
    found
}

/// Program that prints credentials (`credential_process`).
struct CredentialProcess {
    words: Vec<String>,
    kept: Mutex<Option<(Arc<AwsCredential>, Option<Instant>)>>,
}

/// Omits the command, as it may contain secrets.
impl fmt::Debug for CredentialProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CredentialProcess").finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Printed {
    access_key_id: String,
    secret_access_key: String,
    session_token: Option<String>,
    expiration: Option<String>,
}

/// Time after which credentials are requested again whose `Expiration` is not a time.
const KEPT: Duration = Duration::from_mins(5);

#[async_trait]
impl CredentialProvider for CredentialProcess {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        // Locked during the whole call, so that concurrent requests run the program only once.
        let mut kept = self.kept.lock().await;
        if let Some((credential, until)) = kept.as_ref()
            && until.is_none_or(|until| Instant::now() < until)
        {
            return Ok(credential.clone());
        }
        let failed = |why: String| object_store::Error::Generic { store: "S3", source: why.into() };
        let (program, arguments) = self.words.split_first().ok_or_else(|| failed(String::new()))?;
        // Other requests go on meanwhile.
        let run = block_in_place(|| Command::new(program).args(arguments).output());
        let output = run.map_err(|error| failed(format!("credential_process cannot be run: {error}")))?;
        if !output.status.success() {
            return Err(failed(format!("credential_process ended with {}", output.status)));
        }
        // The output may contain secrets, so messages must not show it.
        let none = |_| failed("credential_process printed no credentials".to_owned());
        let Printed { access_key_id: key_id, secret_access_key: secret_key, session_token: token, expiration } =
            serde_json::from_slice(&output.stdout).map_err(none)?;
        let until = expiration.map(|time| Instant::now() + kept_for(&time));
        let credential = Arc::new(AwsCredential { key_id, secret_key, token });
        *kept = Some((credential.clone(), until));
        Ok(credential)
    }
}

/// Returns how long credentials that expire at an RFC 3339 time are kept: for half of what is left.
fn kept_for(expiration: &str) -> Duration {
    let Ok(time) = DateTime::parse_from_rfc3339(expiration) else { return KEPT };
    let end = UNIX_EPOCH + Duration::from_secs(time.timestamp().try_into().unwrap_or(0));
    end.duration_since(SystemTime::now()).unwrap_or_default() / 2
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const CONFIG: &str = "
# comment
[default]
region = eu-west-1
[profile  work]
region=eu-central-1
services = local
s3 =
  addressing_style = path
endpoint_url = http://all
[services local]
s3 =
  endpoint_url = http://here:9000
";

    #[test]
    fn sections_and_what_is_below_their_names_are_read() {
        let mut values = BTreeMap::new();
        assert!(read_section(CONFIG, &["work", "profile work"], &mut values));
        assert_eq!(values["region"], "eu-central-1");
        assert_eq!(values["s3.addressing_style"], "path");
        assert_eq!(values["endpoint_url"], "http://all");
        let mut services = BTreeMap::new();
        assert!(read_section(CONFIG, &["services local"], &mut services));
        assert_eq!(services["s3.endpoint_url"], "http://here:9000");
        assert!(!read_section(CONFIG, &["other"], &mut services));
    }

    fn files(values: &[(&str, &str)]) -> AwsFiles {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        AwsFiles { profile: "p".to_owned(), values }
    }

    #[test]
    fn process_gives_credentials() {
        let printed = r#"{"Version":1,"AccessKeyId":"a","SecretAccessKey":"b","Expiration":"2030-01-01T00:00:00Z"}"#;
        let command = format!("echo '{printed}'");
        let provider = |command: &str| files(&[("credential_process", command)]).credentials().unwrap().unwrap();
        let credential = provider(&command).get_credential().now_or_never().unwrap().unwrap();
        assert_eq!((credential.key_id.as_str(), credential.secret_key.as_str()), ("a", "b"));
        let process = provider("echo secret");
        let error = process.get_credential().now_or_never().unwrap().unwrap_err();
        assert!(!format!("{error:?}{process:?}").contains("secret"));
    }

    #[test]
    fn credentials_are_kept_for_half_of_what_is_left_of_them() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let after =
            |seconds: u64| DateTime::from_timestamp((now + seconds).try_into().unwrap(), 0).unwrap().to_rfc3339();
        assert!((58..=60).contains(&kept_for(&after(120)).as_secs()));
        assert!((3590..=3600).contains(&kept_for(&after(7200)).as_secs()));
        assert_eq!([kept_for("2020-01-01T00:00:00Z"), kept_for("soon")], [Duration::ZERO, KEPT]);
    }

    #[test]
    fn credentials_that_need_what_is_not_built_are_an_error() {
        let profiles: [(&[(&str, &str)], &str); 3] = [
            (&[("role_arn", "arn"), ("source_profile", "base")], "role_arn"),
            (&[("sso_session", "work"), ("sso_account_id", "1")], "sso_session"),
            (&[("sso_start_url", "https://x"), ("sso_role_name", "r")], "sso_start_url"),
        ];
        for (values, name) in profiles {
            let error = files(values).credentials().err().unwrap();
            assert!(error.contains(&format!("`{name}`")) && error.contains("profile `p`"), "{error}");
        }
        assert!(matches!(files(&[]).credentials(), Ok(None)));
    }
}
