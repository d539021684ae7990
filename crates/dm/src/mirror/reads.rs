//! Which image is read where all hold the same: the one that was read last up to there, or has
//! least to do.

use block::Range;

use super::map::MirrorMap;

/// Reads that follow each other for so many bytes go to the same image, so that a stream stays one
/// for the disk's reading ahead; after them the image with least to do is chosen anew.
const READ_RUN: u64 = 4 << 20;

/// What one reader read last: the home, or a queue that needs no home.
#[derive(Debug, Default)]
pub struct Reads {
    /// By image: its newest reads that followed each other, up to [`READ_RUN`] bytes and the last
    /// of them.
    runs: Vec<Range>,
}

impl Reads {
    /// The image to read `range` from, of those whose bits are set.
    pub(super) fn choose(&self, map: &MirrorMap, images: u32, range: Range) -> Option<usize> {
        let count = map.image_count();
        let turn = (range.start() / READ_RUN) as usize % count;
        let images = (0..count).filter(|image| images >> image & 1 == 1);
        images.min_by_key(|image| {
            let distance = (*image + count - turn) % count;
            let run = self.runs.get(*image).copied().unwrap_or(Range::EMPTY);
            let (stays, goes_on) = (stays(run, range), goes_on(run, range));
            (!stays, map.reading(*image), !goes_on, distance)
        })
    }

    /// Takes note that `range` is read from an image.
    pub(super) fn begin(&mut self, image: usize, range: Range) {
        if self.runs.len() <= image {
            self.runs.resize(image + 1, Range::EMPTY);
        }
        let run = &mut self.runs[image];
        *run = if stays(*run, range) {
            Range::new(run.start(), run.len() + range.len())
        } else {
            range
        };
    }
}

/// Whether a read goes on with a run.
fn goes_on(run: Range, range: Range) -> bool {
    run.end() == range.start()
}

/// The same, and the run is not over.
fn stays(run: Range, range: Range) -> bool {
    goes_on(run, range) && run.len() < READ_RUN
}
