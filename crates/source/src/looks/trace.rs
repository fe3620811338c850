//! Finds where a look hangs: the mount, or the file, behind the links of its path. Following a path may hang, too.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;

use super::places::{Found, lock};
use files::Mounts;

/// Most links followed in one path; operating systems have the same limit.
const MAX_LINKS: u32 = 40;

/// How far a path was followed.
#[derive(Debug, Default, Clone)]
pub(super) struct Followed {
    /// As it is given.
    given: PathBuf,
    /// The same without links.
    real: PathBuf,
}

/// What a look at `path` hangs at, by how far its path could be followed.
pub(super) fn found(path: &Path, followed: Followed) -> Found {
    let Followed { mut given, mut real } = followed;
    if real.as_os_str().is_empty() {
        (given, real) = (path.to_owned(), path.to_owned());
    }
    let mount = Mounts::read().foreign(&real);
    let is_mount = mount.is_some();
    let found = mount.unwrap_or(real);
    let link = (!given.starts_with(&found)).then_some(given);
    Found { path: found, is_mount, link }
}

/// Follows the links of a path, and notes in `followed` what is looked at next.
pub(super) fn follow(path: &Path, followed: &Mutex<Followed>) {
    let mut given = PathBuf::new();
    let mut real = PathBuf::new();
    let mut links = MAX_LINKS;
    for component in path.components() {
        given.push(component);
        let mut rest = VecDeque::from([component.as_os_str().to_owned()]);
        while let Some(name) = rest.pop_front() {
            if name == ".." {
                real.pop();
                continue;
            }
            real.push(&name);
            *lock(followed) = Followed { given: given.clone(), real: real.clone() };
            let is_link = real.symlink_metadata().is_ok_and(|found| found.is_symlink());
            let Some(target) = is_link.then(|| real.read_link().ok()).flatten() else { continue };
            if links == 0 {
                return;
            }
            links -= 1;
            real.pop();
            let names = target.components().filter(|part| *part != Component::CurDir);
            let names: Vec<OsString> = names.map(|part| part.as_os_str().to_owned()).collect();
            names.into_iter().rev().for_each(|name| rest.push_front(name));
        }
    }
}
