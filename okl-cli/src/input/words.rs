//! The words of a text, and sequences of them.

/// The largest number of words in a sequence.
pub const MOST_WORDS: u8 = 5;

/// Calls `each` with every word of the text and, up to `longest`, every sequence of neighbouring words, joined by spaces. Words are runs of letters and
/// digits, in lower case.
pub(super) fn words<E>(text: &str, longest: u8, mut each: impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    for length in 1..=usize::from(longest.max(1)) {
        for sequence in words.windows(length) {
            each(&sequence.join(" "))?;
        }
    }
    Ok(())
}
