/** A random cluster in the making: manifests, facts of its nodes, and the pod that is explained. */
import type { KubeObject } from "@dray/api";
import type { Random } from "@dray/testing/random";

// biome-ignore lint/suspicious/noExplicitAny: free-form JSON, which the reader of manifests validates
export type Manifest = any;

/** A stored object with free-form fields. */
export interface Stored extends KubeObject {
  spec: Manifest;
  status?: Manifest;
}

/** Facts that only kubelets and drivers know. */
export interface Facts {
  /** `node/driver` of plugins that do not run. */
  readonly unregistered: Set<string>;
  /** Drivers that cannot prepare claims, with their error. */
  readonly prepareErrors: Map<string, string>;
  /** Drivers that failed to prepare once, and succeeded later. */
  readonly pastPrepareErrors: Map<string, string>;
  /** Drivers that never answer. */
  readonly hanging: Set<string>;
  readonly missingImages: Set<string>;
  /** ConfigMaps that containers need and that do not exist. */
  readonly missingConfig: Set<string>;
  /** Volumes that cannot be mounted. */
  readonly unmountable: Set<string>;
  readonly notReady: Set<string>;
  /** Drivers that do not report the binding conditions of their devices. */
  readonly detached: Set<string>;
  /** Schedulers that do not run. */
  readonly deadSchedulers: Set<string>;
  /** How containers end each time, by their names. */
  readonly failing: Map<string, Failure>;
  /** Names of pods that their node evicts for want of memory. */
  readonly evicted: Set<string>;
  /** Names of pods that somebody deletes as soon as they run or wait for something. */
  readonly deleted: Set<string>;
  /** Containers that ignore SIGTERM. */
  readonly stubborn: Set<string>;
  /** Drivers that cannot unprepare claims, with their error. */
  readonly unprepareErrors: Map<string, string>;
}

/** End of a container (core/v1 ContainerStateTerminated). */
export interface Failure {
  readonly exitCode: number;
  readonly reason: string;
}

export const noFacts = (): Facts => ({
  unregistered: new Set(),
  prepareErrors: new Map(),
  pastPrepareErrors: new Map(),
  hanging: new Set(),
  missingImages: new Set(),
  missingConfig: new Set(),
  unmountable: new Set(),
  notReady: new Set(),
  detached: new Set(),
  deadSchedulers: new Set(),
  failing: new Map(),
  evicted: new Set(),
  deleted: new Set(),
  stubborn: new Set(),
  unprepareErrors: new Map(),
});

export interface Draft {
  readonly random: Random;
  /** In the order in which they were created. */
  readonly objects: Manifest[];
  readonly facts: Facts;
  readonly nodes: readonly string[];
  /** The pod that is explained; others of its group have the same spec. */
  readonly subject: Manifest;
  /** Names of the added troubles, for messages. */
  readonly troubles: string[];
}

export const pool = (name: string, slices = 1): Manifest => ({
  name,
  generation: 1,
  resourceSliceCount: slices,
});

export const slice = (name: string, spec: Manifest): Manifest => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceSlice",
  metadata: { name },
  spec,
});

export const deviceClass = (name: string, expression: string, more: Manifest = {}): Manifest => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "DeviceClass",
  metadata: { name },
  spec: { selectors: [{ cel: { expression } }], ...more },
});

export const claimSpec = (exactly: Manifest, more: Manifest = {}): Manifest => ({
  devices: { requests: [{ name: "r", exactly: { deviceClassName: "gpu", ...exactly } }], ...more },
});

export const claim = (name: string, spec: Manifest): Manifest => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceClaim",
  metadata: { name, namespace: "default" },
  spec,
});

export const template = (name: string, spec: Manifest): Manifest => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceClaimTemplate",
  metadata: { name, namespace: "default" },
  spec: { spec },
});

export const pod = (name: string, spec: Manifest = {}, metadata: Manifest = {}): Manifest => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default", ...metadata },
  spec: { containers: [{ name: "main", image: "main:v1", resources: { requests: { cpu: "1" } } }], ...spec },
});

/** Adds a claim to a pod, for its first container. */
export function withClaim(object: Manifest, source: Manifest, name = "c"): Manifest {
  const { spec } = object;
  spec.resourceClaims = [...(spec.resourceClaims ?? []), { name, ...source }];
  const { resources = {} } = spec.containers[0];
  spec.containers[0].resources = { ...resources, claims: [...(resources.claims ?? []), { name }] };
  return object;
}

/** The spec of the claim or template that the subject uses; undefined if it has none. */
export function subjectClaim({ objects, subject }: Draft): Manifest | undefined {
  const [entry] = subject.spec.resourceClaims ?? [];
  if (entry === undefined) return undefined;
  const name = entry.resourceClaimName ?? entry.resourceClaimTemplateName;
  const kind = entry.resourceClaimName === undefined ? "ResourceClaimTemplate" : "ResourceClaim";
  const found = objects.find((each) => each.kind === kind && each.metadata.name === name);
  return kind === "ResourceClaim" ? found?.spec : found?.spec.spec;
}

/** The body of the first request of that claim. */
export function subjectRequest(draft: Draft): Manifest | undefined {
  const request = subjectClaim(draft)?.devices.requests[0];
  return request?.exactly ?? request?.firstAvailable?.[0];
}

export const slicesOf = ({ objects }: Draft, driver: string): Manifest[] =>
  objects.filter(({ kind, spec }) => kind === "ResourceSlice" && spec.driver === driver);
