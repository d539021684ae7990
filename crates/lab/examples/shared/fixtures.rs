//! Parameter files and traces of measured drives, as they are or packed.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use ashlar_lab::error::{Error, Result};

/// The drives of the fixtures: name, and the demerit figure that `DiskSim` publishes, in
/// milliseconds.
pub(crate) const DRIVES: [(&str, f64); 5] = [
    ("cheetah9LP", 0.107),
    ("atlas10k", 0.268),
    ("barracuda", 0.349),
    ("hp_c2247a", 0.090),
    ("hp_c2490a", 0.254),
];

/// Where the fixtures are.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/disks")
}

/// A file as it is, or unpacked.
pub(crate) fn text(directory: &Path, file: &str) -> Result<String> {
    let failed = |error| Error::io(format!("cannot read {file}"), error);
    let plain = directory.join(file);
    let mut text = String::new();
    if plain.exists() {
        File::open(plain)
            .and_then(|mut open| open.read_to_string(&mut text))
            .map_err(failed)?;
        return Ok(text);
    }
    let packed = File::open(directory.join(format!("{file}.zst"))).map_err(failed)?;
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(packed)
        .map_err(|error| failed(std::io::Error::other(error)))?;
    decoder.read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}
