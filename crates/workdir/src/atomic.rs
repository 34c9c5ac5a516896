//! Files that are whole or absent.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use xxhash_rust::xxh3::Xxh3;

use crate::layout::TEMPORARY_PREFIX;
use crate::{Error, WorkDir, fault};

/// A finished output as its receipt names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// The path relative to the work folder.
    pub name: String,
    /// The length in bytes.
    pub bytes: u64,
    /// XXH3-128 of the content, 32 hexadecimal digits.
    pub checksum: String,
}

/// A file that is written under a temporary name in its folder and takes its own name when it is
/// whole: written, synced, renamed, and the folder synced. Dropped before, it is removed.
///
/// The checksum is taken as the bytes pass, so that no file is read again for it.
pub struct AtomicFile {
    path: PathBuf,
    file: BufWriter<Temporary>,
    hash: Box<Xxh3>,
    bytes: u64,
}

impl AtomicFile {
    /// Begins the file. Its folder has to exist.
    ///
    /// # Errors
    /// When no file can be made there.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let file = fault::point("open")
            .and_then(|()| {
                tempfile::Builder::new()
                    .prefix(TEMPORARY_PREFIX)
                    .permissions(readable())
                    .tempfile_in(folder)
            })
            .map_err(Error::io("make a file in", folder))?;
        Ok(Self {
            path: path.to_owned(),
            file: BufWriter::with_capacity(256 << 10, Temporary(file)),
            hash: Box::new(Xxh3::new()),
            bytes: 0,
        })
    }

    /// The final path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs the file, gives it its name and syncs the folder.
    ///
    /// # Errors
    /// When any of these fails; the file is then absent, or was replaced whole.
    pub fn commit(self, work: &WorkDir) -> Result<Output, Error> {
        let file = self
            .file
            .into_inner()
            .map_err(|error| Error::io("write", &self.path)(error.into_error()))?;
        let Temporary(file) = file;
        fault::point("sync")
            .and_then(|()| file.as_file().sync_data())
            .map_err(Error::io("sync", &self.path))?;
        fault::point("rename")
            .and_then(|()| file.persist(&self.path).map_err(|error| error.error))
            .map_err(Error::io("rename a file to", &self.path))?;
        sync_folder(self.path.parent().unwrap_or(Path::new(".")))?;
        Ok(Output {
            name: work.name_of(&self.path),
            bytes: self.bytes,
            checksum: format!("{:032x}", self.hash.digest128()),
        })
    }

    /// Writes a small file whole.
    ///
    /// # Errors
    /// As [`AtomicFile::create`] and [`AtomicFile::commit`].
    pub fn write(path: &Path, content: &[u8], work: &WorkDir) -> Result<Output, Error> {
        let mut file = Self::create(path)?;
        file.write_all(content).map_err(Error::io("write", path))?;
        file.commit(work)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.file.write(buffer)?;
        self.hash.update(buffer.get(..written).unwrap_or_default());
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The file below the buffer.
struct Temporary(NamedTempFile);

impl Write for Temporary {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        fault::point("write")?;
        self.0.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A file in a scratch folder, which goes with it: no run believes it again.
pub struct ScratchFile(File);

impl ScratchFile {
    /// Makes the file.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(path: &Path) -> Result<Self, Error> {
        fault::point("open")
            .and_then(|()| File::create(path))
            .map(Self)
            .map_err(Error::io("make", path))
    }
}

impl Write for ScratchFile {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        fault::point("write")?;
        self.0.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Temporary files are private by default; outputs are for everyone whom the umask lets in.
fn readable() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    fs::Permissions::from_mode(0o666)
}

/// Makes renames in a folder durable.
///
/// # Errors
/// When the folder cannot be opened or synced.
pub fn sync_folder(folder: &Path) -> Result<(), Error> {
    fault::point("sync")
        .and_then(|()| File::open(folder))
        .and_then(|folder| folder.sync_all())
        .map_err(Error::io("sync the folder", folder))
}

/// XXH3-128 of a file's content as 32 hexadecimal digits. Reads it once, at about the speed of
/// the disk.
///
/// # Errors
/// When the file cannot be read.
fn checksum_file(path: &Path) -> Result<String, Error> {
    let mut file = File::open(path).map_err(Error::io("open", path))?;
    let mut hash = Xxh3::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => return Ok(format!("{:032x}", hash.digest128())),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Error::io("read", path)(error)),
        };
        hash.update(buffer.get(..count).unwrap_or_default());
    }
}

/// Checks that an output is the file that its receipt names, byte for byte.
///
/// # Errors
/// [`Error::Damaged`] with what was expected and found, [`Error::Io`] when it cannot be read.
pub fn verify(work: &WorkDir, stage: records::Stage, output: &Output) -> Result<(), Error> {
    let path = work.root().join(&output.name);
    let found = fs::metadata(&path)
        .map_err(|error| Error::damaged(&path, stage, error))?
        .len();
    if found != output.bytes {
        let what = format!("it has {found} bytes, not {}", output.bytes);
        return Err(Error::damaged(&path, stage, what));
    }
    let checksum = checksum_file(&path)?;
    if checksum != output.checksum {
        let what = format!("its checksum is {checksum}, not {}", output.checksum);
        return Err(Error::damaged(&path, stage, what));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work() -> (tempfile::TempDir, WorkDir) {
        let folder = tempfile::tempdir().unwrap();
        let work = WorkDir::create(folder.path()).unwrap();
        (folder, work)
    }

    #[test]
    fn a_file_appears_whole_and_verifies() {
        let (_folder, work) = work();
        let path = work.inputs();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"abc").unwrap();
        assert!(!path.exists());
        let output = file.commit(&work).unwrap();
        assert_eq!(output.name, "inputs.parquet");
        assert_eq!(output.bytes, 3);
        assert_eq!(output.checksum, checksum_file(&path).unwrap());
        verify(&work, records::Stage::Sign, &output).unwrap();
    }

    #[test]
    fn a_file_that_is_not_committed_leaves_nothing() {
        let (folder, work) = work();
        let mut file = AtomicFile::create(&work.inputs()).unwrap();
        file.write_all(b"abc").unwrap();
        drop(file);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn damage_names_the_file_the_difference_and_the_remedy() {
        let (_folder, work) = work();
        let output = AtomicFile::write(&work.inputs(), b"abc", &work).unwrap();
        fs::write(work.inputs(), b"abcd").unwrap();
        let error = verify(&work, records::Stage::Sign, &output).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("inputs.parquet cannot be used: it has 4 bytes, not 3"));
        assert!(text.ends_with("run `neardup sign --force` to make it again"));
        fs::write(work.inputs(), b"abd").unwrap();
        let error = verify(&work, records::Stage::Sign, &output).unwrap_err();
        assert!(error.to_string().contains("its checksum is"));
        assert!(error.refused());
    }
}
