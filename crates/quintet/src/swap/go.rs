//! Flags as Go programs read them: one dash or two, `-flag=value` or `-flag value`, switches with or without a value.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Reads the arguments, the program's name first. A flag that cannot be used ends the program with 2, `--help` with 0,
/// both as in Go.
pub fn parse<F: Parser>(arguments: &[OsString]) -> Result<F, ExitCode> {
    let (name, flags) =
        arguments.split_first().map_or((None, arguments), |(name, flags)| (Some(name), flags));
    let arguments = name.cloned().into_iter().chain(flags.iter().map(two_dashes));
    F::try_parse_from(arguments).map_err(|error| {
        let _ = error.print();
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
    })
}

/// `-name` as `--name`; a value after it is left alone.
fn two_dashes(argument: &OsString) -> OsString {
    match argument.to_str() {
        Some(text) if text.len() > 2 && text.starts_with('-') && text.as_bytes()[1].is_ascii_lowercase() => {
            format!("-{text}").into()
        }
        _ => argument.clone(),
    }
}

/// Yes or no, in all the spellings of Go's `strconv.ParseBool`.
pub fn switch() -> impl TypedValueParser<Value = bool> {
    PossibleValuesParser::new([
        "1", "t", "T", "true", "True", "TRUE", "0", "f", "F", "false", "False", "FALSE",
    ])
    .map(|text| matches!(text.as_str(), "1" | "t" | "T" | "true" | "True" | "TRUE"))
}

/// An address as Go's `net.Listen` takes it: `0` turns a listener off, and so does an empty one unless it means a port.
pub fn address(text: &str, if_empty: Option<&str>) -> Option<String> {
    match text {
        "0" => None,
        "" => if_empty.map(str::to_owned),
        text => Some(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Parser, Debug, PartialEq)]
    struct Flags {
        #[arg(long, default_value = ":8081")]
        probe_address: String,
        #[arg(long, value_parser = switch(), num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
        elect: bool,
    }

    fn read(flags: &[&str]) -> Result<(String, bool), ExitCode> {
        let arguments: Vec<OsString> = ["/manager"].iter().chain(flags).map(OsString::from).collect();
        parse::<Flags>(&arguments).map(|flags| (flags.probe_address, flags.elect))
    }

    #[test]
    fn one_dash_is_as_good_as_two_and_a_switch_may_have_a_value() {
        for (flags, expected) in [
            (&["-probe-address=:9", "-elect"][..], (":9", true)),
            (&["--probe-address", ":9", "--elect=T"][..], (":9", true)),
            (&["-probe-address=-x", "-elect=0"][..], ("-x", false)),
            (&["--probe-address="][..], ("", false)),
            (&[][..], (":8081", false)),
        ] {
            assert_eq!(read(flags), Ok((expected.0.to_owned(), expected.1)), "{flags:?}");
        }
        for wrong in [&["--mode=x"][..], &["-elect=perhaps"], &["-probe-address"]] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn zero_turns_a_listener_off() {
        assert_eq!(address("0", Some(":8080")), None);
        assert_eq!(address("", Some(":8080")).as_deref(), Some(":8080"));
        assert_eq!(address("", None), None);
        assert_eq!(address(":8443", None).as_deref(), Some(":8443"));
    }
}
