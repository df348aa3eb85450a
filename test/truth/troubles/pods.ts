/** Troubles of the pod, of nodes, of volumes and of the schedule. */
import { type Draft, type Manifest, pod } from "../draft.ts";
import type { Trouble } from "./devices.ts";

const container = ({ subject }: Draft): Manifest => subject.spec.containers[0];

function request(draft: Draft, resource: string, amount: string): boolean {
  const { resources = {} } = container(draft);
  container(draft).resources = { ...resources, requests: { ...resources.requests, [resource]: amount } };
  return true;
}

/** Pods that fill nodes; the scheduler places them before the subject. */
function filler(draft: Draft, requests: Manifest): boolean {
  const [resource] = Object.keys(requests);
  const count = draft.random.int(1, 4);
  for (let i = 0; i < count; i++) {
    const containers = [{ name: "main", image: "main:v1", resources: { requests } }];
    const priority = draft.random.below(3) * 10;
    draft.objects.push(pod(`f${i}-${resource}`, { containers, priority, preemptionPolicy: "Never" }));
  }
  return true;
}

/** Returns false if the pod has the volume already. */
function volume({ subject: { spec } }: Draft, claimName: string): boolean {
  if (spec.volumes !== undefined) return false;
  spec.volumes = [{ name: claimName, persistentVolumeClaim: { claimName } }];
  return true;
}

const volumeClaim = (name: string, spec: Manifest, more: Manifest = {}): Manifest => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name, namespace: "default", ...more.metadata },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
  status: { phase: "Pending", ...more.status },
});

const storageClass = (name: string, volumeBindingMode: string): Manifest => ({
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name },
  provisioner: "csi.example.com",
  reclaimPolicy: "Delete",
  volumeBindingMode,
});

export const podTroubles: Readonly<Record<string, Trouble>> = {
  "too much cpu": (draft) => request(draft, "cpu", draft.random.pick(["7", "9", "20"])),
  "too much memory": (draft) => request(draft, "memory", draft.random.pick(["15Gi", "20Gi"])),
  "cpu is full": (draft) => filler(draft, { cpu: "6" }) && request(draft, "cpu", "3"),
  "memory is full": (draft) => filler(draft, { memory: "12Gi" }) && request(draft, "memory", "6Gi"),
  "host port in use": (draft) => {
    const ports = [{ containerPort: 80, hostPort: 8080 }];
    draft.nodes.forEach((_, i) => {
      draft.objects.push(pod(`p${i}`, { containers: [{ name: "main", image: "main:v1", ports }] }));
    });
    container(draft).ports = ports;
    return true;
  },
  "too many pods": (draft) => {
    for (const { kind, status } of draft.objects)
      if (kind === "Node" && draft.random.chance(0.8))
        status.allocatable.pods = String(draft.random.below(2));
    return true;
  },
  "node selector": (draft) => {
    draft.subject.spec.nodeSelector = { zone: draft.random.pick(["z0", "z1", "z9"]) };
    return true;
  },
  "node affinity": (draft) => {
    const matchExpressions = [{ key: "zone", operator: "In", values: [draft.random.pick(["z0", "z9"])] }];
    const required = { nodeSelectorTerms: [{ matchExpressions }] };
    draft.subject.spec.affinity = {
      ...draft.subject.spec.affinity,
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required },
    };
    return true;
  },
  "nodes tainted": (draft) => {
    for (const { kind, spec } of draft.objects)
      if (kind === "Node" && draft.random.chance(0.8))
        spec.taints = [{ key: "team", value: "a", effect: "NoSchedule" }];
    return true;
  },
  "nodes not ready": (draft) => {
    const condition = draft.random.pick(["not-ready", "unreachable", "disk-pressure"]);
    for (const { kind, spec, status } of draft.objects) {
      if (kind !== "Node" || !draft.random.chance(0.8)) continue;
      const taint = { key: `node.kubernetes.io/${condition}`, effect: "NoSchedule" };
      spec.taints = [...(spec.taints ?? []), taint];
      if (condition !== "disk-pressure")
        status.conditions = [{ type: "Ready", status: "False", reason: "KubeletNotReady" }];
    }
    return true;
  },
  "nodes cordoned": (draft) => {
    for (const { kind, spec } of draft.objects)
      if (kind === "Node" && draft.random.chance(0.8)) spec.unschedulable = true;
    return true;
  },
  "pod anti-affinity": (draft) => {
    const labelSelector = { matchLabels: { app: draft.random.pick(["x", "y"]) } };
    const terms = [{ labelSelector, topologyKey: draft.random.pick(["kubernetes.io/hostname", "zone"]) }];
    draft.subject.spec.affinity = {
      ...draft.subject.spec.affinity,
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms },
    };
    return true;
  },
  "pod affinity": (draft) => {
    const labelSelector = { matchLabels: { app: draft.random.pick(["x", "nobody"]) } };
    const terms = [{ labelSelector, topologyKey: "kubernetes.io/hostname" }];
    draft.subject.spec.affinity = {
      ...draft.subject.spec.affinity,
      podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms },
    };
    return true;
  },
  "topology spread": (draft) => {
    const labelSelector = { matchLabels: { app: "s" } };
    const key = draft.random.pick(["zone", "kubernetes.io/hostname", "lacking"]);
    draft.subject.spec.topologySpreadConstraints = [
      { maxSkew: 1, topologyKey: key, whenUnsatisfiable: "DoNotSchedule", labelSelector },
    ];
    draft.objects.push(pod("s-other", { nodeSelector: { zone: "z0" } }, { labels: { app: "s" } }));
    return true;
  },
  "scheduling gate": (draft) => {
    draft.subject.spec.schedulingGates = [{ name: "example.com/gate" }];
    return true;
  },
  "scheduler does not run": (draft) => {
    draft.subject.spec.schedulerName = "odd";
    draft.facts.deadSchedulers.add("odd");
    return true;
  },
  "unknown extended resource": (draft) => {
    const { resources = {} } = container(draft);
    const amounts = { "example.com/gqu": "1" };
    container(draft).resources = {
      ...resources,
      requests: { ...resources.requests, ...amounts },
      limits: { ...resources.limits, ...amounts },
    };
    return true;
  },
  "volume claim missing": (draft) => {
    return volume(draft, "data");
  },
  "volume not bound": (draft) => {
    if (!volume(draft, "data")) return false;
    const storageClassName = draft.random.pick(["fast", "slow", ""]);
    draft.objects.push(storageClass("slow", "Immediate"), volumeClaim("data", { storageClassName }));
    return true;
  },
  "volume elsewhere": (draft) => {
    if (!volume(draft, "data")) return false;
    const values = [draft.random.pick([...draft.nodes, "gone"])];
    const term = { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values }] };
    const metadata = { annotations: { "pv.kubernetes.io/bind-completed": "yes" } };
    draft.objects.push(
      volumeClaim(
        "data",
        { storageClassName: "slow", volumeName: "v" },
        { metadata, status: { phase: "Bound" } },
      ),
      {
        apiVersion: "v1",
        kind: "PersistentVolume",
        metadata: { name: "v" },
        spec: {
          accessModes: ["ReadWriteOnce"],
          capacity: { storage: "1Gi" },
          storageClassName: "slow",
          persistentVolumeReclaimPolicy: "Delete",
          csi: { driver: "csi.example.com", volumeHandle: "v" },
          nodeAffinity: { required: { nodeSelectorTerms: [term] } },
        },
        status: { phase: "Bound" },
      },
    );
    return true;
  },
  "volume waits for the pod": (draft) => {
    if (!volume(draft, "data")) return false;
    draft.objects.push(
      storageClass("late", "WaitForFirstConsumer"),
      volumeClaim("data", { storageClassName: "late" }),
    );
    return true;
  },
  quota: (draft) => {
    if (draft.subject.spec.resourceClaims?.[0]?.resourceClaimTemplateName === undefined) return false;
    const hard = { "count/resourceclaims.resource.k8s.io": "0" };
    draft.objects.push({
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "q", namespace: "default" },
      spec: { hard },
      status: { hard, used: { "count/resourceclaims.resource.k8s.io": "0" } },
    });
    return true;
  },
  "more important pods wait": (draft) => {
    const { subject } = draft;
    const count = draft.random.int(1, 2);
    for (let i = 0; i < count; i++) {
      const rival = structuredClone(subject);
      rival.metadata = { ...rival.metadata, name: `rival-${i}` };
      rival.spec.priority = 100;
      draft.objects.push(rival);
    }
    return subject.spec.resourceClaims?.[0]?.resourceClaimName === undefined;
  },
};

function group(draft: Draft, minCount: number, pods: number): boolean {
  const { objects, subject } = draft;
  const [claimed] = subject.spec.resourceClaims ?? [];
  if (claimed?.resourceClaimName !== undefined || subject.spec.topologySpreadConstraints !== undefined)
    return false;
  objects.push({
    apiVersion: "scheduling.k8s.io/v1beta1",
    kind: "PodGroup",
    metadata: { name: "g", namespace: "default" },
    spec: { schedulingPolicy: { gang: { minCount } }, priority: subject.spec.priority },
  });
  subject.spec.schedulingGroup = { podGroupName: "g" };
  for (let i = 1; i < pods; i++) {
    const other = structuredClone(subject);
    other.metadata = { ...other.metadata, name: `s${i}` };
    objects.push(other);
  }
  return true;
}

/** Groups come last: their pods are copies of the subject. */
export const groupTroubles: Readonly<Record<string, Trouble>> = {
  gang: (draft) => {
    const pods = draft.random.int(2, 4);
    return group(draft, draft.random.chance(0.7) ? pods : pods - 1, pods);
  },
  "gang too small": (draft) => group(draft, 4, 2),
  "group missing": (draft) => {
    draft.subject.spec.schedulingGroup = { podGroupName: "lacking" };
    return true;
  },
};

/** Troubles on the node of a pod that a scheduler has bound. */
export const nodeTroubles: Readonly<Record<string, Trouble>> = {
  "driver not registered": ({ facts, nodes }) => {
    for (const node of nodes)
      for (const name of ["gpu", "nic", "part"]) facts.unregistered.add(`${node}/${name}.example.com`);
    return true;
  },
  "prepare fails": ({ facts }) => {
    for (const name of ["gpu", "nic", "part"])
      facts.prepareErrors.set(`${name}.example.com`, "device is on fire");
    return true;
  },
  "prepare failed before": ({ facts }) => {
    for (const name of ["gpu", "nic", "part"])
      facts.pastPrepareErrors.set(`${name}.example.com`, "device was busy");
    return true;
  },
  "prepare hangs": ({ facts }) => {
    for (const name of ["gpu", "nic", "part"]) facts.hanging.add(`${name}.example.com`);
    return true;
  },
  "image missing": ({ facts }) => facts.missingImages.add("main:v1").size > 0,
  "configuration missing": ({ facts }) => facts.missingConfig.add("main").size > 0,
  "volume cannot be mounted": (draft) => {
    draft.subject.spec.volumes = [
      ...(draft.subject.spec.volumes ?? []),
      { name: "conf", configMap: { name: "conf" } },
    ];
    return draft.facts.unmountable.add("conf").size > 0;
  },
  "node not ready": ({ facts, nodes }) => {
    for (const node of nodes) facts.notReady.add(node);
    return true;
  },
};
