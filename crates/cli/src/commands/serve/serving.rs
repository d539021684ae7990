//! Volumes that are served, until the end.

use std::process::Child;
use std::time::Duration;

use ashlar::live::wire::Export;
use ashlar::live::{Client, Heard, Use};
use nbd::server::{Exports, Limits, Listener, Secrecy, Server};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGTERM};
use signal_hook::iterator::Signals;

use crate::args::Error;
use crate::commands::Session;
use crate::commands::run::exit_status;
use crate::live::{LocalGroup, stay};

/// How long clients have for fetching their last answers.
const GRACE: Duration = Duration::from_secs(10);
/// How often to look for news.
const INTERVAL: Duration = Duration::from_millis(50);

/// Who serves.
pub(super) enum Serving {
    /// This process; what is written goes to groups that it owns.
    Local {
        server: Server,
        uses: Vec<Use>,
        groups: Vec<LocalGroup>,
    },
    /// Another process, through our sockets.
    Remote {
        client: Client,
        /// Remove their socket files at the end.
        _listeners: Vec<Listener>,
    },
}

impl Serving {
    pub(super) fn local(
        exports: Exports,
        listeners: Vec<Listener>,
        secrecy: Option<Secrecy>,
        uses: Vec<Use>,
        groups: Vec<LocalGroup>,
    ) -> Result<Self, Error> {
        let server = Server::with_secrecy(exports, Limits::default(), secrecy)?;
        for listener in listeners {
            server.listen(listener)?;
        }
        Ok(Self::Local {
            server,
            uses,
            groups,
        })
    }

    pub(super) fn remote(
        mut client: Client,
        wanted: &Export,
        listeners: Vec<Listener>,
    ) -> Result<Self, Error> {
        let sockets: Vec<_> = listeners.iter().map(Listener::as_fd).collect();
        let served = client.export(wanted, &sockets);
        served.map_err(|error| failed(&error))?;
        Ok(Self::Remote {
            client,
            _listeners: listeners,
        })
    }

    /// Waits for a signal that asks for the end, for somebody who asks for it through the control
    /// socket, or for the end of `child`.
    pub(super) fn wait(
        &mut self,
        signals: &mut Signals,
        mut child: Option<&mut Child>,
    ) -> Result<(), Error> {
        loop {
            if let Some(child) = &mut child {
                let status = child.try_wait();
                let status = status
                    .map_err(|error| Error::failed("Cannot wait for the command").because(error))?;
                if let Some(status) = status {
                    return exit_status(status);
                }
            }
            for signal in signals.pending() {
                match &mut child {
                    None if signal != SIGCHLD => return Ok(()),
                    Some(child) if signal == SIGTERM || signal == SIGHUP => {
                        // The shell forwards nothing: its own children may live on without a
                        // server.
                        let _ = child.kill();
                    }
                    _ => {}
                }
            }
            if self.is_over()? {
                return Ok(());
            }
        }
    }

    /// Lets some time pass; whether there is nothing more to wait for.
    fn is_over(&mut self) -> Result<bool, Error> {
        match self {
            Self::Local { groups, .. } => {
                std::thread::sleep(INTERVAL);
                Ok(groups.iter().any(LocalGroup::is_stopped))
            }
            Self::Remote { client, .. } => match client.heard(INTERVAL) {
                Ok(Heard::Nothing) => Ok(false),
                Ok(Heard::Changed(_)) => client.seen().map(|()| false).map_err(|e| failed(&e)),
                Ok(Heard::Gone) => Err(Error::failed(format!(
                    "Process {}, which served the volumes, has ended",
                    client.pid()
                ))),
                Err(error) => Err(failed(&error)),
            },
        }
    }

    /// Ends it. What was written is durable then, or the error says for which volume that cannot
    /// be promised.
    pub(super) fn end(self, signals: &mut Signals, session: &mut Session) -> Result<(), Error> {
        match self {
            Self::Local {
                server,
                uses,
                groups,
            } => {
                server.stop(GRACE);
                drop(server);
                for used in uses {
                    if let Err(error) = used.close() {
                        session.fail_later(&error.to_string());
                    }
                }
                let waiting = groups.iter().filter(|group| !group.is_stopped());
                let others: usize = waiting.map(LocalGroup::user_count).sum();
                if others > 0 {
                    session.tell(&format!(
                        "{others} other commands and active volumes use the group through this \
                         process; waiting for them (interrupt again to end them)"
                    ));
                }
                // Who said stop, through the socket, meant the others too.
                let asked = || signals.pending().any(|signal| signal != SIGCHLD);
                stay(&groups, asked, || false);
                Ok(())
            }
            Self::Remote { mut client, .. } => client.end().map_err(|error| failed(&error)),
        }
    }
}

fn failed(error: &ashlar::Error) -> Error {
    Error::failed(error.to_string())
}
