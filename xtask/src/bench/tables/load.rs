//! Requests: fio's, over NBD (libnbd) or on files and nodes, and those of our own examples, which
//! send many at once.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tests::Tool;

use crate::tidy::root;

use super::super::run::Effort;

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) direction: Direction,
    pub(super) pattern: Pattern,
    /// Bytes of a request.
    pub(super) size: u64,
    /// Requests in flight.
    pub(super) depth: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    Random,
    Sequential,
}

/// Small and many: what a database asks.
pub(super) const SMALL: Load = Load {
    direction: Direction::Read,
    pattern: Pattern::Random,
    size: 4 << 10,
    depth: 32,
};
/// Large and in order: what a copy asks.
pub(super) const STREAM: Load = Load {
    direction: Direction::Read,
    pattern: Pattern::Sequential,
    size: 128 << 10,
    depth: 8,
};

/// How long one measurement takes, in seconds.
pub(super) const SECONDS: u64 = 2;
/// A generous limit for a client, whatever the server does.
const CLIENT_MAX: Duration = Duration::from_mins(1);

impl Load {
    /// The same with writes.
    pub(super) fn writing(self) -> Self {
        Load {
            direction: Direction::Write,
            ..self
        }
    }

    /// Requests in a second that fio gets answered over NBD.
    pub(super) fn by_fio(self, effort: Effort, uri: &str, bytes: u64) -> Result<f64, String> {
        let target = ["--ioengine=nbd".to_owned(), format!("--uri={uri}")];
        self.fio(effort, &target, bytes)
    }

    /// Requests in a second that fio gets answered by `file`, past the page cache: by `bytes` of
    /// it from byte `start`.
    pub(super) fn by_fio_on(
        self,
        effort: Effort,
        file: &Path,
        start: u64,
        bytes: u64,
    ) -> Result<f64, String> {
        let target = [
            "--ioengine=io_uring".to_owned(),
            "--direct=1".to_owned(),
            format!("--filename={}", file.display()),
            format!("--offset={start}"),
        ];
        self.fio(effort, &target, bytes)
    }

    fn fio(self, effort: Effort, target: &[String], bytes: u64) -> Result<f64, String> {
        let pattern = match (self.pattern, self.direction) {
            (Pattern::Random, Direction::Read) => "randread",
            (Pattern::Random, Direction::Write) => "randwrite",
            (Pattern::Sequential, Direction::Read) => "read",
            (Pattern::Sequential, Direction::Write) => "write",
        };
        let mut tool = Tool::new("fio")
            .args(["--name=bench", "--output-format=terse", "--terse-version=3"])
            .args(target)
            .arg(format!("--rw={pattern}"))
            .arg(format!("--bs={}", self.size))
            .arg(format!("--iodepth={}", self.depth))
            .arg(format!("--size={bytes}"))
            .args(["--norandommap", "--randrepeat=0"])
            .limit(CLIENT_MAX);
        tool = match effort {
            Effort::Smoke => tool.arg("--io_size=1m"),
            Effort::Full => tool.args(["--time_based", &format!("--runtime={SECONDS}")]),
        };
        let finished = tool.run();
        let report = finished.text();
        let line = report.lines().find(|line| line.starts_with("3;"));
        // Terse format 3: the operations in a second are field 8 of reads and 49 of writes.
        let field = match self.direction {
            Direction::Read => 7,
            Direction::Write => 48,
        };
        let rate = line.and_then(|line| line.split(';').nth(field)?.parse::<f64>().ok());
        match (finished.code, rate) {
            (Some(0), Some(rate)) if rate > 0.0 => Ok(rate),
            _ => Err(finished.to_string()),
        }
    }

    /// Requests in a second that our own client gets answered.
    pub(super) fn by_own(self, effort: Effort, client: &Path, uri: &str) -> Result<f64, String> {
        self.by(effort, Tool::new(client).arg(uri))
    }

    /// Requests in a second, of which `tool` is to make as many as it can: one of our examples,
    /// with the place to which they go.
    pub(super) fn by(self, effort: Effort, tool: Tool) -> Result<f64, String> {
        let seconds = if effort == Effort::Full {
            SECONDS.to_string()
        } else {
            "0.1".to_owned()
        };
        let order = if self.pattern == Pattern::Random {
            "random"
        } else {
            "seq"
        };
        let direction = match self.direction {
            Direction::Read => "read",
            Direction::Write => "write",
        };
        let finished = tool
            .args([direction, &self.size.to_string(), &self.depth.to_string()])
            .args([&seconds, order])
            .limit(CLIENT_MAX)
            .run();
        let rate = finished
            .text()
            .split(' ')
            .next()
            .and_then(|text| text.parse::<f64>().ok());
        match (finished.code, rate) {
            (Some(0), Some(rate)) if rate > 0.0 => Ok(rate),
            _ => Err(finished.to_string()),
        }
    }
}

/// Builds one of the examples of a package and returns its path.
pub(super) fn example(package: &str, name: &str) -> Result<PathBuf, String> {
    let status = Command::new("cargo")
        .current_dir(root())
        .args(["build", "--quiet", "--locked", "--release"])
        .args(["-p", package, "--example", name])
        .status()
        .map_err(|error| format!("cargo cannot be run: {error}"))?;
    if status.success() {
        Ok(crate::target_folder().join("release/examples").join(name))
    } else {
        Err(format!("{name} does not build"))
    }
}
