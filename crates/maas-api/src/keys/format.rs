//! What an API key looks like: `sk-oai-<key id>_<secret>`.
//!
//! Only a hash over both parts is ever stored; the plain key exists in the answer to its creation and nowhere else.

use std::fmt;

use rand::Rng;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::base62;

/// Every key starts with this.
pub const PREFIX: &str = "sk-oai-";
/// How much of the key id the display prefix shows.
const SHOWN: usize = 12;

/// A plain API key. `Debug` does not show it.
#[derive(Clone)]
pub struct ApiKey {
    text: String,
    /// Where the `_` is.
    separator: usize,
}

impl ApiKey {
    /// A new key from the given source of randomness, which must be fit for secrets.
    pub fn generate(random: &mut impl Rng) -> Self {
        let (mut id, mut secret) = ([0_u8; 12], [0_u8; 32]);
        random.fill_bytes(&mut id);
        random.fill_bytes(&mut secret);
        let id = base62::encode(&id);
        let separator = PREFIX.len() + id.len();
        Self { text: format!("{PREFIX}{id}_{}", base62::encode(&secret)), separator }
    }

    /// The key itself: for the answer to its creation, and for nothing else.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// What people may see of it later, to tell keys apart.
    pub fn display_prefix(&self) -> String {
        let id = &self.text[PREFIX.len()..self.separator];
        format!("{PREFIX}{}...", &id[..id.len().min(SHOWN)])
    }

    /// What is stored of it.
    pub fn hash(&self) -> KeyHash {
        let (id, secret) = (&self.text[PREFIX.len()..self.separator], &self.text[self.separator + 1..]);
        KeyHash::of_parts(id, secret)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// SHA-256 over key id, a NUL and secret.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub struct KeyHash([u8; 32]);

impl KeyHash {
    /// The hash of a key as a client sends it, or `None` if that is not an API key's form.
    pub fn of(text: &str) -> Option<Self> {
        let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let well_formed = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric());
        (well_formed(id) && well_formed(secret)).then(|| Self::of_parts(id, secret))
    }

    fn of_parts(id: &str, secret: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(id.as_bytes());
        hash.update([0]);
        hash.update(secret.as_bytes());
        Self(hash.finalize().into())
    }

    /// As stored: 64 lower-case hexadecimal digits.
    pub fn to_hex(self) -> String {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        self.0
            .iter()
            .flat_map(|b| [HEX[usize::from(b >> 4)], HEX[usize::from(b & 15)]])
            .map(char::from)
            .collect()
    }

    /// Reads what [`to_hex`](Self::to_hex) writes.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let text: &[u8; 64] = text.as_bytes().try_into().ok()?;
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(text.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(hash))
    }

    /// Equality that takes the same time wherever the difference is.
    pub fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHash(…)") // as good as a password to whoever can write to the store
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_originals() {
        let hash = KeyHash::of("sk-oai-testKeyID123_testSecretValue456").expect("well-formed");
        assert_eq!(hash.to_hex(), "808d67492d1cb86b9e6f9c07a5db95803242782483b50f0dcab17f1f74a8a469");
        assert!(KeyHash::from_hex(&hash.to_hex()).expect("hex").matches(&hash));
    }

    #[test]
    fn a_generated_key_has_the_form_and_hashes_like_one_that_is_sent() {
        let (a, b) = (ApiKey::generate(&mut rand::rng()), ApiKey::generate(&mut rand::rng()));
        assert_eq!(KeyHash::of(a.expose()), Some(a.hash()));
        assert_ne!(a.expose(), b.expose());
        assert!(!a.hash().matches(&b.hash()));
        let (id, secret) = a.expose()[PREFIX.len()..].split_once('_').expect("two parts");
        assert!((14..=17).contains(&id.len()), "{}", id.len());
        assert!((40..=43).contains(&secret.len()), "{}", secret.len());
        assert_eq!(a.display_prefix(), format!("sk-oai-{}...", &id[..12]));
    }

    #[test]
    fn other_forms_are_refused() {
        for text in [
            "",
            "abc",
            "sk-oai-",
            "sk-oai-_",
            "sk-oai-a_",
            "sk-oai-_b",
            "sk-oai-ab",
            "sk-oai-a_b_c",
            "sk-oai-a-_b",
            "sk-oai-a_b ",
            " sk-oai-a_b",
            "SK-OAI-a_b",
            "sk-oai-ä_b",
            "sk-oai-a_b\0",
        ] {
            assert_eq!(KeyHash::of(text), None, "{text:?}");
        }
        assert!(KeyHash::of("sk-oai-a_b").is_some());
    }

    #[test]
    fn a_short_key_id_is_shown_whole() {
        let key = ApiKey { text: "sk-oai-abc_def".into(), separator: 10 };
        assert_eq!(key.display_prefix(), "sk-oai-abc...");
    }

    #[test]
    fn neither_key_nor_hash_is_shown_by_debug() {
        let key = ApiKey::generate(&mut rand::rng());
        let shown = format!("{key:?} {:?}", key.hash());
        assert!(
            !shown.contains(&key.expose()[PREFIX.len()..]) && !shown.contains(&key.hash().to_hex()),
            "{shown}"
        );
    }

    #[test]
    fn what_is_not_a_hash_is_not_read_as_one() {
        for text in ["", "00", &"0".repeat(63), &"g".repeat(64), &"A".repeat(64), &"0".repeat(65)] {
            assert_eq!(KeyHash::from_hex(text), None, "{text}");
        }
    }
}
