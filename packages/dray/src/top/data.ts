import type { Inventory } from "../inventory/inventory.ts";
import {
  type ClaimRow,
  type ClassRow,
  claimRows,
  classRows,
  type DeviceRow,
  deviceRows,
  type NamespaceRow,
  type NodeRow,
  namespaceRows,
  nodeRows,
  type TemplateRow,
  templateRows,
} from "./rows.ts";

export const subjects = ["devices", "nodes", "classes", "claims", "namespaces"] as const;
export type Subject = (typeof subjects)[number];

/** Output of `-o json`; its schema is schema/top.json. */
export type TopData = { readonly version: 1 } & (
  | { readonly what: "devices"; readonly devices: readonly DeviceRow[] }
  | { readonly what: "nodes"; readonly nodes: readonly NodeRow[] }
  | {
      readonly what: "classes";
      readonly classes: readonly ClassRow[];
      readonly templates: readonly TemplateRow[];
    }
  | { readonly what: "claims"; readonly claims: readonly ClaimRow[] }
  | { readonly what: "namespaces"; readonly namespaces: readonly NamespaceRow[] }
);

export function topData(what: Subject, inventory: Inventory): TopData {
  const version = 1;
  switch (what) {
    case "devices":
      return { version, what, devices: deviceRows(inventory) };
    case "nodes":
      return { version, what, nodes: nodeRows(inventory) };
    case "classes":
      return { version, what, classes: classRows(inventory), templates: templateRows(inventory) };
    case "claims":
      return { version, what, claims: claimRows(inventory) };
    case "namespaces":
      return { version, what, namespaces: namespaceRows(inventory) };
  }
}
