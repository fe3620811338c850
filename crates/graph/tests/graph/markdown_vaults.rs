//! Ten real vaults through the Markdown reader: what it finds in them, and where their links lead.

#![expect(clippy::print_stderr, reason = "figures for people, and a skipped test says so")]

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use base::markdown::{
    Document, LinkKind, MarkdownField, Resolution, TextPlace, VaultIndex, link_key, parse, path_key,
};
use flate2::read::GzDecoder;

/// A vault's files by path; notes with their text.
struct Vault {
    name: String,
    paths: Vec<String>,
    notes: BTreeMap<String, String>,
}

/// The counts of the data's README, in its order: notes, wikilinks, embeds, links to a heading, to
/// a block, with alias, with front matter.
type Counts = [usize; 7];

fn vaults(folder: &Path) -> Vec<Vault> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut archives: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    archives.sort();
    archives.iter().map(|archive| unpacked(archive)).collect()
}

fn unpacked(archive: &Path) -> Vault {
    let file = archive.file_name().unwrap().to_str().unwrap();
    let name = file.strip_suffix(".tar.gz").unwrap().to_owned();
    let mut vault = Vault { name, paths: Vec::new(), notes: BTreeMap::new() };
    let mut tar = tar::Archive::new(GzDecoder::new(std::fs::File::open(archive).unwrap()));
    for entry in tar.entries().unwrap() {
        let mut entry = entry.unwrap();
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = entry.path().unwrap().to_str().unwrap().to_owned();
        let path = path.split_once('/').unwrap().1.to_owned();
        if path.to_lowercase().ends_with(".md") {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            vault.notes.insert(path.clone(), String::from_utf8_lossy(&bytes).into_owned());
        }
        vault.paths.push(path);
    }
    vault
}

/// The rows of the data's README: counts by vault.
fn stated(folder: &Path) -> BTreeMap<String, Counts> {
    let readme = std::fs::read_to_string(folder.with_file_name("README.md")).unwrap();
    let table = readme.split("## vaults/").nth(1).unwrap();
    let rows = table.lines().filter_map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let counts: Vec<usize> =
            cells.get(3..10)?.iter().map_while(|cell| cell.parse().ok()).collect();
        Some((cells[0].to_owned(), counts.try_into().ok()?))
    });
    rows.collect()
}

fn counts(documents: &BTreeMap<&str, Document>) -> Counts {
    let mut counts = [documents.len(), 0, 0, 0, 0, 0, 0];
    for document in documents.values() {
        counts[6] += usize::from(document.front_matter.is_some());
        for link in document.links.iter().filter(|link| link.kind == LinkKind::Wikilink) {
            counts[if link.embed { 2 } else { 1 }] += 1;
            counts[3] += usize::from(!link.headings.is_empty());
            counts[4] += usize::from(link.block.is_some());
            counts[5] += usize::from(link.alias.is_some());
        }
    }
    counts
}

/// Whether a text may hold brackets that are no link, judged by simpler means than the reader's:
/// code, a comment, an indented line, or table cells separated by an unescaped `|`.
fn may_be_hidden(text: &str, at: usize) -> bool {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next().unwrap();
    let fences = |text: &str| {
        let lines = text.lines().map(|line| line.trim_start_matches([' ', '\t', '>']));
        lines.filter(|line| line.starts_with("```") || line.starts_with("~~~")).count()
    };
    let in_fence = fences(&text[..start]) > 0 && fences(&text[start..]) > 0;
    let indented = line.starts_with('\t') || line.starts_with("    ");
    in_fence || indented || line.contains(['`', '|']) || line.contains("%%")
}

/// The data's README counts by a pattern on the text. Here the same pattern gives its figures, the
/// reader finds no link that the pattern does not, and whatever it leaves out stands in code, in a
/// comment or in a split table cell.
#[test]
fn every_link_that_a_plain_pattern_finds_is_found_or_hidden() {
    let Some(folder) = testing::data::find("vaults") else { return };
    let stated = stated(&folder);
    assert_eq!(stated.len(), 10);
    let pattern = regex::Regex::new(r"!?\[\[[^\[\]\n]+\]\]").unwrap();
    for vault in vaults(&folder) {
        let texts = vault.notes.iter().map(|(path, text)| (path.as_str(), parse(text)));
        let documents: BTreeMap<&str, Document> = texts.collect();
        let (found, stated) = (counts(&documents), stated[&vault.name]);
        let (mut plain, mut hidden) = (0_usize, 0_usize);
        for (path, text) in &vault.notes {
            let links = documents[path.as_str()].links.iter();
            let mut read: Vec<_> = links
                .filter(|link| link.kind == LinkKind::Wikilink)
                .map(|link| link.place.range.clone())
                .collect();
            for hit in pattern.find_iter(text) {
                plain += 1;
                if let Some(place) = read.iter().position(|range| *range == hit.range()) {
                    read.remove(place);
                } else {
                    hidden += 1;
                    let shown = format!("{}/{path}: {}", vault.name, hit.as_str());
                    assert!(may_be_hidden(text, hit.start()), "left out: {shown}");
                }
            }
            assert!(read.is_empty(), "{}/{path}: no hits of the pattern: {read:?}", vault.name);
        }
        eprintln!("{:28} found {found:?}, stated {stated:?}, hidden {hidden}", vault.name);
        // One hit of the README's pattern spans a line break.
        assert!(plain.abs_diff(stated[1] + stated[2]) <= 1, "{}: {plain}", vault.name);
        assert_eq!(found[1] + found[2] + hidden, plain, "{}", vault.name);
        assert_eq!((found[0], found[6]), (stated[0], stated[6]), "{}", vault.name);
        for column in 3..6 {
            let fits = found[column] <= stated[column] && stated[column] <= found[column] + hidden;
            assert!(fits, "{}: {found:?} and {stated:?}", vault.name);
        }
    }
}

#[test]
fn links_of_real_vaults_lead_to_files() {
    let Some(folder) = testing::data::find("vaults") else { return };
    for vault in vaults(&folder) {
        let index = VaultIndex::new(vault.paths.clone());
        let mut names: Vec<String> = vault.paths.iter().map(|path| path_key(path)).collect();
        names.sort();
        let (mut all, mut resolved, mut ambiguous) = (0, 0, 0);
        for (path, text) in &vault.notes {
            for link in parse(text).links {
                match index.resolve(&link, path) {
                    Resolution::External => continue,
                    Resolution::Resolved { path: to, others } => {
                        resolved += 1;
                        ambiguous += usize::from(!others.is_empty());
                        assert!(link.target.is_empty() || link_key(&link.target) == path_key(&to));
                    }
                    Resolution::Unresolved { .. } => {
                        let known = names.binary_search(&link_key(&link.target)).is_ok();
                        let bare = !link.target.contains('/') && !link.target.is_empty();
                        assert!(!(known && bare), "{}/{path}: {link:?}", vault.name);
                        let TextPlace { line, range, .. } = link.place;
                        eprintln!("{}/{path}:{line}: {}", vault.name, &text[range]);
                    }
                }
                all += 1;
            }
        }
        assert!(resolved > 0, "{}", vault.name);
        eprintln!("{:28} {resolved} of {all} links resolve, {ambiguous} ambiguous", vault.name);
    }
}

#[test]
fn every_relation_is_at_the_place_it_names() {
    let Some(folder) = testing::data::find("vaults") else { return };
    for vault in vaults(&folder) {
        for (path, text) in &vault.notes {
            let document = parse(text);
            let places = document.links.iter().map(|link| &link.place);
            let places = places.chain(document.tags.iter().map(|tag| &tag.place));
            for place in places {
                let line = text[..place.range.start].matches('\n').count() + 1;
                assert_eq!(place.line, line, "{}/{path}", vault.name);
            }
            for link in document.links.iter().filter(|link| link.kind == LinkKind::Wikilink) {
                let written = &text[link.place.range.clone()];
                assert!(written.starts_with(if link.embed { "![[" } else { "[[" }), "{written}");
                assert!(written.ends_with("]]") && written.contains(&link.target), "{written}");
            }
            for tag in document.tags.iter().filter(|tag| tag.place.field == MarkdownField::Content)
            {
                assert_eq!(&text[tag.place.range.clone()], format!("#{}", tag.name));
            }
        }
    }
}

#[test]
fn edge_cases_of_obsidian_export_read_as_obsidian_reads_them() {
    let Some(folder) = testing::data::find("vaults") else { return };
    let archive = folder.join("obsidian-export-testdata.tar.gz");
    let vault = unpacked(&archive);
    let index = VaultIndex::new(vault.paths.clone());
    let read = |path: &str| parse(&vault.notes[path]);
    let targets = |path: &str| -> Vec<Option<String>> {
        let resolved = read(path).links.into_iter().map(|link| match index.resolve(&link, path) {
            Resolution::Resolved { path, .. } => Some(path),
            _ => None,
        });
        resolved.collect()
    };
    let samples = "input/main-samples";
    let at = |name: &str| Some(format!("{samples}/{name}"));

    // White space around names, and after block IDs, does not count.
    let trimming = format!("{samples}/issue-188-wikilinks-need-trimming.md");
    assert_eq!(targets(&trimming), vec![at("foo.md"); 12]);
    assert!(read(&trimming).links[8..].iter().all(|link| link.block.as_deref() == Some("abc")));
    // Case does not count; code and what is not closed is not a link.
    let note = at("pure-markdown-examples.md");
    let mut expected = vec![note; 5];
    expected.extend([at("Uppercased-note.md"), at("_underscored-note.md")]);
    assert_eq!(targets(&format!("{samples}/obsidian-wikilinks.md")), expected);
    let embeds = ["note-with-frontmatter.md", "note-with-frontmatter.md"];
    let mut expected: Vec<_> = embeds.into_iter().map(at).collect();
    expected.push(None);
    expected.extend(["white.png", "bulb.svg", "note.pdf", "white.png"].map(at));
    assert_eq!(targets(&format!("{samples}/embeds.md")), expected);
    assert_eq!(targets(&format!("{samples}/partial-embed-at-EOF.md")), []);
    // Markdown in an alias stays as written.
    let formatted = &read(&format!("{samples}/wikilinks-with-formatting-symbols.md")).links[0];
    let alias = "Example **bold**, *italic*, or ~~strikethrough~~ text";
    assert_eq!(formatted.alias.as_deref(), Some(alias));
    // Headings and blocks of the same and of another note.
    let section = read(&format!("{samples}/section-ref-a.md"));
    let other = read(&format!("{samples}/section-ref-b.md"));
    for links in [&section.links, &other.links] {
        assert_eq!(section.find_heading(&links[0].headings).map(|heading| heading.line), Some(5));
        let block = section.find_block(links[1].block.as_deref().unwrap());
        assert_eq!(block.map(|block| (block.line, block.last_line)), Some((7, 7)));
    }
    assert_eq!(read(&format!("{samples}/math.md")).links, []);
    // Names beyond ASCII, and several notes of one name: the one beside the link.
    let quoted = Some("input/non-ascii/Nöte with 'quotes'.md".to_owned());
    assert_eq!(targets("input/non-ascii/Embed.md"), vec![quoted; 2]);
    for folder in ["", "dir1/", "dir2/"] {
        let path = format!("input/same-filename-different-directories/{folder}Note.md");
        assert!(vault.notes.contains_key(&path));
        let link = parse("[[Note]]").links.remove(0);
        let beside = index.resolve(&link, &path);
        assert!(matches!(beside, Resolution::Resolved { path: to, .. } if to == path));
    }
}
