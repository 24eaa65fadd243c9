//! A card that was opened: what it stores, and what it computes.

use std::ffi::c_void;
use std::sync::Arc;

use okl::place::{CHUNK, Chunk, Request, Shape};

use crate::card::{Buffer, Card, Found, Kernel, Mark, Pinned};
use crate::program::{Step, program};

/// The number of rows whose kernel values are on the card at a time.
const ROWS: usize = 512;
/// Rows are padded to whole tiles of the kernel.
const TILE: usize = 128;
/// The most chunks of a slab.
const SLAB: usize = 128;
/// The most chunks whose values are computed by one start of a kernel. At the end of a kernel some of the card has nothing to do, so few starts
/// are better.
const TOGETHER: usize = 1024;
/// Chunks that are stored together.
#[derive(Debug)]
struct Slab {
    terms: Buffer<f32>,
    squares: Buffer<f32>,
    coefficients: Buffer<f64>,
}

/// Where a slab is, as `okl_slab` in `place.cu`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Address {
    terms: u64,
    squares: u64,
    coefficients: u64,
}

/// The kernels of `place.cu`.
#[derive(Debug)]
struct Kernels {
    pack_rows: Kernel,
    gaussian_values: Kernel,
    inner_products: Kernel,
    map_values: Kernel,
    /// By the number of columns that one block sums, the largest first.
    totals: [(usize, Kernel); 4],
    fold: Kernel,
}

/// What goes to the card and comes back, for one request.
#[derive(Debug)]
struct Mail {
    rows: Buffer<f32>,
    squares: Buffer<f32>,
    sent_rows: Pinned<f32>,
    sent_squares: Pinned<f32>,
    received: Pinned<f64>,
    /// The numbers that come back.
    expected: usize,
    done: Mark,
}

/// The buffers on the card. Requests are computed one after the other and share them.
#[derive(Debug)]
struct Work {
    packed: Buffer<f32>,
    dots: Buffer<f32>,
    values: Buffer<f32>,
    totals: Buffer<f64>,
    running: Buffer<f64>,
}

/// A kernel of the learner on the card, with the columns that are summed with its values.
#[derive(Debug)]
struct Plane {
    steps: Vec<Step>,
    program: Buffer<Step>,
    first: usize,
    columns: usize,
}

/// A card with its kernels and its buffers.
#[derive(Debug)]
pub(crate) struct Opened {
    kernels: Kernels,
    work: Work,
    slabs: Vec<Slab>,
    /// The addresses of the slabs, on the card.
    addresses: Buffer<Address>,
    /// Chunks per slab, and chunks whose values are computed together.
    per_slab: usize,
    together: usize,
    features: usize,
    columns: usize,
    planes: Vec<Plane>,
    /// For the requests by turns: at most two are under way.
    mail: [Mail; 2],
    /// The number of requests that were started, and that were finished.
    started: usize,
    finished: usize,
    card: Arc<Card>,
}

/// The arguments of a kernel: pointers to the values.
macro_rules! arguments {
    ($($value:expr),* $(,)?) => {
        &mut [$((&raw const $value).cast_mut().cast::<c_void>()),*]
    };
}

impl Opened {
    pub fn new(found: &Found) -> Result<Self, String> {
        let card = found.open()?;
        let totals = |columns: usize| {
            let kernel = card.kernel(&format!("totals_{columns}"), columns * CHUNK * size_of::<f64>())?;
            Ok::<_, String>((columns, kernel))
        };
        let kernels = Kernels {
            pack_rows: card.kernel("pack_rows", 0)?,
            gaussian_values: card.kernel("gaussian_values", 0)?,
            inner_products: card.kernel("inner_products", 0)?,
            map_values: card.kernel("map_values", 0)?,
            totals: [totals(8)?, totals(4)?, totals(2)?, totals(1)?],
            fold: card.kernel("fold", 0)?,
        };
        let mail = || {
            Ok::<_, String>(Mail {
                rows: Buffer::new(&card, 0)?,
                squares: Buffer::new(&card, 0)?,
                sent_rows: Pinned::new(&card, 0)?,
                sent_squares: Pinned::new(&card, 0)?,
                received: Pinned::new(&card, 0)?,
                expected: 0,
                done: Mark::new(&card)?,
            })
        };
        let mail = [mail()?, mail()?];
        let work = Work {
            packed: Buffer::new(&card, 0)?,
            dots: Buffer::new(&card, 0)?,
            values: Buffer::new(&card, 0)?,
            totals: Buffer::new(&card, 0)?,
            running: Buffer::new(&card, 0)?,
        };
        Ok(Opened {
            kernels,
            work,
            slabs: Vec::new(),
            addresses: Buffer::new(&card, 0)?,
            per_slab: SLAB,
            together: SLAB,
            features: 0,
            columns: 0,
            planes: Vec::new(),
            mail,
            started: 0,
            finished: 0,
            card,
        })
    }

    fn chunk_bytes(&self) -> usize {
        CHUNK * (size_of::<f32>() * (self.features + 1) + size_of::<f64>() * self.columns)
    }

    /// Makes the buffers large enough for a request of `rows` rows against `chunks` chunks that receives `expected` numbers.
    fn fit(&mut self, which: usize, (rows, chunks): (usize, usize), expected: usize) -> Result<(), String> {
        let (together, features, columns) = (rows.min(ROWS).next_multiple_of(TILE), self.features, self.columns);
        // The card waits for a new buffer: there are few, each twice as large as the one before.
        let chunks = chunks.next_power_of_two().min(self.together);
        let values = together * chunks * CHUNK;
        let Work { packed, dots, values: mapped, totals, running } = &mut self.work;
        packed.fit(together * features)?;
        dots.fit(values)?;
        if self.planes.len() > 1 {
            mapped.fit(values)?;
        }
        totals.fit(together * chunks * columns)?;
        running.fit(together * columns)?;
        let mail = &mut self.mail[which];
        mail.expected = expected;
        mail.rows.fit(rows * features)?;
        mail.squares.fit(rows.next_multiple_of(TILE))?;
        mail.sent_rows.fit(rows * features)?;
        mail.sent_squares.fit(rows.next_multiple_of(TILE))?;
        mail.received.fit(expected)
    }

    /// Starts the work for some of the rows, which are on the card.
    fn sum_rows(&mut self, which: usize, (first, count): (usize, usize), request: &Request<'_>) -> Result<(), String> {
        let padded = count.next_multiple_of(TILE);
        self.pack(which, first, count, padded)?;
        self.work.running.clear(padded * self.columns)?;
        for begin in (0..request.chunks).step_by(self.together) {
            let chunks = self.together.min(request.chunks - begin);
            for plane in 0..self.planes.len() {
                self.values((begin, plane), which, (first, padded), chunks)?;
                self.totals((begin, plane), padded, chunks)?;
            }
            self.add(padded, request.folded.saturating_sub(begin).min(chunks))?;
            for chunk in request.folded.max(begin)..begin + chunks {
                let to = ((1 + chunk - request.folded) * request.rows.squares.len() + first) * self.columns;
                let to = &mut self.mail[which].received[to..to + count * self.columns];
                self.work.totals.read((chunk - begin) * padded * self.columns, to)?;
            }
        }
        let to = first * self.columns;
        self.work.running.read(0, &mut self.mail[which].received[to..to + count * self.columns])
    }

    fn pack(&self, which: usize, first: usize, count: usize, padded: usize) -> Result<(), String> {
        let (rows, packed) = (&self.mail[which].rows, &self.work.packed);
        let from = rows.at + (first * self.features * size_of::<f32>()) as u64;
        let grid = [padded / 32, self.features.div_ceil(32)];
        let (count, padded, features) = (count as i32, padded as i32, self.features as i32);
        // SAFETY: `rows` has the rows from `first` on, `packed` has room for `padded` rows of all features.
        unsafe { self.kernels.pack_rows.start(&self.card, grid, [32, 8], arguments![from, packed.at, count, padded, features]) }
    }

    /// Kernel values of the packed rows against the chunks from `begin` on: in `dots` if there is one plane, otherwise in `values`.
    fn values(
        &self,
        (begin, plane): (usize, usize),
        which: usize,
        (first, padded): (usize, usize),
        chunks: usize,
    ) -> Result<(), String> {
        let (squares, Work { packed, dots, values, .. }) = (&self.mail[which].squares, &self.work);
        let (slabs, plane, single) = (self.addresses.at, &self.planes[plane], self.planes.len() == 1);
        let (begin, per_slab) = (begin as i32, self.per_slab as i32);
        let xx = squares.at + (first * size_of::<f32>()) as u64;
        let (rows, slots, features) = (padded as i32, (chunks * CHUNK) as i32, self.features as i32);
        let constants = if let ([step], true) = (plane.steps.as_slice(), single) { step.gaussian() } else { None };
        let [c, far] = constants.unwrap_or_default();
        if single || plane.first == 0 {
            let kernel = if constants.is_some() { self.kernels.gaussian_values } else { self.kernels.inner_products };
            let arguments = arguments![packed.at, xx, slabs, begin, per_slab, dots.at, rows, slots, features, c, far];
            // SAFETY: the slabs have `chunks` chunks from `begin` on, `dots` has room for `padded` rows of `slots` values.
            unsafe { kernel.start(&self.card, [padded / TILE, chunks * CHUNK / TILE], [256, 1], arguments)? };
        }
        if constants.is_some() {
            return Ok(());
        }
        let (to, count) = (if single { dots.at } else { values.at }, plane.steps.len() as i32);
        let arguments = arguments![dots.at, to, xx, slabs, begin, per_slab, plane.program.at, count, slots];
        // SAFETY: as above; the program has `count` steps and needs no more values than the kernel has places for.
        unsafe { self.kernels.map_values.start(&self.card, [chunks * CHUNK / 256, padded], [256, 1], arguments) }
    }

    /// The totals of the columns of a plane over the chunks from `begin` on.
    fn totals(&self, (begin, plane): (usize, usize), padded: usize, chunks: usize) -> Result<(), String> {
        let Work { dots, values, totals, .. } = &self.work;
        let (slabs, plane) = (self.addresses.at, &self.planes[plane]);
        let (begin, per_slab) = (begin as i32, self.per_slab as i32);
        let values = if self.planes.len() == 1 { dots.at } else { values.at };
        let (rows, slots, columns) = (padded as i32, (chunks * CHUNK) as i32, self.columns as i32);
        let (mut first, mut left) = (plane.first, plane.columns);
        for (width, kernel) in self.kernels.totals {
            let groups = left / width;
            if groups == 0 {
                continue;
            }
            let parts = 4;
            let (from, groups_of) = (first as i32, groups as i32);
            let arguments = arguments![values, slabs, begin, per_slab, totals.at, rows, slots, columns, from, groups_of];
            // SAFETY: the slabs have `chunks` chunks of all columns from `begin` on, `totals` has room for `padded` rows of all columns per chunk.
            unsafe { kernel.start(&self.card, [groups * parts, chunks], [128, 1], arguments)? };
            (first, left) = (first + groups * width, left % width);
        }
        Ok(())
    }

    /// Adds the totals of the first of the chunks to the running totals.
    fn add(&self, padded: usize, chunks: usize) -> Result<(), String> {
        let Work { totals, running, .. } = &self.work;
        let (numbers, count) = ((padded * self.columns) as i32, chunks as i32);
        if chunks == 0 || numbers == 0 {
            return Ok(());
        }
        let arguments = arguments![totals.at, running.at, numbers, count];
        // SAFETY: `totals` has `chunks` times as many numbers as `running` uses.
        unsafe { self.kernels.fold.start(&self.card, [(padded * self.columns).div_ceil(128), 1], [128, 1], arguments) }
    }

    // As the functions of `Place` with these names.

    pub fn begin(&mut self, shape: &Shape) -> Result<usize, String> {
        self.card.use_here()?;
        self.slabs.clear();
        self.planes.clear();
        (self.features, self.columns) = (shape.features, shape.planes.len());
        let mut first = 0;
        for group in shape.planes.chunk_by(|a, b| a == b) {
            let steps = program(&shape.kernels[group[0]])?;
            let on_card = Buffer::new(&self.card, steps.len())?;
            on_card.write(0, &steps)?;
            self.planes.push(Plane { steps, program: on_card, first, columns: group.len() });
            first += group.len();
        }
        self.card.wait()?;
        let free = self.card.free()?;
        // The values of chunks that are computed together take at most an eighth of the memory of the card.
        let values = ROWS * CHUNK * size_of::<f32>() * 2;
        self.together = (free / 8 / values).clamp(1, TOGETHER);
        self.per_slab = self.together.min(SLAB);
        let work = self.together * (values + ROWS * self.columns * size_of::<f64>()) + (64 << 20);
        let slab = self.per_slab * self.chunk_bytes();
        Ok(free.saturating_sub(work) / 20 * 19 / slab * self.per_slab)
    }

    pub fn put(&mut self, index: usize, chunk: Chunk<'_>) -> Result<(), String> {
        self.card.use_here()?;
        while self.slabs.len() <= index / self.per_slab {
            let slots = self.per_slab * CHUNK;
            let slab = Slab {
                terms: Buffer::new(&self.card, slots * self.features)?,
                squares: Buffer::new(&self.card, slots)?,
                coefficients: Buffer::new(&self.card, slots * self.columns)?,
            };
            // Chunks that were not sent are summed too; their totals are not used.
            slab.terms.clear(slots * self.features)?;
            slab.squares.clear(slots)?;
            slab.coefficients.clear(slots * self.columns)?;
            self.slabs.push(slab);
            self.write_addresses()?;
        }
        let (slab, at) = (&self.slabs[index / self.per_slab], index % self.per_slab * CHUNK);
        slab.terms.write(at * self.features, chunk.centres)?;
        slab.squares.write(at, chunk.squares)?;
        slab.coefficients.write(at * self.columns, chunk.coefficients)
    }

    /// Tells the card where the slabs are.
    fn write_addresses(&mut self) -> Result<(), String> {
        let address =
            |slab: &Slab| Address { terms: slab.terms.at, squares: slab.squares.at, coefficients: slab.coefficients.at };
        let addresses: Vec<Address> = self.slabs.iter().map(address).collect();
        // Requests under way read the old addresses.
        self.addresses = Buffer::new(&self.card, addresses.len())?;
        self.addresses.write(0, &addresses)?;
        self.card.wait()
    }

    pub fn start(&mut self, request: Request<'_>) -> Result<(), String> {
        self.card.use_here()?;
        let (rows, which) = (request.rows.squares.len(), self.started % 2);
        self.fit(which, (rows, request.chunks), (1 + request.chunks - request.folded) * rows * self.columns)?;
        let Mail { rows: raw, squares, sent_rows, sent_squares, .. } = &mut self.mail[which];
        for (to, i) in sent_rows.chunks_exact_mut(self.features.max(1)).zip(0..rows) {
            to.copy_from_slice(request.rows.rows.row(i));
        }
        sent_squares[..rows].copy_from_slice(request.rows.squares);
        sent_squares[rows..].fill(0.0);
        raw.write(0, &sent_rows[..rows * self.features])?;
        squares.write(0, &sent_squares[..rows.next_multiple_of(TILE)])?;
        for first in (0..rows).step_by(ROWS) {
            self.sum_rows(which, (first, ROWS.min(rows - first)), &request)?;
        }
        self.started += 1;
        self.mail[which].done.set()
    }

    pub fn finish(&mut self, totals: &mut Vec<f64>) -> Result<(), String> {
        self.card.use_here()?;
        let mail = &self.mail[self.finished % 2];
        self.finished += 1;
        mail.done.wait()?;
        totals.clear();
        totals.extend_from_slice(&mail.received[..mail.expected]);
        Ok(())
    }

    pub fn bytes(&self) -> usize {
        let slab = |slab: &Slab| slab.terms.bytes() + slab.squares.bytes() + slab.coefficients.bytes();
        let mail = |mail: &Mail| {
            let Mail { rows, squares, sent_rows, sent_squares, received, .. } = mail;
            rows.bytes() + squares.bytes() + sent_rows.bytes() + sent_squares.bytes() + received.bytes()
        };
        let Work { packed, dots, values, totals, running } = &self.work;
        let work = packed.bytes() + dots.bytes() + values.bytes() + totals.bytes() + running.bytes();
        self.slabs.iter().map(slab).sum::<usize>() + self.addresses.bytes() + self.mail.iter().map(mail).sum::<usize>() + work
    }
}
