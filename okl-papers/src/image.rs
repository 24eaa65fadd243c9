//! Small grey images inside a page: PNG, which for a digit of 16 x 16 pixels is a tenth of the same in SVG.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use png::{BitDepth, ColorType, Compression, Encoder, Filter};

/// A grey image as a `data:` address; `ink` has a row after the other, 0 is white and 1 is black.
pub fn data_uri(ink: &[f32], width: usize) -> String {
    format!("data:image/png;base64,{}", BASE64_STANDARD.encode(png(ink, width)))
}

/// A PNG of 8 bits grey.
fn png(ink: &[f32], width: usize) -> Vec<u8> {
    let grey: Vec<u8> = ink.iter().map(|ink| (255.0 * (1.0 - ink.clamp(0.0, 1.0))).round() as u8).collect();
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, width as u32, (ink.len() / width) as u32);
    encoder.set_color(ColorType::Grayscale);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::High);
    encoder.set_filter(Filter::NoFilter);
    encoder.write_header().and_then(|mut writer| writer.write_image_data(&grey)).expect("writing to memory does not fail");
    out
}
