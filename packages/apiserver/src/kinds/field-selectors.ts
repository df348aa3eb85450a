import { apiVersionOf, type FieldSelection, type KubeObject, quoted, StatusError } from "@dray/api";
import { fieldOf, isObject } from "../json/values.ts";
import type { ServedResource } from "./resources.ts";

/** Values that an unset field has where that is not "". */
const unset: ReadonlyMap<string, string> = new Map([
  ["spec.hostNetwork", "false"],
  ["spec.unschedulable", "false"],
  ["status.replicas", "0"],
  ["status.successful", "0"],
]);

/** Returns the text of a selectable field of an object in its served version. */
export function fieldText(served: ServedResource, object: KubeObject, field: string): string {
  if (served.resource === "events" && field === "source") return eventSource(object);
  let value: unknown = object;
  for (const part of field.split(".")) value = isObject(value) ? fieldOf(value, part) : undefined;
  if (value === undefined || value === null || value === "") return unset.get(field) ?? "";
  if (Array.isArray(value)) return value.map((item) => (item as { ip?: string }).ip ?? "").join(",");
  return String(value);
}

function eventSource(object: KubeObject): string {
  const event = object as KubeObject & { source?: { component?: string }; reportingComponent?: string };
  return event.source?.component || event.reportingComponent || "";
}

/** Throws 400 for a selector of a field that cannot be selected by, in the words that this kind uses. */
export function checkSelectable(served: ServedResource, selection: FieldSelection): void {
  const known = selectableFields(served);
  for (const { field } of selection.requirements) {
    if (known.has(field)) continue;
    throw StatusError.of("BadRequest", unknownField(served, field));
  }
}

function selectableFields(served: ServedResource): Set<string> {
  const fields = new Set(["metadata.name", ...(served.facts.fields ?? [])]);
  const core = served.facts.fieldError === "core";
  if (!served.facts.noNamespaceField && (served.namespaced || !core)) fields.add("metadata.namespace");
  return fields;
}

function unknownField(served: ServedResource, field: string): string {
  switch (served.facts.fieldError) {
    case "core":
      return `field label not supported: ${field}`;
    case "kind":
      return `field label not supported for ${apiVersionOf(served)}, Kind=${served.kind}: ${field}`;
    case "job":
      return `field label ${quoted(field)} not supported for Job`;
    default:
      return `${quoted(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`;
  }
}
