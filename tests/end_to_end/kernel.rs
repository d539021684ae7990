//! The stock kernel as judge of our disks, and we of its.

use tests::{Golden, Kernel};

#[test]
fn sums_of_the_stock_disks_are_the_manifests() {
    // Proves: the harness itself.
    let golden = Golden::shared();
    let sums = Kernel::sums("golden", &[golden.images()]);
    for volume in Golden::volumes() {
        let sum = sums[0]
            .get(&format!("vg0/{}", volume.name))
            .unwrap_or_else(|| panic!("{} missing", volume.name));
        assert_eq!(
            (sum.size, &sum.sha256),
            (volume.size, &volume.sha256),
            "{}",
            volume.name
        );
    }
}
