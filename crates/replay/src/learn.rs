//! Learns the hazard weights from recorded sessions: how often outputs and steps with certain
//! features were needed again.
//!
//! The same sessions give the same weights on every machine, in any order. Must not decide
//! anything, or read anything but the given transcripts.

mod auc;
mod fit;
mod samples;

pub use self::samples::Samples;
use base::error::{Error, Result};
use context::hazard::{Hazards, LearnedFrom, Quality};

/// Fewest needs to learn from, of outputs and of steps each.
pub const MIN_NEEDS: u64 = 30;

/// Areas under the curve are rounded to 1 / this.
const AUC_DIGITS: f64 = 1e4;

/// Learns weights from samples. `tested`: samples to test the models on; `None`: those they are
/// learned from.
///
/// # Errors
/// `TOO_FEW_NEEDS` if outputs or steps were needed again fewer than [`MIN_NEEDS`] times.
pub fn learned(samples: &Samples, tested: Option<&Samples>) -> Result<Hazards> {
    enough("outputs", samples.output_needs)?;
    enough("steps", samples.step_needs)?;
    let (outputs, steps) = (fit::fit(&samples.outputs), fit::fit(&samples.steps));
    let tested = tested.unwrap_or(samples);
    let quality = |needs, auc: Option<f64>| Quality {
        needs,
        auc: auc.map(|area| (area * AUC_DIGITS).round() / AUC_DIGITS),
    };
    let learned = LearnedFrom {
        sessions: samples.sessions,
        calls: samples.calls,
        outputs: quality(samples.output_needs, auc::auc(&tested.outputs, outputs)),
        steps: quality(samples.step_needs, auc::auc(&tested.steps, steps)),
    };
    Ok(Hazards { learned, outputs, steps })
}

fn enough(what: &'static str, found: u64) -> Result<()> {
    let wanted = MIN_NEEDS;
    if found < wanted { Err(Error::TooFewNeeds { what, found, wanted }) } else { Ok(()) }
}
