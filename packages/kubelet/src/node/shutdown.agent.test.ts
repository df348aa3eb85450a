import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Event, Node, Pod, ServiceAccount } from "@dray/api/core/v1";
import { eventuallyPasses } from "@dray/testing/eventually";
import type { Kubelet } from "../index.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";

const command = ["sleep", "1000"];
const ref = (name: string): { namespace: string; name: string } => ({ namespace: "default", name });
/** Takes some seconds to end, since times in statuses are whole seconds. */
const endsAfter = (seconds: number): string =>
  `trap 'sleep ${seconds}; exit 0' TERM; while true; do sleep 0.05; done`;

describe("a node that shuts down", () => {
  let cluster: TestCluster;
  let kubelet: Kubelet;
  before(async () => {
    cluster = await testCluster();
    await cluster.admin.resource(ServiceAccount).create({ metadata: ref("default") });
    kubelet = await cluster.node("n1", {
      shutdown: { gracePeriod: 20_000, gracePeriodCriticalPods: 10_000 },
    });
  });
  after(() => cluster.close());

  const runs = async (name: string, seconds: number, priorityClassName?: string): Promise<void> => {
    await cluster.admin.resource(Pod).create(
      podOn("n1", name, {
        containers: [{ name: "main", command: ["bash", "-c", endsAfter(seconds)] }],
        ...(priorityClassName !== undefined && { priorityClassName }),
      }),
    );
    await podBecomes(cluster.admin, ref(name), ({ status }) => status?.phase === "Running");
  };
  const finishedAt = ({ status }: Pod): number =>
    Date.parse(status?.containerStatuses?.[0]?.state?.terminated?.finishedAt ?? "");

  test("ends its pods by priority, says so, and admits no others", async () => {
    const manifest = {
      metadata: { name: "static" },
      spec: { containers: [{ name: "main", image: "any", command }] },
    };
    const folder = join(cluster.rootDir("n1"), "etc/kubernetes/manifests");
    writeFileSync(
      join(folder, "static.yaml"),
      JSON.stringify({ apiVersion: "v1", kind: "Pod", ...manifest }),
    );
    await runs("critical", 0.1, "system-node-critical");
    await runs("ordinary", 1.3);
    await eventuallyPasses(async () => {
      const { status } = await cluster.admin.resource(Pod).get(ref("static-n1"));
      assert.equal(status?.phase, "Running");
    });
    const done = kubelet.shutDown();
    await eventuallyPasses(async () => {
      const { status } = await cluster.admin.resource(Node).get({ name: "n1" });
      const ready = status?.conditions?.find(({ type }) => type === "Ready");
      assert.deepEqual(
        [ready?.status, ready?.reason, ready?.message],
        ["False", "KubeletNotReady", "node is shutting down"],
      );
    });
    await done;
    const pods: Pod[] = [];
    for (const name of ["ordinary", "critical"]) {
      const pod = await cluster.admin.resource(Pod).get(ref(name));
      const { phase, reason, message, conditions = [] } = pod.status ?? {};
      const text = "Pod was terminated in response to imminent node shutdown.";
      assert.deepEqual([phase, reason, message], ["Failed", "Terminated", text], name);
      const target = conditions.find(({ type }) => type === "DisruptionTarget");
      assert.deepEqual(
        [target?.status, target?.reason, target?.message],
        ["True", "TerminationByKubelet", text],
      );
      pods.push(pod);
    }
    const [ordinary = 0, critical = 0] = pods.map(finishedAt);
    assert.ok(ordinary <= critical, `${ordinary} <= ${critical}`);
    await cluster.admin
      .resource(Pod)
      .create(podOn("n1", "late", { containers: [{ name: "main", command: ["true"] }] }));
    const late = await podBecomes(cluster.admin, ref("late"), ({ status }) => status?.phase === "Failed");
    assert.equal(late.status?.reason, "NodeShutdown");
    assert.match(late.status?.message ?? "", /Pod was rejected as the node is shutting down\.$/);
    const { items } = await cluster.admin.resource(Event).list({ namespace: "default" });
    assert.ok(
      items.some(({ reason, involvedObject }) => reason === "NodeShutdown" && involvedObject.kind === "Node"),
    );
    await kubelet.stop({ leavePods: true });
  });

  test("is ready again with its next agent, which runs static pods again and no others", async () => {
    const before = await cluster.admin.resource(Pod).get(ref("static-n1"));
    assert.deepEqual([before.status?.phase, before.status?.reason], ["Failed", "Terminated"]);
    await cluster.node("n1");
    await podBecomes(cluster.admin, ref("static-n1"), ({ status }) => status?.phase === "Running");
    const ordinary = await cluster.admin.resource(Pod).get(ref("ordinary"));
    assert.equal(ordinary.status?.phase, "Failed");
    await eventuallyPasses(async () => {
      const { status } = await cluster.admin.resource(Node).get({ name: "n1" });
      assert.equal(status?.conditions?.find(({ type }) => type === "Ready")?.status, "True");
    });
  });
});
