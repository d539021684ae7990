//! Moves of extents, by us: as a command, by whoever serves the group, and killed.

use std::thread;
use std::time::{Duration, Instant};

use tests::{Daemon, LIMIT};

use super::super::moves::{Ending, Move, PLACES, Pace, has_no_room};
use super::super::step::VG;
use super::Ours;

/// Small pieces, and no faster than that there is a middle.
const SLOW: &str = "ashlar { pvmove_piece_mib = 1 copy_mib_per_second = 8 }";

impl Ours {
    pub(super) fn move_extents(&mut self, step: &Move) {
        let places = self.tool(PLACES).succeed().text();
        let Some(words) = step.words(&places) else {
            println!("     nothing to move");
            return;
        };
        println!("     pvmove {words}");
        match step.pace {
            Pace::Awaited => self.pvmove("", &words),
            Pace::Background => self.pvmove("-b", &words),
            Pace::Cut(_, milliseconds) => self.cut(&words, Duration::from_millis(milliseconds)),
        }
    }

    fn pvmove(&self, options: &str, words: &str) {
        let tool = self.tool(&format!("pvmove {options} {words}"));
        let finished = tool.args(["--config", SLOW]).run();
        if has_no_room(&finished.complaints()) {
            println!("     there is no room");
        } else {
            assert_eq!(finished.code, Some(0), "{finished}");
        }
    }

    /// Whoever moves extents is killed.
    fn cut(&mut self, words: &str, after: Duration) {
        let servers = self.owner.take().into_iter();
        let servers = servers.chain(std::mem::take(&mut self.served).into_values());
        let mut daemons: Vec<Daemon> = servers.map(|server| server.daemon).collect();
        if daemons.is_empty() {
            let tool = self.tool(&format!("pvmove {words}"));
            // Where there is no room it has ended by then.
            let mover = Daemon::start(tool.args(["--config", SLOW]), || true);
            thread::sleep(after);
            daemons.push(mover);
        } else {
            self.pvmove("-b", words);
            thread::sleep(after);
        }
        for daemon in &mut daemons {
            daemon.kill();
        }
        println!(
            "     cut, {}",
            if self.is_moving() {
                "it rests"
            } else {
                "it was over"
            }
        );
    }

    pub(super) fn is_moving(&self) -> bool {
        let names = self.tool(&format!("lvs -a --noheadings -o lv_name {VG}"));
        names.succeed().text().contains("pvmove")
    }

    /// What is being moved is moved, or not.
    pub(super) fn settle(&self, ending: Ending) {
        if self.is_moving() {
            println!("     {ending:?}");
            let finished = match ending {
                Ending::Moved => self.tool("pvmove").run(),
                Ending::Aborted => self.tool("pvmove --abort").run(),
            };
            let was_over = finished.complaints().contains("No pvmove in progress");
            assert!(finished.code == Some(0) || was_over, "{finished}");
        }
        assert!(!self.is_moving(), "nothing moves any more");
        // Who moved in the background lets go.
        let end = Instant::now() + LIMIT;
        while self.owner.is_none() && self.is_owned() {
            assert!(Instant::now() < end, "a process is left");
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn is_owned(&self) -> bool {
        let owners = self.tool("owners").succeed();
        owners.text().contains(VG)
    }
}
