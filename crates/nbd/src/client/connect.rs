//! The client's side of the handshake. Blocks, but never beyond a deadline for all of it: not
//! while a name is resolved, not in the queue of a busy server, not for one that sends a byte now
//! and then.

use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::net::sockopt::{
    Timeout, set_socket_keepalive, set_socket_send_buffer_size, set_socket_timeout,
    set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl, set_tcp_nodelay,
};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, recv, send,
};

use super::address::{Address, Server};
use crate::tls::Security;
use crate::wire::constants::{
    BASE_ALLOCATION, FLAG_FIXED_NEWSTYLE, FLAG_NO_ZEROES, INFO_BLOCK_SIZE, OPT_EXTENDED_HEADERS,
    OPT_GO, OPT_SET_META_CONTEXT, OPT_STARTTLS, OPT_STRUCTURED_REPLY, PAYLOAD_LEN_MAX, REP_ACK,
    REP_ERR_TLS_REQD, REP_FLAG_ERROR, REP_INFO, REP_META_CONTEXT,
};
use crate::wire::{
    ExportInfo, InfoRequest, MetaContext, MetaRequest, OptionHeader, OptionReply, ReplyStyle,
    RequestStyle, Sizes, decode_greeting,
};
use block::{Error, Kind, Result};

/// How long connecting and shaking hands may take, if nothing shorter is asked for.
pub(super) const CONNECT_MAX: Duration = Duration::from_secs(10);
/// How long a TCP connection may be idle before its other end is asked whether it is there.
const KEEP_IDLE: Duration = Duration::from_secs(10);
/// How often it is asked, and how many times without an answer end the connection.
const KEEP_INTERVAL: Duration = Duration::from_secs(5);
const KEEP_COUNT: u32 = 4;
/// Answers to one option: information comes in four kinds.
const ANSWER_COUNT_MAX: usize = 64;
/// Room in a unix socket for requests, in bytes; asked for, not insisted on.
const SEND_BUFFER: usize = 1 << 20;

/// What client and server agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Agreed {
    /// In bytes.
    pub(super) size: u64,
    /// `FLAG_…`.
    pub(super) flags: u16,
    pub(super) sizes: Sizes,
    pub(super) requests: RequestStyle,
    pub(super) replies: ReplyStyle,
    /// The number of `base:allocation`, if the server knows it.
    pub(super) context: Option<u32>,
}

/// A connection that is ready for requests.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) socket: OwnedFd,
    pub(super) agreed: Agreed,
}

/// Connects and chooses the export, within `limit`.
pub(super) fn connect(address: &Address, limit: Duration) -> Result<Connection> {
    let deadline = Instant::now() + limit;
    let failed = |error: std::io::Error| {
        Error::io(format!("cannot connect to {address}"), error).with_kind(Kind::Open)
    };
    let socket = open(&address.server, deadline).map_err(failed)?;
    let in_step = |error: Error| {
        let hint = match error.kind() {
            Kind::TimedOut => "; it hangs, or serves one client at a time and has one",
            _ => "",
        };
        let what = format!("cannot use {address}: {error}{hint}");
        Error::new(Kind::Open, what)
    };
    greet(&DeadlineStream {
        socket: &socket,
        deadline,
    })
    .map_err(in_step)?;
    let socket = match &address.secrecy {
        None => socket,
        Some(secrecy) => {
            let folder = secrecy.certificates.as_deref();
            secure(socket, folder, address.hostname(), deadline).map_err(in_step)?
        }
    };
    let stream = DeadlineStream {
        socket: &socket,
        deadline,
    };
    let agreed = shake_hands(&stream, &address.export).map_err(in_step)?;
    timeouts(&socket, None).map_err(failed)?;
    Ok(Connection { socket, agreed })
}

fn open(server: &Server, deadline: Instant) -> std::io::Result<OwnedFd> {
    match server {
        Server::Unix(path) => {
            let family = AddressFamily::UNIX;
            let flags = SocketFlags::CLOEXEC;
            let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
            // A server that takes nobody from its queue would hold us for ever.
            set_socket_timeout(&socket, Timeout::Send, Some(rest_until(deadline)))?;
            rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
            let _ = set_socket_send_buffer_size(&socket, SEND_BUFFER);
            Ok(socket)
        }
        Server::Tcp { host, port } => {
            let mut last = std::io::Error::from(std::io::ErrorKind::NotFound);
            for address in resolve(host, *port, deadline)? {
                match TcpStream::connect_timeout(&address, rest_until(deadline)) {
                    Ok(socket) => {
                        let socket = OwnedFd::from(socket);
                        keep_alive(&socket);
                        return Ok(socket);
                    }
                    Err(error) => last = error,
                }
            }
            Err(last)
        }
    }
}

/// Small messages leave at once; a peer that is gone without a word is noticed.
fn keep_alive(socket: &OwnedFd) {
    let _ = set_tcp_nodelay(socket, true);
    let _ = set_socket_keepalive(socket, true);
    let _ = set_tcp_keepidle(socket, KEEP_IDLE);
    let _ = set_tcp_keepintvl(socket, KEEP_INTERVAL);
    let _ = set_tcp_keepcnt(socket, KEEP_COUNT);
}

/// The addresses of a host. Resolving a name cannot be interrupted, so a thread does it, which is
/// left behind if it takes too long.
fn resolve(host: &str, port: u16, deadline: Instant) -> std::io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let (sender, receiver) = mpsc::channel();
    let host = host.to_owned();
    std::thread::Builder::new()
        .name("resolve".to_owned())
        .spawn(move || {
            let found = (host.as_str(), port).to_socket_addrs();
            let _ = sender.send(found.map(Vec::from_iter));
        })?;
    let answer = receiver.recv_timeout(rest_until(deadline));
    answer.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
}

/// The time until `deadline`; at least a millisecond, since the kernel takes 0 for no limit.
fn rest_until(deadline: Instant) -> Duration {
    let rest = deadline.saturating_duration_since(Instant::now());
    rest.max(Duration::from_millis(1))
}

pub(super) fn timeouts(socket: &OwnedFd, timeout: Option<Duration>) -> std::io::Result<()> {
    set_socket_timeout(socket, Timeout::Recv, timeout)?;
    set_socket_timeout(socket, Timeout::Send, timeout)?;
    Ok(())
}

/// The first words of both sides.
fn greet(stream: &DeadlineStream<'_>) -> Result<()> {
    let mut greeting = [0; 18];
    stream.receive(&mut greeting)?;
    let flags = decode_greeting(&greeting)?;
    if flags & FLAG_FIXED_NEWSTYLE == 0 {
        let what = "the server does not speak the fixed newstyle handshake";
        return Err(Error::new(Kind::Unsupported, what));
    }
    let ours = FLAG_FIXED_NEWSTYLE | (flags & FLAG_NO_ZEROES);
    stream.send(&u32::from(ours).to_be_bytes())
}

/// Goes on under TLS: all or nothing, since whoever refuses may be somebody on the way. The plain
/// text is on another socket then, which a thread serves as long as that is open.
fn secure(
    socket: OwnedFd,
    certificates: Option<&Path>,
    host: &str,
    deadline: Instant,
) -> Result<OwnedFd> {
    let security = Security::client(certificates)?;
    let stream = DeadlineStream {
        socket: &socket,
        deadline,
    };
    if let (_, Some(refusal)) = haggle(&stream, OPT_STARTTLS, b"")? {
        let what =
            format!("{refusal}: it does not speak TLS; nbd:// instead of nbds:// does without");
        return Err(Error::new(Kind::Open, what));
    }
    let (plain, _thread) = security.connect(socket, host, deadline)?;
    Ok(plain)
}

fn shake_hands(stream: &DeadlineStream<'_>, export: &str) -> Result<Agreed> {
    let replies = if option(stream, OPT_EXTENDED_HEADERS, b"")?.is_some() {
        ReplyStyle::Extended
    } else if option(stream, OPT_STRUCTURED_REPLY, b"")?.is_some() {
        ReplyStyle::Structured
    } else {
        ReplyStyle::Simple
    };
    let context = match replies {
        ReplyStyle::Simple => None,
        ReplyStyle::Structured | ReplyStyle::Extended => choose_context(stream, export)?,
    };
    let request = InfoRequest {
        name: export,
        wanted: vec![INFO_BLOCK_SIZE],
    };
    let (answers, refusal) = haggle(stream, OPT_GO, &request.encode())?;
    if let Some(refusal) = refusal {
        return Err(Error::new(Kind::Open, refusal));
    }
    agree(&answers, replies, context)
}

/// What the server said about the export.
fn agree(answers: &[Answer], replies: ReplyStyle, context: Option<u32>) -> Result<Agreed> {
    let mut agreed = Agreed {
        size: 0,
        flags: 0,
        sizes: Sizes {
            minimum: 1,
            preferred: 4096,
            maximum: PAYLOAD_LEN_MAX,
        },
        requests: match replies {
            ReplyStyle::Extended => RequestStyle::Extended,
            ReplyStyle::Simple | ReplyStyle::Structured => RequestStyle::Compact,
        },
        replies,
        context,
    };
    let mut described = false;
    for (kind, data) in answers {
        if *kind != REP_INFO {
            continue;
        }
        match ExportInfo::decode(data)? {
            ExportInfo::Export { size, flags } => {
                (agreed.size, agreed.flags) = (size, flags);
                described = true;
            }
            ExportInfo::Sizes(sizes) => agreed.sizes = sizes,
            ExportInfo::Name(_) | ExportInfo::Description(_) | ExportInfo::Other(_) => {}
        }
    }
    if i64::try_from(agreed.size).is_err() {
        let what = format!("the server says that the export has {} bytes", agreed.size);
        return Err(Error::new(Kind::Invalid, what));
    }
    if !described {
        let what = "the server did not say how large the export is";
        return Err(Error::new(Kind::Invalid, what));
    }
    agreed.sizes.maximum =
        agreed.sizes.maximum.min(PAYLOAD_LEN_MAX) / agreed.sizes.minimum * agreed.sizes.minimum;
    Ok(agreed)
}

fn choose_context(stream: &DeadlineStream<'_>, export: &str) -> Result<Option<u32>> {
    let request = MetaRequest {
        name: export,
        queries: vec![BASE_ALLOCATION],
    };
    let Some(answers) = option(stream, OPT_SET_META_CONTEXT, &request.encode())? else {
        return Ok(None);
    };
    for (kind, data) in &answers {
        if *kind == REP_META_CONTEXT {
            let context = MetaContext::decode(data)?;
            if context.name == BASE_ALLOCATION {
                return Ok(Some(context.id));
            }
        }
    }
    Ok(None)
}

/// One answer: its kind and data.
type Answer = (u32, Vec<u8>);

/// The answers to an option; `None` if the server refuses it.
fn option(stream: &DeadlineStream<'_>, option: u32, data: &[u8]) -> Result<Option<Vec<Answer>>> {
    let (answers, refusal) = haggle(stream, option, data)?;
    Ok(refusal.is_none().then_some(answers))
}

/// The answers to an option, and why it was refused if it was.
fn haggle(
    stream: &DeadlineStream<'_>,
    option: u32,
    data: &[u8],
) -> Result<(Vec<Answer>, Option<String>)> {
    let mut message = Vec::new();
    OptionHeader::encode(&mut message, option, data);
    stream.send(&message)?;
    let mut answers = Vec::new();
    while answers.len() < ANSWER_COUNT_MAX {
        let mut header = [0; OptionReply::LEN];
        stream.receive(&mut header)?;
        let header = OptionReply::decode(&header)?;
        if header.option != option {
            let what = "the server answers an option that was not asked";
            return Err(Error::new(Kind::Invalid, what));
        }
        let mut data = vec![0; header.len as usize];
        stream.receive(&mut data)?;
        if header.kind & REP_FLAG_ERROR != 0 {
            let words = String::from_utf8_lossy(&data);
            let code = header.kind & !REP_FLAG_ERROR;
            let mut refusal = format!("the server refuses (error {code}) {words:.200}");
            if header.kind == REP_ERR_TLS_REQD {
                refusal.push_str("; write nbds:// instead of nbd:// for TLS");
            }
            return Ok((answers, Some(refusal)));
        }
        if header.kind == REP_ACK {
            return Ok((answers, None));
        }
        answers.push((header.kind, data));
    }
    let what = "the server answers an option without end";
    Err(Error::new(Kind::Invalid, what))
}

/// A socket that is used while blocking, until a deadline.
pub(super) struct DeadlineStream<'a> {
    pub(super) socket: &'a OwnedFd,
    pub(super) deadline: Instant,
}

impl DeadlineStream<'_> {
    /// Fills `into`.
    pub(super) fn receive(&self, mut into: &mut [u8]) -> Result<()> {
        while !into.is_empty() {
            self.limit(Timeout::Recv, "the server does not answer")?;
            match recv(self.socket.as_fd(), &mut *into, RecvFlags::empty()) {
                Ok((0, _)) => return Err(Error::new(Kind::Gone, "the server hung up")),
                Ok((len, _)) => into = &mut into[len..],
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Err(errno) => return Err(Error::io("cannot receive", errno.into())),
            }
        }
        Ok(())
    }

    /// Sends all of `bytes`.
    pub(super) fn send(&self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            self.limit(Timeout::Send, "the server does not listen")?;
            match send(self.socket.as_fd(), bytes, SendFlags::NOSIGNAL) {
                Ok(len) => bytes = &bytes[len..],
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Err(errno) => return Err(Error::io("cannot send", errno.into())),
            }
        }
        Ok(())
    }

    /// Lets the next call in `direction` end with the deadline; fails if that has passed.
    fn limit(&self, direction: Timeout, complaint: &str) -> Result<()> {
        if Instant::now() >= self.deadline {
            return Err(Error::new(Kind::TimedOut, complaint));
        }
        set_socket_timeout(self.socket, direction, Some(rest_until(self.deadline)))
            .map_err(|errno| Error::io("cannot set a socket's timeout", errno.into()))
    }
}
