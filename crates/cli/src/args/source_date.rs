//! `SOURCE_DATE_EPOCH`: the time that whatever is built carries, instead of when it was built.
//!
//! The variable is the one of <https://reproducible-builds.org/specs/source-date-epoch/>. A value
//! that is no number is an error, as that text wants it: what is built would be another thing each
//! time, and nobody would know.

use super::error::Error;

const VARIABLE: &str = "SOURCE_DATE_EPOCH";
/// The last second that a text's time may have: what a signed 64-bit number holds.
const SECONDS_MAX: u64 = i64::MAX as u64;

/// The setting that the variable stands for, if it is set.
pub(crate) fn source_date() -> Result<Option<String>, Error> {
    match std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        Some(value) => setting(&value.to_string_lossy()).map(Some),
        None => Ok(None),
    }
}

fn setting(value: &str) -> Result<String, Error> {
    let seconds: Option<u64> = value.parse().ok();
    match seconds.filter(|seconds| *seconds <= SECONDS_MAX) {
        Some(seconds) => Ok(format!("ashlar/source_date_epoch={seconds}")),
        None => Err(Error::usage(format!(
            "{VARIABLE} is {value:?}; it has to be a number of seconds since 1970 began, or unset."
        ))),
    }
}
