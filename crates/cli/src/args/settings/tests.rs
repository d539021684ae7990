//! Options are values: nothing in them becomes a setting.

use std::path::PathBuf;

use ashlar::host::{Config, DevicesFileChoice, Overrides, Sharing};

use dm::raid::Consistency;

use super::add;
use crate::args::{Command, Error, flags, parse};

const COMMAND: Command = Command {
    name: "lvs",
    summary: "",
    operands: "",
    description: "",
    flags: &[&[flags::CONSISTENCY], flags::COMMON],
    examples: &[],
    run: |_, _| Ok(()),
};

fn config(words: &[&str]) -> Result<Config, Error> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let arguments = parse(&COMMAND, &words)?;
    let mut config = Config::empty();
    add(&mut config, &arguments)?;
    Ok(config)
}

#[test]
fn a_quote_in_a_path_is_part_of_the_path() {
    // Proves: whatever a path has in it, it is the folder, and sets nothing else.
    for path in [
        "/certs\" assume_exclusive = 1 x = \"",
        "/certs\\\" } devices { filter = [ \"r|.*|\" ] } x { y = \"",
        "/certs\n# \u{1}",
    ] {
        let config = config(&["--tls-certificates", path]).expect("is a path");
        assert_eq!(config.tls_certificates(), Some(PathBuf::from(path)));
        assert_eq!(config.sharing(), Sharing::Unknown);
        assert_eq!(config.value("devices/filter"), None);
    }
}

#[test]
fn options_are_stronger_than_texts() {
    // Proves: `--config` fills in what no option says, wherever it stands.
    let texts = ["--config", "ashlar/tls_certificates=\"/texts\""];
    let alone = config(&texts).expect("is good");
    assert_eq!(alone.tls_certificates(), Some(PathBuf::from("/texts")));
    assert_eq!(alone.overrides, Overrides::default());
    let both = [&["--tls-certificates", "/option"][..], &texts].concat();
    let both = config(&both).expect("is good");
    assert_eq!(both.tls_certificates(), Some(PathBuf::from("/option")));
}

#[test]
fn what_is_no_value_is_refused() {
    // Proves: names that lead out of the folder and limits that are none are errors, not settings.
    for words in [
        ["--devicesfile", "a/../b"],
        ["--devicesfile", "a\" b"],
        ["--pv-timeout", "60\" x"],
        ["--pv-timeout", "0"],
    ] {
        assert!(config(&words).is_err(), "{words:?}");
    }
    let file = |name| config(&["--devicesfile", name]).map(|config| config.overrides.devices_file);
    let named = DevicesFileChoice::Named("mine".into());
    assert_eq!(file("mine").expect("is a name"), Some(named));
    assert_eq!(file("").expect("is none"), Some(DevicesFileChoice::Nothing));
}

#[test]
fn how_arrays_outlive_a_cut_is_chosen() {
    // Proves: the option counts more than the settings, and another word is refused.
    let words = |word| {
        [
            "--config",
            "ashlar/raid_consistency=\"none\"",
            "--consistency",
            word,
        ]
    };
    let chosen = config(&words("journal")).expect("is a word");
    assert_eq!(chosen.raid_consistency(), Consistency::Journal);
    assert!(config(&words("always")).is_err());
}
