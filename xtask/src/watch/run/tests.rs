//! The command line of the watch; `tests/watch.rs` tries it on real processes.

use super::Options;

fn parse(line: &str) -> Option<(u64, bool, usize)> {
    let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let options = Options::parse(&arguments)?;
    Some((
        options.limit.as_secs(),
        options.until_stdin_closes,
        options.command.len(),
    ))
}

#[test]
fn the_command_line_is_understood() {
    assert_eq!(parse("--limit 5 -- sleep 1"), Some((5, false, 2)));
    assert_eq!(
        parse("--limit 5 --until-stdin-closes -- a -- b"),
        Some((5, true, 3))
    );
    for bad in [
        "",
        "--limit 5",
        "--limit 5 --",
        "--limit x -- a",
        "-- a",
        "--limt 5 -- a",
    ] {
        assert_eq!(parse(bad), None, "{bad}");
    }
}
