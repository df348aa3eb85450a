import type { PersistentVolume, PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import type { StorageClass } from "@dray/api/storage/v1";
import { partial } from "@dray/testing/partial";
import { classOfVolume, type VolumeLookup } from "../helper/volume-lookup.ts";
import { podOf } from "./plugins.ts";

/** Storage objects of a test, as plugins look them up; namespaced ones are in `d`. */
export class TestStorage implements VolumeLookup {
  readonly claims = new Map<string, PersistentVolumeClaim>();
  readonly volumes = new Map<string, PersistentVolume>();
  readonly classes = new Map<string, StorageClass>();
  readonly nodes: Record<string, object> = {};
  readonly drivers: Record<string, object> = {};
  capacities: readonly object[] = [];
  attachments: readonly { readonly spec: { readonly nodeName: string } }[] = [];
  #version = 0;

  addClaim(
    name: string,
    spec: object = {},
    more: { annotations?: object; status?: object; metadata?: object } = {},
  ): this {
    const bound = "volumeName" in spec ? { "pv.kubernetes.io/bind-completed": "yes" } : {};
    this.claims.set(
      name,
      partial<PersistentVolumeClaim>({
        kind: "PersistentVolumeClaim",
        metadata: {
          name,
          namespace: "d",
          uid: `claim-${name}`,
          resourceVersion: String(++this.#version),
          annotations: { ...bound, ...more.annotations },
          ...more.metadata,
        },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
        status: { ...more.status },
      }),
    );
    return this;
  }

  addVolume(name: string, spec: object = {}, labels: object = {}): this {
    this.volumes.set(
      name,
      partial<PersistentVolume>({
        kind: "PersistentVolume",
        metadata: { name, labels, resourceVersion: String(++this.#version) },
        spec: { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, ...spec },
        status: { phase: "Available" },
      }),
    );
    return this;
  }

  addClass(name: string, more: object = {}): this {
    this.classes.set(
      name,
      partial<StorageClass>({
        kind: "StorageClass",
        metadata: { name },
        provisioner: "csi.example.com",
        volumeBindingMode: "WaitForFirstConsumer",
        ...more,
      }),
    );
    return this;
  }

  claim(namespace: string, name: string): PersistentVolumeClaim | undefined {
    return namespace === "d" ? this.claims.get(name) : undefined;
  }
  volume(name: string): PersistentVolume | undefined {
    return this.volumes.get(name);
  }
  volumesOf(storageClass: string): readonly PersistentVolume[] {
    return [...this.volumes.values()].filter((volume) => classOfVolume(volume) === storageClass);
  }
  storageClass(name: string): StorageClass | undefined {
    return this.classes.get(name);
  }
  csiNode(name: string): never {
    return this.nodes[name] as never;
  }
  csiDriver(name: string): never {
    return this.drivers[name] as never;
  }
  capacitiesOf(storageClass: string): never {
    return this.capacities.filter(
      (each) => (each as { storageClassName: string }).storageClassName === storageClass,
    ) as never;
  }
  attachmentsOn(node: string): never {
    return this.attachments.filter(({ spec }) => spec.nodeName === node) as never;
  }
}

/** A pod with volumes of these claims. */
export function using(...claims: string[]): Pod {
  const volumes = claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }));
  return podOf({ spec: { volumes } });
}

/** The node affinity of a volume that is in a zone. */
export function inZone(...values: string[]): object {
  const matchExpressions = [{ key: "zone", operator: "In", values }];
  return { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } } };
}

/** Returns the object as the API server does: with the next version. */
export function stored<T extends { readonly metadata: { readonly resourceVersion: string } }>(object: T): T {
  const resourceVersion = String(Number(object.metadata.resourceVersion) + 1000);
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}
