//! The places that do not answer. Looks at nothing.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::clock::now;

/// After this a place is asked once more, even if no look came back: another file system may be mounted there. Doubled each
/// time, up to the longest.
const PAUSE: Duration = Duration::from_secs(30);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

static PLACES: Mutex<Vec<Place>> = Mutex::new(Vec::new());
/// Number of places: mostly there is none, and a look should cost no lock then.
static COUNT: AtomicUsize = AtomicUsize::new(0);
static IDS: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
struct Place {
    /// Those of the looks that hang.
    ids: Vec<u64>,
    /// All below it is silent.
    path: PathBuf,
    /// The link that leads there.
    link: Option<PathBuf>,
    is_mount: bool,
    asked: Instant,
    pause: Duration,
}

impl Place {
    fn holds(&self, path: &Path) -> bool {
        path.starts_with(&self.path)
            || self.link.as_ref().is_some_and(|link| path.starts_with(link))
    }
}

/// What hung.
#[derive(Debug)]
pub(super) struct Found {
    /// Where it is, without links.
    pub(super) path: PathBuf,
    /// Whether a whole file system is mounted there that may hang as a whole.
    pub(super) is_mount: bool,
    /// The path by which it was asked for, if a link leads there.
    pub(super) link: Option<PathBuf>,
}

/// Whether to look at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    /// It is in no place that is silent.
    Yes,
    /// It is, and was not asked for long. An answer ends the silence of the place with this ID.
    Again(u64),
    /// Not now.
    No,
}

pub(super) fn new_id() -> u64 {
    IDS.fetch_add(1, Ordering::Relaxed)
}

/// `many_hang`: whether so many looks hang that no silent place is asked again.
pub(super) fn ask(path: &Path, many_hang: impl FnOnce() -> bool) -> Ask {
    if COUNT.load(Ordering::Acquire) == 0 {
        return Ask::Yes;
    }
    let mut places = lock(&PLACES);
    let Some(place) = places.iter_mut().find(|place| place.holds(path)) else { return Ask::Yes };
    if place.asked.elapsed() < place.pause || many_hang() {
        return Ask::No;
    }
    place.asked = now();
    place.pause = (place.pause * 2).min(LONGEST_PAUSE);
    Ask::Again(place.ids.first().copied().unwrap_or(u64::MAX))
}

pub(super) fn hold(path: &Path) -> bool {
    COUNT.load(Ordering::Acquire) > 0 && lock(&PLACES).iter().any(|place| place.holds(path))
}

pub(super) fn all() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = lock(&PLACES).iter().map(|place| place.path.clone()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Adds a place. Where a file beside it is silent too, their folder is.
pub(super) fn add(id: u64, found: Found) {
    let mut places = lock(&PLACES);
    if let Some(known) = places.iter_mut().find(|place| place.holds(&found.path)) {
        known.ids.push(id);
        known.link = known.link.take().or(found.link);
        return;
    }
    let folder = found.path.parent().filter(|folder| folder.parent().is_some());
    let beside = |place: &&mut Place| {
        !found.is_mount && !place.is_mount && folder.is_some() && place.path.parent() == folder
    };
    if let (Some(place), Some(folder)) = (places.iter_mut().find(beside), folder) {
        place.path = folder.to_owned();
        place.ids.push(id);
    } else {
        let Found { path, is_mount, link } = found;
        let (asked, pause) = (now(), PAUSE);
        places.push(Place { ids: vec![id], path, link, is_mount, asked, pause });
    }
    COUNT.store(places.len(), Ordering::Release);
}

/// A look that hung came back, or a place was asked again and answered.
pub(super) fn answered(id: u64) {
    let mut places = lock(&PLACES);
    places.retain(|place| !place.ids.contains(&id));
    COUNT.store(places.len(), Ordering::Release);
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
