//! Whose word is taken for who a server is; and servers that are not spoken to, since nobody knows who they are: why, and
//! what to do about it.

use std::error::Error;
use std::io;

use reqwest::Certificate;
use rustls::CertificateError;
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

/// Whom to trust instead of the system's authorities; `None` where there are some.
///
/// A system that has none, as an empty container, gets those that Mozilla trusts, which are in the program. Where the environment names
/// a file or a folder of authorities in which there is none, nobody is trusted, and all that needs no certificate works.
pub(super) fn authorities_instead() -> Option<Vec<Certificate>> {
    match system_authorities() {
        Authorities::There => None,
        Authorities::NoneNamed => Some(Vec::new()),
        Authorities::NoneAtAll => Some(
            TLS_SERVER_ROOT_CERTS
                .iter()
                .filter_map(|authority| Certificate::from_der(authority).ok())
                .collect(),
        ),
    }
}

/// Whether anyone is trusted by what is on this machine.
#[derive(Clone, Copy)]
#[cfg_attr(
    not(all(unix, not(target_vendor = "apple"))),
    expect(dead_code, reason = "other systems have authorities")
)]
enum Authorities {
    There,
    /// `SSL_CERT_FILE` or `SSL_CERT_DIR` is set, and names nobody.
    NoneNamed,
    NoneAtAll,
}

/// It is looked at once: the files are long.
#[cfg(all(unix, not(target_vendor = "apple")))]
fn system_authorities() -> Authorities {
    static FOUND: std::sync::LazyLock<Authorities> = std::sync::LazyLock::new(|| {
        if !rustls_native_certs::load_native_certs().certs.is_empty() {
            Authorities::There
        } else if ["SSL_CERT_FILE", "SSL_CERT_DIR"].iter().any(|name| std::env::var_os(name).is_some()) {
            Authorities::NoneNamed
        } else {
            Authorities::NoneAtAll
        }
    });
    *FOUND
}

/// Other systems verify certificates themselves.
#[cfg(not(all(unix, not(target_vendor = "apple"))))]
fn system_authorities() -> Authorities {
    Authorities::There
}

/// Why a server gave no certificate that holds, and what to do about it; `None` for an error of another kind.
pub(super) fn untrusted(error: &(dyn Error + 'static)) -> Option<(String, &'static str)> {
    let mut next = Some(error);
    while let Some(error) = next {
        match error.downcast_ref() {
            Some(rustls::Error::InvalidCertificate(certificate)) => return Some(told(certificate)),
            Some(rustls::Error::InvalidMessage(_)) => {
                let help = "check the address: its port, and whether it begins with http://";
                return Some(("the server does not speak TLS there".to_owned(), help));
            }
            _ => {}
        }
        // An error of the system that holds another one gives the cause of that one as its own.
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inside) => Some(inside),
            None => error.source(),
        };
    }
    None
}

fn told(error: &CertificateError) -> (String, &'static str) {
    use CertificateError as Known;
    let why = match error {
        Known::UnknownIssuer => {
            return (
                "nobody whom this machine trusts has signed the server's certificate".to_owned(),
                "check the address; the certificates of further authorities are read from the PEM file that SSL_CERT_FILE names, \
                 which is to hold all of them",
            );
        }
        Known::Expired | Known::ExpiredContext { .. } => "the server's certificate has expired",
        Known::NotValidYet | Known::NotValidYetContext { .. } => "the server's certificate does not hold yet",
        Known::NotValidForName | Known::NotValidForNameContext { .. } => {
            let why = "the server's certificate is that of another name".to_owned();
            return (why, "check the address: use the name that the certificate is for");
        }
        Known::Revoked => "the server's certificate has been revoked",
        other => {
            let why = format!("the server's certificate does not hold: {other}");
            return (why, "check the address, and tell whoever runs the server");
        }
    };
    (why.to_owned(), "check the clock of this machine, and tell whoever runs the server")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bundled_authority_is_one_that_can_be_trusted() {
        let mut store = rustls::RootCertStore::empty();
        let (added, ignored) = store.add_parsable_certificates(TLS_SERVER_ROOT_CERTS.iter().cloned());
        assert_eq!(ignored, 0);
        assert!(added > 100);
    }

    #[test]
    fn certificate_error_is_found_however_deep_it_lies() {
        let error = rustls::Error::InvalidCertificate(CertificateError::Expired);
        assert!(untrusted(&error).is_some_and(|(why, _)| why.contains("expired")));
        let error = io::Error::other(io::Error::other(error));
        assert!(untrusted(&error).is_some_and(|(why, _)| why.contains("expired")));
        let error = io::Error::other(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer));
        assert!(untrusted(&error).is_some_and(|(_, help)| help.contains("SSL_CERT_FILE")));
        assert!(untrusted(&io::Error::other("connection reset")).is_none());
    }
}
