/** A healthy cluster, and the findings of clusters that differ from it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "@dray/api/core/v1";
import { features, worldOf } from "../inventory/testing.ts";
import { World } from "../manifests/world.ts";
import { allocation, claim, gpuClass, type Manifest, node, pod, slice, usesClaim } from "../plan/testing.ts";
import { diagnose } from "./doctor.ts";
import { type Finding, labelOfName, type ServerVersions, type Snapshot } from "./finding.ts";
import { doctorKinds } from "./read.ts";
import { type RuleId, ruleIds, rules } from "./rules.ts";

export const now = Date.parse("2026-01-01T12:00:00Z");
export const protection = "resource.kubernetes.io/delete-protection";

export const uidOfPod = (name: string): string => `pod-${name}`;

/** A running pod with the claim on a node. */
export const running = (name: string, nodeName: string, claimName: string, metadata: object = {}): Manifest =>
  pod(
    name,
    usesClaim(claimName, { nodeName }),
    { uid: uidOfPod(name), ...metadata },
    { status: { phase: "Running" } },
  );

/** A claim of pods with devices of a node. */
export const held = (
  name: string,
  devices: object,
  pods: readonly string[],
  { metadata = {}, exactly = {} }: { readonly metadata?: object; readonly exactly?: object } = {},
): Manifest =>
  claim(name, exactly, {
    metadata: { name, uid: `claim-${name}`, finalizers: [protection], ...metadata },
    status: {
      allocation: devices,
      reservedFor: pods.map((each) => ({ resource: "pods", name: each, uid: uidOfPod(each) })),
    },
  });

/** Two nodes with two GPUs each; a pod has one of them. */
export const healthy: readonly Manifest[] = [
  node("a"),
  node("b"),
  slice("a", 2),
  slice("b", 2),
  gpuClass,
  running("p", "a", "c"),
  held("c", allocation("a", "gpu-0"), ["p"]),
  claim("open"),
];

const nameOfManifest = ({ kind, metadata }: Manifest): string =>
  `${kind} ${(metadata as { name: string }).name}`;

/** The healthy cluster with some objects replaced by name, and some removed. */
export function cluster(objects: readonly Manifest[], without: readonly string[] = []): readonly Manifest[] {
  const replaced = new Set([...objects.map(nameOfManifest), ...without]);
  return [...healthy.filter((each) => !replaced.has(nameOfManifest(each))), ...objects];
}

const pluginSpec = (volumes: readonly object[] = []): object => ({
  serviceAccountName: "gpus",
  containers: [{ name: "plugin", image: "plugin" }],
  volumes: [
    { name: "registry", hostPath: { path: "/var/lib/kubelet/plugins_registry/" } },
    { name: "cdi", hostPath: { path: "/var/run/cdi" } },
    ...volumes,
  ],
});

const labels = { app: "gpus" };

/** A driver's DaemonSet, with its pods on these nodes, which are ready since then. */
export function driverSet(
  nodes: readonly string[],
  {
    name = "gpus",
    volumes = [],
    ready = "True",
    since = "2026-01-01T11:00:00Z",
    status = {},
    template = {},
    revision,
  }: {
    readonly name?: string;
    readonly volumes?: readonly object[];
    readonly ready?: string;
    readonly since?: string;
    /** Status of each pod beside its condition. */
    readonly status?: object;
    /** Fields of the spec of its pods. */
    readonly template?: object;
    /** The revision of its template that the pods have. */
    readonly revision?: string;
  } = {},
): Manifest[] {
  const daemonSet = {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name, namespace: "gpu-system", uid: `set-${name}` },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { ...pluginSpec(volumes), ...template } },
    },
  };
  const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name, uid: `set-${name}`, controller: true };
  const pods = nodes.map((nodeName) =>
    pod(
      `${name}-${nodeName}`,
      { ...pluginSpec(volumes), nodeName },
      {
        namespace: "gpu-system",
        uid: uidOfPod(`${name}-${nodeName}`),
        creationTimestamp: since,
        labels: { ...labels, ...(revision !== undefined && { "controller-revision-hash": revision }) },
        ownerReferences: [owner],
      },
      {
        status: {
          phase: "Running",
          conditions: [{ type: "Ready", status: ready, lastTransitionTime: since }],
          ...status,
        },
      },
    ),
  );
  return [daemonSet, ...pods];
}

export interface Around {
  readonly events?: readonly Event[];
  readonly server?: ServerVersions;
  readonly lackingRights?: NonNullable<Snapshot["lackingRights"]>;
  readonly logs?: NonNullable<Snapshot["logs"]>;
  /** Kinds that cannot be listed. */
  readonly unreadable?: readonly string[];
}

const everyKind: ReadonlySet<string> = new Set(doctorKinds);

/** Reads manifests of all kinds that rules read. */
const worldOfAll = (objects: readonly Manifest[]): World => worldOf(objects, everyKind);

/** Findings of all rules. */
export const examined = (
  objects: readonly Manifest[],
  { events = [], server = { release: "1.37", served: ["v1"] }, lackingRights, logs, unreadable }: Around = {},
): readonly Finding[] => {
  const { place } = worldOf([node("a")]).objects[0]!;
  const all = [...worldOfAll(objects).objects, ...events.map((object) => ({ object, place }))];
  const world = new World(all, new Set(unreadable));
  return diagnose(
    {
      ...{ world, features, now, server },
      ...(lackingRights !== undefined && { lackingRights }),
      ...(logs !== undefined && { logs }),
    },
    new Set(ruleIds),
  ).findings;
};

/** Rule, object and message of each finding; with the severity where it is not that of the rule. */
export const brief = (findings: readonly Finding[]): string[] =>
  findings.map(({ rule, severity, object, message }) => {
    const minor = severity === rules[rule].severity ? "" : `${severity} `;
    return `${minor}${rule}: ${labelOfName(object)} ${message}`;
  });

/** Asserts exactly these findings, and for one of them this evidence and this command. */
export function finds(
  objects: readonly Manifest[],
  expected: readonly string[],
  { evidence, fix, around = {} }: { evidence?: RegExp; fix?: string; around?: Around } = {},
): void {
  const findings = examined(objects, around);
  assert.deepEqual(brief(findings), expected);
  const all = findings.flatMap((finding) => finding.evidence).join("\n");
  if (evidence !== undefined) assert.match(all, evidence);
  const commands = findings.flatMap((finding) => finding.fix);
  if (fix !== undefined) assert.ok(commands.includes(fix), commands.join("\n"));
}

/** Two devices of node a. */
export const two = (first: string, second: string): object => allocation("a", first, second);

/** Defines the test of a rule: each has one. */
export const rule = (id: RuleId, body: () => void): void => void test(id, body);
