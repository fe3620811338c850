//! Finds the files that a page cites in its Markdown: links, paths in code, paths in sentences,
//! with their line numbers. A false match is harmless, because only files that exist are pinned.
//! Must not look at files.

use std::sync::LazyLock;

use regex::Regex;

use base::markdown::{Link, LinkKind};

/// Most files that one page cites.
const MAX_CITES: usize = 32;

/// Files without an extension that people cite by name.
const PLAIN_NAMES: [&str; 14] = [
    "brewfile",
    "build",
    "cmakelists",
    "codeowners",
    "containerfile",
    "dockerfile",
    "gemfile",
    "justfile",
    "license",
    "makefile",
    "procfile",
    "rakefile",
    "vagrantfile",
    "workspace",
];

/// A file that a page links to or cites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cite {
    /// Its path as written, with `/`, without anchors and lines.
    pub path: String,
    /// The first and last line cited, from 1.
    pub lines: Option<(u32, u32)>,
    /// The name cited in it: of something that it defines, in Markdown of a section.
    pub symbol: Option<String>,
    /// Whether it is the target of a link: another memory file, or a path relative to the linking
    /// file.
    pub is_link: bool,
    /// Whether it is a part of a command, and the entry cites another file that is none: it says then
    /// that the file is there, and nothing of what is in it.
    pub is_run: bool,
}

impl Cite {
    /// Whether it names no part of the file.
    fn is_whole(&self) -> bool {
        self.lines.is_none() && self.symbol.is_none()
    }
}

/// The files that an entry links to or cites, each once: first those in links, then those in code,
/// then those in sentences.
pub(super) fn cites(text: &str, links: &[&Link]) -> Vec<Cite> {
    static CODE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"`([^`\s]+)`").expect("a valid pattern"));
    static COMMAND: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("`[^`\n]+`").expect("a valid pattern"));
    static BARE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r#"(?:^|[\s(\["'*_,;>=，、；：。（「『【《“‘])((?:~/|\.{1,2}/|/)?[\w@.+-]+(?:/[\w@.+-]+)*(?::\d+(?:[-–]\d+)?|#[\w-]+|::[\w:]+)?)"#,
        )
        .expect("a valid pattern")
    });
    let mut found = CiteCollector::default();
    for link in links {
        if let Some(cite) = linked(link) {
            found.add(cite);
        }
    }
    for span in CODE.captures_iter(text) {
        if let Some(cite) = path_in_code(&span[1]) {
            found.add(cite);
        }
    }
    let prose = CODE.replace_all(text, " ");
    let commands: Vec<_> = COMMAND.find_iter(&prose).map(|command| command.range()).collect();
    for bare in BARE.captures_iter(&prose).filter_map(|found| found.get(1)) {
        let is_run = commands.iter().any(|command| command.contains(&bare.start()));
        let said = bare.as_str().trim_end_matches(['.', ',', ';', ':']);
        for said in paths_in(said) {
            let cite = parted(said);
            if names_file(&cite.path) {
                found.add(Cite { is_run, ..cite });
            }
        }
    }
    if found.0.iter().all(|cite| cite.is_run) {
        found.0.iter_mut().for_each(|cite| cite.is_run = false);
    }
    found.0
}

/// The paths that a word may be: `参见src/a.rs` and `src/a.rs에서` have one beside the letters of a script
/// without blanks, and `设计v2.md` is one.
fn paths_in(word: &str) -> Vec<&str> {
    let is_latin = |path: &str| !path.contains(is_unspaced) && names_file(path);
    if word.split_once('#').is_some_and(|(path, _)| is_latin(path)) {
        return vec![word];
    }
    let is_path = |part: &&str| !part.starts_with(['.', '/']) && names_file(&parted(part).path);
    let mut paths: Vec<&str> = by_script(word).filter(is_path).collect();
    let is_end = |part: &&str| word.ends_with(part) && !part.contains('/');
    if paths != [word] && paths.iter().all(is_end) {
        paths.insert(0, word);
    }
    paths
}

/// The parts of a word that are of a script without blanks between words, and those that are not.
pub(super) fn by_script(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let first = is_unspaced(rest.chars().next()?);
        let end = rest.find(|char| is_unspaced(char) != first).unwrap_or(rest.len());
        let (part, behind) = rest.split_at(end);
        rest = behind;
        Some(part)
    })
}

/// Whether a letter is of a script that has no blanks between words, or none between a name and its
/// particle: Chinese, Japanese, Korean, Thai.
fn is_unspaced(char: char) -> bool {
    matches!(char, '\u{e00}'..='\u{e7f}' | '\u{1100}'..='\u{11ff}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}'
        | '\u{3130}'..='\u{318f}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..)
}

#[derive(Default)]
struct CiteCollector(Vec<Cite>);

impl CiteCollector {
    /// Adds a citation that is new. One with lines or a name says more than the file alone.
    fn add(&mut self, cite: Cite) {
        let is_same_path = |known: &&mut Cite| known.path == cite.path;
        let is_known = self.0.iter().any(|known| {
            let is_same = (known.lines, &known.symbol) == (cite.lines, &cite.symbol);
            known.path == cite.path && (is_same || cite.is_whole())
        });
        if is_known {
            return;
        }
        let whole = self.0.iter_mut().filter(is_same_path).find(|known| known.is_whole());
        if let Some(whole) = whole {
            (whole.lines, whole.symbol) = (cite.lines, cite.symbol);
        } else if self.0.len() < MAX_CITES {
            self.0.push(cite);
        }
    }
}

/// The file that a link leads to; `None` for other kinds of address.
fn linked(link: &Link) -> Option<Cite> {
    static NAME_AND_LINES: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^[\w.-]+\.\w+:\d+(?:[-–]\d+)?$").expect("a valid pattern"));
    let target = match (link.kind, link.target.strip_prefix("file://")) {
        // A URL parser takes `a.rs:12` for an address with the scheme `a.rs`.
        (LinkKind::External, None) if !NAME_AND_LINES.is_match(&link.target) => return None,
        (LinkKind::External, Some(path)) => path,
        _ => &link.target,
    };
    let cite = parted(target);
    let anchor = link.headings.last();
    let of_anchor = anchor.and_then(|heading| lines_of(heading.strip_prefix('L')?));
    let symbol = anchor.filter(|_| of_anchor.is_none()).cloned().or(cite.symbol);
    let cite = Cite { lines: cite.lines.or(of_anchor), symbol, is_link: true, ..cite };
    (!cite.path.is_empty()).then_some(cite)
}

/// The path that a piece of code is, with what is named in it.
pub(super) fn path_in_code(code: &str) -> Option<Cite> {
    Some(parted(code)).filter(|cite| is_path_in_code(&cite.path))
}

/// Splits a path from what is named behind it: `a.rs:12`, `a.rs:12-40`, `a.rs:12:5`,
/// `a.rs#L12-L40`, `a.rs::name`, `a.py:name`, `a.md#section`.
fn parted(text: &str) -> Cite {
    let text = text.replace('\\', "/");
    let cite = |path: &str, lines: Option<(u32, u32)>, name: &str| {
        let name = name.trim_matches(':').trim_end_matches("()");
        let is_name =
            lines.is_none() && name.starts_with(|char: char| char.is_alphabetic() || char == '_');
        let symbol = is_name.then(|| name.to_owned());
        Cite { path: path.to_owned(), lines, symbol, is_link: false, is_run: false }
    };
    if let Some((path, anchor)) = text.split_once('#') {
        return cite(path, anchor.strip_prefix('L').and_then(lines_of), anchor);
    }
    // A drive letter's colon does not separate lines from the path.
    let from = if text.as_bytes().get(1) == Some(&b':') { 2 } else { 0 };
    match text[from..].find(':') {
        Some(at) => {
            let (path, behind) = text.split_at(from + at);
            cite(path, lines_of(&behind[1..]), behind)
        }
        None => cite(&text, None, ""),
    }
}

/// `12`, `12-40`, `12–40`, `L12-L40` without its first letter, `12:5` (a column).
fn lines_of(text: &str) -> Option<(u32, u32)> {
    let range = text.split(':').next().unwrap_or_default();
    let (first, last) = range.split_once(['-', '–']).unwrap_or((range, range));
    let number = |text: &str| text.trim_start_matches('L').parse::<u32>().ok();
    let (first, last) = (number(first)?, number(last)?);
    (1 <= first && first <= last).then_some((first, last))
}

/// Whether a piece of code is a path.
fn is_path_in_code(path: &str) -> bool {
    let is_plain = |char: char| char.is_alphanumeric() || "/._-+@~[]()$=,%:".contains(char);
    // `COPYING`, `LICENSE-MIT`
    let is_loud = || {
        let is_part = |char: char| char.is_ascii_uppercase() || char == '-';
        path.len() > 3 && path.chars().all(is_part)
    };
    path.chars().all(is_plain)
        && !path.starts_with('-')
        && !path.ends_with('/')
        && !path.contains("//")
        && !path.ends_with("()")
        && (path.contains('/') || names_file(path) || is_loud())
}

/// Whether the last part of a path looks like a file name: `a.rs`, `a.tar.gz`, `.env.local`,
/// `Makefile`. A version (`1.5`) does not.
pub(super) fn names_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    if PLAIN_NAMES.contains(&name.to_lowercase().as_str()) {
        // In a sentence, `build` is a word.
        return path.contains('/')
            || name.starts_with(char::is_uppercase)
            || name.ends_with("file");
    }
    if name.strip_prefix('.').is_some_and(|rest| rest.starts_with(|char: char| char.is_lowercase()))
    {
        return true;
    }
    name.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty()
            && (1..=10).contains(&end.len())
            && end.chars().all(char::is_alphanumeric)
            && end.chars().any(char::is_alphabetic)
            && (end.len() > 1 || stem.chars().any(char::is_alphabetic))
    })
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::super::scope::Scope;
    use super::*;

    /// What an entry cites: `path`, `path:first-last`.
    fn cited(entry: &str) -> Vec<String> {
        let page = parse(Scope::Project, "MEMORY.md", entry).remove(0);
        let shown = |cite: &Cite| match (cite.lines, &cite.symbol) {
            (Some((first, last)), _) => format!("{}:{first}-{last}", cite.path),
            (None, Some(symbol)) => format!("{}::{symbol}", cite.path),
            (None, None) => cite.path.clone(),
        };
        page.cites.iter().map(shown).collect()
    }

    #[test]
    fn paths_are_cited_in_every_form_in_which_people_write_them() {
        for (entry, expected) in [
            (
                "- `src/a.rs:3-9`, `Cargo.toml` and lib/b.js, not and/or",
                vec!["src/a.rs:3-9", "Cargo.toml", "lib/b.js"],
            ),
            ("- see src/a.rs.", vec!["src/a.rs"]),
            ("- see src/a.rs:12, then (src/b.rs)", vec!["src/a.rs:12-12", "src/b.rs"]),
            ("- **src/a.rs**: the store", vec!["src/a.rs"]),
            ("- Cargo.toml has it", vec!["Cargo.toml"]),
            ("- `a.rs:12:5` fails", vec!["a.rs:12-12"]),
            ("- `src/a.rs::A::parse()`, src/b.rs::go", vec!["src/a.rs::A::parse", "src/b.rs::go"]),
            ("- `a.py:run` and `docs/a.md#set-up`", vec!["a.py::run", "docs/a.md::set-up"]),
            ("- `src/a.rs#L10-L20` and src/b.ts#L7", vec!["src/a.rs:10-20", "src/b.ts:7-7"]),
            (
                "- see docs/a.md#set-up, docs/b.md#설치-방법 (issue#12, C#)",
                vec!["docs/a.md::set-up", "docs/b.md::설치-방법"],
            ),
            ("- `src\\memory\\a.rs`", vec!["src/memory/a.rs"]),
            ("- `app/[slug]/page.tsx`", vec!["app/[slug]/page.tsx"]),
            ("- `~/notes/a.md` and `/etc/hosts`", vec!["~/notes/a.md", "/etc/hosts"]),
            (
                "- `Makefile`, `.env`, `.github/workflows/ci.yml`, scripts/justfile",
                vec!["Makefile", ".env", ".github/workflows/ci.yml", "scripts/justfile"],
            ),
            ("- run `node scripts/x.js --fast`", vec!["scripts/x.js"]),
            ("- .npmrc and deep/.gitignore say so", vec![".npmrc", "deep/.gitignore"]),
            ("- `COPYING` and `LICENSE-MIT`", vec!["COPYING", "LICENSE-MIT"]),
            (
                "- [[notes/Deploy]] and [x](docs/a%20b.md#part)",
                vec!["notes/Deploy", "docs/a b.md::part"],
            ),
            (
                "- [x](../../src/a.rs#L3-L5), [y](a.rs:7), [z](file:///home/a/b.txt)",
                vec!["../../src/a.rs:3-5", "a.rs:7-7", "/home/a/b.txt"],
            ),
            (
                "- src/a.rs does it (`src/a.rs:3-9`, src/a.rs:20)",
                vec!["src/a.rs:3-9", "src/a.rs:20-20"],
            ),
            ("- grüße/übung.md", vec!["grüße/übung.md"]),
            ("- 타임아웃: src/a.rs에서 30 (파일：lib/b.js)", vec!["src/a.rs", "lib/b.js"]),
            ("- 超时，参见src/a.rs第6行；见「src/b.rs:3」", vec!["src/a.rs", "src/b.rs:3-3"]),
            ("- タイムアウト: Cargo.tomlとsrc/a.rsの", vec!["Cargo.toml", "src/a.rs"]),
            ("- docs/설계.md, 设计/a.md", vec!["docs/설계.md", "设计/a.md"]),
            ("- 设计v2.md", vec!["设计v2.md", "v2.md"]),
            ("- ```\n  cat src/a.rs\n  ```", vec!["src/a.rs"]),
        ] {
            assert_eq!(cited(entry), expected, "{entry}");
        }
    }

    #[test]
    fn what_is_no_path_is_not_cited() {
        for entry in [
            "- `npm test`, `1.5.2`, `--flag`, `a::b`, https://x.y/z.html, [w](https://x.y/z.html)",
            "- version 0.9.x, and/or, 12:30, v1.2.3-rc.1, ..., .NET, .5, `.`, ../..",
            "- `foo()`, `src/`, `a//b`, make build",
            "- [mail](mailto:a@b.c)",
        ] {
            assert_eq!(cited(entry), [""; 0], "{entry}");
        }
    }

    #[test]
    fn lines_that_make_no_sense_are_none() {
        for entry in ["- `a.rs:0`", "- `a.rs:9-3`", "- `a.rs:99999999999`"] {
            assert_eq!(cited(entry), ["a.rs"], "{entry}");
        }
    }
}
