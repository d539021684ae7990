//! `lvcreate --snapshot`: what is said of a snapshot beyond what is said of any new volume.

use lvm2::Sectors;
use lvm2::plan::logical::CHUNK_SIZE_DEFAULT;

use super::arguments::{ZERO, size};
use super::lvcreate::{NAME, SNAPSHOT, WIPE};
use super::volumes::{
    self, CHUNK_SIZE, NO_SYNC, Signs, TYPE, default_group, path, require_group_name, require_name,
    require_valid_name,
};
use super::zeros::require_nonzero;
use crate::args::{Arguments, Error};

/// A snapshot that is asked for.
pub(super) struct Wanted {
    /// The group of both.
    pub(super) group: String,
    /// The name of the origin.
    pub(super) origin: String,
    /// The name of the snapshot, if it was given.
    pub(super) name: Option<String>,
    /// `-c`
    pub(super) chunk_size: Sectors,
}

/// What is asked for, if it is a snapshot.
pub(super) fn wanted(arguments: &Arguments) -> Result<Option<Wanted>, Error> {
    let is_typed = arguments.value(&TYPE) == Some("snapshot");
    if !arguments.has(&SNAPSHOT) && !is_typed {
        return Ok(None);
    }
    // Their stores are always zeroed, and there are no copies to make equal.
    for flag in [&ZERO, &WIPE, &NO_SYNC] {
        if arguments.has(flag) {
            let what = format!("Option --{} is unsupported with snapshots.", flag.long);
            return Err(Error::usage(what));
        }
    }
    let (group, origin, name) = names(arguments)?;
    require_nonzero(arguments)?;
    volumes::size(arguments, Signs::New)?;
    Ok(Some(Wanted {
        group,
        origin,
        name,
        chunk_size: CHUNK_SIZE_DEFAULT,
    }))
}

/// `-c`, as far as it is a size; the plan knows which sizes there are.
pub(super) fn chunk_size(arguments: &Arguments) -> Result<Option<Sectors>, Error> {
    let Some(asked) = size(arguments, &CHUNK_SIZE, 'k')? else {
        return Ok(None);
    };
    if asked == Sectors::ZERO {
        return Err(Error::usage("--chunksize may not be zero."));
    }
    lvm2::plan::logical::require_chunk_size(asked)
        .map(|()| Some(asked))
        .map_err(|error| Error::usage(error.context))
}

/// The group, the origin's name and the snapshot's.
fn names(arguments: &Arguments) -> Result<(String, String, Option<String>), Error> {
    let Some(operand) = arguments.operands().first() else {
        return Err(Error::usage(
            "Please specify a logical volume to act as the snapshot origin.",
        ));
    };
    let (of_name, name) = match arguments.value(&NAME).map(path) {
        None => (None, None),
        Some(Err(why)) => return Err(Error::usage(why)),
        Some(Ok((group, name))) => (group, Some(name)),
    };
    let (of_origin, origin) = path(operand).map_err(Error::usage)?;
    require_valid_name("Logical volume name", &origin)?;
    if let (Some(one), Some(other)) = (&of_origin, &of_name)
        && one != other
    {
        return Err(Error::usage(format!(
            "Please use a single volume group name (\"{one}\" or \"{other}\")."
        )));
    }
    if let Some(name) = &name {
        require_name("Logical volume name", name)?;
    }
    let group = of_origin.or(of_name).or_else(default_group);
    let group =
        group.ok_or_else(|| Error::usage("The origin name should include the volume group."))?;
    require_group_name(&group)?;
    Ok((group, origin, name))
}
