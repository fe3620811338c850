//! The `read` tool's text compared with the answers of Pi's own tool
//! (`scripts/make-read-fixture.js`).

use std::collections::HashMap;

use base::object::Hash;
use live::model_tools::read::read_text;
use serde::Deserialize;

#[derive(Deserialize)]
struct Fixture {
    files: Vec<File>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct File {
    name: String,
    /// Unit, count, end, times.
    parts: Vec<(String, usize, String, usize)>,
}

impl File {
    fn text(&self) -> String {
        let part = |(unit, count, end, times): &(String, usize, String, usize)| {
            (unit.repeat(*count) + end).repeat(*times)
        };
        self.parts.iter().map(part).collect()
    }
}

#[derive(Debug, Deserialize)]
struct Case {
    file: String,
    offset: Option<f64>,
    limit: Option<f64>,
    #[serde(flatten)]
    answer: Answer,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Answer {
    Whole { text: String },
    Long { bytes: usize, sha256: Hash, end: String },
    Error { error: String },
}

/// How Pi's runtime fails at a fractional offset whose line is too long; ours names the argument
/// instead.
const RUNTIME_ERROR: &str = "The \"string\" argument must be of type string";

fn check(case: &Case, text: &str) {
    let answer = read_text(text, &case.file, case.offset, case.limit);
    match (&case.answer, answer) {
        (Answer::Whole { text }, Ok(shown)) => assert_eq!(&shown, text, "{case:?}"),
        (Answer::Long { bytes, sha256, end }, Ok(shown)) => {
            let tail = shown.char_indices().rev().nth(end.chars().count() - 1);
            let tail = tail.map(|(offset, _)| &shown[offset..]);
            assert_eq!(tail, Some(end.as_str()), "{case:?}");
            assert_eq!(shown.len(), *bytes, "{case:?}");
            assert_eq!(&Hash::of(&shown), sha256, "{case:?}");
        }
        (Answer::Error { error }, Err(ours)) if error.starts_with(RUNTIME_ERROR) => {
            assert_eq!(ours.code(), "INVALID_ARGUMENT", "{case:?}");
        }
        (Answer::Error { error }, Err(ours)) => assert_eq!(&ours.to_string(), error, "{case:?}"),
        (_, answer) => panic!("{case:?} gave {answer:?}"),
    }
}

#[test]
fn every_case_gives_the_bytes_of_pi() {
    let fixture: Fixture =
        serde_json::from_str(include_str!("../../../../tests/fixtures/pi-read.json")).unwrap();
    let files: HashMap<_, _> =
        fixture.files.iter().map(|file| (file.name.as_str(), file.text())).collect();
    assert!(fixture.cases.len() > 300);
    for case in &fixture.cases {
        check(case, &files[case.file.as_str()]);
    }
}
