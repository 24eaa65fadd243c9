//! Small grey images inside a page: PNG, which for a digit of 16 x 16 pixels is a tenth of the same in SVG.

use std::io::Write;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

/// A grey image as a `data:` address; `ink` has a row after the other, 0 is white and 1 is black.
pub fn data_uri(ink: &[f32], width: usize) -> String {
    format!("data:image/png;base64,{}", base64(&png(ink, width)))
}

/// A PNG of 8 bits grey.
fn png(ink: &[f32], width: usize) -> Vec<u8> {
    let grey = |ink: &f32| (255.0 * (1.0 - ink.clamp(0.0, 1.0))).round() as u8;
    // Every line begins with its filter: none.
    let lines: Vec<u8> = ink.chunks_exact(width).flat_map(|line| std::iter::once(0).chain(line.iter().map(grey))).collect();
    let mut header = Vec::new();
    header.extend((width as u32).to_be_bytes());
    header.extend(((ink.len() / width) as u32).to_be_bytes());
    header.extend([8, 0, 0, 0, 0]);
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, body) in [(b"IHDR", header), (b"IDAT", deflate(&lines)), (b"IEND", Vec::new())] {
        out.extend((body.len() as u32).to_be_bytes());
        let mut crc = Crc::new();
        crc.update(kind);
        crc.update(&body);
        out.extend(kind);
        out.extend(body);
        out.extend(crc.sum().to_be_bytes());
    }
    out
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("writing to memory does not fail")
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let number = (0..3).fold(0u32, |n, i| n << 8 | u32::from(three.get(i).copied().unwrap_or(0)));
        for i in 0..4 {
            let digit = DIGITS[(number >> (18 - 6 * i)) as usize & 63];
            out.push(if i <= three.len() { digit.into() } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// RFC 4648, section 10.
    #[test]
    fn base64_is_the_standard_one() {
        let known = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE=")];
        known.iter().for_each(|(plain, coded)| assert_eq!(base64(plain.as_bytes()), *coded));
    }

    #[test]
    fn a_png_holds_the_pixels() {
        let png = png(&[0.0, 1.0, 0.5, 2.0, -1.0, 1.0], 3);
        assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
        assert_eq!(&png[16..29], &[0, 0, 0, 3, 0, 0, 0, 2, 8, 0, 0, 0, 0]);
        let length = u32::from_be_bytes([png[33], png[34], png[35], png[36]]) as usize;
        let mut lines = Vec::new();
        flate2::read::ZlibDecoder::new(&png[41..41 + length]).read_to_end(&mut lines).unwrap();
        assert_eq!(lines, [0, 255, 0, 128, 0, 0, 255, 0]);
    }
}
