//! A git repository with memory in it, changed by git's own commands.

use std::path::{Path, PathBuf};
use std::process::Command;

use base::object::Timestamp;
use config::Settings;
use memory::{Folders, Look, Memory, Page, PageId, Scope, StoreAccess};
use source::{IndexOptions, Namespace};
use store::Store;

/// A day of the tests.
pub(crate) fn some_day() -> Timestamp {
    Timestamp::parse("2030-01-10").unwrap()
}

pub(crate) fn next_day() -> Timestamp {
    Timestamp::parse("2030-01-11").unwrap()
}

/// A folder with a repository, and a home beside it.
pub(crate) struct Repository {
    folder: tempfile::TempDir,
}

impl Repository {
    pub(crate) fn new() -> Self {
        let repository = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(repository.root()).unwrap();
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        Self::identify(&repository.root());
        repository
    }

    fn identify(root: &Path) {
        for (name, value) in [
            ("user.name", "A"),
            ("user.email", "a@b.invalid"),
            ("commit.gpgsign", "false"),
            ("core.autocrlf", "false"),
            ("gc.auto", "0"),
        ] {
            run(root, &["config", name, value]);
        }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("p")
    }

    pub(crate) fn agent(&self) -> PathBuf {
        self.folder.path().join("agent")
    }

    /// A second copy, as a colleague has it.
    pub(crate) fn cloned(&self, name: &str) -> PathBuf {
        let root = self.folder.path().join(name);
        run(self.folder.path(), &["clone", "--quiet", "p", name]);
        Self::identify(&root);
        root
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        run(&self.root(), args)
    }

    pub(crate) fn commit(&self) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "c"]);
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        write(&self.root().join(path), bytes);
    }

    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.root().join(path)).unwrap()
    }

    /// Where a file of the project's memory is that only the program reads and writes.
    pub(crate) fn own(&self, name: &str) -> PathBuf {
        own_in(&self.root(), &self.agent(), name)
    }

    pub(crate) fn own_text(&self, name: &str) -> String {
        std::fs::read_to_string(self.own(name)).unwrap()
    }

    pub(crate) fn memory(&self) -> Memory {
        memory_in(&self.root(), &self.agent())
    }
}

/// As [`Repository::own`], of any folder.
pub(crate) fn own_in(root: &Path, agent: &Path, name: &str) -> PathBuf {
    let memory = memory_in(root, agent);
    memory.folders().memory_folder(Scope::Project).unwrap().path_of(name)
}

pub(crate) fn memory_in(root: &Path, agent: &Path) -> Memory {
    Memory::new(Folders::new(Some(agent), Some(root), true)).with_clock(some_day)
}

/// Memory with a store in which its files are objects.
pub(crate) fn stored(memory: Memory, store: &Store, files: &Namespace) -> Memory {
    let files = files.clone();
    memory.with_store(StoreAccess::new(store.clone(), || {
        let settings = Settings::default();
        let (max_text_bytes, exclude) = (settings.max_text_bytes, settings.excluded()?);
        Ok(IndexOptions { files, all: false, max_text_bytes, exclude })
    }))
}

/// Writes a file as if on the day of the tests.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
    if path.components().any(|part| part.as_os_str() == "memory") {
        let day =
            std::time::UNIX_EPOCH + std::time::Duration::from_millis(some_day().0.unsigned_abs());
        std::fs::File::options().write(true).open(path).unwrap().set_modified(day).unwrap();
    }
}

pub(crate) fn run(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(args).current_dir(folder);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Looks at memory after a tool of the model wrote it.
pub(crate) fn look_after_write(memory: &mut Memory) -> Look {
    memory.written();
    memory.look()
}

/// The page with a key.
pub(crate) fn page<'a>(look: &'a Look, key: &str) -> &'a Page {
    let found = look.all_pages().find(|page| page.key.as_deref() == Some(key));
    found.unwrap_or_else(|| panic!("no page `{key}`"))
}

pub(crate) fn id(look: &Look, key: &str) -> PageId {
    page(look, key).id.clone()
}

/// The keys of the pages whose cited files changed, in order.
pub(crate) fn stale(look: &Look) -> Vec<String> {
    let stale = look.all_pages().filter(|page| look.staleness(&page.id).is_some());
    let mut keys: Vec<String> = stale.filter_map(|page| page.key.clone()).collect();
    keys.sort();
    keys
}
