//! What a change is asked for, and what came of it.

use lvm2::Uuid;
use lvm2::model::VolumeGroup;
use lvm2::plan::initialise::Initialised;
use lvm2::plan::{Change, Message};

use super::cut::Cut;
use crate::lock::{ImageUse, OwnedGroup};
use crate::scan::DeviceIndex;

/// Which restrictions of a group do not matter to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tolerated {
    /// Physical volumes are missing: the command deals with that.
    Missing,
    /// Physical volumes are missing: the command goes on, and the text calls them missing from then
    /// on, since what they hold is older than what is there.
    Absent,
    /// The group is exported.
    Exported,
    /// The group is read-only by its flags.
    ReadOnly,
    /// Some of its segments are of types that are not known: they stay as they are.
    UnknownSegments,
    /// Its areas disagree: the command was told which is right.
    Disagreement,
    /// Its text contradicts itself: the command replaces it.
    Unsound,
}

/// Who serves volumes of the groups.
#[derive(Debug, Clone, Default)]
pub enum Ownership {
    /// Nobody, as far as is known: a server that is found is an error.
    #[default]
    Nobody,
    /// This process serves volumes of this group; of others nobody does.
    Ours(OwnedGroup),
}

impl Ownership {
    /// Whether this process serves volumes of the group with this UUID.
    pub fn is_of(&self, group: Uuid) -> bool {
        match self {
            Self::Nobody => false,
            Self::Ours(owned) => owned.uuid() == group,
        }
    }
}

/// Whether people have agreed to what they would be asked of volumes in use that become smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Agreement {
    /// They are asked.
    #[default]
    Asked,
    /// They are only warned (`-y`, `-f`).
    Given,
}

/// What becomes of file systems in volumes that become smaller (`--fs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FileSystems {
    /// One that would be cut keeps its volume from becoming smaller.
    #[default]
    Kept,
    /// Nobody looks.
    Ignored,
    /// They were made smaller first, so that nothing is asked; one that would be cut all the same
    /// keeps its volume from becoming smaller.
    Resized,
    /// They will be made smaller first: the change is only planned.
    Foreseen,
}

/// Whether anything is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TestMode {
    /// Yes.
    #[default]
    Off,
    /// No (`-t`): everything up to the first write is done.
    On,
}

/// What a change needs to know before the disks are looked at.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The names or UUIDs of the groups that it changes.
    pub groups: Vec<String>,
    /// The name of a group that it makes, to be locked too.
    pub new_group: Option<String>,
    /// Whether physical volumes come or go: then all free ones are locked too.
    pub changes_pvs: bool,
    /// What of the groups does not matter.
    pub tolerated: Vec<Tolerated>,
    /// Who serves volumes of them.
    pub ownership: Ownership,
    /// Physical volumes that are there and cannot be trusted to answer: nothing is read from their
    /// areas again, or written there.
    pub spared: Vec<Uuid>,
    /// Whether volumes in use become smaller without a question.
    pub agreement: Agreement,
    /// Whether file systems may be cut.
    pub file_systems: FileSystems,
    /// What the disks are used for as far as qemu and other readers are concerned.
    pub images: ImageUse,
    /// `-t`.
    pub test: TestMode,
    /// The command line, for the texts.
    pub command: String,
}

/// A device that becomes a physical volume before the groups are committed.
#[derive(Debug, Clone)]
pub struct NewLabel {
    /// The device.
    pub device: DeviceIndex,
    /// What is written.
    pub layout: Initialised,
    /// Whether signatures of others are looked for there, and taken away.
    pub others: Signatures,
}

/// What becomes of signatures of others on a device that gets a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signatures {
    /// They are asked about and wiped: the device becomes a physical volume.
    Wiped,
    /// They stay: it is one, and what looks like a signature may be a volume's.
    Kept,
}

/// Something to be asked before anything is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The question, with its `[y/n]: `.
    pub text: String,
    /// What is said when the answer is no.
    pub refusal: String,
}

/// What a plan wants done.
#[derive(Debug, Clone, Default)]
pub struct Planned {
    /// What is asked first; each question once, also where the plan has to be made again.
    pub questions: Vec<Question>,
    /// What is said before each of these, in their order.
    pub announced: Vec<Vec<Message>>,
    /// Devices that become physical volumes.
    pub new: Vec<NewLabel>,
    /// Devices that are no physical volumes afterwards.
    pub removed: Vec<DeviceIndex>,
    /// Devices that the devices file lists afterwards, with the physical volumes that they are.
    pub listed: Vec<(DeviceIndex, Uuid)>,
    /// The change of groups.
    pub change: Change,
    /// Images that are cut off behind their physical volumes, after all of it.
    pub cuts: Vec<Cut>,
}

impl Planned {
    /// Whether anything on the disks becomes another.
    pub(super) fn writes(&self) -> bool {
        let change = &self.change;
        let of_text = change.groups.is_empty() && change.areas.is_empty();
        let of_disks = change.before.is_empty() && change.headers.is_empty();
        let of_labels = self.new.is_empty() && self.removed.is_empty() && self.cuts.is_empty();
        !(of_text && of_disks && of_labels)
    }
}

impl From<Change> for Planned {
    fn from(change: Change) -> Self {
        Self {
            change,
            ..Self::default()
        }
    }
}

/// What was done.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// What was planned.
    pub planned: Planned,
    /// The groups as they are now; those that were removed are not among them.
    pub groups: Vec<VolumeGroup>,
}
