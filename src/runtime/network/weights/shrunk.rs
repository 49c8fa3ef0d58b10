//! Mapped files that became shorter after they were mapped.
//!
//! Pages behind the new end no longer exist. Reading them raises the signal `SIGBUS`, which would
//! end the process. The handler replaces such a page by zeros, so that reading continues. The
//! file's length has then changed, and [`Map::check`](super::source::Map::check) refuses the
//! values.

#![allow(
    unsafe_code,
    reason = "signals and mappings are interfaces of the system without a safe one"
)]

use std::mem::{self, MaybeUninit};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Once, OnceLock};

use libc::{c_int, c_void, siginfo_t};

/// The addresses of a mapping. Without one, the start is [`FREE`], or [`TAKEN`] while it changes.
struct MappedRange {
    start: AtomicUsize,
    end: AtomicUsize,
}

const FREE: usize = 0;
const TAKEN: usize = 1;

/// The largest number of guarded files. Others still end the process if they shrink.
const MOST_FILES: usize = 1024;

static RANGES: [MappedRange; MOST_FILES] = [const {
    MappedRange {
        start: AtomicUsize::new(FREE),
        end: AtomicUsize::new(FREE),
    }
}; MOST_FILES];

/// The previous handler, and the size of a page.
static BEFORE: OnceLock<(libc::sigaction, usize)> = OnceLock::new();

/// A mapping with guarded pages: until this is dropped, pages that the file has lost are replaced
/// by zeros.
#[derive(Debug)]
pub(super) struct ShrinkGuard(Option<usize>);

impl ShrinkGuard {
    /// Guards the bytes of a mapping.
    pub(super) fn guard(bytes: &[u8]) -> Self {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(install);
        let mut ranges = RANGES.iter();
        let is_taken = |range: &MappedRange| {
            let taken =
                range
                    .start
                    .compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed);
            taken.is_ok()
        };
        let at = ranges.position(is_taken);
        if let Some(range) = at.and_then(|at| RANGES.get(at)) {
            let start = bytes.as_ptr().addr();
            range.end.store(start + bytes.len(), Ordering::Relaxed);
            range.start.store(start, Ordering::Release);
        }
        ShrinkGuard(at)
    }
}

impl Drop for ShrinkGuard {
    fn drop(&mut self) {
        if let Some(range) = self.0.and_then(|at| RANGES.get(at)) {
            range.end.store(FREE, Ordering::Relaxed);
            range.start.store(FREE, Ordering::Release);
        }
    }
}

/// Returns whether an address lies in a guarded mapping.
fn is_guarded(address: usize) -> bool {
    RANGES.iter().any(|range| {
        let start = range.start.load(Ordering::Acquire);
        start > TAKEN && (start..range.end.load(Ordering::Relaxed)).contains(&address)
    })
}

fn install() {
    // SAFETY: the actions are whole structures, zero in unset fields. The handler does only what is
    // allowed while a signal is handled: it reads atomics, and calls `mmap`, `sigaction` and the
    // previous handler.
    unsafe {
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        if libc::sigaction(libc::SIGBUS, ptr::null(), before.as_mut_ptr()) != 0 {
            return;
        }
        let page = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).unwrap_or(0);
        if page == 0 || BEFORE.set((before.assume_init(), page)).is_err() {
            return;
        }
        let mut own: libc::sigaction = mem::zeroed();
        let handler: unsafe extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = handle;
        own.sa_sigaction = handler as usize;
        own.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut own.sa_mask);
        libc::sigaction(libc::SIGBUS, &raw const own, ptr::null_mut());
    }
}

/// # Safety
/// The system calls it, with the facts of the signal.
unsafe extern "C" fn handle(signal: c_int, facts: *mut siginfo_t, context: *mut c_void) {
    let Some((before, page)) = BEFORE.get() else {
        return;
    };
    // SAFETY: the system hands over the facts of the signal, with the address that was read.
    let address = unsafe { (*facts).si_addr() }.addr();
    // SAFETY: the page belongs to a mapping that exists while it is guarded, of a file that has
    // lost these bytes; it stays readable.
    if is_guarded(address) && unsafe { zeros(address & !(page - 1), *page) } {
        return;
    }
    // SAFETY: as the system called this.
    unsafe { pass_on(before, signal, facts, context) }
}

/// Replaces a page by zeros, and returns whether this succeeded.
///
/// # Safety
/// The page is mapped, and nothing depends on its bytes.
unsafe fn zeros(page: usize, size: usize) -> bool {
    let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let at = ptr::with_exposed_provenance_mut(page);
    // SAFETY: guaranteed by the caller.
    let made = unsafe { libc::mmap(at, size, libc::PROT_READ, flags, -1, 0) };
    made != libc::MAP_FAILED
}

/// Passes a signal to the previous handler. Without one, the signal ends the process.
///
/// # Safety
/// The arguments are those that the system called a handler with.
unsafe fn pass_on(
    before: &libc::sigaction,
    signal: c_int,
    facts: *mut siginfo_t,
    context: *mut c_void,
) {
    let handler = before.sa_sigaction;
    // SAFETY: the system had this handler, of the kind given by its flags. After a reset to the
    // default, the signal is raised again when this returns.
    unsafe {
        match handler {
            libc::SIG_DFL | libc::SIG_IGN => {
                let mut usual: libc::sigaction = mem::zeroed();
                usual.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &raw const usual, ptr::null_mut());
            }
            _ if before.sa_flags & libc::SA_SIGINFO != 0 => {
                type Informed = unsafe extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
                mem::transmute::<usize, Informed>(handler)(signal, facts, context);
            }
            _ => mem::transmute::<usize, unsafe extern "C" fn(c_int)>(handler)(signal),
        }
    }
}
