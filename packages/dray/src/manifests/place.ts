import type { KubeObject } from "@dray/api";

/** Where an object was found. */
export interface Place {
  /** As it was named; `standard input` for `-`. */
  readonly file: string;
  /** From 1 on. */
  readonly document: number;
  /** Which item of a list it is, from 1 on. */
  readonly item?: number;
}

export interface Located<T extends KubeObject = KubeObject> {
  readonly object: T;
  readonly place: Place;
}

export function placeText({ file, document, item }: Place): string {
  return `${file}, document ${document}${item === undefined ? "" : `, item ${item}`}`;
}

/** `namespace/name`, or `name` of what lives in no namespace. */
export function nameOf({ metadata }: KubeObject): string {
  return metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;
}

/** Most problems that are told. */
const mostProblems = 50;

/** Input that cannot be used: its problems, each with its place. Nothing has been done. */
export class InputError extends Error {
  override readonly name = "InputError";

  constructor(problems: readonly string[]) {
    const rest = problems.length - mostProblems;
    const more = rest > 0 ? [`and ${rest} more mistakes`] : [];
    super([...problems.slice(0, mostProblems), ...more].join("\nerror: "));
  }
}
