//! Moves of extents, by stock.

use super::super::moves::{Cut, Ending, Move, PLACES, Pace, has_no_room};
use super::super::step::VG;
use super::Stock;

/// Nobody copies by a command any more: killed where none is in the middle of a change, since its
/// lock is held. (The lock's file goes with each of them.)
const STOP: &str = r#"
    lock=/run/lock/lvm/V_hand
    movers() { ps | grep '[p]vmove' | awk '{print $1}'; }
    while :; do
        exec 9>$lock
        flock 9
        [ "$(stat -L -c %i /proc/self/fd/9)" = "$(stat -c %i $lock 2>/dev/null)" ] && break
        exec 9>&-
    done
    for one in $(movers); do kill -9 $one || true; done
    while [ -n "$(movers)" ]; do sleep 0.1; done
    exec 9>&-
"#;

/// Waits until nothing moves any more.
const MOVED: &str = "
    is_moving() { lvs -a --noheadings -o name hand | grep -q pvmove; }
    count=0
    while is_moving && [ $count -lt 240 ]; do sleep 0.5; count=$((count + 1)); done
    ! is_moving || { lvs -a -o +devices hand; dmsetup status; ps; exit 1; }
";

impl Stock {
    pub(super) fn move_extents(&mut self, step: &Move) {
        let places = self.run(PLACES);
        let Some(words) = step.words(places.text()) else {
            println!("     nothing to move");
            return;
        };
        println!("     pvmove {words}");
        let options = if step.pace == Pace::Awaited {
            "-i 1"
        } else {
            "-b -i 1"
        };
        let outcome = self.machine().run(&format!("pvmove {options} {words}"));
        self.time += outcome.time;
        if outcome.code != Some(0) {
            assert!(has_no_room(&outcome.output), "{outcome}");
            println!("     there is no room");
        }
        let Pace::Cut(how, milliseconds) = step.pace else {
            return;
        };
        let wait = format!("sleep {}.{:03}\n", milliseconds / 1000, milliseconds % 1000);
        match how {
            Cut::Killed => {
                self.run(&format!("set -e\n{wait}{STOP}"));
            }
            Cut::Power => {
                let machine = self.machine.take().expect("it is up");
                machine.crash(&wait);
            }
        }
    }

    /// What is being moved is moved, or not.
    pub(super) fn settle(&mut self, ending: Ending) {
        let end = match ending {
            Ending::Moved => "pvmove -i 1",
            Ending::Aborted => "pvmove --abort",
        };
        println!("     {ending:?}");
        let script = format!("is() {{ lvs -a --noheadings -o name {VG} | grep -q pvmove; }}\n");
        self.run(&format!("{script}! is || {end} || ! is || exit\n{MOVED}"));
    }
}
