use std::collections::HashMap;

use super::*;

fn environment(pairs: &[(&str, &str)]) -> HashMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn read(pairs: &[(&str, &str)], arguments: &[&str]) -> Result<Settings, String> {
    let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
    Settings::read(&environment(pairs), &arguments).map_err(|error| error.to_string())
}

fn validate(pairs: &[(&str, &str)], arguments: &[&str]) -> Result<Config, String> {
    read(pairs, arguments)?.validate().map_err(|error| error.to_string())
}

#[test]
fn defaults_are_the_originals() {
    let settings = read(&[], &[]).unwrap();
    assert_eq!(settings.namespace, "maas-api");
    assert_eq!(settings.instance_name, "maas-default-gateway");
    assert_eq!(settings.subscription_namespace, "models-as-a-service");
    assert_eq!((settings.max_expiration_days, settings.access_check_timeout_seconds), (90, 15));
    assert_eq!((settings.sar_cache_max_size, settings.db_max_open, settings.db_max_idle), (8192, 25, 5));
    let config = settings.validate().unwrap();
    assert_eq!(config.address, ":8080");
    assert!(config.tls.is_none());
}

#[test]
fn flags_win_over_the_environment_and_take_every_spelling() {
    let settings = read(
        &[("NAMESPACE", "env"), ("DEBUG_MODE", "true"), ("GATEWAY_NAME", "gw")],
        &[
            "-namespace=one",
            "--namespace",
            "two",
            "--debug=false",
            "-secure",
            "--gateway-name",
            "flag",
            "rest",
            "--nope",
        ],
    )
    .unwrap();
    assert_eq!(settings.namespace, "two");
    assert!(!settings.debug && settings.secure);
    assert_eq!(settings.instance_name, "gw", "follows the variable, not the flag");
    assert_eq!(settings.gateway_name, "flag");
}

#[test]
fn flags_that_cannot_be_used_say_so() {
    for (arguments, expected) in [
        (vec!["--nope"], "flag provided but not defined: -nope"),
        (vec!["--namespace"], "flag needs an argument: -namespace"),
        (vec!["--debug=maybe"], "invalid boolean value \"maybe\" for -debug: parse error"),
        (
            vec!["--tls-min-version", "1.1"],
            "invalid value \"1.1\" for flag -tls-min-version: unsupported TLS version \"1.1\": must be 1.2 or 1.3",
        ),
        (vec!["---x"], "bad flag syntax: ---x"),
        (vec!["--=x"], "bad flag syntax: --=x"),
        (vec!["-h"], "help requested"),
    ] {
        assert_eq!(read(&[], &arguments).unwrap_err(), expected);
    }
    assert!(read(&[], &["--debug", "false", "--nope"]).is_ok(), "`false` is no flag, and ends them");
    assert!(read(&[], &["--", "--nope"]).is_ok());
}

#[test]
fn what_cannot_be_read_from_the_environment_counts_as_not_set() {
    let settings = read(
        &[
            ("SECURE", "maybe"),
            ("API_KEY_MAX_EXPIRATION_DAYS", "many"),
            ("TLS_MIN_VERSION", "9"),
            ("NAMESPACE", ""),
        ],
        &[],
    )
    .unwrap();
    assert!(!settings.secure);
    assert_eq!(settings.max_expiration_days, 90);
    assert_eq!(settings.tls_min_version, TlsVersion::V1_2);
    assert_eq!(settings.namespace, "", "set, though empty");
}

#[test]
fn scenario_32_tls_config() {
    let without = "--secure requires either --tls-cert/--tls-key or --tls-self-signed";
    assert_eq!(validate(&[("SECURE", "true")], &[]).unwrap_err(), without);
    let config = validate(&[("SECURE", "false"), ("TLS_CERT", "c"), ("TLS_KEY", "k")], &[]).unwrap();
    assert_eq!(config.address, ":8443");
    assert!(matches!(config.tls, Some((TlsSource::Files(_), TlsVersion::V1_2))));
}

#[test]
fn certificates_decide_about_https() {
    let half = "--tls-cert and --tls-key must both be provided together";
    assert_eq!(validate(&[("TLS_CERT", "c")], &[]).unwrap_err(), half);
    assert_eq!(validate(&[("TLS_KEY", "k")], &[]).unwrap_err(), half);
    let config = validate(&[("TLS_SELF_SIGNED", "true")], &["--tls-min-version=1.3"]).unwrap();
    assert!(matches!(config.tls, Some((TlsSource::SelfSigned { .. }, TlsVersion::V1_3))));
    let config = validate(&[("TLS_SELF_SIGNED", "true"), ("TLS_CERT", "c"), ("TLS_KEY", "k")], &[]).unwrap();
    assert!(matches!(config.tls, Some((TlsSource::Files(_), _))), "files win");
}

#[test]
fn the_old_port_turns_https_off_unless_there_is_a_certificate() {
    let config = validate(&[("SECURE", "true"), ("PORT", "9000")], &[]).unwrap();
    assert_eq!(config.address, ":9000");
    assert!(config.tls.is_none());
    let config = validate(&[("ADDRESS", "127.0.0.1:1")], &["--port", "9000"]).unwrap();
    assert_eq!(config.address, "127.0.0.1:1");
    let config = validate(&[("PORT", "9000"), ("TLS_SELF_SIGNED", "1")], &[]).unwrap();
    assert!(config.tls.is_some() && config.address == ":9000");
    assert!(read(&[], &["--port=1"]).unwrap().port_flag && !read(&[("PORT", "1")], &[]).unwrap().port_flag);
}

#[test]
fn numbers_and_names_are_checked_before_anything_starts() {
    for (name, value, expected) in [
        ("MAAS_SUBSCRIPTION_NAMESPACE", " ", "MAAS_SUBSCRIPTION_NAMESPACE must be non-empty"),
        ("API_KEY_MAX_EXPIRATION_DAYS", "0", "API_KEY_MAX_EXPIRATION_DAYS must be at least 1"),
        ("ACCESS_CHECK_TIMEOUT_SECONDS", "-5", "ACCESS_CHECK_TIMEOUT_SECONDS must be at least 1"),
        ("SAR_CACHE_MAX_SIZE", "0", "SAR_CACHE_MAX_SIZE must be at least 1"),
        ("DB_MAX_OPEN_CONNS", "0", "DB_MAX_OPEN_CONNS must be at least 1"),
        ("VALIDATION_CACHE_TTL_SECONDS", "-1", "VALIDATION_CACHE_TTL_SECONDS must not be negative"),
    ] {
        assert_eq!(validate(&[(name, value)], &[]).unwrap_err(), expected);
    }
    for name in ["Upper", "-a", "a-", "a.b", &"a".repeat(64)] {
        let error = validate(&[("MAAS_SUBSCRIPTION_NAMESPACE", name)], &[]).unwrap_err();
        assert!(error.starts_with(&format!("MAAS_SUBSCRIPTION_NAMESPACE {name:?} is invalid: [")), "{error}");
    }
}

#[test]
fn the_usage_names_every_flag() {
    insta::assert_snapshot!(*USAGE);
}
