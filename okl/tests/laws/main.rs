//! Law 1: what a stream leaves behind does not depend on how it was cut, stored or shared among threads; and what classes, rows and targets mean.

mod blocks;
mod class_weight;
mod classes;
mod elsewhere;
mod exactness;
mod growth;
mod heads;
mod linear;
mod many_terms;
mod relevance;
mod retire;
mod rows;
mod serving;
mod sharded;
#[path = "../support/mod.rs"]
mod support;
mod target_scale;
mod units;
mod widths;
