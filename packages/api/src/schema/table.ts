/**
 * The one source of the shape of every kind: facts about the published Kubernetes API, one data file a group.
 * TypeScript types, OpenAPI, structural checks, merge keys and the protobuf codec are all derived from it.
 */
import admissionregistration from "./table/admissionregistration.json" with { type: "json" };
import apiextensions from "./table/apiextensions.json" with { type: "json" };
import apiregistration from "./table/apiregistration.json" with { type: "json" };
import apps from "./table/apps.json" with { type: "json" };
import authentication from "./table/authentication.json" with { type: "json" };
import authorization from "./table/authorization.json" with { type: "json" };
import autoscaling from "./table/autoscaling.json" with { type: "json" };
import batch from "./table/batch.json" with { type: "json" };
import certificates from "./table/certificates.json" with { type: "json" };
import coordination from "./table/coordination.json" with { type: "json" };
import core from "./table/core.json" with { type: "json" };
import discovery from "./table/discovery.json" with { type: "json" };
import events from "./table/events.json" with { type: "json" };
import flowcontrol from "./table/flowcontrol.json" with { type: "json" };
import meta from "./table/meta.json" with { type: "json" };
import metrics from "./table/metrics.json" with { type: "json" };
import networking from "./table/networking.json" with { type: "json" };
import node from "./table/node.json" with { type: "json" };
import policy from "./table/policy.json" with { type: "json" };
import rbac from "./table/rbac.json" with { type: "json" };
import resource from "./table/resource.json" with { type: "json" };
import scheduling from "./table/scheduling.json" with { type: "json" };
import storage from "./table/storage.json" with { type: "json" };
import storagemigration from "./table/storagemigration.json" with { type: "json" };

/** Properties of a field; see the README of this package for the meaning of each mark. */
export interface FieldMarks {
  readonly optional?: true;
  /** The fields of this struct stand in the parent in JSON; in protobuf it is a nested message. */
  readonly inline?: true;
  /** Unset and zero differ. */
  readonly pointer?: true;
  /** `never`: written even if zero or empty; `zero`: a struct that is all zero is left out too. */
  readonly omit?: "never" | "zero";
  /** In protobuf this list is a message of its own, and its elements are field 1 there (Verbs of meta/v1). */
  readonly wrapped?: true;
  readonly listType?: "atomic" | "set" | "map";
  readonly listMapKeys?: readonly string[];
  readonly mapType?: "atomic" | "granular";
  readonly structType?: "atomic" | "granular";
  /** Strategic merge: a comma-separated list of `merge`, `replace`, `retainKeys`. */
  readonly patchStrategy?: string;
  readonly patchMergeKey?: string;
  readonly featureGate?: string;
  readonly default?: string;
  /** Name of the list of known values, a key of `values`. */
  readonly values?: string;
  readonly since?: string;
  readonly until?: string;
  /** No release of upstream has the field yet: `scripts/origin` leaves its row alone. */
  readonly upstream?: false;
}

/** A field as the data files have it: JSON name, protobuf number (0: not in protobuf), type, marks. */
export type FieldRow = readonly [name: string, number: number, type: string, marks?: FieldMarks];

/** The zero values of scalars, as Go writes them; null for the others. */
export const zeroScalars: ReadonlyMap<string, string | number | boolean> = new Map<
  string,
  string | number | boolean
>([
  ["string", ""],
  ["bool", false],
  ["int32", 0],
  ["int64", 0],
  ["double", 0],
  ["IntOrString", 0],
  ["Quantity", "0"],
  ["Duration", "0s"],
]);

/** A kind and how it is addressed. */
export interface KindRow {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The name of its type, a key of `types`. */
  readonly type: string;
  /** The plural, as paths have it. */
  readonly resource: string;
  readonly namespaced: boolean;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** First and last release that has it; neither: all that we serve. */
  readonly since?: string;
  readonly until?: string;
}

interface Table {
  readonly kinds: readonly KindRow[];
  readonly values: Readonly<Record<string, readonly string[]>>;
  readonly types: Readonly<Record<string, readonly FieldRow[]>>;
}

const tables = [
  admissionregistration,
  apiextensions,
  apiregistration,
  apps,
  authentication,
  authorization,
  autoscaling,
  batch,
  certificates,
  coordination,
  core,
  discovery,
  events,
  flowcontrol,
  meta,
  networking,
  node,
  policy,
  rbac,
  resource,
  scheduling,
  storage,
  storagemigration,
  // Last: a plain `pods` means those of the core group.
  metrics,
] as unknown as readonly Table[];

export const kindRows: readonly KindRow[] = tables.flatMap((table) => table.kinds);
export const typeRows: ReadonlyMap<string, readonly FieldRow[]> = new Map(
  tables.flatMap((table) => Object.entries(table.types)),
);
