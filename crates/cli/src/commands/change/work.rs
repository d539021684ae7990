//! What the handler of a command may use: it looks, asks, tells and changes through this alone.
//!
//! Messages go where stock's go: results to standard output behind two spaces unless `-q` was
//! given, warnings and errors to standard error. Questions go to the console unless `-y` (yes) or
//! `-qq` (no) has answered them. A command that could do only a part says so with
//! [`Work::fail_later`] and goes on; its exit status is then 5.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use ashlar::apply::{
    Agreement, Answer, Begins, FileSystems, HostDisks, Listing, Outcome, Ownership, Planned,
    Preview, Prompt, Request, Session, TestMode, stock_locks,
};
use ashlar::host::{DeviceSource, Host, Keeping, Sysfs};
use ashlar::live::{Client, LiveGroup, Stream};
use ashlar::lock::StockLock;
use ashlar::log;
use ashlar::scan::{FoundVg, Options, Restriction, Scan};
use lvm2::model::name::wrongness;
use lvm2::plan::{Author, Change, Message};
use lvm2::{Sectors, Uuid};

use super::arguments::{AUTOBACKUP, Choice, FORCE, UUID_SEED, choice, file_systems, invalid};
use super::arrays::AtWork;
use super::finder::Finder;
use super::look::Look;
use super::prompt::{CommandPrompt, PromptOptions, Warnings};
use super::run::Caller;
use crate::args::{Arguments, Error, flags, nodes_dir, settings, source_date};
use crate::commands::dispatch::is_called_as_lvm2;
use crate::commands::warnings::Interest;
use crate::live::Nodes;

/// What runs under a command's name.
pub(crate) type Handler = fn(&Arguments, &mut Work<'_>) -> Result<(), Error>;

/// What is done with plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// They are carried out.
    Change,
    /// They are kept to be shown.
    Show,
}

/// What the handler of a command may use.
pub(crate) struct Work<'a> {
    host: Host,
    look: Look,
    caller: Caller<'a>,
    options: PromptOptions,
    purpose: Purpose,
    test: TestMode,
    file_systems: FileSystems,
    command: String,
    shown: Vec<Preview>,
    is_failed: bool,
    /// Whether `--driverloaded` lets volumes be active.
    has_driver: bool,
    /// How many changes were made.
    changes: usize,
    /// Where devices come from.
    source: DeviceSource,
    /// The devices file, where the command keeps it.
    listing: Option<Listing>,
    /// Stock's locks under which an owner has looked at the disks.
    locked: Option<Vec<StockLock>>,
    /// The process that the whole command has to run in.
    delegated: Option<Client>,
    warnings: Warnings,
}

/// What a command adds to the devices file, and whether it begins one where that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lists {
    /// What may be the host's first physical volumes.
    First,
    /// More of them.
    More,
    /// Nothing: it changes what is listed.
    Nothing,
}

impl<'a> Work<'a> {
    /// The work of a command with these arguments.
    pub(super) fn new(
        arguments: &Arguments,
        caller: Caller<'a>,
        purpose: Purpose,
    ) -> Result<Self, Error> {
        let mut host = host(arguments)?;
        // An owner's environment is not the caller's, who sends what counts.
        if caller.folder.is_none() {
            host.config.overrides.source_date = source_date()?;
        }
        let folder = caller.folder.clone().unwrap_or_default();
        let listed: Vec<String> = arguments
            .values(&flags::DEVICES)
            .map(|text| from_folder(&folder, text))
            .collect();
        let source = DeviceSource::from_environment(&listed).map_err(|error| failed(&error))?;
        let source = source.naming(arguments.named_devices(&folder));
        let test = if arguments.has(&flags::TEST) {
            TestMode::On
        } else {
            TestMode::Off
        };
        Ok(Self {
            host,
            look: Look::new(Box::new(host_disks(source.clone()))),
            source,
            listing: None,
            caller,
            options: PromptOptions {
                yes: arguments.has(&flags::YES),
                forced: arguments.has(&FORCE),
                quiet: arguments.count(&flags::QUIET),
            },
            purpose,
            test,
            file_systems: file_systems(arguments)?,
            command: arguments.line().to_owned(),
            shown: Vec::new(),
            is_failed: false,
            has_driver: choice(arguments, &flags::DRIVER_LOADED)? != Some(Choice::No),
            changes: 0,
            locked: None,
            delegated: None,
            warnings: Warnings::default(),
        })
    }

    /// Keeps the devices file while the command runs, as it `lists` devices there. To be called
    /// before the disks are looked at.
    pub(super) fn keep_devices_file(&mut self, lists: Lists) -> Result<(), Error> {
        let DeviceSource::Host(_) = &self.source else {
            return Ok(());
        };
        let file = self.host.config.devices_file();
        let is_there = file.is_some_and(|file| file.exists());
        if lists == Lists::First || (lists == Lists::More && is_there) {
            self.look = Look::new(Box::new(host_disks(self.source.clone().listing())));
        }
        if self.purpose == Purpose::Change && self.test == TestMode::Off {
            let begins = match lists {
                Lists::First => Begins::Yes,
                Lists::More | Lists::Nothing => Begins::No,
            };
            let listing = Listing::begin(&self.host, begins);
            self.listing = listing.map_err(|error| failed(&error))?;
        }
        Ok(())
    }

    /// Runs the command, and writes the devices file if the command keeps it.
    pub(super) fn perform(
        &mut self,
        handler: Handler,
        arguments: &Arguments,
        name: &'static str,
    ) -> Result<(), Error> {
        self.warn_of_disks(name, arguments);
        let done = handler(arguments, self);
        self.tell_found();
        if let Some(listing) = self.listing.take() {
            for text in listing.write(&self.host, name) {
                self.error(&text);
            }
        }
        done.and_then(|()| self.finish())
    }

    /// The machine and its configuration.
    pub(super) fn host(&self) -> &Host {
        &self.host
    }

    /// What is on the disks, by one look until something is written. Plans are made from a later
    /// look, under locks; by an owner, which has its locks and its turn all the while, from this
    /// one.
    pub(super) fn scan(&self) -> Result<Rc<Scan>, Error> {
        self.look.scan(&self.host).map_err(|error| failed(&error))
    }

    /// From now on what is wrong with disks is told, as far as this command wants to know it.
    pub(super) fn warn_of_disks(&mut self, name: &'static str, arguments: &Arguments) {
        let interest = Interest::of(name, arguments, &self.host.config);
        if self.options.quiet == 0 || interest.is_loud() {
            self.warnings.interest = Some(interest);
        }
    }

    /// Of what is wrong with disks nothing is told that stands in the metadata of groups: the
    /// command ends before it has looked into one.
    pub(super) fn look_into_no_group(&mut self) {
        if let Some(interest) = &mut self.warnings.interest {
            interest.leave_groups();
        }
    }

    /// Tells what was found wrong in the last look.
    pub(super) fn tell_found(&mut self) {
        let untold = self.look.untold().filter(|_| self.delegated.is_none());
        if let Some(scan) = untold {
            let mut prompt = CommandPrompt {
                console: &mut *self.caller.console,
                options: self.options,
                warnings: &mut self.warnings,
            };
            prompt.found(&scan);
        }
    }

    /// What was found wrong in the last look is not told.
    pub(super) fn leave_untold(&self) {
        self.look.untold();
    }

    /// What is wrong in any group is told, whatever the command names: it goes through all.
    pub(super) fn warn_of_all_groups(&mut self) {
        let interest = self.warnings.interest.as_mut();
        interest.into_iter().for_each(Interest::in_all_groups);
    }

    /// Forgets what was on the disks: time has passed, or somebody else has written.
    pub(super) fn look_again(&self) {
        self.look.forget();
    }

    /// The same, for a request that is made of it and gives a group its name: an owner takes its
    /// locks before it looks, so that nobody takes the name meanwhile.
    pub(super) fn scan_for(&mut self, request: &Request) -> Result<Rc<Scan>, Error> {
        if self.caller.hooks.is_some() {
            let locks = stock_locks(&self.host, request, self.listing.is_some());
            let locks = locks.map_err(|error| named_in(request, &error, None))?;
            self.locked = Some(locks);
            self.look.forget();
        }
        self.scan()
    }

    fn agreement(&self) -> Agreement {
        if self.options.forced || self.options.yes {
            Agreement::Given
        } else {
            Agreement::Asked
        }
    }

    /// A request of this command.
    pub(super) fn request(&self) -> Request {
        Request {
            command: self.command.clone(),
            ownership: self.ownership(),
            agreement: self.agreement(),
            file_systems: self.file_systems,
            test: self.test,
            ..Request::default()
        }
    }

    /// A request of this command to change these groups.
    pub(super) fn request_of<S: AsRef<str>>(&self, groups: &[S]) -> Request {
        Request {
            groups: groups
                .iter()
                .map(|group| group.as_ref().to_owned())
                .collect(),
            ..self.request()
        }
    }

    /// Makes a change, or keeps its plan where it is only to be shown. `None` if it was not made.
    pub(super) fn change(
        &mut self,
        request: &Request,
        mut plan: impl FnMut(&Scan, &mut Author<'_>) -> ashlar::Result<Planned>,
    ) -> Result<Option<Outcome>, Error> {
        if self.purpose == Purpose::Change {
            self.require_here(request)?;
        }
        self.tell_found();
        let mut prompt = CommandPrompt {
            console: &mut *self.caller.console,
            options: self.options,
            warnings: &mut self.warnings,
        };
        let mut session = Session::new(&self.host, self.look.disks(), &mut prompt);
        session.listing = self.listing.as_mut();
        session.looked = match self.purpose {
            Purpose::Change => self.look.forget().filter(|_| self.caller.hooks.is_some()),
            Purpose::Show => self.look.kept(),
        };
        session.locked = self.locked.take();
        if let Some(hooks) = &mut self.caller.hooks {
            session.hooks = Some(&mut **hooks);
        }
        match self.purpose {
            Purpose::Change => {
                let made = session.change(request, &mut plan);
                let refused = session.refused.take();
                let made = made.map_err(|error| named_in(request, &error, refused))?;
                self.changes += 1;
                Ok(Some(made))
            }
            Purpose::Show => {
                let shown = session.preview(request, &mut plan);
                let refused = session.refused.take();
                let shown = shown.map_err(|error| named_in(request, &error, refused))?;
                self.shown.push(shown);
                Ok(None)
            }
        }
    }

    /// Says what a change would do, whatever is done with plans.
    pub(super) fn foresee(
        &mut self,
        request: &Request,
        mut plan: impl FnMut(&Scan, &mut Author<'_>) -> ashlar::Result<Planned>,
    ) -> Result<Preview, Error> {
        self.tell_found();
        let mut prompt = CommandPrompt {
            console: &mut *self.caller.console,
            options: self.options,
            warnings: &mut self.warnings,
        };
        let mut session = Session::new(&self.host, self.look.disks(), &mut prompt);
        session.looked = self.look.kept();
        let shown = session.preview(request, &mut plan);
        let refused = session.refused.take();
        shown.map_err(|error| named_in(request, &error, refused))
    }

    /// Keeps a plan to be shown.
    pub(super) fn show(&mut self, preview: Preview) {
        self.shown.push(preview);
    }

    /// The process that the whole command has to run in, if it is not this one; nothing was
    /// changed yet.
    pub(super) fn delegated(&mut self) -> Option<Client> {
        self.delegated.take()
    }

    /// Fails where another process owns a group of the request; see [`Work::delegated`].
    fn require_here(&mut self, request: &Request) -> Result<(), Error> {
        if self.delegated.is_some() {
            return Err(Error::reported());
        }
        if matches!(self.caller.ownership, Ownership::Ours(_)) || !ashlar::live::any_owner() {
            return Ok(());
        }
        let scan = self.scan()?;
        for name in &request.groups {
            let Ok(group) = scan.find_group(name) else {
                continue;
            };
            let found = Client::find(group.uuid).map_err(|error| failed(&error))?;
            let Some(client) = found else {
                continue;
            };
            if group.restrictions.contains(&Restriction::DuplicateVgid) {
                return Err(Error::failed(format!(
                    "Volume group {} is not changed: another group has the same VGID, and process \
                     {} serves one of them; stop that, then vgchange --uuid gives the clone a VGID \
                     of its own.",
                    group.name,
                    client.pid()
                )));
            }
            if self.changes > 0 {
                return Err(Error::failed(format!(
                    "Volume group {} is served by process {}; run the command again for what is \
                     left to do.",
                    group.name,
                    client.pid()
                )));
            }
            log::verbose(|| {
                let (name, pid) = (&group.name, client.pid());
                format!("VG {name} is served by process {pid}, which runs this command.")
            });
            self.delegated = Some(client);
            // Its locks are the other process's to take.
            self.listing = None;
            return Err(Error::reported());
        }
        Ok(())
    }

    /// Whether this process owns the group.
    pub(super) fn is_owner_of(&self, group: Uuid) -> bool {
        self.caller.ownership.is_of(group)
    }

    /// Who serves volumes.
    pub(super) fn ownership(&self) -> Ownership {
        self.caller.ownership.clone()
    }

    /// The group, if this process owns it, and which volumes of it are active.
    pub(super) fn active(&self, group: Uuid) -> Option<(&'a LiveGroup, &'a Nodes)> {
        self.caller.active.filter(|(live, _)| live.uuid() == group)
    }

    /// Whether this process owns a group, for others.
    pub(super) fn is_owner(&self) -> bool {
        self.caller.active.is_some()
    }

    /// Whether volumes may become active, or are no more: where LVM2 may not talk to device-mapper,
    /// nothing happens.
    pub(super) fn may_activate(&self) -> bool {
        self.has_driver && self.host.config.flag("global/activation", true)
    }

    /// The folder in which active volumes have their names.
    pub(super) fn nodes_dir(&self) -> Result<PathBuf, Error> {
        nodes_dir::nodes_dir(&self.host.config)
    }

    /// Runs words in the process that owns a group; where that fails, this command does at its end.
    /// Whether the process was still there.
    pub(super) fn run_elsewhere(
        &mut self,
        client: Client,
        words: &[String],
    ) -> Result<bool, Error> {
        self.look.forget();
        let status = crate::live::run(client, words, &mut *self.caller.console)?;
        self.is_failed |= status.is_some_and(|status| status != 0);
        Ok(status.is_some())
    }

    /// The volumes that this process serves.
    pub(super) fn served(&self) -> Vec<Uuid> {
        let hooks = self.caller.hooks.as_ref();
        hooks.map_or_else(Vec::new, |hooks| hooks.in_use())
    }

    /// How much of the store of a snapshot is in use that is at work in this process.
    pub(super) fn store_used(&self, store: Uuid) -> Option<Sectors> {
        let used = self.caller.hooks.as_ref()?.store_used(store)?;
        Some(Sectors(used.0.div_ceil(lvm2::SECTOR_SIZE)))
    }

    /// The arrays that are at work in this process, if it serves any; others write nothing.
    pub(super) fn arrays(&self) -> Result<AtWork, Error> {
        let Some(hooks) = self.caller.hooks.as_ref() else {
            return Ok(AtWork::default());
        };
        let arrays = hooks.arrays().map_err(|error| failed(&error))?;
        Ok(AtWork(arrays))
    }

    /// A finder of devices that can go into a plan.
    pub(super) fn finder(&self) -> Finder {
        Finder::new(
            self.caller.folder.clone(),
            matches!(self.source, DeviceSource::Listed(_)),
        )
    }

    /// A path as the caller means it.
    pub(super) fn path(&self, text: &str) -> PathBuf {
        match &self.caller.folder {
            Some(folder) => folder.join(text),
            None => text.into(),
        }
    }

    /// Tells a result.
    pub(super) fn note(&mut self, text: &str) {
        // What is said there counts.
        if self.delegated.is_some() {
            return;
        }
        self.prompt().tell(&Message::note(text));
    }

    /// Asks a question; whether the answer is yes.
    pub(super) fn agrees(&mut self, question: &str) -> bool {
        self.prompt().ask(question) == Answer::Yes
    }

    /// Takes a group, to use its volumes in this process.
    pub(super) fn take(&self, group: Uuid) -> Result<LiveGroup, Error> {
        self.look.forget();
        let disks = host_disks(self.source.clone());
        let live = LiveGroup::take(&self.host, &disks, &group.to_string());
        live.map_err(|error| failed(&error))
    }

    /// Tells a warning; without `WARNING: `.
    pub(super) fn warn(&mut self, text: &str) {
        self.prompt().tell(&Message::warning(text));
    }

    /// Tells an error.
    pub(super) fn error(&mut self, text: &str) {
        // What is said there counts.
        if self.delegated.is_some() {
            return;
        }
        self.prompt().error(text);
    }

    /// Tells an error; the command goes on, and fails at its end.
    pub(super) fn fail_later(&mut self, text: &str) {
        self.error(text);
        self.is_failed = true;
    }

    /// Whether the command will fail at its end.
    pub(super) fn is_failed(&self) -> bool {
        self.is_failed
    }

    /// Shows text as it is.
    pub(super) fn print(&mut self, text: &str) -> Result<(), Error> {
        Ok(self.caller.console.write(Stream::Out, text)?)
    }

    /// Whether plans are only shown.
    pub(super) fn is_shown(&self) -> bool {
        self.purpose == Purpose::Show
    }

    /// Whether nothing is written (`-t`).
    pub(super) fn is_test(&self) -> bool {
        self.test == TestMode::On
    }

    /// The plan that was kept last.
    pub(super) fn last_shown(&self) -> Option<&Preview> {
        self.shown.last()
    }

    /// Adds to the plan that was kept last what would be told and asked; tells it where there is
    /// none.
    pub(super) fn foretell(&mut self, texts: &[String], question: Option<&str>) {
        let Some(preview) = self.shown.last_mut() else {
            for text in texts {
                self.note(text);
            }
            return;
        };
        let notes = texts.iter().map(Message::note);
        preview.planned.change.messages.splice(0..0, notes);
        preview.questions.extend(question.map(str::to_owned));
    }

    /// The plans that were kept.
    pub(super) fn take_shown(&mut self) -> Vec<Preview> {
        std::mem::take(&mut self.shown)
    }

    /// The end of the command.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        if self.is_failed {
            Err(Error::reported())
        } else {
            Ok(())
        }
    }

    fn prompt(&mut self) -> CommandPrompt<'_> {
        self.tell_found();
        CommandPrompt {
            console: &mut *self.caller.console,
            options: self.options,
            warnings: &mut self.warnings,
        }
    }
}

/// The devices of a source, as commands look at them.
fn host_disks(source: DeviceSource) -> HostDisks {
    let options = Options::default();
    HostDisks { source, options }
}

/// The machine, with the settings that the arguments add.
fn host(arguments: &Arguments) -> Result<Host, Error> {
    let mut host = Host::from_environment().map_err(|error| failed(&error))?;
    settings::add(&mut host.config, arguments)?;
    let seed = arguments.value(&UUID_SEED);
    if let Some(seed) = seed.filter(|seed| seed.is_empty()) {
        return Err(invalid(&UUID_SEED, seed));
    }
    host.config.overrides.uuid_seed = seed.map(str::to_owned);
    host.config.overrides.keeping = choice(arguments, &AUTOBACKUP)?.map(|choice| match choice {
        Choice::Yes => Keeping::On,
        Choice::No => Keeping::Off,
    });
    Ok(host)
}

fn from_folder(folder: &Path, text: &str) -> String {
    if folder.as_os_str().is_empty() || Path::new(text).is_absolute() || text.contains("://") {
        return text.to_owned();
    }
    folder.join(text).to_string_lossy().into_owned()
}

/// Fails where the kernel has volumes of a group active: it would not notice what changes.
pub(super) fn inactive(sysfs: &Sysfs, group: &FoundVg) -> ashlar::Result<()> {
    let active = sysfs.kernel_lvs();
    let Some(one) = active.iter().find(|active| active.group == group.uuid) else {
        return Ok(());
    };
    let what = format!(
        "Volume group \"{}\" has active logical volumes: the kernel has one as {}",
        group.name, one.kernel_name
    );
    Err(ashlar::Error::new(ashlar::Kind::Refused, what))
}

/// A plan's answer as the library's.
pub(super) fn planned(change: lvm2::Result<Change>) -> ashlar::Result<Planned> {
    Ok(Planned::from(change?))
}

/// Commands that look for all of their groups before they begin with one.
const OF_SEVERAL: &[&str] = &["vgmerge", "vgsplit", "vgcfgrestore"];

/// A failure of a request; where its group is not there or may not be changed, with stock's second
/// sentence.
fn named_in(request: &Request, error: &ashlar::Error, refused: Option<String>) -> Error {
    let text = error.to_string();
    let mut groups = request.groups.iter();
    match groups.find(|name| text.starts_with(&format!("Volume group \"{name}\" not"))) {
        Some(name) => missing(name, error),
        None => match refused {
            Some(name) if !is_of_several(&request.command) => {
                Error::failed(format!("{text}\n{}", not_processed(&name)))
            }
            _ => failed(error),
        },
    }
}

fn is_of_several(line: &str) -> bool {
    let command = line.split(' ').next();
    command.is_some_and(|command| OF_SEVERAL.contains(&command))
}

/// Stock's second sentence about a group that is not changed.
pub(super) fn not_processed(name: &str) -> String {
    format!("Cannot process volume group {name}")
}

/// Why a group is not found; where it is not there, with stock's second sentence.
pub(super) fn missing(name: &str, error: &ashlar::Error) -> Error {
    if error.kind() != ashlar::Kind::NotFound {
        return failed(error);
    }
    let second = not_processed(name);
    if wrongness(name).is_some() {
        return Error::failed(format!(
            "Volume group name \"{name}\" has invalid characters.\n{second}"
        ));
    }
    let hint = if is_called_as_lvm2() {
        ""
    } else {
        "\nSee vgs, and name its devices with --devices if it is in images."
    };
    Error::failed(format!("Volume group \"{name}\" not found\n{second}{hint}"))
}

/// What the library could not do, as a failure of the command.
pub(super) fn failed(error: &ashlar::Error) -> Error {
    Error::failed(error.to_string())
}
