import type { KubeObject } from "@dray/api";
import { withDefaultNames } from "../strategies/customresourcedefinitions.ts";
import { withTemplateGeneration } from "../strategies/daemonsets.ts";
import { positiveGracePeriod } from "../strategies/pods.ts";
import { foldStringData } from "../strategies/secrets.ts";

/** What a kind's own decoding does beyond its schema, in place: before anyone looks at what was sent. */
const normalisers: Readonly<Record<string, (object: KubeObject) => void>> = {
  "/Pod": positiveGracePeriod,
  "/Secret": foldStringData,
  "apiextensions.k8s.io/CustomResourceDefinition": withDefaultNames,
  "apps/DaemonSet": withTemplateGeneration,
};

export function normalise(kind: { readonly group: string; readonly kind: string }, object: KubeObject): void {
  normalisers[`${kind.group}/${kind.kind}`]?.(object);
}
