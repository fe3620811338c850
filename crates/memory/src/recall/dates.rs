//! Dates in headings and file names, so that `in May 2023` finds text below `2023-05-08`. Pure.

use std::sync::LazyLock;

use regex::Regex;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// A text's dates in other spellings: `8 May 2023` for `2023-05-08`, and vice versa.
pub(super) fn other_spellings(text: &str) -> String {
    static NUMBERS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\b(\d{4})-(\d{2})-(\d{2})\b").expect("a valid pattern"));
    static WORDS: LazyLock<Regex> = LazyLock::new(|| {
        let months = MONTHS.map(|month| format!("{}(?:{})?", &month[..3], &month[3..])).join("|");
        let day = r"(\d{1,2})(?:st|nd|rd|th)?";
        Regex::new(&format!(r"(?i)\b(?:{day}\s+({months})|({months})\.?\s+{day}),?\s+(\d{{4}})\b"))
            .expect("a valid pattern")
    });
    let numbers = NUMBERS.captures_iter(text).filter_map(|found| {
        let month = MONTHS.get(found[2].parse::<usize>().ok()?.checked_sub(1)?)?;
        Some(format!("{} {month} {}", found[3].trim_start_matches('0'), &found[1]))
    });
    let words = WORDS.captures_iter(text).filter_map(|found| {
        let (day, month) = found.get(1).zip(found.get(2)).or(found.get(4).zip(found.get(3)))?;
        let start = month.as_str().get(..3)?.to_lowercase();
        let month = MONTHS.iter().position(|name| name.to_lowercase().starts_with(&start))? + 1;
        Some(format!("{}-{month:02}-{:02}", &found[5], day.as_str().parse::<u8>().ok()?))
    });
    numbers.chain(words).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_spelled_the_other_way() {
        for (text, expected) in [
            ("2023-05-08", "8 May 2023"),
            ("1:56 pm on 8 May, 2023", "2023-05-08"),
            ("Sept 3", ""),
            ("December 31st, 1999 and 2000-01-01", "1 January 2000\n1999-12-31"),
            ("2023-13-01", ""),
            ("oct 7 2024", "2024-10-07"),
        ] {
            assert_eq!(other_spellings(text), expected, "{text}");
        }
    }
}
