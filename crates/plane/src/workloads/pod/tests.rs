use serde_json::json;

use super::*;

fn pod(restart_policy: &str) -> Pod {
    serde_json::from_value(json!({
        "metadata": { "name": "p", "namespace": "a", "uid": "u1", "generation": 1 },
        "spec": { "nodeName": "n", "restartPolicy": restart_policy,
            "initContainers": [{ "name": "i", "image": "x" }],
            "containers": [{ "name": "c", "image": "img:1" }, { "name": "d", "image": "img:2" }] },
        "status": { "phase": "Pending" },
    }))
    .unwrap()
}

/// Takes steps, each after it is due, until nothing comes any more or so many were taken; tells what was seen.
fn live(pod: &mut Pod, script: &Script, steps: usize) -> Vec<String> {
    let mut seen = vec![];
    let (mut now, mut since) = (Timestamp::from_second(1000).unwrap(), Duration::ZERO);
    for _ in 0..steps {
        let before = stage(pod);
        let next = step(pod, script, None, since, now);
        if let Some((_, reason, _)) = &next.event {
            seen.push(format!("event {reason}"));
        }
        if let Some(status) = next.status {
            assert_ne!(pod.status.as_ref(), Some(&status), "a status is written only when it changed");
            pod.status = Some(status);
            seen.push(shown(pod));
        } else if let Some(wait) = next.again {
            seen.push(format!("wait {}s", wait.as_secs()));
            now += wait;
            since += wait;
        } else {
            return seen;
        }
        if stage(pod) != before {
            since = Duration::ZERO;
        }
    }
    seen
}

fn shown(pod: &Pod) -> String {
    let why = status::waiting_reason(pod).unwrap_or("-");
    format!("{} {} {why}", pods::phase(pod), if pods::is_ready(pod) { "ready" } else { "unready" })
}

#[test]
fn a_pod_is_created_runs_and_becomes_ready() {
    let mut pod = pod("Always");
    let seen = live(&mut pod, &Script::default(), 10);
    assert_eq!(seen, ["Pending unready ContainerCreating", "Running unready -", "Running ready -"]);
    let status = pod.status.unwrap();
    assert!(status.pod_ip.is_some() && status.start_time.is_some());
    assert!(
        status
            .container_statuses
            .unwrap()
            .iter()
            .all(|container| container.ready && container.restart_count == 0)
    );
    let init = &status.init_container_statuses.unwrap()[0];
    assert_eq!(
        init.state.as_ref().unwrap().terminated.as_ref().unwrap().reason.as_deref(),
        Some("Completed")
    );
}

#[test]
fn a_pod_that_is_not_restarted_finishes() {
    let mut succeeds = pod("Never");
    let seen = live(&mut succeeds, &Script::default(), 10);
    assert_eq!(seen.last().unwrap(), "Succeeded unready -");
    let mut fails = pod("Never");
    live(&mut fails, &Script::exits(3), 10);
    assert_eq!(pods::phase(&fails), "Failed");
    let statuses = fails.status.unwrap().container_statuses.unwrap();
    assert_eq!(statuses[0].state.as_ref().unwrap().terminated.as_ref().unwrap().exit_code, 3);
    let mut stays = pod("OnFailure");
    let script = Script { exit: Exit::Never, ..Script::default() };
    assert_eq!(live(&mut stays, &script, 10).last().unwrap(), "Running ready -");
}

#[test]
fn a_crashing_container_is_restarted_later_and_later() {
    let mut pod = pod("Always");
    let seen = live(&mut pod, &Script::exits(1), 14);
    assert_eq!(
        seen[2..16],
        [
            "Running ready -",
            "event BackOff",
            "Running unready CrashLoopBackOff",
            "wait 10s",
            "Running unready -",
            "Running ready -",
            "event BackOff",
            "Running unready CrashLoopBackOff",
            "wait 20s",
            "Running unready -",
            "Running ready -",
            "event BackOff",
            "Running unready CrashLoopBackOff",
            "wait 40s",
        ]
    );
    let statuses = pod.status.unwrap().container_statuses.unwrap();
    assert!(statuses[0].restart_count >= 2);
    assert_eq!(statuses[1].restart_count, 0, "the other container runs on");
}

#[test]
fn a_crash_may_happen_only_so_often() {
    let mut pod = pod("Always");
    let script =
        Script { exit: Exit::With { code: 1, after: Duration::ZERO, times: Some(1) }, ..Script::default() };
    let seen = live(&mut pod, &script, 20);
    assert_eq!(seen.iter().filter(|line| *line == "event BackOff").count(), 1);
    assert_eq!(seen.last().unwrap(), "Running ready -");
}

#[test]
fn a_pull_that_fails_is_told_and_not_ended() {
    let mut pod = pod("Always");
    let seen = live(&mut pod, &Script::pull_fails(), 10);
    assert_eq!(
        seen,
        [
            "Pending unready ContainerCreating",
            "event Failed",
            "Pending unready ErrImagePull",
            "event BackOff",
            "Pending unready ImagePullBackOff"
        ]
    );
}

#[test]
fn delays_are_kept() {
    let mut pod = pod("Always");
    let seconds = |seconds| Step::After(Duration::from_secs(seconds));
    let seen = live(&mut pod, &Script { pull: seconds(3), ready: seconds(5), ..Script::default() }, 10);
    assert_eq!(
        seen,
        ["Pending unready ContainerCreating", "wait 3s", "Running unready -", "wait 5s", "Running ready -"]
    );
    let mut never = self::pod("Always");
    assert_eq!(live(&mut never, &Script::never_ready(), 10).last().unwrap(), "Running unready -");
}

#[test]
fn what_is_missing_holds_the_pod_up() {
    let mut pod = pod("Always");
    let now = Timestamp::UNIX_EPOCH;
    pod.status = step(&pod, &Script::default(), None, Duration::ZERO, now).status;
    let obstacle = Obstacle::Config(r#"secret "s" not found"#.into());
    let next = step(&pod, &Script::default(), Some(&obstacle), Duration::ZERO, now);
    assert_eq!(next.event, Some((true, "Failed", r#"Error: secret "s" not found"#.into())));
    pod.status = next.status;
    assert_eq!(status::waiting_reason(&pod), Some("CreateContainerConfigError"));
    let still = step(&pod, &Script::default(), Some(&obstacle), Duration::from_secs(1), now);
    assert_eq!((still.status, still.event), (None, None), "told once");
    assert!(still.again.is_some());
    assert_eq!(
        pods::phase(&Pod { status: step(&pod, &Script::default(), None, Duration::ZERO, now).status, ..pod }),
        "Running"
    );
}

#[test]
fn a_deleted_pod_stops_and_goes() {
    let mut pod = pod("Always");
    live(&mut pod, &Script::default(), 10);
    let now = Timestamp::from_second(2000).unwrap();
    pod.metadata.deletion_timestamp = Some(pods::time(now));
    pod.metadata.deletion_grace_period_seconds = Some(30);
    assert!(step(&pod, &Script::default(), None, Duration::ZERO, now).gone);
    let slow = Script { stop: Step::After(Duration::from_secs(5)), ..Script::default() };
    assert_eq!(step(&pod, &slow, None, Duration::from_secs(2), now).again, Some(Duration::from_secs(3)));
    assert!(
        step(&pod, &Script { stop: Step::Never, ..slow }, None, Duration::from_secs(30), now).gone,
        "killed when grace ends"
    );
    pod.metadata.finalizers = Some(vec!["x/y".into()]);
    let held = step(&pod, &Script::default(), None, Duration::ZERO, now);
    pod.status = held.status;
    assert_eq!(pods::phase(&pod), "Failed", "whoever holds it sees how it ended");
    assert!(step(&pod, &Script::default(), None, Duration::ZERO, now).gone);
}

#[test]
fn a_closed_readiness_gate_keeps_the_pod_unready() {
    let mut pod = pod("Always");
    pod.spec.as_mut().unwrap().readiness_gates =
        Some(serde_json::from_value(json!([{ "conditionType": "x.io/gate" }])).unwrap());
    live(&mut pod, &Script::default(), 10);
    assert!(!pods::is_ready(&pod));
}

#[test]
fn everything_a_pod_names_is_needed_unless_optional() {
    let pod: Pod = serde_json::from_value(json!({ "spec": {
        "volumes": [
            { "name": "a", "configMap": { "name": "cm" } }, { "name": "b", "secret": { "secretName": "no", "optional": true } },
            { "name": "c", "persistentVolumeClaim": { "claimName": "data" } },
            { "name": "d", "projected": { "sources": [{ "secret": { "name": "ps" } }] } },
        ],
        "containers": [{ "name": "c",
            "envFrom": [{ "secretRef": { "name": "all" } }],
            "env": [{ "name": "A", "valueFrom": { "secretKeyRef": { "name": "s", "key": "k" } } },
                    { "name": "B", "valueFrom": { "configMapKeyRef": { "name": "o", "key": "k", "optional": true } } }] }],
    }}))
    .unwrap();
    assert_eq!(
        needed(&pod),
        [
            Needed::Claim("data".into()),
            Needed::Volume(Kind::ConfigMap, "cm".into()),
            Needed::Volume(Kind::Secret, "ps".into()),
            Needed::Environment(Kind::Secret, "all".into(), None),
            Needed::Environment(Kind::Secret, "s".into(), Some("k".into())),
        ]
    );
}
