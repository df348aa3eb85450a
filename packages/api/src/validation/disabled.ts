import { type Features, isFeatureGate } from "../features.ts";
import type { KubeObject } from "../object.ts";
import { type FieldRow, kindRows, typeRows } from "../schema/table.ts";

/** The type of a list's or map's items; of anything else the type itself. */
function itemType(type: string): string {
  if (type.startsWith("[]")) return itemType(type.slice(2));
  return type.startsWith("map<") ? itemType(type.slice(4, -1)) : type;
}

/** The gates of a field that Dray knows, of a list like `A,B`: the field needs them all. */
function gatesOf([, , , marks]: FieldRow): string[] {
  return (marks?.featureGate ?? "").split(",").filter(isFeatureGate);
}

const gated = new Map<string, boolean>();
/** True for a type that has a gated field, or whose fields have one. */
function hasGates(type: string): boolean {
  const known = gated.get(type);
  if (known !== undefined) return known;
  gated.set(type, false);
  const rows = typeRows.get(type) ?? [];
  const result = rows.some((row) => gatesOf(row).length > 0 || hasGates(itemType(row[2])));
  gated.set(type, result);
  return result;
}

type Tree = Record<string, unknown>;
type Visit = (owner: Tree, name: string, gates: readonly string[]) => void;

/** Visits every field that is set and has a gate, the fields of a struct before what is in them. */
function visitGated(type: string, value: unknown, visit: Visit): void {
  if (typeof value !== "object" || value === null || !hasGates(itemType(type))) return;
  if (type.startsWith("[]")) {
    for (const item of value as readonly unknown[]) visitGated(type.slice(2), item, visit);
    return;
  }
  if (type.startsWith("map<")) {
    for (const item of Object.values(value)) visitGated(type.slice(4, -1), item, visit);
    return;
  }
  const owner = value as Tree;
  for (const row of typeRows.get(type) ?? []) {
    const [name, , fieldType, marks] = row;
    if (marks?.inline) {
      visitGated(fieldType, owner, visit);
      continue;
    }
    if (owner[name] === undefined || owner[name] === null) continue;
    const gates = gatesOf(row);
    if (gates.length > 0) visit(owner, name, gates);
    visitGated(fieldType, owner[name], visit);
  }
}

/**
 * Drops, in place, the fields whose feature gate is off, as the server does before it validates; a feature that the
 * stored object uses already stays usable in it. `kind` is the version that the object is written in.
 */
export function dropDisabledFields(
  kind: { readonly group: string; readonly version: string; readonly kind: string },
  object: KubeObject,
  old: KubeObject | undefined,
  features: Features,
): void {
  const type = kindRows.find(
    (row) => row.group === kind.group && row.version === kind.version && row.kind === kind.kind,
  )?.type;
  if (type === undefined || !hasGates(type)) return;
  const off = (gate: string): boolean => isFeatureGate(gate) && !features.enabled(gate);
  const used = new Set<string>();
  visitGated(type, old, (_owner, _name, gates) => {
    for (const gate of gates) used.add(gate);
  });
  visitGated(type, object, (owner, name, gates) => {
    if (gates.some((gate) => off(gate) && !used.has(gate))) delete owner[name];
  });
}
