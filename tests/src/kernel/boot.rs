//! One boot: the machine is put together, runs its job, and is gone.
//!
//! Three things see to it that no machine is left running: the limit, after which it is killed; a
//! signal that the host's kernel sends it when the test dies; and a clock of its own inside.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::archive::Archive;
use super::image::{self, Image};
use crate::golden::hexadecimal;
use crate::scratch::Scratch;
use crate::tool::Tool;

/// How often a whole run of the tests may boot.
pub const BOOTS_MAX: usize = 18;
/// Names the file in which a run of all tests counts its boots, a line for each.
const BOOTS_VARIABLE: &str = "ASHLAR_KERNEL_BOOTS";

/// Many times what a boot takes: both cores may be busy.
pub(super) const LIMIT: Duration = Duration::from_mins(12);
const MEMORY_MIB: u32 = 512;
/// What can be collected in one boot; takes no space until it is.
pub(super) const COLLECT_MAX: u64 = 16 << 30;
/// The first place on the bus that is free, and how many functions each place has.
const FIRST_SLOT: usize = 4;
const FUNCTIONS: usize = 8;
/// Disks at most, the one to collect on included: what the bus has places for.
const DISKS_MAX: usize = (32 - FIRST_SLOT) * FUNCTIONS;

/// One at a time: each takes a core or two.
pub(super) static ONE: Mutex<()> = Mutex::new(());

/// What the machine does with a disk's image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writes {
    /// They change it.
    Kept,
    /// They are forgotten.
    Forgotten,
}

/// A machine to be.
#[derive(Debug)]
#[must_use = "a machine does nothing until it runs a script"]
pub struct Kernel {
    pub(super) name: String,
    pub(super) disks: Vec<(PathBuf, Writes)>,
    job: Archive,
    limit: Duration,
}

/// A device's whole content, which a script handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// Its length in bytes.
    pub size: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
}

/// What became of a job.
#[derive(Debug)]
pub struct Outcome {
    /// The script's exit code; none when the machine stopped before its end, by `crash`.
    pub code: Option<i32>,
    /// What the script and its commands printed and complained about.
    pub output: String,
    /// What the kernel said.
    pub console: String,
    /// What was collected, by name.
    pub collected: BTreeMap<String, Collected>,
    /// How long it took.
    pub time: Duration,
}

impl Kernel {
    /// A machine without disks; `name` tells people what it is for.
    pub fn new(name: &str) -> Self {
        Kernel {
            name: name.to_owned(),
            disks: Vec::new(),
            job: Archive::default(),
            limit: LIMIT,
        }
    }

    /// Gives it a disk, `/dev/vda` the first one; what it writes changes the image.
    pub fn disk(mut self, image: impl AsRef<Path>) -> Self {
        self.disks.push((image.as_ref().to_owned(), Writes::Kept));
        self
    }

    /// Gives it several.
    pub fn disks(self, images: impl IntoIterator<Item = impl AsRef<Path>>) -> Self {
        images.into_iter().fold(self, Self::disk)
    }

    /// Gives it a disk with this content; what it writes there is forgotten.
    pub fn copy(mut self, image: impl AsRef<Path>) -> Self {
        let image = image.as_ref().to_owned();
        self.disks.push((image, Writes::Forgotten));
        self
    }

    /// Gives it one more program of this machine, by its name or path, with its libraries.
    pub fn program(mut self, name: &str) -> Self {
        image::add_program(&mut self.job, name);
        self
    }

    /// Gives it a file in the folder where the script starts, `/job`.
    pub fn file(mut self, name: &str, content: &[u8]) -> Self {
        self.job.file(&format!("/job/{name}"), content);
        self
    }

    /// Gives it another time limit.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The device that the disk of this number is in the machine.
    pub fn device(number: usize) -> String {
        let mut letters = Vec::new();
        let mut rest = number + 1;
        while rest > 0 {
            rest -= 1;
            letters.push(char::from(b'a' + (rest % 26) as u8));
            rest /= 26;
        }
        let letters: String = letters.into_iter().rev().collect();
        format!("/dev/vd{letters}")
    }

    /// Boots, runs the script to its end and requires that it succeeds.
    ///
    /// # Panics
    /// When it does not, or not within the limit.
    pub fn succeed(self, script: &str) -> Outcome {
        let outcome = self.run(script);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        outcome
    }

    /// Boots and runs the script, however it ends.
    ///
    /// # Panics
    /// When it is not done within the limit.
    pub fn run(mut self, script: &str) -> Outcome {
        let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        count_boot(&self.name);
        let image = Image::ready();
        let scratch = Scratch::new("kernel");
        let collect = scratch.sparse("collect", COLLECT_MAX);
        self.disks.push((collect.clone(), Writes::Kept));
        let initramfs = scratch.join("initramfs");
        self.write_initramfs(&image.base, &initramfs, script);
        let finished = self.machine(&image.kernel, &initramfs).run();
        let mut outcome = Outcome {
            console: finished.complaints(),
            time: finished.time,
            ..Outcome::silent()
        };
        let mut file = File::open(&collect).expect("the disk");
        for line in finished.text().lines() {
            outcome.take(line, &mut file);
        }
        // For people, and for the next one who wonders what takes so long.
        let log = image::folder().join(format!("{}.log", self.name));
        fs::write(log, outcome.to_string()).expect("there is space for it");
        assert_eq!(finished.code, Some(0), "the emulator failed: {outcome}");
        outcome
    }

    pub(super) fn write_initramfs(&mut self, base: &Path, to: &Path, script: &str) {
        let count = self.disks.len();
        assert!(count <= DISKS_MAX, "{count} disks; {DISKS_MAX} at most");
        let devices: Vec<String> = (0..count).map(Self::device).collect();
        let names: Vec<&str> = devices.iter().map(|device| &device[5..]).collect();
        let settings = format!(
            "LIMIT={}\nDISKS='{}'\nCOLLECT={}\n",
            self.limit.as_secs(),
            names.join(" "),
            devices[count - 1]
        );
        let mut job = std::mem::take(&mut self.job);
        job.file("/job/settings", settings.as_bytes());
        job.file("/job/script", script.as_bytes());
        fs::copy(base, to).expect("there is space for it");
        let mut file = OpenOptions::new().append(true).open(to).expect("the copy");
        file.write_all(&job.finish())
            .expect("there is space for it");
    }

    pub(super) fn machine(&self, kernel: &Path, initramfs: &Path) -> Tool {
        let memory = MEMORY_MIB.to_string();
        let mut tool = Tool::new("setpriv")
            .args(["--pdeathsig", "KILL", "qemu-system-x86_64"])
            .args(["-nodefaults", "-no-user-config", "-no-reboot"])
            .args(["-display", "none", "-machine", "pc", "-cpu", "max"])
            .args(["-accel", "tcg,thread=multi", "-smp", "2", "-m", &memory])
            .args(["-serial", "file:/dev/stderr", "-serial", "stdio"])
            .args(["-append", "console=ttyS0 quiet panic=-1 mitigations=off"])
            .arg("-kernel")
            .arg(kernel)
            .arg("-initrd")
            .arg(initramfs)
            .limit(self.limit);
        for (number, (path, writes)) in self.disks.iter().enumerate() {
            // The test may use what it shares with a machine that listens.
            let (snapshot, locking) = match writes {
                Writes::Kept => ("off", ",file.locking=off"),
                Writes::Forgotten => ("on", ""),
            };
            let path = path.display().to_string();
            assert!(!path.contains(','), "{path}: a name without commas");
            let drive = format!(
                "file={path}{locking},id=disk{number},if=none,format=raw,cache=unsafe,\
                 snapshot={snapshot},discard=unmap,detect-zeroes=unmap"
            );
            let (slot, function) = (FIRST_SLOT + number / FUNCTIONS, number % FUNCTIONS);
            let device = format!(
                "virtio-blk-pci-non-transitional,drive=disk{number},serial=disk{number},\
                 num-queues=1,addr={slot:x}.{function:x},multifunction=on"
            );
            tool = tool.args(["-drive", &drive, "-device", &device]);
        }
        tool
    }
}

impl Outcome {
    /// Of a machine that said nothing yet.
    pub(super) fn silent() -> Self {
        Self {
            code: None,
            output: String::new(),
            console: String::new(),
            collected: BTreeMap::new(),
            time: Duration::ZERO,
        }
    }

    /// Takes in a line, of the script or of what runs it.
    pub(super) fn take(&mut self, line: &str, disk: &mut File) {
        match line.strip_prefix("=== ") {
            Some(said) => self.note(said, disk),
            None if line.is_empty() => {}
            None => {
                self.output.push_str(line);
                self.output.push('\n');
            }
        }
    }

    /// Takes in what `init` and `collect` say.
    fn note(&mut self, said: &str, disk: &mut File) {
        let words: Vec<&str> = said.splitn(4, ' ').collect();
        match words[..] {
            ["exit", code, "==="] => self.code = code.parse().ok(),
            ["collected", at, size, name] => {
                let number = |word: &str| word.parse::<u64>().expect("a number of bytes");
                let content = content(disk, number(at), number(size));
                self.collected.insert(name.to_owned(), content);
            }
            _ => panic!("the machine says what it never says: {said}"),
        }
    }

    /// What the script printed, without the blanks around.
    pub fn text(&self) -> &str {
        self.output.trim()
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Outcome {
            code,
            output,
            console,
            time,
            ..
        } = self;
        let seconds = time.as_secs_f64();
        write!(
            f,
            "exit {code:?} after {seconds:.1} s\noutput: {output}\nconsole: {console}"
        )
    }
}

fn content(disk: &mut File, at: u64, size: u64) -> Collected {
    disk.seek(SeekFrom::Start(at)).expect("a place on the disk");
    let mut hash = Sha256::new();
    let mut rest = disk.take(size);
    let mut buffer = vec![0; 1 << 20];
    let mut len = 0;
    loop {
        let read = rest.read(&mut buffer).expect("the disk can be read");
        if read == 0 {
            break;
        }
        hash.update(&buffer[..read]);
        len += read as u64;
    }
    assert_eq!(len, size, "all was collected");
    let sha256 = hexadecimal(&hash.finalize());
    Collected { size, sha256 }
}

/// Notes a boot, where a run of all tests counts them.
pub(super) fn count_boot(name: &str) {
    let Some(path) = std::env::var_os(BOOTS_VARIABLE) else {
        return;
    };
    let counter = OpenOptions::new().append(true).create(true).open(&path);
    let mut counter = counter.expect("the counter of boots");
    counter
        .write_all(format!("{name}\n").as_bytes())
        .expect("a line");
    let boots = fs::read_to_string(&path).expect("the counter of boots");
    let count = boots.lines().count();
    let all = boots.replace('\n', " ");
    assert!(count <= BOOTS_MAX, "too many boots: {all}");
}
