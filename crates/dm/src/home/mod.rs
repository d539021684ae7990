//! A home for a machine: one thread that runs it, and queues that reach it from other threads.
//!
//! State that changes has one owner. The machine, its legs' queues and its clock live on the home
//! thread; a queue of the device, on whatever thread, forwards requests and fetches answers.
//!
//! ```text
//!   thread 1   queue ──▸┐                ┌─▸ leg queues (home's own driver)
//!                       inbox ──▸ runner ─┤
//!   thread 2   queue ──▸┘     ╱          └─▸ machine: events in, steps out
//!                 ▲          ╱
//!                 └─ outbox ◂
//! ```
//!
//! What is shared is a [`block::Mailbox`] of the home (`messages.rs`) and a [`block::Outbox`] per
//! queue, each a vector behind a lock that is held to push or to swap. A sender wakes a home that
//! sleeps, the home wakes a queue whose outbox was empty; both once per batch. Each queue forwards
//! at most [`DEPTH_MAX`] requests at a time, so the inbox is bounded by the number of queues.
//!
//! Costs: two thread switches per request at depth 1, shared by all requests of a batch. A request
//! for which nothing has to change does not take this way: where the machine's map allows it, its
//! queue gives it to the legs (`direct.rs`).

mod direct;
mod face_device;
mod home_device;
mod home_queue;
mod messages;
mod runner;

pub use face_device::FaceDevice;
pub use home_device::{Controller, Home, NoticeHandler, Prepared};
pub use home_queue::DEPTH_MAX;

#[cfg(test)]
mod tests;
