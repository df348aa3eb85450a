import type { ContainerImage } from "@dray/api/core/v1";
import { type Clock, type Log, sleep } from "@dray/client";
import { RuntimeError } from "../runtime/error.ts";
import type { Image, ImageService } from "../runtime/images.ts";
import {
  bytesToFree,
  type FileSystemUse,
  type ImageGCPolicy,
  type ImageRecord,
  isOutdated,
  observeImages,
  removableImages,
  usedPercent,
} from "./policy.ts";

export interface ImageCollectorOptions {
  readonly images: ImageService;
  readonly policy: ImageGCPolicy;
  readonly clock: Clock;
  readonly log: Log;
  /** The file system of images; undefined if it does not exist. */
  fileSystem(): Promise<FileSystemUse | undefined>;
  /** Images in volumes of active pods: an image whose files are mounted is in use (KEP-4639). */
  volumeImages(): readonly string[];
  /** Records a Warning of the Node. */
  event(reason: string, message: string): void;
  /** Called when the images of the Node have changed. */
  changed(): void;
}

/** Interval in milliseconds at which images are listed. Upstream: image_gc_manager.go, Start. */
const listInterval = 30_000;
/** Interval of collections in milliseconds. Upstream: pkg/kubelet/kubelet.go, ImageGCPeriod. */
const collectInterval = 300_000;
/** Upstream: nodeStatusMaxImages, and MaxNamesPerImageInNodeStatus. */
const maxNodeImages = 50;
const maxImageNames = 5;

/**
 * Removes unused images when they take too much room or are too old, and lists images for the Node.
 *
 * Upstream: pkg/kubelet/images/image_gc_manager.go.
 */
export class ImageCollector {
  readonly #options: ImageCollectorOptions;
  readonly #stop = new AbortController();
  #records: ReadonlyMap<string, ImageRecord> = new Map();
  #running: Promise<void> | undefined;
  #shown = "[]";
  #hasFailed = false;
  #began = 0;

  constructor(options: ImageCollectorOptions) {
    this.#options = options;
  }

  /** `status.images` of the Node: the largest images, each with some of its names. */
  get nodeImages(): readonly ContainerImage[] {
    return [...this.#records.values()]
      .map(({ image }) => image)
      .sort((a, b) => b.sizeBytes - a.sizeBytes)
      .slice(0, maxNodeImages)
      .map(({ ref, digests, tags, sizeBytes }) => {
        const names = [...digests, ...tags].slice(0, maxImageNames);
        // An empty list would be stored as null.
        return { names: names.length > 0 ? names : [ref], sizeBytes };
      });
  }

  start(): void {
    this.#began = this.#options.clock.now();
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = this.#stop;
    let collectAt = clock.now() + collectInterval;
    while (!signal.aborted) {
      try {
        await this.#observe();
      } catch (error) {
        log.warn({ err: error }, "the images of the node cannot be listed");
      }
      if (clock.now() >= collectAt) {
        await this.#collectOrTell();
        collectAt = clock.now() + collectInterval;
      }
      await sleep(clock, listInterval, signal);
    }
  }

  /** The first failure is not reported. Upstream: pkg/kubelet/kubelet.go, StartGarbageCollection. */
  async #collectOrTell(): Promise<void> {
    const { event, log } = this.#options;
    try {
      await this.collect();
      this.#hasFailed = false;
    } catch (error) {
      log.warn({ err: error }, "unused images could not be removed");
      if (this.#hasFailed) event("ImageGCFailed", (error as Error).message);
      this.#hasFailed = true;
    }
  }

  async #observe(): Promise<void> {
    const { images, clock, changed } = this.#options;
    const all = await images.listImages();
    const used = new Set(await images.usedImages());
    for (const name of new Set(this.#options.volumeImages())) {
      const mounted = await images.imageStatus(name, false).catch((error: unknown) => {
        // An invalid name is a mistake of its pod, and does not stop the collection.
        if (error instanceof RuntimeError && error.reason === "InvalidImageName") return undefined;
        throw error;
      });
      if (mounted !== undefined) used.add(mounted.ref);
    }
    this.#records = observeImages(this.#records, all, used, clock.now());
    const shown = JSON.stringify(this.nodeImages);
    if (shown === this.#shown) return;
    this.#shown = shown;
    changed();
  }

  /** Removes images by the policy. Rejects if it could not free enough. */
  async collect(): Promise<void> {
    const { policy, clock, fileSystem, event } = this.#options;
    if (policy.highThresholdPercent >= 100 && policy.maxAge === 0) return;
    await this.#observe();
    const now = clock.now();
    const outdated = this.#removable().filter((record) => isOutdated(record, policy, this.#began, now));
    for (const { image } of outdated) await this.#remove(image);
    const use = await fileSystem();
    if (use === undefined || policy.highThresholdPercent >= 100) return;
    if (use.capacity === 0n) {
      const message = "invalid capacity 0 on image filesystem";
      event("InvalidDiskCapacity", message);
      throw new Error(message);
    }
    const wanted = bytesToFree(use, policy);
    const freed = wanted === 0n ? 0n : await this.#free(wanted);
    if (freed >= wanted) return;
    const message =
      `Insufficient free disk space on the node's image filesystem (${usedPercent(use)}% of ${sizeText(use.capacity)} used). ` +
      `Failed to free sufficient space by deleting unused images (freed ${freed} bytes). ` +
      "Investigate disk usage, as it could be used by active images, logs, volumes, or other data.";
    event("FreeDiskSpaceFailed", message);
    throw new Error(message);
  }

  /** Removes all unused images that are old enough, since the node is short of disk. */
  async collectAll(): Promise<void> {
    await this.#observe();
    await this.#free(undefined);
  }

  #removable(): ImageRecord[] {
    return removableImages(this.#records.values());
  }

  /**
   * Removes images until `wanted` bytes are freed; returns the freed bytes. Goes on if one cannot be removed.
   */
  async #free(wanted: bigint | undefined): Promise<bigint> {
    const { policy, clock } = this.#options;
    const now = clock.now();
    let freed = 0n;
    const problems: Error[] = [];
    for (const { image, firstSeen } of this.#removable()) {
      if (wanted !== undefined && freed >= wanted) break;
      if (now - firstSeen < policy.minAge) continue;
      try {
        await this.#remove(image);
        freed += BigInt(image.sizeBytes);
      } catch (error) {
        problems.push(error as Error);
      }
    }
    if (problems.length > 0)
      throw new AggregateError(problems, problems.map(({ message }) => message).join("; "));
    return freed;
  }

  async #remove(image: Image): Promise<void> {
    const { images, log } = this.#options;
    await images.removeImage(image.ref);
    log.info({ image: image.ref, names: image.tags, bytes: image.sizeBytes }, "an unused image was removed");
    this.#records = new Map([...this.#records].filter(([ref]) => ref !== image.ref));
  }
}

/** Formats a size as upstream does: `9.8 GiB`. */
function sizeText(bytes: bigint): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let [size, unit] = [Number(bytes), 0];
  for (; size >= 1024 && unit < units.length - 1; unit++) size /= 1024;
  return unit === 0 ? `${size} B` : `${size.toFixed(1)} ${units[unit]}`;
}
