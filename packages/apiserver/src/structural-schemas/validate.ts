import { quoted } from "@dray/api";
import type { FieldErrors } from "@dray/api/validation";
import { Correlation } from "./correlation.ts";
import { isInEnumeration } from "./enumeration.ts";
import { hasFormat, knownFormat } from "./formats.ts";
import { checkNumber, typesOf } from "./numbers.ts";
import { Outcome, report } from "./outcome.ts";
import { matchesPattern, PatternBudget } from "./patterns.ts";
import {
  additionalOf,
  child,
  type Form,
  formOf,
  isPlain,
  itemsOf,
  namesFields,
  type Plain,
  propertyOf,
  type Schema,
} from "./schema.ts";

/**
 * Validates a value against a schema, with kube-openapi's messages. Unchanged parts of an update are not
 * rejected.
 */
export function checkValue(
  errors: FieldErrors,
  schema: Schema | undefined,
  value: unknown,
  correlation?: Correlation,
): void {
  if (schema === undefined) return;
  for (const problem of validate(schema, "", value, { correlation, budget: new PatternBudget() }).problems)
    report(errors, problem);
}

interface Scope {
  /** Undefined without an old value, or where descendants are checked as new. */
  readonly correlation: Correlation | undefined;
  /** The one budget of the whole object. */
  readonly budget: PatternBudget;
}

/** A value's schema and path, and the outcome to which its problems are added. */
interface Place extends Scope {
  readonly outcome: Outcome;
  readonly schema: Schema;
  readonly path: string;
}

function validate(schema: Schema, path: string, value: unknown, { correlation, budget }: Scope): Outcome {
  const outcome = new Outcome();
  const form = formOf(value);
  checkType(outcome, schema, path, form);
  if (form === "null") {
    checkEnum(outcome, schema, path, value);
    return ratcheted(outcome, correlation);
  }
  outcome.matches++;
  const place: Place = { outcome, schema, path, correlation, budget };
  checkJunctors(place, value);
  if (typeof value === "string") checkText(place, value);
  if (typeof value === "number" || typeof value === "bigint") checkNumber(outcome, schema, path, value);
  if (Array.isArray(value)) checkList(place, value);
  checkEnum(outcome, schema, path, value);
  if (isPlain(value)) checkObject(place, value);
  outcome.matches++;
  return ratcheted(outcome, correlation);
}

function ratcheted(outcome: Outcome, correlation: Correlation | undefined): Outcome {
  if (outcome.valid || !correlation?.unchanged) return outcome;
  const passed = new Outcome();
  passed.matches = outcome.matches;
  return passed;
}

function checkType(outcome: Outcome, schema: Schema, path: string, form: Form): void {
  const types = typesOf(schema);
  const format = knownFormat(schema);
  if (types.length === 0 && format === undefined && form !== "null") return;
  outcome.matches++;
  const fail = (expected: string, found: string): void => {
    const message = `${path} in body must be of type ${expected}: ${quoted(found)}`;
    outcome.add({ kind: "type", path, value: found, message });
    outcome.matches--;
  };
  if (form === "null") {
    if (types.length > 0 && !types.includes("null") && !schema.nullable) fail(types.join(","), "null");
    return;
  }
  const fits = types.includes(form) || (form === "integer" && types.includes("number"));
  const textual = form === "string" || form === "array";
  if (format !== undefined && textual && !types.includes("number") && !types.includes("integer")) return;
  if (format !== undefined && !textual && !fits) {
    const found = form === "integer" ? "int64" : form === "number" ? "float64" : "";
    fail(schema.format ?? format, found);
    return;
  }
  if (!fits && !(form === "integer" && types.includes("number"))) fail(types.join(","), form);
}

function checkEnum(outcome: Outcome, schema: Schema, path: string, value: unknown): void {
  const allowed = schema.enum;
  if (allowed !== undefined && allowed.length > 0 && !isInEnumeration(allowed, value)) {
    outcome.add({ kind: "enum", path, value, message: `${path} in body should be one of`, allowed });
  } else if (value !== null) outcome.matches++;
}

function checkText({ outcome, schema, path, budget }: Place, value: string): void {
  const length = (): number => [...value].length;
  const { maxLength, minLength, pattern } = schema;
  if (maxLength !== undefined && length() > maxLength) {
    const message = `${path} in body should be at most ${maxLength} chars long`;
    outcome.add({ kind: "long", path, value, message, limit: Number(maxLength) });
  } else if (minLength !== undefined && length() < minLength) {
    outcome.add({
      kind: "other",
      path,
      value,
      message: `${path} in body should be at least ${minLength} chars long`,
    });
  } else if (pattern !== undefined && pattern !== "") {
    const matches = matchesPattern(schema, value, budget);
    const message = `${path} in body should match '${pattern}'`;
    if (matches === undefined)
      outcome.add({ kind: "other", path, value, message: `${message}, which takes too long to find out` });
    else if (!matches) outcome.add({ kind: "other", path, value, message });
  }
  outcome.matches++;
  const format = knownFormat(schema);
  if (format === undefined) return;
  if (!hasFormat(format, value)) {
    const message = `${path} in body must be of type ${schema.format}: ${quoted(value)}`;
    outcome.add({ kind: "type", path, value, message });
  }
  outcome.matches++;
}

function checkList({ outcome, schema, path, correlation, budget }: Place, list: readonly unknown[]): void {
  const items = itemsOf(schema);
  if (items !== undefined) {
    list.forEach((item, index) => {
      const below = { correlation: correlation?.index(index), budget };
      outcome.merge(validate(items, `${path}[${index}]`, item, below));
    });
  }
  const { minItems, maxItems } = schema;
  if (minItems !== undefined && list.length < minItems) {
    const message = `${path} in body should have at least ${minItems} items`;
    outcome.add({ kind: "other", path, value: list.length, message });
  }
  if (maxItems !== undefined && list.length > maxItems) {
    const message = `${path} in body should have at most ${maxItems} items`;
    outcome.add({ kind: "many", path, value: list.length, message, limit: Number(maxItems) });
  }
  outcome.matches += 2;
}

function checkObject({ outcome, schema, path, correlation, budget }: Place, object: Plain): void {
  const { minProperties, maxProperties, required, properties = {}, additionalProperties } = schema;
  const count = Object.keys(object).length;
  if (minProperties !== undefined && count < minProperties) {
    const message = `${path} in body should have at least ${minProperties} properties`;
    outcome.add({ kind: "other", path, value: count, message });
  }
  if (maxProperties !== undefined && count > maxProperties) {
    const message = `${path} in body should have at most ${maxProperties} properties`;
    outcome.add({ kind: "many", path, value: count, message, limit: Number(maxProperties) });
  }
  const below = (name: string, of: Schema, where: string): void => {
    // A change of the version is not visible here: both objects have the same one.
    const unseen = path === "" && (name === "apiVersion" || name === "kind");
    const scope = { correlation: unseen ? undefined : correlation?.key(name), budget };
    outcome.merge(validate(of, where, object[name], scope));
  };
  const additional = additionalOf(schema);
  for (const name in namesFields(schema) ? object : {}) {
    if (propertyOf(schema, name) !== undefined) continue;
    if (additionalProperties === false) {
      outcome.add({
        kind: "other",
        path,
        value: name,
        message: `${path}.${name} in body is a forbidden property`,
      });
    } else if (additional !== undefined) below(name, additional, `${path}.${name}`);
  }
  for (const [name, property] of Object.entries(properties)) {
    if (Object.hasOwn(object, name)) below(name, property, child(path, name));
  }
  for (const name of required ?? []) {
    if (Object.hasOwn(object, name)) continue;
    outcome.add({
      kind: "required",
      path: `${path}.${name}`,
      message: `${path}.${name} in body is required`,
    });
  }
  outcome.matches++;
}

/** Validates allOf, anyOf, oneOf and not. */
function checkJunctors(place: Place, value: unknown): void {
  const { outcome, schema, path } = place;
  const general = (message: string): void => outcome.add({ kind: "general", path, message });
  const each = (schemas: readonly Schema[]): Outcome[] =>
    schemas.map((one) => junctor(one, path, value, place));
  const mergeNearest = ([first, ...others]: readonly Outcome[]): void => {
    if (first === undefined) return;
    outcome.merge(others.reduce((best, one) => (one.matches > best.matches ? one : best), first));
  };
  if (schema.anyOf !== undefined && schema.anyOf.length > 0) {
    const outcomes = each(schema.anyOf);
    const first = outcomes.find(({ valid }) => valid);
    if (first === undefined) {
      general(`${quoted(path)} must validate at least one schema (anyOf)`);
      mergeNearest(outcomes);
    } else outcome.merge(first);
  }
  if (schema.oneOf !== undefined && schema.oneOf.length > 0) {
    const outcomes = each(schema.oneOf);
    const valid = outcomes.filter((one) => one.valid);
    if (valid.length === 1) outcome.merge(valid[0]!);
    else {
      const found = valid.length === 0 ? "Found none valid" : `Found ${valid.length} valid alternatives`;
      general(`${quoted(path)} must validate one and only one schema (oneOf). ${found}`);
      if (valid.length === 0) mergeNearest(outcomes);
    }
  }
  if (schema.allOf !== undefined && schema.allOf.length > 0) {
    const outcomes = each(schema.allOf);
    for (const one of outcomes) outcome.merge(one);
    const valid = outcomes.filter((one) => one.valid).length;
    if (valid < outcomes.length) {
      general(
        `${quoted(path)} must validate all the schemas (allOf)${valid === 0 ? ". None validated" : ""}`,
      );
    }
  }
  if (schema.not !== undefined && junctor(schema.not, path, value, place).valid) {
    general(`${quoted(path)} must not validate the schema (not)`);
  }
  outcome.matches += 2;
}

/** The alternative itself is checked as new; its descendants are correlated again. */
function junctor(schema: Schema, path: string, value: unknown, { correlation, budget }: Scope): Outcome {
  return validate(schema, path, value, { correlation: correlation && new BelowOnly(correlation), budget });
}

class BelowOnly extends Correlation {
  readonly #of: Correlation;
  constructor(of: Correlation) {
    super(of.value, of.old, undefined);
    this.#of = of;
  }
  override get unchanged(): boolean {
    return false;
  }
  override key(name: string): Correlation | undefined {
    return this.#of.key(name);
  }
  override index(index: number): Correlation | undefined {
    return this.#of.index(index);
  }
}
