//! How much memory bodies may take: each one, and all together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{Bytes, BytesMut};

/// Bounds on what is held in memory.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Largest body that is held.
    pub max_body: usize,
    budget: Arc<Budget>,
}

#[derive(Debug)]
struct Budget {
    total: usize,
    used: AtomicUsize,
}

/// Why a body cannot be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// It is larger than [`Limits::max_body`].
    Body,
    /// All bodies in flight together take too much.
    Total,
}

impl Default for Limits {
    /// 32 MiB per body and 128 MiB in all: the deployment's container has 256 MiB.
    fn default() -> Self {
        Limits::new(32 * 1024 * 1024, 128 * 1024 * 1024)
    }
}

impl Limits {
    /// Limits of one body and of all together, in bytes.
    pub fn new(max_body: usize, total: usize) -> Limits {
        Limits { max_body, budget: Arc::new(Budget { total, used: AtomicUsize::new(0) }) }
    }

    /// Bytes held at this moment.
    pub fn used(&self) -> usize {
        self.budget.used.load(Ordering::Relaxed)
    }
}

/// A body under way. Gives its share of the budget back when dropped.
#[derive(Debug)]
pub struct Buffer {
    limits: Limits,
    data: BytesMut,
    reserved: usize,
}

impl Buffer {
    /// An empty buffer under these limits.
    pub fn new(limits: &Limits) -> Buffer {
        Buffer { limits: limits.clone(), data: BytesMut::new(), reserved: 0 }
    }

    /// Takes a chunk's share of the budget, before it is pushed.
    pub fn reserve(&mut self, size: usize) -> Result<(), Overflow> {
        if self.data.len() + size > self.limits.max_body {
            return Err(Overflow::Body);
        }
        let Budget { total, used } = &*self.limits.budget;
        if used.fetch_add(size, Ordering::Relaxed) + size > *total {
            used.fetch_sub(size, Ordering::Relaxed);
            return Err(Overflow::Total);
        }
        self.reserved += size;
        Ok(())
    }

    /// Adds a chunk for which room was reserved.
    pub fn push(&mut self, chunk: Vec<u8>) {
        if self.data.is_empty() {
            self.data = BytesMut::from(Bytes::from(chunk)); // the usual case, a body in one piece: no copy
        } else {
            self.data.extend_from_slice(&chunk);
        }
    }

    /// What arrived so far; the buffer is empty afterwards but keeps its share until it is dropped.
    pub fn take(&mut self) -> Bytes {
        std::mem::take(&mut self.data).freeze()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.limits.budget.used.fetch_sub(self.reserved, Ordering::Relaxed);
    }
}
