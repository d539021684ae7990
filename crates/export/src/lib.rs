//! Hand a device out: NBD and FUSE.
