//! The tests of `load.rs`.

use super::*;

struct Desk {
    folder: tempfile::TempDir,
    loader: Loader,
}

impl Desk {
    fn new(files: &[(&str, &str)]) -> Self {
        let desk = Self { folder: tempfile::tempdir().unwrap(), loader: Loader::default() };
        for (path, text) in files {
            desk.write(path, text.as_bytes());
        }
        desk
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    fn load(&mut self, is_trusted: bool) -> Loaded {
        let (agent, project) = (self.folder.path().join("a"), self.folder.path().join("p"));
        self.loader.load(&Folders::new(Some(&agent), Some(&project), is_trusted))
    }
}

fn names(loaded: &Loaded) -> Vec<(Scope, &str, bool)> {
    loaded.files.iter().map(|file| (file.scope, &*file.file, file.is_linked)).collect()
}

fn codes(loaded: &Loaded) -> Vec<&str> {
    loaded.warnings.iter().map(|warning| warning.code).collect()
}

#[test]
fn files_are_sorted_by_scope_and_marked_if_indexed() {
    let mut desk = Desk::new(&[
        ("a/memory/MEMORY.md", "- [b](b.md)"),
        ("a/memory/b.md", "see [[c]]"),
        ("a/memory/deep/c.md", "- x"),
        ("a/memory/other.md", "- y"),
        ("a/memory/archive/old.md", "- z"),
        ("a/memory/notes.txt", "no Markdown"),
        ("p/.pi/memory/MEMORY.md", "- p"),
        ("p/.pi/memory/MEMORY.local.md", "- l"),
    ]);
    assert_eq!(
        names(&desk.load(true)),
        [
            (Scope::Global, "MEMORY.md", true),
            (Scope::Global, "archive/old.md", false),
            (Scope::Global, "b.md", true),
            (Scope::Global, "deep/c.md", true),
            (Scope::Global, "other.md", false),
            (Scope::Project, "MEMORY.md", true),
            (Scope::Local, "MEMORY.local.md", true),
        ]
    );
    assert!(desk.load(false).files.iter().all(|file| file.scope == Scope::Global));
}

#[test]
fn what_cannot_be_read_is_a_warning_and_the_rest_counts() {
    let mut desk = Desk::new(&[("a/memory/ok.md", "- a")]);
    desk.write("a/memory/MEMORY.md", &[0xff, 0xfe, 0x00]);
    desk.write("a/memory/conflict.md", b"- a\n<<<<<<< HEAD\n- b\n=======\n- c\n>>>>>>> x\n");
    desk.write("a/memory/front.md", b"---\na: [\n---\n- a\n");
    let loaded = desk.load(true);
    assert_eq!(codes(&loaded), ["NOT_TEXT", "CONFLICT_MARKERS", "FRONT_MATTER"]);
    assert_eq!(loaded.files.len(), 3);
}

#[test]
fn a_huge_file_is_read_up_to_a_line() {
    let mut desk = Desk::new(&[]);
    desk.write("a/memory/MEMORY.md", "- an entry of a line\n".repeat(80_000).as_bytes());
    let loaded = desk.load(true);
    assert_eq!(codes(&loaded), ["TOO_LARGE", "MANY_ENTRIES"]);
    assert_eq!(loaded.files[0].pages.len(), MAX_PAGES);
    let text = &loaded.files[0].text;
    assert!(text.len() as u64 <= MAX_BYTES && text.ends_with("line\n"));
}

#[test]
fn a_file_that_changed_is_read_again() {
    let mut desk = Desk::new(&[("a/memory/MEMORY.md", "- a")]);
    assert_eq!(desk.load(true).files[0].text, "- a");
    desk.write("a/memory/MEMORY.md", b"- b");
    assert_eq!(desk.load(true).files[0].text, "- b");
    std::fs::remove_file(desk.folder.path().join("a/memory/MEMORY.md")).unwrap();
    assert_eq!(desk.load(true).files.len(), 0);
}

#[cfg(unix)]
#[test]
fn links_in_a_project_are_not_read_wherever_they_lead() {
    let mut desk = Desk::new(&[
        ("secret.md", "- s"),
        ("p/docs/x.md", "- x"),
        ("p/.pi/memory/MEMORY.md", "- p"),
    ]);
    let memory = desk.folder.path().join("p/.pi/memory");
    std::os::unix::fs::symlink(desk.folder.path().join("secret.md"), memory.join("s.md")).unwrap();
    std::os::unix::fs::symlink(
        desk.folder.path().join("secret.md"),
        memory.join("MEMORY.local.md"),
    )
    .unwrap();
    std::os::unix::fs::symlink(desk.folder.path().join("p/docs/x.md"), memory.join("x.md"))
        .unwrap();
    let loaded = desk.load(true);
    assert_eq!(names(&loaded), [(Scope::Project, "MEMORY.md", true)]);
    assert_eq!(codes(&loaded), ["LEADS_OUT"; 3]);
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_a_link_or_open_to_others_is_not_read() {
    use std::fs::{Permissions, rename, set_permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    let mut desk = Desk::new(&[("a/memory/MEMORY.md", "- g"), ("p/.pi/memory/MEMORY.md", "- p")]);
    for folder in ["a/memory", "p/.pi/memory"] {
        let path = desk.folder.path().join(folder);
        set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        let loaded = desk.load(true);
        assert_eq!(loaded.files.len(), 1, "{folder}");
        assert!(codes(&loaded).iter().all(|code| *code == "UNWRITABLE"));
        set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        let file = path.join("MEMORY.md");
        set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
        let loaded = desk.load(true);
        assert_eq!((loaded.files.len(), codes(&loaded)), (1, vec!["NOT_PRIVATE"]));
        set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    }
    let pi = desk.folder.path().join("p/.pi");
    rename(&pi, desk.folder.path().join("p/other")).unwrap();
    symlink("other", &pi).unwrap();
    let loaded = desk.load(true);
    assert_eq!((loaded.files.len(), codes(&loaded)), (1, vec!["LEADS_OUT"; 2]));
}
