import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Event, Pod } from "@dray/api/core/v1";
import { unixChannel } from "@dray/rpc";
import { HealthStatus } from "@dray/rpc/drahealth/v1";
import { PodResourcesListerDefinition } from "@dray/rpc/podresources/v1";
import { eventuallyPasses } from "@dray/testing/eventually";
import { podBecomes } from "../testing/cluster.ts";
import { allocated, podWithClaims } from "../testing/dra.ts";
import {
  becomes,
  checkpoint,
  events,
  name,
  podWithClaim,
  running,
  startDraAgent,
  suite,
} from "../testing/dra-agent.ts";
import { testDriver } from "../testing/driver.ts";

startDraAgent();

test("a pod waits for its driver with an event, and starts when the driver comes", async () => {
  await podWithClaim(
    "p1",
    "c1",
    'echo "GPU=$GPU" >/dev/termination-log; trap "exit 0" TERM; sleep 1000 & wait',
  );
  await eventuallyPasses(async () =>
    assert.ok(
      (await events("p1")).some((event) =>
        /FailedPrepareDynamicResources: .*DRA driver gpu.example.com is not registered/.test(event),
      ),
    ),
  );
  const { status } = await becomes("p1", () => true);
  assert.equal(status?.containerStatuses?.[0]?.state?.waiting?.reason, "ContainerCreating");
  suite.driver = await testDriver(suite.root(), name);
  await becomes("p1", running);
  assert.deepEqual(suite.driver.registered, [{ pluginRegistered: true, error: "" }]);
  assert.deepEqual(suite.driver.calls, ["prepare c1"]);
  assert.deepEqual(
    checkpoint().ClaimInfoStateList.map((claim) => claim.ClaimName),
    ["c1"],
  );
});

test("deletion stops the container, then unprepares, then ends the pod", async () => {
  suite.driver.unprepareError = "device is busy";
  await suite.cluster.admin.resource(Pod).delete({ namespace: "default", name: "p1" });
  await eventuallyPasses(async () => assert.ok(suite.driver.calls.includes("unprepare c1")));
  const pod = await becomes("p1", (p) => p.metadata.deletionTimestamp !== undefined);
  assert.notEqual(pod.status?.phase, "Succeeded", "no terminal status before the claim is unprepared");
  suite.driver.unprepareError = "";
  await eventuallyPasses(async () =>
    assert.deepEqual((await suite.cluster.admin.resource(Pod).list({ namespace: "default" })).items, []),
  );
  assert.deepEqual(checkpoint().ClaimInfoStateList, []);
});

test("a shared claim is prepared once and unprepared with its last pod", async () => {
  suite.driver.calls.length = 0;
  const script = 'trap "exit 0" TERM; sleep 1000 & wait';
  await podWithClaim("p2", "c2", script);
  await becomes("p2", running);
  await podWithClaim("p3", "c2", script);
  await becomes("p3", running);
  assert.deepEqual(suite.driver.calls, ["prepare c2"]);
  await suite.cluster.admin.resource(Pod).delete({ namespace: "default", name: "p2" });
  await eventuallyPasses(async () =>
    assert.equal((await suite.cluster.admin.resource(Pod).list()).items.length, 1),
  );
  assert.deepEqual(suite.driver.calls, ["prepare c2"]);
  await suite.cluster.admin
    .resource(Pod)
    .delete({ namespace: "default", name: "p3" }, { gracePeriodSeconds: 0 });
  await eventuallyPasses(async () => assert.deepEqual(suite.driver.calls, ["prepare c2", "unprepare c2"]));
});

test("an agent that comes back adopts its containers and unprepares their claims", async () => {
  suite.driver.calls.length = 0;
  await podWithClaim("p4", "c4", 'trap "exit 0" TERM; sleep 1000 & wait');
  const before = await becomes("p4", running);
  await suite.node.stop({ leavePods: true });
  suite.node = await suite.cluster.node("n1");
  const now = await becomes("p4", running);
  assert.equal(
    now.status?.containerStatuses?.[0]?.containerID,
    before.status?.containerStatuses?.[0]?.containerID,
  );
  assert.deepEqual(suite.driver.calls, ["prepare c4"], "a running sandbox needs no second prepare");
  await suite.node.stop({ leavePods: true });
  await suite.cluster.admin
    .resource(Pod)
    .delete({ namespace: "default", name: "p4" }, { gracePeriodSeconds: 0 });
  suite.node = await suite.cluster.node("n1");
  await eventuallyPasses(async () => assert.deepEqual(suite.driver.calls, ["prepare c4", "unprepare c4"]));
});

test("the node says once which driver is waited for by claims of a pod that went while no agent looked", async () => {
  const { metadata } = await podWithClaim("p60", "c60", "sleep 1000");
  await becomes("p60", running);
  await suite.node.stop({ leavePods: true });
  await suite.cluster.admin
    .resource(Pod)
    .delete({ namespace: "default", name: "p60" }, { gracePeriodSeconds: 0 });
  suite.driver.unprepareError = "device is busy";
  const before = suite.driver.calls.length;
  suite.node = await suite.cluster.node("n1");
  const eventCounts = async (): Promise<(number | undefined)[]> =>
    (await suite.cluster.admin.resource(Event).list({ namespace: "default" })).items
      .filter(({ reason, message }) => reason?.startsWith("FailedUnp") && message?.includes(metadata.uid))
      .map(({ involvedObject, message, count }) => {
        assert.equal(involvedObject.kind, "Node");
        const wanted = `Claims of pod ${metadata.uid}, which is gone, are still prepared: waiting for DRA driver ${name}: `;
        assert.ok(message?.startsWith(wanted), message);
        return count;
      });
  await eventuallyPasses(async () => assert.deepEqual(await eventCounts(), [1]));
  assert.ok(suite.driver.calls.length > before);
  suite.driver.unprepareError = "";
  // A new instance is asked at once.
  const busy = await testDriver(suite.root(), name, { suffix: "-busy" });
  busy.unprepareError = "still busy";
  await eventuallyPasses(async () => assert.deepEqual(busy.calls, ["unprepare c60"]));
  await eventuallyPasses(async () => assert.deepEqual(await eventCounts(), [1]));
  const free = await testDriver(suite.root(), name, { suffix: "-free" });
  await eventuallyPasses(async () => assert.deepEqual(free.calls, ["unprepare c60"]));
  await eventuallyPasses(async () => assert.deepEqual(checkpoint().ClaimInfoStateList, []));
  assert.deepEqual(await eventCounts(), [1]);
  await Promise.all([busy.close(), free.close()]);
});

test("the health of a pod's devices is in its status, and stays after its end", async () => {
  const otherName = "health.example.com";
  const other = await testDriver(suite.root(), otherName, { health: ["v1"] });
  await eventuallyPasses(async () => assert.equal(other.registered.length, 1));
  const created = await podWithClaims(suite.cluster.admin, { node: "n1", name: "p51" }, [
    { podClaim: "gpu", name: "c51", results: [allocated(otherName)] },
  ]);
  const health = ({ status }: Pod): string => {
    const [first] = status?.containerStatuses?.[0]?.allocatedResourcesStatus ?? [];
    const { health = "", message = "" } = first?.resources?.[0] ?? {};
    return `${first?.name} ${health} ${message}`;
  };
  other.report([{ health: HealthStatus.HEALTHY }]);
  await becomes("p51", (pod) => running(pod) && health(pod) === "claim:gpu Healthy ");
  other.report([{ health: HealthStatus.UNHEALTHY, message: "too hot" }]);
  await becomes("p51", (pod) => health(pod) === "claim:gpu Unhealthy too hot");
  other.report([{ health: HealthStatus.HEALTHY }]);
  await becomes("p51", (pod) => health(pod) === "claim:gpu Healthy ");
  other.report([{ health: HealthStatus.UNHEALTHY, message: "dead" }]);
  await becomes("p51", (pod) => health(pod) === "claim:gpu Unhealthy dead");
  const resources = unixChannel(join(suite.root(), "var/lib/kubelet/pod-resources/kubelet.sock"));
  const { get } = resources.caller(PodResourcesListerDefinition);
  const { podResources } = await get({ podName: "p51", podNamespace: "default" });
  assert.deepEqual(
    podResources?.containers[0]?.dynamicResources.map(({ claimName, claimResources }) => [
      claimName,
      claimResources[0]?.driverName,
    ]),
    [["c51", otherName]],
  );
  await suite.cluster.admin
    .resource(Pod)
    .patch({ namespace: "default", name: "p51" }, "merge", { spec: { activeDeadlineSeconds: 1 } });
  const ended = await becomes("p51", ({ status }) => status?.phase === "Failed");
  assert.equal(health(ended), "claim:gpu Unhealthy dead");
  assert.deepEqual(other.calls, ["prepare c51", "unprepare c51"]);
  await assert.rejects(
    get({ podName: "p51", podNamespace: "default" }),
    /pod p51 in namespace default not found/,
  );
  resources.close();
  await suite.cluster.admin
    .resource(Pod)
    .delete(
      { namespace: "default", name: "p51" },
      { gracePeriodSeconds: 0, preconditions: { uid: created.metadata.uid } },
    );
  await eventuallyPasses(async () => assert.deepEqual(checkpoint().ClaimInfoStateList, []));
  await other.close();
});

test("rolling update: the newest instance is called, and the older again when that goes", async () => {
  const newer = await testDriver(suite.root(), name, { suffix: "-2" });
  await eventuallyPasses(async () => assert.equal(newer.registered.length, 1));
  suite.driver.calls.length = 0;
  await podWithClaim("p11", "c11", "sleep 1000");
  await becomes("p11", running);
  assert.deepEqual([suite.driver.calls, newer.calls], [[], ["prepare c11"]]);
  await newer.close();
  await suite.cluster.admin
    .resource(Pod)
    .delete({ namespace: "default", name: "p11" }, { gracePeriodSeconds: 0 });
  await eventuallyPasses(async () => assert.deepEqual(suite.driver.calls, ["unprepare c11"]));
});

test("a container whose devices are not known does not start", async () => {
  suite.driver.calls.length = 0;
  await podWithClaim("p30", "c30", "sleep 1000");
  const before = await becomes("p30", running);
  await suite.node.stop({ leavePods: true });
  // The checkpoint was removed while the agent was away.
  rmSync(join(suite.root(), "var/lib/kubelet/dra_manager_state"));
  suite.node = await suite.cluster.node("n1");
  const id = before.status?.containerStatuses?.[0]?.containerID?.replace("host://", "") ?? "";
  const start = readFileSync(join(suite.root(), "var/lib/dray/containers", id, "start"), "utf8");
  process.kill(Number(/^started (\d+)/.exec(start)?.[1]), "SIGKILL");
  const { status } = await podBecomes(
    suite.cluster.admin,
    { namespace: "default", name: "p30" },
    (pod) => pod.status?.containerStatuses?.[0]?.state?.waiting?.reason === "CreateContainerConfigError",
  );
  assert.equal(
    status?.containerStatuses?.[0]?.state?.waiting?.message,
    "unable to get information for ResourceClaim c30",
  );
  await suite.cluster.admin
    .resource(Pod)
    .delete({ namespace: "default", name: "p30" }, { gracePeriodSeconds: 0 });
  await eventuallyPasses(async () =>
    assert.ok(
      !(await suite.cluster.admin.resource(Pod).list()).items.some((pod) => pod.metadata.name === "p30"),
    ),
  );
});

test("CDI edits that the runtime does not make are named in an event, once", async () => {
  suite.driver.edits = {
    hooks: [{ hookName: "createContainer", path: "/bin/true" }],
  };
  await podWithClaim("p40", "c40", "sleep 1000", { device: "gpu-40" });
  await becomes("p40", running);
  suite.driver.edits = {};
  const left = async () => (await events("p40")).filter((event) => event.startsWith("UnsupportedByRuntime"));
  await eventuallyPasses(async () =>
    assert.deepEqual(await left(), [
      'UnsupportedByRuntime: Container main runs without hooks of CDI devices: the runtime "host" does not support that',
    ]),
  );
  await suite.cluster.admin
    .resource(Pod)
    .delete({ namespace: "default", name: "p40" }, { gracePeriodSeconds: 0 });
  await eventuallyPasses(async () => assert.ok(suite.driver.calls.includes("unprepare c40")));
});

test("stop without leaving pods ends processes, claims and leaves no mount", async () => {
  suite.driver.calls.length = 0;
  await podWithClaim("p5", "c5", "exec sleep 98765");
  await becomes("p5", running);
  await suite.node.stop({ leavePods: false });
  assert.deepEqual(suite.driver.calls, ["prepare c5", "unprepare c5"]);
  const commands = readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid) && existsSync(`/proc/${pid}/cmdline`))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8");
      } catch {
        return "";
      }
    });
  assert.ok(!commands.some((command) => command.includes("98765")));
  assert.ok(!readFileSync("/proc/self/mountinfo", "utf8").includes(suite.root()));
  await suite.driver.close();
});
