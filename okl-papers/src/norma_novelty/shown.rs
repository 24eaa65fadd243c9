//! The page of norma-novelty.

use super::{Judged, Outcome, Pass, RATES, SHOWN, Setting, most_novel};
use crate::data::Rows;
use crate::page::{Images, Page, Table, Tile};
use crate::stats::Spread;
use okl_cli::report::axis::{Axis, Unit, range};
use okl_cli::report::chart::{Chart, Line};
use okl_cli::report::text;

/// The speed reported in the paper: 5,000 patterns in less than 15 seconds.
const PAPER_SPEED: f64 = 5000.0 / 15.0;
/// Patterns at the end of the pass whose scores are drawn.
const CLOSE: usize = 400;

const PAPER: Setting = Setting { nu: RATES[0], paper_steps: true, tracker: false, on_update: false };
const SMALL: Setting = Setting { paper_steps: false, ..PAPER };
const TRACKED: Setting = Setting { tracker: true, ..SMALL };
/// The author's script.
const SCRIPT: Setting = Setting { on_update: true, ..PAPER };

impl Setting {
    fn words(&self) -> String {
        let steps = if self.paper_steps { "0.5/√t".into() } else { format!("{}/√t", self.nu) };
        let shrink = if self.on_update { ", shrunk at alerts only" } else { "" };
        format!("{steps}, {}{shrink}", if self.tracker { "tracker" } else { "ρ" })
    }

    fn look(&self) -> &'static str {
        match (self.paper_steps, self.tracker) {
            _ if self.on_update => "a dashed",
            (true, false) => "b",
            (true, true) => "b dashed",
            (false, false) => "a",
            (false, true) => "d",
        }
    }
}

pub(super) fn page(outcome: &Outcome) -> Page {
    let mut page = Page::new("Novel digits: NORMA, section 5", lead(outcome));
    page.section("In figures").tiles(tiles(outcome)).text(verdict(outcome));
    pictures(&mut page, outcome);
    rates(&mut page, outcome);
    weeding(&mut page, outcome);
    speed(&mut page, outcome);
    page
}

fn lead(outcome: &Outcome) -> String {
    format!(
        "USPS without labels, one pass over {} patterns, nu = 0.01, Gaussian kernel exp(−|x−y|\u{2060}²/128), at most 1,000 terms. The paper reports that the result can be used for weeding out badly written digits, that nu fixes the fraction of outliers, and more than 333 patterns per second.",
        text::count(outcome.data.train.len() as f64)
    )
}

/// Which claims of the paper hold.
fn verdict(outcome: &Outcome) -> String {
    let misread = |setting| outcome.wrong(outcome.passes(setting)).percent();
    format!(
        "Badly written: of the 50 most novel digits of the test set a classifier that knows the labels misreads {} with the paper's setting and {} with small steps and an averaged score, against {} of all. That is a help, and no more. The fraction of outliers: {} as the author's script has it, which shrinks f at alerts only; {} with the same steps if f is shrunk at every pattern, as printed, and {} with steps of the size of nu. Speed: it holds.",
        misread(PAPER),
        misread(TRACKED),
        text::percent(outcome.yardstick.wrong_of_all()),
        over(outcome.passes(SCRIPT), |p| p.rate(true)).percent(),
        over(outcome.passes(PAPER), |p| p.rate(true)).percent(),
        over(outcome.passes(SMALL), |p| p.rate(true)).percent()
    )
}

fn over(passes: &[Pass], value: impl Fn(&Pass) -> f64) -> Spread {
    Spread::of(passes.iter().map(value))
}

fn tiles(outcome: &Outcome) -> Vec<Tile> {
    let (paper, small) = (outcome.passes(PAPER), outcome.passes(SMALL));
    let all = outcome.yardstick.wrong_of_all();
    let speed = outcome.speeds[0].block;
    vec![
        Tile::new(
            text::speed(speed),
            "patterns per second",
            format!("{} times the paper's 333", text::count((speed / PAPER_SPEED).round())),
        ),
        Tile::new(
            text::percent(over(paper, |p| p.rate(true)).mean),
            "alerts in the second half, steps 0.5/√t",
            "1 % was asked for: the steps are too large",
        ),
        Tile::new(text::percent(over(small, |p| p.rate(true)).mean), "the same, steps 0.01/√t", "1 % was asked for"),
        Tile::new(
            text::percent(outcome.wrong(outcome.passes(TRACKED)).mean),
            "of the 50 most novel test digits are misread",
            format!("by a classifier that misreads {} of all", text::percent(all)),
        ),
    ]
}

fn ink(rows: &Rows, i: usize) -> Vec<f32> {
    rows.row(i).iter().map(|v| 0.5 * (v + 1.0)).collect()
}

/// In thousandths, with a sign that lines up.
fn thousandths(value: f64) -> String {
    format!("{:.3}", 1000.0 * value).replace('-', "−")
}

fn pictures(page: &mut Page, outcome: &Outcome) {
    let label = |rows: &Rows, i: usize| rows.target(i)[0] as i64;
    let (train, test) = (&outcome.data.train, &outcome.data.test);
    let pass = &outcome.passes(PAPER)[0];
    let alerts = pass.judged.iter().enumerate().filter(|(_, j)| j.alert == Some(true)).take(SHOWN);
    let first = alerts.map(|(t, _)| {
        let i = outcome.order[t];
        (ink(train, i), format!("{}\nat {}", label(train, i), text::count(t as f64 + 1.0)))
    });
    let lowest = |scores: &[f64], rows: &Rows, said: bool| -> Vec<(Vec<f32>, String)> {
        let one = |i: usize| {
            let (is, says) = (label(rows, i), if said { outcome.yardstick.said[i] } else { label(rows, i) });
            let name = if is == says { is.to_string() } else { format!("{is}, read {says}") };
            (ink(rows, i), format!("{name}\n{}", thousandths(scores[i])))
        };
        most_novel(scores, SHOWN).into_iter().map(one).collect()
    };
    let picture = |title: &str, caption: &str, images: Vec<(Vec<f32>, String)>| Images {
        width: 16,
        images,
        title: title.into(),
        caption: caption.into(),
    };
    page.section("The picture of the paper");
    page.text("Steps 0.5/√t, the threshold ρ itself, the first of the shuffles. Under each digit its label, which the detector did not see.");
    page.images(picture(
        "The first 50 alerts",
        "With their place in the stream. Most are well written: with steps this large an alert comes when ρ has climbed into the scores again, and takes whatever pattern is there (see the close-up below).",
        first.collect(),
    ));
    page.images(picture(
        "The 50 most novel digits of the training set, after the pass",
        "With f − ρ in thousandths, lowest first.",
        lowest(&pass.train, train, false),
    ));
    page.images(picture(
        "The 50 most novel digits of the test set",
        "With f − ρ in thousandths. Where a classifier that was trained with labels reads another digit, it is named.",
        lowest(&pass.test, test, true),
    ));
    page.section("The same with small steps and an averaged score");
    page.text(
        "Steps 0.01/√t and the tracker: the score is that of the averaged function, held against a quantile of its own. A score does not depend on which digits happened to be alerts last.",
    );
    let pass = &outcome.passes(TRACKED)[0];
    page.images(picture(
        "The 50 most novel digits of the training set, after the pass",
        "With the averaged score less its threshold in thousandths, lowest first.",
        lowest(&pass.train, train, false),
    ));
    page.images(picture(
        "The 50 most novel digits of the test set",
        "With the averaged score less its threshold in thousandths, and what the classifier reads.",
        lowest(&pass.test, test, true),
    ));
}

fn rates(page: &mut Page, outcome: &Outcome) {
    page.section("Alerts against nu");
    page.charts(vec![Chart { wide: true, ..rate_chart(outcome, RATES[0]) }]);
    page.charts(RATES[1..].iter().map(|nu| rate_chart(outcome, *nu)).collect());
    let (least, most) = range(outcome.passes(PAPER).iter().map(Pass::test_rate));
    page.text(format!(
        "The author's script shrinks f at alerts only, and holds nu. As printed, f is shrunk at every pattern: its coefficients then add up to about nu, so that f is of the size of nu, while one alert lowers ρ by the step size. With the steps of the script and nu = 0.01 an alert then sends ρ below zero, where it is projected back to 0, and nothing is novel until it has climbed again. What the projection takes away is missing from the price of an alert, so alerts are too frequent. And the threshold that is left at the end of the pass is where the saw happens to be: {} to {} of the test set lie below it, depending on the shuffle. Steps of the size of nu mend the rate; a tracker steadies the threshold as well.",
        text::percent(least),
        text::percent(most)
    ));
    page.charts([PAPER, SMALL].iter().map(|setting| close_up(outcome, *setting)).collect());
    page.table(rate_table(outcome));
}

fn rate_chart(outcome: &Outcome, nu: f64) -> Chart {
    let n = outcome.data.train.len() as f64;
    let mut lines = vec![Line::new(format!("nu = {nu}"), "c", vec![(0.0, nu), (n, nu)])];
    for setting in Setting::all(nu) {
        let courses: Vec<Vec<(f64, f64)>> = outcome.passes(setting).iter().map(|p| p.course(outcome.window)).collect();
        let at = |i: usize| Spread::of(courses.iter().map(|c| c[i].1));
        let mean = courses[0].iter().enumerate().map(|(i, p)| (p.0, at(i).mean));
        lines.push(Line::new(setting.words(), setting.look(), mean.collect()));
    }
    let y = Axis::straight(lines.iter().flat_map(|l| l.points.iter().map(|p| p.1)), Unit::Percent);
    Chart {
        caption: format!("Mean over {} shuffles.", outcome.passes(PAPER).len()),
        ..Chart::new(
            format!("nu = {nu}"),
            format!("share of alerts among the last {}", text::count(outcome.window as f64)),
            Axis::exact(0.0, n, Unit::Count),
            y,
            lines,
        )
    }
}

/// Scores and threshold of the last patterns.
fn close_up(outcome: &Outcome, setting: Setting) -> Chart {
    let judged = &outcome.passes(setting)[0].judged;
    let first = judged.len() - CLOSE.min(judged.len());
    let place = |i: usize| (first + i + 1) as f64;
    let value =
        |part: fn(&Judged) -> f64| judged[first..].iter().enumerate().map(move |(i, j)| (place(i), part(j))).collect::<Vec<_>>();
    let scores = value(|j| j.score);
    let lines = vec![Line::new("threshold ρ", "a", value(|j| j.threshold.unwrap_or(f64::NAN)))];
    let y = Axis::straight(scores.iter().chain(&lines[0].points).map(|p| p.1), Unit::Plain);
    Chart {
        dots: Some(("score f(x)".into(), scores)),
        caption: if setting.paper_steps {
            "Nearly every alert sends ρ back to 0.".into()
        } else {
            "ρ follows the lower edge of the scores.".into()
        },
        ..Chart::new(
            format!("Scores and threshold, steps {}", setting.words()),
            format!("the last {CLOSE} patterns, nu = {}", setting.nu),
            Axis::exact(place(0), judged.len() as f64, Unit::Count),
            y,
            lines,
        )
    }
}

fn rate_table(outcome: &Outcome) -> Table {
    let head = ["nu and setting", "alerts, all", "second half", "certified within", "test set", "met ρ = 0", "terms"];
    let row = |(setting, passes): &(Setting, Vec<Pass>)| {
        let percent = |value: fn(&Pass) -> f64| over(passes, value).percent();
        [
            format!("{}: {}", setting.nu, setting.words()),
            percent(|p| p.rate(false)),
            percent(|p| p.rate(true)),
            format!("± {}", text::percent(over(passes, |p| p.bound).mean)),
            percent(Pass::test_rate),
            if setting.tracker { "–".into() } else { percent(Pass::held) },
            text::count(over(passes, |p| p.terms as f64).mean.round()),
        ]
    };
    let table = outcome.settings.iter().map(row).fold(Table::new(&head), |table, row| table.row(&row));
    table.caption(format!(
        "Mean and standard deviation over {} shuffles. Certified within: how far the rate of all patterns can be from nu, whatever the data. Test set: the share below the threshold as it stands at the end of the pass; nothing is learned from the test set.",
        outcome.passes(PAPER).len()
    ))
}

fn weeding(page: &mut Page, outcome: &Outcome) {
    page.section("Are they badly written?");
    page.text(
        "A classifier is trained with labels (max_margin, the same kernel, one pass). If novel digits are badly written, it misreads more of them than of others. The detector has not seen a label; its step sizes follow from nu.",
    );
    let head = ["of the 50 most novel test digits", "misread, nu = 0.01", "nu = 0.05", "nu = 0.2"];
    let mut table = Table::new(&head);
    for setting in Setting::all(RATES[0]) {
        let name = if setting.paper_steps { setting.words() } else { setting.words().replace("0.01", "nu") };
        let cells = RATES.map(|nu| outcome.wrong(outcome.passes(Setting { nu, ..setting })).percent());
        table = table.row(&[&[name], cells.as_slice()].concat());
    }
    let same = |name: &str, value: f64| [&[name.to_owned()], [text::percent(value), "".into(), "".into()].as_slice()].concat();
    table = table.row(&same("farthest from the kernel mean (all patterns kept)", outcome.kernel_mean));
    table = table.row(&same("any 50, on average", outcome.yardstick.wrong_of_all()));
    page.table(table.caption("Mean and standard deviation over the shuffles."));
}

fn speed(page: &mut Page, outcome: &Outcome) {
    page.section("Patterns per second");
    let mut table = Table::new(&["learning", "nu", "terms at the end", "patterns per second", "against the paper"]);
    table = table.quoted(&["paper: MATLAB, 433 MHz Celeron", "0.01", "", "more than 333", "1"]);
    for speed in &outcome.speeds {
        let terms = outcome.passes(Setting { nu: speed.nu, ..PAPER })[0].terms;
        for (how, rate) in [("in one call", speed.block), ("one pattern per call", speed.single)] {
            let times = format!("{}×", text::count((rate / PAPER_SPEED).round()));
            table = table.row(&[how.into(), speed.nu.to_string(), text::count(terms as f64), text::speed(rate), times]);
        }
    }
    page.table(table.caption("Steps 0.5/√t, one thread, the best of five. Both ways learn the same, to the last bit."));
}
