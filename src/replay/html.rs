//! Makes one HTML page from the report of a replay: everything in one file, nothing loaded from elsewhere.
//!
//! The parts of the page are in `html/`: `page.html` has placeholders for `page.css`, `chart.js` and `page.js`. Must not count
//! anything: figures are the report's, rounded, and long sessions are thinned to what a screen can show.

mod thin;

use serde_json::Value;

use crate::error::{Error, Result};

const TEMPLATE: &str = include_str!("html/page.html");
const STYLE: &str = include_str!("html/page.css");
const CHART: &str = include_str!("html/chart.js");
const SCRIPT: &str = include_str!("html/page.js");

/// The page for a report in the form that `palimpsest replay --json` prints: an object with `files` and `sum`.
///
/// Names and reasons become text in the page, never markup, and nothing in them turns the direction of writing.
///
/// # Errors
/// `INVALID_ARGUMENT` if `report` has no list `files`, or one of these has no `name` or no list `series`.
pub fn page(report: &Value) -> Result<String> {
    let data = thin::report(report)?;
    // In a script element only `<` can end the data or open a comment, and in JSON it occurs only in strings.
    let data = data.to_string().replace('<', "\\u003c");
    let data = spelt_out(&data);
    let values = [
        ("/* {style} */", STYLE),
        ("\"{report}\"", data.as_str()),
        ("/* {chart} */", CHART),
        ("/* {script} */", SCRIPT),
    ];
    fill(TEMPLATE, &values)
}

/// JSON in whose texts the characters that change the direction of writing are spelt out as `\u202e`.
fn spelt_out(json: &str) -> String {
    let turns = |character: char| matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut spelt = String::with_capacity(json.len());
    for character in json.chars() {
        if turns(character) {
            spelt.extend([r"\\u", &format!("{:04x}", u32::from(character))]);
        } else {
            spelt.push(character);
        }
    }
    spelt
}

/// Fills each placeholder of the template, in the order of `values`. Inserted text is not searched again.
fn fill(template: &str, values: &[(&str, &str)]) -> Result<String> {
    let mut filled = String::with_capacity(
        template.len() + values.iter().map(|(_, value)| value.len()).sum::<usize>(),
    );
    let mut rest = template;
    for (place, value) in values {
        let (before, after) = rest
            .split_once(place)
            .ok_or_else(|| Error::internal(format!("the page has no place `{place}`")))?;
        filled.push_str(before);
        filled.push_str(value);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn inserted_text_is_not_searched_for_placeholders() {
        let filled = fill("a {x} b {y} c", &[("{x}", "{y}"), ("{y}", "1")]);
        assert_eq!(filled.unwrap(), "a {y} b 1 c");
    }

    #[test]
    fn the_parts_of_the_page_do_not_end_their_elements() {
        for (part, end) in
            [(STYLE, "</style"), (CHART, "</script"), (SCRIPT, "</script"), (SCRIPT, "<!--")]
        {
            assert!(!part.contains(end), "{end}");
        }
    }

    #[test]
    fn names_and_reasons_cannot_become_markup() {
        let name = "</script><img src=x onerror=alert(1)><!-- /* {script} */";
        let series = json!([{ "call": 0, "contents": {}, "ours": {}, "plain": {} }]);
        let epochs = json!([{ "call": 0, "reason": name, "collapsed": 1, "freedTokens": 2 }]);
        let report =
            json!({ "files": [{ "name": name, "series": series, "epochs": epochs }], "sum": {} });
        let page = page(&report).unwrap();
        assert_eq!(page.matches("</script").count(), TEMPLATE.matches("</script").count());
        assert!(!page.contains("<img"));
        assert!(page.contains("\\u003cimg src=x"));
        assert_eq!(page.matches(SCRIPT).count(), 1);
    }

    #[test]
    fn names_and_reasons_are_read_in_the_order_of_their_characters() {
        let name = "a\u{202e}gpj.exe\u{2066}\u{200f}\u{61c}";
        let series = json!([{ "call": 0, "contents": {}, "ours": {}, "plain": {} }]);
        let report = json!({ "files": [{ "name": name, "series": series }], "sum": {} });
        let page = page(&report).unwrap();
        assert!(page.contains(r#""a\\u202egpj.exe\\u2066\\u200f\\u061c""#));
        assert!(!page.contains(|c: char| name.contains(c) && !c.is_ascii()));
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        let page = page(&json!({ "files": [], "sum": {} })).unwrap();
        for word in
            ["src=", "href=\"http", "url(", "@import", "fetch(", "innerHTML", "document.write"]
        {
            assert!(!page.contains(word), "{word}");
        }
        assert!(page.contains("default-src 'none'"));
    }

    #[test]
    fn a_report_without_its_lists_is_refused() {
        for report in [json!({}), json!({ "files": [{}] }), json!({ "files": [{ "name": "a" }] })] {
            assert_eq!(page(&report).unwrap_err().code(), "INVALID_ARGUMENT", "{report}");
        }
    }
}
