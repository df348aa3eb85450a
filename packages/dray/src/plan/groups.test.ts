/** Pods that are scheduled together (KEP-4671), and the claims of their groups (KEP-5729). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodExplanation } from "./explain.ts";
import {
  claim,
  gpuClass,
  type Manifest,
  node,
  plain,
  planned,
  pod,
  slice,
  template,
  usesClaim,
  usesTemplate,
} from "./testing.ts";

const gates = ["--feature-gates", "GenericWorkload=true,DRAWorkloadResourceClaims=true"];

const group = (name: string, minCount: number | undefined, more: object = {}): Manifest => ({
  apiVersion: "scheduling.k8s.io/v1beta1",
  kind: "PodGroup",
  metadata: { name },
  spec: { schedulingPolicy: minCount === undefined ? { basic: {} } : { gang: { minCount } }, ...more },
});
const ofGroup = (podGroupName: string): object => ({ schedulingGroup: { podGroupName } });
const twoNodes = [node("n1"), slice("n1", 1), node("n2"), slice("n2", 1), gpuClass];

/** `name: status node` of the pods. */
const fates = ({ data }: Awaited<ReturnType<typeof planned>>): string[] =>
  data.pods.map(({ name, status, node }) => `${name}: ${status} ${node ?? "-"}`);

test("a gang is placed as a whole, each pod with its device", async () => {
  const members = ["a", "b"].map((name) => pod(name, usesTemplate("t", ofGroup("g"))));
  const done = await planned([...twoNodes, template("t"), group("g", 2), ...members], ...gates);
  assert.deepEqual(fates(done), ["a: fits n1", "b: fits n2"]);
  assert.deepEqual(done.data.summary.warnings, []);
});

test("a gang below its minCount is not placed, and its devices stay free", async () => {
  const members = ["a", "b", "c"].map((name) => pod(name, usesTemplate("t", ofGroup("g"))));
  const other = pod("other", usesTemplate("t"));
  const objects = [...twoNodes, template("t"), group("g", 3), ...members, other];
  const done = await planned(objects, ...gates);
  assert.deepEqual(fates(done), [
    "a: does not fit -",
    "b: does not fit -",
    "c: does not fit -",
    "other: fits n1",
  ]);
  const [a, , c] = done.data.pods;
  // Upstream: schedule_one_podgroup.go, submitPodGroupAlgorithmResult.
  const why = "pod group is unschedulable, minCount (3) cannot be satisfied: 2 scheduled, 0 remaining";
  assert.equal(a!.reason, why);
  assert.equal(a!.explanation, null);
  assert.equal(c!.reason, "0/2 nodes are available: 2 cannot allocate all claims.");
  // The devices that the other pods would get are not free for it.
  const { refusals } = c!.explanation as PodExplanation;
  const [request] = refusals[0]!.claims![0]!.requests;
  assert.deepEqual(
    [request!.wanted, request!.suitable, request!.refused.map(({ check, count }) => [check, count])],
    [1, 0, [["in-use", 2]]],
  );
});

test("a group without a gang lands as far as there is room", async () => {
  const members = ["a", "b", "c"].map((name) => pod(name, usesTemplate("t", ofGroup("g"))));
  const done = await planned([...twoNodes, template("t"), group("g", undefined), ...members], ...gates);
  assert.deepEqual(fates(done), ["a: fits n1", "b: fits n2", "c: does not fit -"]);
});

test("pods wait for their group, its minCount and the missing claim of a member", async () => {
  const a = pod("a", plain(ofGroup("g")));
  const alone = await planned([...twoNodes, a], ...gates);
  assert.deepEqual(fates(alone), ["a: pending -"]);
  assert.match(alone.data.pods[0]!.hints.join(), /there is no PodGroup "g" in namespace default$/);
  const few = await planned([...twoNodes, group("g", 2), a], ...gates);
  assert.equal(
    few.data.pods[0]!.reason,
    "waiting for minCount pods from a gang to appear in scheduling queue",
  );
  const b = pod("b", usesClaim("missing", ofGroup("g")));
  const lacking = await planned([...twoNodes, group("g", 2), a, b], ...gates);
  assert.deepEqual(
    lacking.data.pods.map(({ status, reason }) => [status, reason]),
    [
      ["pending", 'waits with its group: pod default/b: resourceclaim "missing" not found'],
      ["pending", 'resourceclaim "missing" not found'],
    ],
  );
});

test("one claim is made for the group, and its pods share it", async () => {
  const resourceClaims = [{ name: "gpu", resourceClaimTemplateName: "t" }];
  const members = ["a", "b"].map((name) => pod(name, usesTemplate("t", ofGroup("g"))));
  const objects = [...twoNodes, template("t"), group("g", 2, { resourceClaims }), ...members];
  const done = await planned(objects, ...gates);
  assert.deepEqual(fates(done), ["a: fits n1", "b: fits n1"]);
  const names = done.data.pods.flatMap(({ claims }) => claims.map(({ name }) => name));
  assert.deepEqual(names, ["g-gpu", "g-gpu"]);
  // Without the gate the claim does not exist.
  const off = await planned(objects, "--feature-gates", "GenericWorkload=true");
  assert.deepEqual(
    off.data.pods.map(({ claims }) => claims[0]!.name),
    ["a-gpu", "b-gpu"],
  );
});

test("a group shares a claim that it names", async () => {
  const resourceClaims = [{ name: "gpu", resourceClaimName: "c" }];
  const members = ["a", "b"].map((name) => pod(name, usesClaim("c", ofGroup("g"))));
  const done = await planned(
    [...twoNodes, claim("c"), group("g", 2, { resourceClaims }), ...members],
    ...gates,
  );
  assert.deepEqual(fates(done), ["a: fits n1", "b: fits n1"]);
});

test("without the gate pods are planned one by one, and a warning says that the field is dropped", async () => {
  const member = pod("a", plain(ofGroup("g")));
  const done = await planned([...twoNodes, member]);
  assert.deepEqual(fates(done), ["a: fits n1"]);
  assert.match(
    done.data.summary.warnings.join(),
    /spec\.schedulingGroup: .* drops this field: .*GenericWorkload/,
  );
});

test("the group of the highest priority comes first; pods of another priority are an error", async () => {
  const high: Manifest = {
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: { name: "high" },
    value: 100,
  };
  const priorityClassName = "high";
  const low = ["a", "b"].map((name) => pod(name, usesTemplate("t", ofGroup("low"))));
  const first = ["c", "d"].map((name) =>
    pod(name, usesTemplate("t", { ...ofGroup("high"), priorityClassName })),
  );
  const groups = [group("low", 2), group("high", 2, { priorityClassName })];
  const done = await planned([...twoNodes, high, template("t"), ...groups, ...low, ...first], ...gates);
  assert.deepEqual(fates(done), ["a: does not fit -", "b: does not fit -", "c: fits n1", "d: fits n2"]);
  const wrong = await planned([...twoNodes, high, template("t"), group("high", 1), first[0]!], ...gates);
  assert.equal(
    wrong.data.pods[0]!.reason,
    "all pods in a single pod group should have the same priority as the pod group's priority, got 100 and 0",
  );
});

test("as many nodes are added as a gang needs", async () => {
  const members = ["a", "b", "c"].map((name) => pod(name, usesTemplate("t", ofGroup("g"))));
  const objects = [node("n1"), slice("n1", 1), gpuClass, template("t"), group("g", 3), ...members];
  const done = await planned(objects, ...gates, "--add-nodes", "auto");
  assert.deepEqual([...new Set(fates(done).map((fate) => fate.split(" ")[1]))], ["fits"]);
  assert.deepEqual(done.data.summary.addedNodes, {
    like: "n1",
    count: 2,
    fewest: { count: 2, isProven: true },
    notHelped: [],
  });
});

test("a gang lands in one domain of its topology", async () => {
  const labelled = (name: string, rack: string): Manifest[] => [
    node(name, { labels: { rack } }),
    slice(name, 1),
  ];
  const racks = [labelled("n1", "r1"), labelled("n2", "r2"), labelled("n3", "r2")].flat();
  const schedulingConstraints = { topology: [{ key: "rack" }] };
  const members = ["a", "b"].map((name) => pod(name, usesTemplate("t", ofGroup("g"))));
  const objects = [...racks, gpuClass, template("t"), group("g", 2, { schedulingConstraints }), ...members];
  const done = await planned(objects, gates[0]!, `${gates[1]!},TopologyAwareWorkloadScheduling=true`);
  assert.deepEqual(fates(done), ["a: fits n2", "b: fits n3"]);
});
