//! Fits a log-linear model of rates: Newton's method on the likelihood of the counts, with a ridge
//! penalty. Pure.
//!
//! Sums run in the order of the samples, and powers are computed in software, so that the same
//! samples give the same weights on every machine.

use super::samples::{Alike, NeedCount};

/// Penalty on the square of every weight but the first, in needs. Keeps weights small if there are
/// few needs.
const RIDGE: f64 = 1.0;
/// Number of samples in which each needing call is counted: one for each earlier call that looks
/// ahead to it.
const TIMES_COUNTED: f64 = 20.0;
/// Weights are rounded to 1 / this.
const DIGITS: f64 = 1e4;
const MAX_ROUNDS: usize = 100;
const MAX_HALVINGS: usize = 40;
/// Upper limit for the logarithm of a rate, against overflow.
const MAX_LOG_RATE: f64 = 30.0;

/// The weights of the inputs in the logarithm of the rate at which items are needed. The first
/// input is always 1.
pub(super) fn fit<const N: usize>(samples: &Alike<N>) -> [f64; N] {
    let rows: Vec<([f64; N], NeedCount)> =
        samples.iter().map(|(bits, seen)| (bits.map(f64::from_bits), *seen)).collect();
    let mut weights = [0.0; N];
    weights[0] = mean_log_rate(samples);
    let mut best = score(&rows, &weights);
    for _ in 0..MAX_ROUNDS {
        let (gradient, curvature) = slopes(&rows, &weights);
        let step = solve(curvature, gradient);
        let Some((next, better)) = improved(&rows, &weights, &step, best) else { break };
        let gain = better - best;
        (weights, best) = (next, better);
        if gain < 1e-9 * (1.0 + best.abs()) {
            break;
        }
    }
    weights.map(|weight| (weight * DIGITS).round() / DIGITS)
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn mean_log_rate<const N: usize>(samples: &Alike<N>) -> f64 {
    let calls: u64 = samples.values().map(|seen| seen.calls).sum();
    let needs: u64 = samples.values().map(|seen| seen.needs).sum();
    // Half a need more, so that the logarithm is finite even without a need.
    libm::log((needs as f64 + 0.5) / (calls as f64 + 1.0))
}

/// Takes the step, halved until it raises the score.
fn improved<const N: usize>(
    rows: &[([f64; N], NeedCount)],
    weights: &[f64; N],
    step: &[f64; N],
    best: f64,
) -> Option<([f64; N], f64)> {
    let mut part = 1.0;
    for _ in 0..MAX_HALVINGS {
        let next = std::array::from_fn(|at| weights[at] + part * step[at]);
        let reached = score(rows, &next);
        if reached > best {
            return Some((next, reached));
        }
        part /= 2.0;
    }
    None
}

/// Logarithm of the likelihood, minus the penalty.
fn score<const N: usize>(rows: &[([f64; N], NeedCount)], weights: &[f64; N]) -> f64 {
    let likelihood: f64 = rows
        .iter()
        .map(|(inputs, seen)| {
            let log_rate = dot(weights, inputs).min(MAX_LOG_RATE);
            let (calls, needs) = counts(*seen);
            needs * log_rate - calls * libm::exp(log_rate)
        })
        .sum();
    likelihood - RIDGE / 2.0 * weights[1..].iter().map(|weight| weight * weight).sum::<f64>()
}

/// Gradient of the score, and the negative of its second derivatives.
fn slopes<const N: usize>(
    rows: &[([f64; N], NeedCount)],
    weights: &[f64; N],
) -> ([f64; N], [[f64; N]; N]) {
    let mut gradient = [0.0; N];
    let mut curvature = [[0.0; N]; N];
    for (inputs, seen) in rows {
        let (calls, needs) = counts(*seen);
        let expected = calls * libm::exp(dot(weights, inputs).min(MAX_LOG_RATE));
        for row in 0..N {
            gradient[row] += (needs - expected) * inputs[row];
            for column in 0..N {
                curvature[row][column] += expected * inputs[row] * inputs[column];
            }
        }
    }
    for at in 1..N {
        gradient[at] -= RIDGE * weights[at];
        curvature[at][at] += RIDGE;
    }
    (gradient, curvature)
}

/// Solves linear equations by elimination with partial pivoting. Unknowns without a solution are 0.
fn solve<const N: usize>(mut matrix: [[f64; N]; N], mut right: [f64; N]) -> [f64; N] {
    for column in 0..N {
        let size = |row: &usize| matrix[*row][column].abs();
        let pivot = (column..N).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap_or(column);
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        if matrix[column][column].abs() < 1e-12 {
            continue;
        }
        let (equation, known) = (matrix[column], right[column]);
        for row in column + 1..N {
            let times = matrix[row][column] / equation[column];
            matrix[row] = std::array::from_fn(|at| matrix[row][at] - times * equation[at]);
            right[row] -= times * known;
        }
    }
    let mut found = [0.0; N];
    for row in (0..N).rev() {
        let known: f64 = (row + 1..N).map(|at| matrix[row][at] * found[at]).sum();
        if matrix[row][row].abs() >= 1e-12 {
            found[row] = (right[row] - known) / matrix[row][row];
        }
    }
    found
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn counts(seen: NeedCount) -> (f64, f64) {
    (seen.calls as f64 / TIMES_COUNTED, seen.needs as f64 / TIMES_COUNTED)
}

fn dot<const N: usize>(weights: &[f64; N], inputs: &[f64; N]) -> f64 {
    weights.iter().zip(inputs).map(|(weight, input)| weight * input).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20,000 calls with each input, needed as `rate` says.
    fn samples(rate: impl Fn(f64, f64) -> f64) -> Alike<3> {
        let mut samples = Alike::new();
        for (a, b) in (0..2_u8).flat_map(|a| (0..5_u8).map(move |b| (f64::from(a), f64::from(b)))) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
            let needs = (20_000.0 * rate(a, b)).round() as u64;
            samples.insert([1.0, a, b].map(f64::to_bits), NeedCount { calls: 20_000, needs });
        }
        samples
    }

    #[test]
    fn fitting_recovers_the_weights_that_made_the_counts() {
        let found = fit(&samples(|a, b| libm::exp(-4.0 + 1.5 * a - 0.3 * b)));
        for (found, planted) in found.into_iter().zip([-4.0, 1.5, -0.3]) {
            assert!((found - planted).abs() < 0.1, "{found} is {planted}");
        }
    }

    #[test]
    fn a_feature_without_influence_gets_no_weight() {
        let found = fit(&samples(|_, _| 0.01));
        assert!(found[1].abs() < 0.01 && found[2].abs() < 0.01, "{found:?}");
        assert!((found[0] - libm::log(0.01)).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn constant_inputs_and_unneeded_samples_give_finite_weights() {
        let never = fit(&samples(|_, _| 0.0));
        assert!(never.iter().all(|weight| weight.is_finite()) && never[0] < -8.0, "{never:?}");
        let mut one = Alike::new();
        one.insert([1.0, 0.0, 0.0].map(f64::to_bits), NeedCount { calls: 100, needs: 10 });
        let found = fit(&one);
        assert!(found[1].abs() < 1e-9 && (found[0] - libm::log(0.1)).abs() < 0.1, "{found:?}");
    }

    #[test]
    fn a_few_needs_move_the_weights_less_than_many() {
        let few: Alike<3> = samples(|a, _| 0.001 * (1.0 + 9.0 * a))
            .into_iter()
            .map(|(bits, seen)| {
                (bits, NeedCount { calls: seen.calls / 20, needs: seen.needs / 20 })
            })
            .collect();
        let many = fit(&samples(|a, _| 0.001 * (1.0 + 9.0 * a)));
        assert!(many[1] > 1.8, "{many:?}");
        assert!(fit(&few)[1] < many[1] - 0.2, "{:?} {many:?}", fit(&few));
    }
}
