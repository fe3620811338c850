//! Which files a shell command moves with `mv` and `git mv`, judged by its words. Looks nothing up:
//! the caller checks what happened.

use std::path::{Path, PathBuf};

use super::commands::{PlacedCommand, commands};
use base::harness::shell::Word;
use base::path::absolute_path;

/// Maximum number of pairs from one command.
const MAX_PAIRS: usize = 200;

/// Pairs of an old and a new place that a command names, absolute as the agent writes them, in the
/// order of the words; at most 200. A pair of folders stands for all files in them. Not every pair
/// need come true: in `mv a b` it is unknown whether `b` is a folder, so both `b` and `b/a` are
/// returned.
pub fn renames(command: &str, cwd: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut pairs = Vec::new();
    let commands = commands(command, cwd);
    let moves =
        |placed: &&PlacedCommand| !placed.command.is_elsewhere && placed.command.is_of_system();
    for placed in commands.iter().filter(moves) {
        match (placed.command.program(), placed.command.git()) {
            ("mv", _) => moved(placed, &placed.command.arguments().collect::<Vec<_>>(), &mut pairs),
            (_, Some(git)) if git.subcommand == "mv" => moved(placed, &git.arguments, &mut pairs),
            _ => {}
        }
        if pairs.len() > MAX_PAIRS {
            break;
        }
    }
    pairs.truncate(MAX_PAIRS);
    pairs
}

/// The pairs of one `mv` with these arguments.
fn moved(command: &PlacedCommand, words: &[&Word], pairs: &mut Vec<(PathBuf, PathBuf)>) {
    let mut places = Vec::new();
    let mut target = None;
    let mut options = true;
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        match &*word.text {
            "--" if options => options = false,
            "-t" | "--target-directory" if options => target = words.next().cloned(),
            option if options && option.starts_with('-') => {
                let folder = option.strip_prefix("--target-directory=");
                let named = folder.map(|folder| Word { text: folder.to_owned(), ..word.clone() });
                target = named.or(target);
            }
            _ => places.push(word.clone()),
        }
    }
    let target = target.or_else(|| places.pop()).filter(|target| !is_pattern(&target.text));
    let Some(target) = target.and_then(|target| place(command, &target)) else { return };
    for from in places {
        // The files that a pattern matched are gone, so any file of its folder may be one.
        let (folder, is_pattern) = match from.text.rsplit_once('/') {
            Some((folder, last)) if is_pattern(last) => (folder, true),
            None if is_pattern(&from.text) => (".", true),
            _ => (&*from.text, false),
        };
        let from = Word { text: folder.to_owned(), ..from.clone() };
        let Some(from) = place(command, &from) else { continue };
        if let (Some(name), false) = (from.file_name(), is_pattern) {
            let inside = target.join(name);
            pairs.push((from.clone(), target.clone()));
            pairs.push((from, inside));
        } else {
            pairs.push((from, target.clone()));
        }
    }
}

/// The place of a word, without `.` and `..`; `None` where only a shell knows it.
fn place(command: &PlacedCommand, word: &Word) -> Option<PathBuf> {
    let path = command.path_of(word).filter(|_| !is_pattern(&word.text))?;
    Some(absolute_path("", &path))
}

fn is_pattern(word: &str) -> bool {
    word.contains(['*', '?', '['])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(command: &str) -> String {
        let cwd = Path::new("/nowhere/x");
        let pairs = renames(command, cwd).into_iter();
        let short = |path: PathBuf| path.to_string_lossy().replace("/nowhere/x/", "");
        pairs.map(|(a, b)| format!("{}>{}", short(a), short(b))).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_places_of_mv_are_named() {
        for (command, expected) in [
            ("mv a b", "a>b a>b/a"),
            ("mv -f -- a 'b c' && ls", "a>b c a>b c/a"),
            ("set -e; git mv \"a b\" c\\ d", "a b>c d a b>c d/a b"),
            ("cd sub && mv a b", "sub/a>sub/b sub/a>sub/b/a"),
            ("git -C sub mv a b", "sub/a>sub/b sub/a>sub/b/a"),
            ("mv a b d/", "a>d a>d/a b>d b>d/b"),
            ("mv -t d a", "a>d a>d/a"),
            ("mv --target-directory=d a", "a>d a>d/a"),
            ("mv src/*.rs lib", "src>lib"),
            ("mv a $B; mv a; mv; mv a* ?; echo mv a b; cp a b", ""),
            ("mv 'a", ""),
            ("./mv a b; bin/git mv a b; PATH=bin mv a b", ""),
        ] {
            assert_eq!(found(command), expected, "{command}");
        }
    }

    proptest::proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn no_command_panics(command in "(mv|git|cd|[ab]|[ \\\\'\"&;*-]|\\PC){0,12}") {
            renames(&command, Path::new("/x"));
        }
    }
}
