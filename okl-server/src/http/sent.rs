//! What a client has sent: the query and the body, and the rows in it.

use bytes::Bytes;
use serde_json::json;

use super::body::{self, Parsed};
use crate::arrow;
use crate::model::Model;
use crate::model::columns::listed;
use crate::refusal::{Answered, Refusal};
use crate::registry::Registry;
use crate::rows::{Rows, shortened};
use crate::surface::{TableColumns, TableFormat};

/// The query and the body of a request.
pub(super) struct Sent {
    pub query: Vec<(String, String)>,
    /// The type of the body, without parameters.
    pub kind: String,
    /// The header Idempotency-Key.
    pub key: Option<String>,
    pub body: Bytes,
}

impl Sent {
    /// A value of the query.
    pub fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A truth value of the query; false if it is absent.
    pub fn flag(&self, name: &str) -> Answered<bool> {
        match self.query(name) {
            Some("true") => Ok(true),
            None | Some("false") => Ok(false),
            Some(other) => {
                let text = format!("{name}: expected true or false, found '{}'", shortened(other));
                Err(Refusal::new(400, "bad_parameter", text))
            }
        }
    }

    /// Reads the rows of a body in any of its formats.
    pub fn rows(&self, registry: &Registry, model: &Model) -> Answered<Parsed> {
        let mut parsed = match self.kind.as_str() {
            "application/json" | "" => body::rows(&self.body, &registry.options)?,
            "text/csv" => self.table(registry, model, Some(TableFormat::Csv))?,
            "application/x-ndjson" | "application/jsonl" => self.table(registry, model, Some(TableFormat::Ndjson))?,
            "application/vnd.apache.arrow.stream" => self.table(registry, model, None)?,
            _ => {
                return Err(unknown_kind(
                    "application/json, application/x-ndjson, text/csv or application/vnd.apache.arrow.stream",
                ));
            }
        };
        if let Some((row, column)) = parsed.null.take().filter(|_| model.settings.sparse) {
            let place = column.as_str().map_or_else(|| column.to_string(), |name| format!("'{}'", shortened(name)));
            let text = format!("row {row}, column {place}: no value (null); leave the name out where the number is 0");
            return Err(Refusal::body(text).with(json!({ "row": row, "column": column })));
        }
        if parsed.key.is_none() {
            parsed.key = self.key.clone().filter(|key| !key.is_empty() && key.len() <= 256);
        }
        Ok(parsed)
    }

    /// Reads a table; without a format, an Arrow stream.
    fn table(&self, registry: &Registry, model: &Model, format: Option<TableFormat>) -> Answered<Parsed> {
        let list = |name: &str| self.query(name).map(|text| text.split(',').map(str::to_owned).collect()).unwrap_or_default();
        let now = model.published();
        let features = now.columns();
        let columns = TableColumns {
            targets: list("target"),
            weight: self.query("weight").map(str::to_owned),
            id: self.query("id").map(str::to_owned),
            ignore: list("ignore"),
            sparse: model.settings.sparse,
            fills: now.gaps.is_some(),
            learned: now.names.to_vec(),
            features,
        };
        let most = registry.options.most_cells;
        let mut rows = match format {
            None => arrow::rows(&self.body, &columns, &registry.options)?,
            Some(format) => registry.surface.table(self.body.to_vec(), format, &columns, most)?,
        };
        if rows.features > registry.options.most_features {
            return Err(Refusal::new(
                413,
                "too_many_features",
                format!("{} columns, at most {} are allowed", rows.features, registry.options.most_features),
            ));
        }
        if now.names.is_empty() && features > 0 && format != Some(TableFormat::Ndjson) {
            in_their_order(&mut rows, features)?;
        }
        let offset =
            self.query("offset").map(|text| text.parse().map_err(|_| Refusal::body("offset: expected a number"))).transpose()?;
        let stream = match (self.query("stream"), offset) {
            (Some(name), Some(offset)) => Some((name.to_owned(), offset)),
            (None, None) => None,
            _ => return Err(Refusal::body("stream and offset belong together: send both or none")),
        };
        Ok(Parsed { rows, stream, key: None, null: None })
    }
}

/// The columns of a table for a model whose columns have no names: the first one is column 0, and so on.
fn in_their_order(rows: &mut Rows, features: usize) -> Answered<()> {
    if rows.features == features {
        rows.names = None;
        return Ok(());
    }
    let names = rows.names.as_deref().unwrap_or_default();
    Err(Refusal::body(format!(
        "the table has {} columns of numbers ({}), and this model takes {features}, in their order, because its columns have no names; \
         columns that are no features are left out with ?ignore=NAME, and targets are named with ?target=NAME",
        rows.features,
        listed(names),
    )))
}

/// The refusal of a body of another type.
pub(super) fn unknown_kind(expected: &str) -> Refusal {
    Refusal::new(415, "unknown_type", format!("Content-Type: expected {expected}"))
}
