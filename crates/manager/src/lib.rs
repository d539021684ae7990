//! The only place that acts: scan, commit, activate.
