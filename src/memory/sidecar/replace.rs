//! Puts a whole file in the place of another one, so that a reader, or a crash, finds the old or the new one and nothing between.
//! Where the system can, the two change places: what stood there at that very moment is kept, even if somebody saved it a
//! moment before. Must not know what the files hold.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// What was done with a prepared file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memory) enum Placed {
    /// The file that stood in its place has its name now.
    Exchanged,
    /// It took the place; what stood there is gone.
    Replaced,
    /// A file stands in the place that was to be empty. Nothing was done.
    Taken,
}

/// Writes a file in one step: beside it, onto the disk, and then into its place. Keeps the permissions of a file that stands there.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&name).suffix(TEMPORARY);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(&folder)?;
    file.write_all(bytes)?;
    keep_permissions(path, file.as_file());
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(&folder)
}

/// What the names of files end in that are only there while something is written.
pub(super) const TEMPORARY: &str = ".tmp";

/// Writes a file that [`place`] puts into the place of `target`; it is on the disk when this returns.
pub(in crate::memory) fn prepare(prepared: &Path, target: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(prepared)?;
    file.write_all(bytes)?;
    keep_permissions(target, &file);
    file.sync_all()?;
    sync_folder(&folder_of(prepared))
}

/// Puts a prepared file into its place. `is_empty`: whether no file should stand there.
pub(in crate::memory) fn place(
    prepared: &Path,
    target: &Path,
    is_empty: bool,
) -> io::Result<Placed> {
    let placed = match atomic::rename(prepared, target, is_empty) {
        Ok(()) if is_empty => Placed::Replaced,
        Ok(()) => Placed::Exchanged,
        Err(error) if is_empty && error.kind() == ErrorKind::AlreadyExists => Placed::Taken,
        // Nothing stands there any more that could change places.
        Err(error) if !is_empty && error.kind() == ErrorKind::NotFound => Placed::Taken,
        Err(error) if atomic::is_unknown(&error) => {
            if is_empty && target.try_exists()? {
                return Ok(Placed::Taken);
            }
            fs::rename(prepared, target)?;
            Placed::Replaced
        }
        Err(error) => return Err(error),
    };
    sync_folder(&folder_of(target))?;
    Ok(placed)
}

/// Removes a file, if it is there.
pub(in crate::memory) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Waits until the names in a folder are on the disk.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    // Windows has no such call: there a rename is on the disk when the file is.
    if cfg!(unix) {
        match File::open(folder)?.sync_all() {
            // Filesystems that are served by another program often have no such call.
            Err(error) if error.kind() == ErrorKind::InvalidInput => {}
            done => done?,
        }
    }
    Ok(())
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent().map(Path::to_owned).unwrap_or_default()
}

/// A file keeps its permissions when another takes its place. That of another user may not be given them: then they stay.
fn keep_permissions(of: &Path, to: &File) {
    if let Ok(metadata) = fs::metadata(of) {
        drop(to.set_permissions(metadata.permissions()));
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
mod atomic {
    use std::io;
    use std::path::Path;

    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;

    /// Lets two files change places, or moves one where none is.
    pub(super) fn rename(from: &Path, to: &Path, is_empty: bool) -> io::Result<()> {
        let flags = if is_empty { RenameFlags::NOREPLACE } else { RenameFlags::EXCHANGE };
        Ok(renameat_with(CWD, from, CWD, to, flags)?)
    }

    /// Whether the system, or this filesystem, has no such call.
    pub(super) fn is_unknown(error: &io::Error) -> bool {
        let unknown = [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP];
        error
            .raw_os_error()
            .is_some_and(|code| unknown.iter().any(|one| one.raw_os_error() == code))
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
mod atomic {
    use std::io::{self, ErrorKind};
    use std::path::Path;

    pub(super) fn rename(_from: &Path, _to: &Path, _is_empty: bool) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(super) fn is_unknown(error: &io::Error) -> bool {
        error.kind() == ErrorKind::Unsupported
    }
}
