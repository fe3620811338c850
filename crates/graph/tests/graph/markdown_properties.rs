//! Properties of the Markdown reader on random, hostile and generated texts: it never panics,
//! changes nothing, reports places that hold what it found, and takes time in proportion to the
//! text. `PROPTEST_CASES` runs more cases.

use std::ops::Range;
use std::time::Duration;

use base::markdown::{
    Document, Link, LinkKind, MarkdownField, Resolution, VaultIndex, link_key, parse, path_key,
};
use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;

use testing::processor_time::spent_on;

/// Pieces of Markdown that begin, end and nest what the reader knows.
const PIECES: [&str; 64] = [
    "[[",
    "]]",
    "![[",
    "[",
    "]",
    "(",
    ")",
    "](",
    "|",
    "\\|",
    "\\",
    "#",
    "# ",
    "## ",
    "#a/b",
    "#1",
    "^id",
    " ^id",
    "%%",
    "%%\n",
    "`",
    "``",
    "```\n",
    "~~~\n",
    "$",
    "$$",
    "$$\n",
    "<!--",
    "-->",
    "<div>",
    "</a>",
    "---\n",
    "\n---\n",
    "\n",
    "\n\n",
    "\r\n",
    "> ",
    "- ",
    "  ",
    "\t",
    "1. ",
    "| a | b |\n|---|---|\n",
    "[^1]",
    "[^1]: ",
    "[x]: y\n",
    "- [ ] ",
    "*",
    "**",
    "_",
    "~~",
    "==",
    "a",
    "note",
    "é",
    "e\u{301}",
    "标签",
    "🙂",
    "\u{feff}",
    "http://a.b/#c",
    "%20",
    "tags: ",
    "aliases: [",
    "a: \"[[b]]\"\n",
    "k: &x [*x]\n",
];

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(PIECES.to_vec());
    let body = prop::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat());
    (body, any::<bool>())
        .prop_map(|(body, front)| if front { format!("---\n{body}") } else { body })
}

fn any_text() -> impl Strategy<Value = String> {
    let bytes = prop::collection::vec(any::<u8>(), 0..400);
    let random = bytes.prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    prop_oneof![3 => pieces(), 1 => random, 1 => ".{0,200}"]
}

/// Everything that has a line and a range in the text.
fn places(document: &Document) -> Vec<(usize, Range<usize>)> {
    let links = document.links.iter().map(|link| &link.place);
    let tags = document.tags.iter().map(|tag| &tag.place);
    let aliases = document.aliases.iter().map(|alias| &alias.place);
    let related = links.chain(tags).chain(aliases).map(|place| (place.line, place.range.clone()));
    let headings = document.headings.iter().map(|heading| (heading.line, heading.range.clone()));
    let blocks = document.blocks.iter().map(|block| (block.line, block.range.clone()));
    related.chain(headings).chain(blocks).collect()
}

/// Whether a path ends in a target, told without keys or an index.
fn fits(path: &str, target: &str) -> bool {
    let plain = |text: &str| text.nfc().collect::<String>().to_lowercase().replace('ς', "σ");
    let path = format!("/{}", plain(path));
    let target = plain(target);
    path.ends_with(&format!("/{target}")) || path.ends_with(&format!("/{target}.md"))
}

/// The time that a text takes, the least of some runs.
fn cost(text: &str, runs: usize) -> Duration {
    let run = || spent_on(|| assert!(parse(text).links.len() <= text.len()));
    (0..runs).map(|_| run()).min().unwrap()
}

proptest! {
    #![proptest_config(testing::cases::config(64, 1))]

    #[test]
    fn places_lie_in_the_text_and_hold_what_was_found(text in any_text()) {
        let document = parse(&text);
        for (line, range) in places(&document) {
            let before = text.get(..range.start);
            prop_assert!(text.get(range.clone()).is_some(), "{:?} of {:?}", range, text);
            prop_assert_eq!(line, before.unwrap().matches('\n').count() + 1);
        }
        for link in document.links.iter().filter(|link| link.kind == LinkKind::Wikilink) {
            let written = &text[link.place.range.clone()];
            let opening = if link.embed { "![[" } else { "[[" };
            prop_assert!(written.starts_with(opening));
            prop_assert!(written.ends_with("]]"));
            // A link's own text is that link.
            if link.place.field == MarkdownField::Content && !written.contains(['`', '$', '<', '%', '*', '_', '~']) {
                let again = parse(written).links;
                prop_assert_eq!(again.len(), 1, "{:?}", written);
                prop_assert_eq!(&again[0].target, &link.target);
                prop_assert_eq!(&again[0].headings, &link.headings);
            }
        }
        for tag in document.tags.iter().filter(|tag| tag.place.field == MarkdownField::Content) {
            prop_assert_eq!(&text[tag.place.range.clone()], format!("#{}", tag.name));
        }
    }

    #[test]
    fn a_document_survives_json(text in any_text()) {
        let document = parse(&text);
        let json = serde_json::to_string(&document).unwrap();
        prop_assert_eq!(serde_json::from_str::<Document>(&json).unwrap(), document);
    }

    #[test]
    fn headings_nest_and_their_sections_end_in_the_text(text in any_text()) {
        let document = parse(&text);
        for heading in &document.headings {
            prop_assert!(heading.line <= heading.last_line);
            prop_assert!(heading.last_line <= text.matches('\n').count() + 1);
            if let Some(parent) = heading.parent {
                prop_assert!(document.headings[parent].level < heading.level);
            }
        }
    }

    #[test]
    fn a_link_to_the_end_of_a_path_resolves_and_shares_its_key(
        path in "([a-cA-C\u{e9}\u{3a3}. ]{0,3}[a-c\u{e9}\u{3c3}]/){0,3}[aA\u{c9}\u{3a3}.]{0,2}[bB\u{130}](\\.md|\\.MD|\\.png|)",
        others in prop::collection::vec("([a-c]/){0,2}[abB](\\.md|\\.md\\.md|\\.png|)", 0..8),
        skipped in 0_usize..4,
        upper in any::<bool>(),
        decomposed in any::<bool>(),
        bare in any::<bool>(),
        from in "([a-c]/){0,2}x\\.md",
    ) {
        let segments: Vec<&str> = path.split('/').collect();
        let mut target = segments[skipped.min(segments.len() - 1)..].join("/");
        if bare {
            target = target.strip_suffix(".md").map(str::to_owned).unwrap_or(target);
        }
        // A capital without one lower-case letter of its own would be another name.
        if upper && target.is_ascii() {
            target = target.to_uppercase();
        }
        if decomposed {
            target = target.nfd().collect();
        }
        let link = Link { target: target.clone(), ..parse("[[x]]").links.remove(0) };
        let all = others.iter().chain([&path]);
        let whole = VaultIndex::new(all.clone().cloned()).resolve(&link, &from);
        let Resolution::Resolved { path: to, others } = &whole else {
            return Err(TestCaseError::fail(format!("`{target}` does not reach `{path}`")));
        };
        for path in others.iter().chain([to]) {
            prop_assert!(fits(path, &target), "`{}` does not fit `{}`", path, target);
        }
        prop_assert_eq!(link_key(&target), path_key(to));
        prop_assert_eq!(link_key(&target), path_key(&path));
        // The files that share the key answer as all files do.
        let keyed = all.filter(|path| path_key(path) == link_key(&target));
        prop_assert_eq!(VaultIndex::new(keyed.cloned()).resolve(&link, &from), whole);
    }

    #[test]
    fn resolving_never_fails_whatever_the_target(
        target in ".{0,20}|([./a]{0,12})", from in ".{0,20}|([./a]{0,8})",
        paths in prop::collection::vec(".{0,12}|([./a]{1,8})", 0..6), markdown in any::<bool>(),
    ) {
        let kind = if markdown { LinkKind::Markdown } else { LinkKind::Wikilink };
        let link = Link { target: target.clone(), kind, ..parse("[[x]]").links.remove(0) };
        let index = VaultIndex::new(paths.clone());
        if let Resolution::Resolved { path, others } = index.resolve(&link, &from)
            && !target.is_empty()
        {
            for path in others.iter().chain([&path]) {
                prop_assert!(paths.contains(path));
                prop_assert_eq!(link_key(&target), path_key(path));
            }
        }
    }
}

proptest! {
    // A case of these costs some hundred times one of the others.
    #![proptest_config(testing::cases::config(8, 1))]

    /// Twice the text may take about twice the time; four times would be quadratic. Short times
    /// prove nothing.
    #[test]
    fn repeating_a_piece_costs_no_more_than_its_length(
        unit in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 1..4),
        head in prop::sample::select(vec!["", "---\na: ", "- ", "> > ", "| a |\n|---|\n"]),
    ) {
        let unit = unit.concat();
        let text = |bytes: usize| format!("{head}{}", unit.repeat(bytes / unit.len()));
        let (short, long) = (cost(&text(10_000), 2), cost(&text(40_000), 2));
        let linear = long < Duration::from_millis(200) || long < short * 10;
        prop_assert!(linear, "{:?}: {:?}, then {:?}", unit, short, long);
    }
}

/// A long text of each hostile shape that a Markdown or YAML reader may choke on: a megabyte in a
/// long run.
#[test]
fn a_long_hostile_text_is_read_in_seconds() {
    let half = if testing::cases::is_long() { 500_000 } else { 100_000 };
    let mut texts: Vec<String> = [
        "[[", "[[a]] ", "![", "]", ">", "> ", "- ", "*", "**a _b", "`", "$", "%%", "#a ", "<", "|",
        "[a](", "[^", "^a\n", "\\", "# a\n",
    ]
    .iter()
    .map(|piece| piece.repeat(2 * half / piece.len()))
    .collect();
    texts.push(">".repeat(half) + &"a\n".repeat(half / 2));
    texts.push("- ".repeat(half / 2) + &"\n".repeat(half));
    texts.push("> - ".repeat(half / 4) + &"a\n".repeat(half / 2));
    texts.push(
        "|a".repeat(half / 3) + "\n" + &"|-".repeat(half / 3) + "\n" + &"x\n".repeat(half / 3),
    );
    texts.push(format!("# {}\n", "a".repeat(half)) + &"[[b]] ".repeat(half / 6));
    texts.push(format!("---\n{}: [{}]\n---\n", "a".repeat(half), "\"[[b]]\", ".repeat(half / 9)));
    texts.push(format!(
        "---\na: &a \"{}\"\nb: [{}]\n---\n",
        "a".repeat(half),
        "*a, ".repeat(half / 4)
    ));
    texts.push(format!("---\ntags: \"{}\"\n---\n", "\\u0061b,".repeat(half / 4)));
    texts.push("![".repeat(half / 3) + &"](b)".repeat(half / 3));
    texts.push("[![".repeat(half / 3) + &"](b)](c)".repeat(half / 6));
    texts.push(format!(
        "---\n? {}\n: [{}]\n---\n",
        "a".repeat(half),
        "\"[[b]]\", ".repeat(half / 9)
    ));
    for flow in ["[", "{", "? ", "a: ", "!a ", "&a "] {
        texts.push(format!("---\n{}\n---\n", flow.repeat(half / flow.len())));
    }
    for text in texts {
        let time = cost(&text, 1);
        let shown: String = text.chars().take(24).collect();
        assert!(time < Duration::from_secs(4), "{shown:?}: {time:?}");
    }
}
