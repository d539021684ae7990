//! The auditor against the seeds, clean outputs, perturbed ones, and hostile text.

mod hostile;
mod perturbed;
mod seeds;
