//! The four fidelities of a page, each derived from its Markdown alone: the same text always gives
//! the same lines, and no tag in them can end the enclosing section. Must not choose a fidelity.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::page::{Page, each_word};
use super::parse::without_marker;
use base::object::quote;
use context::tokens;

/// Characters of a compressed page, up to the end of a sentence if one ends in time.
const COMPRESSED_CHARS: usize = 160;
/// Words of a structured page's value.
const STRUCTURED_WORDS: usize = 8;
/// Words that name a page without a key.
const POINTER_WORDS: usize = 5;

/// How much of a page is in the system prompt.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Fidelity {
    /// Its subject, and where to find it.
    Pointer,
    /// Its key, its kind and the first words of its value.
    Structured,
    /// Its first sentences.
    Compressed,
    /// Its Markdown as it is.
    Full,
}

impl Fidelity {
    /// All fidelities, lowest first.
    pub const ALL: [Self; 4] = [Self::Pointer, Self::Structured, Self::Compressed, Self::Full];

    /// The name shown to people.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A page at one fidelity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// Its lines.
    pub text: String,
    /// Its tokens, including the line break behind it.
    pub tokens: u32,
}

/// A page at every fidelity. None has more tokens than the next higher one: where an abbreviation
/// would be longer, the two are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forms([Form; 4]);

impl Forms {
    /// Derives the forms of a page.
    pub fn of(page: &Page) -> Self {
        let full = form(&full(page));
        let no_longer = |text: String, than: &Form| {
            let form = form(&text);
            if form.tokens < than.tokens { form } else { than.clone() }
        };
        let compressed = no_longer(compressed(page), &full);
        let structured = no_longer(structured(page), &compressed);
        let pointer = no_longer(pointer(page), &structured);
        Self([pointer, structured, compressed, full])
    }

    /// The form at a fidelity.
    pub fn at(&self, fidelity: Fidelity) -> &Form {
        &self.0[fidelity as usize]
    }
}

fn form(text: &str) -> Form {
    let text = quote::section(text).into_owned();
    let tokens = u32::try_from(tokens::count(&text) + 1).unwrap_or(u32::MAX);
    Form { text, tokens }
}

/// The Markdown as it is; a section of a topic file begins with its name.
fn full(page: &Page) -> String {
    if page.is_entry() { page.text.clone() } else { format!("- {}:\n{}", place(page), page.text) }
}

fn compressed(page: &Page) -> String {
    let said = said(page);
    let all: Vec<char> = said.chars().collect();
    if all.len() <= COMPRESSED_CHARS {
        return line(page, &said);
    }
    let head: String = all[..COMPRESSED_CHARS].iter().collect();
    let end = [". ", "; ", "! ", "? "].iter().filter_map(|end| head.rfind(end)).max();
    let end = end.filter(|end| *end >= COMPRESSED_CHARS / 3);
    let cut = || head.rfind(' ').unwrap_or(head.len());
    let kept = end.map_or_else(|| &head[..cut()], |end| &head[..=end]);
    line(page, &format!("{} …", kept.trim_end()))
}

fn structured(page: &Page) -> String {
    let said = said(page);
    let value = match &page.key {
        Some(key) => said.split_once(key.as_str()).map_or(said.as_str(), |(_, rest)| rest),
        None => &said,
    };
    let value: Vec<&str> = value
        .trim_start_matches(|char: char| !char.is_alphanumeric() && !"`[(\"'".contains(char))
        .split_whitespace()
        .collect();
    let shown = value[..value.len().min(STRUCTURED_WORDS)].join(" ");
    let more = if value.len() > STRUCTURED_WORDS { " …" } else { "" };
    let kind = page.kind.as_str();
    match &page.key {
        Some(key) => line(page, &format!("{key} ({kind}): {shown}{more}")),
        None => line(page, &format!("({kind}) {shown}{more}")),
    }
}

fn pointer(page: &Page) -> String {
    let first = || {
        let words: Vec<String> = each_word(&page.text).take(POINTER_WORDS).collect();
        format!("{} …", words.join(" "))
    };
    let name = page.key.clone().unwrap_or_else(first);
    format!("- {} → {}", quote::line(&name), position(page))
}

/// One line for a page: an entry as an item, a section of a topic file with its name.
fn line(page: &Page, said: &str) -> String {
    if page.is_entry() { format!("- {said}") } else { format!("- {}: {said}", place(page)) }
}

/// Name of a section and its place.
fn place(page: &Page) -> String {
    let name = quote::line(page.key.as_deref().unwrap_or("beginning"));
    format!("{name} ({})", position(page))
}

fn position(page: &Page) -> String {
    format!("{}:{}", quote::name(&page.place.file), page.place.line)
}

/// A page's text, on one line and without its list marker.
fn said(page: &Page) -> String {
    without_marker(&page.text).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::super::scope::Scope;
    use super::*;

    fn forms(file: &str, text: &str) -> [String; 4] {
        let page = parse(Scope::Project, file, text).pop().unwrap();
        let forms = Forms::of(&page);
        Fidelity::ALL.map(|fidelity| forms.at(fidelity).text.clone())
    }

    #[test]
    fn a_long_entry_has_four_forms() {
        let text = "- **Release**: run `make ship` from a clean checkout of main, never from a branch, and wait for the green tick before you tell anyone. \
                    Then tag it, push the tag, and write the notes into CHANGELOG.md by hand, since the script cannot.\n  The tick takes 20 minutes.";
        let [pointer, structured, compressed, full] = forms("MEMORY.md", text);
        assert_eq!(full, text);
        assert_eq!(
            compressed,
            "- **Release**: run `make ship` from a clean checkout of main, never from a branch, and wait for the green tick before you tell anyone. …"
        );
        assert_eq!(structured, "- Release (fact): run `make ship` from a clean checkout of …");
        assert_eq!(pointer, "- Release → MEMORY.md:1");
    }

    #[test]
    fn a_short_entry_is_the_same_at_fidelities_of_equal_length() {
        let [pointer, structured, compressed, full] = forms("MEMORY.md", "- CI: green");
        assert_eq!([&*structured, &*compressed, &*full], ["- CI: green"; 3]);
        assert_eq!(pointer, "- CI: green");
    }

    #[test]
    fn a_section_of_a_topic_file_names_its_place() {
        let text = "# Cache\nOne. Two words and many more of them that go on.\n\n- a\n- b\n";
        let [pointer, _, _, full] = forms("build.md", text);
        assert_eq!(pointer, "- Cache → build.md:2");
        assert_eq!(
            full,
            "- Cache (build.md:2):\nOne. Two words and many more of them that go on.\n\n- a\n- b"
        );
    }

    #[test]
    fn no_form_is_longer_than_the_next_and_forms_are_stable() {
        for text in [
            "- x",
            "- ünï — çödé 漢字漢字漢字漢字漢字",
            "- a: b",
            "| a | b |\n|---|---|\n| 1 | 2 |",
            "```\ncode\n```",
        ] {
            let page = parse(Scope::Global, "MEMORY.md", text).pop().unwrap();
            let forms = Forms::of(&page);
            for pair in Fidelity::ALL.windows(2) {
                assert!(forms.at(pair[0]).tokens <= forms.at(pair[1]).tokens, "{text}");
            }
            assert_eq!(forms, Forms::of(&page));
        }
    }
}
