//! Checks a host's own `write` and `edit` calls on memory files: a secret blocks the call, any
//! other finding is reported with its result. Must not run a call or write a file.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::checks::{CheckLimits, check_new_lines, new_secret};
use super::finding::{FindingCode, MemoryFinding};
use super::identity::{KnownPage, carry_over};
use super::page::Page;
use super::parse::parse;
use super::scope::{Folders, Scope};
use base::harness::{Call, FileAccess, Patched};
use base::object::quote;
use base::path::without_dots;
use config::{MEMORY_CONFIG_FILE, MemorySettings};
use context::stand_ins::first_stand_in;
use source::{canonical_path, read_text, resolve_path};

/// Largest file that is checked.
const MAX_BYTES: u64 = 4 << 20;

/// From how many entries on an edit that takes them out is told.
const MANY_DROPPED: usize = 5;

/// What the model hears when it writes into the memory of a project that its user has not trusted.
const NOT_TRUSTED: &str = "Nothing was written: the user has not said that they trust this project's memory, so no session reads it. \
     They can say so by `palimpsest trust`; global memory can be written.";

/// A memory file that a call changes.
struct Target<'a> {
    scope: Scope,
    /// Path in the scope's folder, with `/`.
    file: String,
    path: PathBuf,
    /// The path as the call gives it.
    given: &'a str,
}

/// A host's call, where memory lives, and the working folder: the base of relative paths in the
/// call.
#[derive(Clone, Copy)]
pub(super) struct Guarded<'m, 'a> {
    folders: &'m Folders,
    cwd: &'m Path,
    call: Call<'a>,
}

impl<'m, 'a> Guarded<'m, 'a> {
    pub(super) fn new(folders: &'m Folders, cwd: &'m Path, tool: &str, args: &'a Value) -> Self {
        Self { folders, cwd, call: Call::new(tool, args) }
    }

    /// Why the call must not run: it would put a secret into a memory file, or write into memory
    /// that does not count, unseen beside what others left there. `None` for everything else.
    pub(super) fn refusal(self) -> Option<String> {
        if self.written_paths().iter().any(|path| self.is_in_refused(path)) {
            return Some(NOT_TRUSTED.to_owned());
        }
        self.targets().into_iter().find_map(|target| {
            let before = read_text(&target.path, MAX_BYTES).unwrap_or_default();
            let after = text_after(self.call, &target, &before);
            let is_new = |line: &&str| !before.contains(*line);
            if let Some(line) = after.lines().filter_map(first_stand_in).find(is_new) {
                return Some(format!(
                    "`{}` stands for content of this conversation, and means nothing to a later one: nothing was written to `{}`. \
                     Say what it stands for instead.",
                    quote::line(line),
                    quote::name(target.given)
                ));
            }
            let rule = new_secret(&before, &after)?;
            Some(format!(
                "The text looks like it holds a secret ({rule}), and memory never keeps secrets: nothing was written to `{}`. Say where \
                 the secret is kept instead.",
                quote::name(target.given)
            ))
        })
    }

    /// Whether the call writes into a memory folder, whether or not that memory counts.
    pub(super) fn writes_memory(self) -> bool {
        let is_memory = |path: &PathBuf| self.find(path).is_some() || self.is_in_refused(path);
        self.written_paths().iter().any(is_memory)
    }

    /// Whether the call writes a memory file in a readable scope.
    pub(super) fn writes_own(self) -> bool {
        self.written_paths().iter().any(|path| self.find(path).is_some())
    }

    /// Whether the call writes at or below one of these places, but no memory file in a readable
    /// scope.
    pub(super) fn writes_beside(self, places: &[PathBuf]) -> bool {
        let written = self.written_paths();
        if written.is_empty() {
            return false;
        }
        let places: Vec<PathBuf> = places.iter().map(|place| canonical_path(place)).collect();
        let folders = self.folders.canonical();
        written.iter().map(|path| canonical_path(path)).any(|path| {
            places.iter().any(|place| path.starts_with(place)) && folders.find(&path).is_none()
        })
    }

    /// What the call is about to write.
    pub(super) fn about_to_write(self) -> Writing {
        let targets = self.targets();
        let texts = targets.iter().filter(|target| target.file != MEMORY_CONFIG_FILE);
        let texts = texts
            .filter_map(|target| Some((target.path.clone(), read_text(&target.path, MAX_BYTES)?)));
        let texts = texts.collect();
        let in_project = targets.into_iter().filter(|target| is_in_project(target.scope));
        Writing { in_project: in_project.map(|target| target.file).collect(), texts }
    }

    /// The memory files that the call wrote. `before`: the texts before it, which are taken out.
    pub(super) fn written(self, before: &mut HashMap<PathBuf, String>) -> Vec<MemoryWrite<'a>> {
        let texts = self.call.new_texts();
        let lines: HashSet<&str> =
            texts.iter().flat_map(|text| text.lines()).map(str::trim).collect();
        let is_new = |line: &str| !line.trim().is_empty() && lines.contains(line.trim());
        let written = self.targets().into_iter().map(|target| {
            let Target { scope, file, path, given } = target;
            let text = read_text(&path, MAX_BYTES);
            let pages = text.as_deref().filter(|_| file != MEMORY_CONFIG_FILE);
            let mut pages = pages.map(|text| parse(scope, &file, text)).unwrap_or_default();
            pages.retain(|page| page.text.lines().any(is_new));
            let (before, texts) = (before.remove(&path), texts.clone());
            let is_whole = self.call.content().is_some();
            MemoryWrite { scope, file, given, before, pages, path, text, texts, is_whole }
        });
        written.collect()
    }

    /// The memory files that the call changes: Markdown, and the settings.
    fn targets(self) -> Vec<Target<'a>> {
        let targets = self.writes().filter_map(|given| {
            let path = resolve_path(given, self.cwd).ok()?;
            let (scope, file) = self.find(&path)?;
            let is_ours = file == MEMORY_CONFIG_FILE || file.to_lowercase().ends_with(".md");
            is_ours.then(|| Target { scope, file, path: canonical_path(&path), given })
        });
        targets.collect()
    }

    /// The paths that the call may write: hosts differ in what they make of a leading `@`, and of
    /// spaces other than the plain one.
    fn written_paths(self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for given in self.writes() {
            let bare = given.strip_prefix('@').unwrap_or(given);
            paths.extend(resolve_path(given, self.cwd).ok());
            paths.extend([bare, given].map(|path| without_dots(&self.cwd.join(path))));
        }
        paths.dedup();
        paths
    }

    /// The paths that the call writes, as it gives them.
    fn writes(self) -> impl Iterator<Item = &'a str> {
        let touches = self.call.touches().into_iter();
        touches.filter(|touch| touch.access != FileAccess::Read).map(|touch| touch.path)
    }

    fn is_in_refused(self, path: &Path) -> bool {
        let folders = self.folders;
        folders.is_in_refused(path) || folders.canonical().is_in_refused(&canonical_path(path))
    }

    /// The scope of a file, however its path and its folder's are spelled, and its path in the
    /// scope's folder.
    fn find(self, path: &Path) -> Option<(Scope, String)> {
        self.folders.find(path).or_else(|| self.folders.canonical().find(&canonical_path(path)))
    }
}

/// What a call is about to write.
pub(super) struct Writing {
    /// The files of a project's memory, by their paths in its folder.
    pub(super) in_project: Vec<String>,
    /// The texts of memory files before it, by their paths.
    pub(super) texts: Vec<(PathBuf, String)>,
}

fn is_in_project(scope: Scope) -> bool {
    matches!(scope, Scope::Project | Scope::Local)
}

/// A memory file as a call left it.
pub(super) struct MemoryWrite<'a> {
    pub(super) scope: Scope,
    /// Path in the scope's folder, with `/`.
    pub(super) file: String,
    /// The path as the call gives it.
    pub(super) given: &'a str,
    /// The text before the call, if it was there.
    pub(super) before: Option<String>,
    /// The pages with a line that the call wrote.
    pub(super) pages: Vec<Page>,
    path: PathBuf,
    text: Option<String>,
    /// The texts that the call wrote.
    texts: Vec<&'a str>,
    /// Whether the call gives the whole text.
    is_whole: bool,
}

impl MemoryWrite<'_> {
    /// Whether it is in a project's memory.
    pub(super) fn is_in_project(&self) -> bool {
        is_in_project(self.scope)
    }

    /// The pages that did not stand there before.
    pub(super) fn new_pages(&self) -> impl Iterator<Item = &Page> {
        let before = self.before.as_deref().unwrap_or_default();
        self.pages.iter().filter(move |page| !before.contains(page.text.trim()))
    }

    /// Findings about its current state.
    pub(super) fn findings(&self, limits: CheckLimits) -> Vec<MemoryFinding> {
        let Some(text) = &self.text else { return Vec::new() };
        let findings = if self.file == MEMORY_CONFIG_FILE {
            let is_project = self.scope != Scope::Global;
            let wrong = MemorySettings::check(&self.path, text, is_project).err().into_iter();
            wrong
                .map(|error| MemoryFinding::new(FindingCode::BadConfig, error.to_string()))
                .collect()
        } else {
            check_new_lines(self.scope, &self.file, text, &self.texts, limits)
        };
        findings.into_iter().map(|one| one.of_file(self.given)).collect()
    }

    /// The pages that are gone by the call, if these are told: whoever writes a whole file may have
    /// forgotten some, and an edit that takes out several may have taken out too many.
    pub(super) fn dropped(&self) -> Option<Vec<Page>> {
        let known = parse(self.scope, &self.file, self.before.as_deref()?);
        let mut pages = parse(self.scope, &self.file, self.text.as_deref().unwrap_or_default());
        let was: Vec<KnownPage> = known.iter().map(KnownPage::of).collect();
        carry_over(&mut pages.iter_mut().collect::<Vec<_>>(), &was);
        let is_gone = |page: &Page| pages.iter().all(|other| other.id != page.id);
        let gone: Vec<Page> = known.into_iter().filter(is_gone).collect();
        let least = if self.is_whole { 1 } else { MANY_DROPPED };
        (gone.len() >= least).then_some(gone)
    }
}

/// The content of a file after a call. If the call's old text is not found, its new text counts as
/// added to the current text.
fn text_after(call: Call<'_>, target: &Target<'_>, before: &str) -> String {
    match call.patched(target.given, Some(before)) {
        Some(Patched::Text(text)) => return text,
        Some(Patched::Gone) => return String::new(),
        None => {}
    }
    if let Some(content) = call.content() {
        return content.to_owned();
    }
    let mut text = before.to_owned();
    let replacements = call.replacements();
    for (old, new) in &replacements {
        if old.is_empty() || !text.contains(old) {
            text.push('\n');
            text.push_str(new);
        } else if call.replaces_all() {
            text = text.replace(old, new);
        } else {
            text = text.replacen(old, new, 1);
        }
    }
    if replacements.is_empty() {
        for new in call.new_texts() {
            text.push('\n');
            text.push_str(new);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LIMITS: CheckLimits = CheckLimits { lines: 200, bytes: 8_192 };
    const KEY: &str = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";

    struct Desk(tempfile::TempDir);

    impl Desk {
        fn new() -> Self {
            let desk = Self(tempfile::tempdir().unwrap());
            std::fs::create_dir_all(desk.0.path().join(".pi/memory/archive")).unwrap();
            desk
        }

        fn write(&self, file: &str, text: &str) {
            std::fs::write(self.0.path().join(file), text).unwrap();
        }

        fn folders(&self) -> Folders {
            Folders::new(Some(&self.0.path().join("a")), Some(self.0.path()), true)
        }

        fn refused(&self, tool: &str, args: &Value) -> bool {
            let refusal = Guarded::new(&self.folders(), self.0.path(), tool, args).refusal();
            assert!(refusal.as_ref().is_none_or(|words| !words.contains("ghp_")));
            refusal.is_some()
        }
    }

    #[test]
    fn a_secret_in_any_form_blocks_a_call_on_memory_only() {
        let desk = Desk::new();
        let index = ".pi/memory/MEMORY.md";
        desk.write(index, "- key: KEY\n- b\n");
        let absolute = desk.0.path().join(index);
        let patch =
            format!("*** Begin Patch\n*** Update File: {index}\n@@\n-- b\n+- {KEY}\n*** End Patch");
        for (tool, args, expected) in [
            ("write", json!({ "path": index, "content": format!("- {KEY}\n") }), true),
            ("Write", json!({ "file_path": absolute, "content": format!("- {KEY}\n") }), true),
            ("write", json!({ "path": "x/../.pi/memory/archive/old.md", "content": KEY }), true),
            ("write", json!({ "path": ".pi/memory/MEMORY.local.md", "content": KEY }), true),
            ("write", json!({ "path": ".pi/memory/config.json", "content": KEY }), true),
            (
                "edit",
                json!({ "path": index, "edits": [{ "oldText": "KEY", "newText": KEY }] }),
                true,
            ),
            ("edit", json!({ "path": index, "oldText": "gone", "newText": KEY }), true),
            ("apply_patch", json!({ "input": patch }), true),
            ("apply_patch", json!({ "input": patch.replace("*** Update", " *** Update") }), true),
            ("write", json!({ "path": index, "content": "- clean\n" }), false),
            ("write", json!({ "path": "notes.md", "content": KEY }), false),
            ("write", json!({ "path": ".pi/memory.md", "content": KEY }), false),
            ("read", json!({ "path": index }), false),
            ("write", json!({ "path": 5 }), false),
            ("write", json!("x"), false),
        ] {
            assert_eq!(desk.refused(tool, &args), expected, "{tool} {args}");
        }
    }

    #[test]
    fn a_secret_across_parts_counts_but_not_an_existing_one() {
        let desk = Desk::new();
        let index = ".pi/memory/MEMORY.md";
        desk.write(index, &format!("- GITHUB: {KEY}\n- password = HERE\n"));
        let edit = |old: &str, new: &str| {
            desk.refused("edit", &json!({ "path": index, "oldText": old, "newText": new }))
        };
        assert!(!edit("- password = HERE\n", "- b\n"));
        assert!(edit("HERE", "q8Zk3vT1xW7mB2nL"));
    }

    #[test]
    fn memory_takes_no_line_that_stands_for_content() {
        let desk = Desk::new();
        let index = ".pi/memory/MEMORY.md";
        let line = "- Tests: [t17] exit 0 · 412 lines · last: \"ok\"";
        desk.write(index, &format!("{line}\n- b\n"));
        let write = |file: &str, text: &str| {
            desk.refused("write", &json!({ "path": file, "content": text }))
        };
        assert!(!write(index, &format!("{line}\n- c\n")), "it stood there");
        assert!(write(index, &format!("{line}\n- f3 unchanged; lines 1-210 stand above\n")));
        assert!(write(".pi/memory/topic.md", &format!("{line}\n")));
        assert!(!write("notes.md", &format!("{line}\n")), "it is no memory");
        assert!(!write(".pi/memory/topic.md", "- [t1] is a tag\n"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_memory_file_is_one() {
        let desk = Desk::new();
        desk.write(".pi/memory/MEMORY.md", "");
        std::os::unix::fs::symlink(".pi/memory/MEMORY.md", desk.0.path().join("n.md")).unwrap();
        assert!(desk.refused("write", &json!({ "path": "n.md", "content": KEY })));
    }

    #[cfg(unix)]
    #[test]
    fn a_write_is_known_by_any_spelling_and_link() {
        let desk = Desk::new();
        let root = desk.0.path();
        for link in ["mem", "@at", "a\u{a0}b"] {
            std::os::unix::fs::symlink(".pi/memory", root.join(link)).unwrap();
        }
        let (folders, file) = (desk.folders(), root.join(".pi/memory/a.md"));
        let own = |path: &str| {
            Guarded::new(&folders, root, "write", &json!({ "path": path })).writes_own()
        };
        for path in [
            ".pi/memory/a.md",
            "@.pi/memory/a.md",
            "mem/a.md",
            "@mem/a.md",
            "@at/a.md",
            "a\u{a0}b/a.md",
            "@a\u{a0}b/a.md",
            "\u{a0}/../.pi/memory/a.md",
        ] {
            assert!(own(path), "{path}");
        }
        assert!(own(&format!("file://{}", file.display())));
        assert!(!own("notes.md") && !own("memory/a.md"));
    }

    #[cfg(unix)]
    #[test]
    fn a_conversation_writes_beside_its_own_memory_nowhere() {
        let desk = Desk::new();
        let agent = desk.0.path().join("a");
        let group = Folders::of_conversation(&agent, "group");
        let own = group.folder(Scope::Conversation).unwrap().to_owned();
        let others = own.with_file_name("0000");
        for folder in [&own, &others] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::os::unix::fs::symlink(&others, own.join("link")).unwrap();
        let places = [agent.join("palimpsest"), agent.join("palimpsest.json")];
        let beside = |path: &Path| {
            Guarded::new(&group, desk.0.path(), "write", &json!({ "path": path }))
                .writes_beside(&places)
        };
        assert!(!beside(&own.join("MEMORY.md")) && !beside(Path::new("notes.md")));
        for path in [
            others.join("MEMORY.md"),
            own.join("link/MEMORY.md"),
            agent.join("palimpsest/trust.json"),
            agent.join("palimpsest.json"),
        ] {
            assert!(beside(&path), "{}", path.display());
        }
    }

    #[test]
    fn an_untrusted_project_has_no_memory_files() {
        let desk = Desk::new();
        let folders = Folders::new(Some(&desk.0.path().join("a")), Some(desk.0.path()), false);
        let args = json!({ "path": ".pi/memory/MEMORY.md", "content": KEY });
        assert_eq!(Guarded::new(&folders, desk.0.path(), "write", &args).refusal(), None);
    }

    #[test]
    fn what_else_is_found_is_told_afterwards_by_file_and_line() {
        let desk = Desk::new();
        let found = |file: &str, text: &str| {
            desk.write(file, text);
            let args = json!({ "path": file, "content": text });
            let mut before = HashMap::new();
            let folders = desk.folders();
            let call = Guarded::new(&folders, desk.0.path(), "write", &args);
            let written = call.written(&mut before);
            let found = written.iter().flat_map(|file| file.findings(LIMITS)).collect::<Vec<_>>();
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            found(".pi/memory/MEMORY.md", "- CI: green\n- x\n- CI: red\n"),
            [
                ".pi/memory/MEMORY.md:3: the entry gives its key another value than line 1: \"CI: green\""
            ]
        );
        let config = found(".pi/memory/config.json", "{\"enabeld\": true}");
        assert!(config[0].contains("`enabeld` is not a setting, `enabled` is"), "{config:?}");
        assert_eq!(found(".pi/memory/config.json", "{\"enabled\": true}"), [""; 0]);
        assert_eq!(found("notes.md", "- a\n- a\n"), [""; 0]);
    }
}
