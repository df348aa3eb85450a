/** Random nodes, storage and pods that use what the scheduler's plugins look at. */
import { Random } from "@dray/testing/random";

export class Maker extends Random {
  /** The object, or nothing that can be spread. */
  maybe<T extends object>(probability: number, make: () => T): Partial<T> {
    return this.chance(probability) ? make() : {};
  }
}

const zones = ["z1", "z2", "z3"];
const zoneKey = "topology.kubernetes.io/zone";
const hostKey = "kubernetes.io/hostname";
const apps = ["a", "b", "c"];
const images = ["small:1", "large:1", "huge:1", "none:1"];
const megabyte = 1024 * 1024;
const imageSizes: Readonly<Record<string, number>> = { "small:1": 30, "large:1": 400, "huge:1": 1500 };
const gpu = "example.com/gpu";

export interface NodeDraft {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: object;
  readonly status: object;
}

export function nodeDraft(make: Maker, name: string): NodeDraft {
  const taints = make.some(
    [
      { key: "dedicated", value: "x", effect: "NoSchedule" },
      { key: "slow", effect: "PreferNoSchedule" },
      { key: "old", value: "y", effect: "PreferNoSchedule" },
      {
        key: "load",
        value: make.pick(["3", "12", "007", "many"]),
        effect: make.pick(["NoSchedule", "PreferNoSchedule"]),
      },
    ],
    0.2,
  );
  const amounts = {
    cpu: make.pick(["2", "4", "8", "3500m"]),
    memory: make.pick(["4Gi", "8Gi", "12345678Ki", "16Gi"]),
    "ephemeral-storage": make.pick(["10Gi", "50Gi"]),
    pods: make.pick(["5", "20", "110"]),
    ...make.maybe(0.5, () => ({ [gpu]: make.pick(["1", "4"]) })),
  };
  return {
    metadata: {
      name,
      labels: {
        ...make.maybe(0.9, () => ({ [hostKey]: name })),
        ...make.maybe(0.8, () => ({ [zoneKey]: make.pick(zones) })),
        disk: make.pick(["ssd", "hdd"]),
        size: String(make.int(1, 9)),
      },
    },
    spec: { taints, ...make.maybe(0.1, () => ({ unschedulable: true })) },
    status: {
      capacity: amounts,
      allocatable: amounts,
      images: make
        .some(Object.keys(imageSizes), 0.5)
        .map((image) => ({ names: [image], sizeBytes: imageSizes[image]! * megabyte })),
      ...make.maybe(0.5, () => ({ declaredFeatures: ["RestartAllContainersOnContainerExits"] })),
    },
  };
}

/** Claims that pods use by name, with the volume of each. */
export function storageDrafts(make: Maker, count: number): { volume: object; claim: object; name: string }[] {
  return Array.from({ length: count }, (_, i) => {
    const name = `claim-${i}`;
    const accessModes = [make.pick(["ReadWriteOnce", "ReadWriteOncePod", "ReadWriteMany"])];
    const inZones = make.some(zones, 0.6);
    const matchExpressions = [{ key: zoneKey, operator: "In", values: inZones }];
    const volume = {
      metadata: {
        name: `volume-${i}`,
        ...make.maybe(0.3, () => ({ labels: { [zoneKey]: make.pick(["z1", "z1__z2", "z3"]) } })),
      },
      spec: {
        capacity: { storage: "1Gi" },
        accessModes,
        csi: { driver: "csi.example.com", volumeHandle: `handle-${i}` },
        ...(inZones.length > 0 && {
          nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } },
        }),
      },
    };
    const claim = {
      metadata: { name, annotations: { "pv.kubernetes.io/bind-completed": "yes" } },
      spec: {
        accessModes,
        storageClassName: "",
        volumeName: `volume-${i}`,
        resources: { requests: { storage: "1Gi" } },
      },
    };
    return { name, volume, claim };
  });
}

function labelSelector(make: Maker): object {
  return make.pick([
    { matchLabels: { app: make.pick(apps) } },
    { matchExpressions: [{ key: "app", operator: "In", values: make.some(apps, 0.6).concat("x") }] },
    { matchExpressions: [{ key: "tier", operator: "Exists" }] },
  ]);
}

function podTerm(make: Maker): object {
  return {
    labelSelector: labelSelector(make),
    topologyKey: make.pick([hostKey, zoneKey]),
    ...make.maybe(0.2, () => ({ namespaceSelector: make.pick([{}, { matchLabels: { team: "two" } }]) })),
    ...make.maybe(0.2, () => ({ matchLabelKeys: ["rev"] })),
  };
}

function podAffinity(make: Maker): object {
  const preferred = () => ({ weight: make.int(1, 100), podAffinityTerm: podTerm(make) });
  return {
    ...make.maybe(0.3, () => ({ requiredDuringSchedulingIgnoredDuringExecution: [podTerm(make)] })),
    preferredDuringSchedulingIgnoredDuringExecution: make.chance(0.6) ? [preferred(), preferred()] : [],
  };
}

function nodeTerm(make: Maker): object {
  return make.pick([
    { matchExpressions: [{ key: "disk", operator: "In", values: ["ssd"] }] },
    { matchExpressions: [{ key: "size", operator: "Gt", values: [String(make.int(1, 6))] }] },
    { matchExpressions: [{ key: zoneKey, operator: "NotIn", values: [make.pick(zones)] }] },
    { matchExpressions: [{ key: zoneKey, operator: "Exists" }] },
    { matchFields: [{ key: "metadata.name", operator: "NotIn", values: ["n3"] }] },
  ]);
}

function nodeAffinity(make: Maker): object {
  const preferred = () => ({ weight: make.int(1, 100), preference: nodeTerm(make) });
  return {
    ...make.maybe(0.4, () => ({
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [nodeTerm(make), nodeTerm(make)] },
    })),
    preferredDuringSchedulingIgnoredDuringExecution: make.chance(0.6) ? [preferred(), preferred()] : [],
  };
}

function spreadConstraint(make: Maker): object {
  const whenUnsatisfiable = make.pick(["DoNotSchedule", "ScheduleAnyway", "ScheduleAnyway"]);
  return {
    maxSkew: make.int(1, 3),
    topologyKey: make.pick([hostKey, zoneKey]),
    whenUnsatisfiable,
    labelSelector: labelSelector(make),
    ...make.maybe(0.3, () => ({ matchLabelKeys: ["rev"] })),
    ...make.maybe(0.3, () => ({ nodeTaintsPolicy: make.pick(["Honor", "Ignore"]) })),
    ...make.maybe(0.3, () => ({ nodeAffinityPolicy: make.pick(["Honor", "Ignore"]) })),
    ...(whenUnsatisfiable === "DoNotSchedule" && make.maybe(0.3, () => ({ minDomains: make.int(1, 4) }))),
  };
}

/** Two constraints on one topology are not allowed twice with the same action. */
function spreadConstraints(make: Maker): object[] {
  const constraints = [spreadConstraint(make), spreadConstraint(make)];
  const key = (constraint: object): string => {
    const { topologyKey, whenUnsatisfiable } = constraint as {
      topologyKey: string;
      whenUnsatisfiable: string;
    };
    return `${topologyKey} ${whenUnsatisfiable}`;
  };
  return key(constraints[0]!) === key(constraints[1]!) ? constraints.slice(1) : constraints;
}

function requests(make: Maker): object {
  return {
    ...make.maybe(0.7, () => ({ cpu: make.pick(["100m", "250m", "1", "1500m"]) })),
    ...make.maybe(0.7, () => ({ memory: make.pick(["64Mi", "500M", "1Gi", "3Gi"]) })),
    ...make.maybe(0.2, () => ({ "ephemeral-storage": make.pick(["1Gi", "9Gi"]) })),
  };
}

export interface PodChoices {
  readonly claims: readonly string[];
  /** ReplicaSets that may own the pod, with their UIDs. */
  readonly owners: readonly { readonly name: string; readonly uid: string; readonly app: string }[];
}

/** A pod that asks for a few things of all that it could ask for. */
export function podDraft(make: Maker, name: string, { claims, owners }: PodChoices): object {
  const owner = make.chance(0.3) ? make.pick(owners) : undefined;
  const limits = make.chance(0.15) ? { [gpu]: make.pick(["1", "2"]) } : {};
  const container = (index: number, more: object = {}): object => ({
    name: `c${index}`,
    image: make.pick(images),
    resources: {
      requests: { ...requests(make), ...(index === 0 ? limits : {}) },
      ...(index === 0 && { limits }),
    },
    ...more,
  });
  const ports = make.maybe(0.15, () => ({
    ports: [{ containerPort: 80, hostPort: make.int(8000, 8002), protocol: make.pick(["TCP", "UDP"]) }],
  }));
  const restartPolicyRules = [{ action: "RestartAllContainers", exitCodes: { operator: "In", values: [9] } }];
  const restarts = make.maybe(0.1, () => ({ restartPolicy: "Never", restartPolicyRules }));
  const affinity = {
    ...make.maybe(0.3, () => ({ nodeAffinity: nodeAffinity(make) })),
    ...make.maybe(0.3, () => ({ podAffinity: podAffinity(make) })),
    ...make.maybe(0.3, () => ({ podAntiAffinity: podAffinity(make) })),
  };
  return {
    metadata: {
      name,
      labels: {
        app: owner?.app ?? make.pick(apps),
        ...make.maybe(0.5, () => ({ tier: make.pick(["front", "back"]) })),
        rev: make.pick(["1", "2"]),
      },
      ...(owner && {
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "ReplicaSet", name: owner.name, uid: owner.uid, controller: true },
        ],
      }),
    },
    spec: {
      containers: [container(0, { ...ports, ...restarts }), ...(make.chance(0.3) ? [container(1)] : [])],
      ...make.maybe(0.3, () => ({
        initContainers: [
          container(
            2,
            make.maybe(0.5, () => ({ restartPolicy: "Always" })),
          ),
        ],
      })),
      ...make.maybe(0.2, () => ({ nodeSelector: { disk: make.pick(["ssd", "hdd"]) } })),
      ...make.maybe(0.3, () => ({
        tolerations: make.some(
          [
            { key: "dedicated", operator: "Exists" },
            { key: "slow", operator: "Exists", effect: "PreferNoSchedule" },
            { operator: "Exists" },
            { key: "load", operator: make.pick(["Lt", "Gt"]), value: make.pick(["5", "-10", "12"]) },
          ],
          0.5,
        ),
      })),
      ...make.maybe(0.5, () => ({ topologySpreadConstraints: spreadConstraints(make) })),
      ...make.maybe(0.15, () => ({
        volumes: make.some(claims, 0.3).map((claimName) => ({
          name: claimName,
          persistentVolumeClaim: { claimName },
        })),
      })),
      affinity,
    },
  };
}
