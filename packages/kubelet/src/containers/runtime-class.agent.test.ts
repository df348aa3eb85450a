import assert from "node:assert/strict";
import { test } from "node:test";
import { Event, Pod, ServiceAccount } from "@dray/api/core/v1";
import { RuntimeClass } from "@dray/api/node/v1";
import { eventuallyPasses } from "@dray/testing/eventually";
import { podOn, testCluster } from "../testing/cluster.ts";

test("a pod whose RuntimeClass the runtime lacks does not start; an event has the reason", async () => {
  const cluster = await testCluster();
  try {
    const { admin } = cluster;
    await admin.resource(ServiceAccount).create({ metadata: { namespace: "default", name: "default" } });
    await admin.resource(RuntimeClass).create({ metadata: { name: "sandboxed" }, handler: "kata" });
    await cluster.node("n1");
    const containers = [{ name: "main", command: ["sleep", "1000"] }];
    await admin.resource(Pod).create(podOn("n1", "isolated", { runtimeClassName: "sandboxed", containers }));
    const said = await eventuallyPasses(async () => {
      const { items } = await admin.resource(Event).list({ namespace: "default" });
      const event = items.find(({ reason }) => reason === "FailedCreatePodSandBox");
      assert.ok(event, "no event yet");
      return event.message;
    });
    assert.equal(said, 'Failed to create pod sandbox: no runtime for "kata" is configured; expected ""');
    const pod = await admin.resource(Pod).get({ namespace: "default", name: "isolated" });
    assert.equal(pod.status?.containerStatuses?.[0]?.state?.running, undefined);
  } finally {
    await cluster.close();
  }
});
