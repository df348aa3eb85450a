import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Event, type LifecycleHandler, Pod, ServiceAccount } from "@dray/api/core/v1";
import { fastClock } from "@dray/testing/clock";
import { eventuallyPasses } from "@dray/testing/eventually";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";

describe("hooks after the start of a container", () => {
  let cluster: TestCluster;
  const folder = mkdtempSync("/tmp/dk-hooks-");
  before(async () => {
    cluster = await testCluster();
    const account = { metadata: { namespace: "default", name: "default" } };
    await cluster.admin.resource(ServiceAccount).create(account);
    // A minute is one second.
    await cluster.node("n1", { clock: fastClock(60) });
  });
  after(async () => {
    await cluster.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const run = (name: string, postStart: LifecycleHandler): Promise<Pod> =>
    cluster.admin.resource(Pod).create(
      podOn("n1", name, {
        terminationGracePeriodSeconds: 30,
        volumes: [{ name: "told", hostPath: { path: folder, type: "Directory" } }],
        containers: [
          {
            name: "main",
            command: ["sleep", "1000"],
            lifecycle: { postStart },
            volumeMounts: [{ name: "told", mountPath: folder }],
          },
        ],
      }),
    );
  const ref = (name: string) => ({ namespace: "default", name });

  test("may take longer than any limit", async () => {
    const file = join(folder, "done");
    await run("long", { exec: { command: ["bash", "-c", 'sleep 2; touch "$0"', file] } });
    await eventuallyPasses(async () => assert.ok(existsSync(file)));
    const { status } = await podBecomes(cluster.admin, ref("long"), (pod) => pod.status?.phase === "Running");
    assert.equal(status?.containerStatuses?.[0]?.restartCount, 0);
    const { items } = await cluster.admin.resource(Event).list({ namespace: "default" });
    assert.ok(!items.some(({ reason }) => reason === "FailedPostStartHook"));
  });

  test("hold up no deletion of the pod", async () => {
    const file = join(folder, "begun");
    await run("stuck", { exec: { command: ["bash", "-c", 'touch "$0"; sleep 1000', file] } });
    await eventuallyPasses(async () => assert.ok(existsSync(file)));
    await cluster.admin.resource(Pod).delete(ref("stuck"));
    await eventuallyPasses(async () => {
      await assert.rejects(cluster.admin.resource(Pod).get(ref("stuck")), { code: 404 });
    });
  });

  test("that fail end their container, and say why", async () => {
    await run("failing", { exec: { command: ["bash", "-c", "echo no; exit 3"] } });
    await eventuallyPasses(async () => {
      const { items } = await cluster.admin.resource(Event).list({ namespace: "default" });
      const event = items.find(({ reason }) => reason === "FailedPostStartHook");
      assert.match(
        event?.message ?? "",
        /^PostStartHook failed: Exec lifecycle hook \(\[bash -c echo no; exit 3\]\) for Container "main" in Pod "failing_default\(.*exited with 3: no\n/,
      );
    });
    await podBecomes(
      cluster.admin,
      ref("failing"),
      ({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) > 0,
    );
    await cluster.admin.resource(Pod).delete(ref("failing"));
  });
});
