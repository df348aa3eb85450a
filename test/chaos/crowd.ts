import type { Kind } from "@dray/api";
import { Deployment, StatefulSet } from "@dray/api/apps/v1";
import { Job } from "@dray/api/batch/v1";
import type { Pod, PodResourceClaim, PodSpec } from "@dray/api/core/v1";
import type { DeviceTaintRule, ResourceClaim, ResourceClaimTemplate } from "@dray/api/resource/v1";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import type { Random } from "@dray/testing/random";
import { networkDriver, nodeDriver, randomDevice } from "./crowd-fleet.ts";
import { namespace, startedUnprepared } from "./pods.ts";

/** The second scheduler, which pods of the crowd may choose. */
export const secondScheduler = "second-scheduler";

/** Names of the claims that several pods of the crowd share: deleted and made again. */
export const sharedClaims: readonly string[] = Array.from({ length: 8 }, (_, i) => `crowd-shared-${i}`);

type Request = NonNullable<ResourceClaimTemplate["spec"]["spec"]["devices"]>["requests"];

export const exactly = (type: string, more: object = {}, driver = nodeDriver): object => ({
  name: "it",
  exactly: { deviceClassName: `${type}.${driver}`, ...more },
});

/** Requests of a crowd's claims, by the name of their template. */
const requests: Readonly<Record<string, object>> = {
  "crowd-gpu": exactly("gpu"),
  "crowd-part": exactly("part"),
  "crowd-slow": exactly("slow"),
  "crowd-link": exactly("link", { capacity: { requests: { bandwidth: "3" } } }),
  "crowd-all": exactly("part", { allocationMode: "All" }),
  "crowd-admin": exactly("gpu", { adminAccess: true }),
  "crowd-tolerant": exactly("gpu", { tolerations: [{ operator: "Exists" }] }),
  "crowd-patient": exactly("gpu", { tolerations: [{ operator: "Exists", tolerationSeconds: 3 }] }),
  "crowd-flaky": exactly("flaky"),
  "crowd-port": exactly("port", { count: 2 }, networkDriver),
  "crowd-uplink": exactly("uplink", { capacity: { requests: { bandwidth: "7" } } }, networkDriver),
  "crowd-either": {
    name: "it",
    firstAvailable: [
      { name: "whole", deviceClassName: `gpu.${nodeDriver}`, count: 2 },
      { name: "part", deviceClassName: `part.${nodeDriver}`, count: 2 },
      { name: "slow", deviceClassName: `slow.${nodeDriver}` },
      { name: "sick", deviceClassName: `sick.${nodeDriver}` },
    ],
  },
};
const templateNames = Object.keys(requests);

/** The templates of claims, in a namespace. */
export const crowdTemplates = (space: string): readonly ResourceClaimTemplate[] =>
  Object.entries(requests).map(([name, request]) => ({
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaimTemplate",
    metadata: { name, namespace: space },
    spec: { spec: { devices: { requests: [request] as Request } } },
  })) as unknown as ResourceClaimTemplate[];

/** A claim that several pods may share. */
export function sharedClaim(random: Random): ResourceClaim {
  const name = random.pick(sharedClaims);
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: { name, namespace },
    spec: { devices: { requests: [requests[random.pick(templateNames)]] } },
  } as unknown as ResourceClaim;
}

export const priorityClass = {
  apiVersion: "scheduling.k8s.io/v1",
  kind: "PriorityClass",
  metadata: { name: "chaos-high" },
  value: 1000,
};

const untilTerm = "trap 'exit 0' TERM; sleep 99999 & wait";
/**
 * Ends the program at once, with a code that nothing else has, if its container started without its devices.
 */
const needsDevices = `env | grep -q '^DRA_DEVICE_' || exit ${startedUnprepared}; `;

/**
 * Spec of a pod of the crowd, without what makes containers restart; on the nodes with simulated devices
 * only.
 */
function crowdSpec(random: Random): PodSpec {
  const script = needsDevices + (random.chance(0.2) ? `sleep ${random.below(3)}` : untilTerm);
  const spec = {
    nodeSelector: { crowd: "true" },
    terminationGracePeriodSeconds: 2,
    ...(random.chance(0.4) ? { schedulerName: secondScheduler } : {}),
    ...(random.chance(0.2) ? { priorityClassName: priorityClass.metadata.name } : {}),
    // Nodes whose agents are away lose it soon.
    tolerations: ["not-ready", "unreachable"].map((key) => ({
      key: `node.kubernetes.io/${key}`,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: 5,
    })),
  };
  const main = { name: "main", image: "host", command: ["/bin/sh", "-c", script] };
  const cpu = random.pick(["10m", "100m", "1500m"]);
  if (random.chance(0.1)) {
    const first = { ...main, resources: { requests: { cpu }, limits: { [`${nodeDriver}/gpu`]: "1" } } };
    const containers = random.chance(0.3) ? [first, { ...first, name: "other" }] : [first];
    return { ...spec, containers } as unknown as PodSpec;
  }
  const entries: PodResourceClaim[] = random.chance(0.2)
    ? [{ name: "it", resourceClaimName: random.pick(sharedClaims) }]
    : [{ name: "it", resourceClaimTemplateName: random.pick(templateNames) }];
  if (random.chance(0.2))
    entries.push({ name: "more", resourceClaimTemplateName: random.pick(templateNames) });
  const claims = entries.map(({ name }) => ({ name }));
  return {
    ...spec,
    resourceClaims: entries,
    containers: [{ ...main, resources: { requests: { cpu }, claims } }],
  } as unknown as PodSpec;
}

export function crowdPod(random: Random, number: number, space: string = namespace): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `crowd-${number}`, namespace: space },
    spec: { ...crowdSpec(random), restartPolicy: random.pick(["Always", "OnFailure", "Never"]) },
  } as unknown as Pod;
}

/**
 * A gang (KEP-4671) of pods of one scheduler; some of its pods never come. Pods of some gangs share the claim
 * of their group (KEP-5729).
 */
export function gang(random: Random, number: number): { group: PodGroup; pods: Pod[] } {
  const name = `gang-${number}`;
  const size = 2 + random.below(3);
  const spec = { ...crowdSpec(random), schedulingGroup: { podGroupName: name } };
  const own = spec.resourceClaims?.filter((entry) => entry.resourceClaimTemplateName !== undefined) ?? [];
  const group = {
    apiVersion: "scheduling.k8s.io/v1beta1",
    kind: "PodGroup",
    metadata: { name, namespace },
    spec: {
      schedulingPolicy: { gang: { minCount: size } },
      ...(spec.priorityClassName === undefined ? {} : { priorityClassName: spec.priorityClassName }),
      ...(own.length > 0 && random.chance(0.4) ? { resourceClaims: own } : {}),
    },
  } as unknown as PodGroup;
  const pods = Array.from({ length: random.chance(0.1) ? size - 1 : size }, (_, i) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `crowd-${name}-${i}`, namespace },
    spec,
  })) as unknown as Pod[];
  return { group, pods };
}

/** Kinds whose controllers make pods of the crowd, as the client handles all alike. */
export const workloadKinds = [Deployment, StatefulSet, Job] as unknown as readonly Kind[];

/** An object of one of `workloadKinds`. */
export function workload(random: Random, number: number, kind: Kind): object {
  const labels = { workload: `w-${number}` };
  const isJob = kind.kind === "Job";
  const spec = crowdSpec(random);
  return {
    apiVersion: `${kind.group}/${kind.version}`,
    kind: kind.kind,
    metadata: { name: `w-${number}`, namespace },
    spec: {
      ...(isJob
        ? { completions: 2, parallelism: 2 }
        : { replicas: 1 + random.below(3), selector: { matchLabels: labels } }),
      ...(kind.kind === "StatefulSet" ? { serviceName: "none" } : {}),
      template: { metadata: { labels }, spec: isJob ? { ...spec, restartPolicy: "Never" } : spec },
    },
  };
}

export const taintEffects: readonly string[] = ["NoSchedule", "NoExecute", "None"];

/** A taint for devices of one name on one node, or on all. */
export function taintRule(random: Random, number: number, nodes: readonly string[]): DeviceTaintRule {
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "DeviceTaintRule",
    metadata: { name: `rule-${number}` },
    spec: {
      deviceSelector: {
        driver: nodeDriver,
        device: randomDevice(random),
        ...(random.chance(0.7) ? { pool: random.pick(nodes) } : {}),
      },
      taint: { key: "chaos", effect: random.pick(taintEffects) },
    },
  } as unknown as DeviceTaintRule;
}
