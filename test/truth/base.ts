/** Random clusters without trouble: nodes, devices, classes, and pods that run. */
import type { Random } from "@dray/testing/random";
import {
  claim,
  claimSpec,
  type Draft,
  deviceClass,
  type Manifest,
  noFacts,
  pod,
  pool,
  slice,
  template,
  withClaim,
} from "./draft.ts";

const node = (name: string, random: Random): Manifest => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name, labels: { "kubernetes.io/hostname": name, zone: random.pick(["z0", "z1"]) } },
  spec: {},
  status: {
    allocatable: { cpu: "8", memory: "16Gi", pods: "110" },
    conditions: [{ type: "Ready", status: "True", reason: "KubeletReady" }],
  },
});

const gpu = (name: string, random: Random): Manifest => ({
  name,
  attributes: {
    model: { string: random.pick(["a100", "h100"]) },
    numa: { int: random.below(2) },
    fast: { bool: random.chance(0.5) },
  },
  capacity: { memory: { value: random.pick(["40Gi", "80Gi"]) } },
});

/** A network card whose bandwidth claims share, by one of several request policies. */
function nic(name: string, random: Random): Manifest {
  const policy = random.pick([
    undefined,
    { default: "10", validRange: { min: "10", max: "50" } },
    { default: "10", validRange: { min: "10", max: "80", step: "10" } },
    { default: "20", validValues: ["20", "40", "80"] },
  ]);
  const bandwidth = { value: "100", ...(policy && { requestPolicy: policy }) };
  const queues = random.chance(0.3) ? { queues: { value: "8", requestPolicy: { default: "1" } } } : {};
  return { name, allowMultipleAllocations: true, capacity: { bandwidth, ...queues } };
}

const partition = (name: string, memory: string): Manifest => ({
  name,
  attributes: { kind: { string: memory === "80Gi" ? "whole" : "half" } },
  consumesCounters: [{ counterSet: "gpu", counters: { memory: { value: memory } } }],
});

function devicesOf(name: string, random: Random): Manifest[] {
  const found: Manifest[] = [];
  if (random.chance(0.85)) {
    const devices = random.list(1, 3, (i) => gpu(`g${i}`, random));
    found.push(
      slice(`${name}-gpu`, { driver: "gpu.example.com", nodeName: name, pool: pool(name), devices }),
    );
  }
  if (random.chance(0.5)) {
    const devices = random.list(1, 2, (i) => nic(`n${i}`, random));
    found.push(
      slice(`${name}-nic`, { driver: "nic.example.com", nodeName: name, pool: pool(name), devices }),
    );
  }
  if (random.chance(0.5)) {
    const of = { driver: "part.example.com", nodeName: name, pool: pool(name, 2) };
    const sharedCounters = [{ name: "gpu", counters: { memory: { value: "80Gi" } } }];
    const devices = [partition("whole", "80Gi"), partition("half-0", "40Gi"), partition("half-1", "40Gi")];
    found.push(
      slice(`${name}-counters`, { ...of, sharedCounters }),
      slice(`${name}-parts`, { ...of, devices }),
    );
  }
  return found;
}

const driverIs = (name: string): string => `device.driver == "${name}.example.com"`;

const classes = (random: Random): Manifest[] => [
  deviceClass("gpu", driverIs("gpu"), random.chance(0.5) ? { extendedResourceName: "example.com/gpu" } : {}),
  deviceClass("nic", driverIs("nic")),
  deviceClass("part", driverIs("part")),
];

/** A request for devices that exist, mostly. */
function randomRequest(random: Random): Manifest {
  switch (random.below(5)) {
    case 0:
      return {
        deviceClassName: "nic",
        capacity: { requests: { bandwidth: random.pick(["10", "30", "40", "60"]) } },
      };
    case 1: {
      const expression = `device.attributes["part.example.com"].kind == "${random.pick(["whole", "half"])}"`;
      return { deviceClassName: "part", selectors: [{ cel: { expression } }] };
    }
    case 2:
      return { deviceClassName: "gpu", count: random.int(1, 2) };
    default:
      return { deviceClassName: "gpu" };
  }
}

const containers = (random: Random): Manifest => ({
  containers: [
    {
      name: "main",
      image: "main:v1",
      resources: { requests: { cpu: random.pick(["500m", "1", "2"]), memory: random.pick(["1Gi", "2Gi"]) } },
    },
  ],
});

/** Pods that run, with claims of many kinds. */
function background(random: Random): Manifest[] {
  return random
    .list(0, 6, (i) => i)
    .flatMap((i) => {
      const priority = { priority: random.below(3) * 10, preemptionPolicy: "PreemptLowerPriority" };
      const other = pod(
        `b${i}`,
        { ...containers(random), ...priority },
        { labels: { app: random.pick(["x", "y"]) } },
      );
      if (random.chance(0.3)) return [other];
      const spec = claimSpec(randomRequest(random));
      const made = random.chance(0.5) ? template(`b${i}`, spec) : claim(`b${i}`, spec);
      const source =
        made.kind === "ResourceClaim"
          ? { resourceClaimName: `b${i}` }
          : { resourceClaimTemplateName: `b${i}` };
      return [made, withClaim(other, source)];
    });
}

/** The objects of the pod that is explained, alone or in a gang. */
function subjectObjects(random: Random, subject: Manifest, objects: Manifest[]): void {
  const kind = random.below(6);
  if (kind === 0) return;
  if (kind === 1) {
    const amounts = { "example.com/gpu": random.pick(["1", "2"]) };
    const { resources } = subject.spec.containers[0];
    subject.spec.containers[0].resources = {
      requests: { ...resources.requests, ...amounts },
      limits: amounts,
    };
    return;
  }
  const spec = claimSpec(randomRequest(random));
  if (random.chance(0.6)) {
    objects.push(template("t", spec));
    withClaim(subject, { resourceClaimTemplateName: "t" });
  } else {
    objects.push(claim("own", spec));
    withClaim(subject, { resourceClaimName: "own" });
  }
}

/** A cluster in which the pod `s` would run, as far as chance has it. */
export function baseDraft(random: Random): Draft {
  const nodes = Array.from({ length: random.int(1, 4) }, (_, i) => `n${i}`);
  const priority = { priority: random.below(3) * 10, preemptionPolicy: "Never" };
  const subject = pod("s", { ...containers(random), ...priority }, { labels: { app: "s" } });
  const objects: Manifest[] = [
    ...nodes.map((name) => node(name, random)),
    ...nodes.flatMap((name) => devicesOf(name, random)),
    ...classes(random),
    ...background(random),
  ];
  subjectObjects(random, subject, objects);
  return { random, objects, facts: noFacts(), nodes, subject, troubles: [] };
}
