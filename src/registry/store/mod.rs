//! The store of registered tasks: one file, written in transactions.
//!
//! The file is open and locked only during a transaction, and is checked completely before use. A
//! new file is created next to its place and then moved, so no file is incomplete. Readers copy the
//! file into memory and change nothing on the disk.

mod contents;
mod error;
mod file;
mod jobs;
mod schema;

use std::path::Path;
use std::time::Duration;

use divisi_modelless::variants::Variant;
use redb::{Database, ReadableDatabase, StorageBackend, WriteTransaction};

use crate::records::{JobRecord, ModelRecord, RegisteredModel};

pub use contents::{CatalogedTasks, StoreContents};
pub use error::StoreError;
pub use jobs::{KEPT_JOBS, KEPT_TIME};

use schema::{FORMAT, JOBS, MODELS, VARIANTS, VERSION, VERSION_KEY, encoded};

/// The maximum wait for a store that another program is writing.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A store that is open for writing. It is locked against other programs.
#[derive(Debug)]
pub struct Store {
    database: Database,
}

impl Store {
    /// Opens the store at `path`, or creates it, and waits for at most `patience` while another
    /// program has it open.
    ///
    /// # Errors
    /// The file is not a store, is damaged or from a newer program, is in use for too long, or
    /// cannot be written.
    pub fn open(path: &Path, patience: Duration) -> Result<Self, StoreError> {
        if !path.exists() {
            file::create(path, |backend| Store::with_backend(backend).map(drop))?;
        }
        Store::with_backend(file::lock(path, patience)?)
    }

    /// Reads the store at `path` without changing it, and waits as [`Store::open`] does. A missing
    /// file is an empty store.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn read(path: &Path, patience: Duration) -> Result<StoreContents, StoreError> {
        match path.exists() {
            true => Store::with_backend(file::copied(path, patience)?)?.contents(),
            false => Ok(StoreContents::default()),
        }
    }

    /// Opens a store on another backend than a file. An empty backend becomes a new store.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn with_backend(backend: impl StorageBackend) -> Result<Self, StoreError> {
        let mut builder = Database::builder();
        // The file is not trusted, and a store is small enough to check.
        builder.set_check_integrity_on_open(true);
        builder.set_cache_size(CACHE);
        let store = Store {
            database: builder.create_with_backend(backend)?,
        };
        store.check()?;
        Ok(store)
    }

    /// Checks the version of the schema, and writes it to a new store.
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
        // A transaction that is dropped without a commit changes nothing.
        change(&transaction)?;
        Ok(transaction.commit()?)
    }

    /// Returns everything in the store.
    ///
    /// # Errors
    /// A record cannot be read.
    pub fn contents(&self) -> Result<StoreContents, StoreError> {
        StoreContents::read(&self.database.begin_read()?)
    }

    /// Registers an ensemble for a task in one transaction. Replaces an ensemble with the same name
    /// and source.
    ///
    /// # Errors
    /// The task has an ensemble of this name from another source, its other ensembles have other
    /// samples or answers, or the store cannot be written.
    pub fn register(&self, task: &str, model: &RegisteredModel) -> Result<(), StoreError> {
        let contents = self.contents()?;
        contents.check_source(task, &model.name, &model.record.source)?;
        contents.check_interface(task, &model.name, &model.record.interface)?;
        self.put(task, model)
    }

    /// Registers an ensemble as [`Store::register`], and replaces an ensemble with the same name
    /// from any source.
    ///
    /// # Errors
    /// The task's other ensembles have other samples or answers, or the store cannot be written.
    pub fn replace(&self, task: &str, model: &RegisteredModel) -> Result<(), StoreError> {
        let interface = &model.record.interface;
        self.contents()?
            .check_interface(task, &model.name, interface)?;
        self.put(task, model)
    }

    fn put(&self, task: &str, model: &RegisteredModel) -> Result<(), StoreError> {
        self.write(|transaction| {
            forget(transaction, task, &model.name)?;
            let record = encoded(&model.record)?;
            let mut models = transaction.open_table(MODELS)?;
            models.insert((task, model.name.as_str()), record.as_slice())?;
            insert_variants(transaction, task, model)
        })
    }

    /// Removes some ensembles of a task in one transaction, or the whole task if none are named.
    /// Returns the names of the removed ensembles.
    ///
    /// # Errors
    /// The task or one of the ensembles is not registered, or the store cannot be written.
    pub fn unregister(&self, task: &str, ensembles: &[String]) -> Result<Vec<String>, StoreError> {
        let removed = self.contents()?.named(task, ensembles)?;
        self.write(|transaction| {
            let mut names = removed.iter();
            names.try_for_each(|name| forget(transaction, task, name))
        })?;
        Ok(removed)
    }
}

/// The size of the database's cache, in bytes, in addition to its transaction.
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

/// The stored types, each with its name for messages.
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
