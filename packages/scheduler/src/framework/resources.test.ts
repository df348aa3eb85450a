import assert from "node:assert/strict";
import { test } from "node:test";
import { kubernetesVersions } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { partial } from "@dray/testing/partial";
import { requestsOf, scoredRequest, takenBy } from "./resources.ts";

interface Asks {
  readonly cpu?: string;
  readonly memory?: string;
}
const container = (requests?: Asks, more: object = {}): object => ({
  name: "c",
  ...(requests && { resources: { requests } }),
  ...more,
});
const sidecar = (requests: Asks): object => container(requests, { restartPolicy: "Always" });
const podOf = (spec: object): Pod => partial<Pod>({ spec });
const cpu = (spec: object): number | undefined => requestsOf(podOf(spec)).get("cpu");

test("containers add up: cpu in thousandths, the rest in units", () => {
  const containers = [container({ cpu: "1", memory: "1Gi" }), container({ cpu: "250m" }), container()];
  const requests = requestsOf(podOf({ containers }));
  assert.deepEqual(Object.fromEntries(requests), { cpu: 1250, memory: 1024 ** 3 });
});

test("the largest init container counts if it needs more than what runs later", () => {
  const containers = [container({ cpu: "1" })];
  assert.equal(cpu({ containers, initContainers: [container({ cpu: "2" }), container({ cpu: "3" })] }), 3000);
  assert.equal(cpu({ containers, initContainers: [container({ cpu: "500m" })] }), 1000);
});

test("a sidecar runs beside the init containers after it and the containers", () => {
  const containers = [container({ cpu: "1" })];
  const [small, large] = [sidecar({ cpu: "1" }), container({ cpu: "5" })];
  assert.equal(cpu({ containers, initContainers: [small] }), 2000);
  assert.equal(cpu({ containers, initContainers: [small, large] }), 6000);
  // Before the sidecar it runs alone.
  assert.equal(cpu({ containers, initContainers: [large, small] }), 5000);
});

test("overhead comes on top, and requests of the whole pod take the place of the sum", () => {
  const containers = [container({ cpu: "1", memory: "1Ki" })];
  assert.equal(cpu({ containers, overhead: { cpu: "100m" } }), 1100);
  const requests = requestsOf(
    podOf({ containers, overhead: { cpu: "100m" }, resources: { requests: { cpu: "3" } } }),
  );
  assert.deepEqual(Object.fromEntries(requests), { cpu: 3100, memory: 1024 });
});

test("for scoring, containers without a request count 100m and 200Mi", () => {
  const pod = podOf({ containers: [container({ cpu: "1" }), container()] });
  assert.equal(scoredRequest(pod).get("cpu"), 1100);
  assert.equal(scoredRequest(pod).get("memory"), 2 * 200 * 1024 ** 2);
});

test("with requests of the pod only what neither it nor a container asks for is assumed", () => {
  const containers = [container({ memory: "1Gi" }), container()];
  const pod = podOf({ containers, resources: { requests: { cpu: "2" } } });
  assert.deepEqual(takenBy(pod, "1.37").scored, { cpu: 2000, memory: 1024 ** 3 });
  assert.deepEqual(Object.fromEntries(scoredRequest(pod)), {
    cpu: 2000,
    memory: 1024 ** 3 + 200 * 1024 ** 2,
  });
});

test("a pod on a node takes what it was resized from until the node has done it", () => {
  const containers = [container({ cpu: "1" })];
  const containerStatuses = [
    { name: "c", resources: { requests: { cpu: "3" } }, allocatedResources: { cpu: "2" } },
  ];
  const pod = partial<Pod>({ spec: { containers }, status: { containerStatuses } });
  for (const version of kubernetesVersions) assert.equal(takenBy(pod, version).requested.get("cpu"), 3000);
  assert.equal(requestsOf(pod).get("cpu"), 1000);
});

test("amounts are rounded once they are added up", () => {
  const containers = Array.from({ length: 4 }, () => container({ memory: "500m" }));
  assert.equal(requestsOf(podOf({ containers })).get("memory"), 2);
});
