//! Two moons that rotate slowly and jump half-way, learned one example at a time: SVMD against a fixed schedule.
//!
//! `cargo run --release --example drift`

use okl::{Batch, Config, Learner};

const EXAMPLES: usize = 20_000;

/// Uniform numbers in [0, 1).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Example t: a point on one of two half circles, turned by an angle that grows, and by half a turn more after the jump.
fn moon(t: usize, random: &mut Random) -> ([f32; 2], f64) {
    let upper = random.next() < 0.5;
    let angle = std::f64::consts::PI * random.next();
    let (mut x, mut y) = if upper { (angle.cos(), angle.sin()) } else { (1.0 - angle.cos(), 0.5 - angle.sin()) };
    x += 0.4 * (random.next() - 0.5) - 0.5;
    y += 0.4 * (random.next() - 0.5) - 0.25;
    let jump = if t >= EXAMPLES / 2 { std::f64::consts::PI } else { 0.0 };
    let (sin, cos) = (jump + 2.0 * t as f64 / EXAMPLES as f64).sin_cos();
    ([(cos * x - sin * y) as f32, (sin * x + cos * y) as f32], if upper { 1.0 } else { -1.0 })
}

fn learn(name: &str, step: &str, x: &[f32], y: &[f64]) -> okl::Result<f64> {
    let config =
        format!("loss = 'hinge'\nkernel = 'gaussian:4'\nstep = '{step}'\nlambda = 1e-4\nbudget = 'merge:100'\noffset = true");
    let mut learner = Learner::new(Config::from_toml(&config)?)?;
    println!("\n{name}: {step}");
    println!("{:>10} {:>10} {:>10} {:>8} {:>10}", "average", "since last", "examples", "terms", "step size");
    let (mut mistakes, mut since, mut last) = (0, 0, 0);
    for (x, y) in x.chunks(2 * 16).zip(y.chunks(16)) {
        let before = learner.examples();
        learner.learn_with(&Batch::new(x, 2).numbers(y), |i, step| {
            let wrong = usize::from(step.scores[0] * y[i] <= 0.0);
            (mistakes, since) = (mistakes + wrong, since + wrong);
        })?;
        let now = learner.examples();
        if now.ilog2() > before.max(1).ilog2() && now >= 256 || now as usize == EXAMPLES {
            let rate = |count: usize, of: u64| 100.0 * count as f64 / of as f64;
            println!(
                "{:>9.2}% {:>9.2}% {now:>10} {:>8} {:>10.4}",
                rate(mistakes, now),
                rate(since, now - last),
                learner.terms(),
                learner.eta()
            );
            (since, last) = (0, now);
        }
    }
    println!(
        "  |f| <= {:.2}; everything merged away so far is worth at most {:.2} in norm.",
        learner.norm2().sqrt(),
        learner.truncation_error()
    );
    Ok(100.0 * mistakes as f64 / EXAMPLES as f64)
}

fn main() -> okl::Result<()> {
    let mut random = Random(20_050_601);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for t in 0..EXAMPLES {
        let (point, label) = moon(t, &mut random);
        x.extend(point);
        y.push(label);
    }
    println!("Two moons that turn slowly and jump at example {}; every example is predicted before it is learned.", EXAMPLES / 2);
    let scheduled = learn("A schedule", "decay:eta=1,tau=100", &x, &y)?;
    let adapted = learn("SVMD", "smd:eta=0.5", &x, &y)?;
    println!("\nMistakes over the whole stream: {scheduled:.2} % with the schedule, {adapted:.2} % with SVMD, in 100 terms.");
    Ok(())
}
