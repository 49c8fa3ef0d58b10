//! Storage that remembers every write, and becomes full when it is told to.

use std::io::{self, Error, ErrorKind};
use std::sync::{Arc, Mutex};

use redb::StorageBackend;

/// One thing that was done to the storage.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Length(u64),
    Bytes(u64, Vec<u8>),
    Synced,
}

#[derive(Debug, Default)]
struct Written {
    bytes: Vec<u8>,
    steps: Vec<Step>,
    /// The writes that there is room for; `None` for any number.
    room: Option<usize>,
}

/// Storage in memory whose history can be played again up to any moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Journal(Arc<Mutex<Written>>);

impl Journal {
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        Journal(Arc::new(Mutex::new(Written {
            bytes,
            ..Written::default()
        })))
    }

    /// Storage with the first steps done.
    pub(crate) fn after(steps: &[Step]) -> Self {
        let journal = Journal::default();
        let mut written = journal.0.lock().expect("nobody panicked");
        steps.iter().for_each(|step| written.take(step));
        drop(written);
        journal
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.lock().expect("nobody panicked").bytes.clone()
    }

    pub(crate) fn steps(&self) -> Vec<Step> {
        self.0.lock().expect("nobody panicked").steps.clone()
    }

    pub(crate) fn set_room(&self, writes: usize) {
        self.0.lock().expect("nobody panicked").room = Some(writes);
    }

    fn step(&self, step: Step) -> io::Result<()> {
        let mut written = self.0.lock().expect("nobody panicked");
        if let Some(room) = &mut written.room {
            let left = room.checked_sub(1);
            *room = left.ok_or(Error::from(ErrorKind::StorageFull))?;
        }
        written.take(&step);
        written.steps.push(step);
        Ok(())
    }
}

impl Written {
    fn take(&mut self, step: &Step) {
        match step {
            Step::Length(length) => self.bytes.resize(*length as usize, 0),
            Step::Bytes(at, bytes) => {
                let end = *at as usize + bytes.len();
                // A cut of the power may lose the growth of a file and keep what was written there.
                self.bytes.resize(self.bytes.len().max(end), 0);
                self.bytes[*at as usize..end].copy_from_slice(bytes);
            }
            Step::Synced => {}
        }
    }
}

impl StorageBackend for Journal {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().expect("nobody panicked").bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let written = self.0.lock().expect("nobody panicked");
        let at = offset as usize;
        let found = written.bytes.get(at..at + out.len());
        out.copy_from_slice(found.ok_or(Error::from(ErrorKind::UnexpectedEof))?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.step(Step::Length(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.step(Step::Synced)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.step(Step::Bytes(offset, data.to_vec()))
    }
}
