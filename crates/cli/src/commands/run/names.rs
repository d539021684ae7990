//! The variables in which a command finds its volumes: `LV_ROOT` for `vg0/root`.
//!
//! A name is made of the volume's, in capitals, with `_` for whatever a shell's variable cannot
//! have. `LV_VG0_ROOT`, with the group in front, is always there; the short one only where no two
//! volumes would have it.

/// The names of variables for volumes `(group, volume)`, in their order: the long one first.
pub(super) fn variables(volumes: &[(String, String)]) -> Vec<Vec<String>> {
    let short = |(_, volume): &(String, String)| format!("LV_{}", plain(volume));
    let long = |(group, volume): &(String, String)| {
        let (group, volume) = (plain(group), plain(volume));
        format!("LV_{group}_{volume}")
    };
    let all: Vec<String> = volumes.iter().map(short).collect();
    let is_unique = |name: &String| all.iter().filter(|other| *other == name).count() == 1;
    let of = |volume: &(String, String)| {
        let mut names = vec![long(volume)];
        names.extend(Some(short(volume)).filter(is_unique));
        names
    };
    volumes.iter().map(of).collect()
}

fn plain(name: &str) -> String {
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    name.chars().map(letter).collect()
}

#[cfg(test)]
mod tests;
