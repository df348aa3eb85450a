import assert from "node:assert/strict";
import { test } from "node:test";
import { Event, Pod } from "@dray/api/core/v1";
import { DeviceTaintRule, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { DeviceTaintRule as AlphaDeviceTaintRule } from "@dray/api/resource/v1alpha3";
import { DeviceTaintRule as BetaDeviceTaintRule } from "@dray/api/resource/v1beta2";
import { PodGroup } from "@dray/api/scheduling/v1beta1";
import { timeText } from "@dray/client";
import type { TestCluster } from "../testing/cluster.ts";
import { afterEachCrash } from "../testing/crashes.ts";
import {
  condition,
  conditionIs,
  driver,
  evicts,
  isLeaving,
  onCluster,
  rule,
  slice,
  start,
  userOf,
} from "./testing.ts";

test("a taint in a slice deletes the pods that use the device, with condition, event and metric", () =>
  onCluster(async (cluster) => {
    const published = await slice(cluster, "s");
    await userOf(cluster, "hit", "gpu-0");
    await userOf(cluster, "spared", "gpu-1");
    await cluster.settle();
    assert.equal(await isLeaving(cluster, "hit"), false);

    const [first, second] = published.spec.devices ?? [];
    await cluster.client
      .resource(ResourceSlice)
      .patch({ name: "s" }, "merge", { spec: { devices: [{ ...first, taints: [evicts] }, second] } });
    await cluster.until("deleted", () => isLeaving(cluster, "hit"));
    const { status } = await cluster.get(Pod, "hit");
    const mark = status?.conditions?.find(({ type }) => type === "DisruptionTarget");
    assert.deepEqual(
      [mark?.status, mark?.reason, mark?.message],
      ["True", "DeletionByDeviceTaintManager", "Device Taint manager: deleting due to NoExecute taint"],
    );
    const [event] = await cluster.until("event", async () => {
      const events = await cluster.list(Event);
      return events.length > 0 && events;
    });
    assert.deepEqual(
      [event?.type, event?.reason, event?.message, event?.source?.component, event?.involvedObject.name],
      [
        "Normal",
        "DeviceTaintManagerEviction",
        "Marking for deletion",
        "device-taint-eviction-controller",
        "hit",
      ],
    );
    await cluster.settle();
    assert.equal(await isLeaving(cluster, "spared"), false);
    assert.match(cluster.context.metrics.text(), /^device_taint_eviction_controller_pod_deletions_total 1$/m);
  }));

test("only the newest generation of a pool counts", () =>
  onCluster(async (cluster) => {
    await slice(cluster, "new", { generation: 2 });
    await slice(cluster, "old", { generation: 1, taints: [evicts] });
    await userOf(cluster, "p", "gpu-0");
    await cluster.settle();
    assert.equal(await isLeaving(cluster, "p"), false);
    await cluster.client.resource(ResourceSlice).delete({ name: "new" });
    await cluster.until("deleted", () => isLeaving(cluster, "p"));
  }));

test("a rule reports pending, then evicted pods", () =>
  onCluster(async (cluster) => {
    await userOf(cluster, "p", "gpu-0");
    await rule(cluster, "r", { deviceSelector: { driver, device: "gpu-0" }, taint: evicts });
    await conditionIs(cluster, "r", [
      "True",
      "PodsPendingEviction",
      "1 pod needs to be evicted in 1 namespace.",
    ]);
    await cluster.until("deleted", () => isLeaving(cluster, "p"));
    const { status, metadata } = await cluster.get(DeviceTaintRule, "r");
    assert.equal(status?.conditions?.[0]?.observedGeneration, 1);
    const entry = metadata.managedFields?.find(({ subresource }) => subresource === "status");
    assert.deepEqual([entry?.manager, entry?.operation], ["device-taint-eviction-controller", "Apply"]);
    cluster.clock.advance(10_000);
    await conditionIs(cluster, "r", ["False", "Completed", "1 pod evicted since starting the controller."]);
  }));

test("rules: no selector selects nothing, an empty one everything; NoSchedule is only reported", () =>
  onCluster(async (cluster) => {
    await userOf(cluster, "p", "gpu-0");
    await rule(cluster, "nothing", { taint: evicts });
    await rule(cluster, "elsewhere", { deviceSelector: { pool: "other" }, taint: evicts });
    await rule(cluster, "no-schedule", { deviceSelector: {}, taint: { key: "k", effect: "NoSchedule" } });
    for (const name of ["nothing", "elsewhere"])
      await conditionIs(cluster, name, ["False", "NotStarted", ""]);
    const other = "Eviction only happens for the NoExecute effect.";
    await conditionIs(cluster, "no-schedule", ["False", "OtherEffect", other]);
    assert.equal(await isLeaving(cluster, "p"), false);
    await rule(cluster, "everything", { deviceSelector: {}, taint: evicts });
    await cluster.until("deleted", () => isLeaving(cluster, "p"));
  }));

test("a rule without effect reports what it would evict, and a change of its effect evicts", () =>
  onCluster(async (cluster) => {
    await slice(cluster, "s");
    await userOf(cluster, "p", "gpu-0");
    await userOf(cluster, "q", "gpu-1", [{ key: "broken", operator: "Exists", effect: "NoExecute" }]);
    const deviceSelector = { pool: "n" };
    await rule(cluster, "r", { deviceSelector, taint: { ...evicts, effect: "None" } });
    await conditionIs(cluster, "r", [
      "False",
      "NoEffect",
      "2 published devices selected. 2 allocated devices selected. 1 pod would be evicted in 1 namespace if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.",
    ]);
    await cluster.settle();
    assert.equal(await isLeaving(cluster, "p"), false);
    await cluster.client
      .resource(DeviceTaintRule)
      .patch({ name: "r" }, "merge", { spec: { taint: { effect: "NoExecute" } } });
    await cluster.until("deleted", () => isLeaving(cluster, "p"));
    assert.equal(await isLeaving(cluster, "q"), false);
  }));

test("the shortest toleration counts from when the taint was added; a rule that goes cancels", () =>
  onCluster(async (cluster) => {
    const tolerate = (tolerationSeconds?: number, more: object = {}): object => ({
      key: "broken",
      operator: "Exists",
      effect: "NoExecute",
      ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
      ...more,
    });
    await userOf(cluster, "short", "gpu-0", [tolerate(300), tolerate(60)]);
    await userOf(cluster, "long", "gpu-0", [tolerate(300)]);
    await userOf(cluster, "forever", "gpu-0", [tolerate(1), tolerate()]);
    await userOf(cluster, "other-key", "gpu-0", [tolerate(undefined, { key: "other" })]);
    const timeAdded = timeText(cluster.clock.now() - 30_000);
    await rule(cluster, "r", { deviceSelector: {}, taint: { ...evicts, timeAdded } });
    await cluster.until("deleted at once", () => isLeaving(cluster, "other-key"));
    await cluster.settle();
    assert.equal(await isLeaving(cluster, "short"), false);
    cluster.clock.advance(30_000);
    await cluster.until("deleted after its time", () => isLeaving(cluster, "short"));
    assert.equal(await isLeaving(cluster, "long"), false);

    await cluster.client.resource(DeviceTaintRule).delete({ name: "r" });
    await cluster.until("cancelled", async () =>
      (await cluster.events()).includes("Normal DeviceTaintManagerEviction Cancelling deletion"),
    );
    // Past the 300 seconds, in steps in which requests can be answered.
    for (let passed = 0; passed < 300; passed += 20) {
      cluster.clock.advance(20_000);
      await cluster.settle();
    }
    for (const name of ["long", "forever"]) assert.equal(await isLeaving(cluster, name), false, name);
  }));

test("a toleration without effect tolerates NoExecute, for its time", () =>
  onCluster(async (cluster) => {
    const anyEffect = { key: "broken", operator: "Exists" };
    await userOf(cluster, "forever", "gpu-0", [anyEffect]);
    await userOf(cluster, "empty", "gpu-0", [{ ...anyEffect, effect: "" }]);
    await userOf(cluster, "minute", "gpu-0", [{ ...anyEffect, tolerationSeconds: 60 }]);
    await userOf(cluster, "other-effect", "gpu-0", [{ ...anyEffect, effect: "NoSchedule" }]);
    const timeAdded = timeText(cluster.clock.now() - 30_000);
    await rule(cluster, "r", { deviceSelector: {}, taint: { ...evicts, timeAdded } });
    await cluster.until("deleted at once", () => isLeaving(cluster, "other-effect"));
    await cluster.settle();
    assert.equal(await isLeaving(cluster, "minute"), false);
    cluster.clock.advance(30_000);
    await cluster.until("deleted after its time", () => isLeaving(cluster, "minute"));
    for (const name of ["forever", "empty"]) assert.equal(await isLeaving(cluster, name), false, name);
  }));

test("pods that are not bound, not in reservedFor, or finished, stay", () =>
  onCluster(async (cluster) => {
    await userOf(cluster, "done", "gpu-0");
    await cluster.setStatus(await cluster.get(Pod, "done"), { phase: "Succeeded" });
    await userOf(cluster, "other", "gpu-0");
    await cluster.client
      .resource(ResourceClaim)
      .patch(
        { namespace: "d", name: "other" },
        "merge",
        { status: { reservedFor: [] } },
        { subresource: "status" },
      );
    await userOf(cluster, "witness", "gpu-0");
    await rule(cluster, "r", { deviceSelector: {}, taint: evicts });
    await cluster.until("deleted", () => isLeaving(cluster, "witness"));
    await cluster.settle();
    for (const name of ["done", "other"]) assert.equal(await isLeaving(cluster, name), false, name);
  }));

test("the pods of a group that holds the claim are evicted, others of the claim's name are not", () =>
  onCluster(
    async (cluster) => {
      await userOf(cluster, "alone", "gpu-1");
      const { metadata } = await cluster.create(PodGroup, {
        metadata: { name: "g" },
        spec: { schedulingPolicy: { basic: {} } },
      });
      const member = (name: string, podGroupName: string): Promise<Pod> =>
        cluster.create(Pod, {
          metadata: { name },
          spec: {
            nodeName: "n",
            containers: [{ name: "c", image: "i" }],
            resourceClaims: [{ name: "gpu", resourceClaimName: "alone" }],
            schedulingGroup: { podGroupName },
          },
        });
      for (const name of ["p", "q"]) await member(name, "g");
      await member("stranger", "h");
      const group = { apiGroup: "scheduling.k8s.io", resource: "podgroups", name: "g", uid: metadata.uid };
      await cluster.client
        .resource(ResourceClaim)
        .patch(
          { namespace: "d", name: "alone" },
          "merge",
          { status: { reservedFor: [group] } },
          { subresource: "status" },
        );
      await rule(cluster, "r", { deviceSelector: {}, taint: evicts });
      for (const name of ["p", "q"]) await cluster.until(`${name} deleted`, () => isLeaving(cluster, name));
      await cluster.settle();
      for (const name of ["alone", "stranger"]) assert.equal(await isLeaving(cluster, name), false, name);
    },
    {
      featureGates: { GenericWorkload: true, DRAWorkloadResourceClaims: true },
      runtimeConfig: { "scheduling.k8s.io/v1beta1": true },
    },
  ));

test("1.36 has rules in v1beta2, behind a gate that is off", async () => {
  const runtimeConfig = { "resource.k8s.io/v1beta2": true };
  const evicted = async (cluster: TestCluster): Promise<boolean> => {
    await userOf(cluster, "p", "gpu-0");
    await cluster.create(BetaDeviceTaintRule, {
      metadata: { name: "r" },
      spec: { deviceSelector: {}, taint: evicts },
    });
    await cluster.settle();
    return isLeaving(cluster, "p");
  };
  await onCluster(async (cluster) => assert.equal(await evicted(cluster), false), {
    kubernetesVersion: "1.36",
    runtimeConfig,
  });
  await onCluster(
    async (cluster) => {
      await evicted(cluster);
      await cluster.until("deleted", () => isLeaving(cluster, "p"));
      const { status } = await cluster.get(BetaDeviceTaintRule, "r");
      assert.equal(status?.conditions?.[0]?.reason, "PodsPendingEviction");
    },
    { kubernetesVersion: "1.36", runtimeConfig, featureGates: { DRADeviceTaintRules: true } },
  );
});

test("in 1.34 rules evict by driver, pool and device; one with a class has no effect, and a warning is logged", () =>
  onCluster(
    async (cluster) => {
      await userOf(cluster, "p", "gpu-0");
      const rule = (name: string, deviceSelector: object): Promise<unknown> =>
        cluster.create(AlphaDeviceTaintRule, { metadata: { name }, spec: { deviceSelector, taint: evicts } });
      await rule("by-class", { deviceClassName: "gpu" });
      await cluster.until("the warning", async () => cluster.problems.length > 0);
      assert.match(cluster.problems.join(), /deviceClassName or selectors has no effect.*by-class/);
      cluster.problems.length = 0;
      await cluster.settle();
      assert.equal(await isLeaving(cluster, "p"), false);
      await rule("by-device", { device: "gpu-0" });
      await cluster.until("deleted", () => isLeaving(cluster, "p"));
    },
    {
      kubernetesVersion: "1.34",
      featureGates: { DRADeviceTaints: true },
      runtimeConfig: { "resource.k8s.io/v1alpha3": true },
    },
  ));

test("a gate without its API is a warning, and taints in slices still evict", () =>
  onCluster(
    async (cluster) => {
      assert.match(cluster.problems.join(), /DeviceTaintRules are ignored.*--runtime-config/);
      cluster.problems.length = 0;
      await slice(cluster, "s", { taints: [evicts] });
      await userOf(cluster, "p", "gpu-0");
      await cluster.until("deleted", () => isLeaving(cluster, "p"));
    },
    { kubernetesVersion: "1.36", featureGates: { DRADeviceTaintRules: true } },
  ));

test("killed before any of its writes it goes on, and marks and deletes once", () =>
  afterEachCrash(start, {
    async before(cluster) {
      await userOf(cluster, "p", "gpu-0");
      await rule(cluster, "r", { deviceSelector: {}, taint: evicts });
    },
    done: (cluster) => isLeaving(cluster, "p"),
    async after(cluster) {
      await cluster.until("status", async () => (await condition(cluster, "r")) !== undefined);
      const { status } = await cluster.get(Pod, "p");
      assert.equal(status?.conditions?.filter(({ type }) => type === "DisruptionTarget").length, 1);
    },
  }));
