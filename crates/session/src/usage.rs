//! How a provider's reports compare with our count of the same requests, and whether they can be
//! believed. A pure fold of the reports on one model.
//!
//! Only the size of the whole input is believed, and only within what a count of the request
//! allows: a report that says something else is no measure of the request. What a provider says
//! of its cache changes no estimate.

use std::collections::VecDeque;

/// Number of newest reports that count.
const RECENT: usize = 5;
/// Ratios of the provider's count to ours that different tokenizers can have.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 0.5..=2.0;
/// The same while no two requests of different size were reported on.
const FIRST: std::ops::RangeInclusive<f64> = 0.75..=1.5;
/// Sizes differ if the largest of them exceeds the smallest by one part in this many.
const SIZES_DIFFER: u64 = 20;
/// Reports are the same if the largest of them exceeds the smallest by no more than one part in this
/// many. They may vary much less than our count does, which takes a small image for a large one.
const SAME: u64 = 200;
/// Reports after which a problem is one.
const PROBLEM_REPORTS: u64 = 4;
/// The same for a cache that never holds anything: some providers need several calls to fill it.
const UNCACHED_REPORTS: u64 = 10;
/// Fewer tokens than this need not be in a cache.
const CACHED_TOKENS: u64 = 4_000;

/// What is wrong with a provider's reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageProblem {
    /// The same figure for requests of different sizes.
    Constant,
    /// Figures that cannot be counts of the requests.
    Implausible,
    /// Never anything from a cache that should hold most of the requests.
    Uncached,
}

/// The reports on one model.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Usage {
    /// Counted and reported tokens of the newest requests.
    recent: VecDeque<(u64, u64)>,
    /// Whether the reports vary with the sizes of the requests; `None` if the sizes never differed.
    varies: Option<bool>,
    /// Reports in a row that could not be counts of their requests.
    implausible: u64,
    /// Reports in a row that found nothing in the cache although it held much.
    uncached: u64,
    reports: u64,
}

impl Usage {
    /// Takes in a report. `cached`: tokens that a cache should have held; `read`: those that the
    /// provider says it held.
    pub(super) fn report(&mut self, counted: u64, reported: u64, cached: u64, read: u64) {
        self.reports += 1;
        match (cached >= CACHED_TOKENS, read) {
            (_, 1..) => self.uncached = 0,
            (true, 0) => self.uncached += 1,
            (false, 0) => {}
        }
        if !PLAUSIBLE.contains(&ratio((counted, reported))) {
            self.implausible += 1;
            return;
        }
        self.implausible = 0;
        self.recent.push_back((counted, reported));
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        let spread = |of: fn(&(u64, u64)) -> u64| {
            let (least, most) =
                (self.recent.iter().map(of).min(), self.recent.iter().map(of).max());
            (most.unwrap_or(0) - least.unwrap_or(0), most.unwrap_or(0))
        };
        let (sizes, largest) = spread(|(counted, _)| *counted);
        let (reports, most) = spread(|(_, reported)| *reported);
        let varies = reports * SAME > most;
        if sizes * SIZES_DIFFER >= largest {
            self.varies = Some(varies);
        } else if varies {
            self.varies = self.varies.filter(|before| *before);
        }
    }

    /// The provider's token count divided by ours: the median over the newest reports that can be
    /// believed, 1 if there is none.
    pub(super) fn factor(&self) -> f64 {
        let mut ratios: Vec<f64> = self.recent.iter().copied().map(ratio).collect();
        // The median, so that a single odd report changes little.
        ratios.sort_by(f64::total_cmp);
        let median = ratios.get(ratios.len() / 2).copied().unwrap_or(1.0);
        match self.varies {
            Some(true) => median,
            None if FIRST.contains(&median) => median,
            _ => 1.0,
        }
    }

    /// Whether the newest report is a count of its request.
    pub(super) fn is_believed(&self) -> bool {
        let newest = self.recent.back().copied().map(ratio);
        let first = newest.is_some_and(|newest| FIRST.contains(&newest));
        self.implausible == 0 && self.varies.unwrap_or(first)
    }

    /// What is wrong, if anything is.
    pub(super) fn problem(&self) -> Option<UsageProblem> {
        if self.implausible >= PROBLEM_REPORTS {
            return Some(UsageProblem::Implausible);
        }
        if self.varies == Some(false) && self.reports >= PROBLEM_REPORTS {
            return Some(UsageProblem::Constant);
        }
        (self.uncached >= UNCACHED_REPORTS).then_some(UsageProblem::Uncached)
    }
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
fn ratio((counted, reported): (u64, u64)) -> f64 {
    reported as f64 / counted.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(reports: &[(u64, u64)]) -> Usage {
        let mut usage = Usage::default();
        for (counted, reported) in reports {
            usage.report(*counted, *reported, 0, 0);
        }
        usage
    }

    #[test]
    fn reports_that_vary_with_the_requests_are_believed() {
        for factor in [6_u64, 8, 10, 13, 19] {
            let sizes = [3_000_u64, 5_000, 9_000, 9_100, 4_000];
            let reports: Vec<_> = sizes.iter().map(|size| (*size, size * factor / 10)).collect();
            let usage = usage(&reports);
            let known = f64::from(u32::try_from(factor).unwrap()) / 10.0;
            assert!((usage.factor() - known).abs() < 0.001, "{factor}");
            assert_eq!(usage.problem(), None);
        }
    }

    #[test]
    fn a_constant_changes_no_estimate_once_sizes_differ() {
        let constant = usage(&[(5_000, 8_000), (7_000, 8_000), (9_000, 8_000), (12_000, 8_000)]);
        assert!((constant.factor() - 1.0).abs() < f64::EPSILON);
        assert_eq!(constant.problem(), Some(UsageProblem::Constant));
    }

    #[test]
    fn a_small_image_that_counts_as_a_large_one_is_no_constant() {
        let reports =
            [(6_000, 6_000), (6_040, 6_040), (6_080, 6_080), (7_300, 6_120), (7_340, 6_160)];
        let usage = usage(&reports);
        assert_eq!(usage.problem(), None);
        assert!(usage.is_believed());
    }

    #[test]
    fn reports_that_vary_again_are_no_constant() {
        let constant = [(5_000, 8_000), (7_000, 8_000), (9_000, 8_000), (12_000, 8_000)];
        let varying = (0..5).map(|call| (12_000 + call * 80, 12_000 + call * 80));
        let reports: Vec<_> = constant.into_iter().chain(varying).collect();
        let usage = usage(&reports);
        assert_eq!(usage.problem(), None);
        assert!(usage.is_believed());
    }

    #[test]
    fn one_odd_report_among_others_changes_nothing() {
        let reports = [(3_000, 3_450), (4_000, 4_600), (4_000, 1), (5_000, 5_750)];
        assert!((usage(&reports).factor() - 1.15).abs() < 0.001);
        assert_eq!(usage(&reports).problem(), None);
    }

    #[test]
    fn figures_that_are_no_counts_are_never_believed() {
        for reports in [[(3_000, 1); 4], [(3_000, 900_000); 4], [(3_000, 6_100); 4]] {
            assert!((usage(&reports).factor() - 1.0).abs() < f64::EPSILON);
            assert_eq!(usage(&reports).problem(), Some(UsageProblem::Implausible));
        }
    }

    #[test]
    fn a_cache_that_never_holds_anything_is_a_problem() {
        let mut usage = Usage::default();
        for call in 0..UNCACHED_REPORTS {
            assert_eq!(usage.problem(), None);
            usage.report(10_000 + call, 10_000 + call, 9_000, 0);
        }
        assert_eq!(usage.problem(), Some(UsageProblem::Uncached));
        usage.report(11_000, 11_000, 9_000, 8_192);
        assert_eq!(usage.problem(), None);
    }
}
