//! A server for tests of clients, in this process: it crashes, forgets, keeps silent and says
//! goodbye when it is told to.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use super::{Address, ReconnectingDevice};
use crate::wire::constants::{
    CMD_DISC, CMD_FLAG_FUA, CMD_FLUSH, CMD_READ, CMD_WRITE, CMD_WRITE_ZEROES, ESHUTDOWN,
    FLAG_HAS_FLAGS, FLAG_SEND_FLUSH, FLAG_SEND_FUA, FLAG_SEND_WRITE_ZEROES, OPT_GO, REP_ACK,
    REP_ERR_UNSUP, REP_INFO,
};
use crate::wire::{
    ExportInfo, OptionHeader, OptionReply, RequestHeader, RequestStyle, Sizes, encode_greeting,
};
use block::{Completion, Driver, Queue};

/// Bytes of a medium.
pub(super) const SIZE: u64 = 1 << 20;
/// More than anything takes on a machine that has much else to do.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// What a server has: a medium, a cache in front of it, and habits.
pub(super) struct Disk {
    pub(super) medium: Vec<u8>,
    cache: BTreeMap<u64, Vec<u8>>,
    pub(super) flags: u16,
    pub(super) flush_count: usize,
    pub(super) write_count: usize,
    /// The longest request, in bytes.
    pub(super) longest: u64,
    /// What it says of the sizes that it takes.
    pub(super) sizes: Option<Sizes>,
    /// Its answer to whoever chooses the export, if it refuses: `REP_ERR_…`.
    pub(super) refusal: Option<u32>,
    /// How many more requests it answers before it crashes and forgets its cache.
    pub(super) crash_after: Option<u64>,
    /// Requests are read and never answered.
    pub(super) silent: bool,
    pub(super) shutting_down: bool,
    /// Writes are refused.
    pub(super) full: bool,
    sockets: Vec<UnixStream>,
}

impl Disk {
    pub(super) fn read(&self, start: u64, len: usize) -> Vec<u8> {
        let mut bytes = self.medium[start as usize..start as usize + len].to_vec();
        for (at, byte) in bytes.iter_mut().enumerate() {
            if let Some(sector) = self.cache.get(&((start + at as u64) & !511)) {
                *byte = sector[(start as usize + at) & 511];
            }
        }
        bytes
    }

    fn write(&mut self, start: u64, data: &[u8]) {
        for (sector, data) in (start / 512..).zip(data.chunks(512)) {
            self.cache.insert(sector * 512, data.to_vec());
        }
    }

    fn flush(&mut self) {
        for (start, data) in std::mem::take(&mut self.cache) {
            self.medium[start as usize..start as usize + data.len()].copy_from_slice(&data);
        }
    }
}

/// A server in this process, on a unix socket.
pub(super) struct Fake {
    pub(super) path: PathBuf,
    disk: Arc<Mutex<Disk>>,
}

impl Fake {
    pub(super) fn start(flags: u16) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("ashlar-fake-{}-{number}.sock", std::process::id());
        let path = std::env::temp_dir().join(name);
        let disk = Disk {
            medium: vec![0; SIZE as usize],
            cache: BTreeMap::new(),
            flags: FLAG_HAS_FLAGS | flags,
            flush_count: 0,
            write_count: 0,
            longest: 0,
            sizes: None,
            refusal: None,
            crash_after: None,
            silent: false,
            shutting_down: false,
            full: false,
            sockets: Vec::new(),
        };
        let fake = Self {
            path,
            disk: Arc::new(Mutex::new(disk)),
        };
        fake.listen();
        fake
    }

    /// Takes clients, until the socket is removed.
    pub(super) fn listen(&self) {
        let listener = UnixListener::bind(&self.path).unwrap();
        let (disk, path) = (Arc::clone(&self.disk), self.path.clone());
        thread::spawn(move || {
            while let Ok((socket, _)) = listener.accept() {
                if !path.exists() {
                    return;
                }
                let disk = Arc::clone(&disk);
                disk.lock()
                    .unwrap()
                    .sockets
                    .push(socket.try_clone().unwrap());
                thread::spawn(move || serve(socket, &disk));
            }
        });
    }

    /// No server is there any more; what was not flushed is forgotten.
    pub(super) fn kill(&self) {
        let wake = UnixStream::connect(&self.path);
        std::fs::remove_file(&self.path).unwrap();
        drop((wake, UnixStream::connect(&self.path)));
        let mut disk = self.lock();
        disk.cache.clear();
        for socket in disk.sockets.drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap()
    }

    pub(super) fn open(&self, timeout: Duration) -> ReconnectingDevice {
        ReconnectingDevice::open(Address::unix(&self.path, ""), timeout).unwrap()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        if self.path.exists() {
            self.kill();
        }
    }
}

pub(super) const USUAL: u16 = FLAG_SEND_FLUSH | FLAG_SEND_FUA | FLAG_SEND_WRITE_ZEROES;

fn serve(mut socket: UnixStream, disk: &Mutex<Disk>) -> Option<()> {
    shake_hands(&mut socket, disk)?;
    loop {
        let mut header = [0; 28];
        socket.read_exact(&mut header).ok()?;
        let header = RequestHeader::decode(RequestStyle::Compact, &header).unwrap()?;
        let mut data = vec![0; header.len as usize];
        if header.command == CMD_WRITE {
            socket.read_exact(&mut data).ok()?;
        }
        let mut disk = disk.lock().unwrap();
        disk.longest = disk.longest.max(header.len);
        if header.command == CMD_DISC {
            return None;
        }
        if disk.silent {
            continue;
        }
        let mut code = 0;
        let mut reply = Vec::new();
        match header.command {
            _ if disk.shutting_down => code = ESHUTDOWN,
            CMD_READ => reply = disk.read(header.offset, header.len as usize),
            CMD_WRITE | CMD_WRITE_ZEROES if disk.full => code = 28,
            CMD_WRITE | CMD_WRITE_ZEROES => {
                disk.write_count += 1;
                disk.write(header.offset, &data);
                if header.flags & CMD_FLAG_FUA != 0 {
                    disk.flush();
                }
            }
            CMD_FLUSH => {
                disk.flush_count += 1;
                disk.flush();
            }
            _ => code = 22,
        }
        if let Some(rest) = &mut disk.crash_after {
            let Some(less) = rest.checked_sub(1) else {
                disk.crash_after = None;
                disk.cache.clear();
                for socket in disk.sockets.drain(..) {
                    let _ = socket.shutdown(Shutdown::Both);
                }
                return None;
            };
            *rest = less;
        }
        let mut bytes = 0x6744_6698_u32.to_be_bytes().to_vec();
        bytes.extend(code.to_be_bytes());
        bytes.extend(header.cookie.to_be_bytes());
        bytes.extend(reply);
        socket.write_all(&bytes).ok()?;
        drop(disk);
    }
}

fn shake_hands(socket: &mut UnixStream, disk: &Mutex<Disk>) -> Option<()> {
    socket.write_all(&encode_greeting(3)).ok()?;
    socket.read_exact(&mut [0; 4]).ok()?;
    loop {
        let mut header = [0; OptionHeader::LEN];
        socket.read_exact(&mut header).ok()?;
        let header = OptionHeader::decode(&header).unwrap();
        socket.read_exact(&mut vec![0; header.len as usize]).ok()?;
        let mut out = Vec::new();
        let is_last = header.option == OPT_GO;
        let mut answer = if is_last { REP_ACK } else { REP_ERR_UNSUP };
        if is_last {
            let disk = disk.lock().unwrap();
            answer = disk.refusal.unwrap_or(answer);
            let size = disk.medium.len() as u64;
            let info = ExportInfo::Export {
                size,
                flags: disk.flags,
            };
            OptionReply::encode(&mut out, OPT_GO, REP_INFO, &info.encode());
            if let Some(sizes) = disk.sizes {
                let info = ExportInfo::Sizes(sizes).encode();
                OptionReply::encode(&mut out, OPT_GO, REP_INFO, &info);
            }
        }
        OptionReply::encode(&mut out, header.option, answer, b"");
        socket.write_all(&out).ok()?;
        if is_last {
            return Some(());
        }
    }
}

/// Answers `count` requests, whatever happens first.
pub(super) fn finish(queue: &mut dyn Queue, driver: &Driver, count: usize) -> Vec<Completion> {
    let mut done = Vec::new();
    let end = Instant::now() + PATIENCE;
    while done.len() < count {
        queue.poll(&mut done);
        assert!(
            Instant::now() < end,
            "{} of {count} answers came",
            done.len()
        );
        if done.len() < count {
            driver.wait(&mut [], Some(Duration::from_secs(1))).unwrap();
        }
    }
    done
}
