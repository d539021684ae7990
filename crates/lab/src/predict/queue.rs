//! Waiting: closed and open networks of stations, and requests that wait for several disks.
//!
//! ```text
//!   closed   exact mean value analysis, one request more at a time; a request that arrives sees
//!            the others as they were without it, the one in service for its residual time
//!   open     Pollaczek and Khinchine for Poisson arrivals, Allen and Cunneen for others
//!   fork     the last of n parts: the mean and as many deviations as the largest of n normals
//! ```
//!
//! With exponential service the closed network is exact, N·K / (K+N-1) for K equal stations. For
//! other laws the residual time is (1 + c²)/2 of a service where many stations make arrivals look
//! random, and nearer to a whole one where a request comes when another service has just begun: a
//! share of 0.45/K, from constant servers played through. No station gives more than one service
//! at a time.

mod run;

pub(super) use run::in_run;

use super::explain::Account;

/// Halvings of the rate that is looked for.
const BISECTIONS: usize = 40;

/// A server with a queue in front of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Station {
    /// Times that a part of a request comes here.
    pub(super) visits: f64,
    /// The mean service.
    pub(super) service: f64,
    /// The squared coefficient of variation of it.
    pub(super) variation: f64,
    /// Stations like this one, among which parts choose evenly.
    pub(super) copies: f64,
    /// Of how many of them a part needs one service each, at the same time.
    pub(super) parallel: f64,
    /// Work per visit that goes on behind the requests, and the mean length of a piece of it.
    pub(super) background: f64,
    pub(super) piece: f64,
    /// The share of that work that requests do themselves: who goes to another branch is spared it.
    pub(super) own: f64,
    /// Pieces of that work that fit behind it: a request waits only where there are more; 0 where
    /// requests do not wait for room.
    pub(super) room: f64,
    /// The mean and the second moment of the service of one that comes to it idle, where that is
    /// another.
    pub(super) first: Option<(f64, f64)>,
    /// Parts that come one after the other before there is a pause; of an open network.
    pub(super) run: f64,
}

/// A disk as requests see it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Branch {
    /// Parts of a request that come here, on average.
    pub(super) visits: f64,
    /// Time that no other request has to wait for.
    pub(super) delay: f64,
    /// What parts queue for.
    pub(super) stations: Vec<Station>,
    /// The standard deviation of an undisturbed part.
    pub(super) deviation: f64,
    /// What one block more of a part takes.
    pub(super) block: f64,
    /// The share of parts that come here because the other branch has more to do.
    pub(super) chosen: f64,
    /// How much faster than on average parts come while they come; less than 1 is as on average.
    pub(super) burst: f64,
    /// Of a stream: the time of a part that needs no head, after others and where it comes first.
    pub(super) found: f64,
    pub(super) first: f64,
    /// Where an undisturbed part spends its time.
    pub(super) account: Account,
}

/// How requests spread over branches.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spread<'a> {
    /// The share of requests that use 1, 2, .. at a time.
    pub(super) width: &'a [f64],
    /// Blocks of the largest part of those, beyond the mean of all parts.
    pub(super) excess: &'a [f64],
}

/// What comes out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Solution {
    /// Requests per nanosecond.
    pub(super) rate: f64,
    /// The mean response.
    pub(super) response: f64,
    /// Of each branch: parts there, the share of time its first station works, response of a part.
    pub(super) branches: Vec<State>,
    /// The part of the response that is waiting for the slowest of several parts.
    pub(super) fork: f64,
}

/// What a branch looks like.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct State {
    pub(super) queue: f64,
    pub(super) utilisation: f64,
    pub(super) response: f64,
}

impl Station {
    /// A station that every part visits once.
    pub(super) fn once(service: f64, variation: f64) -> Self {
        Self {
            visits: 1.0,
            service,
            variation,
            copies: 1.0,
            parallel: 1.0,
            background: 0.0,
            piece: 0.0,
            own: 0.0,
            room: 0.0,
            first: None,
            run: f64::INFINITY,
        }
    }

    /// A station that every part visits once, and whose time counts `weight` times in the mean.
    pub(super) fn weighted(service: f64, variation: f64, weight: f64) -> Self {
        Self {
            visits: weight,
            parallel: 1.0 / weight,
            ..Self::once(service, variation)
        }
    }

    /// The mean service, and the waiting, under an open load of `flow` whose gaps have the squared
    /// coefficient of variation `gaps`.
    fn loaded(&self, flow: f64, gaps: f64) -> (f64, f64) {
        let demand = flow * self.service;
        let busy = demand.min(0.98);
        let random = gaps + self.variation;
        let (idle, wait) = if self.run.is_finite() {
            // More chance acts as a shorter run of longer steps, as of any diffusion.
            let steps = random.max(0.1);
            let wait = steps * in_run(demand, self.run / steps).wait;
            (in_run(demand, self.run).idle, wait / flow.max(1e-12))
        } else {
            let work = flow * self.service.powi(2) * random;
            (1.0 - busy, work / (2.0 * (1.0 - busy)))
        };
        self.begun(flow, idle, wait)
    }

    /// The same where the first of a busy period is served otherwise (Welch, 1964), if a share
    /// `idle` is one else, and the others `wait`.
    fn begun(&self, flow: f64, idle: f64, wait: f64) -> (f64, f64) {
        let Some((mean, square)) = self.first else {
            return (self.service, wait);
        };
        let usual = self.service.powi(2) * (1.0 + self.variation);
        let busy = (flow * self.service).min(0.98);
        let growth = 1.0 + flow * (mean - self.service);
        // In a run that brings too much, all that wait win what its first one does, and no more.
        let (least, floor) = if self.run.is_finite() {
            ((mean - self.service).min(0.0), 1.0)
        } else {
            (f64::MIN, 1.0 - busy)
        };
        let growth = growth.max(floor);
        let idle = (idle / growth).clamp(0.0, 1.0);
        let more = (flow * (square - usual) / (2.0 * growth)).max(least);
        let service = idle * mean + (1.0 - idle) * self.service;
        (service, (wait + more).max(0.0))
    }

    /// The time that a request finds a service to have still, in services: by chance where many
    /// stations make arrivals look so, by `balance` more where services are constant.
    fn residual(&self, balance: f64) -> f64 {
        let random = f64::midpoint(1.0, self.variation);
        random + (1.0 - self.variation).max(0.0) * balance
    }

    /// Services before its own that a request finds at the station, of which it has seen parts and
    /// work in hand.
    fn ahead(&self, (queue, busy): (f64, f64), balance: f64) -> f64 {
        (queue - busy).max(0.0) + busy * self.residual(balance)
    }

    /// What a request of a closed network waits where it is answered before its work is done, and
    /// `room` pieces fit: for those that do not, in the queue M/G/1 of the pieces. A request waits
    /// when it comes to a station that many went to before; so one request alone keeps about √K of
    /// K stations busy that have room for one (the problem of birthdays).
    fn room_wait(&self, branch: &Branch, rate: f64, balance: f64) -> f64 {
        let flow = rate * branch.visits * self.flow();
        let busy = (rate * branch.visits * self.demand()).min(1.0 - 1e-9);
        if flow <= 0.0 {
            return 0.0;
        }
        let waiting = busy * busy * self.residual(balance) / (1.0 - busy);
        // The tail of their number is geometric.
        let tail = waiting / (busy + waiting);
        let over = waiting * tail.powf((self.room - 1.0).max(0.0));
        // A part does not wait for others of its own request.
        over / flow * (1.0 - branch.visits).max(0.0)
    }

    /// Services at each copy for a visit of the branch.
    fn flow(&self) -> f64 {
        self.visits * self.parallel / self.copies
    }

    /// The work that one visit of a branch brings, for each copy.
    fn demand(&self) -> f64 {
        self.flow() * (self.service + self.background)
    }
}

impl Branch {
    /// Requests per nanosecond that it can take.
    pub(super) fn limit(&self) -> f64 {
        let most = self
            .stations
            .iter()
            .map(Station::demand)
            .fold(0.0, f64::max);
        1.0 / (self.visits * most).max(1e-12)
    }

    /// The time of a part that nobody disturbs.
    pub(super) fn undisturbed(&self) -> f64 {
        let stations = self.stations.iter();
        self.delay + stations.map(|at| at.visits * at.service).sum::<f64>()
    }
}

/// A closed network of `population` requests, which use some branches and all of them the last.
pub(super) fn closed(branches: &[Branch], spread: Spread<'_>, population: usize) -> Solution {
    let mut network = Closed::new(branches, spread);
    for count in 1..=population {
        network.admit(count as f64);
    }
    let Closed {
        mut solution, seen, ..
    } = network;
    for ((state, branch), seen) in solution.branches.iter_mut().zip(branches).zip(seen) {
        if let Some(first) = branch.stations.first() {
            let flow = solution.rate * branch.visits;
            state.utilisation = (flow * first.demand()).min(1.0);
            state.queue = seen[0].0 * first.copies;
        }
    }
    solution
}

/// A closed network that is filled by one request after the other.
struct Closed<'a> {
    branches: &'a [Branch],
    spread: Spread<'a>,
    limit: f64,
    /// What a request that finds another in service waits for beyond what chance says.
    balance: f64,
    /// Whether requests wait for room somewhere.
    rooms: bool,
    /// Of each station of each branch: parts there and work in hand, of each copy.
    seen: Vec<Vec<(f64, f64)>>,
    solution: Solution,
}

impl<'a> Closed<'a> {
    fn new(branches: &'a [Branch], spread: Spread<'a>) -> Self {
        let stations = |branch: &Branch| vec![(0.0, 0.0); branch.stations.len()];
        Self {
            limit: branches.iter().map(Branch::limit).fold(f64::MAX, f64::min),
            balance: 0.45 / stations_like(branches),
            rooms: branches
                .iter()
                .any(|branch| branch.stations.iter().any(|station| station.room > 0.0)),
            seen: branches.iter().map(stations).collect(),
            solution: Solution {
                rate: 0.0,
                response: 0.0,
                branches: vec![State::default(); branches.len()],
                fork: 0.0,
            },
            branches,
            spread,
        }
    }

    /// One request more, `count` in all.
    fn admit(&mut self, count: f64) {
        let mut rate = self.solution.rate;
        if self.rooms {
            rate = self.balanced(count);
        }
        let times = self.times(rate);
        let (response, fork) = self.response(&times);
        rate = (count / response).min(self.limit);
        // What the bottleneck adds waits there.
        let mut known = 0.0;
        for (index, branch) in self.branches.iter().enumerate() {
            self.solution.branches[index].response = times[index];
            known += rate * branch.visits * times[index];
            for (at, station) in branch.stations.iter().enumerate() {
                let flow = rate * branch.visits * station.flow();
                let seen = &mut self.seen[index][at];
                let time = if station.room > 0.0 {
                    station.service + station.room_wait(branch, rate, self.balance)
                } else {
                    station.service * (1.0 + station.ahead(*seen, self.balance))
                };
                *seen = (flow * time, (flow * station.service).min(1.0));
            }
        }
        let lost = (count - known).max(0.0);
        if let Some((index, at)) = bottleneck(self.branches) {
            self.seen[index][at].0 += lost / self.branches[index].stations[at].copies;
        }
        self.solution.rate = rate;
        self.solution.response = count / rate;
        self.solution.fork = fork;
    }

    /// The rate at which `count` requests are under way where they wait for room.
    fn balanced(&self, count: f64) -> f64 {
        let (mut low, mut high) = (0.0, self.limit);
        for _ in 0..BISECTIONS {
            let middle = f64::midpoint(low, high);
            if middle * self.response(&self.times(middle)).0 > count {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    }

    /// The response of a request whose parts take these times, and what of it is waiting for the
    /// slowest.
    fn response(&self, times: &[f64]) -> (f64, f64) {
        let last = times.len() - 1;
        let (response, fork) = fork(&self.branches[..last], &times[..last], self.spread);
        ((response + times[last]).max(1.0), fork)
    }

    /// The time of a part on each branch at `rate`.
    fn times(&self, rate: f64) -> Vec<f64> {
        let mut times = Vec::new();
        for (branch, seen) in self.branches.iter().zip(&self.seen) {
            let mut time = branch.delay;
            for (station, &seen) in branch.stations.iter().zip(seen) {
                if station.room > 0.0 {
                    let wait = station.room_wait(branch, rate, self.balance);
                    time += station.visits * (station.service + wait);
                    continue;
                }
                let ahead = station.ahead(seen, self.balance);
                let shorter = (seen.0 - 0.5).clamp(0.0, ahead);
                let ahead = ahead + branch.chosen * (shorter - ahead);
                let behind = rate * branch.visits * station.flow() * station.background;
                let share = station.service / (station.service + station.background).max(1e-9);
                time += station.visits
                    * (station.service * (1.0 + ahead)
                        + behind.min(1.0) * station.piece * 0.75 * share.min(1.0));
            }
            times.push(time);
        }
        times
    }
}

/// Stations like the busiest one that would have as much to do as all.
fn stations_like(branches: &[Branch]) -> f64 {
    let (mut all, mut most) = (0.0, 1e-9_f64);
    for branch in branches {
        for station in &branch.stations {
            let demand = branch.visits * station.demand();
            all += demand * station.copies;
            most = most.max(demand);
        }
    }
    (all / most).max(1.0)
}

/// The branch and the station that can do least.
fn bottleneck(branches: &[Branch]) -> Option<(usize, usize)> {
    let mut worst = None;
    let mut most = 0.0;
    for (index, branch) in branches.iter().enumerate() {
        for (at, station) in branch.stations.iter().enumerate() {
            let demand = branch.visits * station.demand();
            if demand > most {
                most = demand;
                worst = Some((index, at));
            }
        }
    }
    worst
}

/// An open network, its branches as in [`closed`], at `rate` requests per nanosecond, whose gaps
/// have the squared coefficient of variation `gaps`.
pub(super) fn open(branches: &[Branch], spread: Spread<'_>, rate: f64, gaps: f64) -> Solution {
    let mut states = Vec::new();
    let mut times = Vec::new();
    let mut spreads: Vec<Branch> = branches.to_vec();
    let last = branches.len() - 1;
    let all: f64 = branches[..last].iter().map(|branch| branch.visits).sum();
    let disks = branches[..last]
        .iter()
        .filter(|branch| branch.visits > 0.0)
        .count() as f64;
    // Of requests that use all disks the parts wait alike, but for what services differ.
    let together = (all / disks.max(1.0)).min(1.0);
    for (index, branch) in branches.iter().enumerate() {
        let mut state = State::default();
        let mut time = branch.delay;
        let mut square = branch.deviation.powi(2);
        for (at, station) in branch.stations.iter().enumerate() {
            let flow = rate * branch.visits * station.flow() * branch.burst.max(1.0);
            // Of many sources each sees fewer of the bursts.
            let variation = 1.0 + (gaps - 1.0) * branch.visits.min(1.0);
            let busy = (flow * station.service).min(0.98);
            let behind = flow * station.background * station.piece;
            let (service, wait) = station.loaded(flow, variation);
            // Of two queues the shorter one: as with one queue for two servers. What goes on behind
            // the requests is in no queue, and both have it.
            let behind = behind / (2.0 * (1.0 - busy));
            let shorter = 1.0 - branch.chosen + branch.chosen * busy / (1.0 + busy);
            let wait = (wait + behind * station.own) * shorter + behind * (1.0 - station.own);
            time += station.visits * (service + wait);
            let own = station.variation / (1.0 + station.variation);
            square += wait * wait * (1.0 - together + together * own);
            if at == 0 {
                state.utilisation = (flow * (station.service + station.background)).min(1.0);
                state.queue = flow * (service + wait) * station.copies;
            }
        }
        state.response = time;
        spreads[index].deviation = square.sqrt();
        states.push(state);
        times.push(time);
    }
    let (response, fork) = fork_with(&spreads[..last], &times[..last], spread);
    Solution {
        rate,
        response: response + times[last],
        branches: states,
        fork,
    }
}

/// The mean time of a request whose parts take `times` on their branches, and how much of it is
/// waiting for the slowest.
fn fork(branches: &[Branch], times: &[f64], shape: Spread<'_>) -> (f64, f64) {
    let mut spread = branches.to_vec();
    for (branch, time) in spread.iter_mut().zip(times) {
        // Those before bring as many services' variation as they are.
        let services = (time / branch.undisturbed().max(1.0) - 1.0).max(0.0);
        let each = branch.deviation.powi(2) + branch.undisturbed().powi(2) / 3.0;
        branch.deviation = (branch.deviation.powi(2) + services * each).sqrt();
    }
    fork_with(&spread, times, shape)
}

fn fork_with(branches: &[Branch], times: &[f64], shape: Spread<'_>) -> (f64, f64) {
    let all: f64 = branches.iter().map(|branch| branch.visits).sum();
    let weight = |of: &dyn Fn(usize) -> f64| -> f64 {
        let indices = 0..branches.len();
        indices
            .map(|index| branches[index].visits * of(index))
            .sum::<f64>()
            / all.max(1e-12)
    };
    // Parts of one request on one disk follow each other.
    let disks: f64 = shape
        .width
        .iter()
        .zip(1..)
        .map(|(share, count)| share * f64::from(count))
        .sum();
    let repeated = (all / disks.max(1e-12)).max(1.0);
    let mean = weight(&|index| times[index]) * repeated;
    let deviation = weight(&|index| branches[index].deviation.powi(2)).sqrt() * repeated.sqrt();
    let block = weight(&|index| branches[index].block);
    let mut response = 0.0;
    for (index, (share, excess)) in shape.width.iter().zip(shape.excess).enumerate() {
        if *share > 0.0 {
            let last = if index == 0 {
                mean
            } else {
                last_of(times, index + 1) * repeated
            };
            // Parts that differ anyway leave less to chance.
            let apart = (last - mean).max(0.0) + excess * block;
            let chance = largest(index + 1) * deviation;
            response += share * (mean + apart.hypot(chance));
        }
    }
    (response, response - mean)
}

/// The mean of the largest of `count` of these numbers, all choices as likely.
fn last_of(times: &[f64], count: usize) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    if count <= 1 {
        return sorted.iter().sum::<f64>() / sorted.len() as f64;
    }
    let (mut mean, mut left) = (0.0, 1.0);
    for (index, time) in sorted.iter().enumerate() {
        let rest = (sorted.len() - index) as f64;
        let chance = left * (count as f64 / rest).min(1.0);
        mean += chance * time;
        left -= chance;
    }
    mean
}

/// The mean of the largest of `count` standard normals.
fn largest(count: usize) -> f64 {
    const MEANS: [f64; 8] = [0.0, 0.564, 0.846, 1.029, 1.163, 1.267, 1.352, 1.424];
    MEANS[count.clamp(1, MEANS.len()) - 1]
}

#[cfg(test)]
mod tests;
