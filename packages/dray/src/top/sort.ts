import { UsageError } from "../terminal/failure.ts";
import { didYouMean } from "../text/similar.ts";
import type { Subject } from "./subjects.ts";

type Row = Readonly<Record<string, unknown>>;

/** The columns of each table by which `--sort-by` sorts, and their fields. */
const fields: Readonly<Record<Subject, Readonly<Record<string, string>>>> = {
  devices: { device: "device", node: "node", state: "state", "held-by": "heldBy" },
  nodes: {
    ...{ node: "node", devices: "units", free: "free", partly: "partly", allocated: "allocated" },
    ...{ tainted: "tainted", unhealthy: "unhealthy", waste: "waste", unusable: "unusable", claims: "claims" },
  },
  classes: {
    ...{ class: "class", free: "free", allocated: "allocated", pending: "pending", headroom: "headroom" },
  },
  templates: { template: "template", classes: "classes", headroom: "headroom" },
  claims: { claim: "claim", state: "state", devices: "devices", node: "nodes", pods: "pods", age: "created" },
  namespaces: {
    ...{ namespace: "namespace", claims: "claims", pending: "pending", devices: "devices", shares: "shares" },
  },
};

/** Throws UsageError if the table lacks the column. */
export function checkSortKey(what: Subject, key: string): void {
  const known = Object.keys(fields[what]);
  if (known.includes(key)) return;
  const meant = didYouMean(key, known);
  throw new UsageError(
    `--sort-by ${key}: must be one of ${known.join(", ")}${meant === undefined ? "" : ` (${meant})`}`,
  );
}

/** Sorts rows: texts ascending, numbers and lists with the largest first, as `kubectl top` does. */
export function sorted<T extends object>(what: Subject, rows: readonly T[], key: string | undefined): T[] {
  const field = key === undefined ? undefined : fields[what][key];
  if (field === undefined) return [...rows];
  return rows.toSorted((a, b) => compare(sortValueOf(a as Row, field), sortValueOf(b as Row, field)));
}

function sortValueOf(row: Row, field: string): string | number {
  const value = row[field];
  if (field === "headroom")
    return value === null ? Number.POSITIVE_INFINITY : (value as { readonly count: number }).count;
  // Nodes of a claim are names, other lists count.
  if (Array.isArray(value)) return field === "nodes" ? value.join() : value.length;
  return typeof value === "number" ? value : String(value ?? "");
}

const compare = (a: string | number, b: string | number): number =>
  typeof a === "number" && typeof b === "number"
    ? a === b
      ? 0
      : b > a
        ? 1
        : -1
    : String(a).localeCompare(String(b), "en", { numeric: true });
