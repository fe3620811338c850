//! Parses the kernel's table of mounted filesystems. Must not read it.

/// A mounted filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mounted<'a> {
    /// The folder or file of the filesystem that is mounted.
    pub root: &'a str,
    /// The mount point, with the kernel's escapes.
    pub point: &'a str,
    /// Type of the filesystem.
    pub kind: &'a str,
    /// The device, or whatever the filesystem reports as its source.
    pub source: &'a str,
}

/// Parses proc_pid_mountinfo(5): `36 35 98:0 /root /mount/point options [tags] - type source
/// options`.
pub fn mounts(mountinfo: &str) -> impl Iterator<Item = Mounted<'_>> {
    mountinfo.lines().filter_map(|line| {
        let (place, filesystem) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let mut filesystem = filesystem.split(' ');
        Some(Mounted {
            root: place.next()?,
            point: place.next()?,
            kind: filesystem.next()?,
            source: filesystem.next()?,
        })
    })
}

/// Undoes the kernel's octal escapes of white space and backslashes.
pub fn unescaped(point: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.iter().fold(point.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
}
