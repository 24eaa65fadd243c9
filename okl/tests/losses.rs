//! Losses: gradients and curvature by finite differences, the conventions at the kinks, the first step from zero,
//! the proximal steps against their definition, the names of a configuration.

use okl::loss::*;

/// A small generator: splitmix64.
struct Random(u64);

impl Random {
    /// Uniform on [-1, 1).
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn vector(&mut self, d: usize, scale: f64) -> Vec<f64> {
        (0..d).map(|_| scale * self.unit()).collect()
    }

    /// Uniform on 0..n.
    fn below(&mut self, n: usize) -> usize {
        (((self.unit() + 1.0) / 2.0) * n as f64) as usize
    }

    /// A target as the loss reads it.
    fn target(&mut self, loss: &AnyLoss, d: usize) -> Vec<f64> {
        match loss.reads() {
            Reads::Sign => vec![self.unit().signum()],
            Reads::Class => vec![self.below(d) as f64],
            Reads::Number | Reads::Vector => self.vector(d, 2.0),
            Reads::Nothing => vec![],
        }
    }

    /// Rows of an orthogonal matrix (Gram-Schmidt, twice).
    fn basis(&mut self, d: usize) -> Vec<f64> {
        let mut u = self.vector(d * d, 1.0);
        for _ in 0..2 {
            for i in 0..d {
                let (done, rest) = u.split_at_mut(i * d);
                let row = &mut rest[..d];
                for other in done.chunks(d) {
                    let along = dot(row, other);
                    row.iter_mut().zip(other).for_each(|(r, o)| *r -= along * o);
                }
                let size = dot(row, row).sqrt();
                row.iter_mut().for_each(|r| *r /= size);
            }
        }
        u
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// The largest difference; NaN if there is one.
fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, |most, off| if off <= most { most } else { off })
}

fn every_loss() -> Vec<AnyLoss> {
    use AnyLoss::*;
    vec![
        Hinge { margin: 1.0 },
        Hinge { margin: 0.3 },
        NuHinge { nu: 0.2 },
        Perceptron {},
        Logistic {},
        MaxMargin {},
        Softmax {},
        Novelty { margin: 0.7 },
        NuNovelty { nu: 0.05 },
        Squared {},
        Absolute {},
        Epsilon { epsilon: 0.4 },
        NuEpsilon { nu: 0.1 },
        Huber { sigma: 0.6 },
        NuHuber { nu: 0.3, sigma_rule: SigmaRule::Quantile },
        NuHuber { nu: 0.3, sigma_rule: SigmaRule::Concomitant },
        Quantile { q: 0.8 },
    ]
}

fn outputs(loss: &AnyLoss) -> &'static [usize] {
    match loss.reads() {
        Reads::Class => &[1, 2, 5],
        Reads::Vector => &[1, 2, 4],
        Reads::Sign | Reads::Number | Reads::Nothing => &[1],
    }
}

/// What loss, gradient and the rest are at one point.
fn eval(loss: &dyn Loss, z: &[f64], y: &[f64], theta: f64) -> (Eval, Vec<f64>) {
    let mut xi = vec![f64::NAN; z.len()];
    let e = loss.eval(z, y, theta, &mut xi);
    (e, xi)
}

/// How far the nearest kink of the loss or of its gradient is, in the quantity that decides.
fn kink(loss: &AnyLoss, z: &[f64], y: &[f64], theta: f64) -> f64 {
    use AnyLoss::*;
    let size = || norm(&z.iter().zip(y).map(|(z, y)| y - z).collect::<Vec<_>>());
    match *loss {
        Hinge { margin } => (margin - y[0] * z[0]).abs(),
        NuHinge { .. } => (theta - y[0] * z[0]).abs(),
        Perceptron {} => z[0].abs(),
        Novelty { margin } => (margin - z[0]).abs(),
        NuNovelty { .. } => (theta - z[0]).abs(),
        Logistic {} | Softmax {} | Squared {} => f64::INFINITY,
        MaxMargin {} => {
            let mut others: Vec<f64> = (0..z.len()).filter(|&c| c != y[0] as usize).map(|c| z[c]).collect();
            others.sort_by(|a, b| b.total_cmp(a));
            // A class that is alone competes with one not yet seen, whose score is 0.
            let top = others.first().copied().unwrap_or(0.0);
            let tie = others.get(1).map_or(f64::INFINITY, |second| top - second);
            (1.0 + top - z[y[0] as usize]).abs().min(tie)
        }
        Absolute {} => size(),
        // Vector losses bend at r = 0 only through their threshold.
        Epsilon { epsilon } => (size() - epsilon).abs(),
        NuEpsilon { .. } => (size() - theta).abs(),
        Huber { sigma } => (size() - sigma).abs(),
        NuHuber { .. } => (size() - theta).abs(),
        Quantile { .. } => (y[0] - z[0]).abs(),
    }
}

/// Random points of every loss and every number of outputs: `f(loss, z, y, theta, random)`.
fn everywhere(seed: u64, points: usize, mut f: impl FnMut(&AnyLoss, &[f64], &[f64], f64, &mut Random)) {
    let mut random = Random(seed);
    for loss in every_loss() {
        for &d in outputs(&loss) {
            for _ in 0..points {
                let z = random.vector(d, 2.0);
                let y = random.target(&loss, d);
                let theta = 0.7 + 0.6 * random.unit();
                f(&loss, &z, &y, theta, &mut random);
            }
        }
    }
}

#[test]
fn gradients_curvature_and_dtheta_are_the_finite_differences() {
    const H: f64 = 1e-5;
    let mut checked = 0;
    everywhere(1, 200, |loss, z, y, theta, random| {
        if kink(loss, z, y, theta) < 100.0 * H {
            return;
        }
        let (e, xi) = eval(loss, z, y, theta);
        let u = random.vector(z.len(), 1.0);
        let along = |h: f64| z.iter().zip(&u).map(|(z, u)| z + h * u).collect::<Vec<_>>();
        let (plus, minus) = (eval(loss, &along(H), y, theta), eval(loss, &along(-H), y, theta));

        let slope = (plus.0.loss - minus.0.loss) / (2.0 * H);
        assert!((slope - dot(&xi, &u)).abs() < 2e-6, "{loss:?} z {z:?} y {y:?}: {slope} but xi {xi:?}, u {u:?}");

        let mut hu = vec![f64::NAN; z.len()];
        loss.curvature(z, y, theta, &u, &mut hu);
        for i in 0..z.len() {
            let bend = (plus.1[i] - minus.1[i]) / (2.0 * H);
            assert!((bend - hu[i]).abs() < 2e-5, "{loss:?} z {z:?} y {y:?}: {bend} but h u = {hu:?}");
        }

        // N(21) follows a quantile and is not the gradient of its loss (E7); everything else is.
        if !matches!(loss, AnyLoss::NuHuber { sigma_rule: SigmaRule::Quantile, .. }) {
            let value = |theta| eval(loss, z, y, theta).0.loss;
            let slope = (value(theta + H) - value(theta - H)) / (2.0 * H);
            assert!((slope - e.dtheta).abs() < 2e-6, "{loss:?} z {z:?} y {y:?}: {slope} but dtheta {}", e.dtheta);
        }
        checked += 1;
    });
    assert!(checked > 4000, "{checked}");
}

#[test]
fn gradients_are_subgradients_and_bounded_also_at_kinks() {
    everywhere(2, 200, |loss, z, y, theta, random| {
        assert!(loss.convex());
        // Rounded to quarters, points, targets and thresholds meet exactly.
        let coarse = |v: &[f64]| v.iter().map(|v| (v * 4.0).round() / 4.0).collect::<Vec<_>>();
        let (z, y, theta) = (coarse(z), coarse(y), (theta * 4.0).round() / 4.0);
        let (e, xi) = eval(loss, &z, &y, theta);
        for _ in 0..20 {
            let other = coarse(&random.vector(z.len(), 3.0));
            let step: Vec<f64> = other.iter().zip(&z).map(|(o, z)| o - z).collect();
            let there = eval(loss, &other, &y, theta).0.loss;
            assert!(there >= e.loss + dot(&xi, &step) - 1e-12, "{loss:?} z {z:?} y {y:?} theta {theta}: {xi:?}");
        }
        let bound = loss.lipschitz().unwrap_or(f64::INFINITY);
        assert!(norm(&xi) <= bound * (1.0 + 1e-15), "{loss:?}: {xi:?} exceeds {bound}");
    });
    assert_eq!(AnyLoss::Squared {}.lipschitz(), None);
    // The bounds are attained.
    for (loss, y, bound) in [
        (AnyLoss::MaxMargin {}, 0.0, 2f64.sqrt()),
        (AnyLoss::Huber { sigma: 1.0 }, 9.0, 1.0),
        (AnyLoss::Quantile { q: 0.8 }, 9.0, 0.8),
    ] {
        assert_eq!(loss.lipschitz(), Some(bound));
        let z = vec![0.0; outputs(&loss)[0].max(usize::from(loss.reads() == Reads::Class) * 2)];
        assert_eq!(norm(&eval(&loss, &z, &[y], 1.0).1), bound);
    }
}

#[test]
fn the_conventions_hold_at_the_kinks() {
    use AnyLoss::*;
    let below = 1.0 - f64::EPSILON / 2.0;
    let above = 1.0 + f64::EPSILON;
    let one = |loss: AnyLoss, z: f64, y: f64, theta: f64| {
        let (e, xi) = eval(&loss, &[z], &[y], theta);
        (xi[0], e.outside, e.dtheta)
    };
    // Strict: at the margin there is no update and no margin error.
    assert_eq!(one(Hinge { margin: 1.0 }, 1.0, 1.0, 0.0), (0.0, false, 0.0));
    assert_eq!(one(Hinge { margin: 1.0 }, below, 1.0, 0.0), (-1.0, true, 0.0));
    assert_eq!(one(Hinge { margin: 1.0 }, -1.0, -1.0, 0.0), (0.0, false, 0.0));
    assert_eq!(one(NuHinge { nu: 0.25 }, 1.0, 1.0, 1.0), (0.0, false, -0.25));
    assert_eq!(one(NuHinge { nu: 0.25 }, -below, -1.0, 1.0), (1.0, true, 0.75));
    assert_eq!(one(Novelty { margin: 1.0 }, 1.0, 0.0, 0.0), (0.0, false, 0.0));
    assert_eq!(one(NuNovelty { nu: 0.25 }, 1.0, 0.0, 1.0), (0.0, false, -0.25));
    assert_eq!(one(NuNovelty { nu: 0.25 }, below, 0.0, 1.0), (-1.0, true, 0.75));
    // Weak: the perceptron errs at 0 (E4), for both signs of zero.
    assert_eq!(one(Perceptron {}, 0.0, 1.0, 0.0), (-1.0, true, 0.0));
    assert_eq!(one(Perceptron {}, -0.0, 1.0, 0.0), (-1.0, true, 0.0));
    assert_eq!(one(Perceptron {}, f64::MIN_POSITIVE, 1.0, 0.0), (0.0, false, 0.0));
    // Tube and scale: the edge is inside.
    assert_eq!(one(Epsilon { epsilon: 1.0 }, 0.0, 1.0, 0.0), (0.0, false, 0.0));
    assert_eq!(one(Epsilon { epsilon: 1.0 }, 0.0, above, 0.0), (-1.0, true, 0.0));
    assert_eq!(one(NuEpsilon { nu: 0.25 }, 0.0, -1.0, 1.0), (0.0, false, 0.25));
    assert_eq!(one(NuEpsilon { nu: 0.25 }, 0.0, -above, 1.0), (1.0, true, -0.75));
    assert_eq!(one(Huber { sigma: 1.0 }, 0.0, 1.0, 0.0), (-1.0, false, 0.0));
    let quantile = NuHuber { nu: 0.25, sigma_rule: SigmaRule::Quantile };
    assert_eq!(one(quantile.clone(), 0.0, 1.0, 1.0), (-1.0, false, 0.25));
    assert_eq!(one(quantile, 0.0, above, 1.0), (-1.0, true, -0.75));
    assert_eq!(one(Absolute {}, 1.0, 1.0, 0.0), (0.0, false, 0.0));
    assert_eq!(one(Quantile { q: 0.75 }, 1.0, 1.0, 0.0), (0.0, false, 0.0));
    // Classes: strict, ties to the earlier, an unknown class does nothing.
    assert_eq!(eval(&MaxMargin {}, &[1.0, 0.0], &[0.0], 0.0).1, [0.0, 0.0]);
    assert_eq!(eval(&MaxMargin {}, &[0.0, 0.5, 0.5], &[0.0], 0.0).1, [-1.0, 1.0, 0.0]);
    assert_eq!(eval(&MaxMargin {}, &[0.5, 0.5, 0.0], &[2.0], 0.0).1, [1.0, 0.0, -1.0]);
    for loss in [MaxMargin {}, Softmax {}] {
        assert_eq!(eval(&loss, &[1.0, 2.0], &[2.0], 0.0), (Eval::default(), vec![0.0, 0.0]));
        // A class that is alone is learned as if beside a second class with score 0.
        for z in [-3.0, 0.0, 0.5, 1.0, 4.0] {
            let (alone, beside) = (eval(&loss, &[z], &[0.0], 0.0), eval(&loss, &[z, 0.0], &[0.0], 0.0));
            assert!((alone.0.loss - beside.0.loss).abs() < 1e-15 && (alone.1[0] - beside.1[0]).abs() < 1e-15, "{loss:?} at {z}");
            assert_eq!(alone.0.outside, beside.0.outside);
        }
    }
}

#[test]
fn curvature_of_one_output_is_exactly_zero_outside() {
    for loss in [AnyLoss::Huber { sigma: 0.1 }, AnyLoss::Epsilon { epsilon: 0.1 }, AnyLoss::Absolute {}] {
        let mut hu = [f64::NAN];
        loss.curvature(&[0.3], &[0.123_456_789], 0.0, &[0.777], &mut hu);
        assert_eq!(hu[0], 0.0, "{loss:?}");
        // and the gradient a sign, whatever the magnitude of the residual
        for r in [1e-300, 0.7, 1e300] {
            let xi = eval(&loss, &[0.0], &[r], 0.0).1[0];
            assert!(xi == -1.0 || r < 0.1 && !matches!(loss, AnyLoss::Absolute {}), "{loss:?} {r}: {xi}");
        }
    }
}

#[test]
fn every_loss_starts_from_zero() {
    for loss in every_loss() {
        let d = *outputs(&loss).last().unwrap();
        let y = match loss.reads() {
            Reads::Class | Reads::Sign => vec![1.0],
            _ => vec![0.5; d],
        };
        let mut theta = loss.theta().map_or(0.0, |t| t.start);
        // Two steps: the nu-losses first move theta off 0 (E3), then update f.
        let mut moved = false;
        let mut learned = false;
        for _ in 0..2 {
            let (e, xi) = eval(&loss, &vec![0.0; d], &y, theta);
            let next = loss.theta().map_or(theta, |t| (theta - 0.1 * e.dtheta).max(t.least));
            moved |= next != theta;
            learned |= xi.iter().any(|&x| x != 0.0);
            theta = next;
        }
        assert!(learned, "{loss:?} never leaves f = 0");
        assert_eq!(moved, loss.theta().is_some(), "{loss:?}");
    }
}

#[test]
fn theta_settles_where_nu_of_the_examples_are_outside() {
    for loss in every_loss() {
        let Some(nu) = loss.nu() else { continue };
        let (mut random, mut theta, mut outside) = (Random(3), loss.theta().unwrap().start, 0.0);
        let (steps, eta) = (20_000, 0.01);
        for _ in 0..steps {
            let score = [if loss.reads() == Reads::Vector { 0.0 } else { 1.0 + random.unit() }];
            let target = [if loss.reads() == Reads::Vector { random.unit() } else { 1.0 }];
            let e = eval(&loss, &score, &target, theta).0;
            outside += f64::from(u8::from(e.outside));
            theta = (theta - eta * e.dtheta).max(loss.theta().unwrap().least);
        }
        // Section 3.5: |rate - nu| <= (range + eta)/(eta steps), range 2.
        let rate = outside / f64::from(steps);
        assert!((rate - nu).abs() < 2.01 / (eta * f64::from(steps)), "{loss:?}: rate {rate}");
    }
    assert_eq!(AnyLoss::NuHuber { nu: 0.3, sigma_rule: SigmaRule::Concomitant }.nu(), None);
}

/// `z0 - C xi`.
fn after(z0: &[f64], metric: &Metric<'_>, xi: &[f64]) -> Vec<f64> {
    let d = z0.len();
    let Some(u) = metric.basis else {
        return (0..d).map(|i| z0[i] - metric.c[i] * xi[i]).collect();
    };
    let column = |j: usize| (0..d).map(|i| u[i * d + j]).collect::<Vec<_>>();
    let mut z = z0.to_vec();
    for j in 0..d {
        let along = metric.c[j] * dot(&column(j), xi);
        z.iter_mut().zip(column(j)).for_each(|(z, u)| *z -= along * u);
    }
    z
}

/// `½ (z - z0)ᵀ C⁻¹ (z - z0) + loss(z)`.
fn objective(loss: &AnyLoss, z: &[f64], z0: &[f64], y: &[f64], theta: f64, metric: &Metric<'_>) -> f64 {
    let d = z.len();
    let step: Vec<f64> = z.iter().zip(z0).map(|(z, z0)| z - z0).collect();
    let inside = |j: usize| metric.basis.map_or(step[j], |u| (0..d).map(|i| u[i * d + j] * step[i]).sum());
    let quadratic: f64 = (0..d).map(|j| inside(j) * inside(j) / metric.c[j]).sum();
    0.5 * quadratic + eval(loss, z, y, theta).0.loss
}

/// A random metric as the loss can take it: any eigenvalues and basis, or a multiple of the identity.
fn random_metric(random: &mut Random, loss: &AnyLoss, d: usize) -> (Vec<f64>, Option<Vec<f64>>) {
    let mut size = || 10f64.powf(1.5 * random.unit());
    if loss.can_prox(d, false) {
        let c = (0..d).map(|_| size()).collect();
        (c, (random.unit() > 0.0).then(|| random.basis(d)))
    } else {
        (vec![size(); d], None)
    }
}

#[test]
fn prox_is_the_gradient_after_its_own_step() {
    let (mut smooth, mut kinked) = (0, 0);
    everywhere(4, 300, |loss, z0, y, theta, random| {
        let (c, basis) = random_metric(random, loss, z0.len());
        let metric = Metric { c: &c, basis: basis.as_deref() };
        let mut xi = vec![f64::NAN; z0.len()];
        if !loss.prox(z0, y, theta, &metric, &mut xi) {
            return;
        }
        let z = after(z0, &metric, &xi);
        let (e, gradient) = eval(loss, &z, y, theta);
        let off = apart(&gradient, &xi);
        if kink(loss, &z, y, theta) > 1e-9 {
            assert!(off < 1e-11, "{loss:?} z0 {z0:?} y {y:?} c {c:?}: xi {xi:?} but the gradient is {gradient:?}");
            smooth += 1;
        } else {
            kinked += 1;
        }
        // Also at a kink: a subgradient there.
        for _ in 0..50 {
            let other = random.vector(z.len(), 3.0);
            let step: Vec<f64> = other.iter().zip(&z).map(|(o, z)| o - z).collect();
            let there = eval(loss, &other, y, theta).0.loss;
            assert!(there >= e.loss + dot(&xi, &step) - 1e-12, "{loss:?} z0 {z0:?} y {y:?} c {c:?}: {xi:?}");
        }
    });
    assert!(smooth > 3000 && kinked > 1000, "{smooth} {kinked}");
}

#[test]
fn prox_minimises_the_proximal_objective() {
    let mut checked = 0;
    everywhere(5, 8, |loss, z0, y, theta, random| {
        let (c, basis) = random_metric(random, loss, z0.len());
        let metric = Metric { c: &c, basis: basis.as_deref() };
        let mut xi = vec![f64::NAN; z0.len()];
        if !loss.prox(z0, y, theta, &metric, &mut xi) {
            return;
        }
        let z = after(z0, &metric, &xi);
        let least = objective(loss, &z, z0, y, theta, &metric);
        for i in 0..2000 {
            let scale = 10f64.powi(-(i % 6));
            let near: Vec<f64> = z.iter().map(|z| z + scale * random.unit()).collect();
            let value = objective(loss, &near, z0, y, theta, &metric);
            assert!(value >= least - 1e-13 * (1.0 + least.abs()), "{loss:?} z0 {z0:?} y {y:?} c {c:?}: {near:?} beats {z:?}");
        }
        checked += 1;
    });
    assert!(checked > 150, "{checked}");
}

/// Section 3.3's closed forms for one output.
fn closed_form(loss: &AnyLoss, z0: f64, y: f64, theta: f64, c: f64) -> Option<f64> {
    use AnyLoss::*;
    let r0 = y - z0;
    let tube = |epsilon: f64| -r0.signum() * ((r0.abs() - epsilon) / c).clamp(0.0, 1.0);
    let hinge = |y: f64, rho: f64| -y * ((rho - y * z0) / c).clamp(0.0, 1.0);
    Some(match *loss {
        Hinge { margin } => hinge(y, margin),
        NuHinge { .. } => hinge(y, theta),
        Novelty { margin } => hinge(1.0, margin),
        NuNovelty { .. } => hinge(1.0, theta),
        Squared {} => -r0 / (1.0 + c),
        Absolute {} => tube(0.0),
        Epsilon { epsilon } => tube(epsilon),
        NuEpsilon { .. } => tube(theta),
        Huber { sigma } => -(r0 / (sigma + c)).clamp(-1.0, 1.0),
        NuHuber { .. } => -(r0 / (theta + c)).clamp(-1.0, 1.0),
        Quantile { q } => -(r0 / c).clamp(q - 1.0, q),
        Perceptron {} | Logistic {} | MaxMargin {} | Softmax {} => return None,
    })
}

#[test]
fn prox_of_one_output_is_its_closed_form() {
    let mut checked = 0;
    everywhere(6, 300, |loss, z0, y, theta, random| {
        let c = 10f64.powf(3.0 * random.unit());
        let metric = Metric { c: &[c], basis: None };
        let expected = closed_form(loss, z0[0], y.first().copied().unwrap_or(1.0), theta, c);
        let Some(expected) = expected.filter(|_| z0.len() == 1) else { return };
        let mut xi = [f64::NAN];
        assert!(loss.prox(z0, y, theta, &metric, &mut xi));
        let close = (xi[0] - expected).abs() <= 4e-16 * (1.0 + z0[0].abs() / c);
        assert!(close, "{loss:?} z0 {z0:?} y {y:?} theta {theta} c {c}: {} not {expected}", xi[0]);
        assert_eq!(xi[0].abs() == 1.0, expected.abs() == 1.0, "{loss:?}: a full step is exactly full");
        checked += 1;
    });
    assert!(checked > 3000, "{checked}");
}

#[test]
fn prox_with_a_vanishing_metric_is_the_explicit_gradient() {
    everywhere(7, 100, |loss, z0, y, theta, random| {
        if kink(loss, z0, y, theta) < 1e-6 || !loss.can_prox(z0.len(), true) {
            return;
        }
        let basis = random.basis(z0.len());
        let basis = loss.can_prox(z0.len(), false).then_some(&basis[..]);
        let explicit = eval(loss, z0, y, theta).1;
        for c in [0.0, 1e-12] {
            let mut xi = vec![f64::NAN; z0.len()];
            assert!(loss.prox(z0, y, theta, &Metric { c: &vec![c; z0.len()], basis }, &mut xi));
            let off = apart(&xi, &explicit);
            assert!(off < 1e-10, "{loss:?} z0 {z0:?} y {y:?} c {c}: {xi:?} not {explicit:?}");
        }
    });
}

#[test]
fn prox_of_a_direction_that_neither_errs_nor_moves_is_zero() {
    let mut xi = [f64::NAN; 2];
    assert!(AnyLoss::Absolute {}.prox(&[0.0, 3.0], &[1.0, 3.0], 0.0, &Metric { c: &[2.0, 0.0], basis: None }, &mut xi));
    assert_eq!(xi, [-0.5, 0.0]);
}

#[test]
fn prox_survives_extreme_metrics() {
    everywhere(8, 60, |loss, z0, y, theta, random| {
        let d = z0.len();
        let any = loss.can_prox(d, false);
        for exponent in [-200, -30, -9, 4, 9] {
            // Directions that do not move beside directions that move far.
            let c: Vec<f64> = (0..d).map(|j| if any && j % 2 == 1 { 0.0 } else { 10f64.powi(exponent) }).collect();
            let basis = any.then(|| random.basis(d));
            let metric = Metric { c: &c, basis: basis.as_deref() };
            let mut xi = vec![f64::NAN; d];
            if loss.prox(z0, y, theta, &metric, &mut xi) {
                let bound = loss.lipschitz().unwrap_or(2.0 * norm(&[z0, y].concat()));
                assert!(norm(&xi) <= bound * (1.0 + 1e-14), "{loss:?} z0 {z0:?} y {y:?} c {c:?}: {xi:?}");
                let z = after(z0, &metric, &xi);
                let slack = 1e-12 * (1.0 + c[0]);
                let (here, there) = (eval(loss, &z, y, theta).0.loss, eval(loss, z0, y, theta).0.loss);
                assert!(here <= there + slack, "{loss:?} z0 {z0:?} y {y:?} c {c:?}: loss {there} rises to {here}");
            }
        }
    });
}

#[test]
fn what_has_no_prox_says_so_and_touches_nothing() {
    let mut random = Random(9);
    let mut refused = 0;
    for loss in every_loss() {
        for &d in outputs(&loss) {
            for (c, basis) in [(vec![0.5; d], None), ((1..=d).map(|c| c as f64).collect(), Some(random.basis(d)))] {
                let metric = Metric { c: &c, basis: basis.as_deref() };
                let z0 = random.vector(d, 1.0);
                let y = random.target(&loss, d);
                let mut xi = vec![7.0; d];
                let took = loss.prox(&z0, &y, 1.0, &metric, &mut xi);
                assert_eq!(took, loss.can_prox(d, metric.multiple().is_some()), "{loss:?} with {d} outputs");
                assert!(took || xi.iter().all(|&x| x == 7.0), "{loss:?}");
                refused += usize::from(!took);
            }
        }
    }
    // The perceptron twice; max_margin and softmax with 2 and 5 classes under a coupling metric.
    assert_eq!(refused, 2 + 4);
    assert!(!AnyLoss::Perceptron {}.can_prox(1, true));
}

#[test]
fn nothing_overflows_at_large_scores() {
    let z = [1e4, -1e4, 0.0];
    for y in 0..3 {
        let (e, xi) = eval(&AnyLoss::Softmax {}, &z, &[f64::from(y)], 0.0);
        assert_eq!(e.loss, 1e4 - z[y as usize]);
        let expected: Vec<f64> = (0..3).map(|i| f64::from(u8::from(i == 0)) - f64::from(u8::from(i == y))).collect();
        assert_eq!(xi, expected);
        let mut hu = [f64::NAN; 3];
        AnyLoss::Softmax {}.curvature(&z, &[f64::from(y)], 0.0, &[1.0, 2.0, 3.0], &mut hu);
        assert_eq!(hu, [0.0; 3]);
        assert!(AnyLoss::Softmax {}.prox(&z, &[f64::from(y)], 0.0, &Metric { c: &[2.0; 3], basis: None }, &mut hu));
        assert!(apart(&hu, &expected) < 1e-12, "{hu:?} {expected:?}");
    }
    let logistic = |z: f64, y: f64| eval(&AnyLoss::Logistic {}, &[z], &[y], 0.0);
    assert_eq!(logistic(-1e4, 1.0), (Eval { loss: 1e4, dtheta: 0.0, outside: false }, vec![-1.0]));
    assert_eq!(logistic(1e4, 1.0), (Eval::default(), vec![-0.0]));
    assert!(logistic(40.0, 1.0).0.loss > 0.0, "small losses keep their digits");
    for c in [1e-3, 1.0, 1e6] {
        let mut xi = [f64::NAN];
        assert!(AnyLoss::Logistic {}.prox(&[-1e4], &[1.0], 0.0, &Metric { c: &[c], basis: None }, &mut xi));
        assert!(xi[0] < 0.0 && xi[0] >= -1.0, "{xi:?}");
    }
}

#[test]
fn configurations_read_back_by_name() {
    let names = [
        (r#"{"hinge":{"margin":1.0}}"#, r#"{"hinge":{}}"#),
        (r#"{"nu_hinge":{"nu":0.1}}"#, r#"{"nu_hinge":{}}"#),
        (r#"{"perceptron":{}}"#, r#"{"perceptron":{}}"#),
        (r#"{"logistic":{}}"#, r#"{"logistic":{}}"#),
        (r#"{"max_margin":{}}"#, r#"{"max_margin":{}}"#),
        (r#"{"softmax":{}}"#, r#"{"softmax":{}}"#),
        (r#"{"novelty":{"margin":1.0}}"#, r#"{"novelty":{}}"#),
        (r#"{"nu_novelty":{"nu":0.05}}"#, r#"{"nu_novelty":{}}"#),
        (r#"{"squared":{}}"#, r#"{"squared":{}}"#),
        (r#"{"absolute":{}}"#, r#"{"absolute":{}}"#),
        (r#"{"epsilon":{"epsilon":0.1}}"#, r#"{"epsilon":{}}"#),
        (r#"{"nu_epsilon":{"nu":0.1}}"#, r#"{"nu_epsilon":{}}"#),
        (r#"{"huber":{"sigma":1.0}}"#, r#"{"huber":{}}"#),
        (r#"{"nu_huber":{"nu":0.1,"sigma_rule":"quantile"}}"#, r#"{"nu_huber":{}}"#),
        (r#"{"nu_huber":{"nu":0.3,"sigma_rule":"concomitant"}}"#, r#"{"nu_huber":{"nu":0.3,"sigma_rule":"concomitant"}}"#),
        (r#"{"quantile":{"q":0.5}}"#, r#"{"quantile":{}}"#),
    ];
    for (full, short) in names {
        let loss: AnyLoss = serde_json::from_str(short).unwrap();
        assert_eq!(serde_json::to_string(&loss).unwrap(), full);
        assert_eq!(serde_json::from_str::<AnyLoss>(full).unwrap(), loss);
        assert_eq!(loss.check(), Ok(()));
    }
    for loss in every_loss() {
        let text = serde_json::to_string(&loss).unwrap();
        assert_eq!(serde_json::from_str::<AnyLoss>(&text).unwrap(), loss);
    }
    for bad in
        [r#"{"hinge":{"nu":0.1}}"#, r#"{"hing":{}}"#, r#"{"perceptron":{"margin":1}}"#, r#"{"nu_huber":{"sigma_rule":"mean"}}"#]
    {
        assert!(serde_json::from_str::<AnyLoss>(bad).is_err(), "{bad}");
    }
}

#[test]
fn bad_parameters_are_named() {
    use AnyLoss::*;
    let concomitant = |nu| NuHuber { nu, sigma_rule: SigmaRule::Concomitant };
    for (loss, name) in [
        (Hinge { margin: 0.0 }, "margin"),
        (Hinge { margin: f64::NAN }, "margin"),
        (Novelty { margin: f64::INFINITY }, "margin"),
        (NuHinge { nu: 0.0 }, "nu"),
        (NuHinge { nu: 1.0 }, "nu"),
        (NuNovelty { nu: -0.1 }, "nu"),
        (NuEpsilon { nu: f64::NAN }, "nu"),
        (NuHuber { nu: 1.5, sigma_rule: SigmaRule::Quantile }, "nu"),
        (concomitant(0.5), "nu"),
        (Epsilon { epsilon: -1.0 }, "epsilon"),
        (Huber { sigma: 0.0 }, "sigma"),
        (Quantile { q: 1.0 }, "q"),
    ] {
        let message = loss.check().unwrap_err();
        assert!(message.starts_with(&format!("{name} must ")), "{loss:?}: {message}");
    }
    assert_eq!(concomitant(0.49).check(), Ok(()));
    assert!(Hinge { margin: -2.5 }.check().unwrap_err().contains("-2.5"));
}

/// The classes as a structured output: one part per class, any two classes at distance 1.
struct Classes(usize);

impl Oracle for Classes {
    fn outputs(&self) -> usize {
        self.0
    }

    fn reads(&self) -> Reads {
        Reads::Class
    }

    fn argmax(&self, z: &[f64], y: &[f64], psi: &mut [f64]) -> f64 {
        let value = |c: usize| z[c] + f64::from(u8::from(c as f64 != y[0]));
        let others = (0..self.0).filter(|&c| c as f64 != y[0]);
        let best = others.reduce(|best, c| if value(c) > value(best) { c } else { best }).unwrap_or(y[0] as usize);
        psi.fill(0.0);
        psi[best] = 1.0;
        f64::from(u8::from(best as f64 != y[0]))
    }

    fn features(&self, y: &[f64], weight: f64, psi: &mut [f64]) {
        psi[y[0] as usize] += weight;
    }
}

#[test]
fn multiclass_margin_is_a_structured_margin() {
    let mut random = Random(10);
    for classes in [2, 3, 7] {
        let structured = Structured { oracle: Classes(classes) };
        assert_eq!((structured.outputs(), structured.reads()), (classes, Reads::Class));
        let mut seen = [0; 2];
        for _ in 0..1000 {
            let z = random.vector(classes, 1.5);
            let y = [random.below(classes) as f64];
            let (a, b) = (eval(&structured, &z, &y, 0.0), eval(&AnyLoss::MaxMargin {}, &z, &y, 0.0));
            assert_eq!(a, b, "z {z:?} y {y:?}");
            seen[usize::from(a.0.outside)] += 1;
        }
        assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
    }
}

#[test]
fn a_structured_margin_over_sequences_is_the_brute_force_one() {
    /// Three binary tags; parts: tag i is on (0..3), neighbours agree (3..5); delta: the number of wrong tags.
    struct Tags;
    fn parts(tags: usize) -> [f64; 5] {
        let on = |i: usize| (tags >> i & 1) as f64;
        let same = |i: usize| f64::from(u8::from(on(i) == on(i + 1)));
        [on(0), on(1), on(2), same(0), same(1)]
    }
    fn wrong(a: usize, b: usize) -> f64 {
        f64::from((a ^ b).count_ones())
    }
    impl Oracle for Tags {
        fn outputs(&self) -> usize {
            5
        }
        fn argmax(&self, z: &[f64], y: &[f64], psi: &mut [f64]) -> f64 {
            let y = y[0] as usize;
            let value = |t: usize| wrong(y, t) + dot(z, &parts(t));
            let best = (0..8).reduce(|best, t| if value(t) > value(best) { t } else { best }).unwrap_or(y);
            psi.copy_from_slice(&parts(best));
            wrong(y, best)
        }
        fn features(&self, y: &[f64], weight: f64, psi: &mut [f64]) {
            psi.iter_mut().zip(parts(y[0] as usize)).for_each(|(p, part)| *p += weight * part);
        }
    }
    let (mut random, loss) = (Random(11), Structured { oracle: Tags });
    let mut zero = 0;
    for _ in 0..1000 {
        let z = random.vector(5, 2.0);
        let y = random.below(8);
        let (e, xi) = eval(&loss, &z, &[y as f64], 0.0);
        let worst = (0..8).map(|t| wrong(y, t) + dot(&z, &parts(t)) - dot(&z, &parts(y))).fold(0.0, f64::max);
        assert!((e.loss - worst).abs() < 1e-14, "{} {worst}", e.loss);
        let other = random.vector(5, 2.0);
        let step: Vec<f64> = other.iter().zip(&z).map(|(o, z)| o - z).collect();
        assert!(eval(&loss, &other, &[y as f64], 0.0).0.loss >= e.loss + dot(&xi, &step) - 1e-14);
        assert_eq!(e.outside, xi.iter().any(|&x| x != 0.0) || e.loss > 0.0);
        zero += usize::from(!e.outside);
    }
    assert!(zero > 10 && zero < 990, "{zero}");
    assert!(!loss.can_prox(5, true));
}
