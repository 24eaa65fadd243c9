//! The table of short names.

use crate::short_names::ShortNames;

/// The longest name of the table, in bytes.
const LONGEST: usize = 23;

/// The table finds every name that was added, also those that differ in their zeros or ends only, and no other one.
#[test]
fn names_are_found_again() {
    let mut table = ShortNames::default();
    let names: Vec<Vec<u8>> = (0..5000u32)
        .map(|i| i.to_string().repeat(1 + i as usize % 5).into_bytes())
        .chain((0..LONGEST).map(|zeros| vec![0; zeros + 1]))
        .chain((1..=LONGEST).map(|length| vec![b'a'; length]))
        .collect();
    let distinct: std::collections::BTreeSet<&Vec<u8>> = names.iter().collect();
    for (feature, name) in distinct.iter().enumerate() {
        assert_eq!(table.get(name), None, "{name:?}");
        table.insert(name, feature as u32);
    }
    for (feature, name) in distinct.iter().enumerate() {
        assert_eq!(table.get(name), Some(feature as u32), "{name:?}");
    }
    assert_eq!(table.get(b"x"), None);
    assert_eq!((table.get(b""), table.get(&[b'a'; LONGEST + 1])), (None, None));
}
