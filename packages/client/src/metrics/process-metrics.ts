import { readdirSync, readFileSync } from "node:fs";
import { arch, platform } from "node:process";
import type { Clock } from "../base/clock.ts";
import { MetricsRegistry } from "./registry.ts";

/** Figures of a process, in seconds and bytes; undefined: the system does not say. */
export interface ProcessFigures {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly virtualBytes: number | undefined;
  readonly openFiles: number | undefined;
  readonly maxFiles: number | undefined;
}

export interface ProcessMetricsOptions {
  readonly clock: Clock;
  /** Kubernetes release whose behaviour the component has: `1.37`. */
  readonly release: string;
  /** Figures of this process, if absent. */
  readonly figures?: () => ProcessFigures;
}

type Gauge = readonly [name: string, help: string, read: (figures: ProcessFigures) => number | undefined];

const gauges: readonly Gauge[] = [
  ["open_fds", "Number of open file descriptors.", ({ openFiles }) => openFiles],
  ["max_fds", "Maximum number of open file descriptors.", ({ maxFiles }) => maxFiles],
  ["virtual_memory_bytes", "Virtual memory size in bytes.", ({ virtualBytes }) => virtualBytes],
  ["resident_memory_bytes", "Resident memory size in bytes.", ({ residentBytes }) => residentBytes],
];

/**
 * Metrics of the process that a component runs in, and its version. Components of one process have the same
 * figures.
 *
 * Upstream: prometheus/client_golang, process_collector.go; component-base, metrics/version.go.
 */
export class ProcessMetrics {
  readonly #registry = new MetricsRegistry();
  readonly #read: () => ProcessFigures;
  #figures: ProcessFigures;

  constructor({ clock, release, figures = readFigures }: ProcessMetricsOptions) {
    this.#read = figures;
    this.#figures = figures();
    const registry = this.#registry;
    const startTime = clock.now() / 1000 - process.uptime();
    registry.counterOf(
      "process_cpu_seconds_total",
      "Total user and system CPU time spent in seconds.",
      [],
      () => [[[], this.#figures.cpuSeconds]],
    );
    for (const [name, help, read] of gauges)
      registry.gauge(`process_${name}`, help, [], () => {
        const value = read(this.#figures);
        return value === undefined ? [] : [[[], value]];
      });
    registry.gauge(
      "process_start_time_seconds",
      "Start time of the process since unix epoch in seconds.",
      [],
      () => [[[], startTime]],
    );
    const build = buildLabels(release);
    registry.gauge(
      "kubernetes_build_info",
      "[ALPHA] A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.",
      Object.keys(build),
      () => [[Object.values(build), 1]],
    );
  }

  /** Returns the metrics in the text format of Prometheus. */
  text(): string {
    this.#figures = this.#read();
    return this.#registry.text();
  }
}

/** As `/version` has them. */
function buildLabels(release: string): Readonly<Record<string, string>> {
  const [major = "", minor = ""] = release.split(".");
  return {
    build_date: "1970-01-01T00:00:00Z",
    compiler: "node",
    git_commit: "",
    git_tree_state: "clean",
    git_version: `v${release}.0+dray`,
    go_version: "",
    major,
    minor,
    platform: `${platform}/${arch === "x64" ? "amd64" : arch}`,
  };
}

function readFigures(): ProcessFigures {
  const { user, system } = process.cpuUsage();
  return {
    cpuSeconds: (user + system) / 1e6,
    residentBytes: process.memoryUsage.rss(),
    virtualBytes: orNothing(() => virtualSize(readFileSync("/proc/self/status", "utf8"))),
    // Without the one that reads the folder.
    openFiles: orNothing(() => readdirSync("/proc/self/fd").length - 1),
    maxFiles: orNothing(() => fileLimit(readFileSync("/proc/self/limits", "utf8"))),
  };
}

/** Undefined on systems without /proc. */
function orNothing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function virtualSize(status: string): number | undefined {
  const kilobytes = /^VmSize:\s+(\d+) kB$/m.exec(status)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

function fileLimit(limits: string): number | undefined {
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  return soft === undefined ? undefined : Number(soft);
}
