//! The words of this crate, each with one meaning.
//!
//! | word | meaning |
//! |---|---|
//! | row | the features of one observation |
//! | example | a row with a target, or any row under a novelty loss: the rows that are learned |
//! | target | the value to predict: a number, several numbers, or the name of a class ([`Targets`](crate::Targets)) |
//! | batch | the rows of one call, with targets, weights and ids ([`Batch`](crate::Batch)) |
//! | block | up to 32 rows whose kernel values come from one matrix product |
//! | score | f(x) + b, before the target is used |
//! | outcome | the result of learning one row: its scores, its loss, the slot written ([`Outcome`](crate::Outcome)) |
//! | term | a stored centre x_i with its coefficients alpha_i: f(x) = sum_i k(x, x_i) alpha_i |
//! | slot | the numbered place of a term; an empty slot is a hole |
//! | chunk | 1,024 slots with one partial sum; a chunk is settled while none of its coefficients changes |
//! | panel | 32 centres in the memory layout of the matrix product |
//! | head | one learner over the shared terms: step size, lambda, offset, coefficients |
//! | bank | several heads whose scores are combined with weights that follow their losses |
//! | voice | one score of a head: of its last function or of its average |
//! | member | the settings of one voice of a bank: step size, lambda, width, average ([`Member`](crate::config::Member)) |
//! | leader | the head with the largest weight; budgets use its coefficients |
//! | rider | a second function over the same terms: SVMD's trace, or the average |
//! | frame | the map from raw columns to the input of the kernel: (x - shift) * factor, clipped at a limit |
//! | anchor | the shift of the frame if columns are not standardised: the first example |
//! | warm-up | the first examples, from which widths and units are found; they are learned again whenever these change |
//! | budget | the rule that bounds the number of terms ([`budget`](crate::budget)) |
//! | offset | the intercept b |
//! | theta | the margin, tube or scale that a nu-loss adapts |
//! | outside | an example beyond its margin, tube, scale or novelty threshold; under a novelty loss an alert |
//! | truncation error | a bound on the norm of the difference between f and the function after the same updates with nothing dropped or merged |
//! | certificate | a bound on truncation, regret or alert rate that holds for the run so far ([`certificate`](crate::certificate)) |
//! | position | bytes that the caller stores in the model file, for example the position in the stream |
//! | cut | the division of a stream into calls; no result depends on it |
