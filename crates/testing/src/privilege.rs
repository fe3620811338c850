//! For tests of file permissions, which do not bind root.

/// Whether file permissions do not bind this process.
pub fn is_privileged() -> bool {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut permissions = file.as_file().metadata().unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(file.path(), permissions).unwrap();
    std::fs::OpenOptions::new().write(true).open(file.path()).is_ok()
}
