import { quoted, StatusError } from "@dray/api";
import type { StatusCause } from "@dray/api/meta/v1";
import { eachPath, type FieldSet, pathText } from "./field-set.ts";
import { compareText, type ManagedEntry } from "./managed-fields.ts";

/** Fields of another manager that an apply would change. */
export interface Conflict {
  readonly entry: ManagedEntry;
  readonly fields: FieldSet;
}

/** Creates a 409 with a cause for each field (reason FieldManagerConflict), which kubectl prints. */
export function conflictError(conflicts: ReadonlyMap<string, Conflict>): StatusError {
  const groups = [...conflicts]
    .sort(([a], [b]) => compareText(a, b))
    .map(([, { entry, fields }]) => {
      const paths: string[] = [];
      eachPath(fields, (path) => paths.push(pathText(path)));
      return { manager: managerText(entry), paths };
    });
  const causes: StatusCause[] = groups.flatMap(({ manager, paths }) =>
    paths.map((field) => ({ reason: "FieldManagerConflict", message: `conflict with ${manager}`, field })),
  );
  const count = causes.length;
  const [first] = groups;
  const what =
    count === 1 && first !== undefined
      ? `1 conflict: conflict with ${first.manager}: ${first.paths[0]}`
      : `${count} conflicts: ${groups
          .flatMap(({ manager, paths }) => [
            `conflicts with ${manager}:`,
            ...paths.map((path) => `- ${path}`),
          ])
          .join("\n")}`;
  return StatusError.of("Conflict", `Apply failed with ${what}`, { causes });
}

/** `"m"`; for updaters with their version. */
function managerText(entry: ManagedEntry): string {
  const part = entry.subresource === "" ? "" : ` with subresource ${quoted(entry.subresource)}`;
  const version = entry.operation === "Update" ? ` using ${entry.apiVersion}` : "";
  return `${quoted(entry.manager)}${part}${version}`;
}
