//! All tables together, and the help that lists them.

use std::fmt::Write;

use crate::output::report::{Field, FieldGroup, Fields};

use super::{attr, device_type, kernel, log, lv, pv, segment, vdo, vg};

/// Every field, in the order of the help; a `…_all` shows them in this order.
pub(crate) static ALL: &[&[Field]] = &[
    lv::FIELDS,
    kernel::INFO,
    kernel::STATUS,
    attr::FIELDS,
    kernel::OWNER,
    pv::LABEL,
    pv::FIELDS,
    vg::FIELDS,
    segment::FIELDS,
    vdo::FIELDS,
    pv::SEGMENT,
];

/// The fields of `devtypes`, which has no others.
pub(crate) static OF_DEVICE_TYPES: &[&[Field]] = &[device_type::FIELDS];

/// The fields of a command's log.
pub(crate) static OF_LOG: &[&[Field]] = &[log::FIELDS];

/// Builds a table of fields of one group.
macro_rules! fields {
    ($table:ident of $group:ident {
        $($name:literal $heading:literal $kind:expr, $width:literal, $read:expr, $help:literal;)*
    }) => {
        pub(super) const $table: &[$crate::output::report::Field] = &[$(
            $crate::output::report::Field {
                name: $name,
                heading: $heading,
                kind: $kind,
                width: $width,
                group: $crate::output::report::FieldGroup::$group,
                help: $help,
                read: $read,
            },
        )*];
    };
}
pub(super) use fields;

const NAME_WIDTH: usize = 27;

/// The list that `-o help` prints.
pub(crate) fn help(fields: Fields) -> String {
    list(fields, |field| field.help.to_owned(), Extra::AllOfGroup)
}

/// The list that `-S help` prints: fields with their kinds, then the operators.
pub(crate) fn selection_help(fields: Fields) -> String {
    let mut out = list(
        fields,
        |field| format!("{} [{}]", field.help, field.kind.name()),
        Extra::None,
    );
    out.push_str(OPERATORS);
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Extra {
    AllOfGroup,
    None,
}

fn list(fields: Fields, describe: impl Fn(&Field) -> String, extra: Extra) -> String {
    let mut out = String::new();
    let mut current: Option<FieldGroup> = None;
    for field in fields.iter().copied().flatten() {
        if current != Some(field.group) {
            if current.is_some() {
                out.push_str("   \n");
            }
            let title = field.group.title();
            let _ = writeln!(out, "  {title}\n  {:-<1$}", "", title.len());
            if extra == Extra::AllOfGroup {
                let name = format!("{}all", field.group.prefix());
                let _ = writeln!(out, "    {name:NAME_WIDTH$} - All fields of this section.");
            }
            current = Some(field.group);
        }
        let _ = writeln!(out, "    {:NAME_WIDTH$} - {}", field.name, describe(field));
    }
    out.push_str("   \n  Special Fields\n  --------------\n");
    let _ = writeln!(
        out,
        "    {:NAME_WIDTH$} - 1 for rows that meet the criteria, 0 for others.",
        "selected"
    );
    let _ = writeln!(out, "    {:NAME_WIDTH$} - This list.\n   ", "help");
    out
}

const OPERATORS: &str = "\
  Operators
  ---------
    =~  !~             matches a regular expression, or does not   [string]
    =   !=             is equal, or is not                         [all kinds]
    >=  >  <=  <       compares                                    [number, size, percent, time]
    since after until before   the same for times                  [time]
    && ,   || #   !( )   ( )   and, or, not, grouping
    [a,b]              a list of exactly these
    {a,b}  {a||b}      a list with all of these, with one of these

  Values
  ------
    sizes take the units b s k m g t p e, and are in m without one; percentages may end in %.
    undefined, unknown and -1 stand for a number that does not exist, yes and no for 1 and 0.
    times: \"2026-11-21 02:35\", cut short from the right for a whole day, month or year;
    @seconds; today, yesterday, now, a weekday, \"3 days ago\".
   
";
