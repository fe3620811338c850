//! Gives up a look and finds where it hangs: the mount, or the file behind the links of its path.
//! Following a path may hang, too.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use super::places::{self, Place};
use super::pool::{self, Job, Kind};
use crate::Mounts;

/// Most links followed in one path; operating systems have the same limit.
const MAX_LINKS: u32 = 40;

/// Abandons a look and marks the place where it hangs as silent.
pub(super) fn give_up(job: &Arc<Job>, limit: Duration) {
    job.give_up();
    let Some((asked, _)) = job.at() else { return };
    let mut looks = vec![Arc::downgrade(job)];
    let (answer, answers) = channel();
    let path = asked.clone();
    let (mut found, mut link) = (asked, None);
    if let Some(job) = pool::start(Kind::Look, limit, answer, move || follow(&path)) {
        let jobs = [job];
        if pool::next(&answers, limit / 4, || pool::is_any_busy(&jobs)).is_err() {
            jobs[0].give_up();
            looks.push(Arc::downgrade(&jobs[0]));
        }
        if let Some(reached) = jobs[0].at() {
            (found, link) = reached;
        }
    }
    let mount = Mounts::read().foreign(&found);
    let is_mount = mount.is_some();
    let found = mount.unwrap_or(found);
    let link = link.filter(|link| !link.starts_with(&found));
    places::add(Place::new(found, link, is_mount, looks));
}

/// Follows the links of a path, recording each step before it is taken.
fn follow(path: &Path) {
    let (mut given, mut real, mut links) = (PathBuf::new(), PathBuf::new(), MAX_LINKS);
    for part in path.components() {
        given.push(part);
        real = step(real, part, &given, &mut links);
    }
}

fn step(mut real: PathBuf, part: Component<'_>, given: &Path, links: &mut u32) -> PathBuf {
    match part {
        Component::CurDir => return real,
        Component::ParentDir => {
            real.pop();
            return real;
        }
        part => real.push(part),
    }
    pool::note(real.clone(), Some(given.to_owned()));
    let Some(target) = real.read_link().ok().filter(|_| *links > 0) else { return real };
    *links -= 1;
    real.pop();
    target.components().fold(real, |real, part| step(real, part, given, links))
}
