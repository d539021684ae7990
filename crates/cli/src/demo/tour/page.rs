//! The tour as a picture and as a page, for a browser or a printer.
//!
//! The page stands alone: one file, no script, nothing from elsewhere. It says what the terminal
//! said, step by step, with the picture of the disks and the chart. Without `--keep` both go into
//! a folder of this user among the temporary files, where the next tour replaces them.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use lab::report::Answer;

use super::chart::Bar;
use crate::demo::picture::{Picture, escaped};
use crate::demo::story::{Line, Story};

const PICTURE: &str = "tour.svg";
const PAGE: &str = "tour.html";
const TAKES_ALL: &str = "a string takes all";

const STYLE: &str = "
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2; } h2 { margin: 2rem 0 .5rem; font-size: 1.15rem; }
svg { width: 100%; height: auto; border: 1px solid #8888; border-radius: 4px; }
pre { font: .8rem/1.45 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere;
      background: #8881; border-left: 3px solid #8888; padding: .6rem .8rem; margin: 0; }
.command { color: light-dark(#05507a, #7fd0ff); font-weight: 600; }
.good { color: light-dark(#0a5c2c, #7be0a0); } .left-out { color: light-dark(#7a4a00, #ffc966); }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; }
th, td { text-align: left; padding: .2rem .6rem; border-bottom: 1px solid #8886; }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.bar { width: 55%; }
.fill { display: block; height: .6rem; margin: .15rem 0; background: #0072b2; }
.fill.write { background: #e69f00; }
.scroll { overflow-x: auto; } .short { font-size: .9rem; }
.short td, .short th { vertical-align: top; }
.short th { font-weight: 600; }
.yes, .no, .same { font-weight: 600; } .yes { color: light-dark(#0a5c2c, #7be0a0); }
.no { color: light-dark(#9c1f1f, #ff9d95); } .same { color: light-dark(#24527a, #9cc9f5); }
@media print {
  body { margin: 0; max-width: none; font-size: 10pt; } pre { font-size: 8pt; }
  h2 { break-after: avoid; } svg, table, tr { break-inside: avoid; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
";

/// What the tour made, for its page.
pub(in crate::demo) struct Seen {
    /// The disks at the end.
    pub(super) picture: Picture,
    /// What was measured.
    pub(super) bars: Vec<Bar>,
    /// What layers cost.
    pub(super) answers: Vec<Answer>,
}

/// Writes both into `folder`, over no file; gives their paths.
pub(in crate::demo) fn write(
    story: &Story<'_>,
    seen: &Seen,
    folder: &Path,
) -> std::io::Result<[PathBuf; 2]> {
    let svg = seen.picture.svg();
    let (picture, page) = (folder.join(PICTURE), folder.join(PAGE));
    let page_text = html(story.lines(), &svg, seen);
    for (path, text) in [(&picture, &svg), (&page, &page_text)] {
        File::create_new(path)?.write_all(text.as_bytes())?;
    }
    Ok([picture, page])
}

/// The folder of this user for pages, which others cannot enter, without those of the last tour.
pub(in crate::demo) fn own_folder() -> std::io::Result<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let path = std::env::temp_dir().join(format!("ashlar-demo-{user}"));
    match std::fs::DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let about = std::fs::symlink_metadata(&path)?;
    if about.is_dir() && about.uid() == user && about.mode() & 0o022 == 0 {
        for name in [PICTURE, PAGE] {
            // Where there is none, there is nothing to remove.
            let _ = std::fs::remove_file(path.join(name));
        }
        Ok(path)
    } else {
        let what = format!("{} is not a directory of yours alone", path.display());
        Err(std::io::Error::other(what))
    }
}

fn html(lines: &[Line], svg: &str, seen: &Seen) -> String {
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>A tour of Ashlar</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>A tour of Ashlar</h1>\n\
         <p>Version {}. LVM2 volumes in user space: what <code>ashlar demo</code> did on this \
         machine, with the commands that do the same.</p>\n\
         <h2>What does each layer cost?</h2>\n<p>A few of the lab's experiments, cut short, on \
         emulated disks. <code>ashlar lab run seeds</code> and <code>ashlar lab report</code> have \
         all of them.</p>\n{}\n\
         <h2>The disks at the end</h2>\n{svg}\n",
        env!("CARGO_PKG_VERSION"),
        lab::report::table(&seen.answers)
    );
    text.push_str(&table(&seen.bars));
    let mut is_open = false;
    for line in lines {
        let (class, mark, words) = match line {
            Line::Step(title) => {
                let end = if is_open { "</pre>\n</section>\n" } else { "" };
                let title = escaped(title);
                write!(text, "{end}<section>\n<h2>{title}</h2>\n<pre>").expect(TAKES_ALL);
                is_open = true;
                continue;
            }
            Line::Said(words) => ("said", "", words),
            Line::Command(words) => ("command", "$ ", words),
            Line::Good(words) => ("good", "✓ ", words),
            Line::LeftOut(words) => ("left-out", "– ", words),
        };
        if is_open {
            let words = escaped(words.trim_end());
            writeln!(text, "<span class=\"{class}\">{mark}{words}</span>").expect(TAKES_ALL);
        }
    }
    if is_open {
        text.push_str("</pre>\n</section>\n");
    }
    text.push_str("</main>\n</body>\n</html>\n");
    text
}

/// The chart, with its numbers.
fn table(bars: &[Bar]) -> String {
    let rates = bars.iter().flat_map(|bar| [bar.read, bar.write]);
    let largest = rates.fold(1.0, f64::max);
    let mut text = String::from(
        "<h2>Layouts on slow disks</h2>\n<table>\n<caption>MiB in a second, one client; the blue \
         bar is reading, the orange one writing</caption>\n<thead><tr><th scope=\"col\">Volume\
         </th><th scope=\"col\" class=\"number\">Reads</th>\
         <th scope=\"col\" class=\"number\">Writes</th>\
         <td></td></tr></thead>\n<tbody>\n",
    );
    for Bar { name, read, write } in bars {
        let [reading, writing] = [read, write].map(|rate| rate / largest * 100.0);
        writeln!(
            text,
            "<tr><th scope=\"row\">{}</th><td class=\"number\">{read:.0}</td>\
             <td class=\"number\">{write:.0}</td><td class=\"bar\" aria-hidden=\"true\">\
             <span class=\"fill\" style=\"width:{reading:.0}%\"></span>\
             <span class=\"fill write\" style=\"width:{writing:.0}%\"></span></td></tr>",
            escaped(name)
        )
        .expect(TAKES_ALL);
    }
    text.push_str("</tbody>\n</table>\n");
    text
}
