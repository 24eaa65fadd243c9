//! Bytes as journals, journal entries, snapshots and bodies of the server: read or refused, never a panic.

use std::path::Path;
use std::sync::Arc;

use okl_server::codec::Record;
use okl_server::disk::Disk;
use okl_server::disk::memory::MemoryDisk;
use okl_server::http::body;
use okl_server::journal::{Journal, JournalError, entry};
use okl_server::model::folder::read_snapshot;
use okl_server::options::Options;

/// Bytes as the entries of a segment. What is accepted is there again after a restart.
pub fn journal(data: &[u8]) {
    let disk = MemoryDisk::default();
    let (folder, segment) = (Path::new("j"), Path::new("j/00000000000000000001.log"));
    let mut file = disk.create(segment).expect("a new file");
    file.append(&entry::header(1)).and_then(|()| file.append(data)).and_then(|()| file.sync()).expect("a file of memory");
    let open = || {
        let mut found = Vec::new();
        let opened = Journal::open(Arc::new(disk.clone()), folder, 1 << 20, 0, |_, payload| {
            found.push(payload.to_vec());
            Ok(())
        });
        opened.map(|(journal, cut)| (journal, cut, found))
    };
    match open() {
        Err(JournalError::Damaged { .. }) => {}
        Err(other) => panic!("{other}"),
        Ok((mut journal, _, mut found)) => {
            journal.append(b"one more");
            journal.commit().expect("a disk without errors");
            drop(journal);
            found.push(b"one more".to_vec());
            let (_, cut, again) = open().expect("what was accepted is accepted again");
            assert!(cut.is_none() && again == found);
        }
    }
}

/// Bytes as a record, a snapshot and a body. What is read is written back as it was.
pub fn server_body(data: &[u8]) {
    if let Some(record) = Record::from_bytes(data) {
        assert_eq!(record.to_bytes(), data);
    }
    let _ = read_snapshot(data);
    let _ = body::labels(data);
    if let Ok(parsed) = body::rows(data, &Options::default()) {
        let record = Record::Learn { rows: parsed.rows, stream: parsed.stream, key: None };
        assert_eq!(Record::from_bytes(&record.to_bytes()), Some(record));
    }
}
