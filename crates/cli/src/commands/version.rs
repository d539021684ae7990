//! `ashlar --version`: what this program is, for bug reports and for those who call LVM2.

/// The LVM2 whose commands and reports these are. Ansible, libblockdev, mylvmbackup and os-brick
/// look for this line, and choose by it what they may send.
const LVM: &str = "  LVM version:     2.03.16(2) (2022-05-18)\n";

/// The versions, ours with the revision that it was built from where that is known.
pub(super) fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let revision = match env!("ASHLAR_REVISION") {
        "" => String::new(),
        revision => format!(" ({revision})"),
    };
    format!("{LVM}  Ashlar version:  {version}{revision}\n")
}
