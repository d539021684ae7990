//! Statistics of paired measurements.
