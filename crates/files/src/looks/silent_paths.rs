//! The places that do not answer. Looks at no files.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use super::pool::{self, Job};
use base::clock::instant;
use base::lock;

/// After this pause a place is asked once more, even if no look has returned: another file system
/// may be mounted there by then. Doubles each time, up to the maximum.
const PAUSE: Duration = Duration::from_secs(30);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);
/// While this many looks hang, no silent place is asked again.
const MANY_HUNG: usize = 8;

static PLACES: Mutex<Vec<SilentPath>> = Mutex::new(Vec::new());

#[derive(Debug)]
pub(super) struct SilentPath {
    /// Everything below this path is silent.
    pub(super) path: PathBuf,
    /// The link that leads there.
    pub(super) link: Option<PathBuf>,
    /// Whether a file system is mounted there, which may hang as a whole.
    pub(super) is_mount: bool,
    /// The looks that hang. Once one returns, the place answers again.
    pub(super) looks: Vec<Weak<Job>>,
    pub(super) asked: Instant,
    pub(super) pause: Duration,
}

impl SilentPath {
    pub(super) fn new(
        path: PathBuf,
        link: Option<PathBuf>,
        is_mount: bool,
        looks: Vec<Weak<Job>>,
    ) -> Self {
        Self { path, link, is_mount, looks, asked: instant(), pause: PAUSE }
    }

    fn holds(&self, path: &Path) -> bool {
        path.starts_with(&self.path)
            || self.link.as_ref().is_some_and(|link| path.starts_with(link))
    }
}

/// Whether to look at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    /// It is in no silent place.
    Yes,
    /// It is in a silent place that has not been asked for a while. An answer ends the silence.
    Again,
    /// Not now.
    No,
}

pub(super) fn ask(path: &Path) -> Ask {
    let mut places = places();
    let Some(place) = places.iter_mut().find(|place| place.holds(path)) else { return Ask::Yes };
    if place.asked.elapsed() < place.pause || pool::hung() >= MANY_HUNG {
        return Ask::No;
    }
    place.asked = instant();
    place.pause = (place.pause * 2).min(LONGEST_PAUSE);
    Ask::Again
}

pub(super) fn hold(path: &Path) -> bool {
    places().iter().any(|place| place.holds(path))
}

pub(super) fn all() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = places().iter().map(|place| place.path.clone()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Adds a place. If a file next to it is silent too, their folder is added instead.
pub(super) fn add(found: SilentPath) {
    let mut places = places();
    if let Some(known) = places.iter_mut().find(|place| place.holds(&found.path)) {
        known.looks.extend(found.looks);
        known.link = known.link.take().or(found.link);
        return;
    }
    let folder = found.path.parent().filter(|folder| folder.parent().is_some());
    let beside = |place: &&mut SilentPath| {
        !found.is_mount && !place.is_mount && folder.is_some() && place.path.parent() == folder
    };
    match (places.iter_mut().find(beside), folder) {
        (Some(place), Some(folder)) => {
            place.path = folder.to_owned();
            place.looks.extend(found.looks);
        }
        _ => places.push(found),
    }
}

/// Records that a place was asked again and answered.
pub(super) fn answered(path: &Path) {
    places().retain(|place| !place.holds(path));
}

/// The places from which no look has returned.
fn places() -> MutexGuard<'static, Vec<SilentPath>> {
    let mut places = lock(&PLACES);
    places.retain(|place| place.looks.iter().all(|look| look.strong_count() > 0));
    places
}
