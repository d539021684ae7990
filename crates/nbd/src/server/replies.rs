//! The way back: replies that wait for the client to take them, in the form that it agreed to.

use std::os::fd::BorrowedFd;

use crate::wire::constants::{CMD_READ, EIO, STATE_HOLE, STATE_ZERO};
use crate::wire::{
    Extents, HeadBytes, Outbox, ReplyStyle, RequestHeader, StatusExtent, Wait, error_code,
};
use block::{Buffer, Error, Extent, ExtentKind, Result};

use super::handshake::CONTEXT_ID;

/// Words in an error reply, in bytes.
const MESSAGE_LEN_MAX: usize = 512;
/// Short replies after which the client may be behind.
const UNASKED_MAX: u32 = 8;
/// The longest data of a short reply, in bytes. Longer ones take the server more time than the
/// client.
const SHORT_MAX: usize = 16 << 10;

/// Replies that have not been sent yet.
pub(super) struct Replies {
    style: ReplyStyle,
    outbox: Outbox,
    /// Short replies since the socket was last asked whether it is too full.
    unasked: u32,
}

impl Replies {
    /// None yet, for a client that wants them in this form.
    pub(super) fn new(style: ReplyStyle) -> Self {
        Self {
            style,
            outbox: Outbox::default(),
            unasked: 0,
        }
    }

    /// The memory that they take, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.outbox.memory()
    }

    /// Whether all has been sent.
    pub(super) fn is_empty(&self) -> bool {
        self.outbox.is_empty()
    }

    /// Sends as much as the socket takes now.
    pub(super) fn send(&mut self, socket: BorrowedFd<'_>) -> Result<()> {
        self.outbox.send(socket, Wait::No)
    }

    /// Whether the client may be behind: asking the socket is worth a system call. Seldom says
    /// so to a client that takes each reply before it asks again.
    pub(super) fn may_be_too_many(&mut self) -> bool {
        let many = self.unasked >= UNASKED_MAX;
        if many {
            self.unasked = 0;
        }
        many
    }

    /// The request is done; `data` is what was read.
    pub(super) fn succeed(&mut self, header: &RequestHeader, data: Buffer) {
        let head = if header.command == CMD_READ {
            HeadBytes::data(self.style, header.cookie, header.offset, data.len() as u32)
        } else {
            HeadBytes::done(self.style, header.cookie, header.offset)
        };
        self.push(head, data);
    }

    /// The device could not do it.
    pub(super) fn fail(&mut self, header: &RequestHeader, error: &Error) {
        self.refuse(header, error_code(error), &error.to_string());
    }

    /// The answer is this error of the protocol; `message` says why.
    pub(super) fn refuse(&mut self, header: &RequestHeader, code: u32, message: &str) {
        let message = if self.style == ReplyStyle::Simple {
            ""
        } else {
            &message[..message.floor_char_boundary(MESSAGE_LEN_MAX)]
        };
        let len = message.len() as u16;
        let head = HeadBytes::error(self.style, header.cookie, header.offset, code, len);
        self.push(head, Buffer::copy_of(message.as_bytes()));
    }

    /// What the range of a request is made of.
    pub(super) fn describe(&mut self, header: &RequestHeader, extents: &[Extent]) {
        let mut rest = header.len;
        let mut listed = Vec::with_capacity(extents.len());
        for extent in extents {
            let len = extent.len.min(rest);
            rest -= len;
            if len > 0 {
                let status = match extent.kind {
                    ExtentKind::Data => 0,
                    ExtentKind::Hole => STATE_HOLE | STATE_ZERO,
                    ExtentKind::Zero => STATE_ZERO,
                };
                listed.push(StatusExtent { len, status });
            }
        }
        if listed.is_empty() {
            return self.refuse(header, EIO, "the device knows nothing about the range");
        }
        let payload = Extents::encode(self.style, CONTEXT_ID, &listed);
        let head = HeadBytes::block_status(self.style, header.cookie, header.offset, &payload);
        self.push(head, Buffer::copy_of(payload.as_slice()));
    }

    fn push(&mut self, head: HeadBytes, payload: Buffer) {
        if payload.len() <= SHORT_MAX {
            self.unasked = self.unasked.saturating_add(1);
        }
        self.outbox.push(head, payload);
    }
}
