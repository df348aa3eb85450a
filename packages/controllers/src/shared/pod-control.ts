import { type Kind, type KubeObject, type NamespacedMeta, StatusError } from "@dray/api";
import { Pod, type PodTemplateSpec } from "@dray/api/core/v1";
import {
  type Client,
  type EventRecorder,
  hasReached,
  type Informer,
  isNamespaceTerminating,
} from "@dray/client";
import { controllerReference } from "./owners.ts";

type Owner = KubeObject & { metadata: NamespacedMeta };

/** Creates and deletes the pods of workloads, with events of the owner. */
export interface PodControl<O extends Owner> {
  /**
   * Makes a pod from each template, in batches that double, so that a request that is refused once is not
   * refused a thousand times. Resolves when the cache has seen those that were made; rejects with the first
   * error. Names begin with the name of the owner, or as `prefixOf` says.
   */
  create(
    owner: O,
    templates: readonly PodTemplateSpec[],
    prefixOf?: (template: PodTemplateSpec) => string,
  ): Promise<void>;
  /** Resolves when the cache has seen that they go. */
  delete(owner: O, pods: readonly Pod[]): Promise<void>;
}

export function podControl<O extends Owner>(
  client: Client,
  kind: Kind<O>,
  pods: Informer<Pod>,
  recorder: EventRecorder,
): PodControl<O> {
  const resource = client.resource(Pod);

  async function createOne(
    owner: O,
    template: PodTemplateSpec,
    generateName: string,
  ): Promise<Pod | undefined> {
    const { labels, annotations, finalizers } = template.metadata ?? {};
    try {
      const pod = await resource.create({
        metadata: {
          namespace: owner.metadata.namespace,
          generateName,
          ...(labels === undefined ? {} : { labels }),
          ...(annotations === undefined ? {} : { annotations }),
          ...(finalizers === undefined ? {} : { finalizers }),
          ownerReferences: [controllerReference(kind, owner)],
        },
        spec: template.spec,
      });
      recorder.event(owner, "Normal", "SuccessfulCreate", `Created pod: ${pod.metadata.name}`);
      return pod;
    } catch (error) {
      if (isNamespaceTerminating(error)) return undefined;
      const text = error instanceof Error ? error.message : String(error);
      recorder.event(owner, "Warning", "FailedCreate", `Error creating: ${text}`);
      throw error;
    }
  }

  return {
    async create(owner, templates, prefixOf = () => `${owner.metadata.name}-`) {
      let from = 0;
      for (let size = 1; from < templates.length; size *= 2) {
        const batch = templates.slice(from, from + size);
        from += size;
        const results = await Promise.allSettled(
          batch.map((template) => createOne(owner, template, prefixOf(template))),
        );
        const made = results.flatMap((result) =>
          result.status === "fulfilled" && result.value !== undefined ? [result.value] : [],
        );
        await Promise.all(made.map((pod) => pods.until(() => hasReached(pods, pod))));
        for (const result of results) if (result.status === "rejected") throw result.reason;
      }
    },
    async delete(owner, podsToDelete) {
      const results = await Promise.allSettled(
        podsToDelete.map(async (pod) => {
          const { namespace, name, uid } = pod.metadata;
          const ref = { namespace, name };
          try {
            await resource.delete(ref, { preconditions: { uid } });
            recorder.event(owner, "Normal", "SuccessfulDelete", `Deleted pod: ${name}`);
          } catch (error) {
            // Gone, or another pod under the same name: what was wanted.
            if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) {
              const text = error instanceof Error ? error.message : String(error);
              recorder.event(owner, "Warning", "FailedDelete", `Error deleting: ${text}`);
              throw error;
            }
          }
          await pods.until(() => {
            const now = pods.get(ref);
            return now?.metadata.uid !== uid || now.metadata.deletionTimestamp !== undefined;
          });
        }),
      );
      for (const result of results) if (result.status === "rejected") throw result.reason;
    },
  };
}
