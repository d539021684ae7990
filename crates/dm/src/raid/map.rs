//! Where an array may be read without its home: what is read from one leg.
//!
//! What is believed of an array that nobody writes does not change, so the map is what is believed.
//! A read that reaches over several chunks, or whose leg is missing, goes home; so does one that
//! its leg did not answer, which is made up there from the others.

use std::sync::Arc;

use block::{Operation, Request};

use super::view::{Source, View};
use crate::map::{Ended, Legs, Map, Route};

/// What queues know of an array.
#[derive(Debug)]
pub struct ArrayMap {
    /// `None`: nothing is known yet.
    view: Option<Arc<View>>,
    /// Which device holds the data of each leg.
    devices: Vec<Option<usize>>,
}

/// A read holds nothing.
#[derive(Debug)]
pub struct Hold;

impl ArrayMap {
    pub(super) fn new(view: Option<Arc<View>>, devices: Vec<Option<usize>>) -> Self {
        Self { view, devices }
    }
}

impl Map for ArrayMap {
    const ROUTES: bool = true;
    type Memory = ();
    type Hold = Hold;

    fn route(&self, _face: usize, request: &Request, (): &mut ()) -> Result<Route<Hold>, Ended> {
        let view = self.view.as_ref().ok_or(Ended::Quiet)?;
        if request.operation != Operation::Read {
            return Err(Ended::Quiet);
        }
        let (source, len) = view.source(request.range, 0);
        let Source::Leg { leg, start } = source else {
            return Err(Ended::Quiet);
        };
        if len < request.range.len() {
            return Err(Ended::Quiet);
        }
        let device = self.devices[leg].expect("a leg that is valid is there");
        Ok(Route {
            legs: Legs::One(device),
            start,
            hold: Hold,
        })
    }

    fn stands(&self, Hold: &Hold) -> bool {
        true
    }

    fn end(&self, Hold: Hold) -> Ended {
        Ended::Quiet
    }
}
