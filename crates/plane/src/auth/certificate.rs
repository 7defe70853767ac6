//! Client certificates: CN is the user, each O a group.

use x509_parser::prelude::{FromDer, X509Certificate};

use crate::hooks::User;

/// The user of a certificate that TLS has already verified; none if it has no common name.
pub fn user_of_certificate(der: &[u8]) -> Option<User> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().find_map(|cn| cn.as_str().ok()).filter(|cn| !cn.is_empty())?;
    let groups = subject.iter_organization().filter_map(|o| o.as_str().ok());
    Some(User::new(name, groups))
}

/// The client certificate of a connection (DER), verified by TLS. Whoever serves the plane over TLS puts it into each
/// request's extensions.
#[derive(Debug, Clone)]
pub struct PeerCertificate(pub Vec<u8>);
