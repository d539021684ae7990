//! Whose a group is.

use std::sync::Arc;
use std::time::Duration;

use ashlar::apply::HostDisks;
use ashlar::host::Host;
use ashlar::live::{Client, LiveGroup, Record, Server};
use ashlar::scan::FoundVg;
use ashlar::{Kind, Result};

use super::nodes::Nodes;
use super::service::Exporter;
use crate::output::harmless;

/// How long to look for the owner of a group that somebody holds: it may just have begun.
const FIND_MAX: Duration = Duration::from_secs(2);
const FIND_RETRY: Duration = Duration::from_millis(50);
/// How often to look whether others still use the group.
const INTERVAL: Duration = Duration::from_millis(50);

/// A group that may be written.
#[derive(Debug)]
pub(crate) enum Owned {
    /// By this process.
    Local(LocalGroup),
    /// By another one.
    Remote(Client),
}

/// A group of this process, and its control socket.
#[derive(Debug)]
pub(crate) struct LocalGroup {
    // In the order in which they go: who finds no record finds the group free.
    server: Server,
    nodes: Nodes,
    pub(crate) group: LiveGroup,
    _record: Record,
}

/// Takes a group, or finds the process that has it.
pub(crate) fn own(host: &Host, disks: &HostDisks, group: &FoundVg) -> Result<Owned> {
    if let Some(client) = Client::find(group.uuid)? {
        return Ok(Owned::Remote(client));
    }
    match LiveGroup::take(host, disks, &group.uuid.to_string()) {
        Ok(group) => {
            group.warn_with(Box::new(|text| eprintln!("  {}", harmless(text))));
            let nodes = Nodes::default();
            let service = Arc::new(Exporter::new(group.clone(), nodes.clone()));
            let (server, record) = Server::start(&group, service)?;
            group.go_on();
            Ok(Owned::Local(LocalGroup {
                server,
                nodes,
                group,
                _record: record,
            }))
        }
        Err(error) if error.kind() == Kind::Locked => {
            let tries = FIND_MAX.as_millis() / FIND_RETRY.as_millis();
            for _ in 0..tries {
                if let Some(client) = Client::find(group.uuid)? {
                    return Ok(Owned::Remote(client));
                }
                std::thread::sleep(FIND_RETRY);
            }
            Err(error)
        }
        Err(error) => Err(error),
    }
}

impl LocalGroup {
    /// For how many other processes volumes are served, and how many volumes are active.
    pub(crate) fn user_count(&self) -> usize {
        self.server.exporting() + self.nodes.len()
    }

    /// Whether anybody ever came.
    pub(crate) fn was_used(&self) -> bool {
        self.server.was_used()
    }

    /// Lets nobody in any more, if nobody is there and nothing is active; whether that is so. Then
    /// the group may go.
    pub(crate) fn end_if_alone(&self) -> bool {
        self.nodes.sweep();
        self.server.end_if(|| self.nodes.is_empty())
    }

    /// Whether somebody asked this process, through the socket, to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.server.is_stopped()
    }
}

/// Stays for those who use the groups through this process, until nobody does, or somebody said
/// stop. Where a signal has `asked`, the first is refused while an active volume is in use, and the
/// second obeyed. While somebody `is_awaited`, nobody is missed.
pub(crate) fn stay(
    groups: &[LocalGroup],
    mut asked: impl FnMut() -> bool,
    mut is_awaited: impl FnMut() -> bool,
) {
    let mut refused = false;
    loop {
        let is_awaited = is_awaited();
        let stays =
            |group: &LocalGroup| !group.is_stopped() && (is_awaited || !group.end_if_alone());
        if !groups.iter().any(stays) {
            return;
        }
        if asked() {
            let mut groups = groups.iter();
            match groups.try_for_each(|group| group.nodes.check_unused()) {
                Err(error) if !refused => {
                    eprintln!("ashlar: {error} (a second signal ends it all the same)");
                    refused = true;
                }
                _ => return,
            }
        }
        std::thread::sleep(INTERVAL);
    }
}
