import { cpus, totalmem } from "node:os";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** The machine on which figures were measured. */
export const machine = `${cpus().length} cores of ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`;

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/**
 * Microseconds of each call of `run`: at least five, then as many as half a second has room for, at most a
 * thousand.
 */
export function timed(run: (round: number) => void): number[] {
  const times: number[] = [];
  let total = 0;
  while (times.length < 5 || (times.length < 1000 && total < 500_000)) {
    const start = performance.now();
    run(times.length);
    const us = (performance.now() - start) * 1000;
    times.push(us);
    total += us;
  }
  return times;
}

/** Three digits are enough for a figure that a second run does not repeat. */
export function duration(us: number | undefined): string {
  if (us === undefined || Number.isNaN(us)) return "";
  const [value, unit] = us < 1000 ? [us, "µs"] : us < 1_000_000 ? [us / 1000, "ms"] : [us / 1_000_000, "s"];
  return `${value >= 100 ? value.toFixed(0) : value.toPrecision(3)} ${unit}`;
}

/** How many times as long Go took. */
export function ratio(go: number | undefined, ours: number): string {
  if (go === undefined) return "";
  const times = go / ours;
  return `${times >= 10 ? times.toFixed(0) : times.toPrecision(2)} ×`;
}

export function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, i) => (i === 0 ? "---" : "---:"));
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}

/** Bytes in use after a full collection. */
export function heap(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
