//! What the options of a command line set, as values: no text of theirs is read as a configuration,
//! but that of `--config`.

use ashlar::host::{Config, DevicesFileChoice, ProfileKind, Sharing, pv_timeout};
use dm::raid::Consistency;
use lvm2::model::name::{NameOf, validate};

use super::{Arguments, Error, flags};

/// Sets what every command understands: `--config`, `--devicesfile`, and the options about NBD
/// servers.
pub(crate) fn add(config: &mut Config, arguments: &Arguments) -> Result<(), Error> {
    let failed = |error: ashlar::Error| Error::failed(error.to_string());
    for text in arguments.values(&flags::CONFIG) {
        let added = config.add_text(text);
        added.map_err(|error| Error::usage(error.to_string()))?;
    }
    let is_profile = arguments.has(&flags::PROFILE);
    if keeps(arguments) {
        if is_profile && arguments.has(&flags::METADATA_PROFILE) {
            let what = "Only one of --profile or  --metadataprofile allowed.";
            return Err(Error::failed(what));
        }
        if let Some(name) = arguments.value(&flags::PROFILE) {
            let kept = config.profile(ProfileKind::Metadata, name);
            kept.map_err(failed)?;
        }
    } else if is_profile && arguments.has(&flags::COMMAND_PROFILE) {
        let what = "Only one of --profile or --commandprofile allowed.";
        return Err(Error::failed(what));
    }
    if let Some(name) = command_profile(arguments) {
        config
            .add_profile(ProfileKind::Command, &name)
            .map_err(failed)?;
    }
    if let Some(name) = arguments.value(&flags::METADATA_PROFILE)
        && keeps(arguments)
    {
        let kept = config.profile(ProfileKind::Metadata, name);
        kept.map_err(failed)?;
    }
    let devices_file = devices_file(arguments)?;
    let is_named = matches!(devices_file, Some(DevicesFileChoice::Named(_)));
    if arguments.has(&flags::DEVICES) && is_named {
        let what = "A --devices list cannot be used with --devicesfile.";
        return Err(Error::usage(what));
    }
    let overrides = &mut config.overrides;
    overrides.devices_file = devices_file;
    let timeout = arguments.value(&flags::PV_TIMEOUT).map(pv_timeout);
    overrides.pv_timeout = timeout.transpose().map_err(failed)?;
    overrides.raid_consistency = consistency(arguments)?;
    let folder = arguments.value(&flags::TLS_CERTIFICATES);
    overrides.tls_certificates = folder.map(Into::into);
    if arguments.has(&flags::ASSUME_EXCLUSIVE) {
        overrides.sharing = Some(Sharing::Exclusive);
    }
    Ok(())
}

/// Whether a profile that is named is kept with what is made or changed.
fn keeps(arguments: &Arguments) -> bool {
    const KEEP_PROFILES: [&str; 5] = ["lvchange", "lvconvert", "lvcreate", "vgchange", "vgcreate"];
    KEEP_PROFILES.contains(&arguments.command())
}

/// Whether the command reads a profile that is named itself, as one of its subjects.
fn shows(arguments: &Arguments) -> bool {
    ["lvmconfig", "config", "dumpconfig"].contains(&arguments.command())
}

/// The profile of this run of the command, if there is one.
fn command_profile(arguments: &Arguments) -> Option<String> {
    let other = arguments
        .value(&flags::PROFILE)
        .filter(|_| !keeps(arguments) && !shows(arguments));
    let said = arguments.value(&flags::COMMAND_PROFILE).or(other);
    let in_environment = || std::env::var("LVM_COMMAND_PROFILE").ok();
    let name = said.map(str::to_owned).or_else(in_environment);
    name.filter(|name| said.is_some() || !name.is_empty())
}

fn consistency(arguments: &Arguments) -> Result<Option<Consistency>, Error> {
    let Some(name) = arguments.value(&flags::CONSISTENCY) else {
        return Ok(None);
    };
    let Some(chosen) = Consistency::from_name(name) else {
        return Err(Error::usage(
            "--consistency is one of: auto, journal, none.",
        ));
    };
    Ok(Some(chosen))
}

fn devices_file(arguments: &Arguments) -> Result<Option<DevicesFileChoice>, Error> {
    let Some(name) = arguments.value(&flags::DEVICES_FILE) else {
        return Ok(None);
    };
    if name.is_empty() {
        return Ok(Some(DevicesFileChoice::Nothing));
    }
    // The rules for such names are those for the names of groups.
    if validate(name, NameOf::VolumeGroup).is_err() {
        return Err(Error::usage("Invalid devices file name."));
    }
    Ok(Some(DevicesFileChoice::Named(name.to_owned())))
}

#[cfg(test)]
mod tests;
