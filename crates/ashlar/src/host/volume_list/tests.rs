//! Lists choose volumes by names and tags.

use lvm2::model::{VolumeGroup, from_text};
use lvm2::text::parse;

use super::VolumeList;
use crate::host::Config;

/// A group with the tag `fast` that has `root`, and `swap` with the tag `later`.
fn group() -> VolumeGroup {
    let volume = |name: &str, tags: &str| {
        let id = format!("aaaaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaa0{}", &name[..1]);
        format!(
            "{name} {{ id = \"{id}\" status = [\"READ\", \"WRITE\", \"VISIBLE\"] {tags} \
             segment_count = 1 segment1 {{ start_extent = 0 extent_count = 1 type = \"zero\" }} }}"
        )
    };
    let text = format!(
        "vg0 {{ id = \"aaaaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaaaa\" seqno = 1 status = [\"READ\", \
         \"WRITE\"] tags = [\"fast\"] extent_size = 8192 max_lv = 0 max_pv = 0 physical_volumes {{ \
         }} logical_volumes {{ {} {} }} }} contents = \"Text Format Volume Group\" version = 1",
        volume("root", ""),
        volume("swap", "tags = [\"later\"]"),
    );
    let parsed = parse(text.as_bytes()).expect("the text is right");
    from_text(&parsed).expect("so is the group")
}

fn listed(setting: &str) -> Vec<String> {
    let mut config = Config::empty();
    let text = format!("activation/volume_list={setting}");
    config.add_text(&text).expect("the setting is right");
    let list = VolumeList::of(&config, "activation/volume_list").expect("it is set");
    let group = group();
    let lvs = group.lvs().filter(|(_, lv)| list.has(&group, lv));
    lvs.map(|(_, lv)| lv.name().to_owned()).collect()
}

#[test]
fn entries_are_names_and_tags() {
    let (both, none): (&[&str], &[&str]) = (&["root", "swap"], &[]);
    assert_eq!(listed(r#"["vg0"]"#), both);
    assert_eq!(listed(r#"["vg"]"#), none);
    assert_eq!(listed(r#"["vg0/swap"]"#), ["swap"]);
    assert_eq!(listed(r#"["@fast"]"#), both);
    assert_eq!(listed(r#"["@later", "other"]"#), ["swap"]);
    assert_eq!(listed(r#"["@*"]"#), none);
    assert_eq!(listed("[]"), none);
}

#[test]
fn a_list_that_is_not_set_is_none() {
    assert_eq!(
        VolumeList::of(&Config::empty(), "activation/volume_list"),
        None
    );
}
