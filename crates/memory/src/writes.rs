//! The host's interface for writing memory: staging, flushing, and checks of the host's own tools.
//! Must not know how a flush works.

use files::looks;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::Serialize;
use serde_json::Value;

use super::checks::{CheckLimits, check_entry, check_file, page_of};
use super::finding::MemoryFinding;
use super::flush::{FlushOptions, FlushReport, flush};
use super::guard::Guarded;
use super::import::{self, Here, ImportFrom, ImportItem, ImportPlaces, ImportPlan, Verdict};
use super::journal::{self, Draft, JOURNAL_FILE, Journal, Operation, OperationId};
use super::missing::Search;
use super::page::Page;
use super::scope::{Folders, Scope};
use super::sidecar::{MemoryFolder, finding_of};
use super::warning::Warning;
use super::{LOOK, Look, Memory, capture};
use base::error::{Error, Result};
use base::lock;
use base::object::{Hash, Timestamp};

/// Findings about a file, with the hash of the checked text.
pub(super) type Checked = HashMap<PathBuf, (Hash, Vec<MemoryFinding>)>;

/// A model as the host names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CaptureModel {
    /// Its provider.
    pub provider: String,
    /// Its ID at the provider.
    pub id: String,
}

/// An entry that waits for a flush.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remembered {
    /// Its operation's ID.
    pub id: String,
    /// The scope in which it waits.
    pub scope: Scope,
    /// What a flush would find about it now.
    pub findings: Vec<MemoryFinding>,
    /// The places of cited files that it rests on.
    #[serde(rename = "restsOn")]
    pub rests_on: Vec<String>,
}

/// The result of a flush in one folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FolderFlush {
    /// The folder's scope; entries of `MEMORY.local.md` are in the project's.
    pub scope: Scope,
    /// Its report.
    #[serde(flatten)]
    pub report: FlushReport,
    /// Why the flush failed; waiting operations keep waiting.
    pub failed: Option<MemoryFinding>,
}

/// An entry about to be staged, which may wait for other processes.
#[derive(Debug)]
pub struct Staging {
    scope: Scope,
    folder: MemoryFolder,
    draft: Draft,
    findings: Vec<MemoryFinding>,
    rests_on: Vec<String>,
    staged: Staged,
}

/// The operations that this process staged, each with its journal: only these can be its
/// flush misses.
pub(super) type Staged = Arc<Mutex<BTreeSet<(PathBuf, OperationId)>>>;

impl Staging {
    /// Stages the entry: it is on disk when this returns, and in the index after the next flush.
    ///
    /// # Errors
    /// `SECRET`, and nothing is written; `INVALID_ARGUMENT` if the text is empty or too long;
    /// `MEMORY_BUSY`, `OUTSIDE_PROJECT`, `FILE`.
    pub fn run(self, now: Timestamp) -> Result<Remembered> {
        let Self { scope, folder, draft, findings, rests_on, staged } = self;
        let id = journal::stage(&folder, vec![draft], false, now)?[0];
        note_staged(&staged, &folder, &[id]);
        Ok(Remembered { id: folder.name_of(id), scope, findings, rests_on })
    }
}

/// A flush of all folders, which may wait for other processes.
#[derive(Debug)]
pub struct Flush {
    places: Folders,
    folders: Vec<(Scope, MemoryFolder)>,
    options: FlushOptions,
}

impl Flush {
    /// Checks and writes the waiting operations of every folder, and completes interrupted flushes.
    /// Folders without work are left out.
    pub fn run(&self) -> Vec<FolderFlush> {
        let foreign = self.places.foreign();
        let flushed = self.folders.iter().map(|(scope, folder)| {
            let (report, failed) = match flush(folder, &self.options) {
                Ok(report) => (report, None),
                Err(error) => (FlushReport::default(), Some(finding_of(&error))),
            };
            if *scope == Scope::Project && !report.committed.is_empty() {
                let files = report.committed.iter().map(|done| &*done.operation.draft.file);
                self.places.note_written(files, &foreign);
            }
            FolderFlush { scope: *scope, report, failed }
        });
        flushed.filter(|done| !done.is_empty()).collect()
    }
}

/// Waiting operations of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// The folder's scope; entries of `MEMORY.local.md` are in the project's.
    pub scope: Scope,
    /// Whether a flush was interrupted.
    pub interrupted: bool,
    /// Operations that wait for a flush, then proposals that wait for a person's decision.
    pub operations: Vec<Operation>,
    /// Absolute paths of the files that a flush writes: meanwhile the host keeps its own tools away
    /// from them.
    pub files: Vec<String>,
}

impl FolderFlush {
    /// Whether there is nothing to report.
    pub fn is_empty(&self) -> bool {
        self.failed.is_none() && self.report == FlushReport::default()
    }
}

impl Memory {
    /// Prepares staging an entry for a scope's index. `heading`: the heading for it; `None`: the
    /// one that the text suggests.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the scope has no folder or may not be read.
    pub fn prepare_remember(
        &mut self,
        scope: Scope,
        text: &str,
        heading: Option<String>,
    ) -> Result<Staging> {
        // Whether the project counts is asked by a look.
        let look = self.look();
        let folder = self.memory_folder(scope)?;
        self.make_conversation()?;
        let (standing, beside): (Vec<Page>, Vec<Page>) =
            entries(&look).into_iter().partition(|page| page.place.scope == scope);
        let limits = CheckLimits::of(&look.settings);
        let draft = Draft { heading, ..Draft::entry(scope, text.trim()) };
        let mut findings = check_entry(&draft, scope, &standing, &beside, limits);
        let page = draft.page(scope);
        let missing = self.missing(page.iter(), Search::Project).into_iter();
        // It has no line yet.
        findings.extend(missing.map(|finding| MemoryFinding { line: None, ..finding }));
        let rests_on = page.map(|page| self.resting(&page)).unwrap_or_default();
        Ok(Staging { scope, folder, draft, findings, rests_on, staged: Arc::clone(&self.staged) })
    }

    /// Prepares a flush of all folders.
    pub fn prepare_flush(&mut self) -> Flush {
        let look = self.look();
        let options = FlushOptions {
            strict: look.settings.strict_writeback,
            limits: CheckLimits::of(&look.settings),
            beside: entries(&look),
        };
        Flush { places: self.folders.clone(), folders: self.memory_folders(), options }
    }

    /// Examines what other programs remember; with `apply`, stages what is taken, and the next
    /// flush writes it.
    ///
    /// `scope`: the destination; `None`: a person's own notes in the project stay theirs, the
    /// user's own become global, everything else goes into the project's memory.
    /// `claude_config_dir`: the value of `CLAUDE_CONFIG_DIR`.
    ///
    /// # Errors
    /// `FILE` if there is nothing at the path that is named; as [`Staging::run`], if something is
    /// staged.
    pub fn import(
        &mut self,
        from: &ImportFrom,
        scope: Option<Scope>,
        claude_config_dir: Option<String>,
        apply: bool,
    ) -> Result<ImportPlan> {
        if let ImportFrom::Path(path) = from {
            let missing = |source| Error::File { act: "read", path: path.clone(), source };
            std::fs::metadata(path).map_err(missing)?;
        }
        let here = self.here();
        let folder = self.folders.folder(Scope::Project);
        let project = folder.and_then(|folder| folder.parent()?.parent()).map(Path::to_owned);
        let places = ImportPlaces { home: self.home.clone(), claude_config_dir, project };
        let mut plan = import::plan(from, scope, &places, &here);
        if !apply {
            return Ok(plan);
        }
        for scope in Scope::ALL {
            let taken =
                |item: &&mut ImportItem| item.scope == scope && item.verdict == Verdict::Take;
            let items: Vec<&mut ImportItem> = plan.items.iter_mut().filter(taken).collect();
            if !items.is_empty() {
                let drafts = items.iter().map(|item| item.draft.clone()).collect();
                let folder = self.memory_folder(scope)?;
                let ids = journal::stage(&folder, drafts, false, self.now())?;
                note_staged(&self.staged, &folder, &ids);
                let named = items.into_iter().zip(ids);
                named.for_each(|(item, id)| item.id = Some(folder.name_of(id)));
            }
        }
        Ok(plan)
    }

    /// The model that the user chose as `captureModel` to propose entries; `None`: nothing is
    /// proposed.
    pub fn capture_model(&mut self) -> Option<CaptureModel> {
        let _bounded = looks::bounded(LOOK);
        self.admit();
        let (settings, _) = self.folders.settings();
        let name = settings.capture_model?;
        let (provider, id) = name.split_once('/')?;
        Some(CaptureModel { provider: provider.to_owned(), id: id.to_owned() })
    }

    /// The question about a conversation for that model; `None` if too little was said.
    ///
    /// `messages`: as the host has them, oldest first.
    pub fn capture_prompt(&mut self, messages: &[Value]) -> Option<String> {
        capture::prompt(messages, &self.here().entries)
    }

    /// Proposes entries from a model's answer; they wait until a person accepts them. Returns the
    /// new proposals.
    ///
    /// # Errors
    /// As [`Staging::run`].
    pub fn propose(&mut self, answer: &str) -> Result<Vec<Remembered>> {
        let known = self.here().entries;
        let scopes: Vec<Scope> = self.folders.scopes().map(|(scope, _)| scope).collect();
        let found = capture::proposals(answer, &scopes, &known);
        let staged = found.into_iter().map(|(scope, draft)| {
            let folder = self.memory_folder(scope)?;
            let id = folder.name_of(journal::stage(&folder, vec![draft], true, self.now())?[0]);
            Ok(Remembered { id, scope, findings: Vec::new(), rests_on: Vec::new() })
        });
        staged.collect()
    }

    /// Existing memory, and what waits to be written.
    fn here(&mut self) -> Here {
        let look = self.look();
        let mut here = Here { entries: entries(&look), ..Here::default() };
        for file in look.files.into_iter().filter(|file| !file.is_index()) {
            here.topics.insert((file.scope, file.file), file.text);
        }
        let _bounded = looks::bounded(LOOK);
        for (_, folder) in self.memory_folders() {
            let (journal, _) = Journal::read(&folder);
            for operation in journal.operations().filter(|one| !one.status.is_settled()) {
                let (Draft { file, text, .. }, scope) = (&operation.draft, operation.scope);
                if file == scope.index_file() {
                    here.entries.extend(operation.draft.page(scope));
                } else {
                    here.topics.insert((scope, file.clone()), text.clone());
                }
            }
        }
        here
    }

    /// Processes the result of a flush: its traces and memory faults, the entries' origins, the
    /// page table. Says what each entry rests on.
    pub fn settled(&mut self, done: &mut [FolderFlush]) {
        self.flushed(done);
        for FolderFlush { report, .. } in done.iter_mut() {
            for outcome in &mut report.committed {
                let page = page_of(&outcome.operation.draft.text, outcome.operation.scope);
                outcome.rests_on = page.map(|page| self.resting(&page)).unwrap_or_default();
            }
        }
        for FolderFlush { report, .. } in done.iter() {
            let operations = report.committed.iter().map(|outcome| &outcome.operation);
            let written = operations.map(|one| (one.scope, &one.draft));
            self.note_origins(&written.collect::<Vec<_>>());
        }
        if !done.is_empty() {
            self.rebuild();
        }
    }

    /// The waiting operations of each folder that has any.
    pub fn waiting(&mut self) -> Vec<Waiting> {
        let _bounded = looks::bounded(LOOK);
        self.admit();
        let waiting = self.memory_folders().into_iter().map(|(scope, folder)| {
            let (journal, _) = Journal::read(&folder);
            let operations = journal.waiting().chain(journal.proposed()).cloned().collect();
            let files: BTreeSet<&str> = journal.waiting().map(|one| &*one.draft.file).collect();
            let path =
                |file: &str| folder.holding(file).path_of(file).to_string_lossy().into_owned();
            let files = files.into_iter().map(path).collect();
            Waiting { scope, interrupted: journal.is_interrupted(), operations, files }
        });
        waiting.filter(|one| one.interrupted || !one.operations.is_empty()).collect()
    }

    /// Accepts a proposal, which the next flush writes, rejects it, or withdraws a waiting
    /// operation. Returns the scope that it is for.
    ///
    /// `name`: its ID. `scope`: of its folder; `None`: the one that the ID says.
    ///
    /// # Errors
    /// `NO_OPERATION`; as [`Staging::run`].
    pub fn decide(&mut self, name: &str, scope: Option<Scope>, accepts: bool) -> Result<Scope> {
        let _bounded = looks::bounded(LOOK);
        self.admit();
        let id = OperationId::named(name)?;
        let folders = match scope {
            Some(scope) => vec![(scope, self.memory_folder(scope)?)],
            None => self.memory_folders(),
        };
        for (_, folder) in &folders {
            if scope.is_none() && folder.name_of(id) != name.trim() {
                continue;
            }
            let (journal, _) = Journal::read(folder);
            let Some(found) = journal.operations().find(|one| one.id == id) else { continue };
            let decide = if accepts { journal::accept } else { journal::withdraw };
            decide(folder, id)?;
            note_staged(&self.staged, folder, &[id]);
            return Ok(found.scope);
        }
        Err(Error::NoOperation { id: name.to_owned() })
    }

    /// Why a host's call must not run: it would put a secret into a memory file, or write into the
    /// memory of a project that the person has not trusted. `None` for everything else.
    ///
    /// `cwd`: the working folder, the base of relative paths.
    pub fn check_write(&mut self, tool: &str, args: &Value, cwd: &Path) -> Option<String> {
        let _bounded = looks::bounded(LOOK);
        // This runs before every tool call of a host, so ask whether the project counts only if it
        // matters.
        if !Guarded::new(&self.folders, cwd, tool, args).writes_memory() {
            return None;
        }
        self.admit();
        let call = Guarded::new(&self.folders, cwd, tool, args);
        let refused = call.refusal();
        if refused.is_none() {
            let written = call.about_to_write();
            self.foreign = self.folders.foreign();
            self.writing.extend(written.in_project);
            self.before.extend(written.texts);
            if self.is_written_by(tool, args, cwd) {
                // If it cannot be created, the host's tool reports that.
                drop(self.make_conversation());
            }
        }
        refused
    }

    /// Everything a person should know about the files' current state: unreadable files, wrong
    /// settings, secrets, sizes, conflicting entries, journal lines. A text that was checked before
    /// is not checked again.
    pub fn check(&mut self) -> Vec<Warning> {
        let look = self.look();
        let limits = CheckLimits::of(&look.settings);
        let mut warnings = look.warnings;
        warnings.extend(look.wrong_settings.iter().map(|error| match error {
            Error::InvalidSettings { path, problem } => Warning::new(error.code(), path, problem),
            _ => Warning::new(error.code(), Path::new(""), error.to_string()),
        }));
        let mut found = Vec::new();
        for file in &look.files {
            let known = self.checked.get(&file.path).filter(|(hash, _)| *hash == file.hash);
            let findings = match known {
                Some((_, findings)) => findings.clone(),
                None => check_file(file.scope, &file.file, &file.text, limits),
            };
            self.checked.insert(file.path.clone(), (file.hash.clone(), findings.clone()));
            found.extend(findings.into_iter().map(|one| one.of_file(&file.path)));
        }
        let _bounded = looks::bounded(LOOK);
        for file in &look.files {
            let missing = self.missing(file.open_pages(), Search::Path).into_iter();
            found.extend(missing.map(|one| one.of_file(&file.path)));
        }
        for (_, folder) in self.memory_folders() {
            found.extend(Journal::read(&folder).1);
        }
        warnings.extend(found.into_iter().map(Warning::from));
        warnings
    }

    /// The readable folders with their scopes. The scope `Local` uses its project's.
    pub(super) fn memory_folders(&self) -> Vec<(Scope, MemoryFolder)> {
        let scopes = Scope::WITH_FOLDER.into_iter();
        scopes.filter_map(|scope| Some((scope, self.memory_folder(scope).ok()?))).collect()
    }

    pub(super) fn memory_folder(&self, scope: Scope) -> Result<MemoryFolder> {
        self.folders.memory_folder(scope).ok_or_else(|| {
            let why = if self.folders.is_denied(scope) {
                "may not be written: the project is not trusted"
            } else if self.folders.folder(Scope::Conversation).is_some() {
                "is not of this conversation: `conversation` is"
            } else {
                "has no folder here"
            };
            Error::argument("scope", format!("`{scope}` {why}"))
        })
    }
}

fn note_staged(staged: &Staged, folder: &MemoryFolder, ids: &[OperationId]) {
    let mut staged = lock(staged);
    staged.extend(ids.iter().map(|id| (folder.path_of(JOURNAL_FILE), *id)));
}

/// The entries of all indexes.
fn entries(look: &Look) -> Vec<Page> {
    let indexes = look.files.iter().filter(|file| file.is_index());
    indexes.flat_map(|file| file.pages.iter().cloned()).collect()
}
