use proptest::prelude::*;

use super::*;

fn sizes(tokens: [u32; 4]) -> [PageSize; 4] {
    tokens.map(|tokens| PageSize { tokens, bytes: tokens * 4, lines: 1 })
}

fn page(tokens: [u32; 4], value: f32) -> ResidencyCandidate {
    let (group, least, is_rule, resident) = (0, None, false, None);
    ResidencyCandidate { sizes: sizes(tokens), value, group, least, is_rule, resident }
}

fn limit(tokens: u32) -> ResidencyLimits {
    ResidencyLimits { tokens, groups: vec![(NO_LIMIT, NO_LIMIT)] }
}

fn chosen(candidates: &[ResidencyCandidate], tokens: u32) -> Vec<Option<Fidelity>> {
    choose(candidates, &limit(tokens)).fidelities
}

use Fidelity::{Compressed, Full, Pointer, Structured};

#[test]
fn all_stand_in_full_where_they_fit() {
    let pages = [page([5, 10, 20, 40], 1.0), page([5, 10, 20, 60], 0.1)];
    assert_eq!(chosen(&pages, 100), [Some(Full), Some(Full)]);
    assert_eq!(choose(&pages, &limit(100)).tokens, 100);
}

#[test]
fn the_more_valuable_stands_in_more_detail() {
    let pages = [page([5, 10, 20, 40], 1.0), page([5, 10, 20, 40], 3.0)];
    assert_eq!(chosen(&pages, 60), [Some(Compressed), Some(Full)]);
    assert_eq!(chosen(&pages, 45), [Some(Compressed), Some(Compressed)]);
    assert_eq!(chosen(&pages, 25), [Some(Pointer), Some(Compressed)]);
    assert_eq!(chosen(&pages, 4), [None, None]);
}

#[test]
fn what_is_too_long_leaves_room_for_the_others() {
    let mut pages = vec![page([900, 900, 900, 900], 1_000.0)];
    pages.extend([page([5, 10, 20, 40], 1.0); 3]);
    assert_eq!(chosen(&pages, 120), [None, Some(Full), Some(Full), Some(Full)]);
}

#[test]
fn a_pinned_page_comes_first_at_its_least_fidelity() {
    let pinned = ResidencyCandidate { least: Some(Structured), ..page([5, 10, 20, 40], 0.01) };
    let pages = [page([5, 10, 20, 40], 100.0), pinned];
    let found = choose(&pages, &limit(50));
    assert_eq!(found.fidelities, [Some(Full), Some(Structured)]);
    assert_eq!(found.below_least, [0_usize; 0]);
}

#[test]
fn pinned_pages_that_do_not_fit_are_named_and_shortened() {
    let pinned = |value| ResidencyCandidate { least: Some(Full), ..page([5, 10, 20, 40], value) };
    let found = choose(&[pinned(1.0), pinned(2.0), pinned(3.0)], &limit(70));
    assert_eq!(found.fidelities, [Some(Structured), Some(Compressed), Some(Full)]);
    assert_eq!(found.below_least, [0, 1]);
}

#[test]
fn a_long_rule_comes_before_short_facts() {
    let rule = ResidencyCandidate { is_rule: true, ..page([10, 15, 30, 60], 3.0) };
    let mut pages = vec![page([8, 8, 8, 8], 1.2); 30];
    pages.push(rule);
    let groups = vec![(NO_LIMIT, 20)];
    let found = choose(&pages, &ResidencyLimits { tokens: 300, groups }).fidelities;
    assert_eq!(found[30], Some(Full), "there are tokens for it");
    assert_eq!(found.iter().flatten().count(), 20);
    let found = chosen(&pages, 100);
    assert_eq!(found[30], Some(Compressed), "half of the room is for rules");
    assert_eq!(chosen(&pages, 11)[30], Some(Pointer));
    let many = [rule; 10];
    assert_eq!(chosen(&many, 100), [Some(Pointer); 10]);
}

#[test]
fn a_resident_page_stays_until_another_is_clearly_better() {
    let pages = |values: [f32; 2], resident: [Option<Fidelity>; 2]| {
        let mut pages = values.map(|value| page([40, 40, 40, 40], value));
        for (page, resident) in pages.iter_mut().zip(resident) {
            page.resident = resident;
        }
        chosen(&pages, 40)
    };
    let first = pages([1.0, 0.9], [None, None]);
    assert_eq!(first, [Some(Full), None]);
    // The other one gains a little: nothing changes. Then it gains much.
    assert_eq!(pages([1.0, 1.2], [Some(Full), None]), [Some(Full), None]);
    assert_eq!(pages([1.0, 1.4], [Some(Full), None]), [None, Some(Full)]);
}

#[test]
fn each_group_has_its_own_bytes_and_lines() {
    let mut pages = vec![page([5, 10, 20, 40], 1.0); 4];
    for page in &mut pages[2..] {
        page.group = 1;
    }
    let groups = vec![(200, NO_LIMIT), (NO_LIMIT, 1)];
    let found = choose(&pages, &ResidencyLimits { tokens: 1_000, groups });
    assert_eq!(found.fidelities, [Some(Compressed), Some(Compressed), Some(Full), None]);
}

fn candidates() -> impl Strategy<Value = Vec<ResidencyCandidate>> {
    let fidelity = || proptest::option::of((0..4_usize).prop_map(|at| Fidelity::ALL[at]));
    let candidate =
        (proptest::array::uniform4(0_u32..80), 1_u32..10_000, 0_u8..3, fidelity(), fidelity())
            .prop_map(|(mut tokens, value, group, least, resident)| {
                tokens.sort_unstable();
                #[expect(clippy::cast_precision_loss, reason = "small numbers")]
                let value = value as f32 / 100.0;
                let least = least.filter(|_| value < 10.0);
                let is_rule = tokens[0] % 3 == 0;
                ResidencyCandidate { sizes: sizes(tokens), value, group, least, is_rule, resident }
            });
    proptest::collection::vec(candidate, 0..40)
}

fn limits() -> impl Strategy<Value = ResidencyLimits> {
    let group = || prop_oneof![Just((NO_LIMIT, NO_LIMIT)), (0_u32..2_000, 0_u32..20)];
    (0_u32..2_000, group(), group(), group()).prop_map(|(tokens, one, two, three)| {
        ResidencyLimits { tokens, groups: vec![one, two, three] }
    })
}

proptest! {
    #![proptest_config(testing::cases::config(64, 1))]

    #[test]
    fn keeps_all_limits_and_is_deterministic(candidates in candidates(), limits in limits()) {
        let found = choose(&candidates, &limits);
        let mut tokens = 0;
        let mut groups = [(0, 0); 3];
        for (candidate, fidelity) in candidates.iter().zip(&found.fidelities) {
            if let Some(fidelity) = fidelity {
                let size = candidate.sizes[*fidelity as usize];
                tokens += size.tokens;
                let group = &mut groups[usize::from(candidate.group)];
                *group = (group.0 + size.bytes, group.1 + size.lines);
            }
        }
        prop_assert_eq!(tokens, found.tokens);
        prop_assert!(tokens <= limits.tokens);
        for (used, limit) in groups.iter().zip(&limits.groups) {
            prop_assert!(used.0 <= limit.0 && used.1 <= limit.1);
        }
        prop_assert_eq!(choose(&candidates, &limits), found);
    }

    #[test]
    fn a_pinned_page_drops_below_its_minimum_only_if_reported(candidates in candidates(), limits in limits()) {
        let found = choose(&candidates, &limits);
        for (at, candidate) in candidates.iter().enumerate() {
            let is_below = candidate.least.is_some() && found.fidelities[at] < candidate.least;
            prop_assert_eq!(is_below, found.below_least.contains(&at));
        }
    }

    #[test]
    fn choosing_again_from_what_was_chosen_changes_nothing(candidates in candidates(), tokens in 0_u32..2_000) {
        let limits = ResidencyLimits { tokens, groups: vec![(NO_LIMIT, NO_LIMIT); 3] };
        let mut settled = candidates;
        let mut found = choose(&settled, &limits);
        for _ in 0..3 {
            for (candidate, fidelity) in settled.iter_mut().zip(&found.fidelities) {
                candidate.resident = *fidelity;
            }
            found = choose(&settled, &limits);
        }
        for (candidate, fidelity) in settled.iter_mut().zip(&found.fidelities) {
            candidate.resident = *fidelity;
        }
        prop_assert_eq!(choose(&settled, &limits).fidelities, found.fidelities);
    }

    #[test]
    fn the_choice_is_worth_nearly_as_much_as_the_best_one(
        candidates in proptest::collection::vec((proptest::array::uniform4(1_u32..40), 1_u32..100), 1..6),
        tokens in 60_u32..200,
    ) {
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let pages: Vec<ResidencyCandidate> = candidates.into_iter().map(|(mut tokens, value)| {
            tokens.sort_unstable();
            page(tokens, value as f32)
        }).collect();
        let worth = |fidelities: &[Option<Fidelity>]| -> f32 {
            let each = pages.iter().zip(fidelities);
            each.map(|(page, fidelity)| page.value * fidelity.map_or(0.0, |at| KEPT[at as usize])).sum()
        };
        let best = best(&pages, tokens, &worth);
        prop_assert!(worth(&chosen(&pages, tokens)) >= best * 0.75, "of {best}");
    }
}

/// The most that any choice within a budget is worth.
fn best(
    pages: &[ResidencyCandidate],
    tokens: u32,
    worth: &dyn Fn(&[Option<Fidelity>]) -> f32,
) -> f32 {
    let choices = 5_usize.pow(u32::try_from(pages.len()).unwrap());
    let choice = |mut number: usize| -> Vec<Option<Fidelity>> {
        let mut fidelities = Vec::new();
        for _ in pages {
            fidelities.push((number % 5).checked_sub(1).map(|at| Fidelity::ALL[at]));
            number /= 5;
        }
        fidelities
    };
    let taken = |fidelities: &[Option<Fidelity>]| -> u32 {
        let each = pages.iter().zip(fidelities);
        each.map(|(page, fidelity)| fidelity.map_or(0, |at| page.sizes[at as usize].tokens)).sum()
    };
    let fitting = (0..choices).map(choice).filter(|fidelities| taken(fidelities) <= tokens);
    fitting.map(|fidelities| worth(&fidelities)).fold(0.0, f32::max)
}

/// Looks ahead: it knows which page each of the coming prompts needs, and keeps the pages that are
/// needed most for their tokens.
fn oracle(pages: &[ResidencyCandidate], needs: &[usize], tokens: u32) -> usize {
    let mut counts = vec![0_usize; pages.len()];
    for need in needs {
        counts[*need] += 1;
    }
    let mut order: Vec<usize> = (0..pages.len()).filter(|at| counts[*at] > 0).collect();
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let rate = |at: usize| counts[at] as f64 / f64::from(pages[at].sizes[3].tokens);
    order.sort_by(|one, other| rate(*other).total_cmp(&rate(*one)));
    let mut left = tokens;
    let mut met = 0;
    for at in order {
        if let Some(rest) = left.checked_sub(pages[at].sizes[3].tokens) {
            left = rest;
            met += counts[at];
        }
    }
    met
}

#[test]
fn counting_use_meets_most_needs_that_foresight_meets() {
    // Needs of pages fall off as those of words do (Zipf): a few are needed again and again.
    let pages: Vec<ResidencyCandidate> =
        (0..200).map(|at| page([8, 15, 30, 30 + at % 50], 1.0)).collect();
    let mut random = 7_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % below
    };
    let needs: Vec<usize> =
        (0..2_000).map(|_| usize::try_from(200 / (1 + next(199)) * 7 % 200).unwrap()).collect();
    let budget = 1_000;
    let mut uses = vec![0_u32; pages.len()];
    let mut seen = pages.clone();
    let mut met = 0;
    for (number, need) in needs.iter().enumerate() {
        if number % 20 == 0 {
            for (page, uses) in seen.iter_mut().zip(&uses) {
                #[expect(clippy::cast_precision_loss, reason = "small numbers")]
                let count = *uses as f32;
                page.value = 1.0 + count;
            }
            let found = choose(&seen, &limit(budget));
            for (page, fidelity) in seen.iter_mut().zip(found.fidelities) {
                page.resident = fidelity;
            }
        }
        met += usize::from(seen[*need].resident >= Some(Compressed));
        uses[*need] += 1;
    }
    let ahead = oracle(&pages, &needs, budget);
    assert!(met * 10 >= ahead * 9, "{met} of {ahead}");
    assert!(ahead < needs.len(), "the budget binds: {ahead}");
}
