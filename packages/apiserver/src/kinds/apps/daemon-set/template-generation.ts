import type { KubeObject, Wire } from "@dray/api";
import type { ObjectMeta } from "@dray/api/meta/v1";

/** Annotation that numbers the template of a daemon set. It was a field before apps/v1. */
export const templateGeneration = "deprecated.daemonset.template.generation";

export function setTemplateGeneration(object: Wire<KubeObject>, generation: number): void {
  object.metadata ??= {};
  object.metadata.annotations = { ...object.metadata.annotations, [templateGeneration]: String(generation) };
}

/**
 * Metadata of a daemon set as upstream's internal type has it: there the number is a field, no annotation.
 */
export function internalMetadata({ metadata }: KubeObject): ObjectMeta {
  if (metadata.annotations?.[templateGeneration] === undefined) return metadata;
  const { [templateGeneration]: _number, ...annotations } = metadata.annotations;
  const { annotations: _all, ...rest } = metadata;
  return Object.keys(annotations).length > 0 ? { ...rest, annotations } : rest;
}

/** Sets the annotation of a daemon set regardless of the request. */
export function withTemplateGeneration(object: Wire<KubeObject>): void {
  if (object.metadata?.annotations?.[templateGeneration] === undefined) setTemplateGeneration(object, 0);
}
