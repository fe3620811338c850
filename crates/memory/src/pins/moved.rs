//! Finds where files went that are gone: files of the project in which stands what was pinned in
//! them. Reads a bounded number of files, whatever is gone. Must not judge a pin.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::check::{Pinned, Verdicts, judged};
use super::{CitationPin, MAX_BYTES, Places, with_lf};
use crate::scope::Scope;
use source::{FileState, read_file};

/// Most files of the same name that are asked for one that is gone.
const MAX_NAMESAKES: usize = 20;
/// Most files that are read for all that are gone, and most bytes of them.
const MAX_READ: usize = 400;
const MAX_READ_BYTES: usize = 64 << 20;
/// Least lines that stand in a file of another name by which it is taken for the one that is gone.
const MIN_TELLING: u32 = 3;

/// Where a file went.
pub(super) struct Moved {
    /// Its path before.
    pub(super) from: PathBuf,
    /// Its path now.
    pub(super) to: PathBuf,
    /// The same with `/`, relative to the project.
    pub(super) name: String,
    /// What became of what was pinned in it.
    pub(super) verdicts: Verdicts,
}

/// Where files went that are gone. A file of the same name counts where at least half of what was
/// pinned stands, any other of the same kind where all of it does.
pub(super) fn find(gone: Vec<(PathBuf, Pinned)>, places: &Places) -> Vec<Moved> {
    let Some(project) = places.project.as_deref() else { return Vec::new() };
    let is_inside = |(path, _): &(PathBuf, Pinned)| path.starts_with(project);
    let mut open: Vec<(PathBuf, Pinned)> = gone.into_iter().filter(is_inside).collect();
    if open.is_empty() {
        return Vec::new();
    }
    let mut reading = Reading { places, project, texts: HashMap::new(), bytes: 0 };
    let mut found = Vec::new();
    let files = places.listed(project);
    open.retain(|(from, pinned)| {
        let of_name = |file: &&String| Path::new(file).file_name() == from.file_name();
        let namesakes = files.iter().filter(of_name).take(MAX_NAMESAKES);
        let moved = namesakes.filter_map(|file| reading.judge(file, from, pinned));
        let best = moved.min_by_key(|moved| std::cmp::Reverse(standing(&moved.verdicts)));
        let best = best.filter(|moved| 2 * standing(&moved.verdicts) >= moved.verdicts.len());
        let is_open = best.is_none();
        found.extend(best);
        is_open
    });
    for file in files {
        let of_kind = |from: &Path| {
            let file = Path::new(file);
            file.extension() == from.extension() && file.file_name() != from.file_name()
        };
        open.retain(|(from, pinned)| {
            if !of_kind(from) {
                return true;
            }
            let moved = reading.judge(file, from, pinned).filter(|moved| {
                standing(&moved.verdicts) == moved.verdicts.len()
                    && (reading.is_same(file, pinned) || tells(&pinned.pins))
            });
            let is_open = moved.is_none();
            found.extend(moved);
            is_open
        });
    }
    found
}

fn standing(verdicts: &Verdicts) -> usize {
    verdicts.values().filter(|now| now.is_none()).count()
}

/// Whether pins hold enough to know a file by.
fn tells<'p>(pins: impl IntoIterator<Item = &'p CitationPin>) -> bool {
    pins.into_iter().filter_map(|pin| pin.lines.as_ref()).map(|lines| lines.filled).sum::<u32>()
        >= MIN_TELLING
}

/// The files that were read.
struct Reading<'p> {
    places: &'p Places,
    project: &'p Path,
    /// By path from the project; none of a file that has no text, or may not be looked at.
    texts: HashMap<String, Option<String>>,
    bytes: usize,
}

impl Reading<'_> {
    /// What would have become of the pins of a file if it were this one now; `None` if that is not
    /// known, or too many files were read.
    fn judge(&mut self, file: &str, from: &Path, pinned: &Pinned) -> Option<Moved> {
        let to = self.project.join(file);
        let text = self.text(file, &to)?;
        let verdicts = judged(text, &to, pinned);
        Some(Moved { from: from.to_owned(), to, name: file.to_owned(), verdicts })
    }

    fn text(&mut self, file: &str, path: &Path) -> Option<&str> {
        if !self.texts.contains_key(file) {
            if self.texts.len() >= MAX_READ || self.bytes >= MAX_READ_BYTES {
                return None;
            }
            let is_allowed = self.places.is_allowed(Scope::Project, path);
            let text = match is_allowed.then(|| read_file(path, MAX_BYTES).state) {
                Some(FileState::Text { text, .. }) => Some(with_lf(&text)),
                _ => None,
            };
            self.bytes += text.as_ref().map_or(0, String::len);
            self.texts.insert(file.to_owned(), text);
        }
        self.texts.get(file)?.as_deref()
    }

    /// Whether a file says all that the one which is gone said.
    fn is_same(&self, file: &str, pinned: &Pinned) -> bool {
        let Some(Some(text)) = self.texts.get(file) else { return false };
        let whole = super::lines::Lines::of(text, false).hash();
        pinned.pins.iter().any(|pin| pin.said.as_ref() == Some(&whole))
    }
}
