//! What each route does.

use std::sync::atomic::Ordering;

use hyper::header::{CONTENT_DISPOSITION, HeaderValue, SET_COOKIE};
use okl::{Batch, Label, Learner};
use serde_json::{Value, json};

use super::answer::{self, Answer};
use super::body::{self, Parsed};
use super::route::{Action, Right};
use super::sent::unknown_kind;
use super::{Call, Server, guard, openapi, page};
use crate::background::guarded;
use crate::model::columns::{self, Absent};
use crate::model::figures::{names_of_errors, quantile, rate_of};
use crate::model::folder::Settings;
use crate::model::{LabelRequest, LearnRequest, Model, Published};
use crate::refusal::{Answered, Refusal};
use crate::registry::{Given, Slot};
use crate::rows::Rows;
use crate::surface::{Filling, Surface};

/// Bodies beyond this length are parsed, and rows beyond this number predicted, without holding up other requests of the same thread.
const LONG: usize = 64 << 10;
/// The largest product of rows, terms and features of one request to explain: about a second of one core.
const MOST_EXPLAINED: usize = 1 << 28;

pub(super) async fn handle(call: Call<'_>) -> Answered<Answer> {
    match call.route.action {
        Action::Page => Ok(answer::bytes(200, "text/html; charset=utf-8", page::html(call.server.tokens.is_some()))),
        Action::Script => Ok(answer::bytes(200, "text/javascript; charset=utf-8", page::SCRIPT)),
        Action::Style => Ok(answer::bytes(200, "text/css; charset=utf-8", page::STYLE)),
        Action::SignIn => sign_in(&call),
        Action::Health => Ok(answer::json(200, &json!({ "status": "ok" }))),
        Action::Ready => Ok(ready(&call)),
        Action::OpenApi => Ok(answer::json(200, &openapi::document())),
        Action::Metrics => Ok(answer::bytes(200, "text/plain; version=0.0.4", call.server.metrics.text(&call.server.registry))),
        Action::List => Ok(list(&call)),
        Action::Create => create(&call).await,
        Action::Describe => call.server.registry.model(call.name).map(|model| answer::json(200, &figures(&model))),
        Action::Delete => {
            call.server.registry.delete(call.name).await.map(|()| answer::json(200, &json!({ "deleted": call.name })))
        }
        Action::Learn => learn(call).await,
        Action::Predict => predict(call).await,
        Action::Label => label(&call).await,
        Action::Snapshot => snapshot(&call),
        Action::Inspect => inspect(&call),
        Action::Freeze => freeze(&call).await,
        Action::Explain => explain(&call),
        Action::SetHook | Action::Hook | Action::RemoveHook => hook(&call),
        Action::Events => Err(Refusal::new(500, "internal", "events are streamed elsewhere")),
    }
}

fn sign_in(call: &Call<'_>) -> Answered<Answer> {
    let Some(tokens) = &call.server.tokens else { return Ok(answer::json(200, &json!({ "signed_in": true }))) };
    let form: Vec<(String, String)> = form_urlencoded::parse(&call.sent.body).into_owned().collect();
    let secret = form.iter().find(|(key, _)| key == "token").map(|(_, value)| value.trim());
    let cookie = secret.and_then(|secret| tokens.sign_in(secret));
    let cookie = cookie.ok_or_else(|| Refusal::new(401, "no_token", "this token is not valid"))?;
    let secure = if call.server.encrypted { "; Secure" } else { "" };
    let cookie = format!("{}={cookie}; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200{secure}", guard::COOKIE_NAME);
    let mut answer = answer::json(200, &json!({ "signed_in": true }));
    answer
        .headers_mut()
        .insert(SET_COOKIE, HeaderValue::from_str(&cookie).map_err(|e| Refusal::new(500, "internal", e.to_string()))?);
    Ok(answer)
}

/// 200 if every model runs and learns.
fn ready(call: &Call<'_>) -> Answer {
    let well = |slot: &Slot| matches!(slot, Slot::Running(model) if model.published().stopped.is_none());
    let models = call.server.registry.all();
    let stopped = models.iter().filter(|(_, slot)| !well(slot)).count();
    answer::json(if stopped == 0 { 200 } else { 503 }, &json!({ "models": models.len(), "stopped": stopped }))
}

fn list(call: &Call<'_>) -> Answer {
    let visible = |name: &str| call.token.is_none_or(|token| token.sees(name));
    let models = call.server.registry.all().into_iter().filter(|(name, _)| visible(name));
    let one = |(name, slot): (String, Slot)| match slot {
        // Last alerts show rows, which need the right to read.
        Slot::Running(model) => {
            let mut figures = figures(&model);
            if call.token.is_some_and(|token| !token.allows(Right::Read, Some(&name))) {
                figures["last_alerts"] = json!([]);
            }
            figures
        }
        Slot::Stopped(why) => json!({ "name": name, "stopped": &*why }),
    };
    answer::json(200, &json!({ "models": models.map(one).collect::<Vec<_>>() }))
}

/// The figures of a model.
pub(super) fn figures(model: &Model) -> Value {
    let now = model.published();
    let Published { learner, names, gaps, figures, entry, waiting, journal_bytes, stopped, forms } = &*now;
    let class = |class: &Label| forms.json(class);
    let classes: Option<Vec<Value>> = learner.as_deref().map(|l| l.classes().iter().take(100).map(class).collect());
    let positive = learner.as_deref().and_then(|l| l.classes().get(l.positive()?)).map(class);
    let of = |f: fn(&Learner) -> Value| learner.as_deref().map_or(Value::Null, f);
    json!({
        "name": model.name, "entry": entry, "rows": figures.rows, "examples": figures.examples, "error": figures.mean_error(),
        "recent_error": figures.recent_error(), "loss": figures.mean_loss(), "alerts": figures.alerts, "last_alerts": figures.last_alerts,
        "drifts": figures.drifts, "last_drift": figures.last_drifts.back(),
        "remembered": now.remembered(), "waiting": waiting, "expired": figures.expired, "labelled": figures.labelled, "journal_bytes": journal_bytes, "stopped": stopped.as_deref(),
        "feature_names": &names[..names.len().min(100)], "settings": model.settings, "missing": gaps.as_ref().map(|gaps| gaps.rule()),
        "predicted": model.counts.predicted.load(Ordering::Relaxed),
        "features": of(|l| json!(l.features())), "outputs": of(|l| json!(l.outputs())), "terms": of(|l| json!(l.terms())), "bytes": of(|l| json!(l.bytes())),
        "eta": of(|l| json!(l.eta())), "classes": classes, "positive": positive, "warming_up": of(|l| json!(l.warming_up())),
        "alert_rate": of(|l| rate_json(l, true)), "outside_rate": of(|l| rate_json(l, false)),
        "truncation_error": of(|l| json!(l.truncation_error())), "certified_since": of(|l| json!(l.certified_since())),
        "truncation": learner.as_deref().and_then(|l| model.surface.truncation(l)), "error_names": of(|l| json!(names_of_errors(l))), "threshold": of(|l| json!(l.threshold())), "quantile": of(|l| json!(quantile(l))),
    })
}

fn rate_json(learner: &Learner, of_alerts: bool) -> Value {
    json!(rate_of(learner, of_alerts).map(|r| json!({ "rate": r.rate, "requested": r.nu, "bound": r.bound })))
}

async fn create(call: &Call<'_>) -> Answered<Answer> {
    let surface = &call.server.registry.surface;
    let (settings, given) = match call.sent.kind.as_str() {
        "application/octet-stream" => {
            let learner = Learner::from_bytes(&call.sent.body)?;
            let (finished, sparse) = (call.sent.flag("finished")?, call.sent.flag("sparse")?);
            if let Some(rules) = surface.rules(&learner).filter(|_| !finished) {
                let text = format!(
                    "this model file makes its features by rules ({rules}), which the server does not apply to rows. To send rows of finished \
                     features (inspect lists their names), upload the file with ?finished=true"
                );
                return Err(Refusal::body(text));
            }
            let gaps = surface.gaps_of(&learner).filter(|_| !finished);
            if sparse && gaps.is_some() {
                let text =
                    "this model file fills missing values, and in a sparse model an absent number is 0; leave ?sparse=true out";
                return Err(Refusal::body(text));
            }
            (Settings { uploaded: true, sparse, ..Settings::default() }, Some(Given { learner, gaps, frozen: None }))
        }
        "application/json" | "" if call.sent.body.is_empty() => (Settings::default(), None),
        "application/json" | "" => {
            let settings: Settings =
                body::object(&call.sent.body, "{\"config\": {...}, \"task\": \"classes\", \"sparse\": false}")?;
            (Settings { uploaded: false, ..settings }, None)
        }
        _ => return Err(unknown_kind("application/json or application/octet-stream (a model file)")),
    };
    let created = call.server.registry.create(call.name, settings, given).await?;
    let model = call.server.registry.model(call.name)?;
    Ok(answer::json(if created { 201 } else { 200 }, &figures(&model)))
}

/// Runs work that may take long.
fn long<T>(size: usize, work: impl FnOnce() -> T) -> T {
    if size > LONG { tokio::task::block_in_place(work) } else { work() }
}

async fn learn(call: Call<'_>) -> Answered<Answer> {
    let model = call.server.registry.model(call.name)?;
    let sent = call.sent;
    let targets = sent.query("target").map(str::to_owned);
    let Parsed { rows, stream, key, .. } = long(sent.body.len(), || guarded(|| sent.rows(&call.server.registry, &model)))??;
    drop(sent);
    let learned = model.learn(LearnRequest { rows, stream, key }).await;
    let answer = learned.map_err(|refusal| {
        let names: Vec<&str> = targets.iter().flat_map(|names| names.split(',')).collect();
        refusal.with_column_of_target(&names)
    })?;
    guarded(|| answer::json(200, &answer.json()))
}

async fn label(call: &Call<'_>) -> Answered<Answer> {
    let model = call.server.registry.model(call.name)?;
    let (ids, targets, key) = body::labels(&call.sent.body)?;
    let request = LabelRequest { ids, targets, key: key.or_else(|| call.sent.key.clone()) };
    let answer = model.label(request).await.map_err(|refusal| refusal.with_column_of_target(&[]))?;
    Ok(answer::json(200, &answer.json()))
}

/// The learner of a published model.
fn learner_of(now: &Published) -> Answered<&Learner> {
    now.learner.as_deref().ok_or_else(|| Refusal::new(409, "no_configuration", "the model has learned nothing yet"))
}

fn explain(call: &Call<'_>) -> Answered<Answer> {
    let model = call.server.registry.model(call.name)?;
    let Parsed { rows, .. } = long(call.sent.body.len(), || call.sent.rows(&call.server.registry, &model))?;
    let top = call.sent.query("top").map_or(Ok(5), str::parse).ok().filter(|top| (1..=100).contains(top));
    let top = top.ok_or_else(|| Refusal::body("top: expected a number of terms from 1 to 100"))?;
    let now = model.published();
    let learner = learner_of(&now)?;
    let asked = asked(call.server, &now, learner, &rows, model.settings.sparse)?;
    if rows.count.saturating_mul(learner.terms().max(1)).saturating_mul(asked.features()) > MOST_EXPLAINED || rows.count > 1000 {
        return Err(Refusal::new(413, "too_many_rows", "explain: too many rows for one request; send fewer"));
    }
    // Rows and columns without names are counted from 0, as in messages.
    let names = match now.feature_names() {
        names if names.is_empty() => (0..asked.features()).map(|i| i.to_string()).collect(),
        names => names,
    };
    let explained = long(usize::MAX, || call.server.registry.surface.explain(learner, asked.x(), &names, top));
    let rows = explained.map_err(|error| Refusal::from(error).with_name_of_column(&now.feature_names()))?;
    Ok(answer::json(200, &json!({ "rows": rows, "threshold": learner.threshold(), "entry": now.entry })))
}

async fn predict(call: Call<'_>) -> Answered<Answer> {
    call.server.registry.predictions.note();
    let model = call.server.registry.model(call.name)?;
    let Parsed { rows, .. } = long(call.sent.body.len(), || call.sent.rows(&call.server.registry, &model))?;
    if call.sent.flag("fresh")? {
        model.fresh().await?;
    }
    let now = model.published();
    if call.sent.query("remember").is_some() && now.learner.as_ref().is_none_or(|learner| learner.features() == 0) {
        // A model whose targets all come later begins like this. The rows have no scores.
        let count = rows.count;
        let ids = remember(&call, &model, rows).await?;
        return Ok(answer::json(200, &json!({ "scores": vec![Value::Null; count], "entry": now.entry, "ids": ids })));
    }
    let learner = learner_of(&now)?;
    let asked = asked(call.server, &now, learner, &rows, model.settings.sparse)?;
    let batch = Batch::of_f64(asked.x(), asked.features());
    let scores = long(rows.count * learner.terms().max(1), || learner.predict(&batch));
    let scores = scores.map_err(|error| Refusal::from(error).with_name_of_column(&now.feature_names()))?;
    let lists: Vec<&[f64]> = (0..rows.count).map(|i| scores.row(i)).collect();
    let class = |class: usize| learner.classes().get(class).map(|class| now.forms.json(class));
    let labels: Option<Vec<Value>> = lists.iter().map(|z| learner.decide(z).and_then(class)).collect();
    let positive = learner.positive().and_then(class);
    let threshold = learner.threshold();
    let alerts = threshold.map(|threshold| (0..lists.len()).filter(|i| lists[*i][0] < threshold).collect::<Vec<_>>());
    let mut answer = json!({ "scores": lists, "entry": now.entry });
    for (name, value) in
        [("labels", json!(labels)), ("positive", json!(positive)), ("threshold", json!(threshold)), ("alerts", json!(alerts))]
    {
        if !value.is_null() {
            answer[name] = value;
        }
    }
    if call.sent.query("remember").is_some() {
        // Cells without a value are filled when the row is learned.
        let columns::Placed { x, features, .. } = asked.placed;
        let waits = Rows { count: rows.count, features, x: x.into_owned(), ..Rows::default() };
        answer["ids"] = remember(&call, &model, waits).await?;
    }
    model.counts.predicted.fetch_add(rows.count as u64, Ordering::Relaxed);
    Ok(answer::json(200, &answer))
}

/// Lets rows wait for their targets; returns their ids.
async fn remember(call: &Call<'_>, model: &Model, rows: Rows) -> Answered<Value> {
    if !call.token.is_none_or(|token| token.allows(Right::Learn, Some(call.name))) {
        return Err(Refusal::new(403, "no_right", "remember: this needs the right 'learn' as well"));
    }
    if rows.count == 0 {
        return Err(Refusal::body("no rows"));
    }
    let until = (call.server.registry.options.clock)() + seconds(call.sent.query("remember").unwrap_or(""))?;
    let count = rows.count as u64;
    let first = model.remember(rows, until).await?;
    Ok(json!((first..first + count).collect::<Vec<_>>()))
}

/// Rows to predict.
struct Asked<'a> {
    /// In the columns of the model.
    placed: columns::Placed<'a>,
    /// In the features of the model, if it fills cells.
    filling: Option<Box<dyn Filling>>,
}

impl Asked<'_> {
    fn x(&self) -> &[f64] {
        self.filling.as_ref().map_or(&self.placed.x, |filling| filling.x())
    }

    fn features(&self) -> usize {
        self.filling.as_ref().map_or(self.placed.features, |filling| filling.features())
    }
}

/// Rows in the columns of the published learner. New columns of a sparse model are left out: they are 0 in all terms.
fn asked<'a>(server: &Server, now: &'a Published, learner: &Learner, rows: &'a Rows, sparse: bool) -> Answered<Asked<'a>> {
    if learner.features() == 0 {
        return Err(Refusal::new(409, "nothing_learned", "the model has learned nothing yet"));
    }
    if rows.count == 0 {
        return Err(Refusal::body("no rows"));
    }
    columns::check_size(rows, &now.names, &server.registry.options)?;
    let mut placed = columns::place(rows, &now.names, now.columns(), Absent::of(now.gaps.is_some(), sparse))?;
    let features = learner.features();
    if sparse && placed.features > features {
        let kept = placed.x.chunks_exact(placed.features).flat_map(|row| row[..features].iter().copied());
        placed.x = kept.collect::<Vec<f64>>().into();
        placed.features = features;
    }
    let filling = now.gaps.as_ref().map(|gaps| gaps.fill(&placed.x, placed.features));
    Ok(Asked { placed, filling })
}

/// A time such as 3600, 30m, 12h or 1d, in seconds; at most 90 days.
fn seconds(text: &str) -> Answered<u64> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let unit = match unit {
        "" | "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3600),
        "d" => Some(86_400),
        _ => None,
    };
    let time = digits
        .parse::<u64>()
        .ok()
        .zip(unit)
        .and_then(|(n, unit)| n.checked_mul(unit))
        .filter(|time| (1..=90 * 86_400).contains(time));
    time.ok_or_else(|| Refusal::body("remember: expected a time up to 90 days, such as 3600, 30m, 12h or 1d"))
}

fn hook(call: &Call<'_>) -> Answered<Answer> {
    let registry = &call.server.registry;
    let (model, folder) = (registry.model(call.name)?, registry.folder_of(call.name));
    let told = match call.route.action {
        Action::SetHook => {
            let hook = long(usize::MAX, || registry.hooks.set(&model, &folder, &registry.options.hooks, &call.sent.body))?;
            json!({ "url": hook.url, "events": hook.events, "secret": hook.secret })
        }
        Action::RemoveHook => registry.hooks.remove(&model, &folder).map(|()| json!({ "removed": call.name }))?,
        _ => registry.hooks.get(&folder).map(|hook| json!({ "url": hook.url, "events": hook.events }))?,
    };
    Ok(answer::json(200, &told))
}

fn snapshot(call: &Call<'_>) -> Answered<Answer> {
    let now = call.server.registry.model(call.name)?.published();
    let learner = learner_of(&now)?;
    let surface = &call.server.registry.surface;
    let mut answer = answer::bytes(200, "application/octet-stream", long(usize::MAX, || file_of(learner, &**surface, &now)));
    let name = HeaderValue::from_str(&format!("attachment; filename=\"{}.okl\"", call.name));
    answer.headers_mut().insert(CONTENT_DISPOSITION, name.map_err(|e| Refusal::new(500, "internal", e.to_string()))?);
    answer.headers_mut().insert("okl-entry", HeaderValue::from(now.entry));
    Ok(answer)
}

/// The model file of a learner, with the names of its columns and what cells without a value become.
fn file_of(learner: &Learner, surface: &dyn Surface, now: &Published) -> Vec<u8> {
    named(learner, surface, now).map_or_else(|| learner.to_bytes(), |named| named.to_bytes())
}

/// A copy that carries the names of the columns and what cells without a value become; none if the learner carries them already or there
/// are none.
fn named(learner: &Learner, surface: &dyn Surface, now: &Published) -> Option<Learner> {
    let position = match &now.gaps {
        Some(gaps) => gaps.position(learner, &now.names),
        None => surface.with_names(learner, &now.names),
    };
    position.map(|position| {
        let mut named = learner.clone();
        named.set_position(position);
        named
    })
}

fn inspect(call: &Call<'_>) -> Answered<Answer> {
    let (model, surface) = (call.server.registry.model(call.name)?, &call.server.registry.surface);
    let now = model.published();
    let learner = learner_of(&now)?;
    let mut told = surface.describe(learner, &now.feature_names());
    // The learner has frozen what was chosen for it: the settings say what was left to be chosen.
    if let (Some(Ok(asked)), Value::Array(health)) = (model.settings.asked_with_loss(), &mut told["health"]) {
        health.extend(surface.advice(&asked, now.figures.examples, &now.figures.targets()).into_iter().map(Value::from));
    }
    if let (Some(finding), Value::Array(health)) =
        (now.gaps.as_ref().and_then(|gaps| gaps.finding(&now.names)), &mut told["health"])
    {
        health.push(finding.into());
    }
    told["missing"] = json!(now.gaps.as_ref().map(|gaps| gaps.rule()));
    let figures = &now.figures;
    told["rows"] = figures.rows.into();
    if let Some(examples) = figures.frozen {
        told["frozen_after"] = examples.into();
    }
    told["on_this_server"] = json!({
        "rows": figures.rows - figures.before, "examples": figures.examples - figures.before, "error": figures.mean_error(), "recent_error": figures.recent_error(),
        "recent_examples": figures.recent.len(),
    });
    Ok(answer::json(200, &told))
}

async fn freeze(call: &Call<'_>) -> Answered<Answer> {
    let to = call.sent.query("to").ok_or_else(|| Refusal::body("to: the name of the new model is missing, as in ?to=NAME"))?;
    if !call.token.is_none_or(|token| token.allows(Right::Admin, Some(to))) {
        return Err(Refusal::new(403, "no_right", format!("the right 'admin' is needed for '{to}' as well")));
    }
    let model = call.server.registry.model(call.name)?;
    let (now, surface) = (model.published(), &call.server.registry.surface);
    let learner = learner_of(&now)?;
    let plain = learner.freeze()?;
    let plain = named(&plain, &**surface, &now).unwrap_or(plain);
    let settings = Settings { uploaded: true, sparse: model.settings.sparse, ..Settings::default() };
    let gaps = now.gaps.as_ref().and_then(|_| surface.gaps_of(&plain));
    let given = Given { learner: plain, gaps, frozen: Some(learner.examples()) };
    call.server.registry.create(to, settings, Some(given)).await?;
    Ok(answer::json(201, &json!({ "created": to })))
}
