import type { Features, KubeObject } from "@dray/api";
import type { DaemonSet } from "@dray/api/apps/v1";
import type { CronJob, Job } from "@dray/api/batch/v1";
import type { Pod } from "@dray/api/core/v1";
import { deviceDemands } from "@dray/api/quota";
import type { ResourceClaim } from "@dray/api/resource/v1";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import { controllerOf } from "@dray/controllers/objects";
import { uidOf } from "../manifests/decode.ts";
import { labelOfObject, type Place } from "../manifests/place.ts";
import { World } from "../manifests/world.ts";
import { admitPods } from "../plan/admit.ts";
import { type OriginPod, podsOf } from "../plan/workloads.ts";
import { anyOf, type ByClass, classCosts, heldData, sumOf, times } from "./amounts.ts";
import { type Claims, type ClaimsOfPods, claimsOf } from "./claims.ts";
import type { AlternativeCost, CostData, SubjectCost } from "./data.ts";
import { QuotaCharges } from "./quota-charges.ts";
import { requestCost } from "./request-cost.ts";
import { SuitableDevices } from "./suitable-devices.ts";

/** The time of objects that no server has stored. */
const epoch = "1970-01-01T00:00:00Z";

/** Kinds of manifests that have a cost, and that scheduling does not depend on. */
export const costKinds: ReadonlySet<string> = new Set(["CronJob"]);

export interface CostInput {
  /** The objects whose costs are wanted, those of `costKinds` among them. */
  readonly manifests: World;
  /**
   * The manifests and what they refer to: claims, templates, classes; with slices and nodes the answer is
   * exact.
   */
  readonly cluster: World;
  readonly features: Features;
}

/** A pod, workload, group, claim or template, with its pods. */
interface Subject {
  readonly object: string;
  readonly pods: readonly Pod[];
  readonly perNode: boolean;
  readonly perRun: boolean;
  /** A template that nothing in the manifests uses: it is the cost of one claim, and holds nothing. */
  readonly isUnused: boolean;
  readonly claims: ClaimsOfPods;
}

/**
 * Returns what the pods, workloads, PodGroups and claims of manifests hold at the same time: devices,
 * capacity and counters by class. Where a request has alternatives, or devices differ, an amount is a range.
 */
export function costOf({ manifests, cluster, features }: CostInput): CostData {
  const devices = hasDevices(cluster) ? new SuitableDevices(cluster, features) : undefined;
  const quota = new QuotaCharges(cluster, features);
  const costs = new Map<string, ReturnType<typeof claimCost>>();
  const costOfClaims = ({ label, claim }: Claims): ReturnType<typeof claimCost> => {
    const known = costs.get(label) ?? claimCost(claim, devices);
    costs.set(label, known);
    return known;
  };
  const held = (claims: readonly Claims[]): ByClass =>
    sumOf(claims.map((each) => times(costOfClaims(each).held, each.instances.size)));
  const subjects = subjectsOf(manifests, cluster, features);
  return {
    version: 1,
    kubernetesVersion: features.version,
    subjects: subjects.map(({ object, pods, perNode, perRun, claims }): SubjectCost => {
      return {
        object,
        pods: pods.length,
        perNode,
        perRun,
        claims: claims.claims.map((each) => ({
          claim: each.label.startsWith("extended") ? "extended resources" : each.label,
          claims: each.instances.size,
          requests: costOfClaims(each).requests,
        })),
        classes: classCosts(held(claims.claims)),
        quota: quota.of(pods, claims.claims),
        missing: claims.missing,
      };
    }),
    total: total(subjects, held, quota),
  };
}

/** Returns the costs of all subjects together, in which a claim counts once; null if one is per node. */
function total(
  subjects: readonly Subject[],
  held: (claims: readonly Claims[]) => ByClass,
  quota: QuotaCharges,
): CostData["total"] {
  if (subjects.some(({ perNode }) => perNode)) return null;
  const claims = new Map<string, { claim: ResourceClaim; instances: Set<string> }>();
  const pods = new Map<string, Pod>();
  for (const subject of subjects.filter(({ isUnused }) => !isUnused)) {
    for (const pod of subject.pods) pods.set(labelOfObject(pod), pod);
    for (const { label, claim, instances } of subject.claims.claims) {
      const known = claims.get(label) ?? { claim, instances: new Set() };
      for (const instance of instances) known.instances.add(instance);
      claims.set(label, known);
    }
  }
  const all = [...claims].map(([label, each]): Claims => ({ label, ...each }));
  const namespaces = new Set([...pods.values(), ...all.map(({ claim }) => claim)].map(namespaceOf));
  return {
    classes: classCosts(held(all)),
    quota: Object.fromEntries(
      [...namespaces].sort().map((namespace) => [
        namespace,
        quota.of(
          [...pods.values()].filter((pod) => namespaceOf(pod) === namespace),
          all.filter(({ claim }) => namespaceOf(claim) === namespace),
        ),
      ]),
    ),
  };
}

const namespaceOf = ({ metadata }: KubeObject): string => metadata.namespace ?? "";

const hasDevices = (world: World): boolean =>
  world.all("ResourceSlice").length > 0 && world.all("Node").length > 0;

interface CostOfClaim {
  readonly held: ByClass;
  readonly requests: readonly (readonly AlternativeCost[])[];
}

function claimCost(claim: ResourceClaim, devices: SuitableDevices | undefined): CostOfClaim {
  const requests = deviceDemands(claim.spec).map(({ alternatives }) =>
    alternatives.map((each) => ({ each, cost: requestCost(each, devices) })),
  );
  return {
    held: sumOf(
      requests.map((alternatives) =>
        anyOf(alternatives.map(({ each, cost }) => new Map([[each.deviceClass, cost.held]]))),
      ),
    ),
    requests: requests.map((alternatives) =>
      alternatives.map(({ each, cost }) => ({
        request: each.name,
        class: each.deviceClass,
        adminAccess: each.adminAccess,
        suitable: cost.suitable ?? null,
        ...heldData(cost.held),
      })),
    ),
  };
}

/** Returns what the manifests have at their top level: pods of a workload count with it. */
function subjectsOf(manifests: World, cluster: World, features: Features): Subject[] {
  const nodes = cluster.all("Node").map(({ object }) => object);
  const admitted = (pods: readonly OriginPod[]): Pod[] =>
    admitPods(manifests, pods, epoch, features.version).map(({ object }) => object);
  const pods = Map.groupBy(podsOf(manifests, nodes), ({ origin }) => origin);
  const subjects: Subject[] = [];
  const add = (object: string, own: readonly Pod[], more: Partial<Subject> = {}): void => {
    const claims = claimsOf(cluster, own, [], features);
    subjects.push({ object, pods: own, perNode: false, perRun: false, isUnused: false, claims, ...more });
  };
  const used = new Set<string>();
  for (const { object, place } of manifests.all(
    "Pod",
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "Job",
  )) {
    const label = labelOfObject(object);
    const own = admitted(pods.get(label) ?? []);
    if (object.kind === "DaemonSet" && nodes.length === 0)
      add(label, admitted([onAnyNode(object as DaemonSet, label, place)]), { perNode: true });
    else if (object.kind === "Pod" || own.length > 0 || controllerOf(object) === undefined) add(label, own);
  }
  for (const { object: cronJob, place } of manifests.all("CronJob")) {
    const run = podsOf(new World([{ object: jobOf(cronJob), place }]), nodes);
    const path = "spec.jobTemplate.spec.template.spec";
    add(labelOfObject(cronJob), admitted(run.map((pod) => ({ ...pod, path }))), { perRun: true });
  }
  for (const { object: group } of manifests.all("PodGroup")) {
    const own = podsOfGroup(
      [...pods.values()].flat().map(({ object }) => object),
      group,
    );
    add(labelOfObject(group), own, { claims: claimsOf(cluster, own, [group], features) });
  }
  for (const { claims } of subjects) for (const { label } of claims.claims) used.add(label);
  for (const { object } of manifests.all("ResourceClaim", "ResourceClaimTemplate")) {
    const label = labelOfObject(object);
    if (used.has(label)) continue;
    const { namespace = "", name } = object.metadata;
    const isUnused = object.kind === "ResourceClaimTemplate";
    const reference = isUnused ? { resourceClaimTemplateName: name } : { resourceClaimName: name };
    // A pod that has nothing but this claim.
    const spec = { containers: [], resourceClaims: [{ name: "claim", ...reference }] };
    add(label, [], { isUnused, claims: claimsOf(cluster, [podOf(namespace, name, spec)], [], features) });
  }
  return subjects;
}

const podsOfGroup = (pods: readonly Pod[], { metadata: { namespace, name } }: PodGroup): Pod[] =>
  pods.filter(
    (pod) => pod.metadata.namespace === namespace && pod.spec.schedulingGroup?.podGroupName === name,
  );

/** One run of a CronJob. */
function jobOf({ metadata: { namespace, name }, spec }: CronJob): Job {
  const uid = uidOf("Job", namespace, name);
  const metadata = { namespace, name, uid, resourceVersion: "1", creationTimestamp: epoch };
  return { apiVersion: "batch/v1", kind: "Job", metadata, spec: structuredClone(spec.jobTemplate.spec) };
}

function onAnyNode({ metadata, spec }: DaemonSet, origin: string, place: Place): OriginPod {
  const body = structuredClone(spec.template.spec ?? { containers: [] });
  const object = podOf(metadata.namespace, metadata.name, body);
  return { object, origin, place, path: "spec.template.spec" };
}

function podOf(namespace: string, name: string, spec: Pod["spec"]): Pod {
  const uid = uidOf("Pod", namespace, name);
  const metadata = { namespace, name, uid, resourceVersion: "1", creationTimestamp: epoch };
  return { apiVersion: "v1", kind: "Pod", metadata, spec };
}
