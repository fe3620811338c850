//! What became of cited files, with the old lines and the new: those of your store, or else of git.
//! Each file and each text before is read once, whoever cites it. Must not judge a pin.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::history;
use super::page::PageId;
use super::pins::{CitationPin, CitedChange, MAX_BYTES, Places, with_lf};
use super::stale::{CitedFile, Staleness};
use base::error::Result;
use base::object::{AsOf, Hash, unified_diff};
use source::{IndexOptions, read_text};
use store::Store;

/// Most lines of a diff that are shown.
const MAX_DIFF_LINES: usize = 200;
/// Unchanged lines around each change.
const DIFF_CONTEXT: usize = 3;

/// A cited file that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CitedReport {
    /// Its path as it is pinned.
    pub path: String,
    /// The place in it as it is pinned: `src/a.rs:3-9`, or the path.
    pub place: String,
    /// How it changed.
    pub change: CitedChange,
    /// SHA-256 of its text when pinned, with LF line endings.
    pub before: Hash,
    /// SHA-256 of its present text; `None` if it is gone.
    pub now: Option<Hash>,
    /// Unified diff, if the store or git has the pinned text: of the place, if it is one.
    pub diff: Option<String>,
}

/// The cited files that changed, as they are and as they were pinned.
#[derive(Debug, Default)]
pub(super) struct Compared {
    /// Hashes of the texts now, of those that have one.
    now: HashMap<PathBuf, Hash>,
    /// By path, and the hash of the text before.
    diffs: HashMap<(PathBuf, Hash), String>,
}

impl Compared {
    /// Reads the cited files that changed.
    pub(super) fn of(
        access: Option<(&Store, &IndexOptions)>,
        places: &Places,
        stale: &BTreeMap<PageId, Staleness>,
    ) -> Self {
        let mut changed: BTreeMap<&Path, Vec<&CitedFile>> = BTreeMap::new();
        for cited in stale.values().flat_map(|staleness| &staleness.cited) {
            changed.entry(&cited.path).or_default().push(cited);
        }
        let mut before: HashMap<(&Path, &Hash), String> = HashMap::new();
        for (path, cited) in &changed {
            let shown = cited.iter().filter(|cited| is_shown(cited, places));
            let wanted: BTreeSet<&Hash> = shown.map(|cited| &cited.pin.hash).collect();
            let stored = || stored(access?, path, &wanted).ok();
            before.extend(
                stored().unwrap_or_default().into_iter().map(|(hash, text)| ((*path, hash), text)),
            );
        }
        let is_open = |cited: &&&CitedFile| {
            is_shown(cited, places) && !before.contains_key(&(&*cited.path, &cited.pin.hash))
        };
        let open: Vec<&CitationPin> =
            changed.values().flatten().filter(is_open).map(|cited| &cited.pin).collect();
        let of_git = places.project().filter(|_| !open.is_empty());
        let of_git = of_git.map(|project| history::texts_of(project, open.into_iter()));
        let of_git = of_git.unwrap_or_default();
        let mut compared = Self::default();
        for (path, cited) in changed {
            let now = read_text(path, MAX_BYTES).map(|text| with_lf(&text));
            for CitedFile { pin, change, .. } in
                cited.iter().filter(|cited| is_shown(cited, places))
            {
                let hash = &pin.hash;
                let before = before.get(&(path, hash)).or_else(|| of_git.get(hash));
                let key = (path.to_owned(), hash.clone());
                if let Some(before) = before.filter(|_| !compared.diffs.contains_key(&key)) {
                    let now = now.as_deref().filter(|_| *change != CitedChange::Gone);
                    let diff = unified_diff(before, now.unwrap_or_default(), DIFF_CONTEXT);
                    compared.diffs.insert(key, diff);
                }
            }
            compared.now.extend(now.map(|now| (path.to_owned(), Hash::of(&now))));
        }
        compared
    }

    /// The changes of a page's cited files, the most doubtful first.
    pub(super) fn reports(&self, staleness: Option<&Staleness>) -> Vec<CitedReport> {
        let cited = staleness.iter().flat_map(|staleness| &staleness.cited);
        let mut reports: Vec<CitedReport> = cited.map(|cited| self.report(cited)).collect();
        reports.sort_by(|one, other| one.change.cmp(&other.change));
        reports
    }

    fn report(&self, cited: &CitedFile) -> CitedReport {
        let CitedFile { pin, path, change } = cited;
        let diff = self.diffs.get(&(path.clone(), pin.hash.clone()));
        CitedReport {
            path: pin.path.clone(),
            place: pin.place(),
            change: change.clone(),
            before: pin.hash.clone(),
            now: self.now.get(path).filter(|_| *change != CitedChange::Gone).cloned(),
            diff: diff.map(|diff| shortened(&of_place(diff, pin))),
        }
    }
}

/// Whether the lines of a change are shown.
fn is_shown(cited: &CitedFile, places: &Places) -> bool {
    !matches!(cited.change, CitedChange::Moved { .. }) && !places.is_excluded(&cited.path)
}

/// The texts of a file with some hashes that the store has.
fn stored<'h>(
    (store, options): (&Store, &IndexOptions),
    path: &Path,
    wanted: &BTreeSet<&'h Hash>,
) -> Result<HashMap<&'h Hash, String>> {
    let mut found = HashMap::new();
    let id = options.files.locate(&source::canonical_path(path)).id()?;
    if wanted.is_empty() || store.get(&id, AsOf::Latest)?.is_none() {
        return Ok(found);
    }
    for version in store.history(&id)? {
        if found.len() == wanted.len() {
            break;
        }
        if version.source_hash.is_none() {
            continue;
        }
        let Some(text) = store.content(&version)? else { continue };
        let text = with_lf(&text);
        if let Some(hash) = wanted.get(&Hash::of(&text)) {
            found.entry(*hash).or_insert(text);
        }
    }
    Ok(found)
}

/// The parts of a diff that touch the place of a pin; all of it if none does.
fn of_place(diff: &str, pin: &CitationPin) -> String {
    let Some(lines) = &pin.lines else { return diff.to_owned() };
    let touches = |part: &&str| {
        // `@@ -3,7 +3,7 @@`
        let old = part.split([' ', ',']).nth(1)?.strip_prefix('-')?.parse::<u32>().ok()?;
        let kept = part.lines().skip(1).filter(|line| !line.starts_with('+')).count();
        let last = old.saturating_add(u32::try_from(kept).unwrap_or(u32::MAX));
        Some(old <= lines.last().saturating_add(1) && lines.first <= last)
    };
    let starts = diff.match_indices("@@ -").map(|(at, _)| at);
    let starts: Vec<usize> = starts.filter(|at| *at == 0 || diff[..*at].ends_with('\n')).collect();
    let ends = starts.iter().skip(1).copied().chain([diff.len()]);
    let parts = starts.iter().zip(ends).map(|(from, end)| &diff[*from..end]);
    let touching: String = parts.filter(|part| touches(part) != Some(false)).collect();
    if touching.is_empty() { diff.to_owned() } else { touching }
}

/// The first lines of a diff, and the number of further ones.
fn shortened(diff: &str) -> String {
    let count = diff.lines().count();
    if count <= MAX_DIFF_LINES {
        return diff.to_owned();
    }
    let first: Vec<&str> = diff.lines().take(MAX_DIFF_LINES).collect();
    format!("{}\n… {} more lines\n", first.join("\n"), count - MAX_DIFF_LINES)
}
