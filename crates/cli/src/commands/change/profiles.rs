//! Metadata profiles: names of files of settings, kept with a group or a volume.
//!
//! What stands in such a file concerns volumes that are not made here, so that it is only checked
//! and its name kept, as stock keeps it; a command under stock then uses it.

use ashlar::host::ProfileKind;

use super::work::Work;
use crate::args::{Arguments, Error, Flag, flags};

/// `--metadataprofile`
pub(super) const METADATA_PROFILE: Flag = Flag::value(
    "metadataprofile",
    "String",
    "The profile that the group or volume keeps: NAME.profile in the folder config/profile_dir; \
     so does --profile.",
);
/// `--detachprofile`
pub(super) const DETACH_PROFILE: Flag = Flag::switch(
    "detachprofile",
    "The group or volume keeps no profile any more.",
);

/// The profile that is to be kept, if one is named.
///
/// # Errors
///
/// It is named twice, or is none.
pub(super) fn profile<'a>(
    arguments: &'a Arguments,
    work: &Work<'_>,
) -> Result<Option<&'a str>, Error> {
    let name = match (
        arguments.value(&METADATA_PROFILE),
        arguments.value(&flags::PROFILE),
    ) {
        (Some(_), Some(_)) => {
            let what = "Only one of --profile or  --metadataprofile allowed.";
            return Err(Error::failed(what));
        }
        (one, other) => one.or(other),
    };
    let Some(name) = name else {
        return Ok(None);
    };
    work.host().config.profile(ProfileKind::Metadata, name)?;
    Ok(Some(name))
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
/// As above, and both are asked for.
pub(super) fn changed_profile<'a>(
    arguments: &'a Arguments,
    work: &Work<'_>,
) -> Result<Option<ProfileChange<'a>>, Error> {
    let is_detached = arguments.has(&DETACH_PROFILE);
    if is_detached && (arguments.has(&METADATA_PROFILE) || arguments.has(&flags::PROFILE)) {
        return Err(Error::usage(
            "Only one of --metadataprofile and --detachprofile permitted.",
        ));
    }
    if is_detached {
        return Ok(Some(ProfileChange::Detached));
    }
    Ok(profile(arguments, work)?.map(ProfileChange::Kept))
}
