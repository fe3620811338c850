//! Parses Markdown into pages: each entry of an index, each section of a topic file. All text
//! belongs to some page, except headings, comments, front matter, and what announces a list: that
//! goes with each of its items. Must not read files, or carry
//! IDs over edits.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::checks::without_comments;
use super::citations::cites;
use super::kind::kind_of;
use super::page::{FIRST_WORDS, LeadIn, Page, PageId, PagePlace, each_word, words};
use super::scope::Scope;
use base::markdown::{self, Document, UnitKind};

/// Longest key, in characters and words: longer text before a colon is part of a sentence.
const MAX_KEY: (usize, usize) = (80, 10);
/// A text is a reference if it has at most this many words besides a link.
const WORDS_BESIDE_LINK: usize = 12;

/// The pages of a file, with their initial IDs.
///
/// `file`: path in the scope's folder, with `/`.
pub fn parse(scope: Scope, file: &str, text: &str) -> Vec<Page> {
    pages_of(scope, file, text, &markdown::parse(text), usize::MAX).0
}

/// Like [`parse`], for a text whose Markdown was already parsed: at most this many pages, and how many
/// there are.
pub(super) fn pages_of(
    scope: Scope,
    file: &str,
    text: &str,
    document: &Document,
    most: usize,
) -> (Vec<Page>, usize) {
    let mut drafts =
        if file == scope.index_file() { entries(text, document) } else { sections(text, document) };
    let count = drafts.len();
    drafts.truncate(most);
    let mut met: HashMap<PageId, usize> = HashMap::new();
    let pages = drafts.into_iter().map(|draft| {
        let place = PagePlace {
            scope,
            file: file.to_owned(),
            headings: draft.headings,
            line: draft.lines.start,
            last_line: draft.lines.end,
        };
        let body = &text[draft.range.clone()];
        let links = links(document, &draft.range);
        let key = draft.key.or_else(|| key_of(body, &links));
        let named = key.as_deref().map(words).filter(|words| !words.is_empty());
        let first = named.unwrap_or_else(|| each_word(body).take(FIRST_WORDS).collect());
        let nth = met.entry(PageId::first(&place, &first, 0)).or_default();
        let id = PageId::first(&place, &first, *nth);
        *nth += 1;
        let (lead_in, leading) = draft.lead_in.unwrap_or_default();
        let is_tagged = |name: &str| {
            let is_in = |range| is_tagged(document, range, name);
            is_in(&draft.range) || is_in(&lead_in) || is_below_tag(&place, name)
        };
        let mut cited = cites(body, &links);
        cited.extend(cites(&text[lead_in.clone()], &self::links(document, &lead_in)));
        let announced = without_comments(&text[lead_in.clone()]);
        let lead_in = LeadIn {
            text: announced.split_whitespace().collect::<Vec<_>>().join(" "),
            lines: (leading.start, leading.end),
        };
        Page {
            id,
            kind: kind_of(
                &place.headings,
                [&announced, &without_marker(body)],
                is_link_only(body, &links),
            ),
            is_pinned: is_tagged("pinned") || is_below_pin(&place),
            is_important: is_tagged("important"),
            cites: cited,
            lead_in: Some(lead_in).filter(|lead_in| !lead_in.text.is_empty()),
            is_withheld: false,
            text: body.trim_end().to_owned(),
            key,
            place,
        }
    });
    (pages.collect(), count)
}

/// A page before it has an ID.
struct Draft {
    headings: Vec<String>,
    key: Option<String>,
    lines: Range<u32>,
    range: Range<usize>,
    /// What announces it: bytes and lines.
    lead_in: Option<(Range<usize>, Range<u32>)>,
}

/// Entries of an index: list items, and blocks that are not lists and announce none.
fn entries(text: &str, document: &Document) -> Vec<Draft> {
    let mut last_lead_in = None;
    let drafts = markdown::units(text).into_iter().filter_map(|unit| {
        let lines = line(unit.line)..line(unit.last_line);
        match unit.kind {
            UnitKind::Comment => return None,
            UnitKind::LeadIn => {
                last_lead_in = Some((unit.range, lines));
                return None;
            }
            UnitKind::Item { .. } | UnitKind::Block => {}
        }
        Some(Draft {
            headings: headings_at(document, unit.range.start),
            key: None,
            lines,
            range: unit.range,
            lead_in: last_lead_in.clone().filter(|_| unit.lead_in.is_some()),
        })
    });
    drafts.collect()
}

/// Sections of a topic file: the text between two headings.
fn sections(text: &str, document: &Document) -> Vec<Draft> {
    let front = document.front_matter.as_ref().map_or(0, |front| front.range.end);
    let starts = std::iter::once((front, None))
        .chain(document.headings.iter().map(|heading| (heading.range.end, Some(heading))));
    let ends = document.headings.iter().map(|heading| heading.range.start).chain([text.len()]);
    // Ascending places alone, so that each byte is looked at once.
    let (mut at, mut number) = (0, 1);
    let mut line_at = |place: usize| {
        number += line(memchr::memchr_iter(b'\n', &text.as_bytes()[at..place]).count());
        at = place;
        number
    };
    let drafts = starts.zip(ends).filter_map(|((start, heading), end)| {
        let body = text.get(start..end)?;
        let said = body.trim();
        if said.is_empty() {
            return None;
        }
        let from = start + (body.len() - body.trim_start().len());
        let range = from..from + said.len();
        Some(Draft {
            headings: headings_at(document, range.start),
            key: heading.map(|heading| heading.text.clone()),
            lines: line_at(range.start)..line_at(range.end - 1),
            range,
            lead_in: None,
        })
    });
    drafts.collect()
}

fn line(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The headings above a byte of a text, outermost first.
pub(super) fn headings_at(document: &Document, at: usize) -> Vec<String> {
    let after = document.headings.partition_point(|heading| heading.range.start <= at);
    let mut above = Vec::new();
    let mut next = after.checked_sub(1);
    while let Some(heading) = next.and_then(|place| document.headings.get(place)) {
        above.push(heading.text.clone());
        next = heading.parent;
    }
    above.reverse();
    above
}

/// The links that stand within a range.
fn links<'a>(document: &'a Document, range: &Range<usize>) -> Vec<&'a markdown::Link> {
    within(&document.links, range, |link| link.place.range.start).iter().collect()
}

fn is_tagged(document: &Document, range: &Range<usize>, name: &str) -> bool {
    let mut tags = within(&document.tags, range, |tag| tag.place.range.start).iter();
    tags.any(|tag| tag.name.eq_ignore_ascii_case(name))
}

/// The elements of `all`, which are in text order, that begin within a range.
fn within<'a, T>(all: &'a [T], range: &Range<usize>, start: impl Fn(&T) -> usize) -> &'a [T] {
    let from = all.partition_point(|one| start(one) < range.start);
    let to = all.partition_point(|one| start(one) < range.end);
    &all[from..to]
}

fn is_below_tag(place: &PagePlace, name: &str) -> bool {
    let mut words = place.headings.iter().flat_map(|heading| heading.split_whitespace());
    words.any(|word| word.strip_prefix('#').is_some_and(|tag| tag.eq_ignore_ascii_case(name)))
}

fn is_below_pin(place: &PagePlace) -> bool {
    place.headings.iter().any(|heading| {
        ["pinned", "invariants"].iter().any(|name| heading.trim().eq_ignore_ascii_case(name))
    })
}

/// An entry without its list and task markers.
pub(super) fn without_marker(entry: &str) -> String {
    static MARKER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?").expect("a valid pattern")
    });
    MARKER.replace(entry, "").into_owned()
}

/// The subject of an entry, see [`Page::key`].
fn key_of(entry: &str, links: &[&markdown::Link]) -> Option<String> {
    let said = without_marker(entry);
    let first = said.lines().next().unwrap_or_default();
    let is_link_first = first.starts_with('[') || first.starts_with("![");
    if let Some(link) = links.first().filter(|_| is_link_first) {
        let title = link.alias.clone().unwrap_or_else(|| link.target.clone());
        return Some(title.trim().to_owned()).filter(|title| !title.is_empty());
    }
    let colon = first.match_indices(':').find(|(at, _)| {
        first[at + 1..].chars().next().is_none_or(|next| next.is_whitespace() || next == '*')
    });
    let ends = [colon.map(|(at, _)| at), first.find('—')];
    let end = ends.into_iter().flatten().min()?;
    let key = first[..end].trim().trim_matches(['*', '_', '`']).trim();
    let fits = key.chars().count() <= MAX_KEY.0 && (1..=MAX_KEY.1).contains(&words(key).len());
    fits.then(|| key.to_owned())
}

fn is_link_only(entry: &str, links: &[&markdown::Link]) -> bool {
    let said = without_marker(entry);
    let is_first = said.starts_with('[') || said.starts_with("http");
    is_first && !links.is_empty() && {
        let inside: usize = links
            .iter()
            .map(|link| {
                words(link.alias.as_deref().unwrap_or_default()).len() + words(&link.target).len()
            })
            .sum();
        words(&said).len().saturating_sub(inside) <= WORDS_BESIDE_LINK
    }
}

#[cfg(test)]
mod tests {
    use super::super::page::PageKind;
    use super::*;

    fn index(text: &str) -> Vec<Page> {
        parse(Scope::Project, "MEMORY.md", text)
    }

    #[test]
    fn each_entry_is_a_page_with_its_place_key_and_kind() {
        let pages = index(
            "# Memory\n\n## Build\n- Tests: `npm test`, 4 minutes\n- [Build quirks](build.md) — sccache breaks -Werror\n\n\
             ## Decisions\n- **Store** — SQLite, see `src/store.rs:12`\n\nNever push to main.\n",
        );
        let seen: Vec<_> = pages
            .iter()
            .map(|page| {
                (page.place.headings.join("/"), page.place.line, page.key.as_deref(), page.kind)
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("Memory/Build".to_owned(), 4, Some("Tests"), PageKind::Procedure),
                ("Memory/Build".to_owned(), 5, Some("Build quirks"), PageKind::Reference),
                ("Memory/Decisions".to_owned(), 8, Some("Store"), PageKind::Decision),
                ("Memory/Decisions".to_owned(), 10, None, PageKind::Instruction),
            ]
        );
        assert_eq!(pages[1].cites[0].path, "build.md");
        assert_eq!(pages[2].cites[0].path, "src/store.rs");
    }

    #[test]
    fn a_section_of_a_topic_file_is_a_page() {
        let text = "---\ntags: x\n---\nIntro.\n\n# Build\n\n## Cache\nsccache breaks.\n\n- a\n- b\n\n## Empty\n";
        let pages = parse(Scope::Global, "build.md", text);
        let seen: Vec<_> = pages
            .iter()
            .map(|page| (page.key.as_deref(), page.place.line, page.place.last_line, &*page.text))
            .collect();
        assert_eq!(
            seen,
            [(None, 4, 4, "Intro."), (Some("Cache"), 9, 12, "sccache breaks.\n\n- a\n- b"),]
        );
        assert_eq!(pages[1].place.headings, ["Build", "Cache"]);
    }

    #[test]
    fn text_before_a_colon_is_a_key_unless_it_is_part_of_something() {
        for (entry, expected) in [
            ("- CI: green", Some("CI")),
            ("- **Package manager:** pnpm", Some("Package manager")),
            ("- see https://a.b/c", None),
            ("- at 12:30 it runs", None),
            ("- `a::b` panics", None),
            ("- [x] Done: yes", Some("Done")),
            ("- one two three four five six seven eight nine ten eleven: too long", None),
            ("- [[Deploy]] needs VPN", Some("Deploy")),
            ("- : nothing", None),
        ] {
            assert_eq!(index(entry)[0].key.as_deref(), expected, "{entry}");
        }
    }

    #[test]
    fn tags_and_headings_pin() {
        let pages = index(
            "## Invariants\n- a\n\n## Other\n- b #pinned\n- c #important\n\n## Rules #pinned\n- d\n",
        );
        let seen: Vec<_> = pages.iter().map(|page| (page.is_pinned, page.is_important)).collect();
        assert_eq!(seen, [(true, false), (true, false), (false, true), (true, false)]);
    }

    #[test]
    fn equal_entries_have_different_ids() {
        let pages = index("- same\n- same\n\n## H\n- same\n");
        let ids: std::collections::BTreeSet<_> = pages.iter().map(|page| &page.id).collect();
        assert_eq!(ids.len(), 3);
    }

    #[test]
    fn an_id_depends_on_the_key_and_not_on_the_value() {
        assert_eq!(index("- CI: green")[0].id, index("\n\n- CI: red")[0].id);
        assert_ne!(index("- CI: green")[0].id, index("- CD: green")[0].id);
    }
}
