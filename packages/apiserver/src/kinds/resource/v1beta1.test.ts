import assert from "node:assert/strict";
import test from "node:test";
import { type KubeObject, Provenance } from "@dray/api";
import { convertClaim } from "./v1beta1.ts";

const group = "resource.k8s.io";
const v1 = { group, version: "v1" };
const v1beta1 = { group, version: "v1beta1" };

function converted(request: Record<string, unknown>, provenance?: Provenance): Record<string, unknown> {
  const claim = { kind: "ResourceClaim", metadata: {}, spec: { devices: { requests: [request] } } };
  const result = convertClaim(
    claim as unknown as KubeObject,
    v1beta1,
    v1,
    provenance,
  ) as unknown as typeof claim;
  return result.spec.devices.requests[0]!;
}

test("a list that came empty makes an exact request, as a field with a value does", () => {
  const request = { name: "r", firstAvailable: [{ name: "s" }] };
  assert.equal("exactly" in converted(request), false);
  const emptied = { ...request };
  const provenance = new Provenance();
  provenance.noteEmpty(emptied, "selectors");
  const exactly = converted(emptied, provenance)["exactly"] as object;
  assert.deepEqual(exactly, {});
  assert.equal(provenance.cameEmpty(exactly, "selectors"), true);
});

test("every field of an exact request keeps its value there and back", () => {
  const request = {
    name: "r",
    deviceClassName: "gpu",
    selectors: [{ cel: { expression: "true" } }],
    allocationMode: "ExactCount",
    count: 2,
    adminAccess: true,
    tolerations: [{ operator: "Exists" }],
    capacity: { requests: { memory: "1Gi" } },
    derivedAttributes: [{ name: "example.com/numa", expression: "1" }],
  };
  const { name, ...exactly } = request;
  assert.deepEqual(converted(request), { name, exactly });
  const claim = { kind: "ResourceClaim", metadata: {}, spec: { devices: { requests: [request] } } };
  assert.deepEqual(
    convertClaim(convertClaim(claim as unknown as KubeObject, v1beta1, v1), v1, v1beta1),
    claim,
  );
});
