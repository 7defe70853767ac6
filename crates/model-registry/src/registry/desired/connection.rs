//! How the server reaches its database: arguments, environment and files.

use k8s_openapi::api::core::v1::{ConfigMapVolumeSource, EnvVar, Volume, VolumeMount};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use quintet_api::model_registry::{KeyRef, ModelRegistrySpec, MySql, Postgres};
use quintet_kit::parts::{env, volume};

use crate::parts::server::secret_key;

/// Files that only the server's own user may read.
pub(super) const PRIVATE: i32 = 0o600;

/// What a URL may carry as it is.
const NOT_IN_URL: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// How the server reaches its database.
#[derive(Debug, Default)]
pub(super) struct Connection {
    pub(super) arguments: Vec<String>,
    pub(super) env: Vec<EnvVar>,
    pub(super) volumes: Vec<Volume>,
    pub(super) mounts: Vec<VolumeMount>,
}

impl Connection {
    /// PostgreSQL wins over MySQL. A specification without either was refused before.
    pub(super) fn of(spec: &ModelRegistrySpec, password_apart: bool) -> Self {
        match (&spec.postgres, &spec.mysql) {
            (Some(postgres), _) => Connection::postgres(postgres, password_apart),
            (None, Some(mysql)) => Connection::mysql(mysql),
            (None, None) => Connection::default(),
        }
    }

    /// The password is put into the URL by the kubelet, as it is: one that a URL cannot carry only works `apart`, where the
    /// server's driver looks for it if the URL has none.
    fn postgres(database: &Postgres, apart: bool) -> Self {
        let mut connection = Connection::default();
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let encoded = |value: &Option<String>| utf8_percent_encode(&text(value), NOT_IN_URL).to_string();
        let host = [&database.host, &database.host_address];
        let host = host.into_iter().flatten().find(|host| !host.is_empty()).cloned().unwrap_or_default();
        let password = database.password_secret.as_ref();
        let in_url = if password.is_some() && !apart { ":$(POSTGRES_PASSWORD)" } else { "" };
        let mode = database.ssl_mode.map(|mode| format!("?sslmode={}", mode.as_str())).unwrap_or_default();
        let (user, name, port) = (encoded(&database.username), encoded(&database.database), database.port);
        connection.argument("type", "postgres");
        connection.argument("dsn", format!("postgresql://{user}{in_url}@{host}:{port}/{name}{mode}"));
        connection.variable(if apart { "PGPASSWORD" } else { "POSTGRES_PASSWORD" }, password);
        connection.variable("POSTGRES_SSLPASSWORD", database.ssl_password_secret.as_ref());
        connection.file("postgres", "ssl-cert", Source::secret(database.ssl_certificate_secret.as_ref()));
        connection.file("postgres", "ssl-key", Source::secret(database.ssl_key_secret.as_ref()));
        let root = Source::config_map(database.ssl_root_certificate_config_map.as_ref());
        let root = root.or_else(|| Source::secret(database.ssl_root_certificate_secret.as_ref()));
        connection.file("postgres", "ssl-root-cert", root);
        connection
    }

    fn mysql(database: &MySql) -> Self {
        let mut connection = Connection::default();
        let host = if database.host.is_empty() { "localhost" } else { &database.host };
        let password = if database.password_secret.is_some() { ":$(MYSQL_PASSWORD)" } else { "" };
        let (user, name, port) = (&database.username, &database.database, database.port);
        connection.argument("type", "mysql");
        connection.argument("dsn", format!("{user}{password}@tcp({host}:{port})/{name}?charset=utf8mb4"));
        connection.variable("MYSQL_PASSWORD", database.password_secret.as_ref());
        connection.file("mysql", "ssl-cert", Source::secret(database.ssl_certificate_secret.as_ref()));
        connection.file("mysql", "ssl-key", Source::secret(database.ssl_key_secret.as_ref()));
        let root = Source::config_map(database.ssl_root_certificate_config_map.as_ref());
        let root = root.or_else(|| Source::secret(database.ssl_root_certificate_secret.as_ref()));
        connection.file("mysql", "ssl-root-cert", root);
        connection.authorities(database);
        if let Some(cipher) = &database.ssl_cipher {
            connection.argument("ssl-cipher", cipher);
        }
        if let Some(verify) = database.verify_server_cert {
            connection.argument("ssl-verify-server-cert", verify.to_string());
        }
        connection
    }

    /// A whole folder of authorities.
    fn authorities(&mut self, database: &MySql) {
        let maps = &database.ssl_root_certificates_config_map_name;
        let secrets = &database.ssl_root_certificates_secret_name;
        let (name, path) = ("mysql-ssl-rootcerts", "/etc/mysql_ssl_rootcerts");
        let volume = match (maps, secrets) {
            (Some(map), _) => config_map(name, map),
            (None, Some(secret)) => volume::secret(name, secret, PRIVATE),
            (None, None) => return,
        };
        self.argument("ssl-ca", format!("{path}/"));
        self.volumes.push(volume);
        self.mounts.push(volume::read_only(name, path));
    }

    fn argument(&mut self, name: &str, value: impl AsRef<str>) {
        self.arguments.push(format!("--embedmd-database-{name}={}", value.as_ref()));
    }

    fn variable(&mut self, name: &str, key: Option<&KeyRef>) {
        self.env.extend(key.map(|key| env::secret(name, secret_key(key))));
    }

    /// A file for one argument: `ssl-root-cert` is in the volume `postgres-ssl-rootcert` at `/etc/postgres_ssl_rootcert`.
    fn file(&mut self, database: &str, argument: &str, source: Option<Source<'_>>) {
        let Some(source) = source else { return };
        let volume = format!("{database}-{}", argument.replace("root-cert", "rootcert"));
        let path = format!("/etc/{}", volume.replace('-', "_"));
        self.argument(argument, format!("{path}/{}", source.key.key));
        self.volumes.push(match source.is_map {
            true => config_map(&volume, &source.key.name),
            false => volume::secret(&volume, &source.key.name, PRIVATE),
        });
        self.mounts.push(volume::read_only(volume, &path));
    }
}

/// Where a file comes from.
struct Source<'a> {
    key: &'a KeyRef,
    is_map: bool,
}

impl<'a> Source<'a> {
    fn secret(key: Option<&'a KeyRef>) -> Option<Self> {
        key.map(|key| Source { key, is_map: false })
    }

    fn config_map(key: Option<&'a KeyRef>) -> Option<Self> {
        key.map(|key| Source { key, is_map: true })
    }
}

fn config_map(name: &str, map: &str) -> Volume {
    let source = ConfigMapVolumeSource {
        name: map.into(),
        default_mode: Some(PRIVATE),
        ..ConfigMapVolumeSource::default()
    };
    Volume { name: name.into(), config_map: Some(source), ..Volume::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn connection(spec: Value) -> Connection {
        let mut whole = json!({ "rest": {} });
        spec.as_object().unwrap().iter().for_each(|(name, value)| whole[name] = value.clone());
        Connection::of(&serde_json::from_value(whole).unwrap(), false)
    }

    fn key(name: &str, key: &str) -> Value {
        json!({ "name": name, "key": key })
    }

    fn names(connection: &Connection) -> (Vec<&str>, Vec<(&str, &str)>, Vec<&str>) {
        let mounts = connection.mounts.iter().map(|mount| (mount.name.as_str(), mount.mount_path.as_str()));
        assert!(connection.mounts.iter().all(|mount| mount.read_only == Some(true)));
        (
            connection.env.iter().map(|env| env.name.as_str()).collect(),
            mounts.collect(),
            connection.volumes.iter().map(|volume| volume.name.as_str()).collect(),
        )
    }

    #[test]
    fn every_option_of_postgres() {
        let postgres = json!({ "host": "", "hostAddress": "10.0.0.1", "port": 1, "username": "u", "database": "d",
            "sslMode": "verify-ca", "passwordSecret": key("p", "k"), "sslPasswordSecret": key("q", "k"),
            "sslCertificateSecret": key("c", "cert"), "sslKeySecret": key("k", "key"),
            "sslRootCertificateConfigMap": key("m", "ca"), "sslRootCertificateSecret": key("x", "other") });
        let connection = connection(
            json!({ "postgres": postgres, "mysql": { "host": "m", "database": "d", "username": "u" } }),
        );
        assert_eq!(
            connection.arguments,
            [
                "--embedmd-database-type=postgres",
                "--embedmd-database-dsn=postgresql://u:$(POSTGRES_PASSWORD)@10.0.0.1:1/d?sslmode=verify-ca",
                "--embedmd-database-ssl-cert=/etc/postgres_ssl_cert/cert",
                "--embedmd-database-ssl-key=/etc/postgres_ssl_key/key",
                "--embedmd-database-ssl-root-cert=/etc/postgres_ssl_rootcert/ca",
            ]
        );
        let (env, mounts, volumes) = names(&connection);
        assert_eq!(env, ["POSTGRES_PASSWORD", "POSTGRES_SSLPASSWORD"]);
        assert_eq!(volumes, ["postgres-ssl-cert", "postgres-ssl-key", "postgres-ssl-rootcert"]);
        assert_eq!(mounts[2], ("postgres-ssl-rootcert", "/etc/postgres_ssl_rootcert"));
        assert_eq!(connection.volumes[2].config_map.as_ref().unwrap().name, "m", "the ConfigMap wins");
        assert_eq!(connection.volumes[0].secret.as_ref().unwrap().default_mode, Some(384));
    }

    #[test]
    fn every_option_of_mysql() {
        let mysql = json!({ "host": "", "port": 1, "username": "u", "database": "d", "sslCipher": "",
            "sslCertificateSecret": key("c", "cert"), "sslKeySecret": key("k", "key"), "verifyServerCert": false,
            "sslRootCertificateSecret": key("r", "ca"), "sslRootCertificatesSecretName": "all" });
        let connection = connection(json!({ "mysql": mysql }));
        assert_eq!(
            connection.arguments,
            [
                "--embedmd-database-type=mysql",
                "--embedmd-database-dsn=u@tcp(localhost:1)/d?charset=utf8mb4",
                "--embedmd-database-ssl-cert=/etc/mysql_ssl_cert/cert",
                "--embedmd-database-ssl-key=/etc/mysql_ssl_key/key",
                "--embedmd-database-ssl-root-cert=/etc/mysql_ssl_rootcert/ca",
                "--embedmd-database-ssl-ca=/etc/mysql_ssl_rootcerts/",
                "--embedmd-database-ssl-cipher=",
                "--embedmd-database-ssl-verify-server-cert=false",
            ]
        );
        assert_eq!(
            names(&connection).2,
            ["mysql-ssl-cert", "mysql-ssl-key", "mysql-ssl-rootcert", "mysql-ssl-rootcerts"]
        );
    }

    #[test]
    fn a_password_that_a_url_cannot_carry_is_told_apart_from_it() {
        let key = json!({ "name": "s", "key": "p" });
        let spec = json!({ "rest": {}, "postgres": { "host": "h", "username": "u", "database": "d", "passwordSecret": key } });
        let connection = Connection::of(&serde_json::from_value(spec).unwrap(), true);
        assert!(connection.arguments[1].ends_with("postgresql://u@h:5432/d?sslmode=disable"));
        assert_eq!(names(&connection).0, ["PGPASSWORD"]);
    }

    #[test]
    fn what_a_url_cannot_carry_is_encoded_and_nothing_else() {
        let dsn = |user: &str, database: &str| {
            connection(json!({ "postgres": { "host": "h", "username": user, "database": database } }))
                .arguments[1]
                .clone()
        };
        assert!(dsn("a b@c", "d/e?f").ends_with("postgresql://a%20b%40c@h:5432/d%2Fe%3Ff?sslmode=disable"));
        assert!(dsn("model-registry_user.1", "x~y").contains("://model-registry_user.1@h:5432/x~y?"));
    }
}
