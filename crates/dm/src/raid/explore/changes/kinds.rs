//! The changes that are made to a volume: what it is before, and what it is to become.

use block::sim::Random;

use super::text::{Form, Leg, Text};
use crate::explore::SECTOR;
use crate::raid::{Geometry, LegReads, Parity, Rotation, Scheme};

/// How a change reaches whoever has the volume in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The array becomes another one while it is suspended.
    Reload,
    /// What has no state becomes an array, or the other way round, while requests are held.
    Exchange,
    /// Another array starts in its place, while nobody uses it or while requests are held.
    Start,
    /// The same, only while nobody uses it.
    AtRest,
    /// Only the text changes: who uses the volume next goes by it.
    Text,
    /// The text stays: the array is told to repair what does not go together.
    Repair,
}

/// One change.
#[derive(Debug, Clone)]
pub(super) struct Kind {
    pub(super) way: Way,
    pub(super) old: Text,
    pub(super) new: Text,
    /// Whether nobody has used the volume before: nothing of it is in sync.
    pub(super) is_new: bool,
    /// The place of a leg that is lost before.
    pub(super) lost: Option<usize>,
    /// What it goes on to become afterwards.
    pub(super) then: Option<Box<Self>>,
}

/// Levels by the names that people know.
const LEVELS: [&str; 4] = ["raid1", "raid5", "raid6", "raid10"];

/// The names of all changes.
pub(super) fn names() -> Vec<String> {
    let of_levels = |what: &str| LEVELS.map(|level| format!("{what} {level}"));
    let mut names = Vec::new();
    for what in [
        "create", "extend", "reduce", "replace", "repair", "scrub", "give-up",
    ] {
        names.extend(of_levels(what));
    }
    names.extend(FORMS.iter().map(|(from, to)| format!("{from} to {to}")));
    let others = [
        "split",
        "track",
        "merge",
        "resync",
        "rebuild",
        "regions",
        "write-mostly",
        "rates",
    ];
    names.extend(others.map(str::to_owned));
    names
}

/// Forms that become each other, what is in use first.
const FORMS: [(&str, &str); 17] = [
    ("two copies", "three"),
    ("three copies", "two"),
    ("linear", "raid1"),
    ("raid1", "linear"),
    ("mirror", "raid1"),
    ("raid1", "mirror"),
    ("striped", "raid10"),
    ("raid10", "striped"),
    ("striped", "raid4"),
    ("striped", "raid5_n"),
    ("raid5_n", "striped"),
    ("striped", "raid6_n_6"),
    ("raid6_n_6", "striped"),
    ("raid5_ls", "raid6_ls_6"),
    ("raid6_ls_6", "raid5_ls"),
    ("raid1", "raid5"),
    ("raid5", "raid1"),
];

/// Of a history: how long a leg is, in rows, and how large chunks and regions are.
struct Sizes {
    rows: u64,
    chunk: u64,
    region: u64,
}

impl Sizes {
    fn leg(&self) -> u64 {
        self.rows * self.chunk
    }

    fn scheme(level: &str, random: &mut Random) -> (Scheme, usize) {
        let parity = |parity: Parity, random: &mut Random| {
            let fits: Vec<Rotation> = Rotation::all().filter(|one| one.suits(parity)).collect();
            Scheme::Parity(parity, fits[random.index(fits.len())])
        };
        match level {
            "raid1" => (Scheme::Mirror, 2 + random.index(2)),
            "raid5" => (parity(Parity::One, random), 3 + random.index(2)),
            "raid6" => (parity(Parity::Two, random), 4 + random.index(2)),
            "raid10" => (Scheme::near_copies(2), 4),
            _ => unreachable!("{level} is a level"),
        }
    }

    fn array(&self, scheme: Scheme, legs: Vec<Leg>) -> Text {
        let geometry = Geometry::new(scheme, legs.len(), self.chunk, self.leg());
        Text {
            form: Form::Array(geometry.expect("it can be")),
            legs,
            leg_size: self.leg(),
            region: self.region,
        }
    }

    fn plain(&self, legs: Vec<Leg>) -> Text {
        Text {
            form: Form::Plain(self.chunk),
            legs,
            leg_size: self.leg(),
            region: self.region,
        }
    }
}

impl Text {
    /// The same, with longer or shorter legs.
    fn sized(&self, sizes: &Sizes, rows: u64) -> Self {
        let geometry = self.geometry().expect("it is an array");
        let sizes = Sizes { rows, ..*sizes };
        sizes.array(geometry.scheme(), self.legs.clone())
    }

    /// The same, of these legs.
    fn of(&self, sizes: &Sizes, legs: Vec<Leg>) -> Self {
        let geometry = self.geometry().expect("it is an array");
        sizes.array(geometry.scheme(), legs)
    }

    /// The same, with metadata that nobody has used.
    fn renewed(mut self) -> Self {
        for (place, leg) in self.legs.iter_mut().enumerate() {
            leg.meta = NEW + place;
        }
        self
    }
}

/// Disks that volumes get.
const NEW: usize = 6;

fn legs(count: usize) -> Vec<Leg> {
    (0..count).map(|place| Leg::new(place, place)).collect()
}

impl Kind {
    fn new(way: Way, old: Text, new: Text) -> Self {
        Self {
            way,
            old,
            new,
            is_new: false,
            lost: None,
            then: None,
        }
    }

    /// The change of this name, as a history has it.
    pub(super) fn chosen(name: &str, random: &mut Random) -> Self {
        let chunk = SECTOR << random.below(3).min(random.below(3));
        let sizes = Sizes {
            rows: 6 + random.below(4),
            chunk,
            region: SECTOR << (1 + random.below(3)),
        };
        let (what, level) = name.split_once(' ').unwrap_or((name, "raid1"));
        if LEVELS.contains(&level) && !name.contains(" to ") {
            let (scheme, count) = Sizes::scheme(level, random);
            let count = match what {
                "split" | "track" | "merge" => 3,
                _ => count,
            };
            let old = sizes.array(scheme, legs(count));
            return Self::of_level(what, old, &sizes, random);
        }
        let (from, to) = name.split_once(" to ").expect("a form becomes another one");
        Self::of_form((from, to), &sizes, random)
    }

    fn of_level(what: &str, old: Text, sizes: &Sizes, random: &mut Random) -> Self {
        let place = random.index(old.legs.len());
        let mut legs = old.legs.clone();
        match what {
            "create" => Self {
                is_new: true,
                ..Self::new(Way::Text, old.clone(), old)
            },
            "extend" => {
                let new = old.sized(sizes, sizes.rows + 1 + random.below(5));
                Self::new(Way::Reload, old, new)
            }
            "reduce" => {
                let new = old.sized(sizes, sizes.rows - 1 - random.below(4));
                let then = Self::new(Way::Reload, new.clone(), old.clone());
                Self {
                    then: Some(Box::new(then)),
                    ..Self::new(Way::Reload, old, new)
                }
            }
            "replace" | "repair" => {
                legs[place] = Leg::filled(NEW, NEW);
                let new = old.of(sizes, legs);
                Self {
                    lost: (what == "repair").then_some(place),
                    ..Self::new(Way::Reload, old, new)
                }
            }
            // `vgreduce --removemissing`: the array goes on without what is lost.
            "give-up" => {
                legs[place].is_aside = true;
                let without = Text {
                    legs,
                    ..old.clone()
                };
                Self {
                    lost: Some(place),
                    ..Self::new(Way::Reload, old, without)
                }
            }
            "split" => {
                let gone = legs.len() - 1;
                legs.truncate(gone);
                let new = old.of(sizes, legs).renewed();
                Self::new(Way::Reload, old, new)
            }
            "track" | "merge" => {
                legs.last_mut().expect("it has legs").is_aside = true;
                let aside = Text {
                    legs,
                    ..old.clone()
                };
                let merge = Self::new(Way::Start, aside.clone(), old.clone());
                Self {
                    then: (what == "merge").then(|| Box::new(merge)),
                    ..Self::new(Way::Start, old, aside)
                }
            }
            _ => Self::of_metadata(what, old, place, random),
        }
    }

    /// One in which no leg comes or goes.
    fn of_metadata(what: &str, old: Text, place: usize, random: &mut Random) -> Self {
        let mut legs = old.legs.clone();
        match what {
            "rebuild" => {
                legs[place].rebuild = true;
                let new = Text {
                    legs,
                    ..old.clone()
                };
                Self::new(Way::Start, old, new)
            }
            "resync" => Self::new(Way::AtRest, old.clone(), old.renewed()),
            "regions" => {
                let region = [old.region / 2, old.region * 2][random.index(2)].max(SECTOR);
                let new = Text {
                    region,
                    ..old.clone()
                };
                Self::new(Way::Start, old, new)
            }
            "write-mostly" => {
                legs[place].reads = LegReads::Last;
                let new = Text {
                    legs,
                    ..old.clone()
                };
                Self::new(Way::Text, old, new)
            }
            "rates" => Self::new(Way::Text, old.clone(), old),
            "scrub" => Self::new(Way::Repair, old.clone(), old),
            _ => unreachable!("{what} is a change"),
        }
    }

    fn of_form(names: (&str, &str), sizes: &Sizes, random: &mut Random) -> Self {
        let new_leg = |place: usize| Leg::filled(NEW + place, NEW + place);
        let mirror = |legs: Vec<Leg>| sizes.array(Scheme::Mirror, legs);
        let with = |mut legs: Vec<Leg>, count: usize| {
            legs.extend((0..count).map(new_leg));
            legs
        };
        let turns = |parity, rotation| Scheme::Parity(parity, rotation);
        let (one, two) = (
            turns(Parity::One, Rotation::Last),
            turns(Parity::Two, Rotation::Last),
        );
        let data = 2 + random.index(2);
        match names {
            ("two copies", _) => {
                let (old, mut new) = (mirror(legs(2)), mirror(with(legs(2), 1)));
                new.legs
                    .iter_mut()
                    .take(2)
                    .for_each(|leg| leg.meta += NEW + 1);
                Self::new(Way::Reload, old, new)
            }
            ("three copies", _) => {
                Self::new(Way::Reload, mirror(legs(3)), mirror(legs(2)).renewed())
            }
            ("linear", _) => Self::new(
                Way::Exchange,
                sizes.plain(legs(1)),
                mirror(with(legs(1), 1)),
            ),
            ("raid1", "linear") => Self::new(Way::Exchange, mirror(legs(2)), sizes.plain(legs(1))),
            ("striped", "raid10") => {
                let pairs = (0..2).flat_map(|place| [Leg::new(place, place), new_leg(place)]);
                let new = sizes.array(Scheme::near_copies(2), pairs.collect());
                Self::new(Way::Exchange, sizes.plain(legs(2)), new)
            }
            ("raid10", _) => {
                let stay = [0, 2].map(|place| Leg::new(place, place));
                let old = sizes.array(Scheme::near_copies(2), legs(4));
                Self::new(Way::Exchange, old, sizes.plain(stay.to_vec()))
            }
            ("striped", "raid4") => {
                let mut all = vec![new_leg(0)];
                all.extend(legs(data));
                let new = sizes.array(turns(Parity::One, Rotation::First), all);
                Self::new(Way::Exchange, sizes.plain(legs(data)), new)
            }
            ("striped", "raid5_n") => {
                let new = sizes.array(one, with(legs(data), 1));
                Self::new(Way::Exchange, sizes.plain(legs(data)), new)
            }
            ("raid5_n", _) => {
                let old = sizes.array(one, legs(data + 1));
                Self::new(Way::Exchange, old, sizes.plain(legs(data)))
            }
            ("striped", "raid6_n_6") => {
                let new = sizes.array(two, with(legs(data), 2));
                Self::new(Way::Exchange, sizes.plain(legs(data)), new)
            }
            ("raid6_n_6", _) => {
                let old = sizes.array(two, legs(data + 2));
                Self::new(Way::Exchange, old, sizes.plain(legs(data)))
            }
            _ => Self::taken_over(names, data, sizes),
        }
    }

    /// One redundancy becomes another one.
    fn taken_over(names: (&str, &str), data: usize, sizes: &Sizes) -> Self {
        let turns = |parity, rotation| Scheme::Parity(parity, rotation);
        let five = sizes.array(turns(Parity::One, Rotation::LeftSymmetric), legs(data + 1));
        let mut with_q = legs(data + 1);
        with_q.push(Leg::new(data + 1, data + 1));
        let six = sizes.array(turns(Parity::Two, Rotation::LeftSymmetric6), with_q);
        let pair = sizes.array(Scheme::Mirror, legs(2));
        let sums = sizes.array(turns(Parity::One, Rotation::LeftSymmetric), legs(2));
        let plain = |array: &Text| Text {
            form: Form::Mirror,
            ..array.clone()
        };
        match names {
            ("mirror", _) => Self::new(Way::Exchange, plain(&pair), pair.renewed()),
            ("raid1", "mirror") => {
                let new = plain(&pair.clone().renewed());
                Self::new(Way::Exchange, pair, new)
            }
            ("raid5_ls", _) => {
                let mut six = six;
                *six.legs.last_mut().expect("it has legs") = Leg::filled(NEW, NEW);
                Self::new(Way::Start, five, six)
            }
            ("raid6_ls_6", _) => Self::new(Way::Start, six, five),
            ("raid1", _) => Self::new(Way::Start, pair, sums),
            ("raid5", _) => Self::new(Way::Start, sums, pair),
            _ => unreachable!("{names:?} become each other"),
        }
    }
}
