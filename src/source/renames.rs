//! Which files a shell command moves by `mv` and `git mv`, according to its words. Looks nothing up: the caller
//! checks what happened.

use std::path::{Path, PathBuf};

use super::resolve_path;

/// Most pairs from one command.
const MAX_PAIRS: usize = 200;

/// Pairs of an old and a new place that a command names, absolute as the agent writes them, in the order of the
/// words, at most 200. A pair of folders stands for all files in them. Not every pair has come true: in `mv a b` it
/// is unknown whether `b` is a folder, so both `b` and `b/a` are returned.
pub fn renames(command: &str, cwd: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut pairs = Vec::new();
    let mut cwd = cwd.to_owned();
    for words in commands(command) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["cd", folder] => cwd = resolve_path(folder, &cwd).unwrap_or(cwd),
            ["mv", rest @ ..] | ["git", "mv", rest @ ..] => moved(rest, &cwd, &mut pairs),
            ["git", "-C", folder, "mv", rest @ ..] => {
                let there = resolve_path(folder, &cwd).unwrap_or_else(|_| cwd.clone());
                moved(rest, &there, &mut pairs);
            }
            _ => {}
        }
    }
    pairs.truncate(MAX_PAIRS);
    pairs
}

/// The pairs of one `mv` with these arguments.
fn moved(words: &[&str], cwd: &Path, pairs: &mut Vec<(PathBuf, PathBuf)>) {
    let mut places = Vec::new();
    let mut folder = None;
    let mut options = true;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--" if options => options = false,
            "-t" | "--target-directory" if options => folder = words.next().copied(),
            option if options && option.starts_with('-') => {
                folder = option.strip_prefix("--target-directory=").or(folder);
            }
            place => places.push(place),
        }
    }
    let Some(target) = folder.or_else(|| places.pop()) else { return };
    let Some(target) = place(target, cwd) else { return };
    for from in places {
        // Which files a pattern matched is no longer visible: any file of its folder may have.
        let (from, is_pattern) = match from.rsplit_once('/') {
            Some((folder, last)) if is_pattern(last) => (folder, true),
            None if is_pattern(from) => (".", true),
            _ => (from, false),
        };
        let Some(from) = place(from, cwd) else { continue };
        if let (Some(name), false) = (from.file_name(), is_pattern) {
            let inside = target.join(name);
            pairs.push((from.clone(), target.clone()));
            pairs.push((from, inside));
        } else {
            pairs.push((from, target.clone()));
        }
    }
}

fn place(word: &str, cwd: &Path) -> Option<PathBuf> {
    if word.is_empty() || word.contains(['$', '`']) || is_pattern(word) {
        return None;
    }
    resolve_path(word, cwd).ok()
}

fn is_pattern(word: &str) -> bool {
    word.contains(['*', '?', '['])
}

/// The words of each simple command; quotes are taken away.
fn commands(text: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    let mut quote = None;
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(mark), _) if mark == character => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(characters.next()),
            (None, ' ' | '\t') => end_word(&mut commands, &mut word),
            (None, ';' | '&' | '|' | '\n' | '(' | ')' | '{' | '}') => {
                end_word(&mut commands, &mut word);
                commands.push(Vec::new());
            }
            _ => word.get_or_insert_default().push(character),
        }
    }
    end_word(&mut commands, &mut word);
    commands.retain(|words| !words.is_empty());
    commands
}

fn end_word(commands: &mut [Vec<String>], word: &mut Option<String>) {
    if let (Some(words), Some(word)) = (commands.last_mut(), word.take()) {
        words.push(word);
    }
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
        ] {
            assert_eq!(found(command), expected, "{command}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_command_panics(command in "(mv|git|cd|[ab]|[ \\\\'\"&;*-]|\\PC){0,12}") {
            renames(&command, Path::new("/x"));
        }
    }
}
