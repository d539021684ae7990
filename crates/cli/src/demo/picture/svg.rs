//! The picture for a browser or a printer: a bar for each disk, a colour and a letter for each
//! volume.
//!
//! Colours are those of Okabe and Ito, which people who confuse colours can tell apart; the letters
//! are for everybody else.

use std::fmt::Write as _;

use super::{LETTERS, Picture, TAKES_ALL};

const COLOURS: [&str; 7] = [
    "#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#d55e00", "#0072b2",
];
/// Sizes in pixels, before the picture is scaled.
const WIDTH: usize = 760;
const LEFT: usize = 90;
const ROW: usize = 34;
const BAR: usize = 24;
/// A run that is narrower has no room for its letter.
const LETTER_WIDTH: f64 = 12.0;

impl Picture {
    /// The picture as an SVG document.
    pub(in crate::demo) fn svg(&self) -> String {
        let rows = self.disks.len();
        let height = ROW * (rows + 1) + 14;
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             role=\"img\" aria-labelledby=\"picture-title picture-words\" \
             font-family=\"system-ui, sans-serif\" font-size=\"13\">\n\
             <title id=\"picture-title\">Which extents of which disk hold which volume</title>\n\
             <desc id=\"picture-words\">{}</desc>\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
            escaped(&self.words())
        );
        let most = self.disks.iter().map(|(_, extents)| extents.len()).max();
        let scale = (WIDTH - LEFT - 10) as f64 / most.unwrap_or(1).max(1) as f64;
        for (row, (name, extents)) in self.disks.iter().enumerate() {
            let y = 10 + row * ROW;
            let baseline = y + BAR - 7;
            let name = escaped(name);
            writeln!(
                text,
                "<text x=\"8\" y=\"{baseline}\" fill=\"#222\">{name}</text>"
            )
            .expect(TAKES_ALL);
            let mut at = 0;
            for run in extents.chunk_by(|a, b| a == b) {
                let (x, width) = (LEFT as f64 + at as f64 * scale, run.len() as f64 * scale);
                at += run.len();
                let index = run.first().copied().flatten();
                let colour = index.map_or("#eeeeee", |index| COLOURS[index % COLOURS.len()]);
                writeln!(
                    text,
                    "<rect x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{BAR}\" \
                     fill=\"{colour}\" stroke=\"#666\" stroke-width=\"0.5\"/>"
                )
                .expect(TAKES_ALL);
                if let Some(index) = index.filter(|_| width >= LETTER_WIDTH) {
                    let (middle, letter) = (x + width / 2.0, letter(index));
                    writeln!(
                        text,
                        "<text x=\"{middle:.1}\" y=\"{baseline}\" text-anchor=\"middle\" \
                         fill=\"#111\">{letter}</text>"
                    )
                    .expect(TAKES_ALL);
                }
            }
        }
        self.legend(&mut text, 10 + rows * ROW + 10);
        text.push_str("</svg>\n");
        text
    }

    fn legend(&self, text: &mut String, y: usize) {
        let mut x = LEFT;
        let names = self.names.iter().enumerate().map(|(index, name)| {
            let colour = COLOURS[index % COLOURS.len()];
            (colour, format!("{} {name}", letter(index)))
        });
        for (colour, name) in names.chain([("#eeeeee", "free".to_owned())]) {
            let (baseline, words) = (y + 13, x + 20);
            let name = escaped(&name);
            writeln!(
                text,
                "<rect x=\"{x}\" y=\"{y}\" width=\"14\" height=\"14\" fill=\"{colour}\" \
                 stroke=\"#666\" stroke-width=\"0.5\"/>\
                 <text x=\"{words}\" y=\"{baseline}\" fill=\"#222\">{name}</text>"
            )
            .expect(TAKES_ALL);
            x += 40 + 9 * name.len();
        }
    }

    /// The picture for those who do not see it.
    fn words(&self) -> String {
        let disks = self.disks.iter().map(|(name, extents)| {
            let runs = extents.chunk_by(|a, b| a == b).map(|run| {
                let what = run.first().copied().flatten();
                let what = what.map_or("free", |index| self.names[index].as_str());
                format!("{} extents {what}", run.len())
            });
            format!("{name}: {}.", runs.collect::<Vec<_>>().join(", "))
        });
        disks.collect::<Vec<_>>().join(" ")
    }
}

fn letter(index: usize) -> char {
    char::from(LETTERS[index % LETTERS.len()])
}

/// Text as it stands in SVG and HTML.
pub(in crate::demo) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
