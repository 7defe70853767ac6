//! Runs a story with and without faults; the end must be the same.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;

use super::edge::{Chaos, Edge, Fault};

/// The longest that a process waits before it looks again is far below this.
const QUIET: Duration = Duration::from_secs(60);
/// A story that still writes after this many quiet times never will be quiet.
const PATIENCE: usize = 60;

/// A server, an operator and a story. Time must be Tokio's, and paused: waiting then costs nothing.
pub trait World: Sync {
    /// A server with what the story begins from.
    type Server: Sync;

    /// Makes a new server.
    fn server(&self) -> impl Future<Output = Self::Server> + Send;

    /// Runs the operator as one process, through the edge, until it is dropped.
    fn operate(&self, server: &Self::Server, edge: &Edge) -> impl Future<Output = ()> + Send;

    /// What users do. Each call of `settle` lets the operator come to rest.
    fn story(&self, server: &Self::Server, settle: &Settle<'_>) -> impl Future<Output = ()> + Send;

    /// What counts in the end.
    fn state(&self, server: &Self::Server) -> impl Future<Output = BTreeMap<String, Value>> + Send;
}

/// Waits until nothing is written any more.
#[derive(Debug)]
pub struct Settle<'a>(&'a Edge);

impl Settle<'_> {
    /// Waits until a minute passes without a write.
    ///
    /// # Panics
    /// If that never happens: the operator is in a loop.
    pub async fn now(&self) {
        for _ in 0..PATIENCE {
            let before = self.0.writes();
            tokio::time::sleep(QUIET).await;
            if self.0.writes() == before && !self.0.is_crashed() {
                return;
            }
        }
        panic!("still writing after {} minutes: {} writes", PATIENCE, self.0.writes());
    }
}

/// What came of a story.
#[derive(Debug)]
pub struct End {
    /// What counts.
    pub state: BTreeMap<String, Value>,
    /// How many writes it took.
    pub writes: usize,
}

/// Tells the story once. A process that dies is started again, with nothing remembered.
pub async fn tell<W: World>(world: &W, edge: &Edge) -> End {
    let server = world.server().await;
    let processes = async {
        loop {
            tokio::select! {
                () = world.operate(&server, edge) => panic!("the operator ended by itself"),
                () = edge.crashed() => {}
            }
            edge.revive();
        }
    };
    let story = async {
        let settle = Settle(edge);
        world.story(&server, &settle).await;
        edge.set_chaos(Chaos::default()); // in the end all goes well, and what went wrong must heal
        settle.now().await;
    };
    tokio::select! {
        () = processes => unreachable!("processes are started for ever"),
        () = story => {}
    }
    End { state: world.state(&server).await, writes: edge.writes() }
}

/// Tells the story once for every write there is in it, and lets the process die right after that write. Returns how many
/// deaths that were.
///
/// # Panics
/// If an end differs from the one without a death.
pub async fn deaths<W: World>(world: &W) -> usize {
    let calm = tell(world, &Edge::new(0)).await;
    for death in 1..=calm.writes {
        let edge = Edge::new(0);
        edge.crash_after(death);
        let end = tell(world, &edge).await;
        assert_same(&calm, &end, &format!("death after write {death} of {}", calm.writes));
    }
    calm.writes
}

/// Tells the story once for every `stride`th write that is tried in it and everything that can go wrong with one write.
/// Returns how often that was.
///
/// # Panics
/// If an end differs from the one where all goes well.
pub async fn faults<W: World>(world: &W, stride: usize) -> usize {
    let calm = tell(world, &Edge::new(0)).await;
    let mut told = 0;
    for (nth, fault) in (1..=calm.writes).step_by(stride).flat_map(|nth| Fault::ALL.map(|fault| (nth, fault)))
    {
        let edge = Edge::new(0);
        edge.fail(nth, fault);
        let end = tell(world, &edge).await;
        assert_same(&calm, &end, &format!("{fault:?} at write {nth} of {}", calm.writes));
        told += 1;
    }
    told
}

/// Tells the story with things going wrong, once per seed.
///
/// # Panics
/// If an end differs from the one where all goes well; the seed is in the message.
pub async fn chaos<W: World>(world: &W, chaos: &Chaos, seeds: impl IntoIterator<Item = u64>) {
    let calm = tell(world, &Edge::new(0)).await;
    for seed in seeds {
        let edge = Edge::new(seed);
        edge.set_chaos(chaos.clone());
        let end = tell(world, &edge).await;
        assert_same(&calm, &end, &format!("chaos with seed {seed}: {chaos:?}"));
    }
}

fn assert_same(calm: &End, end: &End, what: &str) {
    let mut differences = vec![];
    for (id, object) in &calm.state {
        match end.state.get(id) {
            None => differences.push(format!("{id} is missing")),
            Some(other) if other != object => {
                differences.push(format!("{id} differs:\n  calm {object}\n  then {other}"));
            }
            Some(_) => {}
        }
    }
    let leaked = end.state.keys().filter(|id| !calm.state.contains_key(*id));
    differences.extend(leaked.map(|id| format!("{id} is left over")));
    assert!(differences.is_empty(), "{what}:\n{}", differences.join("\n"));
}
