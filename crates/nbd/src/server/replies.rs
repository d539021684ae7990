//! The way back: replies that wait for the client to take them, in the form that it agreed to.

use std::os::fd::BorrowedFd;

use crate::wire::constants::{CMD_READ, EIO};
use crate::wire::{
    ChunkPlace, Extents, HeadBytes, Outbox, ReplyStyle, RequestHeader, StatusExtent, Wait,
    error_code,
};
use block::{Buffer, Error, Result};

use super::status::Told;

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

    /// What each context says about the range of a request: a chunk for each.
    pub(super) fn describe(&mut self, header: &RequestHeader, told: &[Told]) {
        let cut = |extents: &[StatusExtent]| {
            let mut rest = header.len;
            let cut = extents.iter().map_while(|extent| {
                let len = extent.len.min(rest);
                rest -= len;
                (len > 0).then_some(StatusExtent { len, ..*extent })
            });
            cut.collect::<Vec<_>>()
        };
        let listed: Vec<Told> = told.iter().map(|(id, list)| (*id, cut(list))).collect();
        if listed.iter().any(|(_, extents)| extents.is_empty()) {
            return self.refuse(header, EIO, "the device knows nothing about the range");
        }
        let last = listed.len() - 1;
        for (number, (context, extents)) in listed.iter().enumerate() {
            let payload = Extents::encode(self.style, *context, extents);
            let place = if number == last {
                ChunkPlace::Last
            } else {
                ChunkPlace::MoreFollow
            };
            let head = HeadBytes::block_status(
                (self.style, place),
                header.cookie,
                header.offset,
                &payload,
            );
            self.push(head, Buffer::copy_of(payload.as_slice()));
        }
    }

    fn push(&mut self, head: HeadBytes, payload: Buffer) {
        if payload.len() <= SHORT_MAX {
            self.unasked = self.unasked.saturating_add(1);
        }
        self.outbox.push(head, payload);
    }
}
