//! Disks as servers: closed networks against the formula, and against a simulation that knows
//! nothing of disks.

use ashlar_lab::layout;
use ashlar_lab::stack::{self, Outcome, Plan};
use ashlar_lab::workload::fio;
use block::sim::Random;

use super::Result;
use super::row::{Effort, Goal, Unit, row, worse};

/// The job of the fifth seed document.
const SEED_JOB: &str = "[randrw]\nrw=randrw\ndirect=1\nioengine=libaio\nbs=16k\nnumjobs=10\n\
    size=512M\noffset_increment=512M\ntime_based\niodepth=64\ngroup_reporting\n";
/// Disks and requests outstanding.
const NETWORKS: [(u64, u32); 6] = [(1, 1), (2, 1), (4, 3), (4, 16), (6, 16), (6, 64)];

pub(crate) fn rows(effort: Effort) -> Result<()> {
    let seconds = effort.of(120, 2);
    let mut worst: f64 = 0.0;
    for (disks, depth) in NETWORKS {
        let seen = network(disks, depth, "exponential", seconds)?;
        let (n, k) = (f64::from(depth), disks as f64);
        worst = worse(worst, seen, n * k / (k + n - 1.0));
    }
    let case = "N K / (K + N - 1), exponential service, worst of 6";
    row(case, Unit::Percent, worst * 100.0, Goal::AtMost(2.0));
    for law in ["constant", "uniform"] {
        let mut worst: f64 = 0.0;
        for (disks, depth) in NETWORKS {
            let seen = network(disks, depth, law, seconds)?;
            let brute = brute(disks, depth, law, effort.of(400_000, 4_000));
            worst = worse(worst, seen, brute);
        }
        let case = format!("brute force, {law} service, worst of 6");
        row(&case, Unit::Percent, worst * 100.0, Goal::AtMost(2.0));
    }
    let disks = "[disk.c]\ncap = { iops = 600, size = \"1900G\" }\n[layout.x]\ndisks = \"c*6\"\n";
    for (name, volume, goal) in [
        (
            "striped",
            "striped = \"0..5+1M\", chunk = \"128K\"",
            Goal::Within(3400.0, 3600.0),
        ),
        ("linear", "linear = \"0..5+1M\"", Goal::Within(590.0, 610.0)),
    ] {
        let text = format!("{disks}volume = [{{ {volume}, size = \"11100G\" }}]\n");
        let job = format!("{SEED_JOB}runtime={}\n", effort.of(60, 2));
        let rate = load(&text, &job)?.per_second();
        let case = format!("the fifth document's job on six disks of 600 IOPS, {name}");
        row(&case, Unit::PerSecond, rate, goal);
    }
    Ok(())
}

fn load(text: &str, jobs: &str) -> Result<Outcome> {
    let layout = layout::parse("servers", text)?.remove(0);
    let jobs = fio::parse(jobs).map_err(|error| error.to_string())?;
    let mut model = stack::build(&layout, 7)?;
    let plan = Plan {
        jobs: &jobs,
        seed: 7,
        requests_max: None,
    };
    Ok(stack::run(model.as_mut(), &plan)?)
}

/// Throughput in units of one disk's, of disks whose mean service is a millisecond.
fn network(disks: u64, depth: u32, law: &str, seconds: u64) -> Result<f64> {
    let size = disks * 1024;
    let text = format!(
        "[disk.s]\nserver = {{ mean_us = 1000, law = \"{law}\", size = \"1G\" }}\n[layout.x]\n\
         disks = \"s*{disks}\"\n\
         volume = [{{ striped = \"0..{}\", chunk = \"64K\", size = \"{size}M\" }}]\n",
        disks - 1
    );
    let job = format!(
        "[j]\nrw=randread\nbs=4k\nsize={size}M\niodepth={depth}\nnorandommap\n\
         runtime={seconds}\ntime_based\n"
    );
    Ok(load(&text, &job)?.per_second() / 1000.0)
}

/// The same by plain simulation: so many customers, each going to any server when it is served.
fn brute(servers: u64, customers: u32, law: &str, services: u64) -> f64 {
    let mut random = Random::new(11);
    let mut number = || (random.number() >> 11) as f64 / (1_u64 << 53) as f64;
    let mut queues = vec![0_u32; servers as usize];
    let mut ends = vec![f64::INFINITY; servers as usize];
    let service = |number: f64| match law {
        "constant" => 1.0,
        _ => 2.0 * number,
    };
    let any = |number: f64| ((number * servers as f64) as usize).min(servers as usize - 1);
    for _ in 0..customers {
        queues[any(number())] += 1;
    }
    for (queue, end) in queues.iter().zip(&mut ends) {
        if *queue > 0 {
            *end = service(number());
        }
    }
    let (warm, mut from, mut now) = (services / 10, 0.0, 0.0);
    for served in 0..services + warm {
        let order = |a: &usize, b: &usize| ends[*a].total_cmp(&ends[*b]);
        let first = (0..queues.len()).min_by(order).expect("there are servers");
        now = ends[first];
        if served == warm {
            from = now;
        }
        queues[first] -= 1;
        ends[first] = f64::INFINITY;
        queues[any(number())] += 1;
        for (queue, end) in queues.iter().zip(&mut ends) {
            if *queue > 0 && end.is_infinite() {
                *end = now + service(number());
            }
        }
    }
    services as f64 / (now - from)
}
