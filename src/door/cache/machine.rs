//! The cached answers; the least recently used ones are evicted first. A state machine without
//! clock or lock.

use std::collections::{BTreeMap, HashMap};

/// Values by key, bounded in bytes, all of one epoch.
#[derive(Debug)]
pub struct CacheMachine<V> {
    most: usize,
    bytes: usize,
    epoch: u64,
    /// The number of the last use.
    uses: u64,
    entries: HashMap<u128, CacheEntry<V>>,
    /// The keys by the number of their last use.
    order: BTreeMap<u64, u128>,
}

#[derive(Debug)]
struct CacheEntry<V> {
    value: V,
    bytes: usize,
    used: u64,
}

impl<V> CacheMachine<V> {
    /// Creates an empty cache of at most `most` bytes.
    pub fn new(most: usize) -> Self {
        CacheMachine {
            most,
            bytes: 0,
            epoch: 0,
            uses: 0,
            entries: HashMap::new(),
            order: BTreeMap::new(),
        }
    }

    /// Clears the cache if the epoch has changed.
    pub fn enter(&mut self, epoch: u64) {
        if epoch != self.epoch {
            self.epoch = epoch;
            self.entries.clear();
            self.order.clear();
            self.bytes = 0;
        }
    }

    /// Returns the value of a key and marks it as used.
    pub fn find(&mut self, key: u128) -> Option<&V> {
        let entry = self.entries.get_mut(&key)?;
        self.uses += 1;
        self.order.remove(&entry.used);
        entry.used = self.uses;
        self.order.insert(entry.used, key);
        Some(&entry.value)
    }

    /// Stores a value made in `epoch`, and replaces the value with the same key. The least recently
    /// used values are evicted until it fits. A value of an earlier epoch, or larger than the
    /// cache, is not stored.
    pub fn keep(&mut self, key: u128, value: V, bytes: usize, epoch: u64) {
        if epoch != self.epoch || bytes > self.most {
            return;
        }
        self.remove(key);
        while self.bytes > self.most - bytes {
            let Some((_, oldest)) = self.order.pop_first() else {
                break;
            };
            self.remove(oldest);
        }
        self.uses += 1;
        let used = self.uses;
        self.order.insert(used, key);
        self.bytes += bytes;
        let entry = CacheEntry { value, bytes, used };
        self.entries.insert(key, entry);
    }

    fn remove(&mut self, key: u128) {
        if let Some(entry) = self.entries.remove(&key) {
            self.order.remove(&entry.used);
            self.bytes -= entry.bytes;
        }
    }

    /// Returns the cached bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
