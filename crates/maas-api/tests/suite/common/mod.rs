//! What the tests share: stores to run on, keys to put in.

#![allow(dead_code)] // each test target uses its own part

pub(crate) mod service;

use std::sync::{Arc, LazyLock};

use jiff::{SignedDuration, Timestamp, Unit};
use quintet_harness::{Error, or_skip, postgres::Postgres};
use quintet_kit::Clock;
use quintet_maas_api::{
    keys::ApiKey,
    store::{
        NewKey, SharedStore,
        postgres::{PoolSize, PostgresStore},
        sqlite::SqliteStore,
    },
};

/// A store and what must live as long as it.
pub(crate) struct Store {
    store: SharedStore,
    _directory: Option<tempfile::TempDir>,
}

impl Store {
    /// A store that needs nothing else.
    pub(crate) fn new(store: SharedStore) -> Self {
        Self { store, _directory: None }
    }

    /// The store itself, to be shared.
    pub(crate) fn shared(&self) -> SharedStore {
        self.store.clone()
    }
}

impl std::ops::Deref for Store {
    type Target = SharedStore;

    fn deref(&self) -> &SharedStore {
        &self.store
    }
}

/// An empty SQLite store in a directory of its own.
pub(crate) async fn sqlite() -> Store {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store =
        SqliteStore::open(&directory.path().join("keys.db"), Clock::system()).await.expect("an SQLite file");
    Store { store: Arc::new(store), _directory: Some(directory) }
}

/// One server for all tests of a target; each test has a database of its own.
static SERVER: LazyLock<Result<Postgres, Error>> = LazyLock::new(Postgres::start);

/// The server, if this machine has PostgreSQL. In CI it must.
pub(crate) fn server(test: &str) -> Option<&'static Postgres> {
    match &*SERVER {
        Ok(server) => Some(server),
        Err(Error::Missing(missing)) => or_skip(test, Err(Error::Missing(missing.clone()))),
        Err(error) => panic!("{test}: {error}"),
    }
}

/// An empty database on that server.
pub(crate) fn database(test: &str) -> Option<String> {
    server(test).map(|server| server.database().expect("an empty database"))
}

/// An empty PostgreSQL store, if this machine has PostgreSQL.
pub(crate) async fn postgres(test: &str) -> Option<Store> {
    let url = database(test)?;
    let store =
        PostgresStore::open(&url, PoolSize { open: 4, ..Default::default() }).await.expect("a new store");
    Some(Store { store: Arc::new(store), _directory: None })
}

/// Now, to the microsecond that databases keep.
pub(crate) fn now() -> Timestamp {
    Timestamp::now().round(Unit::Microsecond).expect("in range")
}

/// A key that is valid for an hour.
pub(crate) fn key(username: &str, name: &str) -> NewKey {
    let (secret, now) = (ApiKey::generate(&mut rand::rng()), now());
    NewKey {
        id: uuid::Uuid::new_v4().to_string(),
        username: username.into(),
        name: name.into(),
        description: format!("about {name}"),
        hash: secret.hash(),
        groups: vec!["g1".into()],
        subscription: "gold".into(),
        ephemeral: false,
        created_at: now,
        expires_at: now + SignedDuration::from_hours(1),
    }
}

/// Makes two tests of each function: one on SQLite, one on PostgreSQL.
#[macro_export] // of a test: to the modules beside this one
macro_rules! stores {
    ($($(#[$meta:meta])* async fn $name:ident($store:ident: Store) $body:block)*) => {
        $($(#[$meta])* async fn $name($store: $crate::common::Store) $body)*

        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name($crate::common::sqlite().await).await
            })*
        }

        mod postgres {
            $(#[tokio::test]
            async fn $name() {
                if let Some(store) = $crate::common::postgres(concat!("postgres::", stringify!($name))).await {
                    super::$name(store).await
                }
            })*
        }
    };
}
