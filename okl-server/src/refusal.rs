//! Why a request is refused: an HTTP status, a word for programs and a sentence for people.

use std::fmt::{self, Display, Formatter};

use serde_json::{Value, json};

/// A refused request. It has changed nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// A word for programs; it does not change between versions.
    pub code: &'static str,
    /// A sentence for people: what was found, what was expected, what to do.
    pub text: String,
    /// More for programs, as the keys of an object.
    pub detail: Option<Value>,
}

impl Refusal {
    /// A refusal without details.
    pub fn new(status: u16, code: &'static str, text: impl Into<String>) -> Self {
        Refusal { status, code, text: text.into(), detail: None }
    }

    /// A body that cannot be read or learned.
    pub fn body(text: impl Into<String>) -> Self {
        Refusal::new(422, "bad_body", text)
    }

    /// Adds details for programs.
    pub fn with(mut self, detail: Value) -> Self {
        self.detail = Some(detail);
        self
    }

    /// The body of the answer.
    pub fn json(&self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.text });
        if let (Some(Value::Object(more)), Some(to)) = (&self.detail, error.as_object_mut()) {
            to.extend(more.clone());
        }
        json!({ "error": error })
    }
}

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// An error of the learner: the row or the setting is in its text.
impl From<okl::Error> for Refusal {
    fn from(error: okl::Error) -> Self {
        use okl::ErrorKind::{Id, NotFinite, Target, Weight};
        let row = match error.kind() {
            NotFinite { row, .. } | Target { row, .. } | Weight { row, .. } | Id { row, .. } => Some(*row),
            _ => None,
        };
        let refusal = Refusal::body(error.to_string());
        match row {
            Some(row) => refusal.with(json!({ "row": row })),
            None => refusal,
        }
    }
}

/// The result of a request.
pub type Answered<T> = Result<T, Refusal>;
