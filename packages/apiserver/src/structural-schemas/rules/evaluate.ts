import { type FieldError, fieldErrorText, quoted } from "@dray/api";
import type { ValidationRule } from "@dray/api/apiextensions/v1";
import { FieldErrors } from "@dray/api/validation";
import { escapeFieldName, Optional, type Value } from "@dray/cel";
import { atOnce, type Step } from "../../request/pieces.ts";
import { type Correlation, itemWithKeys } from "../correlation.ts";
import {
  additionalOf,
  isEmbedded,
  isPlain,
  itemsOf,
  propertyOf,
  type Schema,
  someSchema,
} from "../schema.ts";
import { type CompiledRule, compileRules } from "./compile.ts";
import { type DeclaredType, declaredType, withMetadata } from "./declared-type.ts";
import { celValue } from "./value.ts";

/** Maximum cost of one evaluation, and of all evaluations for one object (apiserver/pkg/apis/cel). */
const maxCallCost = 1_000_000;
const objectBudget = 10_000_000;
/** Maximum size of the message of an expression, in bytes. */
const maxMessageBytes = 5 * 1024;

/** The compiled rules of a schema and of its children. */
interface Node {
  readonly schema: Schema;
  readonly rules: readonly CompiledRule[];
  readonly isRoot: boolean;
  readonly items?: Node;
  readonly additional?: Node;
  readonly properties: ReadonlyMap<string, Node>;
}

/** The correlation with the old value of an update: see `Correlation`. */
interface Ratchet {
  readonly current: Correlation | undefined;
  readonly nearest: Correlation | undefined;
}

const fresh: Ratchet = { current: undefined, nearest: undefined };

/** The compiled rules of a schema. */
export class RuleSet {
  readonly #root: Node | undefined;

  constructor(schema: Schema | undefined, isRoot: boolean) {
    const any = someSchema(schema, (one) => (one["x-kubernetes-validations"] ?? []).length > 0);
    this.#root =
      schema !== undefined && any ? nodeOf(schema, isRoot, declaredType(schema, isRoot)) : undefined;
  }

  get empty(): boolean {
    return this.#root === undefined;
  }

  /**
   * Adds the violations of rules to `errors`. Violations of unchanged values are added to `warnings` instead.
   * Returns the remaining budget, which is below 0 if it is exhausted.
   */
  check(
    errors: FieldErrors,
    value: unknown,
    { old, correlation, warnings = [], budget = objectBudget, step = atOnce }: CheckOptions = {},
  ): number {
    if (this.#root === undefined) return budget;
    const own = errors.detached();
    const run = new Run(warnings, budget, step);
    const ratchet = correlation ? { current: correlation, nearest: undefined } : fresh;
    run.node(own, this.#root, { value, old, ratchet });
    // Upstream has no path for the root.
    errors.addAll(own.list.map((error) => (error.path === "" ? { ...error, path: "<nil>" } : error)));
    return run.budget;
  }
}

export interface CheckOptions {
  /** Absent on create. */
  readonly old?: unknown;
  readonly correlation?: Correlation | undefined;
  readonly warnings?: string[];
  readonly budget?: number;
  /** Runs each rule. */
  readonly step?: Step;
}

function nodeOf(schema: Schema, isRoot: boolean, declared: DeclaredType | undefined): Node | undefined {
  if (declared === undefined) return undefined;
  const rules = compileRules(schema, declared);
  const below = (sub: Schema | undefined, type: DeclaredType | undefined): Node | undefined =>
    sub === undefined ? undefined : nodeOf(sub, isEmbedded(sub), type);
  const items = below(itemsOf(schema), declared.item);
  const additional = below(additionalOf(schema), declared.item);
  const properties = new Map<string, Node>();
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const escaped = escapeFieldName(name);
    const type =
      escaped === undefined ? declaredType(property, isEmbedded(property)) : declared.fields?.get(escaped);
    const node = below(property, type);
    if (node !== undefined) properties.set(name, node);
  }
  if (rules.length === 0 && items === undefined && additional === undefined && properties.size === 0)
    return undefined;
  return {
    schema,
    rules,
    isRoot,
    properties,
    ...(items === undefined ? {} : { items }),
    ...(additional === undefined ? {} : { additional }),
  };
}

/** A value with the one that it replaces. */
interface Values {
  readonly value: unknown;
  readonly old: unknown;
  readonly ratchet: Ratchet;
}

/** The evaluation of a rule whose result is not true. */
interface Failure {
  readonly value: unknown;
  /** Type in the schema. */
  readonly type: string;
  readonly bindings: Record<string, Value>;
  readonly ratchet: Ratchet;
}

class Run {
  readonly #warnings: string[];
  readonly #step: Step;
  budget: number;

  constructor(warnings: string[], budget: number, step: Step) {
    this.#warnings = warnings;
    this.#step = step;
    this.budget = budget;
  }

  node(errors: FieldErrors, node: Node, values: Values): void {
    const { value, old, ratchet } = values;
    if (value === null || value === undefined) return;
    this.#rules(errors, node, values);
    if (this.budget < 0) return;
    if (Array.isArray(value)) {
      if (node.items === undefined) return;
      const before = Array.isArray(old) ? old : undefined;
      for (const [index, item] of value.entries()) {
        const same = itemWithKeys(node.schema, before, item);
        const next = below(ratchet, (one) => one.index(index));
        this.node(errors.index(index), node.items, { value: item, old: same, ratchet: next });
        if (this.budget < 0) return;
      }
    } else if (isPlain(value)) {
      const before = isPlain(old) ? old : {};
      for (const [key, field] of Object.entries(value)) {
        const named = propertyOf(node.schema, key) !== undefined;
        const sub = named ? node.properties.get(key) : node.additional;
        if (sub === undefined) continue;
        const hidden = ratchet.nearest === undefined && (key === "apiVersion" || key === "kind");
        const next = hidden ? fresh : below(ratchet, (one) => one.key(key));
        const oldField = Object.hasOwn(before, key) ? before[key] : undefined;
        const at = named ? errors.at(key) : errors.key(key);
        this.node(at, sub, { value: field, old: oldField, ratchet: next });
        if (this.budget < 0) return;
      }
    }
  }

  #rules(errors: FieldErrors, node: Node, { value, old, ratchet }: Values): void {
    if (node.rules.length === 0) return;
    const type = node.schema.type ?? "";
    if (this.budget <= 0) {
      this.#refuse(errors, type, exhausted);
      return;
    }
    const schema = node.isRoot ? withMetadata(node.schema) : node.schema;
    const self = celValue(value, schema);
    const oldSelf = old === undefined || old === null ? undefined : celValue(old, schema);
    for (const compiled of node.rules) {
      const { rule, program } = compiled;
      if (compiled.error !== undefined) {
        errors.invalid(type, `rule compile error: ${compiled.error}`);
        continue;
      }
      if (program === undefined) continue;
      const optional = rule.optionalOldSelf === true;
      // A transition rule does not apply without an old value.
      if (compiled.usesOldSelf && oldSelf === undefined && !optional) continue;
      const bindings: Record<string, Value> = { self };
      if (optional) bindings["oldSelf"] = oldSelf === undefined ? Optional.none : new Optional(oldSelf);
      else if (oldSelf !== undefined) bindings["oldSelf"] = oldSelf;
      const result = this.#step(() => program.evaluate(bindings, { costLimit: maxCallCost }));
      if (result.cost > this.budget) {
        this.#refuse(errors, type, exhausted);
        return;
      }
      this.budget -= result.cost;
      if (result.error !== undefined) {
        const { error } = result;
        if (error.startsWith("no such overload")) {
          const cause =
            "call arguments did not match a supported operator, function or macro signature for rule";
          errors.invalid(type, `'${error}': ${cause}: ${nameOf(rule)}`);
        } else if (error.startsWith("operation cancelled: actual cost limit exceeded")) {
          const cause = "no further validation rules will be run due to call cost exceeds limit for rule";
          this.#refuse(errors, type, `'${error}': ${cause}: ${nameOf(rule)}`);
          return;
        } else errors.invalid(type, `${error} evaluating rule: ${nameOf(rule)}`);
        continue;
      }
      if (result.value === true) continue;
      this.#failed(errors, compiled, { value, type, bindings, ratchet });
      if (this.budget < 0) return;
    }
  }

  #failed(errors: FieldErrors, compiled: CompiledRule, { value, type, bindings, ratchet }: Failure): void {
    const path = compiled.fieldPath === "" ? errors.path : joined(errors.path, compiled.fieldPath);
    const add = (fill: (own: FieldErrors) => void): void => {
      const own = new FieldErrors(errors);
      fill(own);
      const unchanged = !compiled.usesOldSelf && (ratchet.current ?? ratchet.nearest)?.unchanged === true;
      if (unchanged) for (const each of own.list.map(fieldErrorText)) this.#warnings.push(each);
      else errors.addAll(own.list);
    };
    const { rule, message } = compiled;
    let detail = rule.message ? rule.message.trim() : `failed rule: ${nameOf(rule)}`;
    if (message !== undefined) {
      const result = this.#step(() => message.evaluate(bindings, { costLimit: maxCallCost }));
      const limit = result.error?.startsWith("operation cancelled: actual cost limit exceeded");
      if (limit || result.cost > this.budget) {
        const text = limit
          ? `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${quoted(rule.messageExpression ?? "")}`
          : "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run";
        add((own) => own.at(path).invalid(type, text));
        this.budget = -1;
        return;
      }
      this.budget -= result.cost;
      const text = typeof result.value === "string" ? result.value.trim() : "";
      if (text !== "" && Buffer.byteLength(text) <= maxMessageBytes && !text.includes("\n")) detail = text;
    }
    add((own) => own.addAll([errorOf(own, { path, value, type, detail, reason: rule.reason })]));
  }

  /** Adds an error after which evaluation stops. */
  #refuse(errors: FieldErrors, type: string, cause: string): void {
    errors.invalid(type, cause);
    this.budget = -1;
  }
}

const exhausted =
  "validation failed due to running out of cost budget, no further validation rules will be run";

interface Violation {
  readonly path: string;
  readonly value: unknown;
  readonly type: string;
  readonly detail: string;
  /** FieldValueInvalid if absent. */
  readonly reason: string | undefined;
}

/** Values that are objects or lists are not printed. */
function errorOf(errors: FieldErrors, { path, value, type, detail, reason }: Violation): FieldError {
  const shown = errors.detached();
  shown.invalid(value, detail);
  const text = shown.list[0]?.value;
  const withValue = type === "object" || type === "array" || text === undefined ? {} : { value: text };
  switch (reason) {
    case "FieldValueForbidden":
      return { type: "Forbidden", path, detail };
    case "FieldValueRequired":
      return { type: "Required", path, detail };
    case "FieldValueDuplicate":
      return { type: "Duplicate", path, ...withValue, detail: "" };
    default:
      return { type: "Invalid", path, ...withValue, detail };
  }
}

const joined = (path: string, rest: string): string =>
  path === "" ? rest : rest.startsWith("[") ? `${path}${rest}` : `${path}.${rest}`;

const nameOf = (rule: ValidationRule): string => (rule.message || rule.rule).trim();

/** Below a value that cannot be correlated, the nearest correlated ancestor counts. */
function below({ current, nearest }: Ratchet, step: (one: Correlation) => Correlation | undefined): Ratchet {
  return current === undefined ? { current, nearest } : { current: step(current), nearest: current };
}
