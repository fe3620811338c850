//! What is said of memory files that a host's call wrote: findings, entries that it left out, and what
//! the new ones rest on. Must not read the call itself.

use files::looks;
use std::path::Path;

use serde_json::Value;

use super::checks::{CheckLimits, shown};
use super::finding::{FindingCode, MemoryFinding};
use super::guard::{Guarded, MemoryWrite};
use super::missing::{Search, missing};
use super::note::and_more;
use super::page::Page;
use super::pins::ends_so;
use super::scope::{LOCAL_INDEX_FILE, Scope};
use super::sidecar::finding_of;
use super::{LOOK, Memory};
use base::object::quote;

/// Most entries named that a call left out.
const MOST_DROPPED: usize = 40;
/// Most new entries of a call of which it is said what they rest on, and most places of one.
const MOST_RESTING: usize = 5;
const MOST_PLACES: usize = 4;

impl Memory {
    /// What the model should know about the memory files that a call wrote, one line per finding;
    /// `None` if there is nothing.
    pub fn explain_write(&mut self, tool: &str, args: &Value, cwd: &Path) -> Option<String> {
        let _bounded = looks::bounded(LOOK);
        // This runs after every tool call of a host.
        let call = Guarded::new(&self.folders, cwd, tool, args);
        if !call.writes_memory() {
            return None;
        }
        let limits = CheckLimits::of(&self.folders.settings().0);
        let written = call.written(&mut self.before);
        let mut found: Vec<MemoryFinding> =
            written.iter().flat_map(|file| file.findings(limits)).collect();
        found.extend(self.dropped_by(&written));
        for file in &written {
            let missing = self.missing(file.pages.iter(), Search::Project).into_iter();
            found.extend(missing.map(|finding| finding.of_file(file.given)));
        }
        found.extend(self.note_written_in_project(&written));
        let told: Vec<String> = found.iter().map(|finding| format!("- {finding}")).collect();
        let told = (!told.is_empty())
            .then(|| format!("Written. The check of memory found:\n{}", told.join("\n")));
        let rests = self.resting_words(&written);
        let parts: Vec<String> = told.into_iter().chain(rests).collect();
        (!parts.is_empty()).then(|| parts.join("\n"))
    }

    /// Takes a call's files of the project's memory for this person's. Returns what went wrong.
    fn note_written_in_project(&mut self, written: &[MemoryWrite<'_>]) -> Option<MemoryFinding> {
        let is_in_project = |file: &&MemoryWrite<'_>| file.is_in_project();
        let names: Vec<&str> =
            written.iter().filter(is_in_project).map(|file| &*file.file).collect();
        self.folders.note_written(names.iter().copied(), &self.foreign);
        self.writing.retain(|file| !names.contains(&&**file));
        if !names.is_empty() {
            // What cannot be made here is told by whatever writes next.
            drop(self.memory_folder(Scope::Project).and_then(|folder| folder.keep_mergeable()));
        }
        if !names.contains(&LOCAL_INDEX_FILE) {
            return None;
        }
        // The model may be the first to write in this folder, and nothing yet keeps its file out of
        // git.
        let kept = self
            .memory_folder(Scope::Local)
            .and_then(|folder| folder.keep_private(LOCAL_INDEX_FILE));
        kept.err().map(|error| finding_of(&error))
    }

    /// The places of cited files that an entry rests on as they are now, such as `src/a.rs:3-9`.
    pub(super) fn resting(&mut self, page: &Page) -> Vec<String> {
        let places = self.keeper.places(&self.folders);
        let pins = places.pin_pages(&[page]).concat().into_iter().filter(|pin| !pin.is_run);
        pins.map(|pin| pin.place()).collect()
    }

    /// What the new entries of a call rest on, in one line, so that who wrote one can cite more
    /// narrowly.
    fn resting_words(&mut self, written: &[MemoryWrite<'_>]) -> Option<String> {
        let new = written.iter().flat_map(MemoryWrite::new_pages);
        let new: Vec<&Page> = new.filter(|page| !page.cites.is_empty()).collect();
        let told = new.into_iter().take(MOST_RESTING).filter_map(|page| {
            let places = self.resting(page);
            let shown: Vec<String> =
                places.iter().take(MOST_PLACES).map(|place| quote::name(place).into()).collect();
            let more = match places.len().saturating_sub(MOST_PLACES) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let line = page.place.line;
            (!shown.is_empty()).then(|| format!("line {line} on {}{more}", shown.join(", ")))
        });
        let told: Vec<String> = told.collect();
        (!told.is_empty()).then(|| format!("Rests: {}.", told.join("; ")))
    }

    /// The files that pages cite and that do not exist. A file that was pinned was there once; that it
    /// is gone is told by the page's mark.
    pub(super) fn missing<'a>(
        &self,
        pages: impl Iterator<Item = &'a Page>,
        search: Search,
    ) -> Vec<MemoryFinding> {
        let folder = self.folders.folder(Scope::Project);
        let Some(project) = folder.and_then(|folder| folder.parent()?.parent()) else {
            return Vec::new();
        };
        let is_pinned = |page: &Page, path: &str| {
            let pins = self.keeper.fact(&page.id).into_iter().flat_map(|fact| &fact.cites);
            pins.into_iter().any(|pin| ends_so(&pin.path, path))
        };
        missing(project, pages, search, &is_pinned)
    }

    /// The entries that a call left out and that stand in no other file of memory, and where the text
    /// before it is kept.
    fn dropped_by(&mut self, written: &[MemoryWrite<'_>]) -> Vec<MemoryFinding> {
        let dropped: Vec<(&MemoryWrite<'_>, Vec<Page>)> =
            written.iter().filter_map(|file| Some((file, file.dropped()?))).collect();
        if dropped.is_empty() {
            return Vec::new();
        }
        let texts: Vec<String> = self.look().files.into_iter().map(|file| file.text).collect();
        let stands = |page: &Page| texts.iter().any(|text| text.contains(page.text.trim()));
        let told = dropped.into_iter().filter_map(|(file, mut gone)| {
            gone.retain(|page| !stands(page));
            if gone.is_empty() {
                return None;
            }
            let count = gone.len();
            let shown: Vec<String> = gone.iter().take(MOST_DROPPED).map(shown).collect();
            let more = and_more(count.saturating_sub(MOST_DROPPED));
            let (verb, entries) = if count == 1 { ("is", "entry") } else { ("are", "entries") };
            let kept = self.keep_before(file);
            let words = format!(
                "{count} {entries} {verb} gone by this call: {}{more}; {kept}. Where that was not meant, put them back",
                shown.join(", ")
            );
            let words = redact::redact_note(&words).text.unwrap_or(words);
            Some(MemoryFinding::new(FindingCode::Dropped, words).at(file.given, None))
        });
        told.collect()
    }

    /// Keeps the text of a file from before a call, without its secrets; says where.
    fn keep_before(&self, file: &MemoryWrite<'_>) -> String {
        let text = file.before.clone().unwrap_or_default();
        let text = redact::redact_note(&text).text.unwrap_or(text);
        let kept =
            self.memory_folder(file.scope).and_then(|folder| folder.keep_text(&file.file, &text));
        match kept {
            Ok(path) => format!("the text before is in {}", quote::path(&path)),
            Err(error) => format!("the text before could not be kept: {error}"),
        }
    }
}
