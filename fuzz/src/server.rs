//! Bytes as journals, journal entries, snapshots and bodies of the server: read or refused, never a panic.

use std::path::Path;
use std::sync::Arc;

use okl_server::arrow;
use okl_server::codec::Record;
use okl_server::disk::Disk;
use okl_server::disk::memory::MemoryDisk;
use okl_server::hooks::Url;
use okl_server::http::body;
use okl_server::journal::{Journal, JournalError, entry};
use okl_server::model::folder::{Settings, read_snapshot};
use okl_server::options::Options;
use okl_server::surface::TableColumns;

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

/// Bytes as an Arrow stream. What is read has a whole number of everything.
pub fn server_arrow(data: &[u8]) {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let plain = TableColumns::default();
    let (weight, id) = (Some("w".to_owned()), Some("k".to_owned()));
    let used = TableColumns { targets: names(&["y", "b"]), weight, id, ignore: names(&["day"]), ..TableColumns::default() };
    for columns in [plain, TableColumns { targets: names(&["y"]), ..TableColumns::default() }, used] {
        let Ok(rows) = arrow::rows(data, &columns, &Options::default()) else { continue };
        assert_eq!(rows.x.len(), rows.count * rows.features);
        assert_eq!(rows.targets.values.len(), rows.count * rows.targets.width);
        assert!(rows.absent.iter().all(|at| *at < rows.x.len()));
    }
}

/// Bytes as a record, a snapshot and a body. What is read is written back as it was.
pub fn server_body(data: &[u8]) {
    if let Some(record) = Record::from_bytes(data) {
        assert_eq!(record.to_bytes(), data);
    }
    let _ = read_snapshot(data);
    let _ = body::labels(data);
    let _ = serde_json::from_slice::<Settings>(data);
    if let Some(url) = std::str::from_utf8(data).ok().and_then(|text| Url::parse(text).ok()) {
        assert!(!url.host.is_empty() && url.path.starts_with('/') && url.path.bytes().all(|b| b.is_ascii_graphic()));
    }
    if let Ok(parsed) = body::rows(data, &Options::default()) {
        let record = Record::Learn { rows: parsed.rows, stream: parsed.stream, key: None };
        assert_eq!(Record::from_bytes(&record.to_bytes()), Some(record));
    }
}
