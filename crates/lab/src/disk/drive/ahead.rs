//! How far a read goes on after the last block that was asked for.
//!
//! The rules are those of the profile. Tracks and cylinders are followed through the map, so that
//! spares and slips count as they lie. Whatever the rule, reading ahead ends with the disk.

use super::Drive;
use crate::disk::profile::ReadAhead;

impl Drive {
    /// How far a read of `start`..`end` goes on into a segment.
    pub(super) fn read_ahead_limit(&self, segment: usize, start: u64, end: u64) -> u64 {
        let cache = &self.profile.cache;
        let geometry = &self.mechanism.geometry;
        let blocks = geometry.blocks();
        if end >= blocks {
            return end;
        }
        let limit = match cache.read_ahead {
            ReadAhead::None => end,
            ReadAhead::TrackEnd => geometry.track_of(end - 1).1,
            ReadAhead::CylinderEnd => self.cylinder_end(end - 1),
            ReadAhead::Segment => {
                let most = match cache.read_ahead_max {
                    0 => cache.segment_blocks,
                    most => most,
                };
                end + u64::from(most)
            }
            ReadAhead::WholeTracks => self.whole_tracks(segment, start, end),
        };
        limit.clamp(end, blocks)
    }

    /// To the end of the track of `end`, over the next if the segment began before this track, and
    /// over further ones while they fit.
    fn whole_tracks(&self, segment: usize, start: u64, end: u64) -> u64 {
        let geometry = &self.mechanism.geometry;
        let (first, mut limit) = geometry.track_of(end);
        let began = self.segments.get(segment).start.min(start);
        if began < first && limit < geometry.blocks() {
            limit = geometry.track_of(limit).1;
        }
        while limit < geometry.blocks() {
            let next = geometry.track_of(limit).1;
            if next - end > self.segments.size() {
                break;
            }
            limit = next;
        }
        limit
    }

    fn cylinder_end(&self, block: u64) -> u64 {
        let geometry = &self.mechanism.geometry;
        let cylinder = geometry.locate(block).cylinder;
        let mut end = block;
        loop {
            end = geometry.track_of(end).1;
            if end >= geometry.blocks() || geometry.locate(end).cylinder != cylinder {
                return end;
            }
        }
    }
}
