//! The one shape of the house's errors, for the crates that stand on this one.
//!
//! An error has a kind, which callers act on, a sentence that names the object and the remedy, and
//! the cause where there was one. `Display` tells the sentence and the cause behind it, since most
//! who print an error print only that. So `source()` does not name the cause once more: it goes on
//! behind it, with what the cause itself does not tell. Whoever walks the chain and prints each
//! link reads nothing twice; whoever wants the cause as a value has `cause()`.

/// Defines `pub struct Error` of the house's one shape: `error_shape!(Kind, Cause)`.
#[doc(hidden)]
#[macro_export]
macro_rules! error_shape {
    ($kind:ty, $cause:ty) => {
        /// A failure: its kind, a sentence that names the object and the remedy, and the cause if
        /// there was one.
        ///
        /// It shows the sentence and the cause; [`source`](std::error::Error::source) goes on
        /// behind the cause, which is [`Error::cause`].
        #[derive(Debug)]
        pub struct Error {
            kind: $kind,
            context: Box<str>,
            cause: Option<$cause>,
        }

        impl Error {
            /// An error of `kind`; `context` names the object and the remedy, without a full stop.
            pub fn new(kind: $kind, context: impl Into<String>) -> Self {
                Self {
                    kind,
                    context: context.into().into_boxed_str(),
                    cause: None,
                }
            }

            /// The same error with what caused it.
            pub fn because(mut self, cause: impl Into<$cause>) -> Self {
                self.cause = Some(cause.into());
                self
            }

            /// What a caller may act on.
            pub fn kind(&self) -> $kind {
                self.kind
            }

            /// What caused it, if something did.
            pub fn cause(&self) -> Option<&$cause> {
                self.cause.as_ref()
            }
        }

        impl std::fmt::Display for Error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match &self.cause {
                    Some(cause) => write!(f, "{}: {cause}", self.context),
                    None => f.write_str(&self.context),
                }
            }
        }

        impl std::error::Error for Error {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                self.cause.as_ref().and_then(|cause| cause.source())
            }
        }
    };
}
