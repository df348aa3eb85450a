import type { KubeObject } from "@dray/api";
import type {
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from "@dray/api/admissionregistration/v1";
import type { CustomResourceDefinition } from "@dray/api/apiextensions/v1";
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from "@dray/api/apps/v1";
import type { CronJob, Job } from "@dray/api/batch/v1";
import { kindOf } from "@dray/api/codec";
import type {
  Event,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Service,
} from "@dray/api/core/v1";
import type { EndpointSlice } from "@dray/api/discovery/v1";
import type { ClusterRole, ClusterRoleBinding } from "@dray/api/rbac/v1";
import type {
  DeviceClass,
  DeviceTaintRule,
  ResourceClaim,
  ResourceClaimTemplate,
  ResourceSlice,
} from "@dray/api/resource/v1";
import type { PriorityClass } from "@dray/api/scheduling/v1";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import type { KindRow } from "@dray/api/schema";
import type {
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  StorageClass,
  VolumeAttachment,
} from "@dray/api/storage/v1";
import { groupOf } from "./decode.ts";
import type { Draft } from "./documents.ts";
import { type Located, labelOfObject } from "./place.ts";

/** Kinds that scheduling does not depend on, and that a world has where they are asked for. */
interface FurtherKinds {
  CronJob: CronJob;
  ClusterRole: ClusterRole;
  ClusterRoleBinding: ClusterRoleBinding;
  CustomResourceDefinition: CustomResourceDefinition;
  EndpointSlice: EndpointSlice;
  Event: Event;
  MutatingWebhookConfiguration: MutatingWebhookConfiguration;
  Service: Service;
  ValidatingWebhookConfiguration: ValidatingWebhookConfiguration;
}

interface Kinds extends FurtherKinds {
  CSIDriver: CSIDriver;
  CSINode: CSINode;
  CSIStorageCapacity: CSIStorageCapacity;
  DaemonSet: DaemonSet;
  Deployment: Deployment;
  DeviceClass: DeviceClass;
  DeviceTaintRule: DeviceTaintRule;
  Job: Job;
  Namespace: Namespace;
  Node: Node;
  PersistentVolume: PersistentVolume;
  PersistentVolumeClaim: PersistentVolumeClaim;
  Pod: Pod;
  PodGroup: PodGroup;
  PriorityClass: PriorityClass;
  ReplicaSet: ReplicaSet;
  ResourceClaim: ResourceClaim;
  ResourceClaimTemplate: ResourceClaimTemplate;
  ResourceSlice: ResourceSlice;
  StatefulSet: StatefulSet;
  StorageClass: StorageClass;
  VolumeAttachment: VolumeAttachment;
}

/** The kinds of a world, by `group/kind`; version v1 of their group by default. */
const worldKinds = kindTable([
  ["", "Node"],
  ["", "Pod"],
  ["", "Namespace"],
  ["", "PersistentVolume"],
  ["", "PersistentVolumeClaim"],
  ["apps", "DaemonSet"],
  ["apps", "Deployment"],
  ["apps", "ReplicaSet"],
  ["apps", "StatefulSet"],
  ["batch", "Job"],
  ["resource.k8s.io", "DeviceClass"],
  ["resource.k8s.io", "DeviceTaintRule"],
  ["resource.k8s.io", "ResourceClaim"],
  ["resource.k8s.io", "ResourceClaimTemplate"],
  ["resource.k8s.io", "ResourceSlice"],
  ["scheduling.k8s.io", "PodGroup", "v1beta1"],
  ["scheduling.k8s.io", "PriorityClass"],
  ["storage.k8s.io", "CSIDriver"],
  ["storage.k8s.io", "CSINode"],
  ["storage.k8s.io", "CSIStorageCapacity"],
  ["storage.k8s.io", "StorageClass"],
  ["storage.k8s.io", "VolumeAttachment"],
]);

/** The further kinds, in the same form. */
const furtherKinds = kindTable([
  ["", "Event"],
  ["batch", "CronJob"],
  ["", "Service"],
  ["discovery.k8s.io", "EndpointSlice"],
  ["rbac.authorization.k8s.io", "ClusterRole"],
  ["rbac.authorization.k8s.io", "ClusterRoleBinding"],
  ["admissionregistration.k8s.io", "MutatingWebhookConfiguration"],
  ["admissionregistration.k8s.io", "ValidatingWebhookConfiguration"],
  ["apiextensions.k8s.io", "CustomResourceDefinition"],
]);

function kindTable(kinds: readonly (readonly string[])[]): ReadonlyMap<string, KindRow> {
  return new Map(
    kinds.map(([group = "", kind = "", version = "v1"]) => {
      const row = kindOf(group, version, kind);
      if (row === undefined) throw new Error(`the API has no ${kind} in ${group}/${version}`);
      return [`${group}/${kind}`, row];
    }),
  );
}

/**
 * Returns the row of a kind in a world; undefined for other kinds. `further`: the kinds that scheduling does
 * not depend on and that the world has too.
 */
export function worldKind(
  { apiVersion, kind }: Pick<Draft, "apiVersion" | "kind">,
  further: ReadonlySet<string> = none,
): KindRow | undefined {
  const key = `${groupOf(apiVersion)}/${kind}`;
  return worldKinds.get(key) ?? (further.has(kind) ? furtherKinds.get(key) : undefined);
}

const none: ReadonlySet<string> = new Set();

/** Returns the rows of the further kinds of this set. */
export const furtherRows = (kinds: ReadonlySet<string>): readonly KindRow[] =>
  [...furtherKinds.values()].filter(({ kind }) => kinds.has(kind));

/** Returns the row of a kind in a world. Throws for other kinds. */
export function worldRow(target: Pick<Draft, "apiVersion" | "kind">): KindRow {
  const row = worldKind(target, new Set([target.kind]));
  if (row === undefined) throw new Error(`a world has no ${target.kind} of ${target.apiVersion}`);
  return row;
}

/** Objects that scheduling depends on: each as a server would store it, with its position. */
export class World {
  readonly #objects: readonly Located[];
  readonly #byName = new Map<string, Located>();
  /** Cached lists, by kinds. */
  readonly #lists = new Map<string, readonly Located[]>();
  #slices: ReadonlyMap<string | undefined, readonly Located<ResourceSlice>[]> | undefined;

  readonly #unreadable: ReadonlySet<string>;
  readonly #leftOut: ReadonlySet<string>;

  /**
   * `unreadable`: kinds of which a cluster may have more objects; `leftOut`: labels of objects that the
   * manifests have, and that are not valid.
   */
  constructor(
    objects: readonly Located[],
    unreadable: ReadonlySet<string> = none,
    leftOut: ReadonlySet<string> = none,
  ) {
    this.#objects = objects;
    this.#unreadable = unreadable;
    this.#leftOut = leftOut;
    for (const each of objects) this.#byName.set(labelOfObject(each.object), each);
  }

  get objects(): readonly Located[] {
    return this.#objects;
  }

  /** Returns the objects of these kinds in the given order. */
  all<K extends keyof Kinds>(...kinds: readonly K[]): readonly Located<Kinds[K]>[] {
    const wanted: readonly string[] = kinds;
    const key = kinds.join();
    const known = this.#lists.get(key);
    const found: unknown = known ?? this.#objects.filter(({ object }) => wanted.includes(object.kind));
    this.#lists.set(key, found as readonly Located[]);
    return found as readonly Located<Kinds[K]>[];
  }

  /** Returns the slices that only this node can reach. */
  slicesOf(node: string): readonly Located<ResourceSlice>[] {
    this.#slices ??= Map.groupBy(this.all("ResourceSlice"), ({ object }) => object.spec.nodeName);
    return this.#slices.get(node) ?? [];
  }

  /** `name` is `namespace/name` of a namespaced object. */
  find<K extends keyof Kinds>(kind: K, name: string): Kinds[K] | undefined {
    const found: unknown = this.#byName.get(`${kind} ${name}`)?.object;
    return found as Kinds[K] | undefined;
  }

  /** Returns the object of that kind and name. */
  get(object: KubeObject): KubeObject | undefined {
    return this.located(object)?.object;
  }

  /** Returns the object with its position. */
  located(object: KubeObject): Located | undefined {
    return this.#byName.get(labelOfObject(object));
  }

  /** Returns a world with other objects of the same cluster. */
  of(objects: readonly Located[]): World {
    return new World(objects, this.#unreadable, this.#leftOut);
  }

  /** Returns a world in which these kinds are unreadable, too. */
  without(kinds: readonly string[]): World {
    return new World(this.#objects, this.#unreadable.union(new Set(kinds)), this.#leftOut);
  }

  /** Returns a world with additional objects. */
  with(more: readonly Located[]): World {
    return this.of([...this.#objects, ...more]);
  }

  /** Returns a world in which objects replace those of the same name. */
  overlaid(more: readonly Located[]): World {
    const key = ({ object }: Located): string => labelOfObject(object);
    const replaced = new Set(more.map(key));
    return this.of([...this.#objects.filter((each) => !replaced.has(key(each))), ...more]);
  }

  /** Reports whether the manifests have such an object that is not valid. `name` as in `find`. */
  isLeftOut(kind: keyof Kinds, name: string): boolean {
    return this.#leftOut.has(`${kind} ${name}`);
  }

  /** False: the cluster may have more objects of the kind. */
  isReadable(kind: keyof Kinds): boolean {
    return !this.#unreadable.has(kind);
  }
}
