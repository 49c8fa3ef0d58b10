//! The store of what was registered: one file, written in transactions.
//!
//! A file is opened for as long as a transaction takes, locked, and checked whole before anything in
//! it is believed. A new file is made beside its place and moved there, so that none is half made.
//! Whoever reads copies the file into memory and repairs nothing on the disk.

mod contents;
mod error;
mod file;
mod schema;

use std::path::Path;
use std::time::Duration;

use divisi_modelless::variants::Variant;
use redb::{Database, ReadableDatabase, StorageBackend, WriteTransaction};

use crate::records::{JobRecord, ModelRecord, RegisteredModel};

pub use contents::{CatalogedTasks, StoreContents};
pub use error::StoreError;

use schema::{FORMAT, JOBS, MODELS, VARIANTS, VERSION, VERSION_KEY, encoded};

/// How long a store that somebody else writes is waited for.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A store that is open for writing: nobody else reads or writes it meanwhile.
#[derive(Debug)]
pub struct Store {
    database: Database,
}

impl Store {
    /// Opens the store at `path`, or makes one where there is none, and waits for at most
    /// `patience` until nobody else has it open.
    ///
    /// # Errors
    /// The file is no store, damaged, of a newer program, in use for too long, or cannot be written.
    pub fn open(path: &Path, patience: Duration) -> Result<Self, StoreError> {
        if !path.exists() {
            file::create(path, |backend| Store::on(backend).map(drop))?;
        }
        Store::on(file::lock(path, patience)?)
    }

    /// Reads the store at `path`, of which nothing is changed, and waits as [`Store::open`] does.
    /// Where there is no file, nothing was registered.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn read(path: &Path, patience: Duration) -> Result<StoreContents, StoreError> {
        match path.exists() {
            true => Store::on(file::copied(path, patience)?)?.contents(),
            false => Ok(StoreContents::default()),
        }
    }

    /// Opens a store on something other than a file, or makes one where that is empty.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn on(backend: impl StorageBackend) -> Result<Self, StoreError> {
        let mut builder = Database::builder();
        // What a file claims is not believed, and a store is small.
        builder.set_check_integrity_on_open(true);
        builder.set_cache_size(CACHE);
        let store = Store {
            database: builder.create_with_backend(backend)?,
        };
        store.check()?;
        Ok(store)
    }

    /// Finds the version of the schema, and writes it where there is nothing yet.
    fn check(&self) -> Result<(), StoreError> {
        let reading = self.database.begin_read()?;
        let mut tables = reading.list_tables()?;
        if tables.next().is_none() {
            return self.write(|transaction| {
                let mut format = transaction.open_table(FORMAT)?;
                format.insert(VERSION_KEY, VERSION)?;
                transaction.open_table(MODELS)?;
                transaction.open_table(VARIANTS)?;
                transaction.open_table(JOBS)?;
                Ok(())
            });
        }
        let format = reading.open_table(FORMAT);
        let version = format.ok().and_then(|f| f.get(VERSION_KEY).ok().flatten());
        match version.map(|version| version.value()) {
            Some(VERSION) => Ok(()),
            Some(found) => Err(StoreError::Version {
                found,
                expected: VERSION,
            }),
            None => Err(StoreError::Foreign),
        }
    }

    /// Changes the store in one transaction, which is on the disk when this returns.
    fn write(
        &self,
        change: impl FnOnce(&WriteTransaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let transaction = self.database.begin_write()?;
        // Dropped without a commit it changes nothing.
        change(&transaction)?;
        Ok(transaction.commit()?)
    }

    /// Returns everything in the store.
    ///
    /// # Errors
    /// A record cannot be read.
    pub fn contents(&self) -> Result<StoreContents, StoreError> {
        StoreContents::of(&self.database.begin_read()?)
    }

    /// Registers an ensemble for a task, in place of one of the same name, in one transaction.
    ///
    /// # Errors
    /// The task's other ensembles take other samples or make other answers, or the store cannot be
    /// written.
    pub fn register(&self, task: &str, model: &RegisteredModel) -> Result<(), StoreError> {
        self.contents()?.check_interface(task, model)?;
        self.write(|transaction| {
            forget(transaction, task, &model.name)?;
            let record = encoded(&model.record)?;
            let mut models = transaction.open_table(MODELS)?;
            models.insert((task, model.name.as_str()), record.as_slice())?;
            insert_variants(transaction, task, model)
        })
    }

    /// Forgets a task with all of its ensembles, in one transaction; returns how many these were.
    ///
    /// # Errors
    /// Nobody registered the task, or the store cannot be written.
    pub fn unregister(&self, task: &str) -> Result<usize, StoreError> {
        let contents = self.contents()?;
        let models = contents.task(task)?;
        self.write(|transaction| {
            let mut names = models.iter().map(|model| &model.name);
            names.try_for_each(|name| forget(transaction, task, name))
        })?;
        Ok(models.len())
    }

    /// Takes a new job. Returns its number.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn submit(&self, job: &JobRecord) -> Result<u64, StoreError> {
        let last = self.contents()?.jobs.keys().next_back().copied();
        let number = last.map_or(1, |last| last + 1);
        self.keep_job(number, job)?;
        Ok(number)
    }

    /// Keeps a job under a number, in place of what was kept there.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn keep_job(&self, number: u64, job: &JobRecord) -> Result<(), StoreError> {
        self.write(|transaction| {
            let mut jobs = transaction.open_table(JOBS)?;
            jobs.insert(number, encoded(job)?.as_slice())?;
            Ok(())
        })
    }
}

/// The most bytes of a store that are held in memory beside its transaction.
const CACHE: usize = 16 << 20;

/// Removes an ensemble and its variants.
fn forget(transaction: &WriteTransaction, task: &str, model: &str) -> Result<(), StoreError> {
    let mut models = transaction.open_table(MODELS)?;
    models.remove((task, model))?;
    let mut variants = transaction.open_table(VARIANTS)?;
    variants.retain_in((task, model, 0)..=(task, model, u32::MAX), |_, _| false)?;
    Ok(())
}

fn insert_variants(
    transaction: &WriteTransaction,
    task: &str,
    model: &RegisteredModel,
) -> Result<(), StoreError> {
    let mut variants = transaction.open_table(VARIANTS)?;
    for (number, variant) in (0_u32..).zip(&model.variants) {
        let key = (task, model.name.as_str(), number);
        variants.insert(key, encoded(variant)?.as_slice())?;
    }
    Ok(())
}

/// The types that are kept, each under its name in messages.
trait Kept: serde::Serialize + serde::de::DeserializeOwned {
    const NAME: &'static str;
}

impl Kept for ModelRecord {
    const NAME: &'static str = "an ensemble";
}

impl Kept for Variant {
    const NAME: &'static str = "a variant";
}

impl Kept for JobRecord {
    const NAME: &'static str = "a job";
}
