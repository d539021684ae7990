//! The tables name arms that there are.

use super::{TEXT, read};
use crate::experiment::find;

#[test]
fn every_source_is_one_arm_of_an_experiment() {
    // Each arm and each base names exactly one arm, so that no number is taken from another.
    for row in read(TEXT)
        .expect("it is sound")
        .iter()
        .flat_map(|table| &table.rows)
    {
        let Some(source) = &row.source else { continue };
        let experiment = find(&source.experiment).expect("it is part of the program");
        for words in [Some(&source.arm), source.base.as_ref()]
            .into_iter()
            .flatten()
        {
            let named = experiment.arms.iter().filter(|arm| arm.is_named(words));
            assert_eq!(named.count(), 1, "{}: {words}", source.experiment);
        }
    }
}
