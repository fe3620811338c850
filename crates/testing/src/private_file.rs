//! Files that a store takes: of their user alone. What tests write and copy may be read by everyone, as the user's mask has it.

use std::path::Path;

/// Writes a file that only its user may read.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    std::fs::write(path, bytes).unwrap();
    make_private(path);
}

/// Copies a file; only its user may read the copy.
pub fn copy(from: &Path, to: &Path) {
    std::fs::copy(from, to).unwrap();
    make_private(to);
}

/// Takes the rights of others to a file away.
#[cfg(unix)]
pub fn make_private(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Nothing to do: such files belong to their user's folder here.
#[cfg(not(unix))]
pub fn make_private(_path: &Path) {}
