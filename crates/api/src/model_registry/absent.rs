//! Specifications that need not be there.

/// Reads a specification that is absent as one in which nothing is set, for a type with `serde(remote = "Self")`.
///
/// kube's derive lets no attribute onto the field `spec`; but serde asks a type whose field is absent whether it is
/// optional, and this one says so.
macro_rules! may_be_absent {
    ($spec:ident) => {
        impl serde::Serialize for $spec {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $spec::serialize(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $spec {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Given($spec);
                impl<'de> serde::Deserialize<'de> for Given {
                    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                        $spec::deserialize(deserializer).map(Given)
                    }
                }
                let given = <Option<Given> as serde::Deserialize>::deserialize(deserializer)?;
                Ok(given.map(|Given(spec)| spec).unwrap_or_default())
            }
        }
    };
}
