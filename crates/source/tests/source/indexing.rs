//! `index_paths` on real folders: what is stored, what is left alone, and what is reported.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::object::{AsOf, Timestamp, TxId};
use config::Exclude;
use source::{
    IndexOptions, IndexOutcome, IndexReport, Location, Namespace, canonical_path, index,
    index_paths, look,
};
use store::Store;

struct Folder {
    root: tempfile::TempDir,
    store: Store,
}

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder =
            Self { root: tempfile::tempdir().unwrap(), store: Store::open(":memory:").unwrap() };
        for (path, text) in files {
            folder.write(path, text);
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        canonical_path(self.root.path()).join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn index_with(&self, names: &[&str], all: bool) -> IndexReport {
        let paths: Vec<_> = names.iter().map(|name| self.root.path().join(name)).collect();
        let options = options(all);
        index_paths(&self.store, &paths, &options, |_| ()).unwrap()
    }

    /// What became of each file, by its name.
    fn index(&self, names: &[&str]) -> Vec<(String, &'static str)> {
        self.outcomes(&self.index_with(names, false))
    }

    fn outcomes(&self, report: &IndexReport) -> Vec<(String, &'static str)> {
        let root = canonical_path(self.root.path());
        let name = |path: &Path| path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        report.files.iter().map(|file| (name(&file.path), file.outcome.as_str())).collect()
    }

    fn content(&self, name: &str) -> Option<String> {
        let id = Location::here("fs", self.path(name)).id().unwrap();
        let version = self.store.get(&id, AsOf::Latest).unwrap()?;
        self.store.content(&version).unwrap()
    }

    fn versions(&self, name: &str) -> usize {
        self.store.history(&Location::here("fs", self.path(name)).id().unwrap()).unwrap().len()
    }
}

fn options(all: bool) -> IndexOptions {
    let exclude = Exclude::new(&["*.pem".to_owned()]).unwrap();
    IndexOptions { files: Namespace::here("fs"), all, max_text_bytes: 100, exclude }
}

fn listed(files: &[(&str, &'static str)]) -> Vec<(String, &'static str)> {
    files.iter().map(|(name, outcome)| ((*name).to_owned(), *outcome)).collect()
}

#[test]
fn indexing_writes_only_what_changed() {
    let folder = Folder::new(&[("a.md", "one"), ("b/c.md", "two"), ("b/d.md", "three")]);
    let created = [("a.md", "created"), ("b/c.md", "created"), ("b/d.md", "created")];
    assert_eq!(folder.index(&["."]), listed(&created));
    let before = folder.store.stats().unwrap();
    let unchanged = [("a.md", "unchanged"), ("b/c.md", "unchanged"), ("b/d.md", "unchanged")];
    assert_eq!(folder.index(&["."]), listed(&unchanged));
    assert_eq!(folder.store.stats().unwrap(), before);
    folder.write("a.md", "one, changed");
    fs::remove_file(folder.path("b/c.md")).unwrap();
    let outcomes = [("a.md", "updated"), ("b/d.md", "unchanged"), ("b/c.md", "deleted")];
    assert_eq!(folder.index(&["."]), listed(&outcomes));
    assert_eq!(folder.content("a.md").as_deref(), Some("one, changed"));
    assert_eq!((folder.content("b/c.md"), folder.versions("b/c.md")), (None, 2));
    // What is gone is said once, and a file that comes back is a new version.
    assert_eq!(folder.index(&["."]), listed(&[("a.md", "unchanged"), ("b/d.md", "unchanged")]));
    folder.write("b/c.md", "two");
    assert_eq!(folder.index(&["b/c.md"]), listed(&[("b/c.md", "updated")]));
}

#[test]
fn files_of_a_deleted_folder_are_deleted() {
    let folder = Folder::new(&[("v/a.md", "one"), ("v/w/b.md", "two"), ("other.md", "x")]);
    folder.index(&["."]);
    fs::remove_dir_all(folder.path("v")).unwrap();
    let report = folder.index_with(&["v"], false);
    assert_eq!(folder.outcomes(&report), listed(&[("v/a.md", "deleted"), ("v/w/b.md", "deleted")]));
    assert_eq!(report.failed, []);
    // A path that the store never knew is the caller's mistake.
    let report = folder.index_with(&["never"], false);
    assert_eq!(report.failed.len(), 1);
    assert_eq!(report.failed[0].problem, "there is no such file or folder");
}

#[test]
fn ignored_and_hidden_files_are_left_out_unless_asked_for() {
    let folder = Folder::new(&[
        (".gitignore", "*.log\n/out/\n"),
        ("a.md", "a"),
        ("a.log", "log"),
        ("out/b.md", "b"),
        (".hidden/c.md", "c"),
        (".git/config", "never"),
        ("sub/.git/config", "never"),
    ]);
    assert_eq!(folder.index(&["."]), listed(&[("a.md", "created")]));
    // Given themselves they are taken.
    assert_eq!(
        folder.index(&["a.log", ".hidden"]),
        listed(&[("a.log", "created"), (".hidden/c.md", "created")])
    );
    // Known, but ignored: what is known stands.
    assert_eq!(folder.index(&["."]), listed(&[("a.md", "unchanged")]));
    let all = folder.outcomes(&folder.index_with(&["."], true));
    let names: Vec<_> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, [".gitignore", ".hidden/c.md", "a.log", "a.md", "out/b.md"]);
}

#[test]
fn binary_and_large_files_are_metadata() {
    let folder = Folder::new(&[("large.txt", &"x".repeat(101)), ("limit.txt", &"x".repeat(100))]);
    folder.write("binary", [0xff, 0x00]);
    let report = folder.index_with(&["."], false);
    let reasons: Vec<_> = report.files.iter().map(|file| file.no_content.as_deref()).collect();
    assert_eq!(reasons, [Some("binary"), Some("too_large"), None]);
    assert_eq!(folder.content("large.txt"), None);
    assert!(folder.index(&["."]).iter().all(|(_, outcome)| *outcome == "unchanged"));
}

#[test]
fn paths_that_overlap_are_walked_once() {
    let folder = Folder::new(&[("a/b/c.md", "x")]);
    assert_eq!(folder.index(&["a/b", "a", "a/b/c.md", "a"]), listed(&[("a/b/c.md", "created")]));
    // One that is under another and hidden or missing is meant all the same.
    folder.write("a/.hidden/d.md", "y");
    let report = folder.index_with(&["a", "a/.hidden", "a/none"], false);
    let outcomes = [("a/b/c.md", "unchanged"), ("a/.hidden/d.md", "created")];
    assert_eq!(folder.outcomes(&report), listed(&outcomes));
    assert_eq!(report.failed.len(), 1);
}

#[test]
fn the_store_does_not_index_itself() {
    let mut folder = Folder::new(&[("a.md", "x")]);
    let file = folder.path("s.sqlite");
    folder.store = Store::open(file.to_str().unwrap()).unwrap();
    let report = folder.index_with(&["."], true);
    assert_eq!(folder.outcomes(&report), listed(&[("a.md", "created")]));
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_and_only_regular_files_are_opened() {
    use std::os::unix::fs::symlink;

    let outside = Folder::new(&[("secret.md", "outside")]);
    let folder = Folder::new(&[("v/a.md", "a")]);
    symlink(outside.path("secret.md"), folder.path("v/link.md")).unwrap();
    symlink(outside.root.path(), folder.path("v/dir")).unwrap();
    symlink(folder.path("v"), folder.path("v/loop")).unwrap();
    let fifo = folder.path("v/fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    let report = folder.index_with(&["v"], false);
    assert_eq!(folder.outcomes(&report), listed(&[("v/a.md", "created")]));
    let skipped: Vec<_> = report.skipped.iter().map(|found| found.problem.as_str()).collect();
    assert_eq!(
        skipped,
        ["it is a link", "it is not a regular file", "it is a link", "it is a link"]
    );
    // A path that is given is followed.
    let report = folder.index_with(&["v/dir"], false);
    assert_eq!(report.files[0].path, outside.path("secret.md"));
}

#[cfg(unix)]
#[test]
fn rules_without_end_are_not_read_and_their_folder_is_reported() {
    let folder = Folder::new(&[("a.md", "a"), ("pipe/b.md", "b"), ("huge/c.md", "c")]);
    folder.write("huge/.gitignore", "*.log\n".repeat(1 << 20));
    let made = std::process::Command::new("mkfifo").arg(folder.path("pipe/.ignore")).status();
    assert!(made.unwrap().success());
    let report = folder.index_with(&["."], false);
    assert_eq!(folder.outcomes(&report), listed(&[("a.md", "created")]));
    let failed: Vec<_> = report.failed.iter().map(|found| found.path.clone()).collect();
    assert_eq!(failed, [folder.path("huge/.gitignore"), folder.path("pipe/.ignore")]);
    // As a clone can bring it; it speaks of all that is below.
    std::os::unix::fs::symlink("/dev/zero", folder.path(".gitignore")).unwrap();
    let report = folder.index_with(&["pipe"], false);
    assert_eq!((report.files.len(), &report.failed[0].path), (0, &folder.path("pipe/.ignore")));
    assert_eq!(folder.index_with(&["."], false).failed[0].path, folder.path(".gitignore"));
    assert!(source::is_ignored(&folder.path(""), &folder.path("a.md")));
    assert_eq!(source::files_under(&folder.path(""), 9), Some(Vec::new()));
    assert!(folder.index_with(&["."], true).failed.is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf_8_are_reported() {
    use std::os::unix::ffi::OsStrExt;

    let folder = Folder::new(&[("a.md", "a")]);
    fs::write(folder.root.path().join(std::ffi::OsStr::from_bytes(b"\xff.md")), "x").unwrap();
    let report = folder.index_with(&["."], false);
    assert_eq!(folder.outcomes(&report), listed(&[("a.md", "created")]));
    assert_eq!(report.failed[0].problem, "its name is not UTF-8");
}

#[test]
fn batches_are_transactions_and_progress_counts_files() {
    let names: Vec<String> = (0..450).map(|number| format!("{number:03}.md")).collect();
    let folder = Folder::new(&names.iter().map(|name| (name.as_str(), "x")).collect::<Vec<_>>());
    let options = options(false);
    let mut told = Vec::new();
    let paths = [folder.root.path().to_owned()];
    let report = index_paths(&folder.store, &paths, &options, |files| told.push(files)).unwrap();
    assert_eq!(report.files.len(), 450);
    assert!(report.files.iter().all(|file| file.outcome == IndexOutcome::Created));
    assert_eq!(report.files.last().unwrap().tx_id, TxId(3));
    assert!(told.is_sorted() && *told.last().unwrap() == 450);
}

#[test]
fn a_file_has_the_object_that_a_session_gives_it() {
    let folder = Folder::new(&[("a.md", "text\n")]);
    let report = folder.index_with(&["."], false);
    let path = folder.path("a.md");
    let location = Location::here("fs", path);
    let found = index(&location, look(&location, false, 100), None).unwrap().unwrap();
    assert_eq!(report.files[0].id, found.envelope.id);
    let version = folder.store.require(&found.envelope.id, AsOf::Latest).unwrap();
    assert_eq!(version.content_hash, found.version);
}

#[test]
fn the_text_of_an_excluded_file_is_not_stored() {
    let folder = Folder::new(&[("a.md", "text"), ("key.pem", "secret")]);
    let report = folder.index_with(&["."], false);
    let created = listed(&[("a.md", "created"), ("key.pem", "created")]);
    assert_eq!(folder.outcomes(&report), created);
    assert_eq!(report.files[1].no_content.as_deref(), Some("excluded"));
    assert_eq!(folder.content("key.pem"), None);
    let unchanged = listed(&[("a.md", "unchanged"), ("key.pem", "unchanged")]);
    assert_eq!(folder.index(&["."]), unchanged);
    std::fs::remove_file(folder.path("key.pem")).unwrap();
    assert_eq!(folder.index(&["."])[1], ("key.pem".to_owned(), "deleted"));
}

#[test]
fn an_overtaken_look_does_not_become_the_latest() {
    let folder = Folder::new(&[("a.md", "old"), ("b.md", "b"), ("gone.md", "gone")]);
    let path = folder.path("store.sqlite");
    let open = || Store::open(path.to_str().unwrap()).unwrap();
    let (root, theirs) = (folder.root.path().to_owned(), open());
    index_paths(&theirs, std::slice::from_ref(&root), &options(false), |_| ()).unwrap();
    fs::remove_file(root.join("gone.md")).unwrap();
    folder.write("a.md", "newer");
    // The clock is asked between the last look and the commit.
    let meanwhile = std::sync::Mutex::new(Some(move || {
        fs::write(root.join("a.md"), "newest").unwrap();
        fs::write(root.join("gone.md"), "again").unwrap();
        index_paths(&theirs, &[root], &options(false), |_| ()).unwrap();
    }));
    let clock = move || {
        if let Some(act) = meanwhile.lock().unwrap().take() {
            act();
        }
        Timestamp(1)
    };
    let store = open().with_clock(Arc::new(clock));
    let folder = Folder { store, ..folder };
    let outcomes = folder.index(&["."]);
    assert_eq!(folder.content("a.md").as_deref(), Some("newest"));
    assert_eq!(folder.content("gone.md").as_deref(), Some("again"));
    assert_eq!(folder.versions("a.md"), 2);
    assert_eq!(outcomes.len(), 3, "{outcomes:?}");
}
