//! Learns the weights of the hazards from recorded sessions: how often an output or a step was needed again, by what was known
//! of it at each call before.
//!
//! The same sessions give the same weights on every machine, in whatever order they come. Must not decide anything, nor read
//! anything but the transcripts it is given.

mod auc;
mod fit;
mod samples;

use serde::Serialize;

pub use self::samples::Samples;
use crate::context::hazard::{Hazards, OutputWeights, StepWeights};
use crate::error::{Error, Result};

/// Fewer needs than this of outputs, or of steps, say nothing.
pub const MIN_NEEDS: u64 = 30;

/// What was learned.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Learned {
    /// The weights.
    pub hazards: Hazards,
    /// Sessions they are learned from.
    pub sessions: u64,
    /// Calls of these.
    pub calls: u64,
    /// Of outputs.
    pub outputs: Quality,
    /// Of steps.
    pub steps: Quality,
}

/// How well one of the models tells what is needed from what is not.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Quality {
    /// How often one was needed again, by the sessions it is learned from.
    pub needs: u64,
    /// Chance that of two, one needed within the next calls and one not, the model holds the former for more likely: 0.5 is a
    /// guess, 1 never wrong. On the sessions that it is tested on; `None` where these have no needs.
    pub auc: Option<f64>,
}

impl Learned {
    /// Learns from what was collected. `caution`: how many times its price a fault weighs; `None`: as shipped. `tested`: what
    /// the models are tested on; `None`: what they are learned from.
    ///
    /// # Errors
    /// `TOO_FEW_NEEDS` where outputs or steps were needed again fewer than [`MIN_NEEDS`] times; `INVALID_ARGUMENT` where
    /// `caution` is not a number above 0.
    pub fn from_samples(
        samples: &Samples,
        caution: Option<f64>,
        tested: Option<&Samples>,
    ) -> Result<Self> {
        let caution = caution.unwrap_or(Hazards::shipped().caution);
        if !caution.is_finite() || caution <= 0.0 {
            return Err(Error::argument("caution", "must be a number above 0"));
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
