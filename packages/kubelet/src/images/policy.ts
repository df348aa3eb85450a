import type { Image } from "../runtime/images.ts";

/** When images are removed; times in milliseconds. */
export interface ImageGCPolicy {
  /** Images are removed from this use of their file system on, in percent; 100: never for the room they take. */
  readonly highThresholdPercent: number;
  /** As long as more than this is used. */
  readonly lowThresholdPercent: number;
  /** Younger images stay: a container may be about to use them. */
  readonly minAge: number;
  /** Images go that were not used for so long, however much room there is; 0: never. */
  readonly maxAge: number;
}

/** Upstream: pkg/kubelet/apis/config/v1beta1/defaults.go. */
export const defaultImageGCPolicy: ImageGCPolicy = {
  highThresholdPercent: 85,
  lowThresholdPercent: 80,
  minAge: 120_000,
  maxAge: 0,
};

/** What is remembered of an image; times in milliseconds since the epoch. */
export interface ImageRecord {
  readonly image: Image;
  readonly firstSeen: number;
  /** 0 if it was never seen in use. */
  readonly lastUsed: number;
  readonly inUse: boolean;
}

/** What there is now, by reference. Upstream: pkg/kubelet/images/image_gc_manager.go, detectImages. */
export function observeImages(
  before: ReadonlyMap<string, ImageRecord>,
  images: readonly Image[],
  used: ReadonlySet<string>,
  now: number,
): ReadonlyMap<string, ImageRecord> {
  return new Map(
    images.map((image) => {
      const old = before.get(image.ref);
      const inUse = used.has(image.ref);
      return [
        image.ref,
        {
          image,
          firstSeen: old?.firstSeen ?? now,
          lastUsed: inUse ? now : (old?.lastUsed ?? 0),
          inUse,
        },
      ];
    }),
  );
}

/** Those that nothing uses and that may be removed, the one that was not used for longest first. */
export function removableImages(records: Iterable<ImageRecord>): ImageRecord[] {
  return [...records]
    .filter(({ inUse, image }) => !inUse && image.pinned !== true)
    .sort((a, b) => a.lastUsed - b.lastUsed || a.firstSeen - b.firstSeen);
}

/** True for an image that was not used for too long. `began`: since when the agent looks. Upstream: freeOldImages. */
export function isOutdated(
  { lastUsed }: ImageRecord,
  { maxAge }: ImageGCPolicy,
  began: number,
  now: number,
): boolean {
  return maxAge > 0 && now - began > maxAge && now - lastUsed > maxAge;
}

/** Bytes of a file system. */
export interface FileSystemUse {
  readonly capacity: bigint;
  readonly available: bigint;
}

/** How full a file system is, as upstream rounds it. */
export function usedPercent({ capacity, available }: FileSystemUse): number {
  const left = available > capacity ? capacity : available;
  return 100 - Number((left * 100n) / capacity);
}

/** Bytes that are to be freed; 0 below the high threshold. Upstream: GarbageCollect. */
export function bytesToFree(use: FileSystemUse, policy: ImageGCPolicy): bigint {
  if (usedPercent(use) < policy.highThresholdPercent) return 0n;
  const wanted = (use.capacity * BigInt(100 - policy.lowThresholdPercent)) / 100n;
  return wanted > use.available ? wanted - use.available : 0n;
}
