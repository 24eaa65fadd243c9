//! Why a request is refused: an HTTP status, a word for programs and a sentence for people.

use std::fmt::{self, Display, Formatter};

use serde_json::{Value, json};

use crate::rows::shortened;

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

    /// Names the column of a wrong target, where the targets of a table have names.
    pub fn with_column_of_target(mut self, names: &[&str]) -> Self {
        let Some(Value::Object(detail)) = &mut self.detail else { return self };
        let column = detail.remove("target").and_then(|at| names.get(usize::try_from(at.as_u64()?).ok()?).copied());
        if let Some(name) = column {
            self.text = self.text.replacen(": target", &format!(", column '{name}': target"), 1);
            detail.insert("column".into(), name.into());
        }
        self
    }

    /// Names the column of a wrong number, where the columns have names.
    pub fn with_name_of_column(mut self, names: &[String]) -> Self {
        let Some(Value::Object(detail)) = &mut self.detail else { return self };
        let number = detail.get("column").and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
        if let Some((at, name)) = number.and_then(|at| Some((at, names.get(at)?))) {
            self.text = self.text.replacen(&format!("column {at}:"), &format!("column '{}':", shortened(name)), 1);
            detail.insert("column".into(), name.as_str().into());
        }
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
        let detail = match error.kind() {
            // A column without a name is a number, from 0.
            NotFinite { row, column, .. } => {
                let number = column.parse::<usize>().map(Value::from);
                json!({ "row": row, "column": number.unwrap_or_else(|_| column.as_str().into()) })
            }
            Target { row, .. } | Weight { row, .. } | Id { row, .. } => json!({ "row": row }),
            _ => return Refusal::body(error.to_string()),
        };
        Refusal::body(error.to_string()).with(detail)
    }
}

/// The result of a request.
pub type Answered<T> = Result<T, Refusal>;
