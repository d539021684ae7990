//! A machine that stays up and takes one script after another.
//!
//! ```text
//!   test     script ─▶ the last disk, then its length on the serial line ─▶ … ─▶ Outcome
//!   machine                              read it, run it, say how it ended ─╯
//! ```
//!
//! Between two scripts the machine does nothing, so what it has let go of (`vgchange -an`) the test
//! may use itself: its writes are in the images, and it reads what it finds there. One boot then
//! does for as many changes of hands as a test likes.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::boot::{COLLECT_MAX, Kernel, ONE, Outcome, Writes, count_boot};
use super::image::{self, Image};
use crate::scratch::Scratch;
use crate::tool::{collect, joined, kill_group};

/// What a script may have, in bytes.
const SCRIPT_MAX: usize = 64 << 10;
/// How long one script may take, on a machine with much else to do.
const SCRIPT_TIME_MAX: Duration = Duration::from_mins(4);
/// How long the machine may take to switch itself off.
const END_MAX: Duration = Duration::from_mins(1);

/// What the machine does: it answers each length by the end of a script.
const LISTEN: &str = r#"
exec 4</dev/ttyS1
stty raw -echo <&4
printf '\n=== exit 0 ===\n'
while read -r size <&4 && [ "$size" != 0 ]; do
    dd if=LETTERS of=/job/letter bs=64k count=1 iflag=direct status=none
    head -c "$size" /job/letter >/job/next
    # What is collected next may lie where the last one did.
    rm -f /run/collected
    sh /job/next 4<&-
    printf '\n=== exit %d ===\n' $?
done
"#;

/// The machine.
#[derive(Debug)]
pub struct Dialogue {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    console: Option<JoinHandle<Vec<u8>>>,
    letters: File,
    collected: File,
    name: String,
    /// All that was said.
    log: String,
    _scratch: Scratch,
    /// One machine at a time.
    _one: MutexGuard<'static, ()>,
}

impl Kernel {
    /// Boots a machine that waits for scripts until it is dropped. Its disks may be used by the
    /// test while no script runs.
    ///
    /// # Panics
    /// When it does not come up.
    pub fn listen(mut self) -> Dialogue {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        count_boot(&self.name);
        let image = Image::ready();
        let scratch = Scratch::new("dialogue");
        let letters = scratch.sparse("letters", SCRIPT_MAX as u64);
        let collected = scratch.sparse("collect", COLLECT_MAX);
        let script = LISTEN.replace("LETTERS", &Self::device(self.disks.len()));
        for disk in [&letters, &collected] {
            self.disks.push((disk.clone(), Writes::Kept));
        }
        let initramfs = scratch.join("initramfs");
        self.write_initramfs(&image.base, &initramfs, &script);
        let mut tool = self.machine(&image.kernel, &initramfs);
        let command = tool.command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("an emulator");
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        thread::spawn(move || {
            let lines = output.split(b'\n').map_while(Result::ok);
            for line in lines {
                let line = String::from_utf8_lossy(&line);
                if sender.send(line.trim_end_matches('\r').to_owned()).is_err() {
                    break;
                }
            }
        });
        let mut dialogue = Dialogue {
            input: child.stdin.take().expect("it is piped"),
            console: Some(collect(child.stderr.take())),
            child,
            lines,
            letters: open(&letters),
            collected: open(&collected),
            name: self.name.clone(),
            log: String::new(),
            _scratch: scratch,
            _one: one,
        };
        dialogue.hear(Instant::now(), SCRIPT_TIME_MAX);
        dialogue
    }
}

impl Dialogue {
    /// Runs a script and requires that it succeeds.
    ///
    /// # Panics
    /// When it does not, or not in time.
    pub fn succeed(&mut self, script: &str) -> Outcome {
        let outcome = self.run(script);
        assert_eq!(outcome.code, Some(0), "{script}\n{outcome}");
        outcome
    }

    /// Runs a script, however it ends.
    ///
    /// # Panics
    /// When it does not end in time, or the machine is gone.
    pub fn run(&mut self, script: &str) -> Outcome {
        let start = self.tell(script);
        self.hear(start, SCRIPT_TIME_MAX)
    }

    /// Runs a script, and cuts the power behind it.
    ///
    /// # Panics
    /// When the machine is still there after that.
    pub fn crash(mut self, script: &str) {
        let start = self.tell(&format!("{script}\ncrash"));
        let left = || SCRIPT_TIME_MAX.saturating_sub(start.elapsed());
        loop {
            match self.lines.recv_timeout(left()) {
                Ok(line) => assert!(!line.starts_with("=== exit"), "it goes on: {line}"),
                Err(RecvTimeoutError::Disconnected) => return,
                Err(why) => self.lost(why),
            }
        }
    }

    /// Tells the machine to run a script; when.
    fn tell(&mut self, script: &str) -> Instant {
        assert!(script.len() <= SCRIPT_MAX, "a script of this length");
        let mut letter = script.as_bytes().to_vec();
        letter.resize(SCRIPT_MAX, b'\n');
        self.letters
            .write_all_at(&letter, 0)
            .expect("there is space for it");
        self.log.extend(["> ", script, "\n"]);
        let start = Instant::now();
        let line = format!("{}\n", script.len());
        let told = self.input.write_all(line.as_bytes());
        told.unwrap_or_else(|error| panic!("the machine is gone: {error}"));
        start
    }

    /// What it says until a script ends.
    fn hear(&mut self, start: Instant, limit: Duration) -> Outcome {
        let mut outcome = Outcome::silent();
        while outcome.code.is_none() {
            let left = limit.saturating_sub(start.elapsed());
            let line = match self.lines.recv_timeout(left) {
                Ok(line) => line,
                Err(why) => self.lost(why),
            };
            if !line.is_empty() && !line.starts_with("=== ") {
                self.log.push_str(&line);
                self.log.push('\n');
            }
            outcome.take(&line, &mut self.collected);
        }
        outcome.time = start.elapsed();
        outcome
    }

    fn lost(&mut self, why: RecvTimeoutError) -> ! {
        let _ = self.child.kill();
        let console = self.end();
        panic!("{why}: {}\nconsole: {console}", self.log);
    }

    /// Ends it; what the kernel said.
    fn end(&mut self) -> String {
        let _ = self.input.write_all(b"0\n");
        let deadline = Instant::now() + END_MAX;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        kill_group(Pid::from_raw(self.child.id().cast_signed()));
        let _ = self.child.wait();
        let console = self.console.take().map(joined).unwrap_or_default();
        String::from_utf8_lossy(&console).into_owned()
    }
}

impl Drop for Dialogue {
    fn drop(&mut self) {
        if self.console.is_some() {
            let console = self.end();
            let log = image::folder().join(format!("{}.log", self.name));
            // For people only.
            let _ = fs::write(log, format!("{}\nconsole: {console}", self.log));
        }
    }
}

fn open(path: &std::path::Path) -> File {
    let file = File::options().read(true).write(true).open(path);
    file.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
