//! What libFuzzer prints about itself, as numbers.
//!
//! ```text
//!   #4  INITED cov: 164 ft: 291 corp: 3/379b exec/s: 0 rss: 27Mb
//!   #65536 pulse  cov: 420 ft: 1800 corp: 312/41Kb lim: 652 exec/s: 32768 rss: 28Mb
//!   artifact_prefix='…'; Test unit written to …/crash-0123
//!   stat::peak_rss_mb:              28
//! ```

/// The state of a run, updated line by line.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) executions: u64,
    /// Branches reached.
    pub(super) coverage: u64,
    /// Bytes of all inputs that libFuzzer holds in memory.
    pub(super) corpus_bytes: u64,
    /// Resident memory now, and right after the first inputs, in MiB.
    pub(super) memory_mib: u64,
    pub(super) memory_at_start_mib: Option<u64>,
    /// The input that broke the target.
    pub(super) artifact: Option<String>,
}

impl Progress {
    /// Takes one line of output into account.
    pub(super) fn read(&mut self, line: &str) {
        if let Some((_, path)) = line.split_once("Test unit written to ") {
            self.artifact = Some(path.trim().to_owned());
        }
        if let Some(peak) = line.strip_prefix("stat::peak_rss_mb:") {
            self.memory_mib = peak.trim().parse().unwrap_or(self.memory_mib);
        }
        if let Some(count) = line.strip_prefix("stat::number_of_executed_units:") {
            self.executions = count.trim().parse().unwrap_or(self.executions);
        }
        let Some(rest) = line.strip_prefix('#') else {
            return;
        };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let after = |key: &str| {
            words
                .iter()
                .position(|word| *word == key)
                .and_then(|at| words.get(at + 1))
                .copied()
        };
        let number = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok());
        self.executions = number(words.first().copied()).unwrap_or(self.executions);
        self.coverage = number(after("cov:")).unwrap_or(self.coverage);
        let size = after("corp:").and_then(|corpus| bytes_of(corpus.split_once('/')?.1));
        self.corpus_bytes = size.unwrap_or(self.corpus_bytes);
        if let Some(memory) = after("rss:").and_then(bytes_of) {
            self.memory_mib = self.memory_mib.max(memory >> 20);
        }
        if words.get(1) == Some(&"INITED") {
            self.memory_at_start_mib = Some(self.memory_mib);
        }
    }

    /// How much memory grew beyond the start and the corpus, in MiB; none before the start.
    pub(super) fn growth_mib(&self) -> Option<u64> {
        let expected = self.memory_at_start_mib? + (self.corpus_bytes >> 20);
        Some(self.memory_mib.saturating_sub(expected))
    }
}

/// `379b`, `41Kb`, `2Mb` in bytes.
fn bytes_of(text: &str) -> Option<u64> {
    let (digits, shift) = if let Some(digits) = text.strip_suffix("Mb") {
        (digits, 20)
    } else if let Some(digits) = text.strip_suffix("Kb") {
        (digits, 10)
    } else {
        (text.strip_suffix('b')?, 0)
    };
    digits.parse::<u64>().ok().map(|number| number << shift)
}

#[cfg(test)]
mod tests;
