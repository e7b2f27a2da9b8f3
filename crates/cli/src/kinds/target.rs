//! Kinds on the command line: `get sources git NAME`, `suspend ks NAME NAME`.

use std::marker::PhantomData;

use clap::{Arg, ArgMatches, Command, Error, FromArgMatches, Subcommand};

use super::{Family, KINDS, Kind, Verb};

/// The parsed kinds and objects.
#[derive(Debug)]
pub(crate) struct Target<C> {
    /// The kinds.
    pub(crate) what: What,
    /// The objects; all if empty.
    pub(crate) names: Vec<String>,
    command: PhantomData<C>,
}

/// One kind, or several at once.
#[derive(Clone, Copy)]
pub(crate) enum What {
    /// Objects of one kind.
    One(&'static Kind),
    /// Objects of all kinds, or of all kinds of a family.
    All(Option<Family>),
}

impl std::fmt::Debug for What {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::One(kind) => formatter.write_str(kind.name()),
            Self::All(family) => write!(formatter, "All({family:?})"),
        }
    }
}

/// A command with kinds as subcommands.
pub(crate) trait OfKinds {
    /// The command.
    const VERB: Verb;
    /// The verb in its help, before the name of the kind.
    const ABOUT: &'static str;
    /// Whether kinds are in the plural, and `all` means several.
    const PLURAL: bool = false;
    /// The number of objects.
    const MOST: usize = 1;
}

macro_rules! commands {
    ($($name:ident { $about:literal $(, $key:ident = $value:expr)* })*) => {$(
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $name;

        impl OfKinds for $name {
            const VERB: Verb = Verb::$name;
            const ABOUT: &'static str = $about;
            $(const $key: commands!(@type $key) = $value;)*
        }
    )*};
    (@type PLURAL) => { bool };
    (@type MOST) => { usize };
}

commands! {
    Get { "Prints the status of", PLURAL = true }
    Export { "Prints as YAML:" }
    Delete { "Deletes a" }
    Suspend { "Suspends the reconciliation of", MOST = usize::MAX }
    Resume { "Resumes the reconciliation of", MOST = usize::MAX }
    Reconcile { "Reconciles now and waits:" }
}

impl<C: OfKinds> Subcommand for Target<C> {
    fn augment_subcommands(command: Command) -> Command {
        let mut command = command.subcommand_required(true).arg_required_else_help(true);
        if C::PLURAL {
            command = command.subcommand(all("Prints the status of all kinds"));
        }
        for family in [Family::Source, Family::Image, Family::Artifact] {
            let members: Vec<Command> = KINDS
                .iter()
                .filter(|kind| kind.family == Some(family) && kind.takes(C::VERB))
                .map(of_kind::<C>)
                .collect();
            if members.is_empty() {
                continue;
            }
            let mut of_family = Command::new(family.word(C::PLURAL))
                .alias(family.word(!C::PLURAL))
                .about(format!("{} {}", C::ABOUT, family.word(true)))
                .subcommand_required(true)
                .arg_required_else_help(true)
                .subcommands(members);
            if C::PLURAL && family != Family::Artifact {
                of_family = of_family
                    .subcommand(all(&format!("Prints the status of all {}", family.word(true))));
            }
            command = command.subcommand(of_family);
        }
        let alone = KINDS.iter().filter(|kind| kind.family.is_none() && kind.takes(C::VERB));
        command.subcommands(alone.map(of_kind::<C>))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        name == ALL || KINDS.iter().any(|kind| kind.words.contains(&name))
    }
}

const ALL: &str = "all";
const NAMES: &str = "names";

fn all(about: &str) -> Command {
    Command::new(ALL).about(about.to_owned()).arg(names(1))
}

fn names(most: usize) -> Arg {
    let names = Arg::new(NAMES).value_name("NAME").help("The object");
    if most == 1 { names } else { names.num_args(0..).help("The objects") }
}

fn of_kind<C: OfKinds>(kind: &'static Kind) -> Command {
    let shown = kind.words.get(usize::from(C::PLURAL)).or(kind.words.first()).copied();
    let shown = shown.unwrap_or(kind.name());
    Command::new(shown)
        .aliases(kind.words.iter().filter(|word| **word != shown))
        .about(format!("{} {}", C::ABOUT, kind.name()))
        .arg(names(C::MOST))
}

impl<C: OfKinds> FromArgMatches for Target<C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let missing = || Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (word, inner) = matches.subcommand().ok_or_else(missing)?;
        let family = [Family::Source, Family::Image, Family::Artifact]
            .into_iter()
            .find(|family| word == family.word(C::PLURAL));
        let (word, inner) = match family {
            Some(_) => inner.subcommand().ok_or_else(missing)?,
            None => (word, inner),
        };
        let what = if word == ALL {
            What::All(family)
        } else {
            let typed = |kind: &&Kind| kind.family == family && kind.words.contains(&word);
            What::One(KINDS.iter().find(typed).ok_or_else(missing)?)
        };
        let names = inner.get_many::<String>(NAMES).into_iter().flatten().cloned().collect();
        Ok(Self { what, names, command: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
