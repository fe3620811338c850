//! What the real filesystem tells of the vaults that files are in. Must not read a file.

use std::path::Path;

/// Says whether something stands at a path, for `graph::Exists`. Of other filesystems than `filesystem_id` it knows nothing.
pub fn exists_on(filesystem_id: &str) -> impl Fn(&str, &str) -> bool + use<> {
    let own = filesystem_id.to_owned();
    move |filesystem_id, path| filesystem_id == own && Path::new(path).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_filesystem_is_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(".obsidian")).unwrap();
        let exists = exists_on("here");
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        assert!(exists("here", &path(".obsidian")));
        assert!(!exists("here", &path(".git")));
        assert!(!exists("elsewhere", &path(".obsidian")));
    }
}
