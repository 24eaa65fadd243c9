//! A page about one experiment: sections of words, figures, tables, charts and small images, in one HTML file.
//!
//! ```text
//! let mut page = Page::new("Title", "What is seen, in two sentences.");
//! page.section("Against the paper");
//! page.text("One paragraph.");
//! page.table(Table::new(&["method", "error"]).quoted(&["paper", "1.2 %"]).row(&["okl", "1.1 %"]).caption("Of the test set."));
//! page.charts(vec![Chart { caption, ..Chart::new("Error", "share mistaken", x, y, lines) }]);
//! ```
//!
//! All text is plain and escaped here; captions of charts are HTML.

use crate::report::chart::Chart;
use crate::report::page::{document, grid, section, tile, wrapped};
use crate::report::text::escape;

use super::image;

const STYLE: &str = include_str!("page.css");

/// A page in the making.
pub struct Page {
    title: String,
    lead: String,
    sections: Vec<(String, Vec<Block>)>,
}

enum Block {
    Text(String),
    Tiles(Vec<Tile>),
    Table(Table),
    Charts(Vec<Chart>),
    Images(Images),
}

/// A figure that stands out.
pub struct Tile {
    /// The figure.
    pub value: String,
    /// What it is.
    pub name: String,
    /// What to hold it against.
    pub note: String,
}

impl Tile {
    /// A figure, what it is, and what to hold it against.
    pub fn new(value: impl Into<String>, name: impl Into<String>, note: impl Into<String>) -> Self {
        Tile { value: value.into(), name: name.into(), note: note.into() }
    }
}

/// A table whose first column names the rows.
#[derive(Default)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<(bool, Vec<String>)>,
    best: Vec<(usize, usize)>,
    worded: bool,
    caption: String,
}

impl Table {
    /// The names of the columns.
    pub fn new<S: AsRef<str>>(head: &[S]) -> Self {
        Table { head: owned(head), ..Table::default() }
    }

    /// A row of our own.
    pub fn row<S: AsRef<str>>(mut self, cells: &[S]) -> Self {
        self.rows.push((false, owned(cells)));
        self
    }

    /// A row that quotes a paper.
    pub fn quoted<S: AsRef<str>>(mut self, cells: &[S]) -> Self {
        self.rows.push((true, owned(cells)));
        self
    }

    /// Makes a cell stand out, as the best of its column; both are counted from 0, the names of the rows included.
    pub fn best(mut self, row: usize, column: usize) -> Self {
        self.best.push((row, column));
        self
    }

    /// Its cells hold words, which begin at the left and may break.
    pub fn worded(self) -> Self {
        Table { worded: true, ..self }
    }

    /// Words below it.
    pub fn caption(self, caption: impl Into<String>) -> Self {
        Table { caption: caption.into(), ..self }
    }

    fn html(&self) -> String {
        let head: String = self.head.iter().map(|h| format!("<th scope=\"col\">{}</th>", escape(h))).collect();
        let row = |(number, (quoted, cells)): (usize, &(bool, Vec<String>))| {
            let cell = |(i, text): (usize, &String)| match i {
                0 => format!("<th scope=\"row\">{}</th>", escape(text)),
                _ if self.best.contains(&(number, i)) => format!("<td><b>{}</b></td>", escape(text)),
                _ => format!("<td>{}</td>", escape(text)),
            };
            let class = if *quoted { " class=\"quoted\"" } else { "" };
            format!("<tr{class}>{}</tr>", cells.iter().enumerate().map(cell).collect::<String>())
        };
        let worded = if self.worded { " worded" } else { "" };
        format!(
            "<figure><div class=\"scroll\"><table class=\"figures{worded}\"><thead><tr>{head}</tr></thead><tbody>{}</tbody></table></div><figcaption>{}</figcaption></figure>",
            self.rows.iter().enumerate().map(row).collect::<String>(),
            escape(&self.caption)
        )
    }

    /// In columns, for a terminal.
    fn plain(&self) -> String {
        let lines = || std::iter::once(&self.head).chain(self.rows.iter().map(|(_, cells)| cells));
        let width = |column: usize| lines().filter_map(|l| l.get(column)).map(|c| c.chars().count()).max().unwrap_or(0);
        let cell = |(i, text): (usize, &String)| match i {
            0 => format!("  {text:<0$}", width(0)),
            _ => format!("  {text:>0$}", width(i)),
        };
        let line = |cells: &Vec<String>| cells.iter().enumerate().map(cell).collect::<String>().trim_end().to_owned() + "\n";
        lines().map(line).collect()
    }
}

fn owned<S: AsRef<str>>(texts: &[S]) -> Vec<String> {
    texts.iter().map(|t| t.as_ref().to_owned()).collect()
}

/// Small grey images side by side, with a line of text under each.
pub struct Images {
    /// Pixels per line.
    pub width: usize,
    /// The pixels (0 is white, 1 is black) and the text.
    pub images: Vec<(Vec<f32>, String)>,
    /// Above them.
    pub title: String,
    /// Below them.
    pub caption: String,
}

impl Images {
    fn html(&self) -> String {
        let one = |(ink, text): &(Vec<f32>, String)| {
            let text = escape(text);
            format!("<li><img src=\"{}\" alt=\"{text}\">{text}</li>", image::data_uri(ink, self.width))
        };
        format!(
            "<figure><h3>{}</h3><ul class=\"images\">{}</ul><figcaption>{}</figcaption></figure>",
            escape(&self.title),
            self.images.iter().map(one).collect::<String>(),
            escape(&self.caption)
        )
    }
}

/// How to run it again.
#[derive(Default)]
pub struct Footer {
    /// What to type.
    pub command: String,
    /// Version, seed, machine.
    pub facts: Vec<(String, String)>,
    /// Where the data come from.
    pub sources: Vec<String>,
}

impl Page {
    /// With nothing on it yet.
    pub fn new(title: impl Into<String>, lead: impl Into<String>) -> Self {
        Page { title: title.into(), lead: lead.into(), sections: Vec::new() }
    }

    /// What follows is under this heading.
    pub fn section(&mut self, title: impl Into<String>) -> &mut Self {
        self.sections.push((title.into(), Vec::new()));
        self
    }

    fn push(&mut self, block: Block) -> &mut Self {
        if self.sections.is_empty() {
            self.section("In figures");
        }
        let last = self.sections.len() - 1;
        self.sections[last].1.push(block);
        self
    }

    /// A paragraph.
    pub fn text(&mut self, text: impl Into<String>) -> &mut Self {
        self.push(Block::Text(text.into()))
    }

    /// Figures that stand out.
    pub fn tiles(&mut self, tiles: Vec<Tile>) -> &mut Self {
        self.push(Block::Tiles(tiles))
    }

    /// A table.
    pub fn table(&mut self, table: Table) -> &mut Self {
        self.push(Block::Table(table))
    }

    /// Charts two by two, or each over the whole width if it says so.
    pub fn charts(&mut self, charts: Vec<Chart>) -> &mut Self {
        self.push(Block::Charts(charts))
    }

    /// Small images.
    pub fn images(&mut self, images: Images) -> &mut Self {
        self.push(Block::Images(images))
    }

    /// The whole file.
    pub fn html(&self, footer: &Footer) -> String {
        let body = |(title, blocks): &(String, Vec<Block>)| {
            let blocks: Vec<String> = blocks.iter().map(Block::html).collect();
            section(&slug(title), &escape(title), format!("<div class=\"stack\">{}</div>", blocks.concat()))
        };
        let sections: String = self.sections.iter().map(body).collect();
        document(&self.title, &escape(&self.lead), &(sections + &footer.html()), STYLE)
    }

    /// Figures and tables for a terminal.
    pub fn plain(&self) -> String {
        let mut out = format!("{}\n{}\n", self.title, self.lead);
        for (title, blocks) in &self.sections {
            let blocks: String = blocks.iter().map(Block::plain).collect();
            if !blocks.is_empty() {
                out += &format!("\n{title}\n{blocks}");
            }
        }
        out
    }
}

impl Block {
    fn html(&self) -> String {
        match self {
            Block::Text(text) => format!("<p class=\"words\">{}</p>", escape(text)),
            Block::Tiles(tiles) => {
                let all = tiles.iter().map(|t| tile(escape(&t.value), &escape(&t.name), &escape(&t.note)));
                let across = if tiles.len().is_multiple_of(3) { 3 } else { 4 };
                format!("<ul class=\"tiles across{across}\">{}</ul>", all.collect::<String>())
            }
            Block::Table(table) => table.html(),
            Block::Charts(charts) if charts.iter().any(|c| c.wide) => charts.iter().map(Chart::html).collect(),
            Block::Charts(charts) => grid(charts.iter().map(Chart::html)),
            Block::Images(images) => images.html(),
        }
    }

    fn plain(&self) -> String {
        match self {
            Block::Tiles(tiles) => tiles.iter().map(|t| format!("  {}: {} ({})\n", t.name, t.value, t.note)).collect(),
            Block::Table(table) => table.plain(),
            _ => String::new(),
        }
    }
}

impl Footer {
    fn html(&self) -> String {
        let fact = |(name, value): &(String, String)| {
            format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>", escape(name), escape(value))
        };
        let sources: String = self.sources.iter().map(|s| format!("<li>{}</li>", escape(s))).collect();
        let sources = if sources.is_empty() { sources } else { format!("<p>The data:</p><ul class=\"words\">{sources}</ul>") };
        let body = format!(
            "<pre class=\"command\">{}</pre><p>The same seed gives the same page, times excepted, whatever the machine.</p><div class=\"scroll\"><table class=\"settings\"><tbody>{}</tbody></table></div>{sources}",
            escape(&wrapped(&self.command)),
            self.facts.iter().map(fact).collect::<String>()
        );
        section("reproduce", "How to run this", body)
    }
}

/// A heading as an anchor.
fn slug(title: &str) -> String {
    let letters = title.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' });
    letters.collect::<String>().split_whitespace().collect::<Vec<_>>().join("-")
}
