//! The block device: requests, buffers, engines.
