//! A disk that fails to sync, fills up, stops in the middle of a write and loses what was not synced, together with restarts, under load from four
//! clients: nothing that was acknowledged is lost, nothing is learned twice, and the model has the bits of a learner that was never interrupted.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use okl_server::disk::{Disk, DiskFile, RealDisk};
use okl_server::options::Options;
use serde_json::json;

use crate::support::{Folder, Running, Setup, body, call, config, learned, rows};

/// What is known about the files since the start of the disk.
struct Inside {
    random: u64,
    /// The disk does nothing more: the process was killed, or the power failed.
    dead: bool,
    /// The bytes of each open file that survive a failure of the power. After a failed sync no later one stores the bytes before it.
    stored: HashMap<PathBuf, (u64, bool)>,
    /// One of so many operations fails.
    rate: u64,
    failures: u64,
}

impl Inside {
    fn below(&mut self, n: u64) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % n
    }

    /// Fails if the disk is dead, and now and then otherwise; one failure in eight is the last one.
    fn fault(&mut self) -> io::Result<()> {
        if self.dead {
            return Err(io::Error::other("the disk is gone"));
        }
        if self.rate == 0 || self.below(self.rate) > 0 {
            return Ok(());
        }
        self.failures += 1;
        if self.below(8) == 0 {
            self.die();
        }
        Err(if self.below(2) == 0 { ErrorKind::StorageFull.into() } else { io::Error::other("the disk reports an error") })
    }

    /// A kill keeps the page cache; a failure of the power keeps an arbitrary part of what was not synced.
    fn die(&mut self) {
        self.dead = true;
        if self.below(2) == 0 {
            return;
        }
        let files: Vec<(PathBuf, u64)> = self.stored.iter().map(|(path, (length, _))| (path.clone(), *length)).collect();
        for (path, stored) in files {
            let Ok(file) = OpenOptions::new().write(true).open(&path) else { continue };
            let length = file.metadata().unwrap().len();
            if length > stored {
                file.set_len(stored + self.below(length - stored + 1)).unwrap();
            }
        }
    }
}

#[derive(Clone)]
struct FaultyDisk(Arc<Mutex<Inside>>);

struct FaultyFile {
    disk: FaultyDisk,
    path: PathBuf,
    file: Box<dyn DiskFile>,
    length: u64,
}

impl FaultyDisk {
    fn new(seed: u64, rate: u64) -> Self {
        FaultyDisk(Arc::new(Mutex::new(Inside { random: seed, dead: false, stored: HashMap::new(), rate, failures: 0 })))
    }

    fn fault(&self) -> io::Result<()> {
        self.0.lock().unwrap().fault()
    }

    fn is_dead(&self) -> bool {
        self.0.lock().unwrap().dead
    }
}

impl DiskFile for FaultyFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut inside = self.disk.0.lock().unwrap();
        if let Err(error) = inside.fault() {
            // A part of the bytes was written before.
            let part = if inside.failures > 0 && !inside.dead { inside.below(bytes.len() as u64 + 1) as usize } else { 0 };
            self.length += part as u64;
            self.file.append(&bytes[..part])?;
            return Err(error);
        }
        self.length += bytes.len() as u64;
        self.file.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut inside = self.disk.0.lock().unwrap();
        let failed = inside.fault();
        let (stored, lost) = inside.stored.entry(self.path.clone()).or_default();
        match (failed, *lost) {
            (Ok(()), false) => *stored = self.length,
            (Err(error), _) => {
                *lost = true;
                return Err(error);
            }
            (Ok(()), true) => {}
        }
        Ok(())
    }
}

impl Disk for FaultyDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        self.fault()?;
        let file = RealDisk.create(path)?;
        self.0.lock().unwrap().stored.insert(path.into(), (0, false));
        Ok(Box::new(FaultyFile { disk: self.clone(), path: path.into(), file, length: 0 }))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        RealDisk.read(path)
    }

    fn truncate(&self, path: &Path, length: u64) -> io::Result<()> {
        self.fault()?;
        if let Some((stored, lost)) = self.0.lock().unwrap().stored.get_mut(path)
            && length <= *stored
        {
            (*stored, *lost) = (length, false);
        }
        RealDisk.truncate(path, length)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        RealDisk.names(folder)
    }

    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        RealDisk.make_folder(folder)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.fault()?;
        RealDisk.remove(path)?;
        self.0.lock().unwrap().stored.remove(path);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.fault()?;
        RealDisk.rename(from, to)?;
        let mut inside = self.0.lock().unwrap();
        if let Some(state) = inside.stored.remove(from) {
            inside.stored.insert(to.into(), state);
        }
        Ok(())
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        self.fault()
    }
}

type Acknowledged = (u64, (Vec<[f64; 2]>, Vec<i64>));

/// Sends numbered rows until `stop`, each batch again and again until it is acknowledged.
fn client(number: u64, address: &Mutex<std::net::SocketAddr>, stop: &AtomicBool, lost: &AtomicBool) -> Vec<Acknowledged> {
    let (mut acknowledged, mut offset) = (Vec::new(), 0);
    while !stop.load(Ordering::Relaxed) {
        let (x, y) = rows(1_000_000 * number + offset, 1 + (offset % 9) as usize);
        let mut request = body(&x, &y);
        (request["stream"], request["offset"]) = (json!(format!("client {number}")), json!(offset));
        let request = request.to_string();
        let entry = loop {
            let now = *address.lock().unwrap();
            let reply = call(now, "POST", "/v1/models/m/learn", &[], request.as_bytes());
            match reply.status {
                _ if lost.load(Ordering::Relaxed) => return acknowledged,
                200 => break reply.json()["entry"].as_u64().unwrap(),
                0 | 404 | 503 | 507 => std::thread::sleep(Duration::from_millis(1)),
                _ => panic!("{reply:?}"),
            }
        };
        offset += x.len() as u64;
        acknowledged.push((entry, (x, y)));
    }
    acknowledged
}

/// `OKL_FAULTS` starts of the server (20), each on a disk with faults. A server ends when its disk is dead, or after some time with a
/// graceful stop, as on SIGTERM.
#[test]
fn nothing_is_lost_on_a_disk_with_faults() {
    let starts: u64 = std::env::var("OKL_FAULTS").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    let folder = Folder::new();
    let options = || Options { snapshot_rows: 150, segment_bytes: 3000, ..Options::default() };
    let mut server = Running::start(&folder);
    server.put("/v1/models/m", &json!({ "config": config() })).good();
    server.stop();
    // `lost`: the model cannot be loaded any more.
    let (address, stop, lost) = (Mutex::new(server.address), AtomicBool::new(false), AtomicBool::new(false));
    let (mut deaths, mut failures) = (0, 0);
    let (mut all, last): (Vec<Acknowledged>, Running) = std::thread::scope(|scope| {
        let (address, stop, lost) = (&address, &stop, &lost);
        let clients: Vec<_> = (0..4).map(|i| scope.spawn(move || client(i, address, stop, lost))).collect();
        for start in 0..starts {
            let disk = FaultyDisk::new(start * 7919 + 12345, 12);
            let mut server =
                Running::with(&folder, Setup { options: options(), disk: Arc::new(disk.clone()), ..Setup::default() });
            *address.lock().unwrap() = server.address;
            let looks = 5 + disk.0.lock().unwrap().below(30);
            (0..looks).take_while(|_| !disk.is_dead()).for_each(|_| std::thread::sleep(Duration::from_millis(1)));
            server.stop();
            deaths += u64::from(disk.is_dead());
            failures += disk.0.lock().unwrap().failures;
        }
        let last = Running::start(&folder);
        *address.lock().unwrap() = last.address;
        lost.store(last.get("/v1/models/m").status != 200, Ordering::Relaxed);
        stop.store(true, Ordering::Relaxed);
        (clients.into_iter().flat_map(|client| client.join().unwrap()).collect(), last)
    });
    all.sort_by_key(|(entry, _)| *entry);
    let batches: Vec<_> = all.into_iter().map(|(_, batch)| batch).collect();
    let (learner, _) = learned(&batches);
    eprintln!("{starts} starts, {failures} failed operations, {deaths} dead disks, {} acknowledged rows", learner.examples());
    assert!(deaths > 0 && failures > starts, "the disk had faults");
    assert_eq!(last.get("/v1/models/m").good()["examples"], learner.examples(), "each acknowledged row once");
    assert!(last.model_file("m") == learner.to_bytes(), "the same bits");
}
