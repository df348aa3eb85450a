import {
  type Kind,
  type KubeObject,
  type LabelSelection,
  matchesIfValid,
  type NamespacedMeta,
} from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { type Informer, keyOf } from "@dray/client";
import { controllerOf, refersTo } from "./owners.ts";

type Owner = KubeObject & { metadata: NamespacedMeta };

/** Owners of pods of one kind. */
interface PodOwners<O extends KubeObject> {
  readonly kind: Kind<O>;
  readonly owners: Informer<O>;
  readonly selectorOf: (owner: O) => LabelSelection;
}

/**
 * Calls `changed` with the key of the owner that manages a pod which has changed; of a pod without a
 * controller, with the keys of those that might adopt it. The cache of the owners needs the index
 * `namespace`.
 */
export function followPods<O extends Owner>(
  pods: Informer<Pod>,
  { kind, owners, selectorOf }: PodOwners<O>,
  changed: (key: string) => void,
): void {
  function podChanged(pod: Pod, old?: Pod): void {
    const controller = controllerOf(pod);
    if (old !== undefined && controllerOf(old)?.uid !== controller?.uid) podChanged(old);
    const { namespace, labels } = pod.metadata;
    if (controller !== undefined) {
      if (refersTo(kind, controller)) changed(keyOf({ namespace, name: controller.name }));
      return;
    }
    for (const owner of owners.byIndex("namespace", namespace))
      if (matchesIfValid(() => selectorOf(owner), labels)) changed(keyOf(owner.metadata));
  }
  pods.handle({ add: podChanged, update: podChanged, delete: podChanged });
}
