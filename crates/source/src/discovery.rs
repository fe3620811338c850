//! Finds the files that a tool call names: in listings and search results, in a shell's command and in what it
//! printed.
//!
//! Best effort and cheap. A path counts if the caller finds a regular file there now. Each path is looked up once and
//! the number of look-ups is bounded; no folder is listed, no pattern expanded, no file opened. Source of Pi's
//! formats: `dist/core/tools/{ls,find,grep}.js` of `@earendil-works/pi-coding-agent` 0.87.1.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::commands::{PlacedCommand, commands};
use super::{Location, resolve_path};
use base::harness::{shows_nothing, shows_text_of_files};

mod origin;
mod output;

pub use origin::named_in_output;
pub(super) use output::cut;

/// Bytes of an output that are read. Pi shows at most 50 KiB.
const MAX_OUTPUT_BYTES: usize = 256 << 10;
/// Folders in which names from a command's output are tried.
const MAX_FOLDERS: usize = 4;
/// Longest path, in bytes; operating systems have the same limit.
const MAX_PATH_BYTES: usize = 4_096;

/// How a tool call names files.
#[derive(Debug, Clone, Copy)]
pub enum Naming<'a> {
    /// A listing: one path per line, relative to the folder at `path`.
    Listing {
        /// The call's argument, if it has one.
        path: Option<&'a str>,
    },
    /// A search: lines of the file at `path`, or of files in that folder.
    Search {
        /// The call's argument, if it has one.
        path: Option<&'a str>,
    },
    /// A shell command and what it printed.
    Command {
        /// The command line.
        line: &'a str,
    },
}

/// Limits for one call.
#[derive(Debug, Clone, Copy)]
pub struct DiscoveryLimits {
    /// Most files found.
    pub files: usize,
    /// Most paths looked up.
    pub look_ups: usize,
}

/// Finds the regular files that a tool call names, in order, without duplicates.
///
/// `cwd`: the folder in which the tool ran. `output`: what it showed. `look`: the location of the regular file at an
/// absolute path, if one is there now.
pub fn discovered_files(
    naming: Naming<'_>,
    cwd: &Path,
    output: &str,
    limits: DiscoveryLimits,
    look: &dyn Fn(&Path) -> Option<Location>,
) -> Vec<Location> {
    let mut search =
        Search { look, limits, known: HashMap::new(), found: Vec::new(), seen: HashSet::new() };
    let output = output::cut(output, MAX_OUTPUT_BYTES);
    // Pi treats an empty path as missing.
    let base = |path: Option<&str>| {
        resolve_path(path.filter(|path| !path.is_empty()).unwrap_or("."), cwd).ok()
    };
    match naming {
        Naming::Listing { path } => {
            if let Some(base) = base(path) {
                search.listing(&base, without_notice(output));
            }
        }
        Naming::Search { path } => {
            if let Some(base) = base(path) {
                search.matches(&base, without_notice(output));
            }
        }
        Naming::Command { line } => {
            search.command(line, cwd, output);
        }
    }
    search.found
}

/// Removes a final notice such as `[500 entries limit reached. …]`, which follows an empty line.
fn without_notice(output: &str) -> &str {
    match output.rsplit_once("\n\n[") {
        Some((before, notice)) if notice.ends_with(']') => before,
        _ => output,
    }
}

struct Search<'a> {
    look: &'a dyn Fn(&Path) -> Option<Location>,
    limits: DiscoveryLimits,
    /// The paths that were looked up, and whether files are there.
    known: HashMap<PathBuf, bool>,
    found: Vec<Location>,
    seen: HashSet<Location>,
}

impl Search<'_> {
    /// Whether a regular file is at a path, and if so, adds it to the files found. Always `false` once a limit is
    /// reached.
    fn is_file(&mut self, path: PathBuf) -> bool {
        if let Some(is_file) = self.known.get(&path) {
            return *is_file;
        }
        if self.is_over() || path.as_os_str().len() > MAX_PATH_BYTES {
            return false;
        }
        let file = (self.look)(&path);
        self.known.insert(path, file.is_some());
        let is_file = file.is_some();
        self.found.extend(file.filter(|file| self.seen.insert(file.clone())));
        is_file
    }

    fn is_over(&self) -> bool {
        self.found.len() >= self.limits.files || self.known.len() >= self.limits.look_ups
    }

    fn listing(&mut self, base: &Path, output: &str) {
        for line in output.lines().filter(|line| !line.is_empty() && !line.ends_with('/')) {
            if self.is_over() {
                break;
            }
            // OpenClaw writes names as JSON.
            if !self.is_file(base.join(line))
                && let Ok(name) = serde_json::from_str::<String>(line)
            {
                self.is_file(base.join(name));
            }
        }
    }

    /// Reads `path:12: text` (a match), `path-12- text` (context), `path:12:text` and bare paths. A path may contain such
    /// marks itself, so the shortest one that exists counts.
    fn matches(&mut self, base: &Path, output: &str) {
        // A search in one file shows only the last part of its path, so all that matters is whether it matched.
        let matched = output.lines().any(|line| output::mark_offsets(line).next().is_some());
        if matched && self.is_file(base.to_owned()) {
            return;
        }
        for line in output.lines() {
            if self.is_over() {
                break;
            }
            let line = output::cut(line, MAX_PATH_BYTES);
            let mut offsets = output::mark_offsets(line).take(output::MAX_MARKS);
            if !offsets.any(|offset| self.is_file(base.join(&line[..offset]))) {
                output::suggest(line, &mut |path| {
                    !path.is_empty() && self.is_file(base.join(path))
                });
            }
        }
    }

    fn command(&mut self, line: &str, cwd: &Path, output: &str) {
        let commands = commands(line, cwd);
        for placed in commands.iter().filter(|placed| !placed.command.is_elsewhere) {
            for path in placed.paths() {
                self.is_file(path);
            }
        }
        let all = || commands.iter().map(|placed| &placed.command);
        let mut speaking =
            all().filter(|command| command.is_shown && !shows_nothing(command)).peekable();
        let is_text = speaking.peek().is_some() && speaking.all(shows_text_of_files);
        if is_text || all().any(|command| command.is_elsewhere) {
            return;
        }
        let folders = folders(&commands, cwd);
        let lists = commands.iter().any(is_list);
        let mut heading = None;
        for line in output.lines() {
            if self.is_over() {
                break;
            }
            if line.is_empty() {
                heading = None;
            } else if let Some(folder) = output::folder_heading(line).filter(|_| lists) {
                heading = Some(cwd.join(folder));
            }
            output::suggest(line, &mut |path| {
                !path.is_empty()
                    && heading.iter().chain(&folders).any(|base| self.is_file(base.join(path)))
            });
        }
    }
}

/// Whether a command lists folders by bare names.
fn is_list(placed: &PlacedCommand) -> bool {
    placed.command.program() == "ls"
}

/// Folders in which names from the output may be, the likeliest first: those that `ls` was given, then those where
/// commands ran, the last first.
fn folders(commands: &[PlacedCommand], cwd: &Path) -> Vec<PathBuf> {
    let listed = commands.iter().filter(|placed| is_list(placed)).flat_map(PlacedCommand::paths);
    let ran = commands.iter().rev().filter_map(|placed| placed.folder.clone());
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in listed.chain(ran).chain([cwd.to_owned()]) {
        if folders.len() < MAX_FOLDERS && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

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
    #[expect(clippy::disallowed_methods, reason = "times itself")]
    fn what_is_looked_at_is_bounded() {
        for unit in [
            "a-1-", "a:1:", "(", "$(", "`", "'", "\"", "<<E\n", "cd a;", "a/", "bash -c ",
            "\u{1b}[", "é",
        ] {
            let text = unit.repeat(4 << 20 >> unit.len().ilog2());
            let looked = std::cell::Cell::new(0);
            let look = |_: &Path| {
                looked.set(looked.get() + 1);
                None
            };
            let begin = std::time::Instant::now();
            let naming = Naming::Command { line: &text };
            assert_eq!(discovered_files(naming, Path::new("/w"), &text, LIMITS, &look), []);
            assert!(looked.get() <= LIMITS.look_ups);
            assert!(begin.elapsed().as_secs() < 5, "{unit:?} took {:?}", begin.elapsed());
        }
    }
}
