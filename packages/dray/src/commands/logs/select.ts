import { UsageError } from "../../terminal/failure.ts";
import { didYouMean } from "../../text/similar.ts";
import { type Entry, nameOf, outputComponent } from "./entry.ts";

/** The components of a cluster by name. */
export const components: ReadonlyMap<string, string> = new Map([
  ["cluster", "starts and stops of the cluster, and of the processes of its nodes"],
  ["apiserver", "API server"],
  ["scheduler", "scheduler"],
  ["controller-manager", "controllers"],
  ["kubelet", "agents of all nodes; kubelet/NODE, or NODE alone: of one"],
  ["drivers", "simulated drivers of a fleet"],
  [outputComponent, "what a detached cluster printed outside of its logs, such as a crash"],
]);

/**
 * Returns a filter for the lines of these components and nodes; without names all lines pass. Throws a
 * UsageError for an unknown name.
 */
export function selectEntries(names: readonly string[], nodes: readonly string[]): (entry: Entry) => boolean {
  const agents = nodes.map((node) => `kubelet/${node}`);
  const known = [...components.keys(), ...nodes, ...agents];
  for (const name of names) {
    if (known.includes(name)) continue;
    const accepted = [...components.keys(), ...(agents.length > 3 ? ["kubelet/NODE"] : agents)].join(", ");
    const hint = didYouMean(name, known);
    throw new UsageError(
      `unknown component ${name}: ${hint === undefined ? "" : `${hint} It `}must be one of ${accepted}`,
    );
  }
  if (names.length === 0) return () => true;
  return (entry) =>
    names.includes(entry.component) ||
    names.includes(nameOf(entry)) ||
    (entry.node !== undefined && names.includes(entry.node));
}
