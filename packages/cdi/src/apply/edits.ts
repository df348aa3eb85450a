import { posix } from "node:path";
import type { ContainerEdits, Mount } from "../spec/spec.ts";

/** Edits with all lists present, if only empty. */
export type MergedEdits = Required<Omit<ContainerEdits, "intelRdt">> & Pick<ContainerEdits, "intelRdt">;

/** Joins edits in order. The last `intelRdt` wins. */
export function mergeEdits(all: readonly ContainerEdits[]): MergedEdits {
  const intelRdt = all.findLast((edits) => edits.intelRdt !== undefined)?.intelRdt;
  return {
    env: all.flatMap((edits) => edits.env ?? []),
    deviceNodes: all.flatMap((edits) => edits.deviceNodes ?? []),
    netDevices: all.flatMap((edits) => edits.netDevices ?? []),
    mounts: all.flatMap((edits) => edits.mounts ?? []),
    hooks: all.flatMap((edits) => edits.hooks ?? []),
    additionalGids: all.flatMap((edits) => edits.additionalGids ?? []),
    ...(intelRdt === undefined ? {} : { intelRdt }),
  };
}

/** Applies variables: replaces an existing name in place, appends a new one. */
export function applyEnv(env: readonly string[], edits: readonly string[]): string[] {
  const result = [...env];
  for (const edit of edits) {
    const name = edit.slice(0, edit.indexOf("=") + 1);
    const place = result.findIndex((one) => one.startsWith(name));
    if (place < 0) result.push(edit);
    else result[place] = edit;
  }
  return result;
}

/**
 * Applies mounts: replaces one with the same destination. If there are edits, sorts all mounts by depth, so
 * that none hides another.
 */
export function applyMounts<M>(
  mounts: readonly M[],
  edits: readonly Mount[],
  destination: (mount: M) => string,
  make: (edit: Mount) => M,
): M[] {
  if (edits.length === 0) return [...mounts];
  let result = [...mounts];
  for (const edit of edits) {
    result = result.filter((mount) => destination(mount) !== edit.containerPath);
    result.push(make(edit));
  }
  return result.sort((a, b) => depth(destination(a)) - depth(destination(b)));
}

/** Go's count of path elements, by which `/` is as deep as `/data`. */
function depth(path: string): number {
  const clean = posix.normalize(path).replace(/(?<=.)\/$/, "");
  return clean.split("/").length - 1;
}
