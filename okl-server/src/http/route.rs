//! All routes in one table: method, path, the right that a token needs, and what the route does. The OpenAPI document and the tests of
//! authorisation are made from it.

use hyper::Method;

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
        "What the offset, the ?top=5 stored terms and all others add to each score, and how each row differs from the nearest term",
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
