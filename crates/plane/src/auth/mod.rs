//! Who is asking: client certificates, static tokens, ServiceAccount tokens, impersonation, anonymous.
//!
//! Everything here is a pure function of the request's credentials, the time and the live objects a token is bound
//! to; nothing reads the store or the clock by itself.

mod certificate;
mod impersonation;
mod issuer;
mod review;
mod service_account;
mod static_tokens;
mod user;

pub use certificate::{PeerCertificate, user_of_certificate};
pub use impersonation::{Impersonation, ImpersonationError};
pub use issuer::{Discovery, KeyError, TokenIssuer};
pub use review::{TokenRefused, TokenRequest, TokenReview, self_subject_review};
pub(crate) use service_account::go_list;
pub use service_account::{Account, BoundObject, Claims, CoreObjects, InvalidToken};
pub use static_tokens::StaticTokens;
pub use user::{MASTERS, service_account_name};

use http::{HeaderMap, header};
use jiff::Timestamp;

use crate::hooks::User;

/// The request carried a credential that names nobody. Answered as 401 `Unauthorized`; never as anonymous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Unauthorized")]
pub struct Unauthorized;

/// All the ways in which a request may say who sent it.
#[derive(Debug)]
pub struct Authenticator {
    /// Tokens given when the plane was built.
    pub tokens: StaticTokens,
    /// Signs and checks ServiceAccount tokens.
    pub issuer: TokenIssuer,
    /// Whether a request without credentials is `system:anonymous` or refused.
    pub anonymous: bool,
}

impl Authenticator {
    /// Names the sender of a request. `certificate` is the user of a client certificate that TLS has verified.
    pub fn authenticate(
        &self,
        headers: &HeaderMap,
        certificate: Option<&User>,
        objects: &dyn CoreObjects,
        now: Timestamp,
    ) -> Result<User, Unauthorized> {
        if let Some(user) = certificate {
            return Ok(user.clone());
        }
        match bearer(headers) {
            Some(token) => self.user_of_token(token, objects, now).ok_or(Unauthorized),
            None if self.anonymous && !headers.contains_key(header::AUTHORIZATION) => Ok(User::anonymous()),
            None => Err(Unauthorized),
        }
    }

    fn user_of_token(&self, token: &str, objects: &dyn CoreObjects, now: Timestamp) -> Option<User> {
        if let Some(user) = self.tokens.user(token) {
            return Some(user);
        }
        self.issuer.user(token, self.issuer.audiences(), objects, now).ok().map(|(user, _)| user)
    }
}

/// The token of `Authorization: Bearer …`. The scheme's case does not matter; an empty token is no token.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests;
