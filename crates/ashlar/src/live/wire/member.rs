//! What lines write otherwise than it is kept here.
//!
//! Variants of one value say it as a member with a name (`{"reply":"end","status":0}`), and what
//! other crates define has words of its own: UUIDs, how an image is, what may be missing. `serde`
//! finds both by the paths that stand at the fields.

/// One module for each variant of one value: the value as the member of this name.
macro_rules! members {
    ($($name:ident: $value:ty),*) => {$(
        pub(super) mod $name {
            use serde::{Deserialize, Deserializer, Serialize, Serializer};

            #[derive(Serialize, Deserialize)]
            struct Member<T> {
                $name: T,
            }

            pub(in crate::live::wire) fn serialize<S: Serializer>(
                value: &$value,
                to: S,
            ) -> Result<S::Ok, S::Error> {
                Member { $name: value }.serialize(to)
            }

            pub(in crate::live::wire) fn deserialize<'de, D: Deserializer<'de>>(
                from: D,
            ) -> Result<$value, D::Error> {
                Ok(Member::deserialize(from)?.$name)
            }
        }
    )*};
}

members!(yes: bool, text: String, status: u8, volumes: Vec<super::super::Exported>);

/// One module for each type that is said as a text.
macro_rules! words {
    ($($name:ident: $value:ty, $word:path, $meant:path, $what:literal);* $(;)?) => {$(
        pub(in crate::live) mod $name {
            use std::borrow::Cow;

            use serde::{Deserialize, Deserializer, Serializer};

            pub(in crate::live) fn serialize<S: Serializer>(
                value: &$value,
                to: S,
            ) -> Result<S::Ok, S::Error> {
                to.collect_str(&$word(*value))
            }

            pub(in crate::live) fn deserialize<'de, D: Deserializer<'de>>(
                from: D,
            ) -> Result<$value, D::Error> {
                let text = Cow::<str>::deserialize(from)?;
                let value: Option<$value> = $meant(&text);
                value.ok_or_else(|| serde::de::Error::custom($what))
            }
        }
    )*};
}

words! {
    uuid: lvm2::Uuid, std::convert::identity, super::uuid_of, "a UUID is none";
    image: dm::mirror::ImageHealth, dm::mirror::ImageHealth::word, super::health_of,
        "an image is in no known state";
    missing: crate::activate::MissingPolicy, crate::activate::MissingPolicy::word,
        crate::activate::MissingPolicy::from_word,
        "\"missing\" is neither complete, degraded nor partial";
}

fn uuid_of(text: &str) -> Option<lvm2::Uuid> {
    text.parse().ok()
}

fn health_of(word: &str) -> Option<dm::mirror::ImageHealth> {
    let mut all = dm::mirror::ImageHealth::ALL.into_iter();
    all.find(|state| state.word() == word)
}

/// A UUID that may be unsaid.
pub(in crate::live) mod uuid_if_said {
    use lvm2::Uuid;
    use serde::{Deserializer, Serializer};

    #[expect(clippy::ref_option, reason = "serde passes it so")]
    pub(in crate::live) fn serialize<S: Serializer>(
        value: &Option<Uuid>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => super::uuid::serialize(value, to),
            None => to.serialize_none(),
        }
    }

    pub(in crate::live) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Uuid>, D::Error> {
        super::uuid::deserialize(from).map(Some)
    }
}
