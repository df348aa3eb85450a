import type { KubeObject } from "@dray/api";
import type { DaemonSet } from "@dray/api/apps/v1";
import type { ObjectMeta } from "@dray/api/meta/v1";
import type { Strategy } from "../kinds/strategy.ts";
import { deepEqual } from "../storage/json.ts";

/** The number of a daemon set's template: a field once, an annotation since apps/v1. */
const annotation = "deprecated.daemonset.template.generation";

export const daemonsets: Strategy = {
  prepareForCreate(object) {
    setGeneration(object, 1);
  },

  prepareForUpdate(object, old, context) {
    const before = Number(old.metadata.annotations?.[annotation] ?? 0);
    const changed =
      context.subresource === "" &&
      !deepEqual((object as DaemonSet).spec?.template, (old as DaemonSet).spec?.template);
    setGeneration(object, changed ? before + 1 : before);
  },
};

function setGeneration(object: KubeObject, generation: number): void {
  object.metadata.annotations = { ...object.metadata.annotations, [annotation]: String(generation) };
}

/**
 * Metadata as the server's own structs have it, of which tables and partial objects are made: there the number of the
 * template is no annotation.
 */
export function internalMetadata(object: KubeObject): ObjectMeta {
  const { metadata } = object;
  if (object.kind !== "DaemonSet" || metadata.annotations?.[annotation] === undefined) return metadata;
  const { [annotation]: _number, ...annotations } = metadata.annotations;
  const { annotations: _all, ...rest } = metadata;
  return Object.keys(annotations).length > 0 ? { ...rest, annotations } : rest;
}

/** A daemon set always has the annotation, whatever was sent. */
export function withTemplateGeneration(object: KubeObject): void {
  if (object.metadata.annotations?.[annotation] === undefined) setGeneration(object, 0);
}
