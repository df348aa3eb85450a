import { readFileSync } from "node:fs";
import { stat, statfs } from "node:fs/promises";
import { Quantity } from "@dray/api";
import type { ImageService } from "../runtime/images.ts";
import type { EvictionSignal, Observation, Observations, SignalSource } from "./signals.ts";

export interface MachineSignalsOptions {
  /** A path on the file system of volumes and logs. */
  readonly root: string;
  readonly images: Pick<ImageService, "imageFolder">;
}

/** Eviction signals of the machine. */
export class MachineSignals implements SignalSource {
  readonly #options: MachineSignalsOptions;

  constructor(options: MachineSignalsOptions) {
    this.#options = options;
  }

  async observe(): Promise<Observations> {
    const { root, images } = this.#options;
    const observations = new Map<EvictionSignal, Observation>();
    const add = (signal: EvictionSignal, observation: Observation | undefined): void => {
      if (observation !== undefined) observations.set(signal, observation);
    };
    add("memory.available", memoryObservation(readFileSync("/proc/meminfo", "utf8")));
    add("pid.available", processes());
    const node = await fileSystem(root);
    add("nodefs.available", node.bytes);
    add("nodefs.inodesFree", node.inodes);
    // A runtime that does not respond must not hide the other signals.
    const folder = await images.imageFolder().catch(() => undefined);
    const image = folder === undefined ? undefined : await fileSystem(folder);
    add("imagefs.available", image?.bytes);
    add("imagefs.inodesFree", image?.inodes);
    return observations;
  }

  async hasDedicatedImageFs(): Promise<boolean> {
    const { root, images } = this.#options;
    const folder = await images.imageFolder();
    return folder !== undefined && (await stat(folder)).dev !== (await stat(root)).dev;
  }
}

/**
 * Memory outside of the working set: free memory, and caches that were not used recently, as cAdvisor
 * computes it for the whole machine.
 */
export function memoryObservation(meminfo: string): Observation | undefined {
  const bytes = (name: string): bigint | undefined => {
    const found = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(meminfo)?.[1];
    return found === undefined ? undefined : BigInt(found) * 1024n;
  };
  const [total, free, inactive] = [bytes("MemTotal"), bytes("MemFree"), bytes("Inactive\\(file\\)")];
  if (total === undefined || free === undefined || inactive === undefined) return undefined;
  return { available: Quantity.of(free + inactive, "BinarySI"), capacity: Quantity.of(total, "BinarySI") };
}

/** Number of further tasks. Upstream: pkg/kubelet/stats/pidlimit/pidlimit_linux.go, Stats. */
function processes(): Observation | undefined {
  const number = (path: string, pattern: RegExp): number | undefined => {
    const found = pattern.exec(readFileSync(path, "utf8"))?.[1];
    return found === undefined ? undefined : Number(found);
  };
  const limits = ["pid_max", "threads-max"].map((name) => number(`/proc/sys/kernel/${name}`, /^(\d+)/));
  const running = number("/proc/loadavg", /^\S+ \S+ \S+ \d+\/(\d+)/);
  const [a, b] = limits;
  if (a === undefined || b === undefined || running === undefined) return undefined;
  const capacity = Math.min(a, b);
  return { available: Quantity.of(capacity - running), capacity: Quantity.of(capacity) };
}

/** Some file systems, such as btrfs, do not count inodes. */
async function fileSystem(path: string): Promise<{ bytes: Observation; inodes: Observation | undefined }> {
  const { bsize, blocks, bavail, files, ffree } = await statfs(path, { bigint: true });
  const bytes = (count: bigint): Quantity => Quantity.of(count * bsize, "BinarySI");
  return {
    bytes: { available: bytes(bavail), capacity: bytes(blocks) },
    inodes: files === 0n ? undefined : { available: Quantity.of(ffree), capacity: Quantity.of(files) },
  };
}
