//! The advice as a page of HTML that needs nothing else.

use std::fmt::Write;

use super::chart::{chart, escaped};
use super::rank::{Advice, Choice};

const STYLE: &str = ":root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#5b6470;\
--line:#d5dae0}@media (prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e6e9ed;--soft:#9da7b3;\
--line:#323a43}}body{margin:0 auto;max-width:60rem;padding:1rem 1.25rem 3rem;background:var(--bg);\
color:var(--fg);font:16px/1.5 system-ui,sans-serif}table{border-collapse:collapse;width:100%;\
font-size:.9rem}caption{text-align:left;color:var(--soft);padding:.3rem 0}th,td{text-align:left;\
border-bottom:1px solid var(--line);padding:.35rem .5rem;vertical-align:top}\
td.n{text-align:right;font-variant-numeric:tabular-nums}small{color:var(--soft)}\
.scroll{overflow-x:auto}svg{max-width:100%;height:auto}code{overflow-wrap:anywhere}\
@media print{body{max-width:none;font-size:11px}}";

/// The page; `asked` is what was asked for in words, `command` what to type to see it again.
pub fn page(advice: &Advice, asked: &str, command: &str) -> String {
    let mut out = format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>Which layout?</title><style>{STYLE}</style></head><body><main>\
         <h1>Which layout?</h1><p>{}</p><ul>",
        escaped(asked)
    );
    for sentence in advice.words() {
        let _ = write!(out, "<li>{}</li>", escaped(&sentence));
    }
    let title = "Requests per second by disks used, predicted, with 95 % intervals";
    let _ = write!(
        out,
        "</ul><h2>What each disk more brings</h2>{}<h2>All candidates</h2>\
         <div class=\"scroll\"><table><caption>The best first. Tied: within the 95 % interval of \
         the best. Front: nothing else is at least as good in throughput, response time, capacity, \
         disks and safety, and better in one of them.</caption><thead><tr>\
         <th scope=\"col\">layout</th><th scope=\"col\">requests/s<br><small>95 %</small></th>\
         <th scope=\"col\">MB/s</th><th scope=\"col\">response, ms</th>\
         <th scope=\"col\">capacity, GB</th><th scope=\"col\">disks</th>\
         <th scope=\"col\">survives a lost disk</th><th scope=\"col\">emulated<br>\
         <small>error</small></th><th scope=\"col\">tied, front</th></tr></thead><tbody>",
        chart(advice, title)
    );
    for choice in &advice.choices {
        row(&mut out, advice, choice);
    }
    out.push_str("</tbody></table></div>");
    if !advice.without.is_empty() {
        out.push_str("<h2>Without a prediction</h2><ul>");
        for (name, why) in &advice.without {
            let _ = write!(out, "<li>{}: {}</li>", escaped(name), escaped(why));
        }
        out.push_str("</ul>");
    }
    let _ = writeln!(
        out,
        "<h2>What not to conclude</h2><p>Nothing about tails, only means. Nothing about drives \
         that the named profiles do not describe. Intervals are the predictor's own error; disks \
         are taken to be exactly what was named.</p><p>Again: <code>{}</code></p></main></body>\
         </html>",
        escaped(command)
    );
    out
}

fn row(out: &mut String, advice: &Advice, choice: &Choice) {
    let (candidate, rate) = (&choice.candidate, choice.per_second);
    let emulated = choice.emulated_text().map_or_else(
        || "–".to_owned(),
        |(value, error)| format!("{value}<br><small>{:+.1} %</small>", error * 100.0),
    );
    let marks: Vec<&str> = [(choice.tied, "tied"), (choice.front, "front")]
        .into_iter()
        .filter_map(|(is, word)| is.then_some(word))
        .collect();
    let _ = write!(
        out,
        "<tr><th scope=\"row\">{}</th><td class=\"n\">{:.1}<br><small>{:.0}–{:.0}</small></td>\
         <td class=\"n\">{:.2}</td><td class=\"n\">{:.3}</td><td class=\"n\">{:.1}</td>\
         <td class=\"n\">{}</td><td>{}</td><td class=\"n\">{emulated}</td><td>{}</td></tr>",
        escaped(&candidate.name()),
        rate.value,
        rate.low,
        rate.high,
        advice.megabytes(rate.value),
        choice.response_ns.value / 1e6,
        candidate.capacity as f64 / 1e9,
        candidate.disks.len(),
        if candidate.survives() { "yes" } else { "no" },
        marks.join(", ")
    );
}
