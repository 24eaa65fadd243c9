//! All routes in one table: method, path, the right that a token needs, and what the route does; and the query parameters of each.
//! The OpenAPI document and the tests of authorisation are made from it.

use hyper::Method;

use crate::refusal::{Answered, Refusal};
use crate::rows::shortened;

/// What a token allows. `Admin` includes all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Scores of rows.
    Predict,
    /// Rows and targets.
    Learn,
    /// Stored rows: snapshots, descriptions, explanations, events.
    Read,
    /// Creates and deletes models.
    Admin,
}

impl Right {
    /// All rights.
    pub const ALL: [Right; 4] = [Right::Predict, Right::Learn, Right::Read, Right::Admin];

    /// The word in a token file.
    pub fn word(self) -> &'static str {
        match self {
            Right::Predict => "predict",
            Right::Learn => "learn",
            Right::Read => "read",
            Right::Admin => "admin",
        }
    }

    /// The right of a word.
    pub fn of(word: &str) -> Option<Right> {
        Right::ALL.into_iter().find(|right| right.word() == word)
    }
}

/// What a route needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: the route shows nothing of the models.
    Nothing,
    /// Any valid token; the answer shows only what the token may see.
    Token,
    /// A right for the model in the path, or for some model where the path has none.
    Right(Right),
}

/// What a route does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Action {
    Page,
    Script,
    Style,
    SignIn,
    Health,
    Ready,
    Metrics,
    OpenApi,
    List,
    Create,
    Describe,
    Delete,
    Learn,
    Predict,
    Label,
    Events,
    Snapshot,
    Inspect,
    Freeze,
    Explain,
    SetHook,
    Hook,
    RemoveHook,
}

/// One route.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The method.
    pub method: &'static str,
    /// The path; `{name}` is the name of a model.
    pub path: &'static str,
    /// What it needs.
    pub needs: Needs,
    /// What it does.
    pub action: Action,
    /// What it does, in words.
    pub summary: &'static str,
}

const fn route(method: &'static str, path: &'static str, needs: Needs, action: Action, summary: &'static str) -> Route {
    Route { method, path, needs, action, summary }
}

const PREDICT: Needs = Needs::Right(Right::Predict);
const LEARN: Needs = Needs::Right(Right::Learn);
const READ: Needs = Needs::Right(Right::Read);
const ADMIN: Needs = Needs::Right(Right::Admin);

/// All routes.
pub const ROUTES: &[Route] = &[
    route("GET", "/", Needs::Nothing, Action::Page, "The live page"),
    route("GET", "/page.js", Needs::Nothing, Action::Script, "The script of the live page"),
    route("GET", "/page.css", Needs::Nothing, Action::Style, "The style of the live page"),
    route("POST", "/signin", Needs::Nothing, Action::SignIn, "Exchanges a token for a cookie"),
    route("GET", "/healthz", Needs::Nothing, Action::Health, "Whether the process runs"),
    route("GET", "/readyz", Needs::Nothing, Action::Ready, "Whether all models run"),
    route("GET", "/v1/openapi.json", Needs::Nothing, Action::OpenApi, "This document"),
    route("GET", "/metrics", READ, Action::Metrics, "Metrics in the text format of Prometheus"),
    route("GET", "/v1/models", Needs::Token, Action::List, "The models that the token may see"),
    route("PUT", "/v1/models/{name}", ADMIN, Action::Create, "Creates a model from a configuration or a model file"),
    route("GET", "/v1/models/{name}", PREDICT, Action::Describe, "The figures of a model"),
    route("DELETE", "/v1/models/{name}", ADMIN, Action::Delete, "Deletes a model and its files"),
    route(
        "POST",
        "/v1/models/{name}/learn",
        LEARN,
        Action::Learn,
        "Learns rows; answers with their scores from before each update, after the rows are on disk",
    ),
    route(
        "POST",
        "/v1/models/{name}/predict",
        PREDICT,
        Action::Predict,
        "The scores of rows, without learning; with ?remember=TIME an id per row",
    ),
    route("POST", "/v1/models/{name}/label", LEARN, Action::Label, "Learns remembered rows whose targets have arrived"),
    route("GET", "/v1/models/{name}/events", READ, Action::Events, "Figures and alerts as server-sent events"),
    route("GET", "/v1/models/{name}/snapshot", READ, Action::Snapshot, "The model file"),
    route("GET", "/v1/models/{name}/inspect", READ, Action::Inspect, "Settings, figures and certificates of a model"),
    route(
        "POST",
        "/v1/models/{name}/freeze",
        ADMIN,
        Action::Freeze,
        "Creates a plain model ?to=NAME from the leading settings of a model",
    ),
    route(
        "POST",
        "/v1/models/{name}/explain",
        READ,
        Action::Explain,
        "What the offset, the ?top=5 stored terms and columns and all others add to each score, and how each row differs from the nearest term",
    ),
    route(
        "PUT",
        "/v1/models/{name}/hook",
        ADMIN,
        Action::SetHook,
        "Sends alerts and drifts to an address that the server allows; answers with the secret of the signatures",
    ),
    route("GET", "/v1/models/{name}/hook", ADMIN, Action::Hook, "The address of the web hook, without its secret"),
    route("DELETE", "/v1/models/{name}/hook", ADMIN, Action::RemoveHook, "Removes the web hook"),
];

/// A query parameter: its name, and what it means.
pub type Parameter = (&'static str, &'static str);

const TARGET: Parameter = ("target", "CSV, NDJSON and Arrow: the target columns, separated by commas");
const WEIGHT: Parameter = ("weight", "CSV, NDJSON and Arrow: the column of weights");
const ID: Parameter = ("id", "CSV, NDJSON and Arrow: the column of ids");
const IGNORE: Parameter = ("ignore", "CSV, NDJSON and Arrow: columns that are not used");

/// The query parameters that an action reads; all others are refused.
pub fn parameters(action: Action) -> &'static [Parameter] {
    match action {
        Action::Create => &[
            ("sparse", "a model file: true: a number that is absent from a row is 0, and a new name is a new column"),
            ("finished", "a model file with rules for the columns of a table: true: rows come with finished features"),
        ],
        Action::Predict => &[
            ("fresh", "true: waits until all rows sent before are learned"),
            ("remember", "a time such as 3600, 30m, 12h or 1d: the rows wait so long for their targets"),
            TARGET,
            WEIGHT,
            ID,
            IGNORE,
        ],
        Action::Learn => &[
            TARGET,
            WEIGHT,
            ID,
            IGNORE,
            ("stream", "CSV, NDJSON and Arrow: the stream of the rows"),
            ("offset", "CSV, NDJSON and Arrow: the offset of the first row in the stream"),
        ],
        Action::Explain => &[("top", "the number of terms that are listed, 1 to 100; without it 5"), TARGET, WEIGHT, ID, IGNORE],
        Action::Freeze => &[("to", "the name of the new model")],
        _ => &[],
    }
}

/// Refuses a query with a parameter that the action does not read, or with the same parameter twice.
///
/// # Errors
/// The message names the parameter and those that the action reads.
pub fn check_query(action: Action, query: &[(String, String)]) -> Answered<()> {
    let refuse = |text: String| Err(Refusal::new(400, "bad_parameter", text));
    let known: Vec<&str> = parameters(action).iter().map(|(name, _)| *name).collect();
    for (at, (name, _)) in query.iter().enumerate() {
        if !known.contains(&name.as_str()) {
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return refuse(format!("unknown query parameter '{}'; the parameters of this request are: {known}", shortened(name)));
        }
        if query[..at].iter().any(|(before, _)| before == name) {
            return refuse(format!("the query parameter '{name}' comes twice; send it once"));
        }
    }
    Ok(())
}

/// The methods of a path, for the header `Allow`.
pub fn methods(path: &str) -> String {
    let mut methods: Vec<&str> =
        ROUTES.iter().filter(|route| fits(route.path, path).is_some()).map(|route| route.method).collect();
    if methods.contains(&"GET") {
        methods.push("HEAD");
    }
    methods.join(", ")
}

/// The result of a search.
#[derive(Clone, Copy, Debug)]
pub enum Found<'a> {
    /// A route and the name of the model in the path.
    Route(&'static Route, Option<&'a str>),
    /// The path exists with other methods.
    OtherMethod,
    /// There is no such path.
    Nothing,
}

/// The name of the model, if the path fits.
fn fits<'a>(pattern: &str, path: &'a str) -> Option<Option<&'a str>> {
    let Some((before, after)) = pattern.split_once("{name}") else { return (pattern == path).then_some(None) };
    let name = path.strip_prefix(before)?.strip_suffix(after)?;
    (!name.is_empty() && !name.contains('/')).then_some(Some(name))
}

/// Finds the route of a request.
pub fn find<'a>(method: &Method, path: &'a str) -> Found<'a> {
    let mut other = false;
    for route in ROUTES {
        if let Some(name) = fits(route.path, path) {
            if route.method == method.as_str() || (route.method == "GET" && method == Method::HEAD) {
                return Found::Route(route, name);
            }
            other = true;
        }
    }
    if other { Found::OtherMethod } else { Found::Nothing }
}
