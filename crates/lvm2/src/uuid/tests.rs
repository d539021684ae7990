//! Tests: the two written forms of a UUID.

use proptest::prelude::{any, proptest};

use super::Uuid;

#[test]
fn prints_and_parses_the_dashed_form() {
    // Proves: the groups are 6-4-4-4-4-4-6, and dashes are ignored when reading.
    let dashed = "Gosnfu-aut9-TjZX-iZgi-DS25-FpP1-l1SnwL";
    let uuid: Uuid = dashed.parse().unwrap();
    assert_eq!(uuid.to_string(), dashed);
    assert_eq!(uuid.as_str(), dashed.replace('-', ""));
    assert_eq!(uuid.as_str().parse::<Uuid>().unwrap(), uuid);
    assert_eq!(Uuid::from_bytes(uuid.as_bytes()).unwrap(), uuid);
}

#[test]
fn refuses_what_is_no_uuid() {
    // Proves: too short, too long and foreign characters are errors, never cut or padded.
    let good = "Gosnfuaut9TjZXiZgiDS25FpP1l1SnwL";
    assert!(good.parse::<Uuid>().is_ok());
    assert!(good[1..].parse::<Uuid>().is_err());
    assert!(format!("{good}x").parse::<Uuid>().is_err());
    assert!("".parse::<Uuid>().is_err());
    assert!(good.replace('G', "é").parse::<Uuid>().is_err());
    assert!(Uuid::from_bytes(&[0; 32]).is_err());
}

proptest! {
    #[test]
    fn drawn_ones_are_valid(random in any::<[u8; 32]>()) {
        // Proves: any 32 random bytes give a UUID that survives both of its written forms.
        let uuid = Uuid::from_random(&random);
        assert_eq!(uuid.to_string().parse::<Uuid>().unwrap(), uuid);
        assert_eq!(Uuid::from_bytes(uuid.as_bytes()).unwrap(), uuid);
    }
}
