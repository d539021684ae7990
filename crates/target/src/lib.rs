//! Devices made of devices.
