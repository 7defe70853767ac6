//! Signs ServiceAccount tokens, checks them, and publishes the key (OIDC discovery document and JWKS).

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use parking_lot::Mutex;
use rcgen::PublicKeyData;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::service_account::{LegacyClaims, PrivateClaims};
use super::{Account, BoundObject, Claims, CoreObjects, InvalidToken};
use crate::hooks::User;

/// The issuer and audience of a real server's tokens unless it is told another.
pub(super) const DEFAULT_ISSUER: &str = "https://kubernetes.default.svc";
/// The issuer of tokens kept in Secrets.
const LEGACY_ISSUER: &str = "kubernetes/serviceaccount";
/// The life that Pods' projected volumes ask for; such tokens live a year, so that a client that never re-reads its
/// file keeps working, and say in `warnafter` when it should have.
const PROJECTED_SECONDS: i64 = 3607;
const EXTENDED_SECONDS: i64 = 365 * 24 * 60 * 60;
/// How many tokens whose signature was found good are remembered.
const REMEMBERED: usize = 4096;

/// The signing key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Not a private key in PKCS#8 PEM, or not RSA or P-256.
    #[error("the ServiceAccount signing key must be an RSA or P-256 private key in PKCS#8 PEM: {0}")]
    Unusable(String),
}

/// Makes and checks ServiceAccount tokens.
pub struct TokenIssuer {
    issuer: String,
    audiences: Vec<String>,
    algorithm: Algorithm,
    kid: String,
    signing: EncodingKey,
    checking: DecodingKey,
    jwk: Value,
    /// Signature checks cost more than all else in a request. Only the signature is remembered: expiry and the bound
    /// objects are looked at each time.
    verified: Mutex<HashMap<[u8; 32], Arc<Claims>>>,
}

/// The two documents by which others check our tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct Discovery {
    /// `/.well-known/openid-configuration`.
    pub configuration: Value,
    /// `/openid/v1/jwks`.
    pub keys: Value,
}

impl TokenIssuer {
    /// An issuer with a fresh P-256 key: made in microseconds, where an RSA key would take longer than the rest of the
    /// plane's start.
    pub fn generate() -> Result<Self, KeyError> {
        let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)
            .map_err(|error| KeyError::Unusable(error.to_string()))?;
        Self::with_key(&pair)
    }

    /// An issuer with a given key (RSA: RS256, P-256: ES256), so that tokens survive a restart.
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        let pair = rcgen::KeyPair::from_pem(pem).map_err(|error| KeyError::Unusable(error.to_string()))?;
        Self::with_key(&pair)
    }

    fn with_key(pair: &rcgen::KeyPair) -> Result<Self, KeyError> {
        let unusable = |error: jsonwebtoken::errors::Error| KeyError::Unusable(error.to_string());
        let (algorithm, signing) = if pair.is_compatible(&rcgen::PKCS_ECDSA_P256_SHA256) {
            (Algorithm::ES256, EncodingKey::from_ec_der(&pair.serialize_der()))
        } else if pair.is_compatible(&rcgen::PKCS_RSA_SHA256) {
            (Algorithm::RS256, EncodingKey::from_rsa_pem(pair.serialize_pem().as_bytes()).map_err(unusable)?)
        } else {
            return Err(KeyError::Unusable("neither RSA nor P-256".into()));
        };
        let kid = URL_SAFE_NO_PAD.encode(Sha256::digest(pair.subject_public_key_info()));
        let jwk = Jwk::from_encoding_key(&signing, algorithm).map_err(unusable)?;
        let checking = DecodingKey::from_jwk(&jwk).map_err(unusable)?;
        let mut jwk = serde_json::to_value(jwk).map_err(|error| KeyError::Unusable(error.to_string()))?;
        jwk["use"] = json!("sig");
        jwk["kid"] = json!(kid);
        Ok(Self {
            issuer: DEFAULT_ISSUER.into(),
            audiences: vec![DEFAULT_ISSUER.into()],
            algorithm,
            kid,
            signing,
            checking,
            jwk,
            verified: Mutex::default(),
        })
    }

    /// The audiences that the API itself answers to.
    pub fn audiences(&self) -> &[String] {
        &self.audiences
    }

    /// The documents that publish the key; `base` is where this server is reached, such as `https://127.0.0.1:6443`.
    pub fn discovery(&self, base: &str) -> Discovery {
        let configuration = json!({
            "issuer": self.issuer,
            "jwks_uri": format!("{base}/openid/v1/jwks"),
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [self.jwk["alg"]],
        });
        Discovery { configuration, keys: json!({ "keys": [self.jwk] }) }
    }

    /// Signs a token for a ServiceAccount; the second value is when it expires.
    pub fn issue(
        &self,
        namespace: &str,
        account: &Account,
        audiences: &[String],
        seconds: i64,
        bound: Option<&BoundObject>,
        now: Timestamp,
    ) -> Result<(String, Timestamp), KeyError> {
        let start = now.as_second();
        let extended = seconds == PROJECTED_SECONDS && audiences == self.audiences;
        let life = if extended { EXTENDED_SECONDS } else { seconds };
        let (mut pod, mut node, mut secret) = (None, None, None);
        match bound {
            Some(BoundObject::Pod(p, n)) => (pod, node) = (Some(p.clone()), n.clone()),
            Some(BoundObject::Secret(s)) => secret = Some(s.clone()),
            Some(BoundObject::Node(n)) => node = Some(n.clone()),
            None => {}
        }
        let claims = Claims {
            aud: audiences.to_vec(),
            exp: Some(start.saturating_add(life)),
            iat: Some(start),
            iss: self.issuer.clone(),
            jti: Some(Uuid::new_v4().to_string()),
            private: Some(PrivateClaims {
                namespace: namespace.into(),
                node,
                pod,
                secret,
                serviceaccount: account.clone(),
                warnafter: extended.then(|| start.saturating_add(seconds)),
            }),
            legacy: LegacyClaims::default(),
            nbf: Some(start),
            sub: super::user::service_account_name(namespace, &account.name),
        };
        let expires = Timestamp::from_second(start.saturating_add(seconds)).unwrap_or(Timestamp::MAX);
        Ok((self.sign(&claims)?, expires))
    }

    /// Signs the token of a Secret of type `kubernetes.io/service-account-token`; it lives as long as the Secret.
    pub fn issue_legacy(&self, namespace: &str, account: &Account, secret: &str) -> Result<String, KeyError> {
        self.sign(&Claims {
            aud: vec![],
            exp: None,
            iat: None,
            iss: LEGACY_ISSUER.into(),
            jti: None,
            private: None,
            legacy: LegacyClaims {
                namespace: Some(namespace.into()),
                secret: Some(secret.into()),
                account: Some(account.name.clone()),
                uid: Some(account.uid.clone()),
            },
            nbf: None,
            sub: super::user::service_account_name(namespace, &account.name),
        })
    }

    fn sign(&self, claims: &Claims) -> Result<String, KeyError> {
        let mut header = Header::new(self.algorithm);
        header.typ = None;
        header.kid = Some(self.kid.clone());
        jsonwebtoken::encode(&header, claims, &self.signing)
            .map_err(|error| KeyError::Unusable(error.to_string()))
    }

    /// The user of a token made for one of `audiences`, and those of them that it was made for.
    pub fn user(
        &self,
        token: &str,
        audiences: &[String],
        objects: &dyn CoreObjects,
        now: Timestamp,
    ) -> Result<(User, Vec<String>), InvalidToken> {
        let claims = self.claims(token)?;
        // Tokens kept in Secrets name no audience: they are for the API itself.
        let made_for = if claims.private.is_some() { &claims.aud } else { &self.audiences };
        let common: Vec<String> = audiences.iter().filter(|a| made_for.contains(a)).cloned().collect();
        let user = claims.user(objects, now)?;
        if common.is_empty() {
            return Err(InvalidToken::Audience { token: made_for.clone(), target: audiences.to_vec() });
        }
        Ok((user, common))
    }

    /// Whether a token says that it is one of ours, before anybody looks at its signature; the key it names.
    fn claimed_key(&self, token: &str) -> Option<Option<String>> {
        let mut parts = token.split('.').map(|part| URL_SAFE_NO_PAD.decode(part).unwrap_or_default());
        let mut json = || serde_json::from_slice::<Value>(&parts.next()?).ok();
        let (header, claims) = (json()?, json()?);
        let issuer = claims.get("iss").and_then(Value::as_str)?;
        (issuer == self.issuer || issuer == LEGACY_ISSUER)
            .then(|| header.get("kid").and_then(Value::as_str).map(str::to_owned))
    }

    fn claims(&self, token: &str) -> Result<Arc<Claims>, InvalidToken> {
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        if let Some(claims) = self.verified.lock().get(&digest) {
            return Ok(claims.clone());
        }
        let named = self.claimed_key(token).ok_or(InvalidToken::Foreign)?;
        if named.is_some_and(|key| key != self.kid) {
            return Err(InvalidToken::Worthless("invalid signature, no keys found".into()));
        }
        let mut validation = Validation::new(self.algorithm);
        validation.required_spec_claims.clear();
        // Time and audience are checked in `user`, against the plane's own clock.
        validation.validate_exp = false;
        validation.validate_aud = false;
        validation.set_issuer(&[self.issuer.as_str(), LEGACY_ISSUER]);
        let forged = |_| InvalidToken::Worthless("go-jose/go-jose: error in cryptographic primitive".into());
        let claims =
            jsonwebtoken::decode::<Claims>(token, &self.checking, &validation).map_err(forged)?.claims;
        let claims = Arc::new(claims);
        let mut verified = self.verified.lock();
        if verified.len() >= REMEMBERED {
            verified.clear();
        }
        verified.insert(digest, claims.clone());
        Ok(claims)
    }
}

impl std::fmt::Debug for TokenIssuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenIssuer")
            .field("issuer", &self.issuer)
            .field("kid", &self.kid)
            .finish_non_exhaustive()
    }
}
