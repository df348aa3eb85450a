import type { KubernetesVersion } from "@dray/api";
import type { CustomResourceValidation, SelectableField } from "@dray/api/apiextensions/v1";
import { FieldErrors, sameValue } from "@dray/api/validation";
import type { Step } from "../../../request/pieces.ts";
import { fieldPath } from "../../../structural-schemas/field-path.ts";
import { type Schema, someSchema } from "../../../structural-schemas/schema.ts";
import { checkDefaults } from "./default-values.ts";
import { goSchema } from "./go-form.ts";
import { breaksLists } from "./lists.ts";
import { checkSchema, type Tolerance } from "./schema-rules.ts";
import { hasUnsupported, structuralErrors } from "./structural.ts";
import type { Definition, Version } from "./types.ts";

/** Validates the schemas of one definition, and the objects in them. */
export interface SchemaChecker {
  schema(
    errors: FieldErrors,
    validation: CustomResourceValidation | undefined,
    status: boolean,
    version?: string,
  ): void;
  selectable(
    errors: FieldErrors,
    fields: readonly SelectableField[] | undefined,
    validation: CustomResourceValidation | undefined,
    version: string,
  ): void;
}

const schemasOf = (definition: Definition): Schema[] =>
  (definition.spec.versions ?? []).flatMap(({ schema }) => schema?.openAPIV3Schema ?? []);

/** Returns a schema checker; violations of the stored definition are tolerated. */
export function checkerOf(
  definition: Definition,
  old: Definition | undefined,
  release: KubernetesVersion,
  step: Step,
): SchemaChecker {
  const before = old === undefined ? [] : schemasOf(old);
  const fresh = (): FieldErrors => new FieldErrors({ release });
  const anyOf = (holds: (schema: Schema) => boolean): boolean =>
    before.some((schema) => step(() => holds(schema)));
  const anyType = anyOf((schema) => someSchema(schema, ({ type = "" }) => type !== "" && !known.has(type)));
  const anySetItems = anyOf((schema) => breaksLists(schema, fresh, "set"));
  const anyMapKeys = anyOf((schema) => breaksLists(schema, fresh, "map"));
  const versionOf = (of: Definition | undefined, name: string | undefined): Version | undefined =>
    of?.spec.versions?.find((version) => version.name === name);
  return {
    schema(errors, validation, status, name) {
      const schema = validation?.openAPIV3Schema;
      if (schema === undefined) return;
      const stored = versionOf(old, name);
      const unchanged =
        stored !== undefined && step(() => sameValue(stored.schema, versionOf(definition, name)?.schema));
      checkVersionSchema(errors.at("openAPIV3Schema"), schema, {
        status,
        anyType,
        anySetItems,
        anyMapKeys,
        unchanged,
        step,
      });
    },
    selectable(errors, fields, validation, name) {
      if (fields === undefined || fields.length === 0) return;
      const stored = versionOf(old, name || definition.spec.versions?.[0]?.name)?.selectableFields ?? [];
      const mayBeMany = stored.length > maxSelectable && sameValue(stored, fields);
      checkSelectable(errors.at("selectableFields"), fields, {
        schema: validation?.openAPIV3Schema,
        mayBeMany,
      });
    },
  };
}

const known = new Set(["array", "boolean", "integer", "number", "object", "string"]);

/** The only allowed fields at the root of a schema with a status subresource, by their names in Go. */
const rootFields = new Map<string, string>(
  "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations"
    .split(" ")
    .map((name) => [jsonName(name), name]),
);

function jsonName(name: string): string {
  if (name === "XPreserveUnknownFields") return "x-kubernetes-preserve-unknown-fields";
  if (name === "XValidations") return "x-kubernetes-validations";
  return name[0]!.toLowerCase() + name.slice(1);
}

interface VersionOptions extends Tolerance {
  /** The version has a status subresource. */
  readonly status: boolean;
  readonly step: Step;
}

function checkVersionSchema(
  errors: FieldErrors,
  schema: Schema,
  { status, step, ...tolerance }: VersionOptions,
): void {
  if (status) {
    if ((schema.type ?? "") !== "" && schema.type !== "object") {
      const detail = `only "object" is allowed as the type at the root of the schema if the status subresource is enabled`;
      errors.at("type").invalid(schema.type, detail);
    } else if (Object.keys(schema).some((field) => !rootFields.has(field))) {
      const names = [...rootFields.values()].join(" ");
      const detail = `only [${names}] fields are allowed at the root of the schema if the status subresource is enabled`;
      errors.invalid(goSchema(schema), detail);
    }
  }
  if (schema.nullable) errors.at("nullable").forbidden("nullable cannot be true at the root");
  const isUnsupported = step(() => hasUnsupported(schema));
  const structure = isUnsupported ? undefined : step(() => structuralErrors(errors, schema));
  let sound = structure?.length === 0;
  if (structure !== undefined) errors.addAll(structure);
  if (sound) {
    const problems = step(() => {
      const own = errors.detached();
      checkDefaults(own, schema, true);
      return own.list;
    });
    errors.addAll(problems);
    sound = problems.length === 0;
  }
  checkSchema(errors, schema, { ...tolerance, structural: sound, step });
}

const maxSelectable = 8;

function checkSelectable(
  errors: FieldErrors,
  fields: readonly SelectableField[],
  { schema, mayBeMany }: { readonly schema: Schema | undefined; readonly mayBeMany: boolean },
): void {
  if (schema === undefined) return;
  const seen = new Set<string>();
  fields.forEach(({ jsonPath = "" }, index) => {
    const here = errors.index(index).at("jsonPath");
    if (jsonPath === "") {
      here.required();
      return;
    }
    const found = fieldPath(jsonPath, schema, false);
    if (typeof found === "string") {
      here.invalid(jsonPath, `is an invalid path: ${found}`);
      return;
    }
    if (found.root === "metadata") here.invalid(jsonPath, "must not point to fields in metadata");
    if (!["string", "boolean", "integer"].includes(found.schema?.type ?? "")) {
      const detail =
        "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
      here.invalid(jsonPath, detail);
    }
    if (seen.has(found.path)) here.duplicate(jsonPath);
    seen.add(found.path);
  });
  if (seen.size > maxSelectable && !mayBeMany) errors.tooMany(seen.size, maxSelectable);
}
