//! Jobs of Kubernetes, as YAML: an Indexed Job for each pass, and one for the finish.
//!
//! <https://kubernetes.io/docs/concepts/workloads/controllers/job/>

use std::fmt::Write;

use super::{ScriptedJob, in_quotes};

/// Pods of a pass at once; whoever has more room changes it.
const MOST_AT_ONCE: u64 = 100;

pub(super) fn script(job: &ScriptedJob) -> String {
    let names: Vec<String> = job.passes.iter().map(|(name, _)| format!("zarrcast-{name}")).collect();
    let mut script = format!(
        r#"# A job of zarrcast in parts, by Kubernetes 1.29 or later: {words}.
#
# Change what is FILL-IN. Then let the Jobs run, one after the other:
#
#   kubectl apply --filename FILE
#   for job in {names} zarrcast-finish; do
#     kubectl patch job "$job" --patch '{{"spec": {{"suspend": false}}}}'
#     until kubectl get job "$job" --output 'jsonpath={{.status.conditions[?(@.status=="True")].type}}' | grep -Ewq 'Complete|Failed'
#     do sleep 10; done
#   done
#   kubectl logs job/zarrcast-finish
#
# The log of the finish says whether anything is missing: then delete the Jobs (kubectl delete --filename FILE), and do the
# same again. A part that is done ends at once.
"#,
        words = job.passes_in_words(),
        names = names.join(" "),
    );
    for (name, partitions) in &job.passes {
        let spec = format!(
            "  completionMode: Indexed
  completions: {partitions}
  parallelism: {at_once}
  backoffLimitPerIndex: 5
",
            at_once = MOST_AT_ONCE.min(*partitions),
        );
        let memory = job.memory_bytes.to_string();
        let threads = job.threads.to_string();
        let options = ["--partition", "auto", "--pass", name, "--threads", &threads, "--max-memory", &memory];
        // Another try does not help where data, command or pass are at fault; a pass that is too early is 4.
        write_job(&mut script, job, (name, &spec), ("FailIndex", "[1, 2, 4]"), &options);
    }
    write_job(&mut script, job, ("finish", "  backoffLimit: 5\n"), ("FailJob", "[1, 2]"), &["--finish"]);
    script
}

/// A Job: its name and what its `spec` has of its own, which exit statuses end it and how, the options of the command.
fn write_job(
    script: &mut String,
    job: &ScriptedJob,
    (name, spec): (&str, &str),
    (action, statuses): (&str, &str),
    options: &[&str],
) {
    let places = job.options.iter().map(String::as_str).chain(["--", &job.source, &job.destination]);
    let words = [&job.program, "transcode"].into_iter().chain(options.iter().copied()).chain(places);
    let mut command = String::new();
    for word in words {
        // `$(NAME)` would be a variable. Writing to a string does not fail.
        let _ = writeln!(command, "            - {}", in_quotes(&word.replace('$', "$$")));
    }
    let (of_container, of_pod) = access(job);
    // Writing to a string does not fail.
    let _ = write!(
        script,
        "---
apiVersion: batch/v1
kind: Job
metadata:
  name: zarrcast-{name}
spec:
  suspend: true
{spec}  podFailurePolicy:
    rules:
      - action: Ignore
        onPodConditions:
          - type: DisruptionTarget
            status: \"True\"
      - action: {action}
        onExitCodes:
          operator: In
          values: {statuses}
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: zarrcast
          image: FILL-IN/zarrcast
          command:
{command}          resources:
            requests:
              cpu: \"{threads}\"
              memory: {mebibytes}Mi
            limits:
              memory: {mebibytes}Mi
{of_container}{of_pod}",
        threads = job.threads,
        mebibytes = job.process_mebibytes(),
    );
}

/// How a container reaches SOURCE and DEST: what its own description has for that, and what its pod's has.
fn access(job: &ScriptedJob) -> (String, String) {
    let mut of_container = String::new();
    let mut of_pod = String::new();
    let is_remote = |place: &str| place.contains("://") && !place.starts_with("file://");
    let places = [job.source.as_str(), job.destination.as_str()];
    if places.iter().any(|place| is_remote(place)) {
        of_container += "          # Credentials, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; out where the pod has an identity.
          envFrom:
            - secretRef:
                name: fill-in
";
    }
    if !places.iter().all(|place| is_remote(place)) {
        of_container += "          # Where SOURCE and DEST are reached.
          volumeMounts:
            - name: data
              mountPath: /FILL-IN
";
        of_pod += "      volumes:
        - name: data
          persistentVolumeClaim:
            claimName: fill-in
";
    }
    (of_container, of_pod)
}

#[cfg(test)]
mod tests {
    use super::super::tests::job;
    use super::script;

    #[test]
    fn kubernetes_expands_no_variable() {
        let script = script(&job());
        assert!(script.contains(r#"- "it's \"$$(here)\"\\{x}\U0000000a""#), "{script}");
        assert!(script.contains("  completions: 12\n  parallelism: 12\n"), "{script}");
    }

    #[test]
    fn kubernetes_mounts_a_volume_for_places_that_are_folders() {
        let both = script(&job());
        assert!(both.contains("volumeMounts") && both.contains("envFrom"), "{both}");
        let remote = script(&super::ScriptedJob { source: "s3://bucket/from".to_owned(), ..job() });
        assert!(!remote.contains("volume") && remote.contains("envFrom"), "{remote}");
    }
}
