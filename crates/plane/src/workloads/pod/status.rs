//! The statuses a Pod passes through.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
    ContainerStatus, HostIP, Pod, PodCondition, PodIP, PodStatus,
};

use super::super::pods::time;
use super::{Exit, Script};

/// The address of the one node.
pub(in super::super) const HOST: &str = "10.0.0.2";
/// Restarts are held back this long, doubling.
const FIRST_BACK_OFF: u64 = 10;
const LONGEST_BACK_OFF: u64 = 300;

/// The address of a Pod, made from its uid: the same at every start, rarely shared.
fn address(uid: &str) -> String {
    let sum =
        uid.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let [_, high, middle, low] = sum.to_be_bytes();
    format!("10.{}.{middle}.{}", 128 + high / 2, 1 + low % 254)
}

/// The status of a Pod that was just given a node.
pub(in super::super) fn scheduled(pod: &Pod, now: Timestamp) -> PodStatus {
    let mut status = pod.status.clone().unwrap_or_default();
    set(&mut status, pod, "PodScheduled", true, None, now);
    status
}

/// The status of a Pod that no node can take.
pub(in super::super) fn unschedulable(pod: &Pod, why: String, now: Timestamp) -> PodStatus {
    let mut status = pod.status.clone().unwrap_or_default();
    set(&mut status, pod, "PodScheduled", false, Some(("Unschedulable", why)), now);
    status
}

/// Before any container runs: all wait for this reason.
pub(super) fn creating(pod: &Pod, reason: &str, message: Option<String>, now: Timestamp) -> PodStatus {
    let mut status = pod.status.clone().unwrap_or_default();
    status.phase = Some("Pending".into());
    status.host_ip = Some(HOST.into());
    status.host_ips = Some(vec![HostIP { ip: HOST.into() }]);
    status.start_time.get_or_insert_with(|| time(now));
    status.observed_generation = pod.metadata.generation;
    let waiting = |container: &Container| ContainerStatus {
        state: Some(ContainerState {
            waiting: Some(ContainerStateWaiting { reason: Some(reason.into()), message: message.clone() }),
            ..ContainerState::default()
        }),
        ..described(container)
    };
    let spec = pod.spec.clone().unwrap_or_default();
    status.container_statuses = Some(spec.containers.iter().map(waiting).collect());
    let first: Vec<ContainerStatus> = spec.init_containers.iter().flatten().map(waiting).collect();
    status.init_container_statuses = (!first.is_empty()).then_some(first);
    let unready = || not_ready(&spec.containers);
    set(&mut status, pod, "PodReadyToStartContainers", false, None, now);
    set(&mut status, pod, "Initialized", spec.init_containers.is_none(), None, now);
    set(&mut status, pod, "Ready", false, Some(unready()), now);
    set(&mut status, pod, "ContainersReady", false, Some(unready()), now);
    status
}

/// All containers run, none is ready; init containers are done.
pub(super) fn running(pod: &Pod, script: &Script, now: Timestamp) -> PodStatus {
    let mut status = pod.status.clone().unwrap_or_default();
    let ip = address(pod.metadata.uid.as_deref().unwrap_or_default());
    let spec = pod.spec.clone().unwrap_or_default();
    let ip = if spec.host_network == Some(true) { HOST.to_owned() } else { ip };
    status.phase = Some("Running".into());
    status.pod_ip = Some(ip.clone());
    status.pod_ips = Some(vec![PodIP { ip }]);
    let old = status.container_statuses.take().unwrap_or_default();
    let scripted = scripted(pod, script);
    let run = |container: &Container| {
        let before = old.iter().find(|known| known.name == container.name);
        if let Some(up) =
            before.filter(|known| known.state.as_ref().is_some_and(|state| state.running.is_some()))
        {
            return up.clone();
        }
        let again = before
            .is_some_and(|known| known.last_state.as_ref().is_some_and(|last| last.terminated.is_some()));
        let restarts =
            before.map_or(0, |known| known.restart_count) + i32::from(again && container.name == scripted);
        ContainerStatus {
            restart_count: restarts,
            last_state: before.and_then(|known| known.last_state.clone()),
            state: Some(up_since(now)),
            started: Some(true),
            ready: false,
            container_id: Some(container_id(pod, &container.name, restarts)),
            ..described(container)
        }
    };
    status.container_statuses = Some(spec.containers.iter().map(run).collect());
    let initialise = |container: &Container| {
        let stays = container.restart_policy.as_deref() == Some("Always");
        let state = if stays { up_since(now) } else { ended(0, now, now) };
        ContainerStatus {
            state: Some(state),
            ready: true,
            started: Some(stays),
            container_id: Some(container_id(pod, &container.name, 0)),
            ..described(container)
        }
    };
    let first: Vec<ContainerStatus> = spec.init_containers.iter().flatten().map(initialise).collect();
    status.init_container_statuses = (!first.is_empty()).then_some(first);
    set(&mut status, pod, "PodReadyToStartContainers", true, None, now);
    set(&mut status, pod, "Initialized", true, None, now);
    set(&mut status, pod, "Ready", false, Some(not_ready(&spec.containers)), now);
    set(&mut status, pod, "ContainersReady", false, Some(not_ready(&spec.containers)), now);
    status
}

/// All running containers are ready; the Pod is, if its readiness gates agree.
pub(super) fn ready(pod: &Pod, now: Timestamp) -> PodStatus {
    let mut status = pod.status.clone().unwrap_or_default();
    for container in status.container_statuses.iter_mut().flatten() {
        container.ready = container.state.as_ref().is_some_and(|state| state.running.is_some());
    }
    set(&mut status, pod, "ContainersReady", true, None, now);
    let gates = pod.spec.as_ref().and_then(|spec| spec.readiness_gates.clone()).unwrap_or_default();
    let met = |kind: &str| {
        let conditions = status.conditions.iter().flatten();
        conditions.filter(|condition| condition.type_ == kind).any(|condition| condition.status == "True")
    };
    let closed = gates.iter().find(|gate| !met(&gate.condition_type)).map(|gate| {
        let message = format!(
            "corresponding condition of pod readiness gate {:?} does not exist.",
            gate.condition_type
        );
        ("ReadinessGatesNotReady", message)
    });
    set(&mut status, pod, "Ready", closed.is_none(), closed, now);
    status
}

/// With which code, and how long after its start, the scripted container ends; none if it keeps running.
pub(super) fn ending(pod: &Pod, script: &Script) -> Option<(i32, Duration)> {
    match script.exit {
        Exit::Never => None,
        Exit::Natural => (restart_policy(pod) != "Always").then_some((0, Duration::ZERO)),
        Exit::With { code, after, times } => {
            let done = times.is_some_and(|times| restarts(pod, script) >= times);
            if done { (restart_policy(pod) != "Always").then_some((0, after)) } else { Some((code, after)) }
        }
    }
}

/// The scripted container ended. The Pod is finished, or the container is to be restarted (true).
pub(super) fn exited(pod: &Pod, script: &Script, code: i32, now: Timestamp) -> (PodStatus, bool) {
    let mut status = pod.status.clone().unwrap_or_default();
    let name = scripted(pod, script);
    let policy = restart_policy(pod);
    let restarts = policy == "Always" || policy == "OnFailure" && code != 0;
    let finishes = !restarts;
    let containers = pod.spec.as_ref().map(|spec| spec.containers.clone()).unwrap_or_default();
    for container in status.container_statuses.iter_mut().flatten() {
        let since = container
            .state
            .as_ref()
            .and_then(|state| state.running.as_ref())
            .and_then(|run| run.started_at.clone());
        let since = since.map_or(now, |time| time.0);
        if container.name == name {
            let mut end = ended(code, since, now);
            if let Some(terminated) = end.terminated.as_mut() {
                terminated.container_id = container.container_id.clone();
            }
            container.ready = false;
            container.started = Some(false);
            if restarts {
                let wait = seconds_of_back_off(container.restart_count);
                let pod_name = pod.metadata.name.as_deref().unwrap_or_default();
                let message = format!("back-off {wait}s restarting failed container={name} pod={pod_name}");
                container.last_state = Some(end);
                container.state = Some(ContainerState {
                    waiting: Some(ContainerStateWaiting {
                        reason: Some("CrashLoopBackOff".into()),
                        message: Some(message),
                    }),
                    ..ContainerState::default()
                });
            } else {
                container.state = Some(end);
            }
        } else if finishes {
            // The others have nothing left to do either.
            container.ready = false;
            container.started = Some(false);
            container.state = Some(ended(0, since, now));
        }
    }
    let reason = if finishes && code == 0 { ("PodCompleted", String::new()) } else { not_ready(&containers) };
    if finishes {
        status.phase = Some(if code == 0 { "Succeeded" } else { "Failed" }.into());
        set(&mut status, pod, "PodReadyToStartContainers", false, None, now);
    }
    set(&mut status, pod, "Ready", false, Some(reason.clone()), now);
    set(&mut status, pod, "ContainersReady", false, Some(reason), now);
    (status, restarts)
}

/// All containers were told to stop and did.
pub(super) fn stopped(pod: &Pod, now: Timestamp) -> PodStatus {
    let mut status = pod.status.clone().unwrap_or_default();
    status.phase = Some("Failed".into());
    for container in status.container_statuses.iter_mut().flatten() {
        container.ready = false;
        container.started = Some(false);
        container.state = Some(ended(143, now, now));
    }
    let containers = pod.spec.as_ref().map(|spec| spec.containers.clone()).unwrap_or_default();
    set(&mut status, pod, "Ready", false, Some(not_ready(&containers)), now);
    set(&mut status, pod, "ContainersReady", false, Some(not_ready(&containers)), now);
    status
}

/// How long the scripted container's next start is held back.
pub(super) fn back_off(pod: &Pod, script: &Script) -> Duration {
    Duration::from_secs(seconds_of_back_off(restarts(pod, script)))
}

fn seconds_of_back_off(restarts: i32) -> u64 {
    let doublings = u32::try_from(restarts).unwrap_or(0).min(10);
    (FIRST_BACK_OFF << doublings).min(LONGEST_BACK_OFF)
}

/// The name of the container that the script is about.
pub(in super::super) fn scripted(pod: &Pod, script: &Script) -> String {
    let first =
        || pod.spec.as_ref().and_then(|spec| spec.containers.first()).map(|container| container.name.clone());
    script.container.clone().or_else(first).unwrap_or_default()
}

/// The image of that container.
pub(super) fn image(pod: &Pod, script: &Script) -> String {
    let name = scripted(pod, script);
    let containers = pod.spec.as_ref().map(|spec| spec.containers.as_slice()).unwrap_or_default();
    containers
        .iter()
        .find(|container| container.name == name)
        .and_then(|c| c.image.clone())
        .unwrap_or_default()
}

/// Why the first waiting container waits.
pub(super) fn waiting_reason(pod: &Pod) -> Option<&str> {
    let statuses = pod.status.as_ref()?.container_statuses.as_ref()?;
    statuses.iter().find_map(|status| status.state.as_ref()?.waiting.as_ref()?.reason.as_deref())
}

fn restarts(pod: &Pod, script: &Script) -> i32 {
    pod.status.as_ref().map_or(0, |status| restarts_in(status, &scripted(pod, script)))
}

/// How often a container was restarted.
pub(in super::super) fn restarts_in(status: &PodStatus, container: &str) -> i32 {
    let mut statuses = status.container_statuses.iter().flatten();
    statuses.find(|status| status.name == container).map_or(0, |status| status.restart_count)
}

fn restart_policy(pod: &Pod) -> &str {
    pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref()).unwrap_or("Always")
}

fn described(container: &Container) -> ContainerStatus {
    let image = container.image.clone().unwrap_or_default();
    ContainerStatus {
        name: container.name.clone(),
        image_id: format!("simulated://{image}"),
        image,
        started: Some(false),
        ..ContainerStatus::default()
    }
}

fn container_id(pod: &Pod, container: &str, restarts: i32) -> String {
    format!("simulated://{}/{container}/{restarts}", pod.metadata.uid.as_deref().unwrap_or_default())
}

fn up_since(now: Timestamp) -> ContainerState {
    ContainerState {
        running: Some(ContainerStateRunning { started_at: Some(time(now)) }),
        ..ContainerState::default()
    }
}

fn ended(code: i32, since: Timestamp, now: Timestamp) -> ContainerState {
    ContainerState {
        terminated: Some(ContainerStateTerminated {
            exit_code: code,
            reason: Some(if code == 0 { "Completed" } else { "Error" }.into()),
            started_at: Some(time(since)),
            finished_at: Some(time(now)),
            ..ContainerStateTerminated::default()
        }),
        ..ContainerState::default()
    }
}

fn not_ready(containers: &[Container]) -> (&'static str, String) {
    let names: Vec<&str> = containers.iter().map(|container| container.name.as_str()).collect();
    ("ContainersNotReady", format!("containers with unready status: [{}]", names.join(" ")))
}

/// Sets a condition; its time moves only when its status does.
fn set(
    status: &mut PodStatus,
    pod: &Pod,
    kind: &str,
    holds: bool,
    why: Option<(&str, String)>,
    now: Timestamp,
) {
    let conditions = status.conditions.get_or_insert_default();
    let word = if holds { "True" } else { "False" };
    let (reason, message) =
        why.map_or((None, None), |(reason, message)| (Some(reason.to_owned()), Some(message)));
    let new = PodCondition {
        type_: kind.into(),
        status: word.into(),
        reason,
        message: message.filter(|message| !message.is_empty()),
        observed_generation: pod.metadata.generation,
        last_transition_time: Some(time(now)),
        last_probe_time: None,
    };
    match conditions.iter_mut().find(|condition| condition.type_ == kind) {
        Some(old) => {
            let since = old.last_transition_time.clone().filter(|_| old.status == word);
            *old = PodCondition { last_transition_time: since.or(new.last_transition_time.clone()), ..new };
        }
        None => conditions.push(new),
    }
}
