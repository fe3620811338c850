//! Chooses the pages in the system prompt and their fidelities: pinned pages first, then what is to
//! be obeyed, in some form, then those with the most value for their tokens. A resident page keeps its place until another is clearly
//! better, so the choice does not flap. Pure and deterministic; must not know what a page says.

use super::fidelity::Fidelity;

/// The share of a page's value that each fidelity keeps.
const KEPT: [f32; 4] = [0.2, 0.45, 0.8, 1.0];
/// The factor on a resident page's worth: another one has to be better by this much to replace it.
const STAY: f32 = 1.3;
/// A limit that does not bind.
pub const NO_LIMIT: u32 = u32::MAX;

/// The size of a form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageSize {
    /// Tokens.
    pub tokens: u32,
    /// Bytes, including the line break.
    pub bytes: u32,
    /// Lines.
    pub lines: u32,
}

/// A page that may be resident.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResidencyCandidate {
    /// Its size at each fidelity, lowest first; tokens never decrease.
    pub sizes: [PageSize; 4],
    /// Its value at full fidelity, above 0.
    pub value: f32,
    /// The index of its limit in `ResidencyLimits::groups`.
    pub group: u8,
    /// The least fidelity of a pinned page; `None` if it is not pinned.
    pub least: Option<Fidelity>,
    /// Whether it is to be obeyed: then it comes before all that is merely worth knowing.
    pub is_rule: bool,
    /// The fidelity at which it is resident now.
    pub resident: Option<Fidelity>,
}

/// The limits on resident pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResidencyLimits {
    /// Tokens of all pages.
    pub tokens: u32,
    /// Bytes and lines of each group's pages.
    pub groups: Vec<(u32, u32)>,
}

/// The choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Residency {
    /// The fidelity of each candidate; `None`: not resident.
    pub fidelities: Vec<Option<Fidelity>>,
    /// Tokens of the resident pages.
    pub tokens: u32,
    /// Pinned candidates that the limits keep below their least fidelity: pinned-invariant memory
    /// faults.
    pub below_least: Vec<usize>,
}

/// Chooses by value per token, up to the limits.
pub fn choose(candidates: &[ResidencyCandidate], limits: &ResidencyLimits) -> Residency {
    let mut room = Room { tokens: limits.tokens, groups: limits.groups.clone() };
    let mut chosen =
        Chosen { levels: vec![0; candidates.len()], is_full: vec![false; candidates.len()] };
    let below_least = pin(candidates, &mut room, &mut chosen);
    if !take_all(candidates, &mut room, &mut chosen) {
        take_rules(candidates, &mut room, &mut chosen);
        let least = least_tokens(candidates);
        for step in steps(candidates, &chosen.levels) {
            if room.tokens < least {
                break;
            }
            take(candidates, step, &mut room, &mut chosen);
        }
    }
    let fidelities = chosen.levels.iter().map(|level| fidelity(*level)).collect();
    Residency { fidelities, tokens: limits.tokens - room.tokens, below_least }
}

/// The remaining room within the limits.
#[derive(Clone)]
struct Room {
    tokens: u32,
    groups: Vec<(u32, u32)>,
}

impl Room {
    /// Half of the room.
    fn half(&self) -> Self {
        let half = |left: u32| if left == NO_LIMIT { left } else { left / 2 };
        let groups = self.groups.iter().map(|(bytes, lines)| (half(*bytes), half(*lines)));
        Self { tokens: self.tokens / 2, groups: groups.collect() }
    }

    /// Takes the difference of two sizes; `false` if it does not fit.
    fn take(&mut self, group: u8, from: PageSize, to: PageSize) -> bool {
        let Some((bytes, lines)) = self.groups.get_mut(usize::from(group)) else { return false };
        let tokens = to.tokens - from.tokens;
        // A shorter form may have more bytes or lines than a longer one; the step then frees room.
        let after = |left: u32, from: u32, to: u32| left.checked_add(from)?.checked_sub(to);
        let left =
            |left: u32, from, to| if left == NO_LIMIT { Some(left) } else { after(left, from, to) };
        match (
            self.tokens.checked_sub(tokens),
            left(*bytes, from.bytes, to.bytes),
            left(*lines, from.lines, to.lines),
        ) {
            (Some(tokens), Some(bytes_left), Some(lines_left)) => {
                (self.tokens, *bytes, *lines) = (tokens, bytes_left, lines_left);
                true
            }
            _ => false,
        }
    }
}

/// Levels: 0 for a page that is not resident, otherwise its fidelity's index plus one.
struct Chosen {
    levels: Vec<u8>,
    /// Whether a step of the page did not fit; then no later one is taken.
    is_full: Vec<bool>,
}

fn fidelity(level: u8) -> Option<Fidelity> {
    Fidelity::ALL.get(usize::from(level.checked_sub(1)?)).copied()
}

fn level(fidelity: Option<Fidelity>) -> u8 {
    fidelity.map_or(0, |fidelity| fidelity as u8 + 1)
}

fn size(candidate: &ResidencyCandidate, level: u8) -> PageSize {
    level.checked_sub(1).map_or_else(PageSize::default, |place| candidate.sizes[usize::from(place)])
}

fn kept(level: u8) -> f32 {
    level.checked_sub(1).map_or(0.0, |place| KEPT[usize::from(place)])
}

/// Takes pinned pages at their least fidelities, the most valuable first, or at the highest
/// fidelity that fits. Returns those that stay below.
fn pin(candidates: &[ResidencyCandidate], room: &mut Room, chosen: &mut Chosen) -> Vec<usize> {
    let mut pinned: Vec<usize> =
        (0..candidates.len()).filter(|at| candidates[*at].least.is_some()).collect();
    pinned.sort_by(|one, other| {
        candidates[*other].value.total_cmp(&candidates[*one].value).then(one.cmp(other))
    });
    let mut below = Vec::new();
    for at in pinned {
        let candidate = &candidates[at];
        let least = level(candidate.least);
        let fits =
            |level: &u8| room.take(candidate.group, PageSize::default(), size(candidate, *level));
        let taken = (1..=least).rev().find(fits).unwrap_or(0);
        chosen.levels[at] = taken;
        if taken < least {
            below.push(at);
            chosen.is_full[at] = true;
        }
    }
    below.sort_unstable();
    below
}

/// Takes all pages at full fidelity, if they all fit, which is the usual case.
fn take_all(candidates: &[ResidencyCandidate], room: &mut Room, chosen: &mut Chosen) -> bool {
    let mut all = room.clone();
    let fits = candidates.iter().zip(&chosen.levels).all(|(candidate, level)| {
        all.take(candidate.group, size(candidate, *level), candidate.sizes[3])
    });
    if fits {
        *room = all;
        chosen.levels.fill(4);
    }
    fits
}

/// Takes the rules, the most valuable first: each in its shortest form, then as much of each as fits
/// into half of what is left. The rest of them counts by its worth, like everything else.
fn take_rules(candidates: &[ResidencyCandidate], room: &mut Room, chosen: &mut Chosen) {
    let mut rules: Vec<usize> =
        (0..candidates.len()).filter(|at| candidates[*at].is_rule).collect();
    rules.sort_by(|one, other| {
        candidates[*other].value.total_cmp(&candidates[*one].value).then(one.cmp(other))
    });
    for at in &rules {
        let candidate = &candidates[*at];
        let is_out = chosen.levels[*at] == 0;
        if is_out && room.take(candidate.group, PageSize::default(), size(candidate, 1)) {
            chosen.levels[*at] = 1;
        }
    }
    let mut half = room.half();
    for at in rules {
        let (candidate, from) = (&candidates[at], chosen.levels[at]);
        let fits = |to: &u8| {
            let (group, now, next) = (candidate.group, size(candidate, from), size(candidate, *to));
            half.take(group, now, next) && room.take(group, now, next)
        };
        let is_in = from > 0;
        chosen.levels[at] = (from + 1..=4).rev().filter(|_| is_in).find(fits).unwrap_or(from);
    }
}

/// A page's step from one level to a higher one.
#[derive(Clone, Copy)]
struct Step {
    order: u16,
    /// The page's index.
    at: usize,
    /// The new level.
    to: u8,
}

/// The steps, most worthwhile first. A page's own steps ascend.
fn steps(candidates: &[ResidencyCandidate], levels: &[u8]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::with_capacity(candidates.len() * 3);
    for (at, (candidate, from)) in candidates.iter().zip(levels).enumerate() {
        let mut from = *from;
        let (mut best, mut at_best, mut before) = (0.0_f32, 0_u8, f32::MAX);
        // The upper hull of value by tokens: each step has the best value per token, so that these
        // never rise.
        while from < 4 {
            for to in from + 1..=4 {
                let tokens = size(candidate, to).tokens - size(candidate, from).tokens;
                let value = (kept(to) - kept(from)) * candidate.value;
                let stays = if to <= level(candidate.resident) { STAY } else { 1.0 };
                // A step may take no tokens, since forms may be equal: the floor keeps its worth
                // finite.
                #[expect(clippy::cast_precision_loss, reason = "far fewer tokens than 2^24")]
                let worth = value * stays / (tokens as f32).max(0.5);
                if worth >= best {
                    (best, at_best) = (worth, to);
                }
            }
            // A resident level counts more; that must not make a later step better than this one.
            before = before.min(best);
            steps.push(Step { order: order(before), at, to: at_best });
            (from, best) = (at_best, 0.0);
        }
    }
    steps.sort_by_key(|step| step.order);
    steps
}

/// The fewest tokens that any step takes, among steps that take some.
fn least_tokens(candidates: &[ResidencyCandidate]) -> u32 {
    let steps = candidates.iter().flat_map(|candidate| {
        let sizes = candidate.sizes.map(|size| size.tokens);
        [sizes[0], sizes[1] - sizes[0], sizes[2] - sizes[1], sizes[3] - sizes[2]]
    });
    steps.filter(|tokens| *tokens > 0).min().unwrap_or(0)
}

/// Ascends as worth descends. Worths that differ by less than a hundredth may be equal: then the
/// earlier page comes first.
fn order(worth: f32) -> u16 {
    // The bits of positive floats rise with them; the upper half holds the exponent and seven bits.
    !u16::try_from(worth.to_bits() >> 16).unwrap_or(u16::MAX)
}

fn take(candidates: &[ResidencyCandidate], step: Step, room: &mut Room, chosen: &mut Chosen) {
    let Step { at, to, .. } = step;
    if chosen.is_full[at] {
        return;
    }
    let candidate = &candidates[at];
    let from = chosen.levels[at];
    let fits = |to: &u8| room.take(candidate.group, size(candidate, from), size(candidate, *to));
    let taken = (from + 1..=to).rev().find(fits).unwrap_or(from);
    chosen.levels[at] = taken;
    chosen.is_full[at] = taken < to;
}

#[cfg(test)]
mod tests;
