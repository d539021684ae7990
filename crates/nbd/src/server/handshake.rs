//! The first phase of a connection, as a state machine: bytes in, bytes out, no I/O.
//!
//! ```text
//! greeting ─▶ client flags ─▶ options ─┬─ GO, EXPORT_NAME ─▶ the second phase
//!                                      └─ ABORT, garbage  ─▶ the end
//! ```
//!
//! What a client agreed on before it chooses an export (structured replies, extended headers, a
//! metadata context) is remembered here and handed to the second phase as [`Agreed`]. An option
//! that is wrong is refused and the next one read; what breaks the framing ends the connection.

use std::sync::Arc;

use crate::wire::constants::{
    FLAG_CAN_MULTI_CONN, FLAG_FIXED_NEWSTYLE, FLAG_HAS_FLAGS, FLAG_NO_ZEROES, FLAG_READ_ONLY,
    FLAG_ROTATIONAL, FLAG_SEND_CACHE, FLAG_SEND_DF, FLAG_SEND_FAST_ZERO, FLAG_SEND_FLUSH,
    FLAG_SEND_FUA, FLAG_SEND_TRIM, FLAG_SEND_WRITE_ZEROES, INFO_DESCRIPTION, INFO_NAME, OPT_ABORT,
    OPT_EXPORT_NAME, OPT_EXTENDED_HEADERS, OPT_GO, OPT_INFO, OPT_LIST, OPT_LIST_META_CONTEXT,
    OPT_SET_META_CONTEXT, OPT_STARTTLS, OPT_STRUCTURED_REPLY, OPTION_LEN_MAX, PAYLOAD_LEN_MAX,
    REP_ACK, REP_ERR_EXT_HEADER_REQD, REP_ERR_INVALID, REP_ERR_POLICY, REP_ERR_TLS_REQD,
    REP_ERR_TOO_BIG, REP_ERR_UNKNOWN, REP_ERR_UNSUP, REP_INFO, REP_META_CONTEXT, REP_SERVER,
};
use crate::wire::{
    ExportInfo, InfoRequest, MetaContext, MetaRequest, OptionHeader, OptionReply, ReplyStyle,
    RequestStyle, Sizes, encode_greeting, encode_listed,
};
use block::Info;

use super::contexts::{self, Chosen};
use super::exports::Listed;
use super::{Access, Export, Exports};
use block::{Error, Kind, Result};

/// Zeros behind the answer to `EXPORT_NAME`, for clients that did not ask to be spared.
const OLD_PADDING: usize = 124;
/// Options in one handshake: everybody needs less than ten.
const OPTION_COUNT_MAX: u32 = 1000;

/// What the second phase needs to know.
#[derive(Debug, Clone)]
pub struct Agreed {
    /// The export that the client chose.
    pub export: Arc<Export>,
    /// What its device said then.
    pub info: Info,
    /// The form of requests.
    pub requests: RequestStyle,
    /// The form of replies.
    pub replies: ReplyStyle,
    /// What block status tells; where it is empty, asking is an error.
    pub contexts: Vec<Chosen>,
}

/// What a handshake says about TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    /// There is none.
    Off,
    /// Clients may have it.
    Offered,
    /// Before it, clients may only ask for it, or leave.
    Required,
    /// It is in use.
    On,
}

/// What happens after some bytes were taken in.
#[derive(Debug)]
pub enum Progress {
    /// More bytes are needed.
    More,
    /// The second phase begins with the byte behind those used.
    Transmit(Box<Agreed>),
    /// TLS begins with the next byte; then [`Handshake::secured`].
    Secure,
    /// The client said goodbye.
    End,
}

/// Where a handshake stands.
#[derive(Debug)]
pub struct Handshake {
    exports: Exports,
    tls: Tls,
    /// `None` until the client has sent its flags.
    client_flags: Option<u16>,
    replies: ReplyStyle,
    /// The export name for which contexts were chosen, and these.
    chosen: Option<(String, Vec<Chosen>)>,
    option_count: u32,
}

impl Handshake {
    /// The start of a handshake over these exports; the greeting is appended to `out`.
    pub fn begin(exports: Exports, tls: Tls, out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(&encode_greeting(FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES));
        Self {
            exports,
            tls,
            client_flags: None,
            replies: ReplyStyle::Simple,
            chosen: None,
            option_count: 0,
        }
    }

    /// TLS is in use from now on. What was agreed on before may be the work of somebody on the
    /// way, and is forgotten.
    pub fn secured(&mut self) {
        self.tls = Tls::On;
        self.replies = ReplyStyle::Simple;
        self.chosen = None;
    }

    /// Understands the next message of `input`, appends answers to `out` (which are to be sent
    /// whatever comes of it) and returns how many bytes it used: 0 if the message is not complete.
    /// An error ends the connection.
    pub fn advance(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress)> {
        if self.client_flags.is_none() {
            let Some(flags) = input.first_chunk::<4>() else {
                return Ok((0, Progress::More));
            };
            let flags = u32::from_be_bytes(*flags);
            if flags & !u32::from(FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES) != 0 {
                return Err(protocol("the client has flags that nobody knows"));
            }
            self.client_flags = Some(flags as u16);
            return Ok((4, Progress::More));
        }
        let Some(header) = input.first_chunk::<{ OptionHeader::LEN }>() else {
            return Ok((0, Progress::More));
        };
        let header = OptionHeader::decode(header)?;
        if header.len > OPTION_LEN_MAX {
            OptionReply::encode(out, header.option, REP_ERR_TOO_BIG, b"");
            return Err(protocol("an option is longer than 64 KiB"));
        }
        let end = OptionHeader::LEN + header.len as usize;
        let Some(data) = input.get(OptionHeader::LEN..end) else {
            return Ok((0, Progress::More));
        };
        self.option_count += 1;
        if self.option_count > OPTION_COUNT_MAX {
            return Err(protocol("the client haggles without end"));
        }
        Ok((end, self.option(header.option, data, out)?))
    }

    fn option(&mut self, option: u32, data: &[u8], out: &mut Vec<u8>) -> Result<Progress> {
        let mut answer = Answer { option, out };
        if self.tls == Tls::Required {
            match option {
                OPT_STARTTLS | OPT_ABORT => {}
                OPT_EXPORT_NAME => return Err(protocol("the client does without TLS")),
                _ => {
                    answer.refuse(REP_ERR_TLS_REQD, "this server speaks under TLS only");
                    return Ok(Progress::More);
                }
            }
        }
        match option {
            OPT_STARTTLS => return Ok(self.start_tls(data, &mut answer)),
            OPT_EXPORT_NAME => return self.export_name(data, answer.out),
            OPT_ABORT => {
                answer.done();
                return Ok(Progress::End);
            }
            OPT_LIST => self.list(data, &mut answer),
            OPT_INFO | OPT_GO => return Ok(self.info_or_go(option, data, &mut answer)),
            OPT_STRUCTURED_REPLY => self.structured_reply(data, &mut answer),
            OPT_EXTENDED_HEADERS => {
                if data.is_empty() {
                    self.replies = ReplyStyle::Extended;
                    answer.done();
                } else {
                    answer.refuse(REP_ERR_INVALID, "this option has no data");
                }
            }
            OPT_LIST_META_CONTEXT | OPT_SET_META_CONTEXT => {
                self.meta_context(option, data, &mut answer);
            }
            _ => answer.refuse(REP_ERR_UNSUP, "this server does not know this option"),
        }
        Ok(Progress::More)
    }

    fn start_tls(&self, data: &[u8], answer: &mut Answer<'_>) -> Progress {
        match self.tls {
            Tls::Off => answer.refuse(REP_ERR_POLICY, "this server does not speak TLS"),
            Tls::On => answer.refuse(REP_ERR_INVALID, "TLS is in use already"),
            Tls::Offered | Tls::Required if data.is_empty() => {
                answer.done();
                return Progress::Secure;
            }
            Tls::Offered | Tls::Required => {
                answer.refuse(REP_ERR_INVALID, "this option has no data");
            }
        }
        Progress::More
    }

    /// `EXPORT_NAME` cannot be refused: what is wrong ends the connection.
    fn export_name(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<Progress> {
        let name = std::str::from_utf8(data).map_err(|_| protocol("a name is not UTF-8"))?;
        if self.replies == ReplyStyle::Extended {
            return Err(protocol("EXPORT_NAME does not go with extended headers"));
        }
        let export = self.exports.find(name).ok_or_else(|| {
            Error::new(Kind::Invalid, format!("there is no NBD export {name:.80?}"))
        })?;
        let agreed = self.agree(export, name);
        let flags = transmission_flags(&agreed);
        out.extend_from_slice(&agreed.info.size.to_be_bytes());
        out.extend_from_slice(&flags.to_be_bytes());
        if self.client_flags.unwrap_or(0) & FLAG_NO_ZEROES == 0 {
            out.extend_from_slice(&[0; OLD_PADDING]);
        }
        Ok(Progress::Transmit(Box::new(agreed)))
    }

    fn list(&self, data: &[u8], answer: &mut Answer<'_>) {
        if !data.is_empty() {
            return answer.refuse(REP_ERR_INVALID, "this option has no data");
        }
        for export in self.exports.list() {
            let listed = encode_listed(&export.name, &export.description);
            answer.with(REP_SERVER, &listed);
        }
        answer.done();
    }

    fn info_or_go(&mut self, option: u32, data: &[u8], answer: &mut Answer<'_>) -> Progress {
        let request = match InfoRequest::decode(data) {
            Ok(request) => request,
            Err(error) => {
                answer.refuse(REP_ERR_INVALID, &error.to_string());
                return Progress::More;
            }
        };
        let Some(listed) = self.find(request.name, answer) else {
            return Progress::More;
        };
        let agreed = self.agree(listed.export, request.name);
        let flags = transmission_flags(&agreed);
        let size = agreed.info.size;
        answer.with(REP_INFO, &ExportInfo::Export { size, flags }.encode());
        let sizes = request_sizes(&agreed.info);
        answer.with(REP_INFO, &ExportInfo::Sizes(sizes).encode());
        if request.wanted.contains(&INFO_NAME) {
            answer.with(REP_INFO, &ExportInfo::Name(&agreed.export.name).encode());
        }
        let description = &agreed.export.description;
        if request.wanted.contains(&INFO_DESCRIPTION) && !description.is_empty() {
            answer.with(REP_INFO, &ExportInfo::Description(description).encode());
        }
        answer.done();
        if option == OPT_GO {
            Progress::Transmit(Box::new(agreed))
        } else {
            Progress::More
        }
    }

    fn structured_reply(&mut self, data: &[u8], answer: &mut Answer<'_>) {
        if !data.is_empty() {
            answer.refuse(REP_ERR_INVALID, "this option has no data");
        } else if self.replies == ReplyStyle::Extended {
            answer.refuse(
                REP_ERR_EXT_HEADER_REQD,
                "extended headers are agreed already",
            );
        } else {
            self.replies = ReplyStyle::Structured;
            answer.done();
        }
    }

    fn meta_context(&mut self, option: u32, data: &[u8], answer: &mut Answer<'_>) {
        if option == OPT_SET_META_CONTEXT {
            self.chosen = None;
        }
        if self.replies == ReplyStyle::Simple {
            return answer.refuse(REP_ERR_INVALID, "ask for structured replies first");
        }
        let request = match MetaRequest::decode(data) {
            Ok(request) => request,
            Err(error) => return answer.refuse(REP_ERR_INVALID, &error.to_string()),
        };
        let Some(listed) = self.find(request.name, answer) else {
            return;
        };
        let queries = &request.queries;
        let mut chosen = Vec::new();
        for (name, context) in contexts::all(&listed.contexts) {
            let is_named = queries.contains(&name);
            if option == OPT_SET_META_CONTEXT {
                if is_named {
                    let id = context.id;
                    answer.with(REP_META_CONTEXT, &MetaContext { id, name }.encode());
                    chosen.push(context);
                }
                continue;
            }
            let namespace = name.find(':').map_or(name, |at| &name[..=at]);
            if is_named || queries.is_empty() || queries.contains(&namespace) {
                answer.with(REP_META_CONTEXT, &MetaContext { id: 0, name }.encode());
            }
        }
        if !chosen.is_empty() {
            self.chosen = Some((request.name.to_owned(), chosen));
        }
        answer.done();
    }

    /// The export, or a refusal that says what there is.
    fn find(&self, name: &str, answer: &mut Answer<'_>) -> Option<Listed> {
        let found = self.exports.find_listed(name);
        if found.is_none() {
            let what = if name.is_empty() {
                "this server has no default export: name one".to_owned()
            } else {
                format!("there is no export {name:.80?}")
            };
            answer.refuse(REP_ERR_UNKNOWN, &what);
        }
        found
    }

    fn agree(&self, export: Arc<Export>, name: &str) -> Agreed {
        let mut info = export.device.info();
        info.read_only |= export.access == Access::ReadOnly;
        let extended = self.replies == ReplyStyle::Extended;
        Agreed {
            export,
            info,
            requests: if extended {
                RequestStyle::Extended
            } else {
                RequestStyle::Compact
            },
            replies: self.replies,
            contexts: match &self.chosen {
                Some((export, chosen)) if export == name => chosen.clone(),
                _ => Vec::new(),
            },
        }
    }
}

/// The answers to one option.
struct Answer<'a> {
    option: u32,
    out: &'a mut Vec<u8>,
}

impl Answer<'_> {
    fn with(&mut self, kind: u32, data: &[u8]) {
        OptionReply::encode(self.out, self.option, kind, data);
    }

    fn done(&mut self) {
        self.with(REP_ACK, b"");
    }

    fn refuse(&mut self, kind: u32, message: &str) {
        self.with(kind, message.as_bytes());
    }
}

fn transmission_flags(agreed: &Agreed) -> u16 {
    let info = &agreed.info;
    let mut flags =
        FLAG_HAS_FLAGS | FLAG_SEND_FLUSH | FLAG_SEND_FUA | FLAG_CAN_MULTI_CONN | FLAG_SEND_CACHE;
    if info.read_only {
        flags |= FLAG_READ_ONLY;
    } else {
        flags |= FLAG_SEND_WRITE_ZEROES | FLAG_SEND_FAST_ZERO;
        if info.discard_granularity > 0 {
            flags |= FLAG_SEND_TRIM;
        }
    }
    if info.rotational {
        flags |= FLAG_ROTATIONAL;
    }
    if agreed.replies != ReplyStyle::Simple {
        flags |= FLAG_SEND_DF;
    }
    flags
}

/// The sizes of requests that suit a device.
fn request_sizes(info: &Info) -> Sizes {
    let floor = 4096.max(info.physical_block).max(info.logical_block);
    let stripe = info.minimum_io.min(PAYLOAD_LEN_MAX);
    let preferred = if stripe.is_power_of_two() {
        stripe.max(floor)
    } else {
        floor
    };
    Sizes {
        minimum: info.logical_block,
        preferred,
        maximum: PAYLOAD_LEN_MAX,
    }
}

fn protocol(what: &str) -> Error {
    Error::new(Kind::Invalid, format!("NBD: {what}"))
}

#[cfg(test)]
mod tests;
