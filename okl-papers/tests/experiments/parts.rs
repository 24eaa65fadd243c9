//! The small parts of pages and streams.

use std::io::Cursor;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use okl_cli::random::Random;
use okl_papers::image::data_uri;
use okl_papers::norma_losses::noise::{MEDIAN, Noise, gaussian_quantile};
use okl_papers::stats::Spread;
use okl_papers::words::{seconds, typed};
use png::{BitDepth, ColorType};

#[test]
fn the_deviation_is_that_of_a_sample() {
    let spread = Spread::of([1.0, 2.0, 3.0, 4.0]);
    assert_eq!(spread.mean, 2.5);
    assert!((spread.deviation * spread.deviation - 5.0 / 3.0).abs() < 1e-15);
    assert_eq!(Spread::of([7.0]), Spread { mean: 7.0, deviation: 0.0 });
}

#[test]
fn the_deviation_has_two_digits() {
    let words = |mean, deviation| Spread { mean, deviation }.figure().replace('\u{a0}', " ");
    assert_eq!(words(0.046_61, 0.004_9), "0.0466 ± 0.0049");
    assert_eq!(words(-12.345, 3.21), "−12.3 ± 3.2");
    assert_eq!(words(7.0, 0.0), "7.000 ± 0");
}

#[test]
fn settings_have_no_more_digits_than_they_need() {
    let written = [1e-5, 1e-5 / 3.0, 3e-4, 0.001, 0.0078125, 0.1, 10.0, 0.0].map(typed).join(" ");
    assert_eq!(written, "1e-5 3.33e-6 3e-4 0.001 0.0078125 0.1 10 0");
}

#[test]
fn durations_have_a_unit() {
    let written = [0.0123, 0.456, 12.3, 1200.0].map(seconds).join(", ");
    assert_eq!(written, "12\u{a0}ms, 0.46\u{a0}s, 12\u{a0}s, 20\u{a0}min");
}

#[test]
fn a_png_holds_the_pixels() {
    let uri = data_uri(&[0.0, 1.0, 0.5, 2.0, -1.0, 1.0], 3);
    let bytes = BASE64_STANDARD.decode(uri.strip_prefix("data:image/png;base64,").unwrap()).unwrap();
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height, info.color_type, info.bit_depth), (3, 2, ColorType::Grayscale, BitDepth::Eight));
    assert_eq!(pixels, [255, 0, 128, 0, 255, 0]);
}

/// P(|N| <= 1.959963984540054) = 0.95, and what follows from the other laws' distribution functions.
#[test]
fn quantiles_are_those_of_the_laws() {
    assert!((gaussian_quantile(0.95) - 1.959_963_984_540_054).abs() < 1e-12);
    let student = Noise::Student.standard(0.9);
    assert!((student / (2.0 + student * student).sqrt() - 0.9).abs() < 1e-14);
    assert!(Noise::ALL.iter().all(|noise| (noise.exceeded_by(0.5) - MEDIAN).abs() < 1e-14));
}

/// Of 40,000 values the share beyond a quantile is within five deviations of what it should be.
#[test]
fn noise_follows_its_law() {
    for noise in Noise::ALL {
        let mut random = Random::new(3);
        let values: Vec<f64> = (0..40_000).map(|_| noise.draw(&mut random)).collect();
        for nu in [0.1, 0.5] {
            let beyond = values.iter().filter(|v| v.abs() > noise.exceeded_by(nu)).count() as f64;
            let deviation = (40_000.0 * nu * (1.0 - nu)).sqrt();
            assert!((beyond - 40_000.0 * nu).abs() < 5.0 * deviation, "{}: {beyond}", noise.name());
        }
        let positive = values.iter().filter(|v| **v > 0.0).count() as f64;
        assert!((positive - 20_000.0).abs() < 500.0, "{}: {positive}", noise.name());
    }
}
