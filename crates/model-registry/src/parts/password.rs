//! Passwords that the operator makes up.

use base64::{Engine, engine::general_purpose::URL_SAFE};

/// A new password: 16 random bytes as 24 characters that need no quoting.
pub(crate) fn generate() -> String {
    URL_SAFE.encode(rand::random::<[u8; 16]>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_has_24_characters_and_is_not_told_twice() {
        let (one, other) = (generate(), generate());
        assert_ne!(one, other);
        assert_eq!(one.len(), 24);
        assert!(
            one.ends_with("==") && one[..22].chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
        );
    }
}
