//! A volume behind an NBD server.

use std::sync::Arc;
use std::time::Duration;

use block::Access;
use nbd::server::{Export, Exports, Listener, Server};

use super::Volume;
use crate::{Error, Kind, Result};

/// A volume that clients use over NBD, until this is stopped or dropped.
///
/// Clients find it by the volume's name. What they wrote and flushed is durable, as for whoever
/// uses the volume itself; what they only wrote is, when [`Serving::stop`] returns without an
/// error.
#[derive(Debug)]
pub struct Serving {
    // Dropped first: its clients use the volume.
    server: Server,
    volume: Volume,
    uri: String,
}

impl Volume {
    /// Serves the volume to the NBD clients that come in by `listener`: for reading, and for
    /// writing where it was opened so. The usual limits hold, and any number of clients share it.
    ///
    /// Programs that serve several volumes, or speak TLS, give [`Volume::device`] to a
    /// [`Server`] of their own.
    pub fn serve(self, listener: Listener) -> Result<Serving> {
        let info = self.device().info();
        let failed = |error| {
            let what = format!("{} cannot be served", info.name);
            Error::new(Kind::Device, what).because(error)
        };
        let name = info.name.rsplit('/').next().unwrap_or_default();
        let access = if info.read_only {
            Access::ReadOnly
        } else {
            Access::ReadWrite
        };
        let exports = Exports::new();
        let added = exports.add(Export {
            name: name.to_owned(),
            description: info.name.clone(),
            access,
            device: Arc::clone(self.device()),
        });
        added.map_err(failed)?;
        let uri = listener.uri(name);
        let server = Server::new(exports).map_err(failed)?;
        server.listen(listener).map_err(failed)?;
        Ok(Serving {
            server,
            volume: self,
            uri,
        })
    }
}

impl Serving {
    /// Where clients find it, as an NBD URI; empty for a socket that another process opened.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// How many clients are connected.
    pub fn client_count(&self) -> usize {
        self.server.connection_count()
    }

    /// Ends: clients get answers to what they have asked, for as long as `grace`. What was written
    /// is durable when this returns without an error.
    pub fn stop(self, grace: Duration) -> Result<()> {
        self.server.stop(grace);
        drop(self.server);
        self.volume.close()
    }
}
