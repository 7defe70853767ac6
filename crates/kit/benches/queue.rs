//! Ten thousand keys through the work queue, each added three times.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use quintet_kit::metrics::Metrics;
use quintet_kit::queue::{Backoff, Queue};
use quintet_kit::{Action, ObjectKey, Retry};
use std::hint::black_box;
use tokio::runtime::Builder;

const KEYS: usize = 10_000;

fn keys() -> Vec<ObjectKey> {
    (0..KEYS).map(|i| ObjectKey::namespaced("default", format!("object-{i}"))).collect()
}

fn queue() -> Queue<ObjectKey> {
    Queue::new(Backoff::default(), Metrics::new().queue("bench"))
}

fn benches(criterion: &mut Criterion) {
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    let all = keys();
    criterion.bench_function("10,000 keys, each added three times and done", |bencher| {
        bencher.to_async(&runtime).iter_batched(
            queue,
            |queue| {
                let all = &all;
                async move {
                    for _ in 0..3 {
                        all.iter().for_each(|key| queue.add(key.clone()));
                    }
                    for _ in 0..KEYS {
                        black_box(queue.next().await).done(Action::Wait);
                    }
                }
            },
            BatchSize::LargeInput,
        );
    });
    criterion.bench_function("10,000 keys, each failing once", |bencher| {
        bencher.to_async(&runtime).iter_batched(
            queue,
            |queue| {
                let all = &all;
                async move {
                    all.iter().for_each(|key| queue.add(key.clone()));
                    for _ in 0..KEYS {
                        black_box(queue.next().await).failed(Retry::Backoff);
                    }
                }
            },
            BatchSize::LargeInput,
        );
    });
}

criterion_group!(queue_benches, benches);
criterion_main!(queue_benches);
