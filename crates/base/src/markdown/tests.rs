//! What the parser finds in small texts, each for one of Obsidian's rules.

use insta::assert_compact_debug_snapshot;

use super::*;

/// Kind, written text, target, headings and block, alias, path and line of each link.
fn links(text: &str) -> Vec<String> {
    let shown = |link: &Link| {
        let block = link.block.iter().map(|block| format!("^{block}"));
        let steps: Vec<String> = link.headings.iter().cloned().chain(block).collect();
        let subpath =
            if steps.is_empty() { String::new() } else { format!("#{}", steps.join("#")) };
        let alias = link.alias.as_ref().map(|alias| format!(" as {alias}")).unwrap_or_default();
        let embed = if link.embed { "!" } else { "" };
        let path = &link.place.path;
        format!(
            "{embed}{:?} {}{subpath}{alias} @{path}:{}",
            link.kind, link.target, link.place.line
        )
    };
    parse(text).links.iter().map(shown).collect()
}

fn written(text: &str) -> Vec<String> {
    parse(text).links.into_iter().map(|link| text[link.place.range].to_owned()).collect()
}

fn tags(text: &str) -> Vec<String> {
    parse(text).tags.into_iter().map(|tag| tag.name).collect()
}

fn blocks(text: &str) -> Vec<(String, String)> {
    let shown = |block: Block| (block.id, text[block.range].to_owned());
    parse(text).blocks.into_iter().map(shown).collect()
}

#[test]
fn wikilinks_have_target_headings_block_and_alias() {
    let text = "[[A]] [[ f/B #H1#H2|see *this*]]\n![[c.png|300]] [[#H]] [[D#^b-1 ]]";
    assert_compact_debug_snapshot!(links(text), @r##"["Wikilink A @:1", "Wikilink f/B#H1#H2 as see *this* @:1", "!Wikilink c.png as 300 @:2", "Wikilink #H @:2", "Wikilink D#^b-1 @:2"]"##);
}

#[test]
fn ordinary_links_are_decoded_and_told_apart_from_urls() {
    let text = "[t](a%20b.md#H%201) ![i](../c.png) [u](https://x.y/z#f) <mailto:a@b.c> [r][l]\n\n[l]: <d e.md>";
    assert_compact_debug_snapshot!(links(text), @r##"["Markdown a b.md#H 1 as t @:1", "!Markdown ../c.png as i @:1", "External https://x.y/z#f as u @:1", "External mailto:a@b.c @:1", "Markdown d e.md as r @:1"]"##);
}

#[test]
fn nothing_is_found_in_code_comments_math_and_html() {
    let text = "`[[a]] #a` $[[b]]$ <!-- [[c]] #c --> %%[[d]] #d%%\n\n```\n[[e]] #e\n```\n\n    [[f]] #f\n\n\
        $$\n[[g]]\n\n#g\n$$\n\n<div>\n[[h]] #h\n</div>\n\n%%\n[[i]]\n```\n\n%%\n[[found]] #found";
    assert_eq!(written(text), ["[[found]]"]);
    assert_eq!(tags(text), ["found"]);
}

#[test]
fn code_may_stand_in_a_wikilink_but_not_hide_its_end() {
    assert_eq!(written("[[F#`date`|`d`]] and [[a `]]`"), ["[[F#`date`|`d`]]"]);
}

#[test]
fn brackets_that_are_escaped_or_open_make_no_link() {
    assert_eq!(written("\\[[a]] [[b\n]] [[]] [[|c]] [[d] ] ![[e.] \\![[f]]"), ["[[f]]"]);
    assert_eq!(written("[[a [[b]] [[[c]]] [[d]e]]"), ["[[b]]", "[[c]]", "[[d]e]]"]);
}

#[test]
fn a_wikilink_wins_over_the_ordinary_link_that_begins_in_it() {
    assert_eq!(
        written("[[a]](b) [[c]] [x [[d]] y](e)\n\n[c]: f"),
        ["[[a]]", "[[c]]", "[x [[d]] y](e)", "[[d]]"]
    );
}

#[test]
fn a_table_escapes_the_bar_before_an_alias() {
    assert_eq!(
        links("| a |\n|---|\n| [[n\\|t]] [[m#h\\|u]] |"),
        ["Wikilink n as t @:3", "Wikilink m#h as u @:3"]
    );
}

#[test]
fn places_name_the_headings_above() {
    let text = "[[a]]\n# One\n[[b]]\n## Two [[c]]\n### Three\n# Four\n[[d]]\n> # Quoted\n> [[e]]";
    let paths: Vec<String> = parse(text).links.into_iter().map(|link| link.place.path).collect();
    assert_eq!(paths, ["", "One", "One#Two [[c]]", "Four", "Four"]);
    let sections =
        parse(text).headings.into_iter().map(|heading| (heading.line, heading.last_line));
    assert_eq!(sections.collect::<Vec<_>>(), [(2, 5), (4, 5), (5, 5), (6, 9)]);
}

#[test]
fn a_byte_order_mark_hides_nothing_behind_it() {
    for (text, path) in [("# One\n[[b]]", "One"), ("- [[b]]\n", ""), ("One\n===\n[[b]]", "One")] {
        let marked = parse(&format!("\u{feff}{text}"));
        let link = &marked.links[0];
        assert_eq!((&*link.place.path, link.place.line), (path, parse(text).links[0].place.line));
        assert_eq!(marked.headings.len(), parse(text).headings.len(), "{text}");
    }
}

#[test]
fn tags_follow_obsidians_rule() {
    let text = "#a #a/b-c_1 (#in) *#em* #1984 #y1984 #标签。 #🙂 #end/ #x, # #!\n> #quoted\n- #item\n# Head #head";
    assert_eq!(
        tags(text),
        ["a", "a/b-c_1", "in", "em", "y1984", "标签", "🙂", "end", "x", "quoted", "item", "head"]
    );
    assert_eq!(tags("\\#a\n\n`b` \\#c"), [""; 0]);
    assert_eq!(tags("a#b \\#c &#35; ##d http://e/(#f [g #h](i#j) [[k#l]] `#m` x/#n"), [""; 0]);
}

#[test]
fn block_ids_name_paragraphs_items_and_what_stands_before() {
    let text = "one\ntwo ^p\n\n- a ^i\n  - b\n\n^list\n\n```\nc\n```\n\n^code\n\n## H ^h\n\n`x ^no`\n\nnot^this ^-";
    let expected = [
        ("p", "one\ntwo ^p"),
        ("i", "- a ^i\n  - b"),
        ("list", "- a ^i\n  - b"),
        ("code", "```\nc\n```"),
        ("h", "## H ^h"),
        ("-", "not^this ^-"),
    ];
    assert_eq!(blocks(text), expected.map(|(id, text)| (id.to_owned(), text.to_owned())));
}

#[test]
fn headings_are_found_by_their_path_whatever_the_punctuation() {
    let document = parse("# A\n## B: *c*  d\n# E\n## B c d\n### F\n");
    let line = |path: &[&str]| {
        let path: Vec<String> = path.iter().map(|step| (*step).to_owned()).collect();
        document.find_heading(&path).map(|heading| heading.line)
    };
    assert_eq!(line(&["b c D"]), Some(2));
    assert_eq!(line(&["e", "B | c [d]"]), Some(4));
    assert_eq!(line(&["E", "F"]), Some(5));
    assert_eq!(line(&["A", "F"]), None);
    assert_eq!(line(&["B", "E"]), None);
    assert_eq!(line(&[]), None);
}

#[test]
fn blocks_are_found_without_case() {
    let document = parse("a ^Id-1");
    assert_eq!(document.find_block("iD-1").map(|block| block.line), Some(1));
    assert_eq!(document.find_block("id"), None);
}

#[test]
fn lines_and_ranges_count_front_matter_and_crlf() {
    let text = "---\r\na: 1\r\n---\r\n\r\né [[b]]\r\n";
    let link = parse(text).links.remove(0);
    assert_eq!((link.place.line, &text[link.place.range]), (5, "[[b]]"));
}

#[test]
fn containers_deeper_than_the_bound_lose_no_link() {
    assert_eq!(written(&format!("{}[[a]]", "> ".repeat(500))), ["[[a]]"]);
    assert_eq!(written(&format!("{}[[a]]", "- ".repeat(500))), ["[[a]]"]);
}
