//! Imports what other programs remember as entries and topic files: Claude Code's memory of a
//! project, and notes that people write for it. Only reads the other program's files; imported
//! items are staged like any others. Reports first what it would take.

mod other_programs;
mod rules;

use files::looks;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;

use self::other_programs::{NOTES, claude_folder, claude_memory};
use self::rules::rules_of;
use super::checks::{LONG_ENTRY_CHARS, position_of, refuse_secret};
use super::finding::{FindingCode, MemoryFinding};
use super::journal::{Author, BETWEEN_HEADINGS, Draft, MAX_OPERATION_BYTES};
use super::kind::is_step;
use super::page::Page;
use super::parse::{parse, without_marker};
use super::scope::{INDEX_FILE, Scope};
use base::markdown;
use base::object::quote;
use source::{FileState, canonical_path, obstacle, read_file};

/// Largest file that is read, and most files of a folder.
const MAX_BYTES: u64 = 1 << 20;
const MAX_FILES: usize = 500;

/// What to import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportFrom {
    /// Claude Code's memory of the project.
    ClaudeMemory,
    /// Notes that people wrote for Claude Code: the project's `CLAUDE.md`, `.claude/CLAUDE.md` and
    /// `CLAUDE.local.md`, and the user's own.
    Notes,
    /// A file of notes, or a memory folder.
    Path(PathBuf),
}

/// Where to look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportPlaces {
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// The value of `CLAUDE_CONFIG_DIR`.
    pub claude_config_dir: Option<String>,
    /// The project's folder, only if the user trusts it.
    pub project: Option<PathBuf>,
}

/// The decision about a found item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// It is taken.
    Take,
    /// It exists already, or waits to be written.
    Duplicate,
    /// It is not taken.
    Refused {
        /// Why.
        reason: String,
    },
}

/// A found item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportItem {
    /// Where it goes.
    pub scope: Scope,
    /// What would be written.
    #[serde(flatten)]
    pub draft: Draft,
    /// The decision about it.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Its operation, once staged.
    pub id: Option<String>,
}

/// What an import would take, or took.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportPlan {
    /// The items found, in their original order.
    pub items: Vec<ImportItem>,
    /// Files read.
    pub files: Vec<String>,
    /// Files or parts that could not be read.
    pub findings: Vec<MemoryFinding>,
}

/// Existing memory.
#[derive(Debug, Default)]
pub(super) struct Here {
    /// Entries of all indexes, and those waiting for one.
    pub(super) entries: Vec<Page>,
    /// Texts of topic files, and of those waiting to be written, by scope and name.
    pub(super) topics: BTreeMap<(Scope, String), String>,
}

/// Examines what is to be imported. `scope`: the destination; `None`: a person's own notes in the
/// project stay theirs, the user's own become global, everything else goes into the project's
/// memory.
pub(super) fn plan(
    from: &ImportFrom,
    scope: Option<Scope>,
    places: &ImportPlaces,
    here: &Here,
) -> ImportPlan {
    let mut plan = ImportPlan::default();
    let claude = claude_folder(places.home.as_deref(), places.claude_config_dir.as_deref());
    let project = places.project.as_deref();
    match from {
        ImportFrom::ClaudeMemory => {
            let folder =
                claude.zip(project).and_then(|(claude, project)| claude_memory(&claude, project));
            if let Some(folder) = folder {
                let drafts = plan.memory(&folder, "Claude Code's memory");
                plan.add(scope.unwrap_or(Scope::Project), drafts);
            }
        }
        ImportFrom::Notes => {
            for (name, own) in project.iter().flat_map(|_| NOTES) {
                let project = project.unwrap_or(Path::new(""));
                let drafts = plan.notes(&project.join(name), Some(project), name);
                plan.add(scope.unwrap_or(own), drafts);
            }
            if let Some(claude) = claude {
                let drafts = plan.notes(&claude.join("CLAUDE.md"), None, "the user's CLAUDE.md");
                plan.add(scope.unwrap_or(Scope::Global), drafts);
            }
        }
        ImportFrom::Path(path) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let drafts = if path.is_dir() && rules::are_in(path) {
                plan.rules(path, &name)
            } else if path.is_dir() {
                plan.memory(path, &name)
            } else {
                plan.notes(path, None, &name)
            };
            plan.add(scope.unwrap_or(Scope::Project), drafts);
        }
    }
    judge(&mut plan, here);
    plan
}

impl ImportPlan {
    fn add(&mut self, scope: Scope, drafts: Vec<Draft>) {
        let items = drafts.into_iter().map(|draft| {
            let is_entry = draft.file == INDEX_FILE;
            let file = if is_entry { scope.index_file().to_owned() } else { draft.file };
            ImportItem { scope, draft: Draft { file, ..draft }, verdict: Verdict::Take, id: None }
        });
        self.items.extend(items);
    }

    /// Entries and topic files of a folder with our layout: an index, and files that it links to.
    fn memory(&mut self, folder: &Path, origin: &str) -> Vec<Draft> {
        let is_markdown = |name: &str| {
            !name.starts_with('.') && Path::new(name).extension().is_some_and(|end| end == "md")
        };
        let names = self.listed(folder, is_markdown);
        let topics: Vec<(String, String)> = names
            .iter()
            .filter(|name| *name != INDEX_FILE)
            .filter_map(|name| Some((name.clone(), self.text(&folder.join(name), Some(folder))?)))
            .collect();
        let index = if names.iter().any(|name| name == INDEX_FILE) {
            self.text(&folder.join(INDEX_FILE), Some(folder)).unwrap_or_default()
        } else {
            String::new()
        };
        let mut drafts = entries(&index, &format!("{origin}, {INDEX_FILE}"));
        let linked: BTreeSet<String> =
            markdown::parse(&index).links.into_iter().map(|link| link.target).collect();
        for (name, text) in topics {
            let stem = name.strip_suffix(".md").unwrap_or(&name);
            if !linked.contains(&name) && !linked.contains(stem) {
                drafts.push(entry(pointer(&name, &text), None, format!("{origin}, {name}")));
            }
            let origin = Some(format!("{origin}, {name}"));
            drafts.push(Draft { file: name, text, heading: None, by: Author::Import, origin });
        }
        drafts
    }

    /// Entries of a file of notes. `within`: the folder that must contain it.
    fn notes(&mut self, path: &Path, within: Option<&Path>, origin: &str) -> Vec<Draft> {
        let Some(text) = self.text(path, within) else { return Vec::new() };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut drafts = if rules::is_rule(&name) {
            rules_of(&name, &text, origin)
        } else {
            entries(&text, origin)
        };
        if rules::is_of_agents(&name) {
            // What stands there is to be obeyed, whatever its headings say.
            for draft in &mut drafts {
                draft.heading.get_or_insert_with(|| rules::HEADING.to_owned());
            }
        }
        drafts
    }

    /// Entries of a folder of rules, one file for each subject.
    fn rules(&mut self, folder: &Path, origin: &str) -> Vec<Draft> {
        let mut drafts = Vec::new();
        for name in self.listed(folder, rules::is_kept) {
            let Some(text) = self.text(&folder.join(&name), Some(folder)) else { continue };
            drafts.extend(rules_of(&name, &text, &format!("{origin}, {name}")));
        }
        drafts
    }

    /// The files directly in a folder that are meant, sorted; a finding reports what of it is not
    /// looked at.
    fn listed(&mut self, folder: &Path, is_meant: impl Fn(&str) -> bool) -> Vec<String> {
        let (names, left) = files_of(folder, is_meant);
        let left = left.map(|left| MemoryFinding::new(FindingCode::LeftOut, left).at(folder, None));
        self.findings.extend(left);
        names
    }

    /// The text of a file; a finding reports a file that cannot be read, or a link that leads out
    /// of the folder that must contain it. A missing file has no text and no finding.
    fn text(&mut self, path: &Path, within: Option<&Path>) -> Option<String> {
        let leads_out = |within: &Path| !canonical_path(path).starts_with(canonical_path(within));
        if within.is_some_and(leads_out) {
            let words = "it is a link that leads elsewhere: it is not read";
            self.findings.push(MemoryFinding::new(FindingCode::LeadsOut, words).at(path, None));
            return None;
        }
        let state = read_file(path, MAX_BYTES).state;
        let why = obstacle(path, &state);
        let (code, words) = match state {
            FileState::Text { text, .. } => {
                self.files.push(path.to_string_lossy().into_owned());
                return Some(text);
            }
            FileState::Missing => return None,
            FileState::Binary { .. } => (FindingCode::NotText, "it is not UTF-8".to_owned()),
            FileState::TooLarge { size } => (
                FindingCode::TooLarge,
                format!("it has {size} bytes, at most {MAX_BYTES} are read"),
            ),
            _ => (FindingCode::Unreadable, why.unwrap_or_else(|| "it cannot be read".to_owned())),
        };
        self.findings.push(MemoryFinding::new(code, words).at(path, None));
        None
    }
}

/// Decides about each item, compared with existing memory and the items before it. Topic files come
/// first: an entry that links to a refused file is refused too.
fn judge(plan: &mut ImportPlan, here: &Here) {
    let mut topics = here.topics.clone();
    let mut left: Vec<String> = Vec::new();
    for item in plan.items.iter_mut().filter(|item| !is_entry(item)) {
        item.verdict = unfit(&item.draft).unwrap_or_else(|| judge_topic(item, &mut topics));
        if matches!(item.verdict, Verdict::Refused { .. }) {
            left.push(item.draft.file.clone());
        }
    }
    let mut entries: BTreeMap<Scope, Vec<Page>> = BTreeMap::new();
    for page in &here.entries {
        entries.entry(page.place.scope).or_default().push(page.clone());
    }
    for item in plan.items.iter_mut().filter(|item| is_entry(item)) {
        let text = item.draft.text.trim();
        let links = markdown::parse(text).links;
        let lost = links.iter().find(|link| left.contains(&link.target));
        item.verdict = match lost {
            Some(link) => {
                let reason = format!("what it leads to, `{}`, is not taken", link.target);
                Verdict::Refused { reason }
            }
            None => unfit(&item.draft)
                .unwrap_or_else(|| judge_entry(item, entries.entry(item.scope).or_default())),
        };
    }
    for item in plan.items.iter_mut().filter(|item| item.verdict != Verdict::Take) {
        item.draft = item.draft.clone().redacted();
    }
}

fn is_entry(item: &ImportItem) -> bool {
    item.draft.file == item.scope.index_file()
}

/// The verdict on what memory never takes.
fn unfit(draft: &Draft) -> Option<Verdict> {
    let bytes = draft.text.len();
    let reason = match refuse_secret(draft) {
        Err(error) => error.to_string(),
        Ok(()) if bytes > MAX_OPERATION_BYTES => {
            format!("it has {bytes} bytes, at most {MAX_OPERATION_BYTES} fit")
        }
        Ok(()) => return None,
    };
    Some(Verdict::Refused { reason })
}

fn judge_entry(item: &ImportItem, entries: &mut Vec<Page>) -> Verdict {
    let Some(page) = item.draft.page(item.scope) else {
        return Verdict::Refused { reason: "it has no words".to_owned() };
    };
    if position_of(&page, entries).is_some() {
        return Verdict::Duplicate;
    }
    entries.push(page);
    Verdict::Take
}

fn judge_topic(item: &ImportItem, topics: &mut BTreeMap<(Scope, String), String>) -> Verdict {
    let text = item.draft.text.trim_end();
    if item.scope == Scope::Local {
        let reason = "a topic file would be shared with the project: import it into the project's memory, or into the global one";
        return Verdict::Refused { reason: reason.to_owned() };
    }
    match topics.get(&(item.scope, item.draft.file.clone())) {
        Some(known) if known.trim_end() == text => Verdict::Duplicate,
        Some(_) => {
            Verdict::Refused { reason: "another file of this name is there already".to_owned() }
        }
        None => {
            topics.insert((item.scope, item.draft.file.clone()), text.to_owned());
            Verdict::Take
        }
    }
}

/// The entries of a text: list items and other blocks, each with the code that follows it. The
/// steps of a numbered list are one entry, and so are the items of a list with the words that
/// announce it, as many as an entry has room for.
fn entries(text: &str, origin: &str) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = Vec::new();
    // A file's title says nothing about its entries.
    let headings = markdown::parse(text).headings;
    let titles: Vec<String> =
        headings.into_iter().filter(|one| one.level == 1).map(|one| one.text).collect();
    for page in parse(Scope::Project, INDEX_FILE, text) {
        let is_step = is_step(&page.text);
        let announced = page.announced(usize::MAX);
        let keeps_marker = is_step || page.lead_in.is_some();
        let text =
            if keeps_marker { page.text.trim().to_owned() } else { without_marker(&page.text) };
        let path: Vec<_> =
            page.place.headings.iter().filter(|one| !titles.contains(one)).cloned().collect();
        let heading = Some(path.join(BETWEEN_HEADINGS)).filter(|path| !path.is_empty());
        let last = drafts.last_mut().filter(|last| last.heading == heading);
        match last {
            Some(last) if is_code(&text) && !last.text.starts_with('@') => {
                last.text = format!("{}\n\n{text}", last.text);
            }
            Some(last) if takes(&last.text, &announced, &text) => {
                last.text = format!("{}\n{text}", last.text);
            }
            _ => {
                let name = path.last().map_or("Steps", String::as_str);
                let is_bare = is_step && page.lead_in.is_none();
                let text = if is_bare { format!("{name}:\n{text}") } else { announced + &text };
                drafts.push(entry(text, heading, format!("{origin}:{}", page.place.line)));
            }
        }
    }
    drafts
}

/// Whether an entry goes on with an item: with a step if it has some already, with another if the same
/// words announce both and there is room for it.
fn takes(entry: &str, announced: &str, item: &str) -> bool {
    if is_step(item) {
        return entry.lines().any(is_step) && entry.starts_with(announced);
    }
    let chars = entry.chars().count() + item.chars().count();
    !announced.is_empty() && entry.starts_with(announced) && chars < LONG_ENTRY_CHARS
}

fn entry(text: String, heading: Option<String>, origin: String) -> Draft {
    let file = INDEX_FILE.to_owned();
    Draft { file, text, heading, by: Author::Import, origin: Some(origin) }
}

fn is_code(text: &str) -> bool {
    text.starts_with("```") || text.starts_with("~~~")
}

/// The entry that links to a topic file: its title and its description of itself.
fn pointer(name: &str, text: &str) -> String {
    let document = markdown::parse(text);
    let field = |key: &str| {
        let fields = &document.front_matter.as_ref()?.fields;
        fields.get(key)?.as_str().map(str::trim).filter(|value| !value.is_empty())
    };
    // Any other heading says what stands below it alone.
    let heading = || document.headings.iter().find(|one| one.level == 1).map(|one| &*one.text);
    let stem = name.strip_suffix(".md").unwrap_or(name);
    let title = field("name").or_else(heading).unwrap_or(stem);
    let is_plain = !name.contains([' ', '(', ')', '<']);
    let place = if is_plain { name.to_owned() } else { format!("<{name}>") };
    match field("description") {
        Some(said) => format!("[{title}]({place}) — {said}"),
        None => format!("[{title}]({place})"),
    }
}

/// The files directly in a folder that are meant, sorted, and what of it is not looked at.
fn files_of(folder: &Path, is_meant: impl Fn(&str) -> bool) -> (Vec<String>, Option<String>) {
    let entries = looks::entries(folder, MAX_FILES).unwrap_or_default();
    let is_cut = entries.len() == MAX_FILES;
    let (mut names, mut folders) = (Vec::new(), Vec::new());
    for entry in entries {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            folders.extend(Some(name).filter(|name| !name.starts_with('.')));
        } else if is_meant(&name) {
            names.push(name);
        }
    }
    names.sort();
    folders.sort();
    let left = if is_cut {
        Some(format!("only {MAX_FILES} of what it holds are looked at"))
    } else {
        let count = folders.len();
        let first = folders.first().map(|first| quote::name(first).into_owned());
        first.map(|first| format!("the folders in it are not read: {count}, such as `{first}`"))
    };
    (names, left)
}

#[cfg(test)]
mod tests;
