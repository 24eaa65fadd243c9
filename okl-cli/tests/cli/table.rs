//! The lines of the table.

use okl_cli::metrics::figure;
use okl_cli::table::{aligned, speed, wrapped};

#[test]
fn a_speed_has_no_fraction() {
    assert_eq!([3246.0831, 0.2, 1e6].map(speed), ["3,246 rows/s", "0 rows/s", "1,000,000 rows/s"]);
}

/// Every figure has room: the longest have nine characters.
#[test]
fn a_line_of_long_figures_fits_a_terminal() {
    let long = figure(-1.776e-15).trim_start_matches('-').to_owned();
    assert_eq!(long.len(), 9);
    let [a, b, c, d, p, f, g] = [(); 7].map(|()| long.clone());
    assert_eq!(aligned([a, b, c, d, p, "1000000".into(), f, g]).chars().count(), 80);
}

/// A line is not broken inside of a number.
#[test]
fn a_number_is_not_broken() {
    for pad in 60..80 {
        let text = wrapped(&format!("{} 2,593,000 rows of a,b,cde", "x".repeat(pad)), "  ");
        assert!(text.contains("2,593,000") && text.lines().all(|line| line.chars().count() <= 82), "{text}");
    }
}
