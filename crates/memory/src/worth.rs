//! A page's value in the system prompt: its kind, importance, use, age, and whether it concerns the
//! files at hand. Pure and deterministic. Must not know tokens.

use super::page::{Page, PageKind};

/// Days after which a page that was never confirmed or used has lost half of what age can take.
const HALF_DAYS: f32 = 90.0;

/// What is known about a page besides its text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Signals {
    /// How often it was recalled or read.
    pub uses: u32,
    /// Days since it was last confirmed, changed or used; `None`: unknown.
    pub age_days: Option<u32>,
    /// Whether it mentions a file that the session works on.
    pub is_related: bool,
    /// What became of its cited files, in three words, if any changed since.
    pub stale: Option<&'static str>,
}

/// A page's worth; above 0 unless it is a topic file section that nothing asks for: its link in the
/// index is enough.
pub fn worth(page: &Page, signals: Signals) -> f32 {
    let kind = match page.kind {
        PageKind::Instruction => 3.0,
        PageKind::Decision | PageKind::Preference => 2.0,
        PageKind::Procedure => 1.5,
        PageKind::Fact => 1.2,
        PageKind::Reference => 1.0,
    };
    let is_wanted = signals.uses > 0 || signals.is_related || page.is_important || page.is_pinned;
    let entry = match (page.is_entry(), is_wanted) {
        (true, _) => 1.0,
        (false, true) => 0.5,
        (false, false) => return 0.0,
    };
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let used = 1.0 + 0.3 * (signals.uses.min(1_000) as f32).ln_1p();
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let age = signals
        .age_days
        .map_or(1.0, |days| 0.5 + 0.5 * 0.5_f32.powf(days.min(10_000) as f32 / HALF_DAYS));
    let factor = |is: bool, factor: f32| if is { factor } else { 1.0 };
    kind * entry
        * used
        * age
        * factor(page.is_important, 2.0)
        * factor(signals.is_related, 2.0)
        * factor(signals.stale.is_some(), 0.8)
}

/// Whether a page concerns one of these files: it cites one, or its text has a file's name.
///
/// `paths`: absolute, or as the agent sees them.
pub fn is_related(page: &Page, paths: &[String]) -> bool {
    paths.iter().any(|path| {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let cites = page.cites.iter().any(|cited| {
            let cited = cited.path.trim_start_matches("./");
            path.ends_with(cited)
                && path[..path.len() - cited.len()]
                    .chars()
                    .next_back()
                    .is_none_or(|before| before == '/')
        });
        cites || (name.len() > 4 && name.contains('.') && page.text.contains(name))
    })
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::super::scope::Scope;
    use super::*;

    fn page(file: &str, text: &str) -> Page {
        parse(Scope::Project, file, text).pop().unwrap()
    }

    #[test]
    fn use_importance_and_relation_raise_it_and_age_lowers_it() {
        let entry = page("MEMORY.md", "- CI: green");
        let of = |signals| worth(&entry, signals);
        let none = of(Signals::default());
        assert!(of(Signals { uses: 3, ..Signals::default() }) > none);
        assert!(of(Signals { is_related: true, ..Signals::default() }) > none);
        assert!(of(Signals { stale: Some("cited file gone"), ..Signals::default() }) < none);
        let aged = |days| of(Signals { age_days: Some(days), ..Signals::default() });
        assert!(aged(0) >= none && aged(30) > aged(90) && aged(9_999) > none * 0.49);
        assert!(worth(&page("MEMORY.md", "- CI: green #important"), Signals::default()) > none);
        assert!(worth(&page("MEMORY.md", "- Never push"), Signals::default()) > none);
    }

    #[test]
    fn a_section_of_a_topic_file_counts_once_something_asks_for_it() {
        let section = page("build.md", "# Cache\nsccache breaks `src/a.rs`\n");
        assert!(worth(&section, Signals::default()) <= 0.0);
        assert!(worth(&section, Signals { uses: 1, ..Signals::default() }) > 0.0);
    }

    #[test]
    fn a_page_is_related_to_the_files_that_it_cites_or_names() {
        let cites = page("MEMORY.md", "- see `src/store.rs`");
        let paths = |path: &str| vec![path.to_owned()];
        assert!(is_related(&cites, &paths("/p/src/store.rs")));
        assert!(!is_related(&cites, &paths("/p/old-src/store.rs.bak")));
        let names = page("MEMORY.md", "- the parser in parse.rs is slow");
        assert!(is_related(&names, &paths("/p/src/memory/parse.rs")));
        assert!(!is_related(&names, &paths("/p/src/memory/load.rs")));
    }
}
