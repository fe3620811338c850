//! Learns the hazard weights from recorded sessions: how often outputs and steps with certain
//! features were needed again.
//!
//! The same sessions give the same weights on every machine, in any order. Must not decide
//! anything, or read anything but the given transcripts.

mod auc;
mod fit;
mod samples;

use serde::Serialize;

pub use self::samples::Samples;
use base::error::{Error, Result};
use context::hazard::{Caution, Hazards, OutputWeights, StepWeights};

/// Fewest needs to learn from, of outputs and of steps each.
pub const MIN_NEEDS: u64 = 30;

/// The result of learning.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Learned {
    /// The weights.
    pub hazards: Hazards,
    /// Number of sessions they were learned from.
    pub sessions: u64,
    /// Number of calls in these sessions.
    pub calls: u64,
    /// Quality of the model of outputs.
    pub outputs: Quality,
    /// Quality of the model of steps.
    pub steps: Quality,
}

/// How well a model tells needed items from others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Quality {
    /// Number of needs in the sessions that it was learned from.
    pub needs: u64,
    /// Area under the curve on the test sessions: the chance that the model rates a needed item
    /// above one that is not needed. 0.5 is guessing, 1 never wrong. `None` if these sessions have
    /// no needs.
    pub auc: Option<f64>,
}

impl Learned {
    /// Learns from samples. `caution`: the weight of a fault relative to its price. `tested`:
    /// samples to test the models on; `None`: those they are learned from.
    ///
    /// # Errors
    /// `TOO_FEW_NEEDS` if outputs or steps were needed again fewer than [`MIN_NEEDS`] times;
    /// `INVALID_ARGUMENT` if `caution` is not a number above 0.
    pub fn from_samples(
        samples: &Samples,
        caution: Caution,
        tested: Option<&Samples>,
    ) -> Result<Self> {
        if [caution.outputs, caution.steps]
            .iter()
            .any(|factor| !factor.is_finite() || *factor <= 0.0)
        {
            return Err(Error::argument("caution", "must be numbers above 0"));
        }
        enough("outputs", samples.output_needs)?;
        enough("steps", samples.step_needs)?;
        let outputs = OutputWeights::from_array(fit::fit(&samples.outputs));
        let steps = StepWeights::from_array(fit::fit(&samples.steps));
        let tested = tested.unwrap_or(samples);
        let quality = |needs, auc| Quality { needs, auc };
        Ok(Self {
            outputs: quality(samples.output_needs, auc::auc(&tested.outputs, outputs.to_array())),
            steps: quality(samples.step_needs, auc::auc(&tested.steps, steps.to_array())),
            hazards: Hazards { caution, outputs, steps, ..Hazards::shipped().clone() },
            sessions: samples.sessions,
            calls: samples.calls,
        })
    }
}

fn enough(what: &'static str, found: u64) -> Result<()> {
    let wanted = MIN_NEEDS;
    if found < wanted { Err(Error::TooFewNeeds { what, found, wanted }) } else { Ok(()) }
}
