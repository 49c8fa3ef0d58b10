//! The events that befall a world: requests, cancels, changes, faults, in any order.

use divisi_engine::serving::Arrival;
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use rand::RngExt;

use super::ledger::Figures;
use super::setup::{chance, max_inf, ms, policy};
use super::world::{Event, World};

impl World {
    /// Lets `events` happen, then everything end; returns what became of the requests.
    pub fn run(mut self, events: u64) -> Figures {
        while self.figures.events < events {
            self.figures.events += 1;
            self.deed();
            self.look_after_members();
            self.drive();
            if chance(&mut self.random, 500) {
                self.advance();
            }
        }
        self.end()
    }

    /// Everybody serves again, and nothing more comes: all must be over then.
    fn end(mut self) -> Figures {
        let devices = self.config.devices.len();
        for looks in 0..1_000_000 {
            if looks % 64 == 0 {
                DeviceIndex::all(devices).for_each(|d| self.core.regain_device(d));
                self.staff();
                self.drive();
            }
            if !self.advance() && self.core.in_flight() == 0 {
                break;
            }
        }
        let mut figures = self.ledger.figures();
        figures.add(&self.figures);
        figures.refused = self.core.door().refused();
        let left = self.core.pooled() + self.core.in_flight();
        figures.lost += left as u64 + self.core.dropped();
        figures
    }

    fn deed(&mut self) {
        match self.random.random_range(0..1000) {
            0..450 => self.submit(),
            450..560 => self.cancel(),
            560..575 => {
                let policy = policy(&mut self.random);
                self.core.set_policy(self.now, policy);
            }
            575..585 => {
                let size = self.random.random_range(1..40);
                self.core.set_segment(size);
            }
            585..595 => {
                let device = self.any_device();
                let most = chance(&mut self.random, 500).then(|| max_inf(&mut self.random));
                self.core.set_max_inf(device, most.flatten());
            }
            595..610 => self.dismiss(),
            610..630 => {
                let device = self.any_device();
                let members = self.config.members;
                let member = MemberIndex::new(self.random.random_range(0..members));
                if !self.core.is_lost(device) {
                    self.hire(device, member);
                }
            }
            630..636 => {
                let device = self.any_device();
                self.lose(device);
            }
            636..650 => {
                let device = self.any_device();
                self.core.regain_device(device);
                self.staff();
            }
            _ => {
                self.advance();
            }
        }
    }

    fn any_device(&mut self) -> DeviceIndex {
        DeviceIndex::new(self.random.random_range(0..self.config.devices.len()))
    }

    fn submit(&mut self) {
        let samples = self.random.random_range(1..=2 * self.config.segment);
        let samples = if chance(&mut self.random, 600) {
            1 + samples / 8
        } else {
            samples
        };
        let deadline =
            chance(&mut self.random, 150).then(|| self.now + ms(self.random.random_range(0..60)));
        let Ok(admission) = self.core.admit(
            self.now,
            Arrival::with_samples(samples).until(deadline),
            |_| 0,
        ) else {
            return;
        };
        let request = admission.request;
        let members = self.config.members;
        self.ledger.let_in(request, samples, members);
        self.open.push(request);
        match self.random.random_range(0..100) {
            // Its samples take a while to be written.
            0..10 => self.after(ms(2), Event::Written(request)),
            10..13 => match self.core.abandon(request) {
                Some(_) => self.ledger.withdrawn(request),
                None => panic!("nobody else knew of it"),
            },
            _ => self.core.enqueue(self.now, request),
        }
    }

    fn cancel(&mut self) {
        if self.open.is_empty() {
            return;
        }
        self.figures.cancels += 1;
        // One of the latest: it is likely to be under way still.
        let recent = self.open.len().min(12);
        let at = self.open.len() - 1 - self.random.random_range(0..recent);
        let request = self.open.swap_remove(at);
        let owed = self.core.fail(self.now, request);
        self.ledger.failed(owed);
    }

    /// A worker is told to go, and does so in its time or is stuck.
    fn dismiss(&mut self) {
        if self.workers.is_empty() {
            return;
        }
        self.figures.drains += 1;
        let at = self.random.random_range(0..self.workers.len());
        let id = self.workers[at].id;
        self.core.drain_worker(id);
        let looks = self.random.random_range(0..20);
        self.after(ms(0), Event::Leaves(id, looks));
    }
}
