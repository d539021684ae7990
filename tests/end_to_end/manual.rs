//! What the program says of itself: help, manual pages, completion of words, version.

use tests::{Finished, Golden, Scratch, Tool, ashlar, ashlar_path};

/// The commands that the overview lists.
fn commands() -> Vec<String> {
    let overview = ashlar().arg("help").succeed().text();
    let lines = overview.lines().filter(|line| line.starts_with("  "));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "ashlar")
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_command_explains_itself() {
    // Proves: each command that the overview lists has a help, and the overview lists each once.
    let names = commands();
    assert!(names.iter().any(|name| name == "lvs"), "{names:?}");
    let mut once = names.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), names.len(), "{names:?}");
    for name in &names {
        let help = ashlar().args([name, "--help"]).succeed().text();
        assert!(help.starts_with(&format!("{name} - ")), "{help}");
        // The demo brings its own disks.
        assert_eq!(help.contains("--devices"), name != "demo", "{help}");
    }
}

#[test]
fn manual_pages_have_names_of_their_own() {
    // Proves: help --man makes the folder, writes ashlar.8 and a page for each command, and no page
    // that hides lvs(8) of LVM2 or cp(1); all begin as man wants it.
    let scratch = Scratch::new("manual");
    let folder = scratch.join("share/man/man8");
    ashlar().args(["help", "--man"]).arg(&folder).succeed();
    let mut pages: Vec<String> = std::fs::read_dir(&folder)
        .expect("the directory was made")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    pages.sort();
    let mut wanted: Vec<String> = commands()
        .iter()
        .map(|name| format!("ashlar-{name}.8"))
        .collect();
    wanted.push("ashlar.8".to_owned());
    wanted.sort();
    assert_eq!(pages, wanted);
    for page in pages {
        let text = std::fs::read_to_string(folder.join(&page)).expect("a page");
        assert!(text.starts_with(".TH \"ASHLAR"), "{page}: {text}");
    }
}

/// The script for a shell, in a file.
fn script(scratch: &Scratch, shell: &str) -> std::path::PathBuf {
    let path = scratch.join(shell);
    let text = ashlar().args(["help", "--completion", shell]).succeed();
    std::fs::write(&path, &text.stdout).expect("a script");
    path
}

#[test]
fn shells_read_their_scripts() {
    // Proves: each shell parses its script, and bash completes commands, options, and the names of
    // volumes.
    let scratch = Scratch::new("completion");
    for shell in ["bash", "zsh", "fish"] {
        let path = script(&scratch, shell);
        Tool::new(shell).arg("-n").arg(&path).succeed();
    }
    let golden = Golden::shared();
    let folder = ashlar_path()
        .parent()
        .expect("the program lies in a directory");
    let path = std::env::var("PATH").unwrap_or_default();
    let completed = |words: &str| -> Vec<String> {
        let line = format!(
            "source {}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _ashlar; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            script(&scratch, "bash").display()
        );
        let shell = Tool::new("bash").args(["-c", &line]);
        let shell = shell
            .env("PATH", format!("{}:{path}", folder.display()))
            .env("ASHLAR_DEVICES", golden.folder())
            .within(scratch.path());
        shell.succeed().text().lines().map(str::to_owned).collect()
    };
    assert_eq!(completed("ashlar vgcr"), ["vgcreate"]);
    assert_eq!(
        completed("ashlar lvcreate --stripes"),
        ["--stripes", "--stripesize"]
    );
    assert_eq!(
        completed("ashlar lvs vg0/linear"),
        ["vg0/linear1", "vg0/linear2"]
    );
    ashlar().args(["help", "--completion", "tcsh"]).exit(3);
}

#[test]
fn the_version_names_the_revision() {
    // Proves: --version, -V and version say the same, with the LVM2 that programs ask for and the
    // revision of the checkout that the program was built from.
    let told = |word: &str| -> Finished { ashlar().arg(word).succeed() };
    let all = told("--version").text();
    assert_eq!(told("-V").text(), all);
    assert_eq!(told("version").text(), all);
    let (lvm, line) = all.split_once('\n').expect("two lines");
    let stock = Tool::new("lvm").arg("version").run().text();
    assert_eq!(Some(lvm), stock.lines().next());
    assert!(line.starts_with("  Ashlar version:  0."), "{line}");
    let git = Tool::new("git").args(["rev-parse", "--short=12", "HEAD"]);
    let revision = git.within(env!("CARGO_MANIFEST_DIR").as_ref()).run();
    if revision.code == Some(0) {
        assert!(line.contains(revision.text().trim()), "{line}");
    } else {
        // Built from a tarball.
        assert!(line.starts_with("  Ashlar version:  "), "{line}");
    }
}
