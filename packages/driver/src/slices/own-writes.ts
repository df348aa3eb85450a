import type { ResourceSlice } from "@dray/api/resource/v1";

/**
 * Our own writes, until the informer has seen them: without this a second look right after a create would
 * create again.
 */
export function createOwnWrites() {
  const written = new Map<string, ResourceSlice>();
  /** UIDs of deleted slices: the event of a deletion may arrive before the response to an earlier write. */
  const ended = new Set<string>();
  return {
    wrote(slice: ResourceSlice): void {
      if (!ended.has(slice.metadata.uid)) written.set(slice.metadata.uid, slice);
    },
    seen(slice: ResourceSlice): void {
      const mine = written.get(slice.metadata.uid);
      if (mine !== undefined && revision(slice) >= revision(mine)) written.delete(slice.metadata.uid);
    },
    ended(slice: ResourceSlice): void {
      written.delete(slice.metadata.uid);
      ended.add(slice.metadata.uid);
    },
    over(listed: readonly ResourceSlice[]): ResourceSlice[] {
      const all = new Map(listed.map((slice) => [slice.metadata.uid, slice]));
      for (const [uid, slice] of written) {
        const other = all.get(uid);
        if (other === undefined || revision(other) < revision(slice)) all.set(uid, slice);
      }
      return [...all.values()].filter(({ metadata }) => !ended.has(metadata.uid));
    },
  };
}

function revision(slice: ResourceSlice): bigint {
  return BigInt(slice.metadata.resourceVersion);
}
