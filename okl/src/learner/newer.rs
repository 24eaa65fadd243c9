//! A version of okl that has more to save than this one reads the files of this one.
//!
//! In the crate's own tests a setting, a field of the header and a number of every head exist that no version of okl has, all of them
//! called `not_yet`. The golden files were written without them.

use std::path::PathBuf;

use safetensors::SafeTensors;

use crate::{Learner, snapshot::FORMAT};

/// The model files in tests/golden, with their names.
fn golden_files() -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let models = files.filter(|path| path.extension().is_some_and(|ending| ending == "okl"));
    models.map(|path| (path.display().to_string(), std::fs::read(path).unwrap())).collect()
}

fn count(bytes: &[u8]) -> usize {
    bytes.windows(7).filter(|text| text == b"not_yet").count()
}

/// The tensors of a file but for the checksum: names, and bytes in the order of the names.
fn tensors(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let file = SafeTensors::deserialize(bytes).unwrap();
    let all = file.tensors().into_iter().filter(|(name, _)| name != "checksum");
    let mut all: Vec<_> = all.map(|(name, view)| (name, view.data().to_vec())).collect();
    all.sort();
    all
}

#[test]
fn a_version_with_more_to_save_reads_the_files_of_this_one() {
    let files = golden_files();
    assert!(files.iter().filter(|(name, _)| name.contains(&format!("-{FORMAT}."))).count() >= 6);
    for (name, bytes) in files {
        assert_eq!(count(&bytes), 0, "{name}");
        let mut loaded = Learner::from_bytes(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(loaded.config().not_yet, 0, "{name}: what the setting means where it is absent");
        let newer = loaded.to_bytes();
        assert_eq!(count(&newer), 3, "{name}: the setting, the field, the number of the heads");
        assert!(Learner::from_bytes(&newer).unwrap().to_bytes() == newer, "{name}");
        loaded.config.not_yet = 7;
        assert_eq!(Learner::from_bytes(&loaded.to_bytes()).unwrap().config().not_yet, 7, "{name}");
        if !name.contains(&format!("-{FORMAT}.")) || loaded.warming_up() {
            continue; // what a warm-up has learned so far is learned again from its rows when it is loaded
        }
        // Every tensor is as it was; where numbers have names there may be more of them, at the end.
        for ((old, before), (new, after)) in tensors(&bytes).iter().zip(&tensors(&newer)) {
            assert_eq!(old, new, "{name}");
            let named = ["bank", "budget", "counts"].contains(&old.as_str()) || old.ends_with(".scalars");
            assert!(if named { after.starts_with(before) } else { after == before }, "{name}: {old}");
        }
        assert_eq!(tensors(&bytes).len(), tensors(&newer).len(), "{name}");
    }
}
