//! Rules that find impossible numbers in published results.
