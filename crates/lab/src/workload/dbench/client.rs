//! One client: what it knows of its directory, and the calls that its requests are.

use std::collections::BTreeMap;

use super::load::{Load, Operation, PathNumber, Request};
use crate::workload::InputError;
use crate::workload::program::{Call, Directory, File};

/// Numbers of files and directories that nobody has.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    file: u32,
    directory: u32,
}

/// Something that is open.
#[derive(Debug, Clone, Copy)]
enum Open {
    Directory,
    File {
        file: File,
        path: PathNumber,
    },
    /// A file that was removed or replaced meanwhile.
    Gone,
}

/// What a client knows of its directory.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) name: String,
    pub(super) home: Directory,
    /// Directories below it by their paths, itself without one.
    directories: BTreeMap<String, Directory>,
    /// Sizes of files by their paths.
    files: BTreeMap<String, u64>,
    open: BTreeMap<u32, Open>,
}

/// Where a path is: its directory and its name there.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

impl Client {
    pub(super) fn new(number: u32, numbers: &mut Numbers) -> Self {
        numbers.directory += 1;
        let home = Directory(numbers.directory);
        Self {
            name: format!("client{}", number + 1),
            home,
            directories: BTreeMap::from([(String::new(), home)]),
            files: BTreeMap::new(),
            open: BTreeMap::new(),
        }
    }

    /// The calls of a request.
    pub(super) fn request(
        &mut self,
        load: &Load,
        request: &Request,
        numbers: &mut Numbers,
    ) -> Result<Vec<Call>, InputError> {
        use Operation as O;
        let mut calls = Vec::new();
        let out = &mut calls;
        match request.operation {
            O::OpenOrCreate { .. }
            | O::Overwrite { .. }
            | O::Open { .. }
            | O::OpenDirectory { .. } => self.open(load, request, numbers, out)?,
            O::Close { handle } => {
                if let Some(Open::File { file, .. }) = self.open.remove(&handle) {
                    out.push(Call::Close { file });
                }
            }
            O::Read { handle, at, bytes } => {
                if let Some(&Open::File { file, .. }) = self.open.get(&handle) {
                    out.push(Call::Read { file, at, bytes });
                }
            }
            O::Write { handle, at, bytes } => self.write(load, handle, at, bytes, out),
            O::Flush { handle } => {
                if let Some(&Open::File { file, .. }) = self.open.get(&handle) {
                    out.push(Call::Fsync { file });
                }
            }
            O::Unlink { path } => self.unlink(load, path, out),
            O::Rename { from, to } => self.rename(load, request, [from, to], numbers, out)?,
            O::Mkdir { path } => self.make_directory(load.path(path), numbers, out),
            O::Rmdir { path } => {
                let text = load.path(path);
                if self.is_empty(text) {
                    self.remove_directory(text, out);
                } else {
                    self.look(text, out);
                }
            }
            O::Deltree { path } => self.remove_tree(load, load.path(path), out),
            O::QueryPath { path } | O::Miss { path } => self.look(load.path(path), out),
            O::Find { path } => {
                let (parent, _) = split(load.path(path));
                match self.directories.get(parent) {
                    Some(&directory) => out.push(Call::List { directory }),
                    None => self.look(parent, out),
                }
            }
            O::Query => self.look("", out),
        }
        Ok(calls)
    }

    /// Requests that open something.
    fn open(
        &mut self,
        load: &Load,
        request: &Request,
        numbers: &mut Numbers,
        out: &mut Vec<Call>,
    ) -> Result<(), InputError> {
        use Operation as O;
        match request.operation {
            O::OpenDirectory { path, handle } => {
                self.make_directory(load.path(path), numbers, out);
                self.look(load.path(path), out);
                self.open.insert(handle, Open::Directory);
            }
            O::Overwrite { path, handle } => {
                let text = load.path(path);
                // What is open elsewhere keeps its bytes.
                if self.files.contains_key(text) && !self.is_open(path) {
                    self.delete(text, out);
                }
                self.open_file(load, path, handle, numbers, out);
            }
            O::Open { path, handle } => {
                let text = load.path(path);
                if !self.files.contains_key(text) && !self.directories.contains_key(text) {
                    let what = format!("'{text}' is not there to be opened");
                    return Err(InputError::new(request.line as usize, "path", what));
                }
                self.open_file(load, path, handle, numbers, out);
            }
            O::OpenOrCreate { path, handle } => {
                self.open_file(load, path, handle, numbers, out);
            }
            _ => {}
        }
        Ok(())
    }

    fn is_open(&self, path: PathNumber) -> bool {
        let mut open = self.open.values();
        open.any(|open| matches!(open, Open::File { path: other, .. } if *other == path))
    }

    /// Asks about a path, whether it is there or not.
    fn look(&self, path: &str, out: &mut Vec<Call>) {
        if path.is_empty() {
            let (parent, name) = (Directory::ROOT, self.name.clone());
            out.push(Call::Stat { parent, name });
            return;
        }
        let (parent, name) = split(path);
        // Below a directory that is not there is nothing: its own absence is seen.
        let Some(&parent) = self.directories.get(parent) else {
            return self.look(parent, out);
        };
        let name = name.to_owned();
        out.push(
            if self.files.contains_key(path) || self.directories.contains_key(path) {
                Call::Stat { parent, name }
            } else {
                Call::Miss { parent, name }
            },
        );
    }

    /// Makes a directory, and those above it, where they are not there.
    fn make_directory(&mut self, path: &str, numbers: &mut Numbers, out: &mut Vec<Call>) {
        if self.directories.contains_key(path) {
            return;
        }
        if self.files.contains_key(path) {
            return self.look(path, out);
        }
        let (parent, name) = split(path);
        self.make_directory(parent, numbers, out);
        // A file is in the way of the path.
        let Some(&parent) = self.directories.get(parent) else {
            return;
        };
        numbers.directory += 1;
        let directory = Directory(numbers.directory);
        let name = name.to_owned();
        out.push(Call::Mkdir {
            parent,
            name,
            directory,
        });
        self.directories.insert(path.to_owned(), directory);
    }

    /// Opens a file or a directory; makes a file that is not there.
    fn open_file(
        &mut self,
        load: &Load,
        path: PathNumber,
        handle: u32,
        numbers: &mut Numbers,
        out: &mut Vec<Call>,
    ) {
        let text = load.path(path);
        if self.directories.contains_key(text) {
            self.look(text, out);
            self.open.insert(handle, Open::Directory);
            return;
        }
        let (parent, name) = split(text);
        self.make_directory(parent, numbers, out);
        let Some(&parent) = self.directories.get(parent) else {
            self.open.insert(handle, Open::Gone);
            return;
        };
        numbers.file += 1;
        let (file, name) = (File(numbers.file), name.to_owned());
        out.push(if self.files.contains_key(text) {
            Call::Open { parent, name, file }
        } else {
            self.files.insert(text.to_owned(), 0);
            Call::Create { parent, name, file }
        });
        self.open.insert(handle, Open::File { file, path });
    }

    fn write(&mut self, load: &Load, handle: u32, at: u64, bytes: u64, out: &mut Vec<Call>) {
        let Some(&Open::File { file, path }) = self.open.get(&handle) else {
            return;
        };
        let size = self.files.get_mut(load.path(path));
        let size = size.expect("an open file is there");
        if at > *size && bytes == 1 {
            // A client makes room so; dbench makes the file longer and writes nothing.
            return self.look("", out);
        }
        if at > *size {
            let (gap, end) = (at - *size, *size);
            let (at, bytes) = (end, gap);
            out.push(Call::Write { file, at, bytes });
        }
        out.push(Call::Write { file, at, bytes });
        *size = (*size).max(at + bytes);
    }

    /// Closes what is open of a file, and removes it.
    fn delete(&mut self, path: &str, out: &mut Vec<Call>) {
        let (parent, name) = split(path);
        let (parent, name) = (self.directories[parent], name.to_owned());
        out.push(Call::Delete { parent, name });
        self.files.remove(path);
    }

    /// Closes all handles of a file.
    fn close_all(&mut self, path: PathNumber, out: &mut Vec<Call>) {
        for open in self.open.values_mut() {
            if let Open::File { file, path: other } = *open
                && other == path
            {
                out.push(Call::Close { file });
                *open = Open::Gone;
            }
        }
    }

    fn close_named(&mut self, load: &Load, path: &str, out: &mut Vec<Call>) {
        let number = |open: &Open| match open {
            Open::File { path: other, .. } if load.path(*other) == path => Some(*other),
            _ => None,
        };
        if let Some(number) = self.open.values().find_map(number) {
            self.close_all(number, out);
        }
    }

    fn unlink(&mut self, load: &Load, path: PathNumber, out: &mut Vec<Call>) {
        let text = load.path(path);
        let (parent, pattern) = split(text);
        if !pattern.contains(['*', '?']) {
            if self.files.contains_key(text) {
                self.close_all(path, out);
                self.delete(text, out);
            } else {
                self.look(text, out);
            }
            return;
        }
        if let Some(&directory) = self.directories.get(parent) {
            out.push(Call::List { directory });
        }
        let fits = |file: &&String| {
            let (directory, name) = split(file);
            directory == parent && is_like(pattern.as_bytes(), name.as_bytes())
        };
        let found: Vec<String> = self.files.keys().filter(fits).cloned().collect();
        for file in found {
            self.close_named(load, &file, out);
            self.delete(&file, out);
        }
    }

    fn rename(
        &mut self,
        load: &Load,
        request: &Request,
        [from, to]: [PathNumber; 2],
        numbers: &mut Numbers,
        out: &mut Vec<Call>,
    ) -> Result<(), InputError> {
        let (old, new) = (load.path(from), load.path(to));
        if self.directories.contains_key(old) || self.directories.contains_key(new) {
            let what = format!("'{old}' or '{new}' is a directory, and those keep their names");
            return Err(InputError::new(request.line as usize, "path", what));
        }
        if !self.files.contains_key(old) || old == new {
            self.look(old, out);
            return Ok(());
        }
        self.make_directory(split(new).0, numbers, out);
        self.close_all(from, out);
        self.close_all(to, out);
        let ((parent, name), (new_parent, new_name)) = (split(old), split(new));
        let Some(&new_parent) = self.directories.get(new_parent) else {
            return Ok(());
        };
        out.push(Call::Rename {
            parent: self.directories[parent],
            name: name.to_owned(),
            new_parent,
            new_name: new_name.to_owned(),
        });
        let size = self.files.remove(old).unwrap_or(0);
        self.files.insert(new.to_owned(), size);
        Ok(())
    }

    /// Whether it is a directory, not the client's own, with nothing in it.
    fn is_empty(&self, path: &str) -> bool {
        let inside = |other: &&String| is_below(other, path);
        !path.is_empty()
            && self.directories.contains_key(path)
            && !self.files.keys().any(|file| inside(&file))
            && !self.directories.keys().any(|other| inside(&other))
    }

    fn remove_directory(&mut self, path: &str, out: &mut Vec<Call>) {
        let Some(directory) = self.directories.remove(path) else {
            return;
        };
        let (parent, name) = split(path);
        let (parent, name) = (self.directories[parent], name.to_owned());
        out.push(Call::Rmdir {
            parent,
            name,
            directory,
        });
    }

    /// Removes all that is below a path, and itself unless it is the client's own directory.
    fn remove_tree(&mut self, load: &Load, path: &str, out: &mut Vec<Call>) {
        if !self.directories.contains_key(path) {
            return self.look(path, out);
        }
        let below = |other: &&String| is_below(other, path) || *other == path;
        let inner: Vec<String> = self.directories.keys().filter(below).cloned().collect();
        // What is deeper sorts behind what it is in.
        for directory in inner.iter().rev() {
            out.push(Call::List {
                directory: self.directories[directory],
            });
            let within = |file: &&String| split(file).0 == directory.as_str();
            let files: Vec<String> = self.files.keys().filter(within).cloned().collect();
            for file in files {
                self.close_named(load, &file, out);
                self.delete(&file, out);
            }
            if !directory.is_empty() {
                self.remove_directory(directory, out);
            }
        }
    }
}

/// Whether `path` is below the directory.
fn is_below(path: &str, directory: &str) -> bool {
    if directory.is_empty() {
        return !path.is_empty();
    }
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Whether a name fits a pattern of `*` and `?`.
fn is_like(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut of) = (0, 0);
    // Where the last star is, and how far it was taken to reach.
    let mut star = None;
    while of < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, of));
                at += 1;
            }
            Some(&byte) if byte == b'?' || byte == name[of] => {
                at += 1;
                of += 1;
            }
            _ => match star {
                Some((place, reach)) => {
                    (at, of) = (place + 1, reach + 1);
                    star = Some((place, reach + 1));
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
}
