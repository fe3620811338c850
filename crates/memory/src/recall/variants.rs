//! Other words for a word: irregular forms, and words of the same subject. Pure; must not know what is searched.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use store::stem;

/// The words, by hand: `write wrote written` in a line that begins with `=` are one word; other lines are words of one subject.
const WORDS: &str = include_str!("words.txt");

/// Other words for a word. All are stems.
#[derive(Debug, Default)]
pub(super) struct Variants {
    bases: HashMap<String, String>,
    related: HashMap<String, Vec<String>>,
}

impl Variants {
    /// Those of English, made once.
    pub(super) fn english() -> &'static Self {
        static ENGLISH: LazyLock<Variants> = LazyLock::new(|| Variants::new(WORDS));
        &ENGLISH
    }

    fn new(lines: &str) -> Self {
        let mut variants = Self::default();
        let lines = || lines.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        for forms in lines().filter_map(|line| line.strip_prefix('=')) {
            let mut forms = forms.split_whitespace().map(stem);
            let Some(base) = forms.next() else { continue };
            for form in forms.filter(|form| *form != base) {
                variants.bases.insert(form, base.clone());
            }
        }
        for line in lines().filter(|line| !line.starts_with('=')) {
            let mut known = HashSet::new();
            let words = line.split_whitespace().map(|word| variants.base(&stem(word)).to_owned());
            let group: Vec<String> = words.filter(|word| known.insert(word.clone())).collect();
            for word in &group {
                let others = variants.related.entry(word.clone()).or_default();
                others.extend(group.iter().filter(|other| *other != word).cloned());
            }
        }
        for others in variants.related.values_mut() {
            others.sort_unstable();
            others.dedup();
        }
        variants
    }

    /// The form that stands for all forms of a word.
    pub(super) fn base<'a>(&'a self, word: &'a str) -> &'a str {
        self.bases.get(word).map_or(word, String::as_str)
    }

    /// Words of the same subject.
    pub(super) fn related(&self, word: &str) -> &[String] {
        self.related.get(word).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn irregular_forms_are_one_word() {
        let english = Variants::english();
        for (form, base) in [("written", "write"), ("wrote", "write"), ("children", "child")] {
            assert_eq!(english.base(&stem(form)), stem(base), "{form}");
        }
        assert_eq!(english.base("unheardof"), "unheardof");
    }

    #[test]
    fn words_of_a_subject_lead_to_each_other_and_not_further() {
        let variants = Variants::new("= go went\nconfig settings went\nsettings table\n");
        assert_eq!(variants.related("config"), ["go", "set"]);
        assert_eq!(variants.related("set"), ["config", "go", "tabl"]);
        assert_eq!(variants.related("tabl"), ["set"]);
        assert_eq!(variants.related("other"), [""; 0]);
    }
}
