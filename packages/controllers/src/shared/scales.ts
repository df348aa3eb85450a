import { type KubeObject, StatusError } from "@dray/api";
import type { Scale } from "@dray/api/autoscaling/v1";
import { type Client, createRestMapper, type DiscoveredKind } from "@dray/client";
import { groupOf } from "./owners.ts";

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
  /**
   * Rejects with a `StatusError` NotFound if there is no such object or it has no size, `NoMatchError`
   * without such a kind.
   */
  get(reference: ScaleReference): Promise<Scaled>;
  set(scaled: Scaled, replicas: number): Promise<void>;
  /**
   * For an object without a size: the resource that has none, `jobs.batch`; undefined if there is no such
   * object.
   */
  unscalable(reference: ScaleReference): Promise<string | undefined>;
}

export function scalesOf(client: Client): Scales {
  const mapper = createRestMapper(client);

  async function find({ namespace, apiVersion, kind, name }: ScaleReference) {
    const version = apiVersion.slice(apiVersion.indexOf("/") + 1);
    const found = await mapper.find({ group: groupOf(apiVersion), version, kind });
    return { found, ref: found.namespaced ? { namespace, name } : { name } };
  }

  return {
    async get(reference) {
      const { found, ref } = await find(reference);
      const scale = await client.resource<KubeObject>(found).get(ref, { subresource: "scale" });
      return { kind: found, scale: scale as Scale };
    },
    async set({ kind, scale }, replicas) {
      const changed = { ...scale, spec: { ...scale.spec, replicas } };
      await client.resource<KubeObject>(kind).update(changed, { subresource: "scale" });
    },
    async unscalable(reference) {
      const { found, ref } = await find(reference);
      try {
        await client.resource(found).get(ref);
      } catch (error) {
        if (StatusError.is(error, "NotFound")) return undefined;
        throw error;
      }
      return found.group === "" ? found.resource : `${found.resource}.${found.group}`;
    },
  };
}
