//! What okl states about a run holds, measured from outside: truncation (N(11), 3.6), regret (E25, Theorems N1-N3, O1),
//! norms (Propositions O2.1, O2.2), alert rates (3.5), bytes (law 4). Every measured side is recomputed in f64.

mod budgets;
mod olok;
mod rates;
mod regret;
mod truncation;
use crate::support::functions::{Data, Function, Rng, dot, gauss, learner, loss, predict};
use okl::{Batch, Config, Learner};

// Truncation: N(11)

/// Every update with its coefficient, as it was written: (step, centre, alpha).
struct Record {
    updates: Vec<(u64, usize, f64)>,
}

impl Record {
    /// Learns row `i` and notes what was appended.
    fn teach(&mut self, l: &mut Learner, data: &Data, i: usize) {
        let before = l.examples();
        data.teach(l, i, None);
        let t = l.examples();
        assert_eq!(t, before + 1);
        let newest = l.engine().terms().live().find(|&slot| l.engine().terms().birth(slot) == Some(t));
        if let Some(slot) = newest {
            self.updates.push((t, i, l.engine().heads()[0].expansion().alpha(0, slot)));
        }
    }

    /// |f_full - f|: f_full has every update, shrunk by c once per later step; f is what the learner holds.
    fn lost(&self, l: &Learner, data: &Data, gram: &[f64], c: f64) -> f64 {
        let (t, m) = (l.examples(), data.rows());
        let mut rest = vec![0.0; m];
        self.updates.iter().for_each(|(s, i, alpha)| rest[*i] += alpha * c.powi((t - s) as i32));
        for slot in l.engine().terms().live() {
            let (i, alpha) =
                (l.engine().terms().birth(slot).unwrap() as usize - 1, l.engine().heads()[0].expansion().alpha(0, slot));
            assert!(
                (rest[i] - alpha).abs() <= 1e-12 * alpha.abs(),
                "what is kept is what was written, shrunk: {} {alpha}",
                rest[i]
            );
            rest[i] = 0.0;
        }
        quadratic(&rest, gram)
    }
}

/// sqrt(a^T G a).
fn quadratic(a: &[f64], gram: &[f64]) -> f64 {
    let m = a.len();
    let at: Vec<usize> = (0..m).filter(|&i| a[i] != 0.0).collect();
    let row = |&i: &usize| a[i] * at.iter().map(|&j| gram[i * m + j] * a[j]).sum::<f64>();
    at.iter().map(row).sum::<f64>().max(0.0).sqrt()
}

fn gram(data: &Data) -> Vec<f64> {
    let m = data.rows();
    (0..m * m).map(|i| gauss(data.row(i / m), data.row(i % m))).collect()
}
