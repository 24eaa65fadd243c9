//! The parts of the CUDA driver that the place uses: a card with its kernels, memory on the card, and memory of this machine that
//! the card can read and write. The only file with `unsafe`, beside the launches in `opened.rs`.

use std::ffi::{CString, c_void};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;

const KERNELS: &str = include_str!("kernels/place.ptx");

fn said(what: &str, error: DriverError) -> String {
    let name = error.error_string().map_or_else(|_| format!("{:?}", error.0), |name| name.to_string_lossy().into_owned());
    format!("{what}: {name}")
}

/// Adds what was tried to an error of the driver.
pub(crate) trait Tried<T> {
    fn tried(self, what: &str) -> Result<T, String>;
}

impl<T> Tried<T> for Result<T, DriverError> {
    fn tried(self, what: &str) -> Result<T, String> {
        self.map_err(|error| said(what, error))
    }
}

/// A card of this machine that is not used yet.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    device: sys::CUdevice,
    pub name: String,
}

/// Whether there is a library of the driver. The driver is not started, which takes a tenth of a second.
pub(crate) fn check_library() -> Result<(), String> {
    // SAFETY: loads and closes the library of the driver, if there is one.
    match unsafe { sys::is_culib_present() } {
        true => Ok(()),
        false => Err("there is no NVIDIA driver on this machine (libcuda is not found); use the device cpu".into()),
    }
}

/// Whether the files by which the driver reaches a card exist: then the driver need not be asked whether there is one.
pub(crate) fn has_device_files() -> bool {
    let number = |name: &str| name.strip_prefix("nvidia").is_some_and(|rest| rest.parse::<u32>().is_ok());
    let files = std::fs::read_dir("/dev").into_iter().flatten().flatten();
    cfg!(target_os = "linux") && files.into_iter().any(|file| file.file_name().to_str().is_some_and(number))
}

impl Found {
    /// Starts the driver and finds a card by its number.
    pub fn number(number: usize) -> Result<Found, String> {
        check_library()?;
        result::init().tried("the NVIDIA driver does not start")?;
        let count = result::device::get_count().tried("the NVIDIA driver counts no cards")?;
        let device = i32::try_from(number).ok().filter(|number| *number < count);
        let device =
            device.ok_or_else(|| format!("there is no card number {number} on this machine: it has {count}, counted from 0"))?;
        let device = result::device::get(device).tried("the card cannot be opened")?;
        let name = result::device::get_name(device).tried("the card has no name")?;
        Ok(Found { device, name })
    }

    /// Opens the card and compiles the kernels for it. This takes some tenths of a second.
    pub fn open(&self) -> Result<Arc<Card>, String> {
        // SAFETY: `device` is a card; the context is released when the card is dropped.
        let context = unsafe { result::primary_ctx::retain(self.device) }.tried("the card cannot be opened")?;
        let mut card = Card { device: self.device, context, module: std::ptr::null_mut(), stream: std::ptr::null_mut() };
        card.use_here()?;
        let text = CString::new(KERNELS).map_err(|error| error.to_string())?;
        // SAFETY: the text ends with a zero.
        card.module = unsafe { result::module::load_data(text.as_ptr().cast()) }
            .tried("the driver cannot compile the kernels (it needs CUDA 11 and a card of compute capability 7.5 or later)")?;
        card.stream = result::stream::create(result::stream::StreamKind::NonBlocking).tried("the card has no queue")?;
        Ok(Arc::new(card))
    }
}

/// A card, the compiled kernels, and the queue in which it works.
#[derive(Debug)]
pub(crate) struct Card {
    device: sys::CUdevice,
    context: sys::CUcontext,
    module: sys::CUmodule,
    pub stream: sys::CUstream,
}

// SAFETY: handles of the driver may be used from any thread, after `Card::use_here` has made the context current there.
unsafe impl Send for Card {}
// SAFETY: as above; the driver's functions are thread-safe.
unsafe impl Sync for Card {}

impl Card {
    /// Makes the card the one that this thread works with.
    pub fn use_here(&self) -> Result<(), String> {
        // SAFETY: the context is held until the card is dropped.
        unsafe { result::ctx::set_current(self.context) }.tried("the card cannot be used on this thread")
    }

    /// A kernel by name, with so many bytes of shared memory.
    pub fn kernel(&self, name: &str, shared: usize) -> Result<Kernel, String> {
        let of_name = CString::new(name).map_err(|error| error.to_string())?;
        // SAFETY: the module is loaded until the card is dropped.
        let function = unsafe { result::module::get_function(self.module, of_name) }.tried(name)?;
        if shared > 48 << 10 {
            let most = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: `function` is a kernel of the module.
            unsafe { result::function::set_function_attribute(function, most, shared as i32) }.tried(name)?;
        }
        Ok(Kernel { function, shared: shared as u32 })
    }

    /// Waits until everything that was started is done.
    pub fn wait(&self) -> Result<(), String> {
        // SAFETY: the stream exists until the card is dropped.
        unsafe { result::stream::synchronize(self.stream) }.tried("the card failed")
    }

    /// Bytes of free memory on the card.
    pub fn free(&self) -> Result<usize, String> {
        result::mem_get_info().map(|(free, _)| free).tried("the card does not say how much memory it has")
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        if self.use_here().is_ok() {
            // SAFETY: each handle is released once; the buffers are gone, because they hold the card.
            unsafe {
                let _ = result::stream::destroy(self.stream);
                let _ = result::module::unload(self.module);
                let _ = result::primary_ctx::release(self.device);
            }
        }
    }
}

/// A kernel and its shared memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernel {
    function: sys::CUfunction,
    shared: u32,
}

// SAFETY: a handle of the driver, used after `Card::use_here`.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

impl Kernel {
    /// Starts the kernel.
    ///
    /// # Safety
    /// The arguments are those of the kernel, and its accesses stay within their buffers.
    pub unsafe fn start(
        self,
        card: &Card,
        grid: [usize; 2],
        block: [u32; 2],
        arguments: &mut [*mut c_void],
    ) -> Result<(), String> {
        let grid = (grid[0] as u32, grid[1] as u32, 1);
        // SAFETY: the caller answers for the arguments.
        unsafe {
            result::launch_kernel(self.function, grid, (block[0], block[1], 1), self.shared, card.stream, arguments)
                .tried("a kernel cannot be started")
        }
    }
}

/// Numbers in the memory of the card.
#[derive(Debug)]
pub(crate) struct Buffer<T> {
    card: Arc<Card>,
    pub at: sys::CUdeviceptr,
    len: usize,
    of: PhantomData<T>,
}

impl<T: Copy> Buffer<T> {
    pub fn new(card: &Arc<Card>, len: usize) -> Result<Self, String> {
        let bytes = (len * size_of::<T>()).max(1);
        // SAFETY: the memory is freed when the buffer is dropped. Nothing reads it before it is written.
        let at = unsafe { result::malloc_sync(bytes) }.tried("the memory of the card is full")?;
        Ok(Buffer { card: card.clone(), at, len, of: PhantomData })
    }

    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// Makes room for `len` numbers; the old ones are lost.
    pub fn fit(&mut self, len: usize) -> Result<(), String> {
        if self.len < len {
            *self = Buffer::new(&self.card, len)?;
        }
        Ok(())
    }

    /// Copies numbers to the card, from place `start` on. Those of this machine must not change before [`Card::wait`], unless they are in
    /// plain memory.
    pub fn write(&self, start: usize, from: &[T]) -> Result<(), String> {
        assert!(start + from.len() <= self.len, "{} numbers from {start} on do not fit into {}", from.len(), self.len);
        let at = self.at + (start * size_of::<T>()) as u64;
        // SAFETY: the part lies in the buffer.
        unsafe { result::memcpy_htod_async(at, from, self.card.stream) }.tried("numbers cannot be sent to the card")
    }

    /// Copies numbers from the card, from place `start` on; they are there after [`Card::wait`].
    pub fn read(&self, start: usize, to: &mut [T]) -> Result<(), String> {
        assert!(start + to.len() <= self.len, "{} numbers from {start} on are not in {}", to.len(), self.len);
        let at = self.at + (start * size_of::<T>()) as u64;
        // SAFETY: the part lies in the buffer.
        unsafe { result::memcpy_dtoh_async(to, at, self.card.stream) }.tried("numbers cannot be fetched from the card")
    }

    /// Sets the first `len` numbers to zero.
    pub fn clear(&self, len: usize) -> Result<(), String> {
        assert!(len <= self.len);
        // SAFETY: the part lies in the buffer; all bytes zero are a number.
        unsafe { result::memset_d8_async(self.at, 0, len * size_of::<T>(), self.card.stream) }.tried("memory cannot be cleared")
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        if self.card.use_here().is_ok() {
            // SAFETY: the memory was allocated by `new` and is freed once; the driver waits for work that uses it.
            let _ = unsafe { result::free_sync(self.at) };
        }
    }
}

/// A mark in the queue of the card, to wait for the work before it.
#[derive(Debug)]
pub(crate) struct Mark {
    card: Arc<Card>,
    event: sys::CUevent,
}

// SAFETY: a handle of the driver, used after `Card::use_here`.
unsafe impl Send for Mark {}

impl Mark {
    pub fn new(card: &Arc<Card>) -> Result<Self, String> {
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING).tried("the card has no marks")?;
        Ok(Mark { card: card.clone(), event })
    }

    pub fn set(&self) -> Result<(), String> {
        // SAFETY: the event and the stream exist.
        unsafe { result::event::record(self.event, self.card.stream) }.tried("the card failed")
    }

    pub fn wait(&self) -> Result<(), String> {
        // SAFETY: the event exists.
        unsafe { result::event::synchronize(self.event) }.tried("the card failed")
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        if self.card.use_here().is_ok() {
            // SAFETY: created by `new`, destroyed once.
            let _ = unsafe { result::event::destroy(self.event) };
        }
    }
}

/// Numbers in memory of this machine that the card reads and writes directly.
#[derive(Debug)]
pub(crate) struct Pinned<T> {
    card: Arc<Card>,
    at: *mut T,
    len: usize,
}

// SAFETY: the memory belongs to this value alone.
unsafe impl<T: Send> Send for Pinned<T> {}

impl<T: Copy + Default> Pinned<T> {
    pub fn new(card: &Arc<Card>, len: usize) -> Result<Self, String> {
        let bytes = (len * size_of::<T>()).max(1);
        // SAFETY: the memory is freed when the value is dropped.
        let at: *mut T = unsafe { result::malloc_host(bytes, 0) }.tried("the card can share no memory with this machine")?.cast();
        // SAFETY: the memory has room for `len` numbers, and page alignment.
        (0..len).for_each(|i| unsafe { at.add(i).write(T::default()) });
        Ok(Pinned { card: card.clone(), at, len })
    }

    /// Makes room for `len` numbers; the old ones are lost.
    pub fn fit(&mut self, len: usize) -> Result<(), String> {
        if self.len < len {
            *self = Pinned::new(&self.card, len)?;
        }
        Ok(())
    }

    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }
}

impl<T> Deref for Pinned<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `new` wrote `len` numbers.
        unsafe { std::slice::from_raw_parts(self.at, self.len) }
    }
}

impl<T> DerefMut for Pinned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: `new` wrote `len` numbers, which belong to this value alone.
        unsafe { std::slice::from_raw_parts_mut(self.at, self.len) }
    }
}

impl<T> Drop for Pinned<T> {
    fn drop(&mut self) {
        if self.card.use_here().is_ok() && self.card.wait().is_ok() {
            // SAFETY: allocated by `new`, freed once, and no copy is under way.
            let _ = unsafe { result::free_host(self.at.cast()) };
        }
    }
}
