import { type KubeObject, StatusError } from "@dray/api";
import type { Scale } from "@dray/api/autoscaling/v1";
import { type Client, createRestMapper, type DiscoveredKind } from "@dray/client";
import { groupOf } from "../owners.ts";

/** Names an object that may have a size: an owner, or the target of an autoscaler. */
export interface ScaleReference {
  readonly namespace: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
}

/** The size of an object of any kind, custom resources among them. */
export interface Scaled {
  readonly kind: DiscoveredKind;
  readonly scale: Scale;
}

/** Reads and writes the subresource `scale`. */
export interface Scales {
  /** Rejects with a `StatusError` NotFound if there is no such object or it has no size, `NoMatchError` without such a kind. */
  get(reference: ScaleReference): Promise<Scaled>;
  set(scaled: Scaled, replicas: number): Promise<void>;
}

export function scalesOf(client: Client): Scales {
  const mapper = createRestMapper(client);
  return {
    async get({ namespace, apiVersion, kind, name }) {
      const version = apiVersion.slice(apiVersion.indexOf("/") + 1);
      const found = await mapper.find({ group: groupOf(apiVersion), version, kind });
      const ref = found.namespaced ? { namespace, name } : { name };
      const scale = await client.resource(found).get(ref, { subresource: "scale" });
      return { kind: found, scale: scale as unknown as Scale };
    },
    async set({ kind, scale }, replicas) {
      const changed: KubeObject = { ...scale, spec: { ...scale.spec, replicas } } as KubeObject;
      await client.resource(kind).update(changed as never, { subresource: "scale" });
    },
  };
}

/** Whether there is nothing of that name to scale. */
export function isMissing(error: unknown): boolean {
  return StatusError.is(error, "NotFound");
}
