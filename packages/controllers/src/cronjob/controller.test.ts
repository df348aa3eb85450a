import assert from "node:assert/strict";
import { test } from "node:test";
import { CronJob, Job } from "@dray/api/batch/v1";
import { Pod } from "@dray/api/core/v1";
import { timeText } from "@dray/client";
import { startCronJobController, startJobController, startJobExpiryController } from "@dray/controllers";
import { killedAtEveryWrite, type TestCluster, withCluster } from "../testing/cluster.ts";

const onCluster = (run: (cluster: TestCluster) => Promise<void>): Promise<void> =>
  withCluster(startCronJobController, run);

const minute = 60_000;
const ref = { namespace: "d", name: "tick" };
/** The minute in which the clock of a test begins, as names of Jobs count it. */
const begin = Date.parse("2026-01-01T00:00:00Z") / minute;

const podTemplate = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "one" }] } };

function cronJob(spec: object = {}): object {
  return {
    metadata: { name: "tick" },
    spec: {
      schedule: "*/5 * * * *",
      timeZone: "Etc/UTC",
      jobTemplate: { metadata: { labels: { by: "tick" } }, spec: { template: podTemplate } },
      ...spec,
    },
  };
}

/** Minutes after the beginning at which the Jobs were due that there are. */
async function started(cluster: TestCluster): Promise<number[]> {
  const jobs = await cluster.list(Job);
  return jobs
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => Number(metadata.name.replace("tick-", "")) - begin)
    .sort((a, b) => a - b);
}

async function hasStarted(cluster: TestCluster, ...minutes: number[]): Promise<void> {
  await cluster.until(`jobs of ${minutes}`, async () => String(await started(cluster)) === String(minutes));
  await cluster.settle();
  assert.deepEqual(await started(cluster), minutes);
}

/** Does what the controller of Jobs does. */
async function finish(cluster: TestCluster, at: number, type: "Complete" | "Failed"): Promise<void> {
  const name = `tick-${begin + at}`;
  const now = timeText(cluster.clock.now());
  const condition = (kind: string): object => ({
    type: kind,
    status: "True",
    lastProbeTime: now,
    lastTransitionTime: now,
  });
  const before = type === "Complete" ? "SuccessCriteriaMet" : "FailureTarget";
  const status = {
    startTime: now,
    conditions: [condition(before), condition(type)],
    ...(type === "Complete" ? { completionTime: now } : {}),
  };
  await cluster.client
    .resource(Job)
    .patch({ namespace: "d", name }, "merge", { status }, { subresource: "status" });
}

test("a Job comes at each time of the schedule, named after it, and the status follows", () =>
  onCluster(async (cluster) => {
    const owner = await cluster.create(CronJob, cronJob());
    await cluster.settle();
    cluster.clock.advance(4 * minute);
    await hasStarted(cluster);
    cluster.clock.advance(minute + 1_000);
    await hasStarted(cluster, 5);
    const [job] = await cluster.list(Job);
    assert.equal(job?.metadata.labels?.["by"], "tick");
    assert.equal(
      job?.metadata.annotations?.["batch.kubernetes.io/cronjob-scheduled-timestamp"],
      "2026-01-01T00:05:00Z",
    );
    assert.equal(job?.metadata.ownerReferences?.[0]?.uid, owner.metadata.uid);
    const { status } = await cluster.until("status", async () => {
      const now = await cluster.get(CronJob, "tick");
      return now.status?.active !== undefined && now;
    });
    assert.equal(status?.lastScheduleTime, "2026-01-01T00:05:00Z");
    assert.deepEqual(
      status?.active?.map(({ kind, name, uid }) => [kind, name, uid]),
      [["Job", `tick-${begin + 5}`, job?.metadata.uid]],
    );
    await finish(cluster, 5, "Complete");
    await cluster.until("done", async () => {
      const now = (await cluster.get(CronJob, "tick")).status;
      return now?.active === undefined && now?.lastSuccessfulTime !== undefined;
    });
    const events = await cluster.events();
    for (const event of [
      `Normal SuccessfulCreate Created job tick-${begin + 5}`,
      `Normal SawCompletedJob Saw completed job: tick-${begin + 5}, condition: Complete`,
    ])
      assert.ok(events.includes(event), events.join("\n"));
  }));

test("Forbid lets the time pass while a Job runs, Replace ends that, Allow starts another", () =>
  onCluster(async (cluster) => {
    await cluster.create(CronJob, cronJob({ concurrencyPolicy: "Forbid" }));
    await cluster.settle();
    cluster.clock.advance(5 * minute + 1_000);
    await hasStarted(cluster, 5);
    cluster.clock.advance(5 * minute);
    await hasStarted(cluster, 5);
    assert.ok(
      (await cluster.events()).includes(
        "Normal JobAlreadyActive Not starting job because prior execution is running and concurrency policy is Forbid",
      ),
    );
    const policy = (concurrencyPolicy: string): Promise<CronJob> =>
      cluster.client.resource(CronJob).patch(ref, "merge", { spec: { concurrencyPolicy } });
    // Within the time of the one that was let pass.
    await policy("Replace");
    await hasStarted(cluster, 10);
    await policy("Allow");
    cluster.clock.advance(5 * minute);
    await hasStarted(cluster, 10, 15);
  }));

test("a time that was missed is made up for within the deadline, not after it, and not while suspended", () =>
  onCluster(async (cluster) => {
    await cluster.create(CronJob, cronJob({ startingDeadlineSeconds: 120, suspend: true }));
    const suspend = (value: boolean): Promise<CronJob> =>
      cluster.client.resource(CronJob).patch(ref, "merge", { spec: { suspend: value } });
    cluster.clock.advance(8 * minute);
    await suspend(false);
    await hasStarted(cluster);
    await suspend(true);
    await cluster.settle();
    cluster.clock.advance(3 * minute);
    await hasStarted(cluster);
    await suspend(false);
    await hasStarted(cluster, 10);
  }));

test("the history limits keep successful and failed Jobs", () =>
  onCluster(async (cluster) => {
    const limits = { successfulJobsHistoryLimit: 1, failedJobsHistoryLimit: 0 };
    await cluster.create(CronJob, cronJob(limits));
    await cluster.settle();
    for (const [at, type] of [
      [5, "Complete"],
      [10, "Failed"],
      [15, "Complete"],
    ] as const) {
      cluster.clock.advance(5 * minute + 1_000);
      await cluster.until(`job ${at}`, async () => (await started(cluster)).includes(at));
      await finish(cluster, at, type);
      await cluster.settle();
    }
    await hasStarted(cluster, 15);
  }));

test("a changed schedule starts no Jobs for past times; an event reports a schedule without times", () =>
  onCluster(async (cluster) => {
    await cluster.create(CronJob, cronJob({ schedule: "0 3 * * *" }));
    await cluster.settle();
    cluster.clock.advance(30 * minute);
    const change = (schedule: string): Promise<CronJob> =>
      cluster.client.resource(CronJob).patch(ref, "merge", { spec: { schedule } });
    await change("20 * * * *");
    await hasStarted(cluster);
    await change("59 23 31 2 *");
    await cluster.settle();
    await cluster.client.resource(CronJob).patch(ref, "merge", { spec: { startingDeadlineSeconds: 100 } });
    await cluster.until("an event", async () =>
      (await cluster.events()).includes(
        "Warning InvalidSchedule invalid schedule: 59 23 31 2 * : time difference between two schedules is less than 1 second",
      ),
    );
  }));

test("killed at any write, the next one goes on: no Job twice", () =>
  killedAtEveryWrite(startCronJobController, async (cluster) => {
    await cluster.create(CronJob, cronJob({ successfulJobsHistoryLimit: 0 }));
    await cluster.settle();
    cluster.clock.advance(5 * minute + 1_000);
    await cluster.until("active", async () => {
      const { status } = await cluster.get(CronJob, "tick");
      return status?.active?.length === 1 && status.lastScheduleTime === "2026-01-01T00:05:00Z";
    });
    await finish(cluster, 5, "Complete");
    await cluster.until("forgotten", async () => {
      const { status } = await cluster.get(CronJob, "tick");
      return status?.active === undefined && (await cluster.list(Job)).length === 0;
    });
  }));

test("a finished Job and its pods are deleted after its time to live", () =>
  withCluster(
    (context) => Promise.all([startJobController(context), startJobExpiryController(context)]),
    async (cluster) => {
      await cluster.create(Job, {
        metadata: { name: "once" },
        spec: { ttlSecondsAfterFinished: 60, template: podTemplate },
      });
      const pod = await cluster.until("its pod", async () => (await cluster.list(Pod))[0]);
      await cluster.setStatus(pod, { phase: "Succeeded" });
      await cluster.until(
        "the end",
        async () => (await cluster.get(Job, "once")).status?.completionTime !== undefined,
      );
      cluster.clock.advance(50_000);
      await cluster.settle();
      assert.equal((await cluster.get(Job, "once")).metadata.deletionTimestamp, undefined);
      cluster.clock.advance(10_000);
      await cluster.until("deleted in the foreground", async () => {
        const { metadata } = await cluster.get(Job, "once");
        return metadata.finalizers?.includes("foregroundDeletion") && metadata.deletionTimestamp;
      });
    },
  ));
