//! SQLite's `fcntl` on Linux, with open file description locks instead of POSIX locks. See
//! `os_unix.c` of SQLite for which bytes it locks, and when.
//!
//! A process has one descriptor for the shared memory (`-shm`), and all its locks go through it.
//! The database itself has one per connection, and SQLite keeps the count: the first connection
//! takes the lock for all, and the last one drops it. POSIX locks do not care which descriptor is
//! used, but these do. So all go through the first one, the holder's. It stays open as long as the
//! lock is held, since SQLite does not close a descriptor before (`setPendingFd`).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use libc::{c_int, c_short, c_void, flock, off_t};
use rusqlite::ffi;
use rustix::fs::{OFlags, fcntl_getfl, fstat, fstatfs};

/// Where SQLite locks the database (`PENDING_BYTE`); it locks the shared memory far below.
const PENDING: off_t = 0x4000_0000;
/// The bytes that every user of the database locks (`SHARED_FIRST`, `SHARED_SIZE`).
const SHARED: off_t = PENDING + 2;
const SHARED_BYTES: off_t = 510;

/// A database that this process has locked.
struct Holder {
    /// Device and inode.
    file: (u64, u64),
    /// The descriptor that has the locks.
    fd: BorrowedFd<'static>,
}

static HOLDERS: Mutex<Vec<Holder>> = Mutex::new(Vec::new());

/// Whether the kernel turned out not to support these locks.
static UNKNOWN: AtomicBool = AtomicBool::new(false);

type SystemCall = unsafe extern "C" fn(c_int, c_int, *mut c_void) -> c_int;

#[expect(unsafe_code, reason = "the library has no safe call for this")]
pub(super) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the file system of that name is SQLite's own, static, and no connection uses it
        // yet. SQLite calls the function as `int(*)(int,int,...)`, with a pointer or nothing
        // behind. On these targets an argument behind `...` is passed as any other (System V ABI
        // for AMD64, 3.5.7; AAPCS64, 6.4.2).
        unsafe {
            let vfs = ffi::sqlite3_vfs_find(c"unix".as_ptr());
            if let Some(set) = vfs.as_ref().and_then(|vfs| vfs.xSetSystemCall) {
                let call = std::mem::transmute::<SystemCall, unsafe extern "C" fn()>(fcntl);
                set(vfs, c"fcntl".as_ptr(), Some(call));
            }
        }
    });
}

/// The function that SQLite calls. It reads `errno` after -1.
#[expect(unsafe_code, reason = "SQLite calls it")]
unsafe extern "C" fn fcntl(fd: c_int, command: c_int, argument: *mut c_void) -> c_int {
    if matches!(command, libc::F_SETLK | libc::F_GETLK) && fd >= 0 {
        // SAFETY: with these commands SQLite passes a pointer to a `flock` of its own, and a
        // descriptor that it closes neither during the call nor while the file is locked.
        let (fd, lock) = unsafe { (BorrowedFd::borrow_raw(fd), &mut *argument.cast::<flock>()) };
        if suits(fd) {
            return locked(fd, command, lock);
        }
    }
    // SAFETY: as SQLite asked.
    unsafe { libc::fcntl(fd, command, argument) }
}

/// Whether a descriptor's file system keeps its locks in this machine's kernel. Others, such as NFS
/// and FUSE, have their own locks, which may know only processes; there SQLite's locks stay as they
/// are.
fn suits(fd: BorrowedFd<'_>) -> bool {
    // linux/magic.h, and those of ZFS, bcachefs and F2FS: ext2 to ext4, XFS, Btrfs, tmpfs,
    // overlayfs, F2FS, ZFS, bcachefs.
    const LOCAL: [u64; 8] = [
        0xEF53,
        0x5846_5342,
        0x9123_683E,
        0x0102_1994,
        0x794C_7630,
        0xF2F5_2010,
        0x2FC1_2FC1,
        0xCA45_1A4E,
    ];
    if UNKNOWN.load(Ordering::Relaxed) {
        return false;
    }
    fstatfs(fd)
        .is_ok_and(|found| u64::try_from(found.f_type).is_ok_and(|kind| LOCAL.contains(&kind)))
}

fn locked(fd: BorrowedFd<'static>, command: c_int, lock: &mut flock) -> c_int {
    let is_all = lock.l_start == 0 && lock.l_len == 0;
    if lock.l_start < PENDING && !is_all {
        return asked(fd, command, lock);
    }
    let Ok(found) = fstat(fd) else { return asked(fd, command, lock) };
    let file = (found.st_dev, found.st_ino);
    let mut holders = HOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    let at = holders.iter().position(|holder| holder.file == file);
    if let Some(at) = at
        && is_taking(command, lock)
        && lock.l_type == kind(libc::F_WRLCK)
        && !is_writable(holders[at].fd)
    {
        hand_over(&mut holders[at], fd);
    }
    let result = asked(at.map_or(fd, |at| holders[at].fd), command, lock);
    match at {
        Some(at) if is_all => drop(holders.swap_remove(at)),
        None if result == 0 && is_taking(command, lock) && lock.l_start == SHARED => {
            holders.push(Holder { file, fd });
        }
        _ => {}
    }
    result
}

fn is_taking(command: c_int, lock: &flock) -> bool {
    command == libc::F_SETLK && lock.l_type != kind(libc::F_UNLCK)
}

/// A read-only descriptor cannot take a write lock. The holder then has at most a read lock, which
/// the new descriptor can take beside it.
fn hand_over(holder: &mut Holder, to: BorrowedFd<'static>) {
    if asked(to, libc::F_SETLK, &mut range(libc::F_RDLCK, SHARED, SHARED_BYTES)) == 0 {
        asked(holder.fd, libc::F_SETLK, &mut range(libc::F_UNLCK, 0, 0));
        holder.fd = to;
    }
}

/// Asks the kernel for a lock of the open file, or for a process lock if the kernel does not
/// support those.
#[expect(unsafe_code, reason = "the library has no safe call for this")]
fn asked(fd: BorrowedFd<'_>, command: c_int, lock: &mut flock) -> c_int {
    let own = if command == libc::F_SETLK { libc::F_OFD_SETLK } else { libc::F_OFD_GETLK };
    // The kernel insists; SQLite leaves it unset.
    lock.l_pid = 0;
    // SAFETY: the commands take a pointer to a `flock`, which this is.
    let mut ask = |command| unsafe { libc::fcntl(fd.as_raw_fd(), command, &raw mut *lock) };
    let result = ask(own);
    if result != -1 || io::Error::last_os_error().raw_os_error() != Some(libc::EINVAL) {
        return result;
    }
    UNKNOWN.store(true, Ordering::Relaxed);
    ask(command)
}

fn is_writable(fd: BorrowedFd<'_>) -> bool {
    fcntl_getfl(fd).is_ok_and(|flags| flags.intersects(OFlags::WRONLY | OFlags::RDWR))
}

fn range(lock: c_int, start: off_t, length: off_t) -> flock {
    flock {
        l_type: kind(lock),
        l_whence: kind(libc::SEEK_SET),
        l_start: start,
        l_len: length,
        l_pid: 0,
    }
}

/// The constants are wider than the field.
fn kind(lock: c_int) -> c_short {
    c_short::try_from(lock).unwrap_or_default()
}
