//! A job changes exactly the bytes that were asked for, whatever their alignment.

use block::memory::MemoryDevice;
use block::sim::{Image, SimDevice};
use block::{Buffer, BufferPool, Device, Driver, Durability, Range, Unmap};
use proptest::prelude::{any, prop_assert_eq, proptest};

use super::{Job, Next};

const SIZE: u64 = 8192;

/// Runs a job to its end on a device and returns what it hands over.
fn run(device: &dyn Device, mut job: Job) -> Vec<u8> {
    let driver = Driver::new().unwrap();
    let mut queue = device.open_queue(&driver).unwrap();
    let pool = BufferPool::new(1 << 20);
    let mut next = job.begin(7, &pool);
    loop {
        match next {
            Next::Done { data, skip } => return data.get(skip..).unwrap_or_default().to_vec(),
            Next::Submit(request) => {
                assert!(request.range.is_aligned(512), "{request:?}");
                queue.submit(request);
                let mut done = Vec::new();
                queue.poll(&mut done);
                let completion = done.pop().unwrap();
                completion.result.unwrap();
                next = job.advance(completion.tag, completion.buffer, &pool);
            }
        }
    }
}

proptest! {
    #[test]
    fn any_range_is_read_and_changed(start in 0..SIZE, len in 1..4000_u64, byte in any::<u8>()) {
        // Reads, writes and zeroes of any range equal the same on a plain slice.
        let len = len.min(SIZE - start);
        let mut model: Vec<u8> = (0..SIZE).map(|i| (i * 7 % 251) as u8).collect();
        let device = MemoryDevice::from_bytes("memory", model.clone());
        let span = start as usize..(start + len) as usize;
        let pool = BufferPool::new(1 << 20);
        let read = Job::read(1, Range::new(start, len), 512, &pool);
        prop_assert_eq!(run(&device, read), &model[span.clone()]);
        let data = Buffer::copy_of(&vec![byte; len as usize]);
        run(&device, Job::write(2, start, data, Durability::Volatile, 512));
        model[span.clone()].fill(byte);
        prop_assert_eq!(&device.snapshot(), &model);
        run(&device, Job::zero(3, Range::new(start, len), Unmap::Allowed, 512));
        model[span].fill(0);
        prop_assert_eq!(&device.snapshot(), &model);
    }

    #[test]
    fn a_durable_write_is_durable_when_it_is_done(start in 0..SIZE, len in 1..4000_u64) {
        // No power cut takes back a byte of it, whatever its alignment, and nothing else changes.
        let len = len.min(SIZE - start);
        let device = SimDevice::of_image("disk", Image::new(SIZE));
        let data = Buffer::copy_of(&vec![7; len as usize]);
        run(&device, Job::write(1, start, data, Durability::Fua, 512));
        let mut model = vec![0; SIZE as usize];
        model[start as usize..(start + len) as usize].fill(7);
        prop_assert_eq!(device.disk().durable().bytes(Range::new(0, SIZE)), model);
    }
}
