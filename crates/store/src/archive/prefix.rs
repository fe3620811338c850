//! Compares two lists by their running hashes. Must not know where lists are kept.

use base::error::Result;

/// Counts the items that two lists share from their start, among the first `most` of both.
///
/// `same`: whether the running hashes at a position are equal. A running hash covers all items up
/// to its position, so the hashes are equal before the first difference and differ from there on,
/// and bisection finds it.
pub(super) fn common_items(most: u64, same: impl Fn(u64) -> Result<bool>) -> Result<u64> {
    if most == 0 || same(most - 1)? {
        return Ok(most);
    }
    let (mut common, mut differ) = (0, most);
    while common + 1 < differ {
        let middle = common + (differ - common) / 2;
        if same(middle - 1)? { common = middle } else { differ = middle }
    }
    Ok(common)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_found_wherever_it_is() {
        for most in 0..20_u64 {
            for first in 0..=most {
                let same = |at: u64| {
                    assert!(at < most);
                    Ok(at < first)
                };
                assert_eq!(common_items(most, same).unwrap(), first, "of {most}");
            }
        }
    }
}
