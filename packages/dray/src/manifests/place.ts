import type { KubeObject } from "@dray/api";
import type { Source } from "./source.ts";

/** The position of an object in its source. */
export interface Place {
  readonly source: Source;
  /** From 1 on; absent for objects of a cluster. */
  readonly document?: number;
  /** Index of its item in a list, from 1 on. */
  readonly item?: number;
  /** The path of the object in its document: "", or `items[2]`. */
  readonly root: string;
}

export interface Located<T extends KubeObject = KubeObject> {
  readonly object: T;
  readonly place: Place;
}

/** A position as plain data. */
export interface Position {
  readonly file: string;
  readonly document?: number;
  readonly item?: number;
  /** From 1 on. */
  readonly line?: number;
}

/**
 * Returns the position of a field of the object at `place`, in the form of field errors; for a missing field,
 * of the closest one above it.
 */
export function positionOf({ source, document, item, root }: Place, path = ""): Position {
  const at = root === "" || path === "" ? `${root}${path}` : `${root}.${path}`;
  const line = document === undefined ? undefined : lineOf(source, document, at);
  return {
    file: source.file,
    ...(document !== undefined && { document }),
    ...(item !== undefined && { item }),
    ...(line !== undefined && { line }),
  };
}

/** A struct that v1 of resource.k8s.io has and v1beta1 lacks: paths are always those of v1. */
const addedByV1 = /\.exactly(?=[.[]|$)/g;

/** Returns the line of the deepest existing field on the path as it may have been written. */
function lineOf({ lineOf }: Source, document: number, path: string): number | undefined {
  const line = lineOf(document, path);
  const older = path.replace(addedByV1, "");
  if (line === undefined || older === path) return line;
  return Math.max(line, lineOf(document, older) ?? line);
}

/** `pods.yaml:12, document 2, item 3` */
export function positionText({ file, document, item, line }: Position): string {
  const parts = [
    line === undefined ? file : `${file}:${line}`,
    ...(document === undefined ? [] : [`document ${document}`]),
    ...(item === undefined ? [] : [`item ${item}`]),
  ];
  return parts.join(", ");
}

export const placeText = (place: Place, path?: string): string => positionText(positionOf(place, path));

/** `namespace/name`, or `name` of an object without a namespace. */
export function nameOf({ metadata }: KubeObject): string {
  const name = metadata.name || "(no name)";
  return metadata.namespace === undefined ? name : `${metadata.namespace}/${name}`;
}

/** `Pod default/a` */
export const labelOfObject = (object: KubeObject): string => `${object.kind} ${nameOf(object)}`;
