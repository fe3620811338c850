//! The tests of `discovery.rs`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use testing::processor_time::spent_on;

struct Folder {
    root: PathBuf,
    _owner: tempfile::TempDir,
}

fn folder(files: &[&str]) -> Folder {
    let owner = tempfile::tempdir().unwrap();
    let root = owner.path().canonicalize().unwrap();
    for file in files {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    Folder { root, _owner: owner }
}

const LIMITS: DiscoveryLimits = DiscoveryLimits { files: 100, look_ups: 1_000 };

fn look(path: &Path) -> Option<Location> {
    path.is_file().then(|| Location::here("fs", path.canonicalize().unwrap()))
}

fn locations(folder: &Folder, names: &[&str]) -> Vec<Location> {
    names.iter().map(|name| Location::here("fs", folder.root.join(name))).collect()
}

fn naming<'a>(tool: &str, args: &'a Value) -> Naming<'a> {
    let text = |name: &str| args[name].as_str();
    match tool {
        "bash" => Naming::Command { line: text("command").unwrap() },
        "grep" | "Grep" => Naming::Search { path: text("path") },
        _ => Naming::Listing { path: text("path") },
    }
}

fn check(folder: &Folder, tool: &str, args: &Value, output: &str, expected: &[&str]) {
    let found = discovered_files(naming(tool, args), &folder.root, output, LIMITS, &look);
    assert_eq!(found, locations(folder, expected), "{tool} {args} {output:?}");
}

fn check_bash(folder: &Folder, command: &str, output: &str, expected: &[&str]) {
    check(folder, "bash", &json!({ "command": command }), output, expected);
}

#[test]
fn ls_names_the_files_of_its_folder() {
    let folder = folder(&["src/a.rs", "src/b c.rs", "src/sub/x", "top"]);
    let output =
        "a.rs\nb c.rs\nsub/\ngone.rs\n\n[500 entries limit reached. Use limit=1000 for more]";
    check(&folder, "ls", &json!({"path": "src"}), output, &["src/a.rs", "src/b c.rs"]);
    check(&folder, "ls", &json!({}), "src/\ntop", &["top"]);
    check(&folder, "ls", &json!({"path": ""}), "top", &["top"]);
    check(&folder, "ls", &json!({"path": "file://host/x"}), "top", &[]);
    check(&folder, "ls", &json!({}), "(empty directory)", &[]);
    // As OpenClaw writes names.
    let quoted =
        "\"src/\"\n\"top\"\n\n[More entries. Continue with the same path and after=\"top\".]";
    check(&folder, "ls", &json!({}), quoted, &["top"]);
    check(&folder, "ls", &json!({"path": "src"}), "\"b c.rs\"", &["src/b c.rs"]);
}

#[test]
fn a_notice_is_no_file_even_where_one_has_its_name() {
    let folder = folder(&["a", "[50.0KB limit reached]"]);
    check(&folder, "find", &json!({}), "a\n\n[50.0KB limit reached]", &["a"]);
    let listing = "[50.0KB limit reached]\na";
    check(&folder, "ls", &json!({}), listing, &["[50.0KB limit reached]", "a"]);
}

#[test]
fn find_names_files_below_its_folder_once() {
    let folder = folder(&["src/a.rs", "src/sub/b.rs"]);
    let output = "sub/b.rs\nsub/\na.rs\na.rs";
    check(&folder, "find", &json!({"path": "./src"}), output, &["src/sub/b.rs", "src/a.rs"]);
    check(&folder, "find", &json!({}), "No files found matching pattern", &[]);
}

#[test]
fn grep_names_files_of_matches_and_of_their_surroundings() {
    let folder = folder(&["src/a.rs", "src/b-3-c.rs", "src/d:4: e"]);
    let output = "a.rs-9- let x:10: y\na.rs:10: fn f()\nb-3-c.rs:3: z-4- q\nb-3-c.rs-4- \nd:4: e:5: text\n\
                  gone.rs:1: x\nno line\n\n[100 matches limit reached. Use limit=200 for more, or refine pattern]";
    let expected = ["src/a.rs", "src/b-3-c.rs", "src/d:4: e"];
    check(&folder, "grep", &json!({"path": "src", "pattern": "x"}), output, &expected);
    check(&folder, "grep", &json!({"pattern": "x"}), "No matches found", &[]);
    let output = "src/a.rs:10:fn f()\nsrc/b-3-c.rs\nFound 2 files";
    check(&folder, "Grep", &json!({"pattern": "x"}), output, &expected[..2]);
}

#[test]
fn grep_in_one_file_names_that_file() {
    let folder = folder(&["src/a.rs", "a.rs"]);
    check(&folder, "grep", &json!({"path": "src/a.rs"}), "a.rs:1: x", &["src/a.rs"]);
    check(&folder, "grep", &json!({"path": "src/a.rs"}), "No matches found", &[]);
}

#[test]
fn a_command_names_files_in_its_words_and_in_what_it_prints() {
    let folder = folder(&["Makefile", "src/a.rs", "src/b.rs", "src/sub/c.rs", "out"]);
    check_bash(&folder, "cat src/a.rs nothing > out", "", &["src/a.rs", "out"]);
    check_bash(
        &folder,
        "find . -name '*.rs'",
        "./src/a.rs\n./src/sub/c.rs",
        &["src/a.rs", "src/sub/c.rs"],
    );
    check_bash(&folder, "cd src && ls", "a.rs\nsub\nMakefile", &["src/a.rs", "Makefile"]);
    check_bash(&folder, "ls src", "a.rs  b.rs  sub", &["src/a.rs", "src/b.rs"]);
    check_bash(
        &folder,
        "ls -R src",
        "src:\na.rs\nsub\n\nsrc/sub:\nc.rs",
        &["src/a.rs", "src/sub/c.rs"],
    );
    check_bash(&folder, "git status", "\tmodified:   src/a.rs\n", &["src/a.rs"]);
    check_bash(&folder, "cargo check 2>&1 | tail", "error\n --> src/b.rs:1:2\n", &["src/b.rs"]);
    check_bash(&folder, "cd /nowhere && make -C src", "a.rs:3: oops", &["src/a.rs"][..0]);
}

#[test]
fn text_of_files_and_other_places_name_nothing() {
    let folder = folder(&["a", "b.rs"]);
    check_bash(&folder, "cat a", "b.rs\n", &["a"]);
    check_bash(&folder, "head a; ls", "b.rs\n", &["a", "b.rs"]);
    check_bash(&folder, "ssh host cat a", "b.rs\n", &[]);
    check_bash(&folder, "docker exec -it box ls", "b.rs\n", &[]);
}

#[test]
fn each_path_is_looked_up_once_and_the_limits_hold() {
    let folder = folder(&["a", "b", "c"]);
    let looked = std::cell::RefCell::new(Vec::new());
    let look = |path: &Path| {
        looked.borrow_mut().push(path.to_owned());
        look(path)
    };
    let found = |naming, output: &str, files, look_ups| {
        let limits = DiscoveryLimits { files, look_ups };
        discovered_files(naming, &folder.root, output, limits, &look)
    };
    let list = Naming::Listing { path: None };
    assert_eq!(found(list, "a\na\nb\nc", 2, 100), locations(&folder, &["a", "b"]));
    assert_eq!(looked.take().len(), 2);
    let command = Naming::Command { line: "x a a a b" };
    assert_eq!(found(command, "a\nb\nc", 100, 2), locations(&folder, &["a", "b"]));
    assert_eq!(looked.take().len(), 2);
    let many = (0..5_000).map(|n| format!("{n}.rs")).collect::<Vec<_>>().join("\n");
    assert_eq!(found(Naming::Command { line: "ls" }, &many, 10, 100), []);
    assert_eq!(looked.take().len(), 100);
}

#[cfg(unix)]
#[test]
fn links_are_named_by_their_target_once() {
    let folder = folder(&["a"]);
    std::os::unix::fs::symlink("a", folder.root.join("link")).unwrap();
    check(&folder, "ls", &json!({}), "a\nlink", &["a"]);
}

/// Hostile texts: marks of shells and outputs, and what breaks offsets.
const HOSTILE: &str =
    "([a-z./~]|[|&;<>()'\"`\\\\#$={}*:, \t\r\n-]|<<|ä|\u{1b}\\[|12|EOF|cd |ls |bash -c ){0,80}";

proptest! {
    #![proptest_config(testing::cases::config(64, 1))]

    #[test]
    fn any_command_and_output_stay_within_the_limits(line in HOSTILE, output in HOSTILE) {
        for naming in [
            Naming::Command { line: &line },
            Naming::Search { path: Some(&line) },
            Naming::Listing { path: Some(&line) },
        ] {
            let looked = std::cell::Cell::new(0);
            let look = |path: &Path| {
                assert!(path.is_absolute() && path.as_os_str().len() <= MAX_PATH_BYTES);
                looked.set(looked.get() + 1);
                let is_file = !path.as_os_str().len().is_multiple_of(3);
                is_file.then(|| Location::here("fs", path.to_owned()))
            };
            let limits = DiscoveryLimits { files: 5, look_ups: 20 };
            let cwd = Path::new("/w");
            let found = discovered_files(naming, cwd, &output, limits, &look);
            prop_assert!(found.len() <= limits.files && looked.get() <= limits.look_ups);
        }
    }
}

#[test]
fn what_is_looked_at_is_bounded() {
    for unit in [
        "a-1-", "a:1:", "(", "$(", "`", "'", "\"", "<<E\n", "cd a;", "a/", "bash -c ", "\u{1b}[",
        "é",
    ] {
        let text = unit.repeat(1 << 20 >> unit.len().ilog2());
        let looked = std::cell::Cell::new(0);
        let look = |_: &Path| {
            looked.set(looked.get() + 1);
            None
        };
        let naming = Naming::Command { line: &text };
        let find = || discovered_files(naming, Path::new("/w"), &text, LIMITS, &look);
        let time = spent_on(|| assert_eq!(find(), []));
        assert!(looked.get() <= LIMITS.look_ups);
        assert!(time.as_secs() < 5, "{unit:?} took {time:?}");
    }
}
