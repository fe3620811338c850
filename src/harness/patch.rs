//! The files that a patch in the form of Codex's `apply_patch` names.
//!
//! Reads the headings and nothing else. Source: `codex-rs/apply-patch` of `openai/codex`.

use super::touch::{Access, Touch};

/// What stands before the path of a file.
const HEADINGS: [(&str, Access); 3] = [
    ("*** Add File: ", Access::Write),
    ("*** Update File: ", Access::Edit),
    ("*** Delete File: ", Access::Edit),
];

/// The files of a patch, in order; of one that is moved, where it is then.
pub(super) fn files(patch: &str) -> Vec<Touch<'_>> {
    let mut found: Vec<Touch<'_>> = Vec::new();
    for line in patch.lines() {
        let line = line.trim_end();
        if let Some(path) = line.strip_prefix("*** Move to: ") {
            if let Some(last) = found.last_mut() {
                last.path = path;
            }
            continue;
        }
        let heading = HEADINGS
            .iter()
            .find_map(|(heading, access)| Some((line.strip_prefix(heading)?, *access)));
        found.extend(heading.map(|(path, access)| Touch { path, access }));
    }
    found
}

/// The lines that a patch adds.
pub(super) fn added_lines(patch: &str) -> impl Iterator<Item = &str> {
    patch.lines().filter_map(|line| line.strip_prefix('+'))
}

/// How many lines a patch adds and takes away.
pub(super) fn added_removed(patch: &str) -> (u64, u64) {
    let count = |mark: char| patch.lines().filter(|line| line.starts_with(mark)).count() as u64;
    (count('+'), count('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-old\n+new\n+more\n*** Add File: b c\n+x\n\
                         *** Update File: d\n*** Move to: e\n@@\n-y\n*** Delete File: f\n*** End Patch";

    #[test]
    fn the_files_of_a_patch_are_named() {
        let found: Vec<_> = files(PATCH).iter().map(|touch| (touch.path, touch.access)).collect();
        let expected = [
            ("src/a.rs", Access::Edit),
            ("b c", Access::Write),
            ("e", Access::Edit),
            ("f", Access::Edit),
        ];
        assert_eq!(found, expected);
        assert_eq!(files("*** Move to: x\nno patch"), []);
    }

    #[test]
    fn the_lines_of_a_patch_are_counted() {
        assert_eq!(added_removed(PATCH), (3, 2));
        assert_eq!(added_lines(PATCH).collect::<Vec<_>>(), ["new", "more", "x"]);
    }
}
