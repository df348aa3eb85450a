/**
 * Short descriptions of types and fields, as `kubectl explain` and `/openapi/v3` show them.
 *
 * The data files are keyed by `GROUP/Type` without the version, then by field. `""` is the type itself,
 * `@like` names a type whose fields are described the same way, and `*` holds fields that every kind has.
 */
import { typeRows } from "../schema/table.ts";
import apiregistration from "./descriptions/apiregistration.json" with { type: "json" };
import apps from "./descriptions/apps.json" with { type: "json" };
import batch from "./descriptions/batch.json" with { type: "json" };
import core from "./descriptions/core.json" with { type: "json" };
import meta from "./descriptions/meta.json" with { type: "json" };
import metrics from "./descriptions/metrics.json" with { type: "json" };
import policy from "./descriptions/policy.json" with { type: "json" };
import rbac from "./descriptions/rbac.json" with { type: "json" };
import resource from "./descriptions/resource.json" with { type: "json" };
import scheduling from "./descriptions/scheduling.json" with { type: "json" };
import storage from "./descriptions/storage.json" with { type: "json" };

type Fields = Readonly<Record<string, string>>;

// TypeScript infers a type for each row of the JSON, with all fields of the others as undefined.
const descriptions: ReadonlyMap<string, Fields> = new Map<string, Fields>(
  [apiregistration, apps, batch, core, meta, metrics, policy, rbac, resource, scheduling, storage].flatMap(
    (group) => Object.entries(group as unknown as Readonly<Record<string, Fields>>),
  ),
);

const ofEveryKind: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata", "spec", "status"]);

/** Description of a type of the schema table, such as `core/v1.Pod`; undefined if missing. */
export function describeType(type: string): string | undefined {
  return descriptions.get(withoutVersion(type))?.[""];
}

/** Description of a field as JSON has it; fields of inlined structs belong to the struct around them. */
export function describeField(type: string, field: string): string | undefined {
  return (
    ownDescription(withoutVersion(type), field) ??
    inlinedDescription(type, field) ??
    (ofEveryKind.has(field) ? descriptions.get("*")?.[field] : undefined)
  );
}

/** Description of a field that every kind has. */
export function describeCommonField(field: "apiVersion" | "kind" | "metadata"): string {
  const found = describeField("", field);
  if (found === undefined) throw new TypeError(`the field ${field} has no description`);
  return found;
}

function ownDescription(key: string, field: string): string | undefined {
  const fields = descriptions.get(key);
  if (fields === undefined) return undefined;
  if (Object.hasOwn(fields, field)) return fields[field];
  const like = fields["@like"];
  return like === undefined ? undefined : ownDescription(like, field);
}

function inlinedDescription(type: string, field: string): string | undefined {
  for (const [, , inlined, marks] of typeRows.get(type) ?? []) {
    if (marks?.inline !== true || !typeRows.has(inlined)) continue;
    const found = ownDescription(withoutVersion(inlined), field) ?? inlinedDescription(inlined, field);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * `resource/v1.Device` is described as `resource/Device` is: versions of a type differ in their fields only.
 */
function withoutVersion(type: string): string {
  return type.replace(/\/v[^.]*\./, "/");
}
