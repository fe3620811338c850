//! How well weights tell needed items from others: the area under the curve. Pure.

use super::samples::{Alike, NeedCount};

/// The chance that a needed sample has a higher rate than an unneeded one; equal rates count half.
/// `None` if there is no sample of either kind.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(super) fn auc<const N: usize>(samples: &Alike<N>, weights: [f64; N]) -> Option<f64> {
    let rate = |bits: &[u64; N]| {
        bits.iter().zip(weights).map(|(bits, weight)| f64::from_bits(*bits) * weight).sum::<f64>()
    };
    let mut rated: Vec<(f64, NeedCount)> =
        samples.iter().map(|(bits, seen)| (rate(bits), *seen)).collect();
    rated.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut needed, mut idle, mut won) = (0.0, 0.0, 0.0);
    for alike in rated.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
        let needs = alike.iter().map(|(_, seen)| seen.needs).sum::<u64>() as f64;
        let rest = alike.iter().map(|(_, seen)| seen.calls - seen.needs).sum::<u64>() as f64;
        won += needs * (idle + rest / 2.0);
        needed += needs;
        idle += rest;
    }
    (needed > 0.0 && idle > 0.0).then(|| won / (needed * idle))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(rows: &[(f64, u64, u64)]) -> Alike<1> {
        let row = |(input, calls, needs): &(f64, u64, u64)| {
            ([input.to_bits()], NeedCount { calls: *calls, needs: *needs })
        };
        rows.iter().map(row).collect()
    }

    #[test]
    fn a_perfect_ranking_is_1_and_a_constant_one_a_half() {
        let apart = samples(&[(1.0, 10, 0), (2.0, 10, 10)]);
        assert_eq!(auc(&apart, [1.0]), Some(1.0));
        assert_eq!(auc(&apart, [-1.0]), Some(0.0));
        assert_eq!(auc(&apart, [0.0]), Some(0.5));
    }

    #[test]
    fn pairs_are_counted() {
        // 1 need and 3 idle calls below, 2 needs and 2 idle calls above.
        let auc = auc(&samples(&[(1.0, 4, 1), (2.0, 4, 2)]), [1.0]).unwrap();
        let won = 1.0 * 1.5 + 2.0 * 4.0;
        assert!((auc - won / 15.0).abs() < 1e-12, "{auc}");
    }

    #[test]
    fn without_needs_there_is_no_quality() {
        assert_eq!(auc(&samples(&[(1.0, 4, 0)]), [1.0]), None);
    }
}
