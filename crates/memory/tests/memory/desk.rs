//! A memory folder to work in.

use std::path::{Path, PathBuf};

use base::object::Timestamp;
use memory::Scope;
use memory::checks::CheckLimits;
use memory::flush::{FlushOptions, FlushReport, flush};
use memory::journal::{Draft, Journal, OperationId, stage};
use memory::sidecar::MemoryFolder;

/// A project with its memory folder, neither of which is made.
pub(crate) struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn memory(&self) -> MemoryFolder {
        memory_of(self.root())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.memory().path_of(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn remember(&self, text: &str) -> OperationId {
        remember(&self.memory(), text)
    }

    pub(crate) fn flush(&self) -> FlushReport {
        flush(&self.memory(), &options(true)).unwrap()
    }

    /// A flush that refuses nothing but secrets.
    pub(crate) fn flush_freely(&self) -> FlushReport {
        flush(&self.memory(), &options(false)).unwrap()
    }

    /// How many operations wait.
    pub(crate) fn waiting(&self) -> usize {
        Journal::read(&self.memory()).0.waiting().count()
    }

    /// The names in the memory folder and in the user's own, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let folders = [self.memory().path().to_owned(), self.root().join("kept")];
        let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.unwrap().file_name().to_string_lossy().into_owned()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }
}

pub(crate) fn memory_of(project: &Path) -> MemoryFolder {
    MemoryFolder::new(Scope::Project, &project.join(".pi").join("memory"), &project.join("kept"))
}

pub(crate) fn remember(folder: &MemoryFolder, text: &str) -> OperationId {
    let draft = Draft::entry(Scope::Project, text);
    stage(folder, vec![draft], false, Timestamp(1_700_000_000_000)).unwrap()[0]
}

pub(crate) fn options(strict: bool) -> FlushOptions {
    FlushOptions { strict, limits: CheckLimits { lines: 200, bytes: 8_192 }, beside: Vec::new() }
}

/// How often a text stands as a line of its own entry.
pub(crate) fn times(text: &str, entry: &str) -> usize {
    text.lines().filter(|line| line.trim_start_matches("- ") == entry).count()
}
