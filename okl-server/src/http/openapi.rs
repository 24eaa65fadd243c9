//! The OpenAPI document, made from the table of routes.

use serde_json::{Map, Value, json};

use super::route::{Action, Needs, Parameter, ROUTES, Route, parameters};

fn rows_body() -> Value {
    // Null: a missing value, for models that fill it.
    let number = json!({ "type": ["number", "null"] });
    let row = json!({ "oneOf": [
        { "type": "array", "items": number, "minItems": 1 },
        { "type": "object", "additionalProperties": number, "minProperties": 1 },
    ] });
    let target = json!({ "oneOf": [
        { "type": "number" }, { "type": "string", "maxLength": 256 }, { "type": "boolean" }, { "type": "null" },
        { "type": "array", "items": { "type": ["number", "null"] } },
    ] });
    json!({
        "type": "object", "required": ["rows"], "additionalProperties": false,
        "properties": {
            "rows": { "type": "array", "items": row, "minItems": 1 }, "targets": { "type": "array", "items": target },
            "weights": { "type": "array", "items": { "type": "number", "minimum": 0 } },
            "ids": { "type": "array", "items": { "type": "integer", "minimum": 0 } },
            "stream": { "type": "string", "minLength": 1, "maxLength": 256 }, "offset": { "type": "integer", "minimum": 0 },
            "key": { "type": "string", "minLength": 1, "maxLength": 256 },
        },
    })
}

fn request_body(action: Action) -> Option<Value> {
    let json_of = |schema: Value| json!({ "application/json": { "schema": schema } });
    let any = json!({ "schema": { "type": "string", "format": "binary" } });
    let content = match action {
        Action::Learn | Action::Predict | Action::Explain => {
            let mut content = json_of(rows_body());
            content["text/csv"] = any.clone();
            content["application/vnd.apache.arrow.stream"] = any.clone();
            content["application/x-ndjson"] = any;
            content
        }
        Action::Label => json_of(json!({
            "type": "object", "required": ["ids", "targets"], "additionalProperties": false,
            "properties": { "ids": { "type": "array", "items": { "type": "integer", "minimum": 0 } }, "targets": { "type": "array" }, "key": { "type": "string" } },
        })),
        Action::SetHook => json_of(json!({
            "type": "object", "required": ["url"], "additionalProperties": false,
            "properties": { "url": { "type": "string" }, "events": { "type": "array", "items": { "enum": ["alert", "drift"] } } },
        })),
        Action::Create => {
            let mut content = json_of(json!({
                "type": "object", "additionalProperties": false,
                "properties": { "config": { "type": "object" }, "task": { "enum": ["classes", "numbers", "novelty", null] }, "sparse": { "type": "boolean" } },
            }));
            content["application/octet-stream"] = any;
            content
        }
        _ => return None,
    };
    Some(json!({ "required": action != Action::Create, "content": content }))
}

fn query(action: Action) -> Vec<Value> {
    let parameter = |(name, text): &Parameter| {
        let required = action == Action::Freeze;
        json!({ "name": name, "in": "query", "required": required, "description": text, "schema": { "type": "string" } })
    };
    parameters(action).iter().map(parameter).collect()
}

/// What the answer has, where its figures could be mistaken for each other.
fn answer(action: Action) -> &'static str {
    match action {
        Action::Describe => {
            "rows: those sent to learn and label, each counted once, and the examples that its file had learned before it was uploaded; examples: those among \
             them with a target and a weight above 0. predicted: rows to which predict has given scores since the server started; remembered: rows that \
             predict has stored for their targets, of which waiting wait, labelled have their targets and expired have none. error, loss: means over the examples since \
             the model is on this server, each measured before its update; error of a number: |score - target|, with the loss quantile the pinball loss; error of a \
             detector: the share of alerts among the rows since it \
             has a threshold. alert_rate (detectors only): rate, the same share since the model was made, with every row counted by its \
             weight; requested, the share nu; bound, an upper bound on their distance. outside_rate (other losses with nu): the same for the \
             share of examples inside the margin (nu_hinge), of targets outside the tube (nu_epsilon) or of residuals beyond the scale (nu_huber). error_names: what recent_error and error are. truncation_error: an upper bound on how \
             far the function is, in norm, from that of the same updates with nothing dropped or merged since example certified_since; truncation: what \
             follows for scores, in words."
        }
        Action::Learn => {
            "scores: those of every row from before its update; null for a repeated row whose scores are no longer kept, and for a row \
             without a target that comes before the first target of a model whose type the first target decides."
        }
        Action::Predict => {
            "scores; labels: the predicted classes, each in the type in which it was first sent; positive: the class of positive scores, where \
             two classes share one score; threshold and alerts of a detector; ids of rows that are remembered."
        }
        Action::Inspect => {
            "Settings, figures, certificates in words; rows: as in the figures of the model; on_this_server: rows and examples since the model is on \
             this server; health: what was found about rows and targets, and what to do."
        }
        _ => "Done",
    }
}

fn operation(route: &Route) -> Value {
    let mut parameters = query(route.action);
    if route.path.contains("{name}") {
        let schema = json!({ "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$" });
        parameters.push(json!({ "name": "name", "in": "path", "required": true, "schema": schema }));
    }
    let error = json!({ "description": "Refused: nothing has changed. The body has error.code and error.message." });
    let mut operation = json!({
        "summary": route.summary, "operationId": format!("{:?}", route.action).to_lowercase(), "parameters": parameters,
        "responses": { "2XX": { "description": answer(route.action) }, "4XX": error, "5XX": error },
    });
    if let Some(body) = request_body(route.action) {
        operation["requestBody"] = body;
    }
    match route.needs {
        Needs::Nothing => operation["security"] = json!([]),
        Needs::Token => {}
        Needs::Right(right) => operation["description"] = json!(format!("Needs the right '{}'.", right.word())),
    }
    operation
}

/// The document.
pub fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.to_lowercase()] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "okl", "version": env!("CARGO_PKG_VERSION"), "description": "Models that learn and predict over HTTP." },
        "paths": paths, "security": [{ "token": [] }],
        "components": { "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } } },
    })
}
