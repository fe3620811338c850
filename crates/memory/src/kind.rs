//! Guesses the kind of a page from its headings, first words and form. Deterministic. The guess
//! only affects order and abbreviation; it never hides a page. Must not look at anything but the
//! text.

use super::page::{PageKind, each_word, words};

/// Words of headings that say what stands below.
const HEADINGS: [(PageKind, &str); 5] = [
    (
        PageKind::Instruction,
        "rule rules invariant invariants instruction instructions convention conventions must never \
         always constraint constraints regel regeln konventionen",
    ),
    (PageKind::Decision, "decision decisions adr adrs rationale"),
    (
        PageKind::Procedure,
        "command commands procedure procedures howto workflow workflows build release releasing \
         deploy deployment setup steps runbook",
    ),
    (PageKind::Preference, "preference preferences style taste"),
    (PageKind::Reference, "reference references links resources pointers see"),
];
/// Most words of a beginning.
const LONGEST_BEGINNING: usize = 4;
/// First words of texts that say what they are.
const BEGINNINGS: [(PageKind, &str); 4] = [
    (
        PageKind::Instruction,
        "always, never, do not, don t, must, must not, make sure, ensure, only use, avoid, nie, \
         niemals, immer, nicht",
    ),
    (
        PageKind::Decision,
        "decided, decision, we decided, we chose, chose, we use, switched, we switched, agreed",
    ),
    (
        PageKind::Preference,
        "prefer, prefers, user prefers, the user prefers, likes, wants, the user wants, user wants",
    ),
    (PageKind::Procedure, "to build, to run, to test, to release, to deploy, how to, steps"),
];

/// The kind of a text below some headings. `said`: what announces it, and the text. `links_only`:
/// whether it says little besides a link.
pub(super) fn kind_of(headings: &[String], said: [&str; 2], links_only: bool) -> PageKind {
    let first = |text| each_word(text).take(LONGEST_BEGINNING).collect::<Vec<_>>().join(" ");
    let firsts = said.map(first);
    let begins = |beginning: &str| {
        let mut behind = firsts.iter().filter_map(|first| first.strip_prefix(beginning));
        behind.any(|behind| behind.is_empty() || behind.starts_with(' '))
    };
    if links_only {
        return PageKind::Reference;
    }
    for (kind, beginnings) in BEGINNINGS {
        if beginnings.split(", ").any(begins) {
            return kind;
        }
    }
    if said.into_iter().any(is_order_behind_key) {
        return PageKind::Instruction;
    }
    for heading in headings.iter().rev() {
        let heading = words(heading);
        for (kind, names) in HEADINGS {
            if names.split(' ').any(|name| heading.iter().any(|word| word == name)) {
                return kind;
            }
        }
    }
    if is_steps(said[1]) { PageKind::Procedure } else { PageKind::Fact }
}

/// Whether the words behind a key are an order: `Migrations: never run them by hand`.
fn is_order_behind_key(text: &str) -> bool {
    let behind = text.split_once(": ").or_else(|| text.split_once(" — "));
    let said = behind.and_then(|(_, value)| each_word(value).next());
    matches!(said.as_deref(), Some("always" | "never" | "niemals" | "immer"))
}

/// Whether a text is a numbered list, or a block of code with some words.
fn is_steps(text: &str) -> bool {
    text.lines().filter(|line| is_step(line)).count() >= 2 || text.contains("```")
}

/// Whether a text is an item of a numbered list.
pub(super) fn is_step(text: &str) -> bool {
    let rest = text.trim_start().trim_start_matches(|char: char| char.is_ascii_digit());
    rest.len() < text.trim_start().len() && (rest.starts_with(". ") || rest.starts_with(") "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_words_count_before_headings_and_headings_before_form() {
        use PageKind::{Decision, Fact, Instruction, Preference, Procedure, Reference};
        for (heading, text, expected) in [
            ("", "The build takes 4 minutes", Fact),
            ("", "Never push to main", Instruction),
            ("", "Don't touch `vendor/`", Instruction),
            ("", "Migrations: never run them by hand", Instruction),
            ("", "Niemals direkt auf main pushen", Instruction),
            ("Decisions", "SQLite over files: one writer", Decision),
            ("Decisions", "Always say why", Instruction),
            ("Project conventions", "Tabs", Instruction),
            ("Build and release", "`make ship`", Procedure),
            ("", "1. stop\n2. start", Procedure),
            ("", "```sh\nmake\n```", Procedure),
            ("", "User prefers short answers", Preference),
            ("See also", "the wiki", Reference),
            ("Neverland", "a place", Fact),
        ] {
            let kind = kind_of(&[heading.to_owned()], ["", text], false);
            assert_eq!(kind, expected, "{heading}: {text}");
        }
        assert_eq!(kind_of(&[], ["", "Never mind"], true), Reference);
        assert_eq!(kind_of(&[], ["Never do this:", "push to main"], false), Instruction);
        assert_eq!(kind_of(&[], ["Mind this:", "Never push"], false), Instruction);
    }
}
