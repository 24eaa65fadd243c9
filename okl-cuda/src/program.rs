//! Kernels as programs for the stack machine of `kernels/arithmetic.h`.

use std::f64::consts::LOG2_E;

use okl::kernel::{AnyKernel, DotKernel};

/// The most values that a program keeps at a time; `OKL_DEPTH` in arithmetic.h.
pub const DEPTH: usize = 16;

/// What a step does; the numbers are those of arithmetic.h.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(i32)]
enum Code {
    Linear,
    Polynomial,
    Gaussian,
    Exponential,
    Matern32,
    Matern52,
    RationalQuadratic,
    Times,
    Start,
    Add,
    Multiply,
}

/// One step of a program; `okl_step` in arithmetic.h.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Step {
    code: Code,
    a: f32,
    b: f32,
    degree: u32,
}

impl Step {
    fn new(code: Code, a: f32, b: f32) -> Self {
        Step { code, a, b, degree: 0 }
    }

    /// The constants of a Gaussian kernel, if the step is one.
    pub fn gaussian(&self) -> Option<[f32; 2]> {
        (self.code == Code::Gaussian).then_some([self.a, self.b])
    }
}

/// The program of a kernel. The constants are those of `AnyKernel::map`.
///
/// # Errors
/// If the kernel is nested too deeply, or reads something else than inner products.
pub fn program(kernel: &AnyKernel) -> Result<Vec<Step>, String> {
    if kernel.of_manhattan_distance() {
        return Err("the card computes inner products, and the kernel manhattan reads Manhattan distances".into());
    }
    let mut steps = Vec::new();
    if write(kernel, 1, &mut steps) > DEPTH {
        return Err(format!("sums and products of kernels are nested more than {DEPTH} deep"));
    }
    Ok(steps)
}

/// Appends the steps of a kernel, whose value is the `depth`th on the stack. Returns the largest number of values on the stack.
fn write(kernel: &AnyKernel, depth: usize, steps: &mut Vec<Step>) -> usize {
    let mut fold = |of: &[AnyKernel], start: f32, combine: Code| {
        steps.push(Step::new(Code::Start, start, 0.0));
        let one = |kernel: &AnyKernel| {
            let most = write(kernel, depth + 1, steps);
            steps.push(Step::new(combine, 0.0, 0.0));
            most
        };
        of.iter().map(one).max().unwrap_or(depth)
    };
    let step = match *kernel {
        AnyKernel::Linear => Step::new(Code::Linear, 0.0, 0.0),
        AnyKernel::Polynomial { degree, gamma, coef0 } => {
            Step { degree, ..Step::new(Code::Polynomial, gamma as f32, coef0 as f32) }
        }
        AnyKernel::Gaussian { gamma } => {
            let c = (-gamma * LOG2_E) as f32;
            Step::new(Code::Gaussian, c, -126.0 / c)
        }
        AnyKernel::Exponential { gamma } => Step::new(Code::Exponential, (-gamma * LOG2_E) as f32, 0.0),
        // Refused above.
        AnyKernel::Manhattan { .. } => Step::new(Code::Linear, 0.0, 0.0),
        AnyKernel::Matern32 { gamma } => Step::new(Code::Matern32, (gamma * 3f64.sqrt()) as f32, 0.0),
        AnyKernel::Matern52 { gamma } => Step::new(Code::Matern52, (gamma * 5f64.sqrt()) as f32, 0.0),
        AnyKernel::RationalQuadratic { gamma, alpha } => {
            Step::new(Code::RationalQuadratic, (gamma / alpha) as f32, -alpha as f32)
        }
        AnyKernel::Scaled { weight, ref of } => {
            let most = write(of, depth, steps);
            steps.push(Step::new(Code::Times, weight as f32, 0.0));
            return most;
        }
        AnyKernel::Sum(ref of) => return fold(of, 0.0, Code::Add),
        AnyKernel::Product(ref of) => return fold(of, 1.0, Code::Multiply),
    };
    steps.push(step);
    depth
}
