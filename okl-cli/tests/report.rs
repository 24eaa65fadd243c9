//! What is left of a run: figures, their course, the report.

#[path = "report/course.rs"]
mod course;
#[path = "report/document.rs"]
mod document;
#[path = "report/figures.rs"]
mod figures;
#[path = "report/learned.rs"]
mod learned;
#[path = "report/past_rows.rs"]
mod past_rows;
#[path = "report/random.rs"]
mod random;
#[path = "report/support.rs"]
mod support;
