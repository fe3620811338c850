//! Files whose text a host put before a person's words: Pi for `pi @notes.md "…"`. Pure.

use std::ops::Range;

const HEAD: &str = "<file name=\"";
const HEAD_END: &str = "\">";
const END: &str = "</file>";

/// A file in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pasted<'a> {
    /// Its path.
    pub path: &'a str,
    /// The bytes of the message that are its text.
    pub text: Range<usize>,
    /// Those and the marks around them.
    pub block: Range<usize>,
}

/// The files with text that a message begins with. What only looks like one, in a person's words,
/// does not count, nor does an image, which has no text here.
///
/// `text_of`: the text of a file on disk. A file may hold the mark that ends it: if it stands here as
/// it is on disk, it ends where its text does.
pub fn pasted_files<'a>(
    message: &'a str,
    text_of: &dyn Fn(&str) -> Option<String>,
) -> Vec<Pasted<'a>> {
    let mut files = Vec::new();
    let mut start = 0;
    while let Some((path, rest)) = message[start..].strip_prefix(HEAD).and_then(path_of) {
        let inner = message.len() - rest.len();
        let Some((text, end)) = ends(rest, || text_of(path)) else { break };
        let block = start..inner + end;
        if let Some(text) = text {
            files.push(Pasted { path, text: inner + text.start..inner + text.end, block });
        }
        start = inner + end;
        start += usize::from(message[start..].starts_with('\n'));
    }
    files
}

/// The path in a head, and what follows the head.
fn path_of(rest: &str) -> Option<(&str, &str)> {
    let (path, rest) = rest.split_once(HEAD_END)?;
    (!path.is_empty() && !path.contains('\n')).then_some((path, rest))
}

/// Where the text of a block is in what follows its head, if it has one, and where the block ends.
fn ends(
    rest: &str,
    on_disk: impl FnOnce() -> Option<String>,
) -> Option<(Option<Range<usize>>, usize)> {
    let is_end = |at: usize| {
        let behind = rest.get(at..).and_then(|rest| rest.strip_prefix(END));
        behind.is_some_and(|behind| behind.is_empty() || behind.starts_with('\n'))
    };
    let all = || rest.match_indices(END).map(|(at, _)| at).filter(|at| is_end(*at));
    if !rest.starts_with('\n') {
        let line = rest.split('\n').next().unwrap_or(rest);
        let at = all().next().filter(|at| *at < line.len())?;
        return Some((None, at + END.len()));
    }
    let is_own_line = |at: &usize| rest[..*at].ends_with('\n');
    let several = all().filter(is_own_line).take(2).count() > 1;
    let known = on_disk_end(rest, several.then(on_disk).flatten()).filter(|at| is_end(*at));
    let at = known.or_else(|| all().find(is_own_line))?;
    Some((Some(1..(at - 1).max(1)), at + END.len()))
}

/// Where a block ends that begins with this text.
fn on_disk_end(rest: &str, text: Option<String>) -> Option<usize> {
    let text = text?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let behind = rest[1..].strip_prefix(text)?;
    behind.starts_with('\n').then(|| rest.len() - behind.len() + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pasted(message: &str, on_disk: Option<&str>) -> Vec<(String, String)> {
        let files = pasted_files(message, &|_| on_disk.map(str::to_owned));
        files.iter().map(|it| (it.path.to_owned(), message[it.text.clone()].to_owned())).collect()
    }

    #[test]
    fn files_stand_before_the_words() {
        let one = "<file name=\"/p/a.md\">\n# A\n\nb\n\n</file>\nWhat of it?";
        let image = "<file name=\"/p/x.png\"></file>\n";
        let hint = "<file name=\"/p/y.png\">Resized to 10x10</file>\n";
        let is = |message: &str, expected: &[(&str, &str)]| {
            let found = pasted(message, None);
            let found: Vec<(&str, &str)> =
                found.iter().map(|(path, text)| (&**path, &**text)).collect();
            assert_eq!(found, expected, "{message:?}");
        };
        is(one, &[("/p/a.md", "# A\n\nb\n")]);
        let two = format!("{hint}{}{image}{one}", "<file name=\"/p/b\">\nx\n</file>\n");
        is(&two, &[("/p/b", "x"), ("/p/a.md", "# A\n\nb\n")]);
        is("<file name=\"/p/a\">\nx\n</file>", &[("/p/a", "x")]);
        is("<file name=\"/p/a\">\n\n</file>\n", &[("/p/a", "")]);
        for words in [
            &format!("Look: {one}"),
            image,
            "<file name=\"/p/a\">\nno end",
            "<file name=\"/p/a\">\nx</file>\n",
            "<file name=\"\">\nx\n</file>\n",
            "<file name=\"/p/x.png\">\n",
            "",
        ] {
            is(words, &[]);
        }
        // What follows the words is theirs.
        is(
            "<file name=\"/p/a\">\nx\n</file>\nsee <file name=\"/p/b\">\ny\n</file>\n",
            &[("/p/a", "x")],
        );
    }

    #[test]
    fn a_file_that_holds_the_mark_ends_with_its_text() {
        let text = "<file name=\"b\">\nx\n</file>\nrest\n";
        let message = format!("<file name=\"/p/a\">\n{text}\n</file>\nthe words\n</file>\n");
        assert_eq!(pasted(&message, Some(text)), [("/p/a".to_owned(), text.to_owned())]);
        let marked = format!("\u{feff}{text}");
        assert_eq!(pasted(&message, Some(&marked)), [("/p/a".to_owned(), text.to_owned())]);
        // Where it is not known, the least is taken: words never are.
        let least = "<file name=\"b\">\nx".to_owned();
        assert_eq!(pasted(&message, Some("other")), [("/p/a".to_owned(), least.clone())]);
        assert_eq!(pasted(&message, None), [("/p/a".to_owned(), least)]);
    }

    proptest! {
        #![proptest_config(testing::cases::config(128, 1))]

        #[test]
        fn no_message_makes_it_panic(
            parts in prop::collection::vec(
                prop::sample::select(vec!["<file name=\"a\">", "\n", "</file>", "é", "\"", ">", "x", "<file name=\""]),
                0..14,
            ),
            disk in "[\nx]{0,3}",
        ) {
            let message = parts.concat();
            for Pasted { text, block, .. } in pasted_files(&message, &|_| Some(disk.clone())) {
                prop_assert!(block.start <= text.start && text.end <= block.end);
                prop_assert!(message.get(text).is_some() && message.get(block).is_some());
            }
        }
    }
}
