import type { KubeObject } from "@dray/api";
import { withTemplateGeneration } from "./daemonsets.ts";
import { foldStringData } from "./secrets.ts";

/** What a kind's own decoding does beyond its schema, in place: before anyone looks at what was sent. */
const normalisers: Readonly<Record<string, (object: KubeObject) => void>> = {
  "/Secret": foldStringData,
  "apps/DaemonSet": withTemplateGeneration,
};

export function normalise(kind: { readonly group: string; readonly kind: string }, object: KubeObject): void {
  normalisers[`${kind.group}/${kind.kind}`]?.(object);
}
