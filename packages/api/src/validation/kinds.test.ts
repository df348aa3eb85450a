import assert from "node:assert/strict";
import test from "node:test";
import { setDefaults } from "../defaults/index.ts";
import { featuresOf, fieldErrorText, type KubeObject } from "../index.ts";
import { dropDisabledFields, validateCreate, validateStatusUpdate, validateUpdate } from "./index.ts";

const features = featuresOf("1.36");
const context = { features, compileSelector: () => ({ ok: true, maxCost: 1 }) as const };
const metadata = { name: "x", namespace: "n" };

function pod(spec: object): KubeObject {
  const object = { apiVersion: "v1", kind: "Pod", metadata, spec } as unknown as KubeObject;
  setDefaults({ group: "", version: "v1", kind: "Pod" }, object, {
    now: "2026-01-01T00:00:00Z",
    release: features.version,
  });
  return object;
}
const container = { name: "c", image: "i" };
const podKind = { group: "", version: "v1", kind: "Pod" };
const problems = (spec: object): string[] =>
  validateCreate(podKind, pod(spec), context).map((error) => fieldErrorText(error));

test("processes of the host are in its network, and all or none (KEP-1981)", () => {
  const securityContext = { windowsOptions: { hostProcess: true } };
  const network =
    "spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers";
  assert.deepEqual(problems({ containers: [container], securityContext }), [network]);
  assert.deepEqual(problems({ containers: [container], securityContext, hostNetwork: true }), []);
  assert.equal(
    problems({
      containers: [
        { ...container, securityContext },
        { ...container, name: "d" },
      ],
    }).length,
    2,
  );
});

test("users of Windows have at most one domain", () => {
  const of = (runAsUserName: string): string[] =>
    problems({ containers: [container], securityContext: { windowsOptions: { runAsUserName } } });
  assert.deepEqual(of("DOMAIN\\user"), []);
  assert.match(of("a\\b\\c")[0]!, /more than one backslash$/);
  assert.match(of("a?")[0]!, /cannot contain the following characters/);
});

test("huge pages come whole, and not without CPU or memory", () => {
  const of = (limits: object): string[] =>
    problems({ containers: [{ ...container, resources: { limits } }] });
  assert.deepEqual(of({ "hugepages-2Mi": "4Mi", cpu: "1" }), []);
  assert.match(
    of({ "hugepages-2Mi": "3Mi", cpu: "1" })[0]!,
    /not positive integer multiple of hugepages-2Mi$/,
  );
  assert.match(of({ "hugepages-2Mi": "4Mi" })[0]!, /HugePages require cpu or memory$/);
});

test("a pod with limits of its own requests what its containers do (KEP-2837)", () => {
  const resources = { limits: { cpu: "2", memory: "1Gi", "x.y/z": "1" } };
  const { spec } = pod({
    containers: [{ ...container, resources: { requests: { cpu: "1" } } }],
    resources,
  }) as unknown as { spec: { resources: { requests: unknown } } };
  assert.deepEqual(spec.resources.requests, { cpu: "1", memory: "1Gi" });
});

test("tolerations may compare numbers with the gate TaintTolerationComparisonOperators (KEP-5471)", () => {
  const gate = new Map([["TaintTolerationComparisonOperators", true]]);
  const gated = { ...context, features: featuresOf("1.37", gate) };
  const tolerations = (operator: string, value: string) => [{ key: "k", operator, value }];
  const of = (where: typeof context, operator: string, value: string): string[] =>
    validateCreate(
      podKind,
      pod({ containers: [container], tolerations: tolerations(operator, value) }),
      where,
    ).map((error) => fieldErrorText(error));
  const path = "spec.tolerations[0]";
  assert.deepEqual(of(context, "Lt", "5"), [
    `${path}.operator: Unsupported value: "Lt": supported values: "Equal", "Exists", "Lt", "Gt"`,
  ]);
  assert.deepEqual(of(gated, "Lt", "5"), []);
  assert.deepEqual(of(gated, "Gt", "-9223372036854775808"), []);
  const parsing = (value: string, problem: string): string =>
    `${path}.value: Invalid value: "${value}": strconv.ParseInt: parsing "${value}": ${problem}`;
  const form = (value: string, problem = "must be a valid decimal integer in canonical form"): string =>
    `${path}.value: Invalid value: "${value}": ${problem}`;
  assert.deepEqual(of(gated, "Gt", ""), [form("", "must be non-empty"), parsing("", "invalid syntax")]);
  assert.deepEqual(of(gated, "Gt", "many"), [form("many"), parsing("many", "invalid syntax")]);
  assert.deepEqual(of(gated, "Gt", "007"), [form("007")]);
  const large = "9223372036854775808";
  assert.deepEqual(of(gated, "Gt", large), [parsing(large, "value out of range")]);
});

test("an empty list does not change a pod, an empty struct does", () => {
  const errors = (changed: object): number =>
    validateUpdate(podKind, pod(changed), pod({ containers: [container] }), context).length;
  assert.equal(errors({ containers: [container], tolerations: [] }), 0);
  assert.equal(errors({ containers: [container], dnsConfig: {} }), 1);
});

test("drops a lifecycle with only a stop signal while its gate is off", () => {
  const object = pod({ containers: [{ ...container, lifecycle: { stopSignal: "SIGTERM" } }] });
  dropDisabledFields(podKind, object, undefined, { features });
  const { containers } = (object as unknown as { spec: { containers: object[] } }).spec;
  assert.equal("lifecycle" in containers[0]!, false);
});

test("events.k8s.io is stricter than core (KEP-383)", () => {
  const event = { apiVersion: "v1", kind: "Event", metadata, involvedObject: { namespace: "n" } };
  const of = (requestGroup: string): string[] =>
    validateCreate({ group: "", kind: "Event" }, event as unknown as KubeObject, {
      ...context,
      requestGroup,
    }).map(({ path }) => path);
  assert.deepEqual(of(""), []);
  assert.deepEqual(of("events.k8s.io"), ["eventTime", "type"]);
});

test("the status of a pool's request has a count, and pools that are named", () => {
  const kind = { group: "resource.k8s.io", kind: "ResourcePoolStatusRequest" };
  const request = (status?: object): KubeObject =>
    ({
      metadata: { name: "x" },
      spec: { driver: "D.example.com", limit: 1 },
      ...(status && { status }),
    }) as unknown as KubeObject;
  const of = (status: object): string[] =>
    validateStatusUpdate(kind, request(status), request(), context).map((error) => fieldErrorText(error));
  assert.deepEqual(validateCreate(kind, request(), context), []);
  const grouped = (defaultPartitionTypeAttribute: string): string[] => {
    const spec = { driver: "d", defaultPartitionTypeAttribute };
    const asked = { metadata: { name: "x" }, spec } as unknown as KubeObject;
    return validateCreate(kind, asked, context).map((error) => fieldErrorText(error));
  };
  assert.deepEqual(grouped("d.example.com/profile"), []);
  assert.deepEqual(grouped("profile"), [
    'spec.defaultPartitionTypeAttribute: Invalid value: "profile": a fully qualified name must be a domain and a name separated by a slash',
  ]);
  assert.deepEqual(of({ poolCount: 0 }), []);
  assert.deepEqual(of({ pools: [{ driver: "d", poolName: "a//b", generation: 1 }] }), [
    "status.poolCount: Required value",
    'status.pools[0].poolName: Invalid value: "a//b": segment 1: must not be empty',
  ]);
  const pool = (more: object): object => ({
    poolCount: 1,
    pools: [{ driver: "d", poolName: "p", generation: 1, ...more }],
  });
  const half = { attribute: "d/profile", type: "half", total: 2, allocatable: 1 };
  const capacity = { name: "memory", total: "2", consumed: "1", available: "1" };
  const shares = { fullyAvailableDevices: 1, partiallyAvailableDevices: 0, capacity: [capacity] };
  assert.deepEqual(of(pool({ partitionSummary: [half], shareableSummary: shares })), []);
  const at = "status.pools[0].";
  const wrong = [half, { ...half, total: -1 }, { attribute: "d/profile", total: 1 }];
  const errors = of(pool({ partitionSummary: wrong }));
  assert.match(errors[0] ?? "", /^status\.pools\[0\]\.partitionSummary\[1\]: Duplicate value: /);
  assert.deepEqual(errors.slice(1), [
    `${at}partitionSummary[1].total: Invalid value: -1: must be greater than or equal to 0`,
    `${at}partitionSummary[2].type: Required value`,
    `${at}partitionSummary[2].allocatable: Required value`,
  ]);
  const many = Array.from({ length: 33 }, (_, index) => ({ ...capacity, name: `c${index}` }));
  assert.deepEqual(of(pool({ shareableSummary: { fullyAvailableDevices: 0, capacity: many } })), [
    `${at}shareableSummary.partiallyAvailableDevices: Required value`,
    `${at}shareableSummary.capacity: Too many: 33: must have at most 32 items`,
  ]);
});

test("claims have no sizes but storage", () => {
  const claim = (status: object): KubeObject =>
    ({ metadata, spec: { accessModes: ["ReadWriteOnce"] }, status }) as unknown as KubeObject;
  const kind = { group: "", kind: "PersistentVolumeClaim" };
  const of = (status: object): string[] =>
    validateStatusUpdate(kind, claim(status), claim({}), context).map((error) => fieldErrorText(error));
  assert.deepEqual(of({ allocatedResources: { storage: "1Gi" } }), []);
  assert.equal(of({ allocatedResources: { cpu: "1" } }).length, 1);
  assert.deepEqual(of({ capacity: { storage: "-1" } }), [
    "status.capacity[storage]: Invalid value: -1: must be a valid resource quantity",
  ]);
});

test("sources of volumes have the same defaults in pods and in persistent volumes", () => {
  const sources = { rbd: { monitors: ["m"], image: "i" } };
  const volume = { metadata: { name: "x" }, spec: { ...sources } } as unknown as KubeObject;
  setDefaults({ group: "", version: "v1", kind: "PersistentVolume" }, volume, {
    now: "2026-01-01T00:00:00Z",
  });
  const { rbd } = (volume as unknown as { spec: { rbd: object } }).spec;
  assert.deepEqual(rbd, { ...sources.rbd, pool: "rbd", user: "admin", keyring: "/etc/ceph/keyring" });
});
