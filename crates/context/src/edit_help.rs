//! Helps a model whose `edit` failed: shows the current lines most similar to its old text, or the
//! places of a text that occurs several times. Pure text. The file's lines are shown unchanged so
//! that the model can copy them.
//!
//! Knows no session and no disk. Takes time proportional to the sum of the text lengths, not to
//! their product.

mod near;
mod occurrence;

use self::near::Grams;
use self::occurrence::{Occurrence, in_file, loosened, place, unix_lines};
use super::{forms, long_line, tokens};
use base::object::Handle;
use session::{Columns, LINE_CHARS, LineRange, merge_ranges};

/// Most lines that the help for one call shows.
const HELP_LINES: u64 = 40;
/// Most tokens of lines that the help for one call shows.
const HELP_TOKENS: u64 = 1_000;
/// Most edits of one call that are examined.
const MAX_EDITS: usize = 20;
/// Most texts of one call for which to search the nearest lines.
const MAX_SEARCHES: u64 = 5;
/// Most places shown if a text occurs several times, and lines around each: enough to tell them
/// apart.
const SHOWN_PLACES: u64 = 3;
const PLACE_CONTEXT: u64 = 2;

/// The file that an edit was meant for, as it is now.
#[derive(Debug, Clone, Copy)]
pub struct EditTarget<'a> {
    /// Its handle.
    pub handle: Handle,
    /// Its path as the model sees it.
    pub path: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// The remaining limits.
struct Room {
    lines: u64,
    tokens: u64,
    searches: u64,
}

/// The help for a failed edit; `None` if every text occurs exactly once or nothing in the file is
/// similar.
///
/// `old_texts`: the texts to replace, in call order. Texts match as in Pi's tool: line endings,
/// white space at line ends, and typographic quotes, dashes and spaces make no difference. Examines
/// at most 20 texts and searches the nearest lines for at most five that do not occur. Shows at
/// most 40 lines and 1,000 tokens of the file; lines of more than 400 characters are cut around the
/// best match.
///
/// `room`: tokens of lines that may be shown, if that is less.
pub fn help(target: &EditTarget<'_>, old_texts: &[&str], room: u64) -> Option<String> {
    let old_texts = &old_texts[..old_texts.len().min(MAX_EDITS)];
    let loose = loosened(target.text);
    let mut places: Vec<Occurrence> =
        old_texts.iter().map(|old| place(&loose, &loosened(old))).collect();
    if places.iter().all(|place| *place == Occurrence::Once) {
        // Other hosts may require the exact characters.
        let exact = unix_lines(target.text);
        places = old_texts.iter().map(|old| place(&exact, &unix_lines(old))).collect();
    }
    let lines: Vec<&str> = target.text.split('\n').collect();
    let tokens = HELP_TOKENS.min(room);
    let mut room = Room { lines: HELP_LINES, tokens, searches: MAX_SEARCHES };
    let mut parts = Vec::new();
    for (index, (old, place)) in old_texts.iter().zip(&places).enumerate() {
        let name = match old_texts.len() {
            1 => "oldText".to_owned(),
            _ => format!("edits[{index}].oldText"),
        };
        let wanted: Vec<&str> = old.split('\n').collect();
        match place {
            Occurrence::Once => {}
            Occurrence::Several(first, total) => {
                let EditTarget { handle, path, text } = *target;
                let first = in_file(text, first);
                parts.push(forms::places_line(handle, path, &name, &first, *total));
                let few: &[LineRange] = if *total <= SHOWN_PLACES { &first } else { &[] };
                let last_line = near::last_line(&lines);
                let near: Vec<LineRange> = few.iter().map(|at| around(*at, last_line)).collect();
                for range in merge_ranges(&near) {
                    let head = forms::showing_line(None, handle, path, &[range]);
                    parts.push(shown(target, &lines, range, (head, &wanted), &mut room));
                }
            }
            Occurrence::Nowhere if room.searches == 0 => {}
            Occurrence::Nowhere => {
                room.searches -= 1;
                for range in near::nearest(&lines, &wanted) {
                    let head = forms::nearest_line(target.handle, target.path, range, &name);
                    parts.push(shown(target, &lines, range, (head, &wanted), &mut room));
                }
            }
        }
    }
    (!parts.is_empty()).then(|| parts.join("\n"))
}

/// A place with some lines around it.
fn around(place: LineRange, last_line: u64) -> LineRange {
    LineRange {
        first: place.first.saturating_sub(PLACE_CONTEXT).max(1),
        last: (place.last + PLACE_CONTEXT).min(last_line),
    }
}

/// Lines of the file under a heading. If there are too many, the first and the last are shown.
fn shown(
    target: &EditTarget<'_>,
    lines: &[&str],
    range: LineRange,
    (head, wanted): (String, &[&str]),
    room: &mut Room,
) -> String {
    let grams = Grams::of(wanted);
    let text_of = |number: u64| {
        let index = usize::try_from(number - 1).unwrap_or(usize::MAX);
        cut_line(lines.get(index).unwrap_or(&""), number, target.handle, &grams)
    };
    let (first, last) = fitting(range, room, &text_of);
    let mut shown = vec![head];
    shown.extend(first.iter().chain(last.iter()).map(|(_, text)| text.clone()));
    let rest =
        LineRange { first: range.first + first.len() as u64, last: range.last - last.len() as u64 };
    if !rest.is_empty() {
        shown.insert(1 + first.len(), forms::between_line(target.handle, rest, None));
    }
    shown.join("\n")
}

/// Numbered lines.
type Numbered = Vec<(u64, String)>;

/// The first and last lines of a range that fit. If all fit, all count as first lines.
fn fitting(
    range: LineRange,
    room: &mut Room,
    text_of: &dyn Fn(u64) -> String,
) -> (Numbered, Numbered) {
    let head_lines = if range.len() <= room.lines { range.len() } else { room.lines.div_ceil(2) };
    let mut take = |number: u64, lines: &mut Numbered| {
        let text = text_of(number);
        let cost = tokens::count(&text) + 1;
        let fits = room.lines > 0 && cost <= room.tokens;
        if fits {
            room.lines -= 1;
            room.tokens -= cost;
            lines.push((number, text));
        }
        fits
    };
    let (mut first, mut last) = (Vec::new(), Vec::new());
    let head = range.first..range.first + head_lines;
    let whole = head.clone().all(|number| take(number, &mut first));
    if whole {
        let tail = (head.end..=range.last).rev();
        let _cut = tail.map(|number| take(number, &mut last)).any(|fits| !fits);
        last.reverse();
    }
    (first, last)
}

/// A line; if long, only the part most similar to the wanted text.
fn cut_line(line: &str, number: u64, handle: Handle, wanted: &Grams) -> String {
    if line.len() <= LINE_CHARS {
        return line.to_owned();
    }
    let characters: Vec<char> = line.chars().collect();
    if characters.len() <= LINE_CHARS {
        return line.to_owned();
    }
    let start = wanted.densest(&characters, LINE_CHARS);
    let (first, last) = (start as u64 + 1, (start + LINE_CHARS) as u64);
    long_line::shown(line, &[Columns { line: number, first, last }], Some(handle), number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn helped(text: &str, old_texts: &[&str]) -> String {
        let handle = Handle::parse("f3").unwrap();
        help(&EditTarget { handle, path: "src/main.rs", text }, old_texts, u64::MAX)
            .unwrap_or_default()
    }

    /// A file whose lines all differ.
    fn numbered(lines: u64) -> String {
        let line = |line| format!("    let value_{line} = compute({line}, {});\n", line * 7_919);
        (1..=lines).map(line).collect::<Vec<_>>().concat()
    }

    #[test]
    fn the_lines_around_the_nearest_one_are_given_as_they_are() {
        let text = numbered(40).replace("value_20 = compute(", "value_20 = compute_all(");
        let old = "    let value_20 = compute(20, 158380);\n";
        insta::assert_snapshot!(helped(&text, &[old]), @"
        [f3] src/main.rs · lines 15-25, nearest to oldText:
            let value_15 = compute(15, 118785);
            let value_16 = compute(16, 126704);
            let value_17 = compute(17, 134623);
            let value_18 = compute(18, 142542);
            let value_19 = compute(19, 150461);
            let value_20 = compute_all(20, 158380);
            let value_21 = compute(21, 166299);
            let value_22 = compute(22, 174218);
            let value_23 = compute(23, 182137);
            let value_24 = compute(24, 190056);
            let value_25 = compute(25, 197975);
        ");
    }

    #[test]
    fn shows_where_the_file_differs_from_a_long_text() {
        let old = numbered(60);
        let text = old
            .replace("let value_3 =", "let mut value_3 =")
            .replace("let value_50 ", "let other_50 ")
            .replace("    let value_51 = compute(51, 403869);\n", "");
        let text = format!("fn main() {{\n{text}}}\n");
        let help = helped(&text, &[&old]);
        let heads: Vec<&str> = help.lines().filter(|line| line.starts_with('[')).collect();
        let head = |lines| format!("[f3] src/main.rs · lines {lines}, nearest to oldText:");
        assert_eq!(heads, [head("1-9"), head("46-56")], "{help}");
        assert!(help.contains("    let mut value_3 = compute(3, 23757);"), "{help}");
        assert!(help.contains("    let other_50 = compute(50, 395950);"), "{help}");
    }

    #[test]
    fn a_text_that_stands_several_times_is_named_with_its_places() {
        let text = "a\nb\nif x {\n}\nc\nd\ne\nf\ng\nif x {\n}\n";
        insta::assert_snapshot!(helped(text, &["a", "if x {\n}\n"]), @"
        [f3] src/main.rs · edits[1].oldText stands 2 times: lines 3-4, 10-11
        [f3] src/main.rs · lines 1-6
        a
        b
        if x {
        }
        c
        d
        [f3] src/main.rs · lines 8-11
        f
        g
        if x {
        }
        ");
        let near = helped("a\nx\nx\nb\nc\nd\n", &["x"]);
        assert_eq!(
            near.matches("\n[f3] src/main.rs · lines 1-5\na\nx\nx\nb\nc").count(),
            1,
            "{near}"
        );
        assert_eq!(near.lines().count(), 7, "lines near both are shown once: {near}");
        let text = "}\n".repeat(24);
        assert_eq!(
            helped(&text, &["}"]),
            "[f3] src/main.rs · oldText stands 24 times: lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …"
        );
    }

    #[test]
    fn a_carriage_return_alone_ends_no_line_of_the_file() {
        let text = "start\n10%\r50%\r100%\nalpha\r\n  one;\r\nbeta\n  one;\ngamma\n";
        for (text, old, lines) in [(text, "  one;", "4, 6"), ("a\rb\nc\na\rb\n", "a\nb", "1, 3")] {
            let help = helped(text, &[old]);
            let head = format!("[f3] src/main.rs · oldText stands 2 times: lines {lines}\n");
            assert!(help.starts_with(&head), "{help}");
        }
    }

    #[test]
    fn texts_match_as_the_tool_of_pi_matches_them() {
        let text = loosened("\u{feff}let a = “x” – y;  \r\nlet b = “x”;\r\n");
        assert_eq!(
            place(&text, &loosened("let a = \"x\" - y;\nlet b = \"x\"; ")),
            Occurrence::Once
        );
        let lines = |line| LineRange { first: line, last: line };
        assert_eq!(
            place(&text, &loosened("\"x\"")),
            Occurrence::Several(vec![lines(1), lines(2)], 2)
        );
        assert_eq!(place(&text, &loosened("let a = x")), Occurrence::Nowhere);
        assert_eq!(helped("a\n", &["\n", ""]), "", "no text is not text that is wanted");
    }

    #[test]
    fn if_only_white_space_differs_the_place_is_shown() {
        let help = helped("one  \ntwo\n", &["one\ntwo"]);
        assert_eq!(help, "[f3] src/main.rs · lines 1-2, nearest to oldText:\none  \ntwo");
    }

    #[test]
    fn a_text_that_is_like_nothing_gets_no_help() {
        assert_eq!(helped(&numbered(40), &["SELECT * FROM users WHERE name = 'Q'"]), "");
        assert_eq!(helped("", &["x"]), "");
    }

    #[test]
    fn if_there_are_many_lines_the_first_and_the_last_are_shown() {
        let old = numbered(200);
        let help = helped(&old.replace("compute", "work"), &[&old, "    let value_9 = x"]);
        let lines: Vec<&str> = help.lines().collect();
        assert_eq!(lines[0], "[f3] src/main.rs · lines 1-200, nearest to edits[0].oldText:");
        assert_eq!(lines[20], "    let value_20 = work(20, 158380);");
        assert_eq!(lines[21], "… 160 lines between (f3:21-180) …");
        assert_eq!(lines[41], "    let value_200 = work(200, 1583800);");
        let second = "[f3] src/main.rs · lines 4-14, nearest to edits[1].oldText:";
        assert_eq!(lines[42..], [second, "… 11 lines between (f3:4-14) …"]);
    }

    #[test]
    fn a_long_line_is_cut_around_what_is_wanted() {
        let items: Vec<String> = (0..2_000).map(|n| format!("item{n}: {}", n * 31)).collect();
        let help = helped(&items.join(","), &["item1200:  37200, item1201: 37232"]);
        let (head, line) = help.split_once('\n').unwrap();
        assert_eq!(head, "[f3] src/main.rs · line 1, nearest to oldText:");
        assert!(line.contains("item1200: 37200,item1201: 37231"), "{line}");
        assert!(line.starts_with("… 17,"), "{line}");
        assert!(line.contains(" characters between (f3:1:1-17"), "{line}");
        assert!(line.ends_with(") …"), "{line}");
        assert!(line.chars().count() < 500, "{line}");
    }

    #[test]
    fn huge_texts_are_searched_too() {
        let text = numbered(20_000);
        let old = text[100_000..600_000].replace("compute(", "run(");
        let help = helped(&text, &[&old, &"x".repeat(1 << 19), &"x\n".repeat(1 << 17)]);
        assert!(help.lines().count() < 50, "{help}");
        assert!(help.contains("nearest to edits[0].oldText:\n"), "{help}");
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn the_lines_shown_are_those_of_the_file(
            file in prop::collection::vec("[ab]{0,3}( [cd é]{0,9}){0,3}", 0..60),
            old in prop::collection::vec("[ab]{0,3}( [cd é]{0,9}){0,3}", 1..9),
            from in 0_usize..60,
            ending in prop::sample::select(vec!["\n", "\r\n"]),
        ) {
            let mut old = old;
            old.extend(file.iter().skip(from).take(3).cloned());
            let text = file.join(ending);
            let help = helped(&text, &[&old.join("\n"), &file.join("")]);
            let lines: Vec<&str> = text.split('\n').collect();
            let (mut expected, mut shown) = (0..0, 0);
            for line in help.split('\n').filter(|_| !help.is_empty()) {
                let head = line.strip_suffix(':').unwrap_or(line);
                let head = head.split_once(", nearest to ").map_or(head, |(head, _)| head);
                let range = Some(head).filter(|head| !head.contains(" stands "));
                let range = range.filter(|head| head.starts_with("[f3] "));
                if let Some(range) = range.and_then(|head| head.rsplit_once(' ')) {
                    prop_assert!(expected.is_empty());
                    let (first, last) = range.1.split_once('-').unwrap_or((range.1, range.1));
                    expected = first.parse::<usize>().unwrap() - 1..last.parse().unwrap();
                } else if !line.starts_with("[f3] ") {
                    prop_assert_eq!(line, lines[expected.next().unwrap()]);
                    shown += 1;
                }
            }
            prop_assert!(expected.is_empty());
            prop_assert!(shown <= HELP_LINES);
        }
    }
}
