//! Statistics against closed forms, published numbers, and data whose truth is known.

mod calibration;
mod exact;
mod histogram;
