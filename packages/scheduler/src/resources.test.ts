import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@dray/api/core/v1";
import { nonzeroRequest, requestsOf } from "./resources.ts";

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
const podOf = (spec: object): Pod => ({ spec }) as unknown as Pod;
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
  assert.equal(nonzeroRequest(pod, "cpu"), 1100);
  assert.equal(nonzeroRequest(pod, "memory"), 2 * 200 * 1024 ** 2);
});
