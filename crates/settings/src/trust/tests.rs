use std::fs;
use std::path::PathBuf;

use super::*;

const NOW: Timestamp = Timestamp(1_700_000_000_000);

/// A user's own folder and a project next to it.
struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        let desk = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(desk.folder.path().join("p")).unwrap();
        desk
    }

    fn project(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("p")
    }

    fn book(&self) -> TrustBook {
        TrustBook::of(Some(&self.folder.path().join("agent"))).unwrap()
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.project().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn standing(&self) -> Trust {
        let project = self.project();
        self.book().standing(&project, || Brought::of(&project)).unwrap()
    }

    fn answer(&self, trusted: Option<bool>) {
        self.book().answer(&self.project(), trusted, NOW).unwrap();
    }

    /// Changes the only answer.
    fn change_answer(&self, change: impl Fn(&mut serde_json::Map<String, serde_json::Value>)) {
        let file = self.folder.path().join("agent/palimpsest").join(TRUST_FILE);
        let mut answers: serde_json::Value =
            serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let projects = answers["projects"].as_object_mut().unwrap();
        change(projects.values_mut().next().unwrap().as_object_mut().unwrap());
        fs::write(&file, answers.to_string()).unwrap();
    }

    /// Puts another project into the place of this one, which goes to `old`.
    fn replace(&self) {
        fs::rename(self.project(), self.folder.path().join("old")).unwrap();
        self.write(".pi/memory/MEMORY.md", "- a\n");
    }

    /// Makes the project a clone from somewhere.
    fn come_from(&self, url: &str) {
        self.write(".git/config", &format!("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = {url}\n\tfetch = x\n[remote \"b\"]\n\turl = b\n"));
    }
}

#[test]
fn only_a_project_with_memory_or_settings_needs_approval() {
    let desk = Desk::new();
    assert_eq!(desk.standing(), Trust::Own);
    desk.write(".pi/settings.json", "{}");
    desk.write(".pi/memory/picture.png", "x");
    assert_eq!(desk.standing(), Trust::Own);
    for file in [
        ".pi/memory/MEMORY.md",
        ".pi/memory/MEMORY.local.md",
        ".pi/memory/a/b/c/d.MD",
        ".pi/memory/config.json",
        ".pi/memory/Config.JSON",
        ".pi/memory/page-facts.jsonl",
        ".pi/palimpsest.json",
    ] {
        desk.write(file, "x");
        assert_eq!(desk.standing(), Trust::Unknown, "{file}");
        fs::remove_file(desk.project().join(file)).unwrap();
        assert_eq!(desk.standing(), Trust::Own, "{file}");
    }
}

#[test]
fn an_answer_holds_for_what_the_project_gets_later() {
    let desk = Desk::new();
    desk.write(".pi/memory/MEMORY.md", "- a\n");
    desk.answer(Some(true));
    desk.write(".pi/memory/MEMORY.md", "- a\n- pulled\n");
    assert_eq!(desk.standing(), Trust::Trusted);
    desk.answer(Some(false));
    assert_eq!(desk.standing(), Trust::Denied);
    assert_eq!(desk.book().all().unwrap().len(), 1);
    desk.answer(None);
    assert_eq!((desk.standing(), desk.book().all().unwrap().len()), (Trust::Unknown, 0));
}

#[test]
fn another_repository_at_the_path_is_asked_for_again() {
    let desk = Desk::new();
    desk.write(".pi/memory/MEMORY.md", "- a\n");
    desk.come_from("one");
    desk.answer(Some(true));
    desk.replace();
    assert_eq!(desk.standing(), Trust::Changed, "no repository");
    fs::remove_dir_all(desk.project().join(".pi")).unwrap();
    assert_eq!(desk.standing(), Trust::Own, "there is nothing to ask about");
    desk.write(".pi/memory/MEMORY.md", "- a\n");
    desk.come_from("two");
    assert_eq!(desk.standing(), Trust::Changed);
    desk.come_from("one");
    assert_eq!(desk.standing(), Trust::Trusted, "it was cloned anew");
}

#[test]
fn a_folder_may_gain_an_origin_but_not_be_replaced() {
    let desk = Desk::new();
    desk.write(".pi/memory/MEMORY.md", "- a\n");
    desk.answer(Some(true));
    desk.come_from("one");
    assert_eq!(desk.standing(), Trust::Trusted);
    desk.replace();
    assert_eq!(desk.standing(), Trust::Changed);
}

#[test]
fn a_folder_that_got_the_number_of_one_that_is_gone_is_another() {
    let desk = Desk::new();
    desk.write(".pi/memory/MEMORY.md", "- a\n");
    desk.answer(Some(true));
    assert_eq!(desk.standing(), Trust::Trusted);
    // Whether a number is given again is the filesystem's affair: the answer is made another's.
    desk.change_answer(|answer| drop(answer.insert("born".to_owned(), 1.into())));
    let is_known = fs::metadata(desk.project()).unwrap().created().is_ok();
    let expected = if is_known { Trust::Changed } else { Trust::Trusted };
    assert_eq!(desk.standing(), expected);
    desk.change_answer(|answer| drop(answer.remove("born")));
    assert_eq!(desk.standing(), Trust::Trusted, "as where the filesystem knows no time");
}

#[test]
fn a_repository_around_a_folder_does_not_speak_for_it() {
    let desk = Desk::new();
    desk.write("../.git/config", "[remote \"origin\"]\n\turl = around\n");
    desk.write(".pi/memory/MEMORY.md", "- a\n");
    desk.answer(Some(true));
    assert_eq!(desk.standing(), Trust::Trusted);
    desk.replace();
    assert_eq!(desk.standing(), Trust::Changed);
    desk.answer(Some(true));
    fs::remove_dir_all(desk.folder.path().join("old")).unwrap();
    desk.replace();
    assert_eq!(desk.standing(), Trust::Changed);
}

#[test]
fn what_a_session_wrote_needs_no_word_and_any_other_text_does() {
    let desk = Desk::new();
    let project = desk.project();
    let note = |file: &str, text: &str| {
        desk.book().note_written(&project, &[(file.to_owned(), Hash::of(text.as_bytes()))]);
    };
    desk.write(".pi/memory/MEMORY.md", "- mine\n");
    note("memory/MEMORY.md", "- mine\n");
    assert_eq!(desk.standing(), Trust::Own);
    assert!(desk.book().wrote(&project, "memory/MEMORY.md", &Hash::of(b"- mine\n")));
    desk.write(".pi/memory/MEMORY.md", "- mine\n- pulled\n");
    assert_eq!(desk.standing(), Trust::Unknown);
    note("memory/MEMORY.md", "- mine\n- pulled\n");
    assert_eq!(desk.standing(), Trust::Own);
    // An older text of theirs, as another branch has it.
    desk.write(".pi/memory/MEMORY.md", "- mine\n");
    assert_eq!(desk.standing(), Trust::Own);
    desk.write(".pi/memory/other.md", "- mine\n");
    assert_eq!(desk.standing(), Trust::Unknown, "the text is another file's");
}

#[test]
fn what_is_written_stays_bounded() {
    let desk = Desk::new();
    let project = desk.project();
    let hashes = (0..20_000).map(|at| ("memory/MEMORY.md".to_owned(), Hash::of(format!("{at}"))));
    let all: Vec<(String, Hash)> = hashes.collect();
    for some in all.chunks(2_000) {
        desk.book().note_written(&project, some);
    }
    let size = fs::metadata(desk.book().kept_folder(&project).join(WRITTEN_FILE)).unwrap().len();
    assert!(size < 1 << 20, "{size}");
    let (file, hash) = &all[all.len() - 1];
    assert!(desk.book().wrote(&project, file, hash));
}

#[cfg(unix)]
#[test]
fn links_are_nobodys_own() {
    use std::os::unix::fs::symlink;

    for (link, to) in [
        (".pi", "elsewhere"),
        (".pi/memory", "../elsewhere"),
        (".pi/memory/sub", "../../elsewhere"),
        (".pi/memory/MEMORY.md", "../../elsewhere/a.md"),
        (".pi/palimpsest.json", "../elsewhere/a.md"),
    ] {
        let desk = Desk::new();
        desk.write("elsewhere/a.md", "x");
        fs::create_dir_all(desk.project().join(link).parent().unwrap()).unwrap();
        symlink(to, desk.project().join(link)).unwrap();
        // A link to a folder within is not followed by who reads memory either.
        let expected = if link.ends_with("sub") { Trust::Own } else { Trust::Unknown };
        assert_eq!(desk.standing(), expected, "{link}");
    }
}

#[cfg(unix)]
#[test]
fn answers_that_others_could_have_written_do_not_count() {
    use std::os::unix::fs::PermissionsExt;

    let desk = Desk::new();
    desk.write(".pi/memory/MEMORY.md", "- a\n");
    desk.answer(Some(true));
    let file = desk.folder.path().join("agent/palimpsest").join(TRUST_FILE);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let standing = || {
        let project = desk.project();
        desk.book().standing(&project, || Brought::of(&project)).map_err(|error| error.code())
    };
    fs::set_permissions(&file, fs::Permissions::from_mode(0o622)).unwrap();
    assert_eq!(standing(), Err("NOT_PRIVATE"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&file, "{").unwrap();
    assert_eq!(standing(), Err("FILE"));
}

#[test]
fn git_has_what_its_index_names_or_it_is_unclear() {
    let desk = Desk::new();
    let project = desk.project();
    let local = project.join(".pi/memory/MEMORY.local.md");
    assert_eq!(held_by_git(&local), None);
    let holds = || held_by_git(&local).unwrap();
    fs::create_dir(project.join(".git")).unwrap();
    assert!(!holds(), "nothing is in git");
    let index = |version: u8, rest: &[u8]| {
        let mut bytes = vec![b'D', b'I', b'R', b'C', 0, 0, 0, version];
        bytes.extend_from_slice(rest);
        fs::write(project.join(".git/index"), bytes).unwrap();
    };
    index(2, b"....pi/memory/MEMORY.md\0");
    assert!(!holds());
    index(2, b"....pi/memory/MEMORY.LOCAL.md\0");
    assert!(holds(), "as a disk without cases has it");
    for (version, rest) in [(4, &b""[..]), (2, b"link\0\0\0\x40"), (3, b"sdir\0\0\0\0"), (9, b"")] {
        index(version, rest);
        assert!(holds(), "{version}");
    }
    fs::write(project.join(".git/index"), "").unwrap();
    assert!(holds());
    index(2, b"");
    assert!(!holds());
    let module = project.join(".git/modules/pi");
    fs::create_dir_all(&module).unwrap();
    fs::create_dir_all(local.parent().unwrap()).unwrap();
    fs::write(project.join(".pi/.git"), "gitdir: ../.git/modules/pi\n").unwrap();
    fs::write(module.join("index"), b"DIRC\0\0\0\x02....memory/MEMORY.local.md\0").unwrap();
    assert!(holds(), "a submodule has it");
}

#[test]
fn an_answer_in_a_folder_speaks_for_the_memory_above_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = source::canonical_path(folder.path()).join("p");
    let sub = root.join("a/b");
    std::fs::create_dir_all(&sub).unwrap();
    std::fs::create_dir_all(root.join(".git")).unwrap();
    assert_eq!(project_of(&sub), sub);
    std::fs::create_dir_all(root.join(".pi/memory")).unwrap();
    std::fs::write(root.join(".pi/memory/MEMORY.md"), "- a\n").unwrap();
    assert_eq!(project_of(&sub), root);
    let book = TrustBook::of(Some(&folder.path().join("agent"))).unwrap();
    let now = base::object::Timestamp(0);
    let standing = || look_at_opened(&book, &sub).unwrap();
    assert_eq!((standing().0, standing().1), (root.clone(), Trust::Unknown));
    book.answer_opened(&sub, Some(true), now).unwrap();
    assert_eq!(look_at_project(&book, &root).unwrap().1, Trust::Trusted);
    book.answer_opened(&sub, None, now).unwrap();
    assert_eq!(standing().1, Trust::Unknown);
    book.answer_opened(&sub, Some(false), now).unwrap();
    assert_eq!(look_at_project(&book, &root).unwrap().1, Trust::Denied);
    assert_eq!(look_at_project(&book, &sub).unwrap().1, Trust::Own, "nobody asked about it");
    std::fs::create_dir_all(root.join("c/.git")).unwrap();
    assert_eq!(project_of(&root.join("c")), root.join("c"), "it is another repository");
}
