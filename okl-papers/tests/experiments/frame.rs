//! What all pages have in common, by the smoke version of every experiment.

use std::sync::OnceLock;

use okl_papers::page::{Footer, Images, Page, Table, Tile};
use okl_papers::{Context, EXPERIMENTS, find};

/// The seed of the pages that several tests look at.
pub const SEED: u64 = 7;

/// Runs an experiment's smoke version. Returns its page.
fn run(name: &str, seed: u64) -> String {
    let experiment = find(name).expect("an experiment of that name");
    (experiment.run)(&Context::smoke(seed)).expect("a smoke version runs").html(&Footer::default())
}

/// The page of an experiment's smoke version with [`SEED`]. The experiment runs once for all tests.
pub fn page(name: &str) -> &'static str {
    static PAGES: [OnceLock<String>; EXPERIMENTS.len()] = [const { OnceLock::new() }; EXPERIMENTS.len()];
    let place = EXPERIMENTS.iter().position(|e| e.name == name).expect("an experiment of that name");
    PAGES[place].get_or_init(|| run(name, SEED))
}

/// Everything of the page but its style and script.
fn words(html: &str) -> &str {
    let body = html.find("<body>").expect("a body");
    &html[body..html.rfind("<script>").expect("a script")]
}

#[test]
fn every_page_stands_alone_and_shows_numbers() {
    for experiment in EXPERIMENTS {
        let html = page(experiment.name);
        for outside in ["http", "url(", "<link", "src=\"/"] {
            assert!(!html.contains(outside), "{} refers to something outside: {outside}", experiment.name);
        }
        for number in ["NaN", ">inf", " inf"] {
            assert!(!words(html).contains(number), "{} shows a number that is none", experiment.name);
        }
    }
}

// Two tests, because each draws all pages and they run side by side.
#[test]
fn the_same_seed_gives_the_same_page() {
    for experiment in EXPERIMENTS {
        assert!(page(experiment.name) == run(experiment.name, SEED), "{}: the same seed, another page", experiment.name);
    }
}

#[test]
fn another_seed_gives_another_page() {
    for experiment in EXPERIMENTS {
        assert!(page(experiment.name) != run(experiment.name, SEED + 1), "{}: the seed does not matter", experiment.name);
    }
}

#[test]
fn random_numbers_depend_on_seed_and_name_alone() {
    let context = Context::smoke(1);
    let first = context.random("a").bits();
    context.random("b").bits();
    assert_eq!(context.random("a").bits(), first);
    assert_ne!(context.random("b").bits(), first);
    assert_ne!(Context::smoke(2).random("a").bits(), first);
}

#[test]
fn a_page_escapes_what_it_is_given() {
    let evil = "<img src=x onerror=alert(1)>";
    let mut page = Page::new(evil, evil);
    page.section(evil).text(evil).tiles(vec![Tile::new(evil, evil, evil)]);
    page.table(Table::new(&[evil]).row(&[evil, evil]).best(0, 1).caption(evil));
    page.images(Images { width: 1, images: vec![(vec![0.5], evil.into())], title: evil.into(), caption: evil.into() });
    let footer = Footer { command: evil.into(), facts: vec![(evil.into(), evil.into())], sources: vec![evil.into()] };
    let html = page.html(&footer);
    assert!(!html.contains("<img src=x"));
    // Title and heading, lead, section, text; a tile 3, the table 4, the images 4, the footer 4.
    assert_eq!(html.matches("&lt;img src=x").count(), 2 + 1 + 1 + 1 + 3 + 4 + 4 + 4);
}

#[test]
fn a_table_lines_up_on_a_terminal() {
    let mut page = Page::new("title", "lead");
    page.section("section").table(Table::new(&["name", "η"]).row(&["long name", "1"]).quoted(&["x", "1.25"]));
    assert_eq!(page.plain(), "title\nlead\n\nsection\n  name          η\n  long name     1\n  x          1.25\n");
}
