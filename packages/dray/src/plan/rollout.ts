import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "@dray/api";
import { DaemonSet, type Deployment, StatefulSet } from "@dray/api/apps/v1";
import type { Pod } from "@dray/api/core/v1";
import { isPodActive } from "@dray/api/pod";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { controllerOf, maxSurge } from "@dray/controllers/objects";
import { type Located, labelOfObject, placeText } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import { counted } from "../text/words.ts";
import { Managed } from "./managed.ts";

type Rolling = DaemonSet | Deployment | StatefulSet;

/**
 * Removes the pods that manifests would replace, with their generated claims: a workload of the cluster whose
 * pod template changes then lacks all of its pods. `live`: the objects of the cluster.
 */
export function withoutReplacedPods(
  world: World,
  live: readonly Located[],
): { readonly world: World; readonly notes: readonly string[] } {
  let managed: Managed | undefined;
  const gone = new Map<string, Pod>();
  const notes: string[] = [];
  for (const { object: before } of live) {
    const after = isRolling(before) ? world.located(before) : undefined;
    if (after === undefined || after.object === before || !isRolling(after.object)) continue;
    if (isSameTemplate(after.object.spec.template, (before as Rolling).spec.template)) continue;
    managed ??= new Managed(world);
    const pods = replacedPods(after.object, managed).filter(isPodActive);
    for (const pod of pods) gone.set(pod.metadata.uid, pod);
    if (pods.length > 0) notes.push(`${placeText(after.place)}: ${rolloutText(after.object, pods.length)}`);
  }
  if (gone.size === 0) return { world, notes };
  const left = world.objects.flatMap((each): Located[] => {
    const { object } = each;
    if (gone.has(object.metadata.uid)) return [];
    if (object.kind !== "ResourceClaim") return [each];
    if (gone.has(controllerOf(object)?.uid ?? "")) return [];
    return [{ ...each, object: released(object as ResourceClaim, gone) }];
  });
  return { world: world.of(left), notes };
}

const isRolling = (object: KubeObject): object is Rolling & KubeObject =>
  ["DaemonSet", "Deployment", "StatefulSet"].includes(object.kind) &&
  object.metadata.deletionTimestamp === undefined;

/** Returns the pods that change with the template, by the strategy of the workload. */
function replacedPods(workload: Rolling, managed: Managed): readonly Pod[] {
  if (workload.kind === "Deployment") {
    const deployment = workload as Deployment;
    return deployment.spec.paused === true ? [] : managed.ofDeployment(deployment);
  }
  const { updateStrategy } = (workload as DaemonSet | StatefulSet).spec;
  if (updateStrategy?.type === "OnDelete") return [];
  if (workload.kind === "DaemonSet") return managed.pods(DaemonSet, workload);
  const { partition = 0 } = (workload as StatefulSet).spec.updateStrategy?.rollingUpdate ?? {};
  const ordinal = ({ metadata }: Pod): number =>
    Number(metadata.name.slice(workload.metadata.name.length + 1));
  return managed.pods(StatefulSet, workload).filter((pod) => ordinal(pod) >= partition);
}

function rolloutText(workload: Rolling, pods: number): string {
  const what = pods === 1 ? "its pod is" : `its ${pods} pods are`;
  const surge = workload.kind === "Deployment" ? maxSurge(workload as Deployment) : 0;
  const room =
    surge === 0 ? "" : `; while it rolls out it has up to ${counted(surge, "pod")} more (maxSurge)`;
  return `${labelOfObject(workload)} has another template in the cluster: ${what} planned anew, without the old ones${room}`;
}

/** Applying a manifest keeps labels and annotations of others, and replaces the spec. */
function isSameTemplate(manifest: Rolling["spec"]["template"], live: Rolling["spec"]["template"]): boolean {
  const has = (own: Readonly<Record<string, string>> = {}, there: typeof own = {}): boolean =>
    Object.entries(own).every(([key, value]) => there[key] === value);
  return (
    has(manifest.metadata?.labels, live.metadata?.labels) &&
    has(manifest.metadata?.annotations, live.metadata?.annotations) &&
    isDeepStrictEqual(withoutEmpty(manifest.spec), withoutEmpty(live.spec))
  );
}

/** Servers of other releases write empty fields that ours leaves out. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(withoutEmpty);
  if (typeof value !== "object" || value === null) return value ?? undefined;
  const entries = Object.entries(value).flatMap(([key, below]): [string, unknown][] => {
    const kept = withoutEmpty(below);
    return kept === undefined ? [] : [[key, kept]];
  });
  return Object.fromEntries(entries);
}

/** Returns a claim without its reservations for these pods; an unreserved claim loses its devices. */
function released(claim: ResourceClaim, pods: ReadonlyMap<string, Pod>): ResourceClaim {
  const { reservedFor = [], allocation, ...status } = claim.status ?? {};
  const kept = reservedFor.filter(({ uid }) => !pods.has(uid));
  if (kept.length === reservedFor.length) return claim;
  if (kept.length === 0) return { ...claim, status };
  return { ...claim, status: { ...status, ...(allocation && { allocation }), reservedFor: kept } };
}
