//! Finds where files went that are gone: files of the project in which stands what was pinned in
//! them. Reads a bounded number of files, whatever is gone. Must not judge a pin.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::check::{Now, Pinned, Verdicts};
use super::cited_files::Listing;
use super::{CitationPin, MAX_BYTES, Places, text_of};
use crate::scope::Scope;
use files::looks;
use source::read_file;

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
/// pinned stands, any other of the same kind where all of it does. Each file is read once, and asked
/// for all that are gone.
pub(super) fn find(gone: Vec<(PathBuf, Pinned)>, places: &Places) -> Vec<Moved> {
    let Some(project) = places.project.as_deref() else { return Vec::new() };
    let is_inside = |(path, _): &(PathBuf, Pinned)| path.starts_with(project);
    let gone: Vec<(PathBuf, Pinned)> = gone.into_iter().filter(is_inside).collect();
    if gone.is_empty() {
        return Vec::new();
    }
    let files = places.listed(project);
    let mut reading = Reading { places, project, texts: HashMap::new(), bytes: 0 };
    let mut found = namesakes(&gone, files, &mut reading);
    let mut open: Vec<&(PathBuf, Pinned)> =
        gone.iter().filter(|(from, _)| !found.contains_key(&**from)).collect();
    let ends: HashSet<Option<&OsStr>> = open.iter().map(|(from, _)| from.extension()).collect();
    let of_kinds = files.files.iter().filter(|file| ends.contains(&Path::new(file).extension()));
    for file in newest_first(of_kinds, project) {
        let of_kind = |from: &Path| {
            let file = Path::new(file);
            file.extension() == from.extension() && file.file_name() != from.file_name()
        };
        if !open.iter().any(|(from, _)| of_kind(from)) {
            continue;
        }
        let Some(now) = reading.now(file) else { continue };
        let is_there = |(from, Pinned { pins, .. }): &(PathBuf, Pinned)| {
            of_kind(from)
                && pins.iter().all(|pin| now.holds(pin))
                && (tells(pins) || pins.iter().any(|pin| now.says_all_of(pin)))
        };
        let (there, left) = open.into_iter().partition(|gone| is_there(gone));
        open = left;
        for (from, pinned) in there {
            found.insert(from, Moved::to(file, project, (from, now.judged(pinned))));
        }
    }
    found.into_values().collect()
}

/// Files in the order in which they came or changed last: what was moved stands among the first.
fn newest_first<'f>(files: impl Iterator<Item = &'f String>, project: &Path) -> Vec<&'f str> {
    let files: Vec<&str> = files.map(String::as_str).collect();
    let paths: Vec<PathBuf> = files.iter().map(|file| project.join(file)).collect();
    let changed = |path: &PathBuf| {
        let stamp = source::stamp(path)?;
        Some(stamp.ctime_ns.unwrap_or(stamp.mtime_ns))
    };
    let times = looks::each(paths, &|_| (), move |path| changed(path));
    let mut files: Vec<(Option<i64>, &str)> =
        files.into_iter().zip(times).map(|(file, time)| (time.flatten(), file)).collect();
    files.sort_by_key(|(time, _)| Reverse(*time));
    files.into_iter().map(|(_, file)| file).collect()
}

/// The files of the same names in which most of what was pinned stands, by the paths before.
fn namesakes<'g>(
    gone: &'g [(PathBuf, Pinned)],
    files: &Listing,
    reading: &mut Reading<'_>,
) -> BTreeMap<&'g Path, Moved> {
    let mut asked: BTreeMap<&str, Vec<&(PathBuf, Pinned)>> = BTreeMap::new();
    for one in gone {
        let name = one.0.file_name().and_then(OsStr::to_str).unwrap_or_default();
        for file in files.named(name).take(MAX_NAMESAKES) {
            asked.entry(file).or_default().push(one);
        }
    }
    let (project, mut found) = (reading.project, BTreeMap::<&Path, Moved>::new());
    for (file, gone) in asked {
        let Some(now) = reading.now(file) else { continue };
        for (from, pinned) in gone {
            let moved = Moved::to(file, project, (from, now.judged(pinned)));
            let standing = moved.standing();
            let is_best = found.get(&**from).is_none_or(|best| best.standing() < standing);
            if 2 * standing >= moved.verdicts.len() && is_best {
                found.insert(from, moved);
            }
        }
    }
    found
}

impl Moved {
    fn to(file: &str, project: &Path, (from, verdicts): (&Path, Verdicts)) -> Self {
        let (from, to) = (from.to_owned(), project.join(file));
        Self { from, to, name: file.to_owned(), verdicts }
    }

    fn standing(&self) -> usize {
        self.verdicts.values().filter(|now| now.is_none()).count()
    }
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
    /// A file as it is now; `None` if that is not known, or too many files were read.
    fn now(&mut self, file: &str) -> Option<Now<'_>> {
        let path = self.project.join(file);
        if !self.texts.contains_key(file) {
            if self.texts.len() >= MAX_READ || self.bytes >= MAX_READ_BYTES {
                return None;
            }
            let is_allowed = self.places.is_allowed(Scope::Project, &path);
            let text =
                is_allowed.then(|| text_of(&path, read_file(&path, MAX_BYTES).state)).flatten();
            self.bytes += text.as_ref().map_or(0, String::len);
            self.texts.insert(file.to_owned(), text);
        }
        let text = self.texts.get(file)?.as_deref()?;
        Some(Now::of(text, &path))
    }
}
