//! `-S`: which rows a report shows.
//!
//! ```text
//!   or   := and  { ( '||' | '#' ) and }
//!   and  := term { ( '&&' | ',' ) term }
//!   term := '(' or ')' | '!(' or ')' | FIELD OPERATOR VALUE
//! ```
//!
//! What an operator means depends on the field's kind: text is compared with `=` `!=` or matched
//! with `=~` `!~`; numbers, sizes (`1.5g`; `m` where no unit is typed), percentages and times are
//! also ordered; lists are compared as a whole with `[a,b]`, or hold all of `{a,b}` or any of
//! `{a||b}`. A time may be an interval (`"2026-11"` is the whole month), and then `>` means after
//! its end. Words like `undefined`, `yes`, or the word that a column prints stand for numbers.

mod criteria;
mod moment;
mod parse;

pub(crate) use criteria::Selection;
pub(crate) use parse::SelectionError;

#[cfg(test)]
mod tests;
