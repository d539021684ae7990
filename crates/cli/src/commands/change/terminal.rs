//! The terminal, as a command's console.

use std::io::{self, BufRead, Write};

use ashlar::apply::Answer;
use ashlar::live::{Console, Stream};

use crate::output::records::{Weight, record};

/// The terminal, or whatever stands in its place: standard input, output and error.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Terminal;

impl Console for Terminal {
    fn write(&mut self, stream: Stream, text: &str) -> io::Result<()> {
        record(Weight::Warning, text);
        match stream {
            Stream::Out => {
                let mut out = io::stdout().lock();
                out.write_all(text.as_bytes())?;
                // Lines of both streams stay in their order.
                out.flush()
            }
            Stream::Err => io::stderr().write_all(text.as_bytes()),
        }
    }

    fn ask(&mut self, question: &str) -> Answer {
        let mut err = io::stderr();
        let _ = write!(err, "{question}");
        loop {
            let mut line = String::new();
            match io::stdin().lock().read_line(&mut line) {
                Ok(length) if length > 0 => {}
                // As in stock: the end of the input is a no.
                _ => {
                    let _ = writeln!(err, "[n]");
                    return Answer::No;
                }
            }
            match line.trim().to_ascii_lowercase().as_str() {
                "y" | "yes" => return Answer::Yes,
                "n" | "no" => return Answer::No,
                _ => {
                    let _ = write!(err, "{question}");
                }
            }
        }
    }
}
