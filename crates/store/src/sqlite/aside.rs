//! Moves a store's files aside, unchanged, so that a new store can start. Must not decide whether
//! to.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::mark;
use super::open::unavailable;
use base::error::{Error, Result};
use files::with_end;

/// SQLite's files and the mark, beside the store's. They are moved first: SQLite would discard an
/// old log beside a new file.
pub(super) const BESIDE: [&str; 4] = ["-shm", "-wal", "-journal", "-ack"];

/// Moves the store at `path` and its accompanying files to `NAME.corrupt-N`, and returns the new
/// path. N is the first free number.
///
/// # Errors
/// `STORE_UNAVAILABLE` if there is no such file or it is in use, by this process or another; `FILE`
/// if it cannot be moved.
pub(super) fn set_aside(path: &Path) -> Result<PathBuf> {
    let missing = |error| unavailable(path, "it cannot be found", Some(error));
    let real = path.canonicalize().map_err(missing)?;
    let failed = |source| Error::File { act: "move", path: real.clone(), source };
    let Some(_alone) = mark::lock_alone(&real).map_err(failed)? else {
        return Err(unavailable(path, "it is in use; end all sessions first", None));
    };
    let target = free_place(&real);
    for suffix in BESIDE {
        match fs::rename(with_end(&real, suffix), with_end(&target, suffix)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
    }
    fs::rename(&real, &target).map_err(failed)?;
    Ok(target)
}

fn free_place(path: &Path) -> PathBuf {
    let taken = |place: &PathBuf| {
        let beside = BESIDE.iter().map(|suffix| with_end(place, suffix));
        beside.chain([place.clone()]).any(|file| fs::symlink_metadata(file).is_ok())
    };
    let mut number = 1_u64;
    loop {
        let place = with_end(path, &format!(".corrupt-{number}"));
        if !taken(&place) {
            return place;
        }
        number += 1;
    }
}
