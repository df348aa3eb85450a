import type { ObjectMeta } from "@dray/api/meta/v1";
import type { Inventory } from "../inventory/inventory.ts";
import type { Shape } from "../inventory/shapes.ts";
import type { Unit } from "../inventory/units.ts";
import {
  type ClaimRow,
  type ClassRow,
  type Counts,
  claimRows,
  classRows,
  type DeviceRow,
  deviceRows,
  type NamespaceRow,
  type NodeRow,
  namespaceRows,
  nodeRows,
  sumOfCounts,
  type TemplateRow,
  templateRows,
  usageOf,
} from "./rows.ts";
import type { Selection } from "./selection.ts";
import { sorted } from "./sort.ts";
import type { Subject } from "./subjects.ts";

/** Nodes with the same value of a label. */
export interface GroupRow extends Counts {
  /** The value of the label; null: nodes without it, and devices that several nodes can reach. */
  readonly group: string | null;
  readonly nodes: number;
  readonly claims: readonly string[];
}

/** Output of `-o json`; its schema is schema/top.json. */
export type TopData = { readonly version: 1 } & (
  | { readonly what: "devices"; readonly devices: readonly DeviceRow[] }
  | {
      readonly what: "nodes";
      readonly nodes: readonly NodeRow[];
      readonly total: Counts;
      /** Only with `--group-by`. */
      readonly groups?: readonly GroupRow[];
    }
  | {
      readonly what: "classes";
      readonly classes: readonly ClassRow[];
      readonly templates: readonly TemplateRow[];
    }
  | { readonly what: "templates"; readonly templates: readonly TemplateRow[] }
  | { readonly what: "claims"; readonly claims: readonly ClaimRow[] }
  | {
      readonly what: "namespaces";
      readonly namespaces: readonly NamespaceRow[];
      readonly total: Omit<NamespaceRow, "namespace">;
    }
);

/** The rows that are wanted, and their order. */
export interface TopView {
  /** Claims and templates of this namespace only. */
  readonly namespace?: string;
  readonly selection?: Selection;
  readonly sortBy?: string;
  /** A label of nodes. */
  readonly groupBy?: string;
}

type Meta = Pick<ObjectMeta, "labels" | "namespace">;

/** Returns the rows. A selector of devices has no meaning for claims, classes and templates. */
export function topData(what: Subject, inventory: Inventory, view: TopView = {}): TopData {
  const version = 1;
  const { sortBy, namespace, selection } = view;
  const { world } = inventory;
  const hasLabels = ({ labels }: Meta): boolean => selection?.type !== "labels" || selection.matches(labels);
  const isWanted = (meta: Meta): boolean =>
    hasLabels(meta) && (namespace === undefined || meta.namespace === namespace);
  const isWantedShape = ({ kind, name }: Shape): boolean => {
    const found = world.find(kind, name)?.metadata;
    return found !== undefined && (kind === "DeviceClass" ? hasLabels(found) : isWanted(found));
  };
  const claims = (): Parameters<typeof namespaceRows>[0] =>
    world
      .all("ResourceClaim")
      .map(({ object }) => object)
      .filter(({ metadata }) => isWanted(metadata));
  switch (what) {
    case "devices":
      return { version, what, devices: sorted(what, deviceRows(unitsOf(inventory, selection)), sortBy) };
    case "nodes":
      return { version, what, ...nodesData(inventory, view) };
    case "classes":
      return {
        ...{ version, what, classes: sorted(what, classRows(inventory, isWantedShape), sortBy) },
        templates: sorted("templates", templateRows(inventory, isWantedShape), sortBy),
      };
    case "templates":
      return { version, what, templates: sorted(what, templateRows(inventory, isWantedShape), sortBy) };
    case "claims":
      return { version, what, claims: sorted(what, claimRows(claims(), inventory.known), sortBy) };
    case "namespaces":
      return {
        ...{ version, what, namespaces: sorted(what, namespaceRows(claims()), sortBy) },
        total: usageOf(claims()),
      };
  }
}

/** Returns the units with a selected device, or of a selected node. */
function unitsOf({ world, units }: Inventory, selection: Selection | undefined): readonly Unit[] {
  if (selection === undefined) return units;
  if (selection.type === "devices") return units.filter(({ devices }) => devices.some(selection.matches));
  return units.filter(
    ({ node }) => node !== undefined && selection.matches(world.find("Node", node)?.metadata.labels),
  );
}

function nodesData(inventory: Inventory, { selection, sortBy, groupBy }: TopView) {
  const { world } = inventory;
  const labels = new Map(
    world.all("Node").map(({ object: { metadata } }) => [metadata.name, metadata.labels]),
  );
  const names = [...labels.keys()].filter(
    (name) => selection?.type !== "labels" || selection.matches(labels.get(name)),
  );
  const all = nodeRows(names, unitsOf(inventory, selection));
  const nodes = selection?.type === "devices" ? all.filter(({ units }) => units > 0) : all;
  return {
    nodes: sorted("nodes", nodes, sortBy),
    total: sumOfCounts(nodes),
    ...(groupBy !== undefined && {
      groups: sorted(
        "nodes",
        groupsOf(nodes, (node) => labels.get(node)?.[groupBy]),
        sortBy,
      ),
    }),
  };
}

function groupsOf(nodes: readonly NodeRow[], labelOf: (node: string) => string | undefined): GroupRow[] {
  const groups = Map.groupBy(nodes, ({ node }) => (node === null ? null : (labelOf(node) ?? null)));
  return [...groups]
    .map(([group, rows]) => ({
      ...{ group, nodes: rows.filter(({ node }) => node !== null).length },
      ...sumOfCounts(rows),
      claims: [...new Set(rows.flatMap(({ claims }) => claims))],
    }))
    .toSorted((a, b) => (a.group ?? "\uffff").localeCompare(b.group ?? "\uffff", "en", { numeric: true }));
}
