//! Makes the index of the experiments, so that adding one takes a file of data and no code.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let folder = here.join("experiments");
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("the folder of experiments is there")
        .map(|entry| entry.expect("it can be listed").file_name())
        .filter_map(|name| name.to_str()?.strip_suffix(".toml").map(str::to_owned))
        .collect();
    names.sort_unstable();
    names.retain(|name| name != "claims");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    // What is measured on real machines is another kind of experiment.
    let (measured, emulated): (Vec<String>, Vec<String>) = names
        .into_iter()
        .partition(|name| name.starts_with("measured-"));
    for (file, names) in [("experiments.rs", emulated), ("measured.rs", measured)] {
        let index = index(&folder, &names);
        fs::write(out.join(file), index).expect("the index can be written");
    }
}

/// Name and text of each, as an expression.
fn index(folder: &Path, names: &[String]) -> String {
    let mut index = String::from("&[\n");
    for name in names {
        let path = folder.join(format!("{name}.toml"));
        let path = path.to_str().expect("the path of the project is text");
        writeln!(index, "    ({name:?}, include_str!({path:?})),").expect("memory takes it");
    }
    index.push_str("]\n");
    index
}
