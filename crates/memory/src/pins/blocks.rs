//! Finds where a name is defined in a text, and how far its definition reaches: by brackets, by
//! indentation, in Markdown by headings. Knows no language's grammar; where it finds nothing the
//! citation stands for the whole file. Must not look at files.

use regex::Regex;

/// Most definitions of one name: overloads, a type and its parts.
const MAX_DEFINITIONS: usize = 4;
/// Longest definition, in lines.
const MAX_LINES: usize = 500;

/// Words before a name that is defined, in the languages that people cite.
const KEYWORDS: &str = "fn|def|defp|class|struct|enum|union|trait|impl|const|static|let|var|val|type|interface|function|func|fun|sub|proc|module|mod|namespace|package|macro_rules!|#define|record|object|protocol|extension|message|service|resource|variable|table|view|target|alias|export";

/// The lines from the first to the last of each definition of a name, from 0. `name`: its last
/// part counts, as in `Type::method` and `module.function`; in Markdown a heading's text, or as in
/// links to it.
pub(super) fn definitions(lines: &[&str], name: &str, is_markdown: bool) -> Vec<(usize, usize)> {
    if is_markdown {
        return section(lines, name).into_iter().collect();
    }
    let name = name.trim_end_matches("()").rsplit([':', '.', '#']).next().unwrap_or_default();
    let is_name = name.chars().all(|char| char.is_alphanumeric() || "_$-!?".contains(char));
    if name.is_empty() || !is_name || !lines.iter().any(|line| line.contains(name)) {
        return Vec::new();
    }
    let Some(forms) = Forms::of(name) else { return Vec::new() };
    let defining = (0..lines.len()).filter(|at| forms.define(lines, *at));
    let mut found: Vec<(usize, usize)> = Vec::new();
    for first in defining {
        // A definition within another one of the same name belongs to it.
        if found.last().is_some_and(|(_, last)| first <= *last) {
            continue;
        }
        match end_of(lines, first) {
            Some(last) if found.len() < MAX_DEFINITIONS => found.push((first, last)),
            _ => return Vec::new(),
        }
    }
    found
}

/// How definitions of a name are written.
struct Forms {
    keyword: Regex,
    assigned: Regex,
    callable: Regex,
}

impl Forms {
    fn of(name: &str) -> Option<Self> {
        let name = regex::escape(name);
        let after = r"(?:[^\w$]|$)";
        Some(Self {
            keyword: Regex::new(&format!(
                r"(?:^|[\s(])(?:{KEYWORDS})\b(?:\s*\([^)]*\))?[^=({{;]*?[^\w$]{name}{after}"
            ))
            .ok()?,
            assigned: Regex::new(&format!(r#"^\s*["']?{name}["']?\s*(?::[^:]|:$|\??:|:?=[^=])"#))
                .ok()?,
            callable: Regex::new(&format!(r"^[\w*&<>:,~\[\]\s]*?\b{name}\s*\([^;]*$")).ok()?,
        })
    }

    fn define(&self, lines: &[&str], at: usize) -> bool {
        let line = lines[at];
        if self.keyword.is_match(line) || self.assigned.is_match(line) {
            return true;
        }
        let opens_next = || {
            let mut below = lines[at + 1..].iter().map(|line| line.trim());
            below.find(|line| !line.is_empty()).is_some_and(|line| line.starts_with('{'))
        };
        self.callable.is_match(line) && (line.trim_end().ends_with(['{', ':']) || opens_next())
    }
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

/// The section of Markdown below a heading, to the next one as high.
fn section(lines: &[&str], name: &str) -> Option<(usize, usize)> {
    let level = |line: &str| {
        let marks = line.chars().take_while(|char| *char == '#').count();
        (1..=6).contains(&marks).then_some(marks).filter(|marks| line[*marks..].starts_with(' '))
    };
    let mut is_fenced = false;
    let headings: Vec<(usize, usize)> = lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| {
            is_fenced ^= line.trim_start().starts_with("```");
            Some((at, level(line).filter(|_| !is_fenced)?))
        })
        .collect();
    let wanted = slug(name);
    let place = headings.iter().position(|(at, level)| slug(&lines[*at][*level..]) == wanted)?;
    let (first, level) = headings[place];
    let next = headings[place + 1..].iter().find(|(_, other)| *other <= level);
    let end = next.map_or(lines.len(), |(at, _)| *at);
    (end - first <= MAX_LINES).then_some((first, end - 1))
}

/// A heading as links name it.
fn slug(heading: &str) -> String {
    let words = heading.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, name: &str) -> Vec<(usize, usize)> {
        definitions(&text.lines().collect::<Vec<_>>(), name, false)
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
        assert_eq!(definitions(&lines, "set-up", true), [(1, 7)]);
        assert_eq!(definitions(&lines, "Next", true), [(8, 9)]);
        assert_eq!(definitions(&lines, "other", true), []);
    }
}
