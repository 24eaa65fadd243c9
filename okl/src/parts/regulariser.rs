//! The regulariser lambda Omega(f), Omega = omega(|f|) (N p.2): its gradient is omega'(|f|) |f|^-1 f, so a step shrinks by
//! c = 1 - eta lambda omega'(|f|)/|f|; O(1) because |f| is tracked (algorithms.md section 0).

//! ```
//! use okl::regulariser::{AnyRegulariser, Regulariser};
//! assert_eq!(AnyRegulariser::Square.pull(3.0), 1.0);       // omega = r²/2
//! assert_eq!(AnyRegulariser::Norm.pull(4.0), 0.25);        // omega = r
//! ```

use serde::{Deserialize, Serialize};

/// A function omega of the norm.
///
/// Law: `pull(r)` = omega'(r)/r is finite and >= 0 for r > 0.
pub trait Regulariser: Send + Sync {
    /// omega'(norm) / norm.
    fn pull(&self, norm: f64) -> f64;
    /// Whether omega = r²/2. The certificates and SVMD's recursions are derived for this case only.
    fn is_square(&self) -> bool {
        false
    }
}

/// The built-in regularisers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum AnyRegulariser {
    /// omega = r²/2.
    #[default]
    Square,
    /// omega = r.
    Norm,
    /// omega = r^power / power.
    Power {
        /// At least 1.
        power: f64,
    },
}

impl Regulariser for AnyRegulariser {
    fn pull(&self, norm: f64) -> f64 {
        match *self {
            AnyRegulariser::Square => 1.0,
            _ if norm == 0.0 => 0.0,
            AnyRegulariser::Norm => 1.0 / norm,
            AnyRegulariser::Power { power } => libm::pow(norm, power - 2.0),
        }
    }

    fn is_square(&self) -> bool {
        matches!(self, AnyRegulariser::Square)
    }
}
