import type { KubeObject } from "@dray/api";
import type { CustomResourceDefinition } from "@dray/api/apiextensions/v1";
import { setKey } from "@dray/api/codec";
import type { Pod, Secret } from "@dray/api/core/v1";
import { setTemplateGeneration, templateGeneration } from "../tables/template-generation.ts";

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

/** A pod cannot end sooner than at once; the kubelet gives it a second. */
function positiveGracePeriod(object: KubeObject): void {
  const { spec } = object as Pod;
  const seconds = spec?.terminationGracePeriodSeconds;
  if (spec && seconds !== undefined && seconds !== null && seconds < 0)
    spec.terminationGracePeriodSeconds = 1;
}

/** `stringData` is only for writing: its texts become `data`. */
function foldStringData(object: KubeObject): void {
  const secret = object as Secret;
  if (secret.stringData === undefined) return;
  const data: Record<string, string> = { ...secret.data };
  for (const [key, text] of Object.entries(secret.stringData)) {
    setKey(data, key, Buffer.from(text, "utf8").toString("base64"));
  }
  secret.data = data;
  delete secret.stringData;
}

/** Names that follow from others, in place (apiextensions.k8s.io/v1 defaults). */
function withDefaultNames(object: KubeObject): void {
  const { spec, status } = object as Partial<CustomResourceDefinition>;
  if (spec === undefined) return;
  const storage = spec.versions?.find((version) => version.storage)?.name;
  // A status that names no stored version at all would have the definition refused for ever.
  if (status && !status.storedVersions?.length && storage !== undefined) status.storedVersions = [storage];
  const { names } = spec;
  if (names?.kind) {
    names.singular ||= names.kind.toLowerCase();
    names.listKind ||= `${names.kind}List`;
  }
  spec.conversion ??= { strategy: "None" };
  const service = spec.conversion.webhook?.clientConfig?.service;
  if (service !== undefined) service.port ??= 443;
}

/** A daemon set always has the annotation, whatever was sent. */
function withTemplateGeneration(object: KubeObject): void {
  if (object.metadata.annotations?.[templateGeneration] === undefined) setTemplateGeneration(object, 0);
}
