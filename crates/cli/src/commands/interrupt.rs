//! Signals that ask for the end while a lock is waited for.
//!
//! A command that changes something and waits says what it waited for, and fails, at once. Without
//! a wait the signal ends it as it ends any program. Who serves takes its own signals; while it
//! begins it may have to wait, too.

use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::Ordering;

use ashlar::lock::Interrupt;
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_default};
use signal_hook::low_level::unregister;

const SIGNALS: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];

/// Lets a command end while it waits.
pub(super) fn of_command() {
    static ONCE: Once = Once::new();
    let interrupt = Interrupt::of_process();
    // A shell runs several commands, of which one was interrupted.
    interrupt.asked().store(false, Ordering::SeqCst);
    ONCE.call_once(|| {
        for signal in SIGNALS {
            // Without a handler the signal ends the program at any time, which is the next best.
            let _ = register_conditional_default(signal, Arc::clone(interrupt.may_die()));
            let _ = register(signal, Arc::clone(interrupt.asked()));
        }
    });
}

/// Lets a server end while it begins, until this is dropped. It has handlers of its own.
pub(super) struct Beginning(Vec<SigId>);

impl Beginning {
    pub(super) fn of_server() -> Self {
        let asked = Interrupt::of_process().asked();
        let registered = SIGNALS.map(|signal| register(signal, Arc::clone(asked)));
        Self(registered.into_iter().flatten().collect())
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        for id in self.0.drain(..) {
            unregister(id);
        }
        Interrupt::of_process()
            .asked()
            .store(false, Ordering::SeqCst);
    }
}
