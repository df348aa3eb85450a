import { FieldErrors } from "@dray/api/validation";
import { deepEqual, thaw } from "../../../storage/json.ts";
import { checkEmbedded, coerceEmbedded, MetadataError } from "../../../structural-schemas/embedded.ts";
import { prune } from "../../../structural-schemas/pruning.ts";
import { RuleSet } from "../../../structural-schemas/rules/evaluate.ts";
import {
  additionalOf,
  isEmbedded,
  isPlain,
  itemsOf,
  metaFields,
  type Plain,
  type Schema,
} from "../../../structural-schemas/schema.ts";
import { checkValue } from "../../../structural-schemas/validate.ts";

/** Cost budget: the rules for all defaults together may cost as much as the rules for one object. */
interface Budget {
  remaining: number;
}

interface DefaultContext {
  /** The schema is part of the metadata of an object. */
  readonly insideMetadata: boolean;
  readonly mustBePruned: boolean;
  readonly budget: Budget;
}

/**
 * Validates defaults: they must satisfy their schema, rules included, and contain no fields that would be
 * pruned.
 */
export function checkDefaults(errors: FieldErrors, schema: Schema, mustBePruned: boolean): void {
  const root = { ...schema, "x-kubernetes-embedded-resource": true };
  check(errors, root, { insideMetadata: false, mustBePruned, budget: { remaining: 10_000_000 } });
}

function check(errors: FieldErrors, schema: Schema, context: DefaultContext): void {
  const { budget } = context;
  const embedded = isEmbedded(schema);
  const insideMetadata = context.insideMetadata && !embedded;
  const own = { ...context, insideMetadata };
  if (schema.default !== undefined && schema.default !== null) {
    checkDefault(errors.at("default"), schema, own);
    if (budget.remaining < 0) return;
  }
  const items = itemsOf(schema);
  if (items !== undefined) check(errors.at("items"), items, own);
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (budget.remaining < 0) return;
    const inside = insideMetadata || (embedded && metaFields.has(name));
    check(errors.at("properties").key(name), property, { ...context, insideMetadata: inside });
  }
}

function checkDefault(
  errors: FieldErrors,
  schema: Schema,
  { insideMetadata, mustBePruned, budget }: DefaultContext,
): void {
  const value: unknown = thaw(schema.default);
  if (!insideMetadata) {
    const pruned: unknown = thaw(value);
    // Pruning starts at an object; the default itself may be any value.
    const holder: Plain = { value: pruned };
    prune(holder, { type: "object", properties: { value: schema } }, false);
    if (mustBePruned && !deepEqual(pruned, value)) {
      errors.invalid(value, "must not have unknown fields");
    }
    try {
      coerceEmbedded(value, schema, errors.path, { dropMalformed: false });
    } catch (error) {
      if (!(error instanceof MetadataError)) throw error;
      new FieldErrors(errors).at(error.path).into(errors).invalid(error.value, error.message);
      return;
    }
    const own = errors.detached();
    checkEmbedded(own, schema, value);
    if (own.list.length > 0) {
      errors.addAll(own.list);
      return;
    }
  }
  const own = errors.detached();
  checkValue(own, structuralForm(schema), value);
  if (own.list.length > 0) {
    errors.addAll(own.list);
    return;
  }
  const rules = new RuleSet(schema, isEmbedded(schema) && isPlain(value));
  if (rules.empty) return;
  // Checked as an unchanged value, and as a new one.
  const before = rules.check(own, value, { old: value, budget: budget.remaining });
  const after = own.list.length === 0 ? rules.check(own, value, { budget: budget.remaining }) : before;
  budget.remaining = Math.min(before, after);
  errors.addAll(own.list);
}

/**
 * Returns the schema against which upstream validates defaults: in the structural form
 * `x-kubernetes-int-or-string` has no type, and alternatives do not restrict further fields.
 */
function structuralForm(schema: Schema, nested = false): Schema {
  const { "x-kubernetes-int-or-string": _, additionalProperties, ...rest } = schema;
  const form: Schema = { ...rest };
  const [items, additional] = [itemsOf(schema), additionalOf(schema)];
  if (items !== undefined) form.items = structuralForm(items, nested);
  if (additional !== undefined) form.additionalProperties = structuralForm(additional, nested);
  else if (additionalProperties !== undefined && !nested) form.additionalProperties = additionalProperties;
  if (schema.properties !== undefined) {
    form.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([name, property]) => [name, structuralForm(property, nested)]),
    );
  }
  for (const junctor of ["allOf", "anyOf", "oneOf"] as const) {
    const alternatives = schema[junctor];
    if (alternatives !== undefined) form[junctor] = alternatives.map((one) => structuralForm(one, true));
  }
  if (schema.not !== undefined) form.not = structuralForm(schema.not, true);
  return form;
}
