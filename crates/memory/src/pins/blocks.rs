//! Finds where a name is defined in a text, and how far its definition reaches: by brackets, by
//! indentation, in Markdown by headings. Knows no language's grammar; where it finds nothing the
//! citation stands for the whole file. Must not look at files.

use std::sync::LazyLock;

use regex::Regex;

use crate::page::words;

/// Most definitions of one name: overloads, a type and its parts.
const MAX_DEFINITIONS: usize = 4;
/// Longest definition, in lines.
const MAX_LINES: usize = 500;

/// Words before the name of what can be called, or of a type, in the languages that people cite.
const OWN: &str = "fn|def|defp|class|struct|enum|union|trait|type|interface|function|func|fun|sub|proc|macro_rules|record|object|protocol|message|service|resource|variable|table|view|target|alias";
/// Words before the name of a value or a part: many a name of theirs is used again further in.
const VALUE: &str = "const|static|let|var|val|module|mod|namespace|package|#define|export";
/// Words before what belongs to a type that is defined elsewhere.
const EXTENDING: &str = "impl|extension";

/// Where a name is defined: the first and last line of each place, from 0.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Definitions {
    /// The definitions.
    pub(super) places: Vec<(usize, usize)>,
    /// What else belongs to the type of this name.
    pub(super) extending: Vec<(usize, usize)>,
    /// Whether they are of a value, whose name may stand for others elsewhere in the file.
    pub(super) is_value: bool,
}

/// The definitions of a name. `name`: its last part is what is defined, within what the one before
/// names if that is there, as in `Type::method` and `module.function`. `with`: the lines in which a
/// text stands, from 0.
pub(super) fn definitions(
    lines: &[&str],
    name: &str,
    with: &dyn Fn(&str) -> Vec<usize>,
) -> Definitions {
    let mut parts = name.trim_end_matches("()").rsplit([':', '.', '#']);
    let found = defined(lines, parts.next().unwrap_or_default(), with);
    let Some(around) = parts.find(|part| !part.is_empty()) else { return found };
    let around = defined(lines, around, with);
    let is_inside = |(first, last): &(usize, usize)| {
        let mut around = around.places.iter().chain(&around.extending);
        around.any(|(from, to)| from < first && last <= to)
    };
    let inside: Vec<_> = found.places.iter().copied().filter(is_inside).collect();
    if inside.is_empty() { found } else { Definitions { places: inside, ..found } }
}

/// The definitions of a name without what it is a part of.
fn defined(lines: &[&str], name: &str, with: &dyn Fn(&str) -> Vec<usize>) -> Definitions {
    let is_name = name.chars().all(|char| char.is_alphanumeric() || "_$-!?".contains(char));
    if name.is_empty() || !is_name {
        return Definitions::default();
    }
    let defining = with(name).into_iter().filter_map(|at| Some((at, form_of(name, lines, at)?)));
    let defining: Vec<(usize, Form)> = defining.collect();
    let of = |form: Form| -> Vec<usize> {
        defining.iter().filter(|(_, other)| *other == form).map(|(at, _)| *at).collect()
    };
    let (own, mut values) = (of(Form::Own), of(Form::Value));
    // What is further in are uses of the name for something else.
    let outer = values.iter().map(|at| indentation(lines[*at])).min();
    values.retain(|at| Some(indentation(lines[*at])) == outer);
    let extending = || reaching(lines, &of(Form::Extending)).unwrap_or_default();
    let is_value = own.is_empty();
    match reaching(lines, if is_value { &values } else { &own }) {
        Some(places) if places.is_empty() => {
            Definitions { places: extending(), ..Definitions::default() }
        }
        Some(places) => Definitions { places, extending: extending(), is_value },
        None => Definitions::default(),
    }
}

/// What begins on some lines, each to its end; `None` if these are too many, or too long to tell.
fn reaching(lines: &[&str], firsts: &[usize]) -> Option<Vec<(usize, usize)>> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for first in firsts {
        // A definition within another one of the same name belongs to it.
        if found.last().is_some_and(|(_, last)| first <= last) {
            continue;
        }
        if found.len() == MAX_DEFINITIONS {
            return None;
        }
        found.push((*first, end_of(lines, *first)?));
    }
    Some(found)
}

/// What a line that defines a name makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Own,
    Value,
    Extending,
}

/// How definitions are written: what stands before the name, and behind it.
struct Forms {
    own: Regex,
    value: Regex,
    extending: Regex,
    assigned: [Regex; 2],
    callable: [Regex; 2],
}

static FORMS: LazyLock<Forms> = LazyLock::new(|| {
    let pattern = |pattern: &str| Regex::new(pattern).expect("a constant that tests compile");
    let behind = |start: &str, words: &str, between: &str| {
        pattern(&format!(r"{start}(?:{words})\b(?:\s*\([^)]*\))?[^=({{;{between}]*[^\w$=({{;,]$"))
    };
    Forms {
        own: behind(r"(?:^|[\s(])", OWN, ":"),
        value: behind(r"(?:^|[\s(])", VALUE, ""),
        extending: behind(r"^\s*(?:\w+\s+)?", EXTENDING, ""),
        assigned: [pattern(r#"^\s*["']?$"#), pattern(r#"^["']?\s*(?::[^:]|:$|\??:|:?=[^=])"#)],
        callable: [pattern(r"^[\w*&<>:,~\[\]\s]*$"), pattern(r"^\s*\([^;]*$")],
    }
});

/// What a line makes of a name; `None` if it does not define it.
fn form_of(name: &str, lines: &[&str], at: usize) -> Option<Form> {
    let line = lines[at];
    let is_part = |char: char| char.is_alphanumeric() || char == '_' || char == '$';
    let named =
        line.match_indices(name).map(|(from, _)| (&line[..from], &line[from + name.len()..]));
    let mut named = named
        .filter(|(before, behind)| !before.ends_with(is_part) && !behind.starts_with(is_part))
        .peekable();
    named.peek()?;
    if is_remark(line) {
        return None;
    }
    let opens_next = || {
        let mut below = lines[at + 1..].iter().map(|line| line.trim());
        below.find(|line| !line.is_empty()).is_some_and(|line| line.starts_with('{'))
    };
    let opens = || line.trim_end().ends_with(['{', ':']) || opens_next();
    let is = |[one, other]: &[Regex; 2], before: &str, behind: &str| {
        one.is_match(before) && other.is_match(behind)
    };
    named.find_map(|(before, behind)| {
        if FORMS.extending.is_match(before) {
            Some(Form::Extending)
        } else if FORMS.own.is_match(before) {
            Some(Form::Own)
        } else if FORMS.value.is_match(before) || is(&FORMS.assigned, before, behind) {
            Some(Form::Value)
        } else {
            (is(&FORMS.callable, before, behind) && opens()).then_some(Form::Own)
        }
    })
}

/// Whether a line is a remark in some language. `#` begins names in others.
fn is_remark(line: &str) -> bool {
    ["//", "/*", "* ", "# ", "-- ", "<!--"].iter().any(|mark| line.trim_start().starts_with(mark))
}

/// The last line of what begins on a line; `None` if it is too long to tell.
fn end_of(lines: &[&str], first: usize) -> Option<usize> {
    let mut depth = 0_i64;
    let mut at = first;
    loop {
        depth += depth_of(lines[at]);
        if depth <= 0 && !goes_on(lines, at) {
            break;
        }
        at += 1;
        if at - first >= MAX_LINES {
            return None;
        }
        if at >= lines.len() {
            return Some(lines.len() - 1);
        }
    }
    // What is indented below belongs to it where no brackets say how far it reaches.
    let own = indentation(lines[first]);
    let mut last = at;
    for (next, line) in lines.iter().enumerate().skip(at + 1) {
        if line.trim().is_empty() {
            continue;
        }
        if indentation(line) <= own {
            break;
        }
        last = next;
        if last - first >= MAX_LINES {
            return None;
        }
    }
    Some(last)
}

/// How many more brackets a line opens than it closes, without those in double quotes.
fn depth_of(line: &str) -> i64 {
    let (mut depth, mut is_quoted, mut before) = (0, false, ' ');
    for char in line.chars() {
        match char {
            '"' if before != '\\' => is_quoted = !is_quoted,
            '(' | '[' | '{' if !is_quoted => depth += 1,
            ')' | ']' | '}' if !is_quoted => depth -= 1,
            _ => {}
        }
        before = char;
    }
    depth
}

/// Whether the next line certainly continues: it opens the body of what a line begins.
fn goes_on(lines: &[&str], at: usize) -> bool {
    let next = lines.get(at + 1).map_or("", |line| line.trim_start());
    next.starts_with('{') || next.starts_with("where")
}

fn indentation(line: &str) -> usize {
    line.chars()
        .take_while(|char| char.is_whitespace())
        .map(|char| if char == '\t' { 4 } else { 1 })
        .sum()
}

/// A heading of Markdown.
#[derive(Debug)]
pub(super) struct Heading {
    /// Its line, from 0.
    line: usize,
    level: usize,
    slug: String,
}

/// The headings of Markdown.
pub(super) fn headings(lines: &[&str]) -> Vec<Heading> {
    let level = |line: &str| {
        let marks = line.chars().take_while(|char| *char == '#').count();
        (1..=6).contains(&marks).then_some(marks).filter(|marks| line[*marks..].starts_with(' '))
    };
    let mut is_fenced = false;
    let found = lines.iter().enumerate().filter_map(|(at, line)| {
        is_fenced ^= line.trim_start().starts_with("```");
        let level = level(line).filter(|_| !is_fenced)?;
        Some(Heading { line: at, level, slug: slug(&line[level..]) })
    });
    found.collect()
}

/// The section below a heading, to the next one as high. `name`: the heading's text, or as in links
/// to it.
pub(super) fn section(headings: &[Heading], count: usize, name: &str) -> Option<(usize, usize)> {
    let wanted = slug(name);
    let place = headings.iter().position(|heading| heading.slug == wanted)?;
    let Heading { line: first, level, .. } = headings[place];
    let next = headings[place + 1..].iter().find(|other| other.level <= level);
    let end = next.map_or(count, |next| next.line);
    (end - first <= MAX_LINES).then_some((first, end - 1))
}

/// A heading as links name it.
fn slug(heading: &str) -> String {
    words(heading).join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, name: &str) -> Vec<(usize, usize)> {
        let lines: Vec<&str> = text.lines().collect();
        let with = |part: &str| (0..lines.len()).filter(|at| lines[*at].contains(part)).collect();
        definitions(&lines, name, &with).places
    }

    #[test]
    fn a_definition_reaches_to_its_end_in_every_kind_of_language() {
        for (text, name, expected) in [
            ("const MAX: u32 = 64;\n\nfn other() {\n    MAX;\n}\n", "MAX", (0, 0)),
            ("fn a() {}\nfn b(\n    x: u32,\n) -> u32 {\n    x\n}\nfn c() {}\n", "b", (1, 5)),
            ("impl A {\n    pub fn go(&self) {\n        1\n    }\n}\n", "A::go", (1, 3)),
            (
                "def one():\n    pass\n\ndef two(x):\n    y = 1\n\n    return y\n\nz = 3\n",
                "two",
                (3, 6),
            ),
            ("class A:\n    def f(self):\n        pass\n", "A.f()", (1, 2)),
            ("LIMIT = 10\nOTHER = 2\n", "LIMIT", (0, 0)),
            ("export const LIMIT =\n  10 *\n  2;\nx();\n", "LIMIT", (0, 2)),
            ("class A {\n  async load(id) {\n    return id;\n  }\n}\n", "load", (1, 3)),
            ("int\nmain(int n)\n{\n  return 0;\n}\n", "main", (1, 4)),
            ("[tool]\nname = \"x\"\n", "name", (1, 1)),
            ("a:\n  image: x\n  ports:\n    - 1\nb: 2\n", "a", (0, 3)),
            ("{\n  \"scripts\": {\n    \"test\": \"x\"\n  },\n  \"b\": 1\n}\n", "scripts", (1, 3)),
            ("build: a b\n\tcc a\n\ntest:\n\t./a\n", "build", (0, 1)),
            ("deploy() {\n  ship\n}\ndeploy\n", "deploy", (0, 2)),
            ("macro_rules! go {\n    () => {};\n}\n", "go", (0, 2)),
            ("// the type of Store\nclass Store:\n    x = 1\n", "Store", (1, 2)),
            ("func (s *S) Run() error {\n\treturn nil\n}\n", "Run", (0, 2)),
        ] {
            assert_eq!(found(text, name), [expected], "{name} in {text:?}");
        }
    }

    #[test]
    fn a_mere_use_is_no_definition() {
        for text in ["run(MAX);\n", "x = a.load(1)\n", "// load\n", "if load == 1 {\n}\n", ""] {
            assert_eq!(found(text, "MAX"), []);
            assert_eq!(found(text, "load"), []);
        }
    }

    #[test]
    fn a_heading_has_its_section() {
        let text = "# A\n## Set up\nx\n```\n# no heading\n```\n### Deep\ny\n## Next\nz\n";
        let lines: Vec<&str> = text.lines().collect();
        let found = |name: &str| section(&headings(&lines), lines.len(), name);
        assert_eq!(found("set-up"), Some((1, 7)));
        assert_eq!(found("Next"), Some((8, 9)));
        assert_eq!(found("other"), None);
    }
}
