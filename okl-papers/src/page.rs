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
//! All text is plain and is escaped where it is written.

use maud::{Markup, html};
use okl_cli::report::chart::Chart;
use okl_cli::report::page::{document, grid};

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
    /// The name of the figure.
    pub name: String,
    /// The value to compare it with.
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

    fn html(&self) -> Markup {
        let cell = |row: usize, column: usize, text: &str| {
            html! {
                @if column == 0 { th scope="row" { (text) } }
                @else if self.best.contains(&(row, column)) { td { b { (text) } } }
                @else { td { (text) } }
            }
        };
        html! {
            figure {
                div.scroll {
                    table.figures.worded[self.worded] {
                        thead { tr { @for name in &self.head { th scope="col" { (name) } } } }
                        tbody {
                            @for (row, (quoted, cells)) in self.rows.iter().enumerate() {
                                tr.quoted[*quoted] { @for (column, text) in cells.iter().enumerate() { (cell(row, column, text)) } }
                            }
                        }
                    }
                }
                figcaption { (self.caption) }
            }
        }
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
    fn html(&self) -> Markup {
        html! {
            figure {
                h3 { (self.title) }
                ul.images { @for (ink, text) in &self.images { li { img src=(image::data_uri(ink, self.width)) alt=(text); (text) } } }
                figcaption { (self.caption) }
            }
        }
    }
}

/// How to run it again.
#[derive(Default)]
pub struct Footer {
    /// The command line.
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

    /// Adds a heading.
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
        let sections = html! {
            @for (title, blocks) in &self.sections {
                section id=(slug(title)) { h2 { (title) } div.stack { @for block in blocks { (block.html()) } } }
            }
            (footer.html())
        };
        document(&self.title, &self.lead, &sections, STYLE)
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
    fn html(&self) -> Markup {
        match self {
            Block::Text(text) => html! { p.words { (text) } },
            Block::Tiles(tiles) => html! {
                ul.tiles.across3[tiles.len().is_multiple_of(3)].across4[!tiles.len().is_multiple_of(3)] {
                    @for tile in tiles { li { b { (tile.value) } span { (tile.name) } small { (tile.note) } } }
                }
            },
            Block::Table(table) => table.html(),
            Block::Charts(charts) if charts.iter().any(|c| c.wide) => html! { @for chart in charts { (chart.html()) } },
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
    fn html(&self) -> Markup {
        html! {
            section #reproduce {
                h2 { "How to run this" }
                pre.command { (self.command) }
                p { "The same seed gives the same page, times excepted, whatever the machine." }
                div.scroll {
                    table.settings {
                        tbody { @for (name, value) in &self.facts { tr { th scope="row" { (name) } td { (value) } } } }
                    }
                }
                @if !self.sources.is_empty() {
                    p { "The data:" }
                    ul.words { @for source in &self.sources { li { (source) } } }
                }
            }
        }
    }
}

/// A heading as an anchor.
fn slug(title: &str) -> String {
    let letters = title.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' });
    letters.collect::<String>().split_whitespace().collect::<Vec<_>>().join("-")
}
