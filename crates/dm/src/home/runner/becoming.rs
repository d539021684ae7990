//! A machine that becomes another one while it is suspended: by a reload, or by one that takes its
//! place and is to be started.

use std::sync::Arc;

use block::{Device, Info};

use super::{Faces, Leg, Phase, Runner, infos, open};
use crate::home::home_device::NoticeHandler;
use crate::machine::{Event, Machine};
use crate::{Error, Kind, Result};

/// What a machine is ready to become.
pub(super) struct Prepared<M: Machine> {
    pub(super) number: u64,
    becoming: Becoming<M>,
    devices: Vec<Arc<dyn Device>>,
    legs: Vec<Leg>,
    leg_infos: Vec<Info>,
    faces: Faces,
}

/// How it becomes that.
enum Becoming<M: Machine> {
    Reloaded(M::Config),
    Succeeded(Box<M>),
}

impl<M: Machine> Runner<M> {
    /// Gets ready to be made of `config`; the faces that it has then.
    pub(super) fn prepare(
        &mut self,
        number: u64,
        config: M::Config,
        devices: &[Arc<dyn Device>],
    ) -> Result<Faces> {
        let leg_infos = infos(devices);
        if self.has_not_started() {
            let what = format!("{} is becoming another one; try again", self.name);
            return Err(Error::new(Kind::Busy, what));
        }
        let faces = self.machine.foresee(&config, &leg_infos)?;
        let becoming = match self.machine.successor(&config, &leg_infos)? {
            Some(machine) => Becoming::Succeeded(Box::new(machine)),
            None => Becoming::Reloaded(config),
        };
        let legs = open(devices, &self.driver);
        let legs = legs.map_err(|error| Error::device(self.name.clone(), error))?;
        self.prepared = Some(Prepared {
            number,
            becoming,
            devices: devices.to_vec(),
            legs,
            leg_infos,
            faces: faces.clone(),
        });
        Ok(faces)
    }

    pub(super) fn reload(&mut self, number: u64, handler: Option<NoticeHandler<M>>) -> Result<()> {
        let refuse = |why| Err(Error::new(Kind::Busy, format!("{}: {why}", self.name)));
        if !matches!(self.phase, Phase::Suspended) {
            return refuse("is not suspended, so it cannot become another one");
        }
        let Some(prepared) = self.prepared.take_if(|prepared| prepared.number == number) else {
            return refuse("something else was prepared meanwhile");
        };
        assert!(
            self.legs.iter().all(|leg| leg.out == 0),
            "a suspended machine waits for nothing"
        );
        self.legs = prepared.legs;
        self.devices = prepared.devices;
        self.leg_infos = prepared.leg_infos;
        self.faces = prepared.faces;
        if let Some(handler) = handler {
            self.handler = handler;
        }
        match prepared.becoming {
            Becoming::Reloaded(config) => {
                self.tell(Event::Reload(config));
                let is_idle = self.legs.iter().all(|leg| leg.out == 0);
                assert!(is_idle, "a suspended machine asks for nothing");
                self.publish();
            }
            Becoming::Succeeded(machine) => self.succeed(*machine),
        }
        Ok(())
    }

    /// Another machine takes the place of the one that is suspended, and knows nothing of that.
    fn succeed(&mut self, machine: M) {
        self.machine = machine;
        self.timers.clear();
        for (_, waiter) in self.ordered.drain() {
            let what = format!("{} has become another one meanwhile", self.name);
            let _ = waiter.send(Err(Error::new(Kind::Busy, what)));
        }
        self.phase = Phase::Waiting;
    }
}
