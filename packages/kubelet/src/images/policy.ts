import type { Image } from "../runtime/images.ts";

/** When images are removed; times in milliseconds. */
export interface ImageGCPolicy {
  /** Use of the file system in percent at which images are removed; 100 disables it. */
  readonly highThresholdPercent: number;
  /** Images are removed until at most this much is used. */
  readonly lowThresholdPercent: number;
  /** Minimum age of an image that is removed, since a container may be about to use it. */
  readonly minAge: number;
  /** Maximum time for which an image stays unused; 0 disables it. */
  readonly maxAge: number;
}

/** Upstream: pkg/kubelet/apis/config/v1beta1/defaults.go. */
export const defaultImageGCPolicy: ImageGCPolicy = {
  highThresholdPercent: 85,
  lowThresholdPercent: 80,
  minAge: 120_000,
  maxAge: 0,
};

/** State of an image; times in milliseconds since the epoch. */
export interface ImageRecord {
  readonly image: Image;
  readonly firstSeen: number;
  /** 0 if it was never seen in use. */
  readonly lastUsed: number;
  readonly inUse: boolean;
}

/** Updates the records, by reference. Upstream: pkg/kubelet/images/image_gc_manager.go, detectImages. */
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

/** Returns unused images that may be removed, the least recently used first. */
export function removableImages(records: Iterable<ImageRecord>): ImageRecord[] {
  return [...records]
    .filter(({ inUse, image }) => !inUse && image.pinned !== true)
    .sort((a, b) => a.lastUsed - b.lastUsed || a.firstSeen - b.firstSeen);
}

/** True for an image that was unused for too long. `began`: start of the agent. Upstream: freeOldImages. */
export function isOutdated(
  { lastUsed }: ImageRecord,
  { maxAge }: ImageGCPolicy,
  began: number,
  now: number,
): boolean {
  return maxAge > 0 && now - began > maxAge && now - lastUsed > maxAge;
}

/** Size of a file system in bytes. */
export interface FileSystemUse {
  readonly capacity: bigint;
  readonly available: bigint;
}

/** Use of a file system in percent, rounded as upstream does. */
export function usedPercent({ capacity, available }: FileSystemUse): number {
  const left = available > capacity ? capacity : available;
  return 100 - Number((left * 100n) / capacity);
}

/** Bytes to free; 0 below the high threshold. Upstream: GarbageCollect. */
export function bytesToFree(use: FileSystemUse, policy: ImageGCPolicy): bigint {
  if (usedPercent(use) < policy.highThresholdPercent) return 0n;
  const wanted = (use.capacity * BigInt(100 - policy.lowThresholdPercent)) / 100n;
  return wanted > use.available ? wanted - use.available : 0n;
}
