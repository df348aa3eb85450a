/** A cluster in which nothing is wrong, and what is found in one that differs from it. */
import type { Event } from "@dray/api/core/v1";
import { features, worldOf } from "../inventory/testing.ts";
import { allocation, claim, gpuClass, type Manifest, node, pod, slice, usesClaim } from "../plan/testing.ts";
import { diagnose } from "./doctor.ts";
import type { Finding, ServerVersions } from "./finding.ts";
import { ruleIds } from "./rules.ts";

export const now = Date.parse("2026-01-01T12:00:00Z");
export const protection = "resource.kubernetes.io/delete-protection";

export const uidOfPod = (name: string): string => `pod-${name}`;

/** A pod on a node that runs, with the claim. */
export const running = (name: string, nodeName: string, claimName: string, metadata: object = {}): Manifest =>
  pod(
    name,
    usesClaim(claimName, { nodeName }),
    { uid: uidOfPod(name), ...metadata },
    { status: { phase: "Running" } },
  );

/** A claim with devices of a node, for pods. */
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

/** Two nodes of two GPUs; a pod has one of them. */
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

/** The healthy cluster with other objects in place of those with their names, and without some. */
export function cluster(objects: readonly Manifest[], without: readonly string[] = []): readonly Manifest[] {
  const replaced = new Set([...objects.map(nameOfManifest), ...without]);
  return [...healthy.filter((each) => !replaced.has(nameOfManifest(each))), ...objects];
}

export interface Around {
  readonly events?: readonly Event[];
  readonly server?: ServerVersions;
}

/** Findings of all rules. */
export const examined = (
  objects: readonly Manifest[],
  { events = [], server = { release: "1.37", served: ["v1"] } }: Around = {},
): readonly Finding[] =>
  diagnose({ world: worldOf(objects), features, now, events, server }, new Set(ruleIds)).findings;
