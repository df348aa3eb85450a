import type { Kind } from "@dray/api";
import { Deployment, StatefulSet } from "@dray/api/apps/v1";
import { Job } from "@dray/api/batch/v1";
import type { Pod, PodSpec } from "@dray/api/core/v1";
import type { DeviceTaintRule, ResourceClaimTemplate } from "@dray/api/resource/v1";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import type { Random } from "../fuzz/random.ts";
import { namespace, startedUnprepared } from "./pods.ts";

/** Driver of the simulated devices of the crowd's nodes. */
const driver = "sim.example.com";
/** The second scheduler, which pods of the crowd may choose. */
export const secondScheduler = "second-scheduler";
/** On the nodes of a crowd that run the example driver. */
export const driverLabel = "chaos.example.com/driver";

/** Name of a device that may break or get a taint. */
export const randomDevice = (random: Random): string =>
  random.pick([`gpu-${random.below(2)}`, `link-${random.below(2)}`, "slow-0"]);

/**
 * A fleet whose first nodes have no devices, as the example driver brings its own, and whose others have devices of
 * each kind: whole or in partitions (KEP-4815), shared by capacity (KEP-5075), with binding conditions (KEP-5007).
 */
export function crowdFleet(plain: readonly string[], simulated: readonly string[]): object {
  const bound = {
    bindsToNode: true,
    bindingConditions: ["sim.example.com/attached"],
    bindingFailureConditions: ["sim.example.com/failed"],
    binds: { after: "300ms" },
  };
  return {
    apiVersion: "dray.dev/v1alpha1",
    kind: "Fleet",
    nodes: [
      { names: plain, labels: { [driverLabel]: "true" } },
      {
        names: simulated,
        labels: { crowd: "true" },
        capacity: { cpu: 4 },
        drivers: [
          {
            driver,
            profile: "partitions",
            pools: [
              {
                devices: [
                  {
                    name: "gpu-{index}",
                    count: 2,
                    attributes: { type: "gpu" },
                    counters: { memory: "80Gi" },
                    partitions: [
                      {
                        name: "{device}-part-{index}",
                        count: 3,
                        attributes: { type: "part" },
                        counters: { memory: "30Gi" },
                      },
                    ],
                  },
                  {
                    name: "link-{index}",
                    count: 2,
                    attributes: { type: "link" },
                    capacity: { bandwidth: "10" },
                    allowMultipleAllocations: true,
                  },
                  { name: "slow-{index}", count: 2, attributes: { type: "slow" }, ...bound },
                ],
              },
            ],
          },
        ],
      },
    ],
    deviceClasses: ["gpu", "part", "link", "slow"].map((type) => ({
      name: `${type}.${driver}`,
      selectors: [`device.driver == "${driver}" && device.attributes["${driver}"].type == "${type}"`],
      ...(type === "gpu" ? { extendedResourceName: "sim.example.com/gpu" } : {}),
    })),
  };
}

type Request = NonNullable<ResourceClaimTemplate["spec"]["spec"]["devices"]>["requests"];

const exactly = (type: string, more: object = {}): object => ({
  name: "it",
  exactly: { deviceClassName: `${type}.${driver}`, ...more },
});

/** Requests of the claims of a crowd, by the name of their template. */
const requests: Readonly<Record<string, object>> = {
  "crowd-gpu": exactly("gpu"),
  "crowd-part": exactly("part"),
  "crowd-slow": exactly("slow"),
  "crowd-link": exactly("link", { capacity: { requests: { bandwidth: "3" } } }),
  "crowd-all": exactly("part", { allocationMode: "All" }),
  "crowd-admin": exactly("gpu", { adminAccess: true }),
  "crowd-tolerant": exactly("gpu", { tolerations: [{ operator: "Exists" }] }),
  "crowd-either": {
    name: "it",
    firstAvailable: [
      { name: "whole", deviceClassName: `gpu.${driver}`, count: 2 },
      { name: "part", deviceClassName: `part.${driver}`, count: 2 },
      { name: "slow", deviceClassName: `slow.${driver}` },
    ],
  },
};

export const crowdTemplates: readonly ResourceClaimTemplate[] = Object.entries(requests).map(
  ([name, request]) => ({
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaimTemplate",
    metadata: { name, namespace },
    spec: { spec: { devices: { requests: [request] as Request } } },
  }),
) as unknown as ResourceClaimTemplate[];

export const priorityClass = {
  apiVersion: "scheduling.k8s.io/v1",
  kind: "PriorityClass",
  metadata: { name: "chaos-high" },
  value: 1000,
};

/** The spec of a pod of the crowd; on the nodes with simulated devices only. */
export function crowdSpec(random: Random): PodSpec {
  const script = `env | grep -q '^DRA_DEVICE_' || exit ${startedUnprepared}; trap 'exit 0' TERM; sleep 99999 & wait`;
  const spec = {
    nodeSelector: { crowd: "true" },
    terminationGracePeriodSeconds: 2,
    ...(random.chance(0.4) ? { schedulerName: secondScheduler } : {}),
    ...(random.chance(0.2) ? { priorityClassName: priorityClass.metadata.name } : {}),
  };
  const main = { name: "main", image: "host", command: ["/bin/sh", "-c", script] };
  const cpu = random.pick(["10m", "100m", "1500m"]);
  if (random.chance(0.1))
    return {
      ...spec,
      containers: [{ ...main, resources: { requests: { cpu }, limits: { "sim.example.com/gpu": "1" } } }],
    } as unknown as PodSpec;
  const name = random.pick(Object.keys(requests));
  return {
    ...spec,
    resourceClaims: [{ name: "it", resourceClaimTemplateName: name }],
    containers: [{ ...main, resources: { requests: { cpu }, claims: [{ name: "it" }] } }],
  } as unknown as PodSpec;
}

export function crowdPod(random: Random, number: number): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `crowd-${number}`, namespace },
    spec: crowdSpec(random),
  } as unknown as Pod;
}

/** A gang (KEP-4671) of pods of one scheduler; some of its pods never come. */
export function gang(random: Random, number: number): { group: PodGroup; pods: Pod[] } {
  const name = `gang-${number}`;
  const size = 2 + random.below(3);
  const spec = { ...crowdSpec(random), schedulingGroup: { podGroupName: name } };
  const group = {
    apiVersion: "scheduling.k8s.io/v1beta1",
    kind: "PodGroup",
    metadata: { name, namespace },
    spec: {
      schedulingPolicy: { gang: { minCount: size } },
      ...(spec.priorityClassName === undefined ? {} : { priorityClassName: spec.priorityClassName }),
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

/** A taint for devices of one name on one node, or on all. */
export function taintRule(random: Random, number: number, nodes: readonly string[]): DeviceTaintRule {
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "DeviceTaintRule",
    metadata: { name: `rule-${number}` },
    spec: {
      deviceSelector: {
        driver,
        device: randomDevice(random),
        ...(random.chance(0.7) ? { pool: random.pick(nodes) } : {}),
      },
      taint: { key: "chaos", effect: random.pick(["NoSchedule", "NoExecute"]) },
    },
  } as unknown as DeviceTaintRule;
}
