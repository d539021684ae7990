//! Settings: both notations, layers, files, and system IDs.

use std::path::Path;

use lvm2::text::Value;

use super::{Config, clean_system_id, state_dir};
use crate::Kind;
use crate::host::filter::Verdict;

fn config(text: &str) -> Config {
    let mut config = Config::empty();
    // As on the command line, nothing is no configuration.
    if !text.is_empty() {
        config.add_text(text).expect("parses");
    }
    config
}

#[test]
fn settings_are_found_in_both_notations() {
    let config = config(
        "# a comment\ndevices {\n scan = [ \"/tmp/dev\" ]\n filter=\"a|x|\"\n}\n\
         global/locking_dir=\"s\"\n",
    );
    assert_eq!(config.scan_dirs(), [Path::new("/tmp/dev")]);
    assert_eq!(config.strings("devices/filter"), Some(vec!["a|x|"]));
    assert_eq!(config.string("global/locking_dir"), Some("s"));
    assert_eq!(config.value("devices/scan_lvs"), None);
}

#[test]
fn a_later_layer_is_stronger() {
    let mut config = config("devices { scan_lvs = 0 issue_discards = 1 }");
    config.add_text("devices/scan_lvs=1").expect("parses");
    assert!(config.flag("devices/scan_lvs", false));
    assert_eq!(
        config.value("devices/issue_discards"),
        Some(&Value::Integer(1))
    );
}

#[test]
fn stores_grow_as_configured() {
    // Proves: the names are stock's, as are the defaults: nothing grows, and 20 hundredths.
    use lvm2::plan::logical::ExtendPolicy;
    let set = "activation { snapshot_autoextend_threshold = 70 snapshot_autoextend_percent = 30 }";
    assert_eq!(config(set).snapshot_extension(), ExtendPolicy::new(70, 30));
    let half = config("activation/snapshot_autoextend_threshold = 70");
    assert_eq!(half.snapshot_extension(), ExtendPolicy::new(70, 20));
    assert_eq!(config("").snapshot_extension(), ExtendPolicy::default());
}

#[test]
fn files_are_read_and_bad_ones_refused() {
    let dir = tempfile();
    assert_eq!(
        Config::read(&dir)
            .expect("no files")
            .value("devices/filter"),
        None
    );
    std::fs::write(dir.join("lvm.conf"), "devices { filter = [ \"r|.*|\" ] }").expect("writes");
    std::fs::write(
        dir.join("lvmlocal.conf"),
        "local { system_id = \"-hôst 1\" }",
    )
    .expect("writes");
    let mut config = Config::read(&dir).expect("both parse");
    let filter = config.filter("devices/filter").expect("compiles");
    assert_eq!(filter.verdict(["/dev/sda"]), Verdict::Reject);
    assert_eq!(config.backup_dir(), dir.join("backup"));
    assert_eq!(
        config.devices_file(),
        Some(dir.join("devices/system.devices"))
    );
    config
        .add_text("global/system_id_source=lvmlocal")
        .expect("parses");
    assert_eq!(config.system_id().as_deref(), Some("hst1"));
    std::fs::write(dir.join("lvm.conf"), "devices { filter = ").expect("writes");
    let error = Config::read(&dir).expect_err("half a file");
    assert_eq!(error.kind(), Kind::Config);
    assert!(
        error.to_string().contains("lvm.conf; correct it"),
        "{error}"
    );
    std::fs::remove_dir_all(dir).expect("removes");
}

#[test]
fn a_system_id_has_only_allowed_characters() {
    assert_eq!(clean_system_id("  .host-1.example/x"), "host-1.examplex");
    assert_eq!(clean_system_id("!!"), "");
}

#[test]
fn an_ordinary_user_keeps_backups_at_home() {
    // Proves: the folder is $XDG_STATE_HOME's, else one below the home; root has stock's.
    let folder = |id, names: &[(&str, &str)]| {
        let of = |name: &str| names.iter().find(|(own, _)| *own == name);
        let user = rustix::process::Uid::from_raw(id);
        state_dir(user, |name| of(name).map(|(_, value)| (*value).into()))
    };
    let home = ("HOME", "/home/ann");
    let expected = Some("/home/ann/.local/state/ashlar".into());
    assert_eq!(folder(1000, &[home]), expected);
    assert_eq!(folder(1000, &[home, ("XDG_STATE_HOME", "")]), expected);
    let state = [home, ("XDG_STATE_HOME", "/state")];
    assert_eq!(folder(1000, &state), Some("/state/ashlar".into()));
    assert_eq!(folder(1000, &[]), None);
    assert_eq!(folder(0, &[home]), None);
}

fn tempfile() -> std::path::PathBuf {
    let dir = std::env::temp_dir().join(format!("ashlar-config-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("makes a directory");
    dir
}

#[test]
fn arrays_have_journals_as_configured() {
    use dm::raid::Consistency;
    let said = |text: &str| config(text).raid_consistency();
    assert_eq!(
        said("ashlar/raid_consistency = \"journal\""),
        Consistency::Journal
    );
    assert_eq!(
        said("ashlar { raid_consistency = \"none\" }"),
        Consistency::None
    );
    assert_eq!(
        said("ashlar/raid_consistency = \"auto\""),
        Consistency::Auto
    );
    assert_eq!(said(""), Consistency::Auto);
    let mut over = config("ashlar/raid_consistency = \"none\"");
    over.overrides.raid_consistency = Some(Consistency::Journal);
    assert_eq!(over.raid_consistency(), Consistency::Journal);
}
