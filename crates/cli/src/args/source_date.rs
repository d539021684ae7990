//! `SOURCE_DATE_EPOCH`: the time that whatever is built carries, instead of when it was built.
//!
//! The variable is the one of <https://reproducible-builds.org/specs/source-date-epoch/>. A value
//! that is no number is an error, as that text wants it: what is built would be another thing each
//! time, and nobody would know.

use super::error::Error;

const VARIABLE: &str = "SOURCE_DATE_EPOCH";
/// The last second that a text's time may have: what a signed 64-bit number holds.
const SECONDS_MAX: u64 = i64::MAX as u64;

/// The seconds that the variable says, if it is set.
pub(crate) fn source_date() -> Result<Option<u64>, Error> {
    match std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        Some(value) => seconds(&value.to_string_lossy()).map(Some),
        None => Ok(None),
    }
}

fn seconds(value: &str) -> Result<u64, Error> {
    let seconds = value.parse().ok();
    let seconds = seconds.filter(|seconds| *seconds <= SECONDS_MAX);
    seconds.ok_or_else(|| {
        Error::usage(format!(
            "{VARIABLE} is {value:?}; it has to be a number of seconds since 1970 began, or unset."
        ))
    })
}
