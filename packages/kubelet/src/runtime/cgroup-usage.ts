/** Usage of a cgroup, as far as its controllers count it. */
export interface CgroupUsage {
  readonly cpuNanoseconds: number;
  /** Without file pages that the kernel can reclaim at once. */
  readonly memoryWorkingSetBytes: number;
  readonly details: UsageDetails;
}

/** Figures that not every runtime has. */
export interface UsageDetails {
  readonly memory?: MemoryDetails | undefined;
  readonly throttling?: Throttling | undefined;
  /** Reads and writes by device; absent if nothing counts them. */
  readonly disks?: readonly DiskUse[] | undefined;
}

/** Bytes. */
export interface MemoryDetails {
  readonly usage: number;
  readonly rss: number;
  readonly cache: number;
  readonly swap: number;
}

/** Periods of the CPU quota, and those in which the cgroup was held back. */
export interface Throttling {
  readonly periods: number;
  readonly throttledPeriods: number;
  readonly throttledNanoseconds: number;
}

export interface DiskUse {
  /** `MAJOR:MINOR` */
  readonly device: string;
  readonly readBytes: number;
  readonly writtenBytes: number;
  readonly reads: number;
  readonly writes: number;
}

/** Reads a file of the cgroup by its name; undefined if it does not exist. */
export type ReadCgroupFile = (controller: CgroupController, name: string) => string | undefined;

export type CgroupController = "cpu" | "cpuacct" | "memory" | "blkio" | "io";

/** Undefined if the cgroup is gone, or no controller counts CPU time and memory. */
export function cgroupUsage(read: ReadCgroupFile): CgroupUsage | undefined {
  const cpuStat = read("cpu", "cpu.stat");
  const time = read("cpuacct", "cpuacct.usage");
  const cpuNanoseconds = time === undefined ? field(cpuStat, "usage_usec") * 1000 : Number(time);
  const stat = read("memory", "memory.stat");
  const usage = Number(
    read("memory", "memory.current") ?? read("memory", "memory.usage_in_bytes") ?? Number.NaN,
  );
  if (!Number.isFinite(cpuNanoseconds) || !Number.isFinite(usage)) return undefined;
  // Version 1 has the totals of a cgroup with those below it beside its own figures.
  const inactive = total(stat, "inactive_file");
  return {
    cpuNanoseconds,
    memoryWorkingSetBytes: Math.max(0, usage - (inactive || 0)),
    details: { memory: memoryOf(stat, usage, read), throttling: throttlingOf(cpuStat), disks: disksOf(read) },
  };
}

/** Upstream: google/cadvisor, container/libcontainer/handler.go, setMemoryStats. */
function memoryOf(stat: string | undefined, usage: number, read: ReadCgroupFile): MemoryDetails | undefined {
  const first = (...values: number[]): number => values.find(Number.isFinite) ?? Number.NaN;
  const rss = first(total(stat, "rss"), field(stat, "anon"));
  const cache = first(total(stat, "cache"), field(stat, "file"));
  if (!Number.isFinite(rss) || !Number.isFinite(cache)) return undefined;
  const swap = first(total(stat, "swap"), Number(read("memory", "memory.swap.current") ?? Number.NaN), 0);
  return { usage, rss, cache, swap };
}

function throttlingOf(stat: string | undefined): Throttling | undefined {
  const periods = field(stat, "nr_periods");
  const throttledPeriods = field(stat, "nr_throttled");
  if (!Number.isFinite(periods) || !Number.isFinite(throttledPeriods)) return undefined;
  const microseconds = field(stat, "throttled_usec");
  const throttledNanoseconds = Number.isFinite(microseconds)
    ? microseconds * 1000
    : field(stat, "throttled_time") || 0;
  return { periods, throttledPeriods, throttledNanoseconds };
}

function disksOf(read: ReadCgroupFile): DiskUse[] | undefined {
  const unified = read("io", "io.stat");
  if (unified !== undefined) return unifiedDisks(unified);
  const bytes = read("blkio", "blkio.throttle.io_service_bytes_recursive");
  const operations = read("blkio", "blkio.throttle.io_serviced_recursive");
  if (bytes === undefined || operations === undefined) return undefined;
  const [sizes, counts] = [byDevice(bytes), byDevice(operations)];
  return [...sizes].map(([device, { Read: readBytes = 0, Write: writtenBytes = 0 }]) => {
    const { Read: reads = 0, Write: writes = 0 } = counts.get(device) ?? {};
    return { device, readBytes, writtenBytes, reads, writes };
  });
}

/** Lines such as `8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0`. */
function unifiedDisks(text: string): DiskUse[] {
  return text.split("\n").flatMap((line) => {
    const [device = "", ...pairs] = line.split(" ");
    const values = new Map(pairs.map((pair) => pair.split("=") as [string, string]));
    if (!/^\d+:\d+$/.test(device) || values.size === 0) return [];
    const of = (name: string): number => Number(values.get(name) ?? 0);
    const [readBytes, writtenBytes, reads, writes] = [of("rbytes"), of("wbytes"), of("rios"), of("wios")];
    return [{ device, readBytes, writtenBytes, reads, writes }];
  });
}

/** Lines such as `8:0 Read 4096`. */
function byDevice(text: string): Map<string, Record<string, number>> {
  const devices = new Map<string, Record<string, number>>();
  for (const [, device = "", kind = "", value] of text.matchAll(/^(\d+:\d+) (Read|Write) (\d+)$/gm)) {
    const values = devices.get(device) ?? {};
    values[kind] = Number(value);
    devices.set(device, values);
  }
  return devices;
}

/** The figure with the cgroups below; version 2 has no other. */
function total(stat: string | undefined, name: string): number {
  const value = field(stat, `total_${name}`);
  return Number.isFinite(value) ? value : field(stat, name);
}

function field(text: string | undefined, name: string): number {
  const value = new RegExp(`^${name} (\\d+)$`, "m").exec(text ?? "")?.[1];
  return value === undefined ? Number.NaN : Number(value);
}
