//! Completion of words in bash, zsh and fish, from the same table as the help.
//!
//! Each script knows the commands and the options of each; names of volumes it asks the program
//! for, which looks at the disks that `ASHLAR_DEVICES` or the machine has. A first word that is a
//! name of a volume group or volume is as likely as a file, so that both are offered.

use std::fmt::Write;

use super::table::{Command, Flag, Takes, Task};

/// A shell that words can be completed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shell {
    /// GNU bash.
    Bash,
    /// Z shell.
    Zsh,
    /// fish.
    Fish,
}

impl Shell {
    /// The shell with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "bash" => Some(Self::Bash),
            "zsh" => Some(Self::Zsh),
            "fish" => Some(Self::Fish),
            _ => None,
        }
    }
}

/// What names volumes and their groups, one on a line.
const NAMES: &str = "ashlar lvs --noheadings -o vg_name,lv_full_name";

/// The script for a shell.
pub(crate) fn completion(shell: Shell, tasks: &[Task]) -> String {
    let commands = tasks.iter().flat_map(|task| task.commands.iter().copied());
    let commands: Vec<&Command> = commands.collect();
    match shell {
        Shell::Bash => bash(&commands),
        Shell::Zsh => zsh(&commands),
        Shell::Fish => fish(&commands),
    }
}

fn names(commands: &[&Command]) -> String {
    let names: Vec<&str> = commands.iter().map(|command| command.name).collect();
    names.join(" ")
}

/// The options of a command, each once.
fn options(command: &Command) -> Vec<&'static Flag> {
    let mut flags: Vec<&Flag> = command.all_flags().collect();
    flags.sort_by_key(|flag| flag.long);
    flags.dedup_by_key(|flag| flag.long);
    flags
}

fn bash(commands: &[&Command]) -> String {
    let mut cases = String::new();
    for command in commands {
        let long: Vec<String> = options(command)
            .iter()
            .map(|flag| format!("--{}", flag.long))
            .collect();
        let _ = writeln!(
            cases,
            "        {}) options=\"{}\" ;;",
            command.name,
            long.join(" ")
        );
    }
    format!(
        "# bash completion of ashlar.\n\
         _ashlar() {{\n\
         \x20   local word=\"${{COMP_WORDS[COMP_CWORD]}}\" command= options= at\n\
         \x20   for ((at = 1; at < COMP_CWORD; at++)); do\n\
         \x20       case \"${{COMP_WORDS[at]}}\" in\n\
         \x20           -* | lvm | plan) ;;\n\
         \x20           *) command=\"${{COMP_WORDS[at]}}\"; break ;;\n\
         \x20       esac\n\
         \x20   done\n\
         \x20   case \"$command\" in\n\
         {cases}\
         \x20   esac\n\
         \x20   if [[ -z $command ]]; then\n\
         \x20       COMPREPLY=($(compgen -W \"{names}\" -- \"$word\"))\n\
         \x20   elif [[ $word == -* ]]; then\n\
         \x20       COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n\
         \x20   else\n\
         \x20       COMPREPLY=($(compgen -W \"$({NAMES} 2>/dev/null)\" -- \"$word\") \\\n\
         \x20           $(compgen -f -- \"$word\"))\n\
         \x20   fi\n\
         }}\n\
         complete -o filenames -F _ashlar ashlar\n",
        names = names(commands)
    )
}

/// A sentence inside single quotes, for zsh's lists with colons and brackets, and for fish.
fn quoted(text: &str) -> String {
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    plain.replace(['\'', '[', ']', ':', '\\', '`'], " ")
}

/// The first sentence: a list has one line for each.
fn first_sentence(text: &str) -> &str {
    text.split(". ")
        .next()
        .unwrap_or(text)
        .trim_end_matches('.')
}

fn zsh(commands: &[&Command]) -> String {
    let (mut list, mut cases) = (String::new(), String::new());
    for command in commands {
        let _ = writeln!(list, "    '{}:{}'", command.name, quoted(command.summary));
        let _ = writeln!(cases, "        {})\n            options=(", command.name);
        for flag in options(command) {
            let help = quoted(first_sentence(flag.help));
            let value = match flag.takes {
                Takes::Nothing => String::new(),
                Takes::Value(what) => format!(":{}:_files", quoted(what)),
            };
            let _ = writeln!(cases, "                '--{}[{help}]{value}'", flag.long);
        }
        let _ = writeln!(cases, "            )\n            ;;");
    }
    format!(
        "#compdef ashlar\n\
         # zsh completion of ashlar.\n\
         _ashlar() {{\n\
         local -a commands options volumes\n\
         commands=(\n{list})\n\
         if (( CURRENT == 2 )); then\n\
         \x20   _describe command commands\n\
         \x20   return\n\
         fi\n\
         case $words[2] in\n\
         {cases}\
         esac\n\
         shift words\n\
         (( CURRENT-- ))\n\
         volumes=(${{=\"$({NAMES} 2>/dev/null)\"}})\n\
         _arguments $options \\\n\
         \x20   \"*:name:_alternative 'volumes:volume:($volumes)' 'files:file:_files'\"\n\
         }}\n\
         _ashlar \"$@\"\n"
    )
}

fn fish(commands: &[&Command]) -> String {
    let mut out = String::from("# fish completion of ashlar.\n");
    for command in commands {
        let (name, summary) = (command.name, quoted(command.summary));
        let _ = writeln!(
            out,
            "complete -c ashlar -n __fish_use_subcommand -f -a {name} -d '{summary}'"
        );
        for flag in options(command) {
            let help = quoted(first_sentence(flag.help));
            let short = flag
                .short
                .map_or_else(String::new, |letter| format!(" -s {letter}"));
            let value = match flag.takes {
                Takes::Nothing => "",
                Takes::Value(_) => " -r",
            };
            let _ = writeln!(
                out,
                "complete -c ashlar -n '__fish_seen_subcommand_from {name}'{short} -l {}{value} \
                 -d '{help}'",
                flag.long
            );
        }
    }
    let _ = writeln!(
        out,
        "complete -c ashlar -n 'not __fish_use_subcommand' -a \
         '(string split -n \" \" -- ({NAMES} 2>/dev/null))'"
    );
    out
}
