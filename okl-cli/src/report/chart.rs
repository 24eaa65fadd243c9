//! Charts as SVG that stretches to any width. Labels are HTML, so that they stay readable on a phone.
//!
//! The drawing has a box of 1000 x 1000 that is stretched (`preserveAspectRatio="none"`); strokes do not scale. A dot is a line
//! of length 0 with round ends, because a circle would be stretched.

use std::borrow::Cow;
use std::fmt::Write;

use maud::{Markup, PreEscaped, html};

use super::axis::{Axis, Tick, Unit};

/// One line of a chart.
pub struct Line {
    /// The name in the legend.
    pub name: String,
    /// One of the colours of the style sheet: `a` to `h`, of which `c` is grey and dashed; `a dashed` is possible, too.
    pub look: &'static str,
    /// From left to right; a value that is not finite leaves a gap.
    pub points: Vec<(f64, f64)>,
    /// A band around it: x, the lower and the upper value. May be empty.
    pub band: Vec<(f64, f64, f64)>,
}

impl Line {
    /// Without a band.
    pub fn new(name: impl Into<String>, look: &'static str, points: Vec<(f64, f64)>) -> Self {
        Line { name: name.into(), look, points, band: Vec::new() }
    }

    /// Within a band.
    pub fn within(self, band: Vec<(f64, f64, f64)>) -> Self {
        Line { band, ..self }
    }
}

/// Lines, and perhaps dots, over examples or something else.
pub struct Chart {
    /// The title above the chart.
    pub title: Cow<'static, str>,
    /// The name of the vertical axis.
    pub measures: Cow<'static, str>,
    /// The name of the horizontal axis.
    pub over: &'static str,
    /// The lines, the most important last.
    pub lines: Vec<Line>,
    /// The name and positions of single points.
    pub dots: Option<(String, Vec<(f64, f64)>)>,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The caption: a description of the chart.
    pub caption: String,
    /// Whether the chart is as wide as the page.
    pub wide: bool,
}

/// The side of the drawing.
const SIDE: f64 = 1000.0;

/// A coordinate as text, rounded to the resolution of a screen.
fn coordinate(share: f64) -> String {
    let text = format!("{:.1}", (SIDE * share).clamp(-9.0 * SIDE, 9.0 * SIDE));
    text.strip_suffix(".0").map_or(text.clone(), String::from)
}

impl Chart {
    /// A chart over examples, half as wide as the page, without dots and caption.
    pub fn new(
        title: impl Into<Cow<'static, str>>,
        measures: impl Into<Cow<'static, str>>,
        x: Axis,
        y: Axis,
        lines: Vec<Line>,
    ) -> Self {
        let (title, measures) = (title.into(), measures.into());
        Chart { title, measures, over: "examples", lines, dots: None, x, y, caption: String::new(), wide: false }
    }

    /// The chart as a `figure`.
    pub fn html(&self) -> Markup {
        html! {
            figure.chart.wide[self.wide] {
                h3 { (self.title) }
                p.measures { (self.measures) @if self.y.log { ", logarithmic" } }
                (self.legend())
                (self.plot())
                figcaption { (self.caption) }
            }
        }
    }

    fn legend(&self) -> Markup {
        let lines = self.lines.iter().rev().map(|l| (l.look, &l.name));
        let items: Vec<_> = lines.chain(self.dots.iter().map(|(name, _)| ("dot", name))).collect();
        html! {
            @if items.len() > 1 {
                ul.legend { @for (look, name) in items { li { i class={ "key " (look) } {} (name) } } }
            }
        }
    }

    fn plot(&self) -> Markup {
        let bands: String = self.lines.iter().filter(|l| !l.band.is_empty()).map(|l| self.band(l)).collect();
        let lines: String = self.lines.iter().map(|l| self.path(l)).collect();
        let dots = self.dots.as_ref().map_or(String::new(), |(_, dots)| self.dots(dots));
        let names: Vec<&str> = self.lines.iter().map(|l| l.name.as_str()).collect();
        let (x, y) = (&self.x, &self.y);
        let unit = match y.unit {
            Unit::Percent => "%",
            Unit::Count => "n",
            Unit::Plain => "",
        };
        let values = |l: &Line| l.points.iter().map(|p| p.1).chain(l.band.iter().flat_map(|b| [b.1, b.2])).collect::<Vec<_>>();
        let outside = self.lines.iter().flat_map(values).any(|v| !(-1e-6..=1.000_001).contains(&y.place(v)) && v.is_finite());
        let axis = |axis: &Axis| format!("{} {} {}", axis.low, axis.high, u8::from(axis.log));
        let read_off = ReadOff { clip: outside, over: self.over, x: axis(x), y: axis(y), unit, names: names.join("|") };
        frame(
            &format!("{bands}{lines}{dots}"),
            &x.ticks(8),
            &y.ticks(if y.log { 6 } else { 5 }),
            self.over,
            Some(&read_off),
            &format!("{}: {}", self.title, self.measures),
        )
    }

    fn path(&self, line: &Line) -> String {
        let (mut d, mut pen_down) = (String::new(), false);
        for &(x, y) in &line.points {
            let drawable = y.is_finite() && (!self.y.log || y > 0.0) && (!self.x.log || x > 0.0);
            if drawable {
                let _ = write!(d, "{}{}", if pen_down { "L" } else { "M" }, self.at(x, y));
            }
            pen_down = drawable;
        }
        format!("<path class=\"line {}\" d=\"{d}\"/>", line.look)
    }

    fn at(&self, x: f64, y: f64) -> String {
        format!("{} {}", coordinate(self.x.place(x)), coordinate(1.0 - self.y.place(y)))
    }

    /// The outline of a band: the lower edge from left to right, the upper edge back.
    fn band(&self, line: &Line) -> String {
        let drawable = |p: &&(f64, f64, f64)| p.1.is_finite() && p.2.is_finite() && (!self.x.log || p.0 > 0.0);
        let there: Vec<_> = line.band.iter().filter(drawable).collect();
        let lower = there.iter().map(|p| self.at(p.0, p.1));
        let upper = there.iter().rev().map(|p| self.at(p.0, p.2));
        format!("<path class=\"band {}\" d=\"M{}Z\"/>", line.look, lower.chain(upper).collect::<Vec<_>>().join("L"))
    }

    fn dots(&self, dots: &[(f64, f64)]) -> String {
        let at = |&(x, y): &(f64, f64)| format!("M{}h0", self.at(x, y));
        format!("<path class=\"dots\" d=\"{}\"/>", dots.iter().map(at).collect::<String>())
    }
}

/// What the script needs to show the values under the pointer.
pub struct ReadOff<'a> {
    /// Whether a line leaves the frame.
    pub clip: bool,
    /// The name of the horizontal axis.
    pub over: &'a str,
    /// Beginning and end of the horizontal axis, and 1 if it is logarithmic.
    pub x: String,
    /// The same of the vertical axis.
    pub y: String,
    /// The unit of the vertical axis.
    pub unit: &'a str,
    /// The names of the lines, separated by `|`.
    pub names: String,
}

/// A drawing (SVG) between its axes.
pub fn frame(drawing: &str, x: &[Tick], y: &[Tick], x_name: &str, data: Option<&ReadOff<'_>>, label: &str) -> Markup {
    let mut grid = String::new();
    y.iter().for_each(|(at, _)| grid += &format!("M0 {}H1000", coordinate(1.0 - at)));
    x.iter().for_each(|(at, _)| grid += &format!("M{} 0V1000", coordinate(*at)));
    // If there are many labels, a narrow screen hides every second one; the label at 0 stays.
    let many = x.len() > 4;
    html! {
        div.frame {
            div.plot
                data-clip=[data.map(|d| u8::from(d.clip))]
                data-over=[data.map(|d| d.over)]
                data-x=[data.map(|d| &d.x)]
                data-y=[data.map(|d| &d.y)]
                data-unit=[data.map(|d| d.unit)]
                data-names=[data.map(|d| &d.names)]
            {
                svg viewBox="0 0 1000 1000" preserveAspectRatio="none" role="img" aria-label=(label) {
                    path.rules d=(grid) {}
                    (PreEscaped(drawing))
                }
                @for (at, text) in y {
                    span.tick.y style=(format!("top:{:.2}%", 100.0 * (1.0 - at))) { (text) }
                }
                @for (i, (at, text)) in x.iter().enumerate() {
                    span.tick.x.alt[many && i % 2 == 1] style=(format!("left:{:.2}%", 100.0 * at)) { (text) }
                }
            }
            p.axis { (x_name) }
        }
    }
}
