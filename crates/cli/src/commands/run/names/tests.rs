//! The names of variables.

use super::variables;

#[test]
fn variables_are_unique_and_a_shell_can_have_them() {
    // Proves: names are capitals with underscores, and of two volumes that would share a short name
    // neither has it.
    let volumes = [("vg0", "root"), ("vg-1", "my.data"), ("vg2", "my_data")];
    let volumes = volumes.map(|(group, volume)| (group.to_owned(), volume.to_owned()));
    let names = variables(&volumes);
    assert_eq!(names[0], ["LV_VG0_ROOT", "LV_ROOT"]);
    assert_eq!(names[1], ["LV_VG_1_MY_DATA"]);
    assert_eq!(names[2], ["LV_VG2_MY_DATA"]);
}
