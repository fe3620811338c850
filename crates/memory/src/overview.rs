//! A person's view of all memory: its folders, files and pages, and how much of it the model has.
//! Must not change anything.

use files::looks;
use std::collections::HashMap;
use std::path::PathBuf;

use serde::Serialize;

use super::fidelity::Fidelity;
use super::page::{PageId, PageKind};
use super::scope::Scope;
use super::sidecar::MemoryFolder;
use super::stale::Staleness;
use super::table::{self, Row, TABLE_FILE};
use super::{LOOK, Memory, MemoryFile, block};
use config::MemorySettings;
use settings::Trust;

/// Memory at one moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// The settings that count.
    pub settings: MemorySettings,
    /// Problems in the settings, per file.
    pub wrong_settings: Vec<String>,
    /// What the person said of the project; `None` if there is none.
    pub trust: Option<Trust>,
    /// The scopes in their order, without those that have no folder here.
    pub scopes: Vec<ScopeOverview>,
    /// The pages of indexes and of the files they link to, in the order in which the model reads
    /// them.
    pub pages: Vec<PageOverview>,
    /// This session's section of the system prompt; `None` if it has none, or no session has begun.
    pub section: Option<SectionOverview>,
    /// Pages whose cited files changed.
    pub stale: usize,
}

/// A scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScopeOverview {
    /// Which.
    pub scope: Scope,
    /// Its folder, whether or not it may be read.
    pub folder: PathBuf,
    /// Whether it may not be read, because the user does not trust the project.
    pub denied: bool,
    /// Whether the folder exists.
    pub exists: bool,
    /// Its files.
    pub files: Vec<FileOverview>,
    /// Its folder's page table. Local memory has the project's.
    pub table: TableState,
}

/// A Markdown file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileOverview {
    /// Path in the scope's folder, with `/`.
    pub file: String,
    /// Absolute path.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Its lines, as far as it was read.
    pub lines: u64,
    /// Number of its pages.
    pub pages: usize,
    /// Bytes beyond a scope's limits on lines and bytes: with `pageTableInjection` off the model
    /// does not have them. 0 for files that are not indexes.
    pub beyond_limits: u64,
    /// Whether it is its scope's index.
    pub index: bool,
    /// Whether the index links to it, directly or through others.
    pub linked: bool,
    /// Whether it is in the archive.
    pub archived: bool,
}

/// The state of a page table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum TableState {
    /// There is none.
    None,
    /// It matches the Markdown.
    Current,
    /// The Markdown changed since it was written.
    Outdated,
    /// Some of its lines cannot be read.
    Damaged,
}

/// A page with its size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageOverview {
    /// Stable name.
    pub id: PageId,
    /// Scope.
    pub scope: Scope,
    /// Path in the scope's folder, with `/`.
    pub file: String,
    /// First line, from 1.
    pub line: u32,
    /// Its kind.
    pub kind: PageKind,
    /// Its subject.
    pub key: Option<String>,
    /// Its first line with text.
    pub title: String,
    /// Whether it is in every session.
    pub pinned: bool,
    /// Tokens as pointer, structured, compressed and full.
    pub tokens: [u32; 4],
    /// The fidelity at which the model has it, or had it in the last session; `None`: not at all.
    pub resident: Option<Fidelity>,
    /// Whether files that it cites changed.
    pub stale: bool,
}

/// The section of the system prompt in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SectionOverview {
    /// Its size in bytes.
    pub bytes: usize,
    /// Its tokens.
    pub tokens: u64,
    /// Tokens of the part that pages take.
    pub page_tokens: u64,
    /// Changes since it was rendered that the model was told about.
    pub changes: u32,
}

impl Memory {
    /// Memory as a person wants to see it.
    pub fn overview(&mut self) -> Overview {
        let _bounded = looks::bounded(LOOK);
        let look = self.look();
        let trust = self.folders.real_project().and_then(|_| self.folders.standing().ok());
        self.resume();
        let rows = self.injector.rows(look.pages());
        let scopes = Scope::ALL.into_iter().filter_map(|scope| {
            let files = look.files.iter().filter(|file| file.scope == scope);
            let files = files.map(|file| file_overview(file, &look.settings)).collect();
            self.scope_overview(scope, files, &rows)
        });
        let by_id: HashMap<&PageId, &Row> = rows.iter().map(|row| (&row.id, row)).collect();
        let pages = look.pages().filter_map(|page| {
            let row = by_id.get(&page.id)?;
            let lines = page.text.lines().map(str::trim);
            Some(PageOverview {
                id: page.id.clone(),
                scope: page.place.scope,
                file: page.place.file.clone(),
                line: page.place.line,
                kind: page.kind,
                key: page.key.clone(),
                title: lines.into_iter().find(|line| !line.is_empty()).unwrap_or_default().into(),
                pinned: page.is_pinned,
                tokens: row.tokens,
                resident: row.resident,
                stale: look.staleness(&page.id).is_some_and(Staleness::is_changed),
            })
        });
        Overview {
            trust,
            scopes: scopes.collect(),
            pages: pages.collect(),
            section: self.in_force.overview(),
            stale: look.stale.values().filter(|stale| stale.is_changed()).count(),
            wrong_settings: look.wrong_settings.iter().map(ToString::to_string).collect(),
            settings: look.settings,
        }
    }

    /// `None` where the scope has no folder here.
    fn scope_overview(
        &self,
        scope: Scope,
        files: Vec<FileOverview>,
        rows: &[Row],
    ) -> Option<ScopeOverview> {
        let denied = self.folders.is_denied(scope);
        let folder = self.folders.place(scope)?;
        let table = self.memory_folder(scope).map(|folder| table_state(&folder, scope, rows));
        Some(ScopeOverview {
            scope,
            folder: folder.to_owned(),
            denied,
            exists: !denied && looks::symlink_metadata(folder).is_ok(),
            files,
            table: table.unwrap_or(TableState::None),
        })
    }
}

fn table_state(folder: &MemoryFolder, scope: Scope, rows: &[Row]) -> TableState {
    if looks::symlink_metadata(&folder.path_of(TABLE_FILE)).is_err() {
        return TableState::None;
    }
    let (known, findings) = table::read(folder);
    let now = rows.iter().filter(|row| row.scope.of_folder() == scope.of_folder());
    let places = |row: &Row| (row.id.clone(), row.file.clone(), row.line, row.last_line);
    if !findings.is_empty() {
        TableState::Damaged
    } else if known.iter().map(places).eq(now.map(places)) {
        TableState::Current
    } else {
        TableState::Outdated
    }
}

fn file_overview(file: &MemoryFile, settings: &MemorySettings) -> FileOverview {
    let (lines, bytes) = (settings.max_inject_lines, settings.max_inject_bytes);
    let within = block::capped(file.text.split_inclusive('\n'), lines, bytes).0.len() as u64;
    let beyond = file.bytes.saturating_sub(within);
    FileOverview {
        file: file.file.clone(),
        path: file.path.clone(),
        bytes: file.bytes,
        lines: file.text.lines().count() as u64,
        pages: file.pages.len(),
        beyond_limits: if file.is_index() { beyond } else { 0 },
        index: file.is_index(),
        linked: file.is_linked,
        archived: file.is_archived(),
    }
}
