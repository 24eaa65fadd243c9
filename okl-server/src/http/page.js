// The live page: asks for the figures of all models every two seconds and draws them. All text is set as text, never as HTML.
"use strict";

const EVERY = 2000;
const HISTORY = 120;
const models = document.getElementById("models");
const state = document.getElementById("state");
const form = document.getElementById("signin");
const histories = new Map();

const number = (value, digits = 3) => {
  if (value === null || value === undefined) return "–";
  const tiny = value !== 0 && Math.abs(value) < 1e-4;
  return tiny ? Number(value).toExponential(digits - 1) : Number(value).toLocaleString("en", { maximumSignificantDigits: digits });
};
// An upper bound, rounded up at its last digit.
const atMost = (value, digits = 3) => {
  if (!(value > 0)) return number(value, digits);
  const shown = Number(value).toPrecision(digits);
  const unit = 10 ** (Math.floor(Math.log10(Number(shown))) + 1 - digits);
  return number(Number(shown) >= value ? Number(shown) : Number((Number(shown) + unit).toPrecision(digits)), digits);
};
const whole = (value) => (value === null || value === undefined ? "–" : Number(value).toLocaleString("en"));
const percent = (value) => (value === null || value === undefined ? "–" : number(100 * value) + " %");
const bytes = (value) => {
  if (value === null || value === undefined) return "–";
  const units = ["bytes", "kB", "MB", "GB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) { value /= 1000; unit += 1; }
  return number(value) + " " + units[unit];
};

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  Object.assign(made, properties);
  made.append(...children);
  return made;
}

function figure(name, value, title = "") {
  return element("div", { className: "figure", title }, element("dt", { textContent: name }), element("dd", { textContent: value }));
}

// The values since the page was opened as a line; its range is written below. A constant value is a line in the middle.
function chart(values, label, format) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 240 48");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  const known = values.filter((value) => value !== null);
  if (known.length > 0) {
    // One value is drawn as a constant one.
    const drawn = values.length > 1 ? values : [known[0], known[0]];
    const low = Math.min(...known), high = Math.max(...known);
    const height = (value) => (high > low ? 44 - (40 * (value - low)) / (high - low) : 24);
    const at = (value, i) => `${(240 * i) / (drawn.length - 1)},${height(value)}`;
    const line = document.createElementNS(space, "polyline");
    line.setAttribute("points", drawn.map((value, i) => (value === null ? null : at(value, i))).filter(Boolean).join(" "));
    svg.append(line);
  }
  const [low, high] = [format(Math.min(...known)), format(Math.max(...known))];
  const range = known.length > 0 ? `; since this page was opened: ${low === high ? low : `${low} to ${high}`}` : "";
  return element("figure", {}, svg, element("figcaption", { textContent: label + range }));
}

function remember(model) {
  const history = histories.get(model.name) || { errors: [], rows: model.rows, time: Date.now(), rate: 0 };
  const now = Date.now();
  if (now > history.time) history.rate = (1000 * (model.rows - history.rows)) / (now - history.time);
  [history.rows, history.time] = [model.rows, now];
  history.errors.push(model.recent_error ?? null);
  if (history.errors.length > HISTORY) history.errors.shift();
  histories.set(model.name, history);
  return history;
}

function alerts(model) {
  if (!model.last_alerts || model.last_alerts.length === 0) return "";
  const list = element("ul", { className: "alerts" });
  for (const alert of [...(model.last_alerts || [])].reverse().slice(0, 5)) {
    const columns = alert.columns.map(([name, away]) => `${name} ${away > 0 ? "+" : ""}${number(away, 2)}`).join(", ");
    const text = `row ${whole(alert.row)}: score ${number(alert.score)} is below ${number(alert.threshold)}; largest scaled values: ${columns}`;
    list.append(element("li", { textContent: text }));
  }
  return element("section", {}, element("h3", { textContent: "Last alerts" }), list);
}

function card(model) {
  if (model.feature_names === undefined) {
    return element("article", { className: "stopped" }, element("h2", { textContent: model.name }), element("p", { textContent: "Stopped: " + model.stopped }));
  }
  const history = remember(model);
  const classes = model.classes && model.classes.length > 0;
  const detector = typeof model.threshold === "number";
  const error = classes || detector ? percent : number;
  // What the errors are: of the last 1,000 rows, and of all rows.
  const [recent, all] = model.error_names || ["error, last 1,000 rows", "error, all rows"];
  const figures = element("dl", {});
  const novelty = model.alert_rate && detector;
  if (novelty) {
    const { rate, requested, bound } = model.alert_rate;
    const sure = bound < Math.min(requested, 1 - requested) ? `guaranteed within ${atMost(100 * bound, 2)} percentage points` : "";
    figures.append(figure("alert rate, all judged rows", percent(rate), sure), figure("requested", percent(requested)));
  } else {
    figures.append(
      figure(recent, error(model.recent_error), "each row is scored before it is learned"),
      figure(all, error(model.error), "each row is scored before it is learned"));
  }
  figures.append(
    figure("rows", whole(model.rows)),
    figure("rows per second", number(history.rate, 2)),
    figure("terms", whole(model.terms)),
    figure("memory", bytes(model.bytes)),
    figure("step size", number(model.eta)),
    figure("journal", bytes(model.journal_bytes)));
  // Figures that most models do not have.
  if (detector || model.alerts > 0) figures.append(figure("alerts", whole(model.alerts)));
  if (model.remembered > 0) {
    figures.append(
      figure("remembered rows", whole(model.remembered)), figure("waiting for labels", whole(model.waiting)), figure("labelled", whole(model.labelled)), figure("expired", whole(model.expired)));
  }
  if (model.missing) figures.append(figure("missing values", model.missing.replace("+", " + "), "what takes the place of a missing value"));
  const words = [];
  if (model.stopped) words.push("Stopped: " + model.stopped);
  if (model.terms === null) words.push("No row has been learned yet; the first rows decide the settings.");
  if (model.last_drift) {
    const { example, before, now } = model.last_drift;
    words.push(`Drift at example ${whole(example)}: the error rose from ${error(before)} to ${error(now)} within 500 examples.`);
  }
  if (model.warming_up) words.push("Warming up: widths and scales are estimated again from the first rows.");
  if (model.truncation) words.push(model.truncation);
  const detail = element("details", {}, element("summary", { textContent: "Details" }));
  detail.dataset.name = model.name;
  detail.addEventListener("toggle", () => inspect(detail));
  return element("article", {},
    element("h2", { textContent: model.name }), chart(history.errors, recent, error), figures,
    ...words.map((text) => element("p", { textContent: text })), alerts(model), detail);
}

// Settings and certificates of one model, in words.
async function inspect(detail) {
  if (!detail.open || detail.children.length > 1) return;
  const answer = await fetch(`v1/models/${encodeURIComponent(detail.dataset.name)}/inspect`);
  const body = await answer.json();
  if (!answer.ok) return detail.append(element("p", { textContent: body.error.message }));
  for (const text of [...(body.certificates || []), ...(body.health || [])]) detail.append(element("p", { textContent: text }));
  detail.append(element("pre", { textContent: JSON.stringify(body.config, null, 1) }));
}

async function update() {
  try {
    const answer = await fetch("v1/models");
    form.hidden = answer.status !== 401;
    if (answer.status === 401) {
      state.textContent = "Sign in to see the models";
      models.replaceChildren();
    } else if (answer.ok) {
      const list = (await answer.json()).models;
      const open = new Map([...models.querySelectorAll("details[open]")].map((detail) => [detail.dataset.name, detail]));
      const cards = list.map((model) => {
        const made = card(model);
        const kept = open.get(model.name), place = made.querySelector("details");
        if (kept && place) place.replaceWith(kept);
        return made;
      });
      models.replaceChildren(...cards);
      state.textContent = list.length === 0 ? "No model yet: PUT /v1/models/NAME creates one" : `${list.length} model${list.length === 1 ? "" : "s"}, updated ${new Date().toLocaleTimeString()}`;
    } else {
      state.textContent = `The server answers ${answer.status}`;
    }
  } catch {
    state.textContent = "The server does not answer";
  }
  setTimeout(update, EVERY);
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const answer = await fetch("signin", { method: "POST", body: new URLSearchParams(new FormData(form)) });
  document.getElementById("wrong").textContent = answer.ok ? "" : "This token is not valid.";
  form.reset();
  form.hidden = answer.ok;
});

update();
