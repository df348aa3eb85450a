/**
 * Errors that the real components log during a suite, and those of them that are unknown on kube-apiserver.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errors, type LineCounts, onlyIn } from "../log-lines.ts";
import type { Program } from "../processes.ts";

/** Kinds of lines by component. */
export type ComponentErrors = ReadonlyMap<string, LineCounts>;

export interface StrangeError {
  readonly component: string;
  readonly line: string;
  readonly count: number;
}

const components = ["kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy"];
const file = join(import.meta.dirname, "..", "conformance-errors.json");

/**
 * Counts the errors in the logs of the real components among the programs; logs of all nodes count together.
 */
export function componentErrors(programs: readonly Program[]): ComponentErrors {
  const found = new Map<string, Map<string, number>>();
  for (const { name, log } of programs) {
    const component = name.replace(/^.*: /, "");
    if (!components.includes(component)) continue;
    const counts = found.get(component) ?? new Map<string, number>();
    found.set(component, counts);
    for (const [line, count] of errors(readFileSync(log, "utf8")))
      counts.set(line, (counts.get(line) ?? 0) + count);
  }
  return found;
}

/** Kinds of lines by component, collected from every run on kube-apiserver, because many races are rare. */
function known(): Readonly<Record<string, readonly string[]>> {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
}

/** Adds the errors of a run on kube-apiserver to the file. */
export function rememberErrors(found: ComponentErrors): void {
  const before = known();
  const names = [...new Set([...Object.keys(before), ...found.keys()])].sort();
  const all = names.map((name) => [
    name,
    [...new Set([...(before[name] ?? []), ...(found.get(name)?.keys() ?? [])])].sort(),
  ]);
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`);
}

/** Returns the kinds that no run on kube-apiserver has had. */
export function strangeErrors(found: ComponentErrors): StrangeError[] {
  const before = known();
  return [...found].flatMap(([component, lines]) => {
    const expected = new Map((before[component] ?? []).map((line): [string, number] => [line, 1]));
    return onlyIn(lines, expected).map(({ line, count }) => ({ component, line, count }));
  });
}
