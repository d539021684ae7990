//! What every volume of several sets of disks holds, as the stock kernel presents it; in one boot.
//!
//! The sets may be copies of one another: LVM2 sees one of them at a time.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use super::boot::{Collected, Kernel, LIMIT};

/// Disks that belong together, of which the kernel may write copies only.
pub type DiskSet = Vec<PathBuf>;

/// What a volume holds.
pub type Sum = Collected;

/// What a set may take, besides the boot.
const PER_SET: Duration = Duration::from_secs(40);

/// Activates what can be seen and collects every volume that people see.
const SCRIPT: &str = r#"
failed=
must() {
    "$@" >/run/said 2>&1 && return
    cat /run/said
    failed="$failed set $number: $*;"
}
set_of() {
    number=$1
    echo "set $number, $(cut -d ' ' -f 1 /proc/uptime) s after the start"
    config="devices { filter = [ $2 \"r|.*|\" ] }"
    must vgck --config "$config"
    must vgchange -ay --config "$config"
    fields=lv_full_name,lv_path,lv_active
    lvs --config "$config" --noheadings -o "$fields" >/run/lvs || failed="$failed set $number: lvs;"
    while read -r name path active; do
        # Pools have no path of their own.
        [ "$active" = active ] || continue
        collect "$number/$name" "$path" || failed="$failed $number/$name;"
    done </run/lvs
    must vgchange -an --config "$config"
    dmsetup remove_all
}
"#;

impl Kernel {
    /// What every volume of each set holds, by its full name (`vg0/lv`). The disks are not
    /// changed. It takes one boot.
    ///
    /// # Panics
    /// When the kernel or stock LVM2 refuses any of it, with what they said.
    pub fn sums(name: &str, sets: &[DiskSet]) -> Vec<BTreeMap<String, Sum>> {
        let mut script = SCRIPT.to_owned();
        let patience = PER_SET * u32::try_from(sets.len()).expect("few sets");
        let mut kernel = Kernel::new(name).limit(LIMIT + patience);
        let mut next = 0;
        for (number, set) in sets.iter().enumerate() {
            let mut filter = String::new();
            for disk in set {
                let device = Kernel::device(next);
                write!(filter, "\"a|^{device}$|\", ").expect("a string takes all");
                kernel = kernel.copy(disk);
                next += 1;
            }
            writeln!(script, "set_of {number} '{filter}'").expect("a string takes all");
        }
        script.push_str("[ -z \"$failed\" ] || { echo \"failed:$failed\"; exit 1; }\n");
        let outcome = kernel.succeed(&script);
        let mut sums = vec![BTreeMap::new(); sets.len()];
        for (name, content) in outcome.collected {
            let (number, name) = name.split_once('/').expect("a set and a volume");
            let number: usize = number.parse().expect("a number");
            sums[number].insert(name.to_owned(), content);
        }
        sums
    }
}
