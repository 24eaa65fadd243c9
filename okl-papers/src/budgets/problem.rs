//! The data sets, what was published of them, and what was chosen and measured for them once.

use super::setting::{Setting, Steps};
use crate::data::{A9A, DataSet, IJCNN1, USPS};

/// A data set and all that is fixed for it.
pub struct Problem {
    /// Its files.
    pub set: &'static DataSet,
    /// The loss, as it stands in a configuration.
    pub loss: &'static str,
    /// Test accuracy as published.
    pub published: Published,
    /// LIBSVM on the same files.
    pub libsvm: Reference,
    /// From which settings are chosen.
    pub grid: Grid,
    /// The settings in the order of [`super::choose::EACH`] with their accuracy on the rows held out, as `--full` chose them.
    pub chosen: [(Setting, f64); 7],
}

/// Table 3 of the paper, in per cent; one pass but for LIBSVM.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// LIBSVM.
    pub libsvm: f64,
    /// Pegasos without a limit.
    pub pegasos: f64,
    /// NORMA without a limit.
    pub norma: f64,
    /// The best of all methods with 100 terms.
    pub few: f64,
    /// With 500.
    pub many: f64,
}

/// What `benchmarks/libsvm_reference.py` printed (LIBSVM 3.37): C and gamma chosen on rows held out here, too, and the best on the
/// test set of those that are equally good there.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// On the test set, in per cent.
    pub accuracy: f64,
    /// Support vectors.
    pub vectors: usize,
    /// C and gamma.
    pub setting: (f64, f64),
}

/// The values that are tried, each with each.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// For both methods.
    pub gammas: &'static [f64],
    /// For okl.
    pub lambdas: &'static [f64],
    /// For okl: the first step size.
    pub etas: &'static [f64],
    /// For BSGD, where lambda is the step size, too.
    pub pegasos_lambdas: &'static [f64],
}

const fn pegasos(gamma: f64, lambda: f64) -> Setting {
    Setting { gamma, lambda, steps: Steps::Pegasos, implicit: false, average: false }
}

const fn linear(gamma: f64, lambda: f64, eta: f64, implicit: bool, average: bool) -> Setting {
    Setting { gamma, lambda, steps: Steps::Linear(eta), implicit, average }
}

const fn constant(gamma: f64, lambda: f64, eta: f64, implicit: bool) -> Setting {
    Setting { gamma, lambda, steps: Steps::Constant(eta), implicit, average: false }
}

/// The data sets of the paper that are at hand.
pub const PROBLEMS: [Problem; 3] = [
    Problem {
        set: &USPS,
        loss: "loss = 'max_margin'",
        published: Published { libsvm: 95.27, pegasos: 94.41, norma: 93.40, few: 91.76, many: 92.91 },
        libsvm: Reference { accuracy: 95.32, vectors: 2352, setting: (100.0, 0.0078125) },
        grid: Grid {
            gammas: &[0.005, 0.01, 0.02, 0.03, 0.05],
            lambdas: &[1e-6],
            etas: &[1.0, 3.0, 10.0],
            pegasos_lambdas: &[1e-5, 3e-5, 1e-4, 3e-4, 1e-3],
        },
        chosen: [
            (pegasos(0.01, 3e-4), 0.956820),
            (pegasos(0.02, 3e-4), 0.968015),
            (pegasos(0.03, 1e-4), 0.978296),
            (linear(0.01, 1e-6, 10.0, true, true), 0.963217),
            (constant(0.02, 1e-6, 10.0, true), 0.973269),
            (linear(0.02, 1e-6, 10.0, true, false), 0.978753),
            (linear(0.02, 1e-6, 3.0, false, false), 0.979895),
        ],
    },
    Problem {
        set: &IJCNN1,
        loss: "loss = 'hinge'\nclasses = [-1, 1]",
        published: Published { libsvm: 98.72, pegasos: 98.76, norma: 93.41, few: 97.27, many: 98.08 },
        libsvm: Reference { accuracy: 98.68, vectors: 3622, setting: (10.0, 4.0) },
        grid: Grid {
            gammas: &[1.5, 2.5, 4.0, 8.0, 16.0],
            lambdas: &[1e-6, 1e-5],
            etas: &[3.0, 6.0, 12.0],
            pegasos_lambdas: &[3e-6, 1e-5, 3e-5, 1e-4, 3e-4],
        },
        chosen: [
            (pegasos(4.0, 3e-5), 0.969494),
            (pegasos(4.0, 3e-5), 0.977095),
            (pegasos(16.0, 1e-5), 0.981896),
            (linear(2.5, 1e-5, 12.0, false, false), 0.977596),
            (linear(4.0, 1e-6, 3.0, true, false), 0.983330),
            (linear(8.0, 1e-6, 6.0, true, true), 0.985830),
            (linear(8.0, 1e-6, 3.0, true, true), 0.988831),
        ],
    },
    Problem {
        set: &A9A,
        loss: "loss = 'hinge'\nclasses = [-1, 1]",
        published: Published { libsvm: 84.29, pegasos: 84.02, norma: 83.65, few: 84.55, many: 83.93 },
        libsvm: Reference { accuracy: 85.06, vectors: 11474, setting: (10.0, 0.01) },
        grid: Grid {
            gammas: &[0.003, 0.01, 0.03, 0.1],
            lambdas: &[1e-5],
            etas: &[0.3, 1.0, 3.0],
            pegasos_lambdas: &[1e-5, 3e-5, 1e-4, 3e-4, 1e-3],
        },
        chosen: [
            (pegasos(0.1, 1e-4), 0.846819),
            (pegasos(0.1, 3e-4), 0.845949),
            (pegasos(0.1, 3e-4), 0.846461),
            (linear(0.03, 1e-5, 1.0, false, true), 0.848969),
            (linear(0.03, 1e-5, 3.0, false, true), 0.848457),
            (linear(0.1, 1e-5, 0.3, false, false), 0.849583),
            (linear(0.03, 1e-5, 3.0, false, false), 0.849839),
        ],
    },
];
