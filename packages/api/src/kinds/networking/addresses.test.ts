import assert from "node:assert/strict";
import { test } from "node:test";
import { featuresOf, parseKubernetesVersion } from "../../index.ts";
import type { KubeObject } from "../../objects/object.ts";
import { validateCreate, validateUpdate, warningsFor } from "../../validation/index.ts";

const context = { features: featuresOf(parseKubernetesVersion("1.36")) } as Parameters<
  typeof validateCreate
>[2];
const group = "networking.k8s.io";
const details = (kind: string, name: string, spec: object): string[] =>
  validateCreate({ group, kind }, object(kind, name, spec), context).map(({ detail }) => detail);

function object(kind: string, name: string, spec: object): KubeObject {
  const metadata = { name, uid: "u", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" };
  return { apiVersion: `${group}/v1`, kind, metadata, spec } as unknown as KubeObject;
}

const parent = { parentRef: { resource: "services", name: "a" } };
const names: Readonly<Record<string, string | undefined>> = {
  "192.0.2.1": undefined,
  "2001:db8::1": undefined,
  "192.0.2.01": "must not have leading 0s",
  "2001:DB8::1": 'must be in canonical form ("2001:db8::1")',
  "::ffff:1.2.3.4": "must not be an IPv4-mapped IPv6 address",
  x: "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
};
for (const [name, problem] of Object.entries(names)) {
  test(`IPAddress ${name}: ${problem ?? "valid"}`, () =>
    assert.deepEqual(details("IPAddress", name, parent), problem === undefined ? [] : [problem]));
}

const ranges: Readonly<Record<string, string | undefined>> = {
  "10.0.0.0/24": undefined,
  "2001:db8::/64": undefined,
  "10.0.0.1/24": "must not have bits set beyond the prefix length",
  "10.0.0.0/024": "must not have leading 0s in IP or prefix length",
  "::ffff:1.2.3.0/120": "must not have an IPv4-mapped IPv6 address",
  "2001:db8:0::/64": 'must be in canonical form ("2001:db8::/64")',
  "10.0.0.0/33": "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
};
for (const [cidr, problem] of Object.entries(ranges)) {
  test(`ServiceCIDR ${cidr}: ${problem ?? "valid"}`, () =>
    assert.deepEqual(details("ServiceCIDR", "a", { cidrs: [cidr] }), problem === undefined ? [] : [problem]));
}

test("a ServiceCIDR may only get a second range of the other family", () => {
  const paths = (...cidrs: readonly string[]): string[] =>
    validateUpdate(
      { group, kind: "ServiceCIDR" },
      object("ServiceCIDR", "a", { cidrs }),
      object("ServiceCIDR", "a", { cidrs: ["10.0.0.0/24"] }),
      context,
    ).map(({ path }) => path);
  assert.deepEqual(paths("10.0.0.0/24", "2001:db8::/64"), []);
  assert.deepEqual(paths("10.0.0.0/24", "10.0.1.0/24"), ["spec.cidrs"]);
  assert.deepEqual(paths("10.0.1.0/24"), ["spec.cidrs[0]"]);
  assert.deepEqual(paths(), ["spec.cidrs"]);
});

test("the parent of an IPAddress stays the same", () => {
  const [error] = validateUpdate(
    { group, kind: "IPAddress" },
    object("IPAddress", "192.0.2.1", { parentRef: { ...parent.parentRef, name: "b" } }),
    object("IPAddress", "192.0.2.1", parent),
    context,
  );
  assert.equal(error?.value, '{"Group":"","Resource":"services","Namespace":"","Name":"b"}');
  assert.deepEqual(details("IPAddress", "192.0.2.1", {}), [""]);
});

function policyOf(...cidrs: string[]): KubeObject {
  const made = object("NetworkPolicy", "p", {
    podSelector: {},
    ingress: [{ from: cidrs.map((cidr) => ({ ipBlock: { cidr } })) }],
  });
  return { ...made, metadata: { ...made.metadata, namespace: "default" } };
}

test("old fields take only plain forms from 1.36 on, and what was stored before", () => {
  const kind = { group, kind: "NetworkPolicy" };
  const at = (version: string): typeof context => ({
    ...context,
    features: featuresOf(parseKubernetesVersion(version)),
  });
  const made = (version: string, cidr: string): string[] =>
    validateCreate(kind, policyOf(cidr), at(version)).map(({ detail }) => detail);
  assert.deepEqual(made("1.35", "010.0.0.1/08"), []);
  assert.deepEqual(made("1.36", "010.0.0.1/08"), ["must not have leading 0s in IP or prefix length"]);
  assert.deepEqual(made("1.37", "10.0.0.1/8"), ["must not have bits set beyond the prefix length"]);
  assert.deepEqual(made("1.37", "2001:DB8::/32"), []);
  const updated = (now: string, before: string): string[] =>
    validateUpdate(kind, policyOf(now), policyOf(before), at("1.37")).map(({ detail }) => detail);
  assert.deepEqual(updated("10.0.0.1/8", "10.0.0.1/8"), []);
  assert.deepEqual(updated("10.0.0.2/8", "10.0.0.1/8"), ["must not have bits set beyond the prefix length"]);
});

test("forms that programs read differently are warned of", () => {
  const warned = (kind: string, spec: object, more: object = {}): string[] =>
    warningsFor(
      { group: kind === "NetworkPolicy" ? group : "", kind },
      { ...object(kind, "a", spec), ...more },
      undefined,
      "",
    );
  assert.deepEqual(warned("Service", { clusterIP: "fd00:0::1", clusterIPs: ["fd00:0::1"] }), [
    'spec.clusterIPs[0]: IPv6 address "fd00:0::1" should be in RFC 5952 canonical format ("fd00::1")',
  ]);
  assert.deepEqual(warned("Pod", { containers: [], hostAliases: [{ ip: "::ffff:10.1.2.3" }] }), [
    'spec.hostAliases[0].ip: non-standard IP address "::ffff:10.1.2.3" is invalid: use "10.1.2.3"',
  ]);
  assert.deepEqual(warned("Node", { podCIDRs: ["10.0.0.1/24"] }), [
    'spec.podCIDRs[0]: CIDR value "10.0.0.1/24" is ambiguous in this context (should be "10.0.0.0/24" or "10.0.0.1/32"?)',
  ]);
  const status = { podIPs: [{ ip: "010.0.0.1" }] };
  assert.deepEqual(
    warningsFor(
      { group: "", kind: "Pod" },
      { ...object("Pod", "a", {}), status } as KubeObject,
      undefined,
      "status",
    ),
    ['status.podIPs[0].ip: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"'],
  );
});
