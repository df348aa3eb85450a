import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Container, type ContainerStatus, Pod, ServiceAccount } from "@dray/api/core/v1";
import { eventuallyPasses } from "@dray/testing/eventually";
import type { Kubelet } from "../index.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";

let cluster: TestCluster;
let node: Kubelet;
let shared: string;
before(async () => {
  cluster = await testCluster();
  await cluster.admin
    .resource(ServiceAccount)
    .create({ metadata: { namespace: "default", name: "default" } });
  shared = join(cluster.rootDir("n1"), "var/lib/shared");
  mkdirSync(shared, { recursive: true });
  node = await cluster.node("n1");
});
after(() => cluster.close());

const restartPolicyRules = [{ action: "RestartAllContainers", exitCodes: { operator: "In", values: [42] } }];
const onExit42 = { restartPolicy: "Never", restartPolicyRules };
const container = (name: string, script: string, more: Partial<Container> = {}): Container =>
  ({
    name,
    command: ["bash", "-c", script],
    volumeMounts: [{ name: "shared", mountPath: shared }],
    ...more,
  }) as Container;

async function create(name: string, containers: Container[], initContainers: Container[]): Promise<void> {
  const volumes = [{ name: "shared", hostPath: { path: shared } }];
  await cluster.admin
    .resource(Pod)
    .create(podOn("n1", name, { restartPolicy: "Never", containers, initContainers, volumes }));
}
const get = (name: string) => cluster.admin.resource(Pod).get({ namespace: "default", name });
const becomes = (name: string, wanted: (pod: Pod) => boolean) =>
  podBecomes(cluster.admin, { namespace: "default", name }, wanted, 30_000);
const statuses = ({ status }: Pod): ContainerStatus[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
];
const condition = ({ status }: Pod, type = "AllContainersRestarting") =>
  status?.conditions?.find((one) => one.type === type);
const counts = (pod: Pod) => Object.fromEntries(statuses(pod).map((one) => [one.name, one.restartCount]));
const runs = (pod: Pod, name: string, count: number) =>
  statuses(pod).some((one) => one.name === name && one.restartCount === count && one.state?.running);

test("a container whose rule says so restarts all containers of its pod in place", async () => {
  const file = (name: string): string => join(shared, name);
  await create(
    "trainer",
    [
      container(
        "source",
        `until [ -e ${file("go")} ]; do sleep 0.1; done; rm ${file("go")}; exit 42`,
        onExit42,
      ),
      container("done", "exit 0"),
      // Its exit code when killed matches its own rule, which does not start another restart.
      container("worker", "trap '' TERM; sleep 1000", {
        restartPolicy: "Never",
        restartPolicyRules: [
          { action: "RestartAllContainers", exitCodes: { operator: "NotIn", values: [0] } },
        ],
        lifecycle: { preStop: { exec: { command: ["touch", file("hook")] } } },
      }),
    ],
    [
      container("prepare", `echo prepared >>${file("prepared")}`),
      container("sidecar", "sleep 1000", { restartPolicy: "Always" }),
    ],
  );
  const doneEnded = (pod: Pod) =>
    statuses(pod).some(({ name, state }) => name === "done" && state?.terminated !== undefined);
  const first = await becomes("trainer", (pod) => runs(pod, "worker", 0) && doneEnded(pod));
  assert.equal(condition(first)?.status, "False");

  const seen: Pod[] = [];
  const watching = new AbortController();
  const watch = (async () => {
    const from = { resourceVersion: first.metadata.resourceVersion };
    for await (const { object } of cluster.admin
      .resource(Pod)
      .watch({ namespace: "default", ...from }, { signal: watching.signal }))
      seen.push(object as Pod);
  })().catch(() => {});
  writeFileSync(file("go"), "");
  const second = await becomes("trainer", (pod) => runs(pod, "worker", 1) && doneEnded(pod));
  watching.abort();
  await watch;

  assert.deepEqual(counts(second), { prepare: 1, sidecar: 1, source: 1, done: 1, worker: 1 });
  assert.equal(readFileSync(file("prepared"), "utf8"), "prepared\nprepared\n");
  assert.equal(existsSync(file("hook")), false);
  assert.equal(second.status?.podIP, first.status?.podIP);
  assert.equal(condition(second)?.status, "False");
  for (const { name, lastState } of statuses(second))
    assert.deepEqual(
      [lastState?.terminated?.reason, lastState?.terminated?.exitCode],
      ["RestartingAllContainers", 137],
      name,
    );
  const during = seen.find((pod) => condition(pod)?.status === "True");
  assert.equal(condition(during ?? second)?.reason, "RestartAllContainersStarted");
  const removed = seen.find((pod) =>
    statuses(pod).every(({ state }) => state?.waiting?.reason === "RestartingAllContainers"),
  );
  assert.equal(removed?.status?.phase, "Running");
  assert.equal(condition(removed ?? second, "Initialized")?.status, "True");
});

test("an init container restarts all before it, and the next restart is held back until another agent comes", async () => {
  const count = join(shared, "count");
  // Exits twice with the code that restarts all.
  const script = `echo >>${count}; [ $(wc -l <${count}) -gt 2 ] || exit 42`;
  await create(
    "starter",
    [container("main", "sleep 1000")],
    [container("sidecar", "sleep 1000", { restartPolicy: "Always" }), container("source", script, onExit42)],
  );
  // The second restart has a back-off of ten seconds.
  await eventuallyPasses(async () => assert.equal(readFileSync(count, "utf8"), "\n\n"));
  await becomes(
    "starter",
    (pod) =>
      condition(pod)?.status === "True" &&
      statuses(pod).some(
        ({ name, restartCount, state }) => name === "sidecar" && restartCount === 1 && state?.terminated,
      ),
  );
  await node.stop({ leavePods: true });
  node = await cluster.node("n1");
  const pod = await becomes("starter", (pod) => runs(pod, "main", 0));
  assert.deepEqual(counts(pod), { sidecar: 2, source: 2, main: 0 });
  assert.equal(condition(pod)?.status, "False");
});

test("a pod without such a rule has no such condition", async () => {
  await create("plain", [container("main", "exit 0")], []);
  assert.equal(condition(await becomes("plain", ({ status }) => status?.phase === "Succeeded")), undefined);
  assert.equal((await get("plain")).status?.phase, "Succeeded");
});
