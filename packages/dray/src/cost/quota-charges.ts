import { type Features, type KubeObject, Quantity } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { quotaEvaluators } from "@dray/api/quota";
import type { World } from "../manifests/world.ts";
import type { Claims } from "./claims.ts";

/**
 * Reports whether a quota counts devices: claims, devices of a class, extended resources.
 */
const isOfDevices = (name: string): boolean =>
  name === "count/resourceclaims.resource.k8s.io" ||
  name.endsWith(".deviceclass.resource.k8s.io/devices") ||
  (name.startsWith("requests.") && name.includes("/"));

/** Computes the charges of ResourceQuotas for claims and pods, as the API server does. */
export class QuotaCharges {
  readonly #usageOf: (
    resource: "pods" | "resourceclaims",
    object: KubeObject,
  ) => ReadonlyMap<string, Quantity>;
  #pods: ReadonlyMap<string, Pod> = new Map();

  constructor(world: World, features: Features) {
    const classes = world.all("DeviceClass").map(({ object }) => object);
    const evaluators = quotaEvaluators(
      {
        version: features.version,
        deviceClasses: () => classes,
        pod: (namespace, name) => this.#pods.get(`${namespace}/${name}`),
        claims: () => [],
        now: () => 0,
      },
      { extendedResources: features.enabled("DRAExtendedResource") },
    );
    this.#usageOf = (resource, object) => {
      const group = resource === "pods" ? "" : "resource.k8s.io";
      return evaluators(group, resource)?.usage(object) ?? new Map();
    };
  }

  /** Returns the charges by their names in `spec.hard`. */
  of(pods: readonly Pod[], claims: readonly Claims[]): Record<string, string> {
    this.#pods = new Map(pods.map((pod) => [`${pod.metadata.namespace}/${pod.metadata.name}`, pod]));
    const sum = new Map<string, Quantity>();
    const add = (usage: ReadonlyMap<string, Quantity>, count: number): void => {
      for (const [name, quantity] of usage)
        if (isOfDevices(name)) sum.set(name, (sum.get(name) ?? Quantity.of(0)).add(quantity.multiply(count)));
    };
    for (const pod of pods) add(this.#usageOf("pods", pod), 1);
    for (const { claim, instances } of claims) add(this.#usageOf("resourceclaims", claim), instances.size);
    return Object.fromEntries(
      [...sum].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, q]) => [name, q.toString()]),
    );
  }
}
