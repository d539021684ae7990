//! Leaves out of a table what no segment uses.
//!
//! A layout is compiled whole even where another one takes only a slice of it. Devices that are
//! only in the rest must not be opened, nor count for what the volume says about itself.

use super::lookup::Table;
use super::place::Place;

/// New numbers of the things of one kind that are used.
struct Numbers(Vec<Option<u32>>);

impl Numbers {
    fn new(count: usize) -> Self {
        Self(vec![None; count])
    }

    fn mark(&mut self, number: u32) {
        self.0[number as usize] = Some(0);
    }

    /// Counts what is marked.
    fn count(&mut self) {
        for (new, slot) in self.0.iter_mut().flatten().enumerate() {
            *slot = new as u32;
        }
    }

    fn of(&self, number: u32) -> u32 {
        self.0[number as usize].expect("what is used is marked")
    }

    fn keep<T>(&self, things: Box<[T]>) -> Box<[T]> {
        let marked = things.into_iter().zip(&self.0);
        let kept = marked.filter(|(_, new)| new.is_some());
        kept.map(|(thing, _)| thing).collect()
    }
}

impl Table {
    /// The same table, with nothing in it that is not used.
    pub(super) fn pruned(mut self) -> Self {
        let mut devices = Numbers::new(self.devices.len());
        let mut reasons = Numbers::new(self.reasons.len());
        let mut stripes = Numbers::new(self.stripes.len());
        let mut mark = |place: &Place, stripes: &mut Numbers| match *place {
            Place::Device { device, .. } => devices.mark(device),
            Place::Stripe { stripe, .. } => stripes.mark(stripe),
            Place::Error { reason } => reasons.mark(reason),
            Place::Zero => {}
        };
        for place in &self.segments {
            mark(place, &mut stripes);
        }
        // Stripes hold older ones only, so what uses one has been seen before it.
        for index in (0..self.stripes.len()).rev() {
            if stripes.0[index].is_some() {
                let legs = &self.stripes[index].legs;
                legs.iter().for_each(|leg| mark(leg, &mut stripes));
            }
        }
        for numbers in [&mut devices, &mut reasons, &mut stripes] {
            numbers.count();
        }
        self.devices = devices.keep(self.devices);
        self.reasons = reasons.keep(self.reasons);
        self.stripes = stripes.keep(self.stripes);
        let legs = self.stripes.iter_mut().flat_map(|stripe| &mut stripe.legs);
        for place in self.segments.iter_mut().chain(legs) {
            match place {
                Place::Device { device, .. } => *device = devices.of(*device),
                Place::Stripe { stripe, .. } => *stripe = stripes.of(*stripe),
                Place::Error { reason } => *reason = reasons.of(*reason),
                Place::Zero => {}
            }
        }
        self
    }
}
