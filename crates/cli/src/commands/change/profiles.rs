//! Metadata profiles: names of files of settings, kept with a group or a volume.
//!
//! What stands in such a file concerns volumes that are not made here, so that it is only checked
//! and its name kept, as stock keeps it; a command under stock then uses it.

pub(super) use crate::args::flags::METADATA_PROFILE;
use crate::args::{Arguments, Error, Flag, flags};

/// `--detachprofile`
pub(super) const DETACH_PROFILE: Flag = Flag::switch(
    "detachprofile",
    "The group or volume keeps no profile any more.",
);

/// The profile that is to be kept, if one is named; that there is such a one was seen to before the
/// command began.
pub(super) fn profile(arguments: &Arguments) -> Option<&str> {
    let said = arguments.value(&METADATA_PROFILE);
    said.or_else(|| arguments.value(&flags::PROFILE))
}

/// What becomes of the profile of what is changed.
#[derive(Debug, Clone, Copy)]
pub(super) enum ProfileChange<'a> {
    /// This one is kept from now on.
    Kept(&'a str),
    /// None is.
    Detached,
}

impl<'a> ProfileChange<'a> {
    /// The profile that is kept then.
    pub(super) fn name(self) -> Option<&'a str> {
        match self {
            Self::Kept(name) => Some(name),
            Self::Detached => None,
        }
    }
}

/// The same of a change, which may take it away.
///
/// # Errors
///
/// Both are asked for.
pub(super) fn changed_profile(arguments: &Arguments) -> Result<Option<ProfileChange<'_>>, Error> {
    let is_detached = arguments.has(&DETACH_PROFILE);
    if is_detached && (arguments.has(&METADATA_PROFILE) || arguments.has(&flags::PROFILE)) {
        return Err(Error::usage(
            "Only one of --metadataprofile and --detachprofile permitted.",
        ));
    }
    if is_detached {
        return Ok(Some(ProfileChange::Detached));
    }
    Ok(profile(arguments).map(ProfileChange::Kept))
}
