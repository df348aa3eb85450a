import assert from "node:assert/strict";
import { test } from "node:test";
import { Job, type JobStatus } from "@dray/api/batch/v1";
import { Pod } from "@dray/api/core/v1";
import { timeText } from "@dray/client";
import { startJobController } from "@dray/controllers";
import { killedAtEveryWrite, type TestCluster, withCluster } from "../testing/cluster.ts";

const onCluster = (run: (cluster: TestCluster) => Promise<void>): Promise<void> =>
  withCluster(startJobController, run);

const ref = { namespace: "d", name: "work" };

function job(spec: object = {}, pod: object = {}): object {
  const template = {
    spec: { restartPolicy: "Never", containers: [{ name: "c", image: "one" }], ...pod },
  };
  return { metadata: { name: "work" }, spec: { template, ...spec } };
}

const statusOf = async (cluster: TestCluster): Promise<JobStatus> =>
  (await cluster.get(Job, "work")).status ?? {};

const isLive = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp === undefined && status?.phase !== "Succeeded" && status?.phase !== "Failed";

async function livePods(cluster: TestCluster, count: number): Promise<readonly Pod[]> {
  let pods: readonly Pod[] = [];
  await cluster.until(`${count} active pods`, async () => {
    pods = (await cluster.list(Pod)).filter(isLive);
    return pods.length === count;
  });
  await cluster.settle();
  assert.equal((await cluster.list(Pod)).filter(isLive).length, count);
  return pods;
}

async function end(cluster: TestCluster, pod: Pod, exitCode: number, more: object = {}): Promise<void> {
  const finishedAt = timeText(cluster.clock.now());
  await cluster.setStatus(pod, {
    phase: exitCode === 0 ? "Succeeded" : "Failed",
    containerStatuses: [
      {
        name: "c",
        image: "one",
        imageID: "",
        ready: false,
        restartCount: 0,
        state: { terminated: { exitCode, finishedAt } },
      },
    ],
    ...more,
  });
}

/** `type reason message` of the conditions that hold. */
const holding = ({ conditions = [] }: JobStatus): string[] =>
  conditions
    .filter(({ status }) => status === "True")
    .map(({ type, reason, message }) => `${type} ${reason} ${message}`);

/** The status of the Job when it has ended. */
async function ended(cluster: TestCluster): Promise<JobStatus> {
  return cluster.until("the end", async () => {
    await cluster.finishDeletions();
    const status = await statusOf(cluster);
    return (
      status.conditions?.some(
        ({ type, status: state }) => state === "True" && (type === "Complete" || type === "Failed"),
      ) && status
    );
  });
}

const indexOf = (pod: Pod): string =>
  pod.metadata.annotations?.["batch.kubernetes.io/job-completion-index"] ?? "";

async function withIndex(cluster: TestCluster, index: number): Promise<Pod> {
  return cluster.until(`a pod of index ${index}`, async () =>
    (await cluster.list(Pod)).filter(isLive).find((pod) => indexOf(pod) === String(index)),
  );
}

test("as many pods as parallelism allows, until enough have succeeded; each end is counted once", () =>
  onCluster(async (cluster) => {
    await cluster.create(Job, job({ completions: 3, parallelism: 2 }));
    const [first, second] = await livePods(cluster, 2);
    assert.deepEqual(first?.metadata.finalizers, ["batch.kubernetes.io/job-tracking"]);
    assert.equal(first?.metadata.labels?.["batch.kubernetes.io/job-name"], "work");
    const { startTime, ...running } = await cluster.until("counted", async () => {
      const status = await statusOf(cluster);
      return status.active === 2 && status;
    });
    assert.deepEqual(running, { active: 2, ready: 0, terminating: 0, uncountedTerminatedPods: {} });
    assert.ok(startTime);
    await end(cluster, first!, 0);
    const left = await livePods(cluster, 2);
    assert.ok(left.some(({ metadata }) => metadata.uid === second?.metadata.uid));
    for (const pod of left) await end(cluster, pod, 0);
    const status = await ended(cluster);
    assert.equal(status.succeeded, 3);
    assert.equal(status.active, undefined);
    assert.ok(status.completionTime);
    assert.deepEqual(holding(status), [
      "SuccessCriteriaMet CompletionsReached Reached expected number of succeeded pods",
      "Complete CompletionsReached Reached expected number of succeeded pods",
    ]);
    for (const { metadata } of await cluster.list(Pod)) assert.equal(metadata.finalizers, undefined);
    assert.ok((await cluster.events()).includes("Normal Completed Job completed"));
  }));

test("a failed pod is replaced after ten seconds, then twenty; past the limit the Job has failed", () =>
  onCluster(async (cluster) => {
    await cluster.create(Job, job({ backoffLimit: 2 }));
    for (const wait of [10_000, 20_000]) {
      const [pod] = await livePods(cluster, 1);
      await end(cluster, pod!, 1);
      await livePods(cluster, 0);
      cluster.clock.advance(wait - 3_000);
      await livePods(cluster, 0);
      cluster.clock.advance(3_000);
    }
    const [last] = await livePods(cluster, 1);
    await end(cluster, last!, 1);
    const status = await ended(cluster);
    assert.equal(status.failed, 3);
    assert.deepEqual(holding(status), [
      "FailureTarget BackoffLimitExceeded Job has reached the specified backoff limit",
      "Failed BackoffLimitExceeded Job has reached the specified backoff limit",
    ]);
    assert.ok(
      (await cluster.events()).includes(
        "Warning BackoffLimitExceeded Job has reached the specified backoff limit",
      ),
    );
  }));

test("Indexed: names, variable and counts of pods; pods that are scaled away do not count as failed", () =>
  onCluster(async (cluster) => {
    await cluster.create(Job, job({ completions: 4, parallelism: 4, completionMode: "Indexed" }));
    await livePods(cluster, 4);
    const pod = await withIndex(cluster, 2);
    assert.match(pod.metadata.name, /^work-2-[a-z0-9]{5}$/);
    assert.equal(pod.spec.hostname, "work-2");
    assert.equal(pod.metadata.labels?.["batch.kubernetes.io/job-completion-index"], "2");
    assert.deepEqual(
      pod.spec.containers[0]?.env?.map(({ name, valueFrom }) => [name, valueFrom?.fieldRef?.fieldPath]),
      [["JOB_COMPLETION_INDEX", "metadata.labels['batch.kubernetes.io/job-completion-index']"]],
    );
    await end(cluster, pod, 0);
    await end(cluster, await withIndex(cluster, 1), 0);
    await cluster.until("counted", async () => (await statusOf(cluster)).completedIndexes === "1,2");
    await cluster.client.resource(Job).patch(ref, "merge", { spec: { parallelism: 1 } });
    await livePods(cluster, 1);
    const left = await cluster.until("the last two", async () => {
      for (const each of (await cluster.list(Pod)).filter(isLive)) await end(cluster, each, 0);
      const status = await statusOf(cluster);
      return status.completionTime !== undefined && status;
    });
    assert.deepEqual([left.completedIndexes, left.succeeded, left.failed], ["0-3", 4, undefined]);
  }));

test("each index has a limit of its own; those that fail do not keep the others from going on", () =>
  onCluster(async (cluster) => {
    await cluster.create(
      Job,
      job({ completions: 2, parallelism: 2, completionMode: "Indexed", backoffLimitPerIndex: 1 }),
    );
    await livePods(cluster, 2);
    await end(cluster, await withIndex(cluster, 0), 1);
    await livePods(cluster, 1);
    cluster.clock.advance(10_000);
    const again = await withIndex(cluster, 0);
    assert.equal(again.metadata.annotations?.["batch.kubernetes.io/job-index-failure-count"], "1");
    await end(cluster, again, 1);
    await cluster.until("given up", async () => (await statusOf(cluster)).failedIndexes === "0");
    await end(cluster, await withIndex(cluster, 1), 0);
    const status = await ended(cluster);
    assert.deepEqual([status.completedIndexes, status.failedIndexes, status.failed], ["1", "0", 2]);
    assert.ok(holding(status).includes("Failed FailedIndexes Job has failed indexes"));
  }));

test("more failed indexes than allowed end the Job, with the pods that still run", () =>
  onCluster(async (cluster) => {
    await cluster.create(
      Job,
      job({
        completions: 3,
        parallelism: 3,
        completionMode: "Indexed",
        backoffLimitPerIndex: 0,
        maxFailedIndexes: 0,
      }),
    );
    await livePods(cluster, 3);
    await end(cluster, await withIndex(cluster, 1), 1);
    const status = await ended(cluster);
    assert.ok(
      holding(status).includes(
        "Failed MaxFailedIndexesExceeded Job has exceeded the specified maximal number of failed indexes",
      ),
    );
    assert.equal((await cluster.list(Pod)).filter(isLive).length, 0);
  }));

const failurePolicy = {
  rules: [
    { action: "FailJob", onExitCodes: { containerName: "c", operator: "In", values: [42] } },
    { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] },
  ],
};

test("the pod failure policy ends the Job at one exit code, and does not count a disruption", () =>
  onCluster(async (cluster) => {
    await cluster.create(Job, job({ backoffLimit: 0, podFailurePolicy: failurePolicy }));
    const [disrupted] = await livePods(cluster, 1);
    const target = { type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" };
    await end(cluster, disrupted!, 137, { conditions: [target] });
    await cluster.settle();
    cluster.clock.advance(10_000);
    const [second] = await livePods(cluster, 1);
    assert.equal((await statusOf(cluster)).failed, undefined);
    await end(cluster, second!, 42);
    const status = await ended(cluster);
    const message = `Container c for pod d/${second?.metadata.name} failed with exit code 42 matching FailJob rule at index 0`;
    assert.deepEqual(holding(status), [
      `FailureTarget PodFailurePolicy ${message}`,
      `Failed PodFailurePolicy ${message}`,
    ]);
  }));

test("the success policy ends the Job when the leader has succeeded", () =>
  onCluster(async (cluster) => {
    const successPolicy = { rules: [{ succeededIndexes: "0" }] };
    await cluster.create(
      Job,
      job({ completions: 3, parallelism: 3, completionMode: "Indexed", successPolicy }),
    );
    await livePods(cluster, 3);
    await end(cluster, await withIndex(cluster, 0), 0);
    const status = await ended(cluster);
    assert.deepEqual(holding(status), [
      "SuccessCriteriaMet SuccessPolicy Matched rules at index 0",
      "Complete SuccessPolicy Matched rules at index 0",
    ]);
    assert.deepEqual([status.completedIndexes, status.failed], ["0", undefined]);
  }));

test("past its deadline a Job is over; while it is suspended it has no pods and time stands still", () =>
  onCluster(async (cluster) => {
    await cluster.create(Job, job({ suspend: true, activeDeadlineSeconds: 60 }));
    await cluster.until("suspended", async () =>
      holding(await statusOf(cluster)).includes("Suspended JobSuspended Job suspended"),
    );
    assert.equal((await statusOf(cluster)).startTime, undefined);
    cluster.clock.advance(120_000);
    const suspend = (value: boolean): Promise<Job> =>
      cluster.client.resource(Job).patch(ref, "merge", { spec: { suspend: value } });
    await suspend(false);
    await livePods(cluster, 1);
    cluster.clock.advance(50_000);
    await suspend(true);
    await livePods(cluster, 0);
    await cluster.until("suspended again", async () =>
      holding(await statusOf(cluster)).some((condition) => condition.startsWith("Suspended")),
    );
    assert.equal((await statusOf(cluster)).failed, undefined, "a pod that is stopped has not failed");
    await suspend(false);
    await livePods(cluster, 1);
    cluster.clock.advance(50_000);
    await livePods(cluster, 1);
    cluster.clock.advance(20_000);
    const status = await ended(cluster);
    assert.ok(
      holding(status).includes("Failed DeadlineExceeded Job was active longer than specified deadline"),
    );
    const events = await cluster.events();
    for (const event of ["Normal Suspended Job suspended", "Normal Resumed Job resumed"])
      assert.ok(events.includes(event), event);
  }));

test("with the policy Failed a pod that is deleted is replaced only when it has ended", () =>
  onCluster(async (cluster) => {
    await cluster.node("a");
    await cluster.create(Job, job({ podReplacementPolicy: "Failed" }));
    const [pod] = await livePods(cluster, 1);
    await cluster.run(pod!, "a");
    await cluster.client.resource(Pod).delete({ namespace: "d", name: pod?.metadata.name ?? "" });
    await livePods(cluster, 0);
    assert.equal((await statusOf(cluster)).terminating, 1);
    await end(cluster, pod!, 1);
    await cluster.settle();
    cluster.clock.advance(10_000);
    await livePods(cluster, 1);
    assert.equal((await statusOf(cluster)).failed, 1);
  }));

test("a Job that another controller manages is left alone", () =>
  onCluster(async (cluster) => {
    await cluster.create(Job, job({ managedBy: "example.com/queue" }));
    await cluster.settle();
    assert.deepEqual(await statusOf(cluster), {});
    assert.equal((await cluster.list(Pod)).length, 0);
  }));

test("pods whose Job is gone lose their finalizer", () =>
  onCluster(async (cluster) => {
    await cluster.create(Job, job());
    const [pod] = await livePods(cluster, 1);
    await cluster.client.resource(Job).delete(ref, { propagationPolicy: "Background" });
    await cluster.until("released", async () => {
      const now = await cluster.get(Pod, pod?.metadata.name ?? "");
      return now.metadata.finalizers === undefined;
    });
  }));

test("killed at any write, the next one goes on: no pod of an index twice, no end counted twice", () =>
  killedAtEveryWrite(startJobController, async (cluster) => {
    const made: string[] = [];
    const stop = new AbortController();
    const watch = (async () => {
      try {
        for await (const { type, object } of cluster.client
          .resource(Pod)
          .watch({ namespace: "d" }, { signal: stop.signal }))
          if (type === "ADDED") made.push(indexOf(object));
      } catch (error) {
        if (!stop.signal.aborted) throw error;
      }
    })();
    await cluster.create(
      Job,
      job({ completions: 2, parallelism: 2, completionMode: "Indexed", backoffLimit: 3 }),
    );
    await livePods(cluster, 2);
    await end(cluster, await withIndex(cluster, 0), 1);
    await cluster.until("counted", async () => (await statusOf(cluster)).failed === 1);
    cluster.clock.advance(10_000);
    await end(cluster, await withIndex(cluster, 0), 0);
    await end(cluster, await withIndex(cluster, 1), 0);
    const status = await ended(cluster);
    assert.deepEqual([status.completedIndexes, status.succeeded, status.failed], ["0,1", 2, 1]);
    stop.abort();
    await watch;
    assert.deepEqual(made.sort(), ["0", "0", "1"]);
  }));
