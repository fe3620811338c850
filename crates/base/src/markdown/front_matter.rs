//! Front matter: where it begins and ends, its fields, and the links, tags and aliases in them.
//! Must not read the content.
//!
//! Source: Obsidian's help, "Properties", "Tags" and "Aliases": YAML between `---` on the first
//! line and the next line that is `---`.

use std::ops::Range;

use serde_json::{Map, Value};

use super::document::{Alias, FrontMatter, Link, MarkdownField, MarkdownProblem, Tag, TextPlace};
use super::line_numbers::LineNumbers;
use super::links;
use super::yaml::{self, Failure, Scalar};

/// A parsed front matter; empty if the text has none.
#[derive(Debug, Default)]
pub(super) struct Front {
    pub(super) matter: Option<FrontMatter>,
    pub(super) links: Vec<Link>,
    pub(super) tags: Vec<Tag>,
    pub(super) aliases: Vec<Alias>,
    /// Byte offset at which the content begins.
    pub(super) body: usize,
}

/// Parses the front matter of `text`.
pub(super) fn read(text: &str, lines: &LineNumbers) -> Front {
    let Some((yaml_range, body)) = find(text) else {
        // A byte order mark hides no heading behind it.
        let body = text.len() - text.trim_start_matches('\u{feff}').len();
        return Front { body, ..Front::default() };
    };
    let start = yaml_range.start;
    let first_line = lines.line(start);
    let mut front = Front { body, ..Front::default() };
    let wanted = |field: &str, value: &str| {
        value.contains("[[") || is_field(field, "tag") || is_field(field, "alias")
    };
    // Report a premature end at the last line of the YAML, not at the `---` after it.
    let last_line = lines.line(yaml_range.end.saturating_sub(1).max(start));
    let problem_of = |failure: Failure| {
        let line = (first_line + failure.line.saturating_sub(1)).min(last_line);
        MarkdownProblem { line, message: failure.message }
    };
    let (fields, problem) = match yaml::read(&text[yaml_range], wanted) {
        Err(failure) => (Map::new(), Some(problem_of(failure))),
        Ok(yaml) => {
            let doubled = yaml.doubled.map(problem_of);
            match yaml.value {
                Value::Object(fields) => {
                    let reader = Relations { text, start, lines };
                    yaml.scalars.iter().for_each(|scalar| reader.take(scalar, &mut front));
                    (fields, doubled)
                }
                Value::Null => (Map::new(), None),
                _ => {
                    let message = "front matter is not a mapping of keys to values".to_owned();
                    (Map::new(), Some(MarkdownProblem { line: first_line, message }))
                }
            }
        }
    };
    let range = text.len() - text.trim_start_matches('\u{feff}').len()..body;
    front.matter = Some(FrontMatter { fields, problem, range });
    front
}

/// The bytes of the YAML, and where the content begins. A byte order mark may come first; white
/// space may follow `---`.
fn find(text: &str) -> Option<(Range<usize>, usize)> {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut rest = text[mark..].split_inclusive('\n');
    let first = rest.next().filter(|line| line.ends_with('\n') && is_fence(line))?;
    let start = mark + first.len();
    let mut end = start;
    for line in rest {
        if is_fence(line) {
            return Some((start..end, end + line.len()));
        }
        end += line.len();
    }
    None
}

fn is_fence(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.trim().is_empty())
}

/// Whether a field has this name, singular or plural; case does not matter.
fn is_field(field: &str, name: &str) -> bool {
    let rest = field.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name));
    let plural = if name == "alias" { "es" } else { "s" };
    rest.is_some_and(|_| {
        let ending = &field[name.len()..];
        ending.is_empty() || ending.eq_ignore_ascii_case(plural)
    })
}

/// Finds relations in the scalars of the YAML that begins at `start`.
struct Relations<'a> {
    text: &'a str,
    start: usize,
    lines: &'a LineNumbers,
}

impl Relations<'_> {
    fn take(&self, scalar: &Scalar, front: &mut Front) {
        front.links.extend(self.links(scalar));
        let in_list = scalar.path.len() > scalar.field.len();
        if is_field(&scalar.field, "tag") {
            let split = |sign: char| sign == ',' || sign.is_whitespace();
            for (name, place) in self.names(scalar, split) {
                let name = name.trim_start_matches('#').trim_end_matches('/').to_owned();
                if !name.is_empty() {
                    front.tags.push(Tag { name, place });
                }
            }
        } else if is_field(&scalar.field, "alias") {
            // A list item is a single name, even with commas.
            let names = self.names(scalar, |sign| sign == ',' && !in_list);
            front.aliases.extend(names.into_iter().map(|(name, place)| Alias { name, place }));
        }
    }

    /// The wikilinks of a string. If the YAML escapes anything, the parts come from the value and
    /// the place from the source text.
    fn links(&self, scalar: &Scalar) -> Vec<Link> {
        let written = self.start + scalar.range.start..self.start + scalar.range.end;
        let places = links::scan(self.text, &written, &[]);
        let values = links::scan(&scalar.text, &(0..scalar.text.len()), &[]);
        let same = places.len() == values.len();
        let link = |(number, found): (usize, &links::WikilinkRanges)| {
            let inner = match values.get(number) {
                Some(value) if same => &scalar.text[value.inner.clone()],
                _ => &self.text[found.inner.clone()],
            };
            links::wikilink(inner, found.embed, self.place(scalar, found.range.clone()))
        };
        places.iter().enumerate().filter_map(link).collect()
    }

    /// The names in a scalar, each with its place: its own range if it is written literally, else
    /// the whole scalar.
    fn names(&self, scalar: &Scalar, split: impl Fn(char) -> bool) -> Vec<(String, TextPlace)> {
        let whole = self.start + scalar.range.start..self.start + scalar.range.end;
        let mut from = Some(whole.start);
        let mut names = Vec::new();
        for name in scalar.text.split(split).map(str::trim).filter(|name| !name.is_empty()) {
            let written = from.and_then(|from| {
                self.text[from..whole.end].find(name).map(|at| from + at..from + at + name.len())
            });
            // Once a name is not written literally, stop looking: every further search would scan
            // the whole scalar.
            from = written.as_ref().map(|range| range.end);
            names.push((name.to_owned(), self.place(scalar, written.unwrap_or(whole.clone()))));
        }
        names
    }

    fn place(&self, scalar: &Scalar, range: Range<usize>) -> TextPlace {
        let line = self.lines.line(range.start);
        TextPlace { field: MarkdownField::FrontMatter, path: scalar.path.clone(), line, range }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::markdown::{MarkdownField, parse};

    fn problem(text: &str) -> Option<(usize, String)> {
        let problem = parse(text).front_matter.unwrap().problem?;
        Some((problem.line, problem.message))
    }

    #[test]
    fn fields_keep_their_order_and_types() {
        let text =
            "---\nz: 1\na: [x, 2.5, true, ~, 0x10, -3]\nd: 2024-01-02\nn: {k: \"1\"}\n---\nbody";
        let front = parse(text).front_matter.unwrap();
        let fields = json!({"z": 1, "a": ["x", 2.5, true, null, 16, -3], "d": "2024-01-02", "n": {"k": "1"}});
        assert_eq!(serde_json::Value::Object(front.fields.clone()), fields);
        assert_eq!(front.fields.keys().collect::<Vec<_>>(), ["z", "a", "d", "n"]);
        assert_eq!(&text[front.range], &text[..text.len() - 4]);
    }

    #[test]
    fn only_fences_on_the_first_and_a_later_line_make_front_matter() {
        for text in
            ["\n---\na: 1\n---\n", "---\na: 1\n", "---", "----\na: 1\n----\n", "--- a\n---\n"]
        {
            assert_eq!(parse(text).front_matter, None, "{text:?}");
        }
        for text in ["---\n---", "\u{feff}---\n---\n", "--- \r\n---\t\r\nx"] {
            let front = parse(text).front_matter.unwrap();
            assert!(front.fields.is_empty() && front.problem.is_none(), "{text:?}");
        }
    }

    #[test]
    fn reports_non_mapping_lines_and_reads_the_rest() {
        let broken = "---\na: 1\nb: [\n---\n[[x]] #t";
        assert_eq!(problem(broken).map(|(line, _)| line), Some(3));
        assert_eq!(parse(broken).links.len() + parse(broken).tags.len(), 2);
        let list = problem("---\n- a\n---\n").unwrap();
        assert_eq!(list, (2, "front matter is not a mapping of keys to values".to_owned()));
        let doubled = problem("---\na: 1\nb: 2\na: 3\n---\n").unwrap();
        assert_eq!(doubled, (4, "key `a` stands twice; the last one counts".to_owned()));
    }

    #[test]
    fn refuses_only_aliases_that_multiply_a_text() {
        let mut bomb = "---\na: &a [lol, lol]\n".to_owned();
        for level in 0..30 {
            bomb += &format!("b{level}: &b{level} [*a, *a]\n").replace(
                "*a",
                &match level {
                    0 => "*a".to_owned(),
                    _ => format!("*b{}", level - 1),
                },
            );
        }
        let (_, message) = problem(&(bomb + "---\n")).unwrap();
        assert_eq!(message, "aliases expand to far more than is written");
        let fine = parse("---\na: &x [1]\nb: *x\n---\n").front_matter.unwrap();
        assert_eq!(fine.fields["b"], json!([1]));
        let deep = format!("---\na: {}\n---\n", "[".repeat(70) + &"]".repeat(70));
        assert_eq!(problem(&deep).unwrap().1, "nested more than 64 levels deep");
    }

    #[test]
    fn wikilinks_tags_and_aliases_have_key_paths() {
        let text = "---\nrelated: [\"[[A|b]]\", 'x [[C]]']\nup:\n  of: \"[[\\u00e9]]\"\nno: [[D]]\n\
            Tags: '#a, b/c d'\ntag:\n  - e\n  - 7\naliases: [One, two, \"x, y\"]\n---\n";
        let document = parse(text);
        let links = document.links.iter().map(|link| (&*link.target, &link.place));
        let tags = document.tags.iter().map(|tag| (&*tag.name, &tag.place));
        let aliases = document.aliases.iter().map(|alias| (&*alias.name, &alias.place));
        let all: Vec<_> = links
            .chain(tags)
            .chain(aliases)
            .map(|(name, place)| (name, &*place.path, place.line, &text[place.range.clone()]))
            .collect();
        assert!(document.links.iter().all(|link| link.place.field == MarkdownField::FrontMatter));
        assert_eq!(
            all,
            [
                ("A", "related[0]", 2, "[[A|b]]"),
                ("C", "related[1]", 2, "[[C]]"),
                ("é", "up.of", 4, "[[\\u00e9]]"),
                ("a", "Tags", 6, "#a"),
                ("b/c", "Tags", 6, "b/c"),
                ("d", "Tags", 6, "d"),
                ("e", "tag[0]", 8, "e"),
                ("7", "tag[1]", 9, "7"),
                ("One", "aliases[0]", 10, "One"),
                ("two", "aliases[1]", 10, "two"),
                ("x, y", "aliases[2]", 10, "x, y"),
            ]
        );
    }
}
