//! The client's side of the handshake. Blocks, each step for a limited time.

use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::sockopt::{
    Timeout, set_socket_send_buffer_size, set_socket_timeout, set_tcp_nodelay,
};
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::address::{Address, Server};
use crate::nbd::constants::{
    BASE_ALLOCATION, FLAG_FIXED_NEWSTYLE, FLAG_NO_ZEROES, INFO_BLOCK_SIZE, OPT_EXTENDED_HEADERS,
    OPT_GO, OPT_SET_META_CONTEXT, OPT_STRUCTURED_REPLY, PAYLOAD_LEN_MAX, REP_ACK, REP_FLAG_ERROR,
    REP_INFO, REP_META_CONTEXT,
};
use crate::nbd::{
    ExportInfo, InfoRequest, MetaContext, MetaRequest, OptionHeader, OptionReply, ReplyStyle,
    RequestStyle, Sizes, decode_greeting,
};
use crate::{Error, Kind, Result};

/// How long the server may take for each step of the handshake.
const STEP_MAX: Duration = Duration::from_secs(10);
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

/// Connects and chooses the export.
pub(super) fn connect(address: &Address) -> Result<Connection> {
    let failed = |error: std::io::Error| {
        Error::io(format!("cannot connect to {address}"), error).with_kind(Kind::Open)
    };
    let socket = open(&address.server).map_err(failed)?;
    let in_step = |error: Error| {
        let what = format!("cannot use {address}: {error}");
        Error::new(Kind::Open, what)
    };
    timeouts(&socket, Some(STEP_MAX)).map_err(failed)?;
    let agreed = shake_hands(&socket, &address.export).map_err(in_step)?;
    timeouts(&socket, None).map_err(failed)?;
    Ok(Connection { socket, agreed })
}

fn open(server: &Server) -> std::io::Result<OwnedFd> {
    match server {
        Server::Unix(path) => {
            let socket = OwnedFd::from(UnixStream::connect(path)?);
            let _ = set_socket_send_buffer_size(&socket, SEND_BUFFER);
            Ok(socket)
        }
        Server::Tcp { host, port } => {
            let mut last = std::io::Error::from(std::io::ErrorKind::NotFound);
            for address in (host.as_str(), *port).to_socket_addrs()? {
                match TcpStream::connect_timeout(&address, STEP_MAX) {
                    Ok(socket) => {
                        let _ = set_tcp_nodelay(&socket, true);
                        return Ok(socket.into());
                    }
                    Err(error) => last = error,
                }
            }
            Err(last)
        }
    }
}

pub(super) fn timeouts(socket: &OwnedFd, timeout: Option<Duration>) -> std::io::Result<()> {
    set_socket_timeout(socket, Timeout::Recv, timeout)?;
    set_socket_timeout(socket, Timeout::Send, timeout)?;
    Ok(())
}

fn shake_hands(socket: &OwnedFd, export: &str) -> Result<Agreed> {
    let mut greeting = [0; 18];
    receive(socket, &mut greeting)?;
    let flags = decode_greeting(&greeting)?;
    if flags & FLAG_FIXED_NEWSTYLE == 0 {
        let what = "the server does not speak the fixed newstyle handshake";
        return Err(Error::new(Kind::Unsupported, what));
    }
    let ours = FLAG_FIXED_NEWSTYLE | (flags & FLAG_NO_ZEROES);
    send_all(socket, &u32::from(ours).to_be_bytes())?;

    let replies = if option(socket, OPT_EXTENDED_HEADERS, b"")?.is_some() {
        ReplyStyle::Extended
    } else if option(socket, OPT_STRUCTURED_REPLY, b"")?.is_some() {
        ReplyStyle::Structured
    } else {
        ReplyStyle::Simple
    };
    let context = match replies {
        ReplyStyle::Simple => None,
        ReplyStyle::Structured | ReplyStyle::Extended => choose_context(socket, export)?,
    };
    let request = InfoRequest {
        name: export,
        wanted: vec![INFO_BLOCK_SIZE],
    };
    let (answers, refusal) = haggle(socket, OPT_GO, &request.encode())?;
    if let Some(refusal) = refusal {
        return Err(Error::new(Kind::Open, refusal));
    }
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
    for (kind, data) in &answers {
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
    if !described {
        let what = "the server did not say how large the export is";
        return Err(Error::new(Kind::Invalid, what));
    }
    agreed.sizes.maximum =
        agreed.sizes.maximum.min(PAYLOAD_LEN_MAX) / agreed.sizes.minimum * agreed.sizes.minimum;
    Ok(agreed)
}

fn choose_context(socket: &OwnedFd, export: &str) -> Result<Option<u32>> {
    let request = MetaRequest {
        name: export,
        queries: vec![BASE_ALLOCATION],
    };
    let Some(answers) = option(socket, OPT_SET_META_CONTEXT, &request.encode())? else {
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
fn option(socket: &OwnedFd, option: u32, data: &[u8]) -> Result<Option<Vec<Answer>>> {
    let (answers, refusal) = haggle(socket, option, data)?;
    Ok(refusal.is_none().then_some(answers))
}

/// The answers to an option, and why it was refused if it was.
fn haggle(socket: &OwnedFd, option: u32, data: &[u8]) -> Result<(Vec<Answer>, Option<String>)> {
    let mut message = Vec::new();
    OptionHeader::encode(&mut message, option, data);
    send_all(socket, &message)?;
    let mut answers = Vec::new();
    while answers.len() < ANSWER_COUNT_MAX {
        let mut header = [0; OptionReply::LEN];
        receive(socket, &mut header)?;
        let header = OptionReply::decode(&header)?;
        if header.option != option {
            let what = "the server answers an option that was not asked";
            return Err(Error::new(Kind::Invalid, what));
        }
        let mut data = vec![0; header.len as usize];
        receive(socket, &mut data)?;
        if header.kind & REP_FLAG_ERROR != 0 {
            let words = String::from_utf8_lossy(&data);
            let code = header.kind & !REP_FLAG_ERROR;
            let refusal = format!("the server refuses (error {code}) {words:.200}");
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

pub(super) fn receive(socket: &OwnedFd, mut into: &mut [u8]) -> Result<()> {
    while !into.is_empty() {
        match recv(socket.as_fd(), &mut *into, RecvFlags::empty()) {
            Ok((0, _)) => return Err(Error::new(Kind::Gone, "the server hung up")),
            Ok((len, _)) => into = &mut into[len..],
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => {
                return Err(Error::new(Kind::TimedOut, "the server does not answer"));
            }
            Err(errno) => return Err(Error::io("cannot receive", errno.into())),
        }
    }
    Ok(())
}

pub(super) fn send_all(socket: &OwnedFd, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        match send(socket.as_fd(), bytes, SendFlags::NOSIGNAL) {
            Ok(len) => bytes = &bytes[len..],
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => {
                return Err(Error::new(Kind::TimedOut, "the server does not listen"));
            }
            Err(errno) => return Err(Error::io("cannot send", errno.into())),
        }
    }
    Ok(())
}
