//! The journal against a naive twin (a list of acknowledged payloads), on a disk that fails, fills up and crashes.

use std::path::Path;
use std::sync::Arc;

use okl_server::disk::Disk;
use okl_server::disk::memory::MemoryDisk;
use okl_server::journal::entry::{self, Ending};
use okl_server::journal::{Cut, Journal, JournalError};
use proptest::prelude::*;

const FOLDER: &str = "journal";

/// The journal, its entries and what was cut off.
type Opened = (Journal, Vec<Vec<u8>>, Option<Cut>);

/// Opens the journal and returns the entries after `after`.
fn open(disk: &MemoryDisk, after: u64) -> Result<Opened, JournalError> {
    let mut found = Vec::new();
    let mut expected = after;
    let (journal, cut) = Journal::open(Arc::new(disk.clone()), Path::new(FOLDER), 200, after, |number, payload| {
        expected += 1;
        assert_eq!(number, expected, "entries are consecutive");
        found.push(payload.to_vec());
        Ok(())
    })?;
    Ok((journal, found, cut))
}

#[derive(Clone, Debug)]
enum Step {
    /// Entries of these lengths, committed together; the next so many syncs fail, or there is room for so many bytes.
    Commit(Vec<usize>, u64, Option<usize>),
    /// The process ends and starts again.
    Restart,
    /// The power fails; this share of the bytes that were not synced is stored, and perhaps one of them is wrong.
    Crash(f64, Option<usize>),
    /// A snapshot contains all entries up to so many before the last.
    Snapshot(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let lengths = prop::collection::vec(0usize..80, 0..5);
    prop_oneof![
        4 => (lengths, prop_oneof![4 => Just(0u64), 1 => 1u64..4], prop_oneof![4 => Just(None), 1 => (0usize..200).prop_map(Some)])
            .prop_map(|(lengths, fails, room)| Step::Commit(lengths, fails, room)),
        1 => Just(Step::Restart),
        2 => (0.0..1.0, prop::option::of(0usize..300)).prop_map(|(share, wrong)| Step::Crash(share, wrong)),
        1 => (0u64..4).prop_map(Step::Snapshot),
    ]
}

/// What must be in the journal: all acknowledged payloads, and perhaps those of one commit that failed since the last repair.
#[derive(Default)]
struct Twin {
    acknowledged: Vec<Vec<u8>>,
    failed: Vec<Vec<Vec<u8>>>,
    /// The entries that a snapshot contains.
    covered: usize,
}

impl Twin {
    /// Compares with what was found. Entries of a failed commit may be there, in order; they count as acknowledged from then on.
    fn meet(&mut self, found: &[Vec<u8>]) {
        let kept = &self.acknowledged[self.covered..];
        assert!(found.len() >= kept.len(), "{} acknowledged entries are lost", kept.len() - found.len());
        assert_eq!(&found[..kept.len()], kept);
        let more = &found[kept.len()..];
        assert!(more.is_empty() || self.failed.iter().any(|failed| failed.starts_with(more)), "entries that were never written");
        self.acknowledged.extend_from_slice(more);
        self.failed.clear();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn acknowledged_entries_survive_anything(steps in prop::collection::vec(step(), 1..25)) {
        let disk = MemoryDisk::default();
        let (mut journal, mut twin, mut stamp) = (open(&disk, 0).unwrap().0, Twin::default(), 0u8);
        for step in steps {
            match step {
                Step::Commit(lengths, fails, room) => {
                    let payloads: Vec<Vec<u8>> = lengths.iter().map(|n| { stamp = stamp.wrapping_add(1); vec![stamp; *n] }).collect();
                    disk.fail_syncs(fails);
                    disk.set_room(room);
                    let numbers: Vec<u64> = payloads.iter().map(|p| journal.append(p)).collect();
                    let (before, was_broken) = (twin.acknowledged.len() as u64, journal.is_broken());
                    prop_assert_eq!(numbers, (before + 1..).take(payloads.len()).collect::<Vec<_>>());
                    match journal.commit() {
                        Ok(()) => { twin.acknowledged.extend(payloads); twin.failed.clear() }
                        Err(_) if journal.is_broken() => {
                            if !was_broken { twin.failed.clear() }
                            twin.failed.push(payloads);
                        }
                        Err(_) => twin.failed.clear(),
                    }
                    disk.set_room(None);
                    prop_assert_eq!(journal.durable(), twin.acknowledged.len() as u64);
                }
                Step::Snapshot(back) => {
                    let through = (twin.acknowledged.len() as u64).saturating_sub(back).max(twin.covered as u64);
                    twin.covered = through as usize;
                    disk.fail_syncs(0);
                    journal.remove_through(through).unwrap();
                }
                Step::Restart | Step::Crash(..) => {
                    disk.fail_syncs(0);
                    drop(journal);
                    if let Step::Crash(share, wrong) = step {
                        disk.crash(|n| (share * (n + 1) as f64) as usize, |tail| {
                            if let Some(byte) = wrong.and_then(|at| tail.get_mut(at)) { *byte ^= 1 }
                        });
                    }
                    let (again, found, _) = open(&disk, twin.covered as u64).unwrap();
                    twin.meet(&found);
                    journal = again;
                }
            }
        }
    }

    #[test]
    fn a_damaged_entry_is_refused_if_a_later_one_shows_that_it_was_acknowledged(
        groups in prop::collection::vec(prop::collection::vec(0usize..60, 1..4), 2..5), at in any::<prop::sample::Index>(),
    ) {
        let disk = MemoryDisk::default();
        let mut journal = open(&disk, 0).unwrap().0;
        for group in &groups {
            group.iter().for_each(|n| { journal.append(&vec![7; *n]); });
            journal.commit().unwrap();
        }
        drop(journal);
        let segment = Path::new(FOLDER).join(&disk.names(Path::new(FOLDER)).unwrap()[0]);
        let whole = disk.read(&segment).unwrap();
        let at = at.index(whole.len());
        disk.flip(&segment, at);
        let damaged = disk.read(&segment).unwrap();
        let alone = disk.names(Path::new(FOLDER)).unwrap().len() == 1;
        match open(&disk, 0) {
            Err(JournalError::Damaged { .. }) => prop_assert_eq!(disk.read(&segment).unwrap(), damaged, "nothing is changed"),
            Err(other) => prop_assert!(false, "{}", other),
            // Only the entries of the last group can be taken for unfinished ones.
            Ok((_, found, cut)) => {
                let sure: usize = groups[..groups.len() - 1].iter().map(Vec::len).sum();
                prop_assert!(alone && cut.is_some() && found.len() >= sure, "{} of {sure} entries", found.len());
            }
        }
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..220, number in 0u64..9) {
        entry::read_header(&bytes);
        entry::read(&bytes, at);
        prop_assert!(at < bytes.len() || entry::ending(&bytes, at, number) == Ending::Whole);
    }
}

#[test]
fn a_torn_last_entry_is_cut_off_and_reported() {
    let disk = MemoryDisk::default();
    let mut journal = open(&disk, 0).unwrap().0;
    journal.append(b"kept");
    journal.commit().unwrap();
    disk.fail_syncs(2);
    journal.append(b"interrupted");
    assert!(journal.commit().is_err() && journal.is_broken());
    drop(journal);
    disk.fail_syncs(0);
    disk.crash(|n| n - 1, |_| {});
    let (_, found, cut) = open(&disk, 0).unwrap();
    assert_eq!(found, [b"kept".to_vec()]);
    assert_eq!(cut.unwrap().bytes, (entry::FRAME + "interrupted".len() - 1) as u64);
    assert_eq!(open(&disk, 0).unwrap().2, None, "it is cut once");
}

#[test]
fn after_a_failed_sync_the_journal_goes_on_in_a_new_segment() {
    let disk = MemoryDisk::default();
    let mut journal = open(&disk, 0).unwrap().0;
    for (payload, fails) in [("one", 0), ("lost", 1), ("two", 0)] {
        disk.fail_syncs(fails);
        journal.append(payload.as_bytes());
        assert_eq!(journal.commit().is_err(), fails > 0);
    }
    assert_eq!(disk.names(Path::new(FOLDER)).unwrap().len(), 2);
    disk.crash(|_| 0, |_| {});
    assert_eq!(open(&disk, 0).unwrap().1, [b"one".to_vec(), b"two".to_vec()]);
}

#[test]
fn a_missing_segment_is_named() {
    let disk = MemoryDisk::default();
    let mut journal = open(&disk, 0).unwrap().0;
    for _ in 0..9 {
        journal.append(&[1; 150]);
        journal.commit().unwrap();
    }
    let names = disk.names(Path::new(FOLDER)).unwrap();
    disk.remove(&Path::new(FOLDER).join(&names[1])).unwrap();
    let error = open(&disk, 0).err().unwrap().to_string();
    assert!(error.contains("the entries 3 to 4 are missing"), "{error}");
}
