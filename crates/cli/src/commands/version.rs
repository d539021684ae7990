//! `ashlar --version`: what this program is, for bug reports.

/// The version, with the revision that it was built from where that is known.
pub(super) fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    match env!("ASHLAR_REVISION") {
        "" => format!("  Ashlar version:  {version}\n"),
        revision => format!("  Ashlar version:  {version} ({revision})\n"),
    }
}
