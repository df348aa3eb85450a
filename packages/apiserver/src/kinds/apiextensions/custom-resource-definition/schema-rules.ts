import { type FieldErrors as Errors, FieldErrors } from "@dray/api/validation";
import { fieldPath } from "../../../structural-schemas/field-path.ts";
import { compileRules } from "../../../structural-schemas/rules/compile.ts";
import {
  type DeclaredType,
  declaredType,
  escapeName,
} from "../../../structural-schemas/rules/declared-type.ts";
import {
  additionalOf,
  isEmbedded,
  itemsOf,
  metaFields,
  type Schema,
} from "../../../structural-schemas/schema.ts";
import { goRule } from "./go-form.ts";
import { checkLists } from "./lists.ts";
import { type Cardinality, cardinalityBelow, costOver, RuleCosts } from "./rule-costs.ts";
import { hasUnsupported } from "./structural.ts";

/** Violations that are tolerated because the stored definition has them already. */
export interface Tolerance {
  readonly anyType: boolean;
  readonly anySetItems: boolean;
  readonly anyMapKeys: boolean;
  /** The schema has not changed: costs of single rules are not checked again. */
  readonly unchanged: boolean;
}

/** Position of a schema. */
interface Place {
  readonly isRoot: boolean;
  /** Why defaults are not allowed here. */
  readonly noDefaults?: string;
  readonly insideMetadata: boolean;
  /** The part of the schema below which old and new values cannot be correlated. */
  readonly uncorrelated?: string;
  /** Undefined where rules are not checked. */
  readonly rules?: RulePlace | undefined;
}

interface RulePlace {
  readonly cardinality: Cardinality;
  /** The type that a rule of a parent has already computed. */
  readonly declared: () => DeclaredType | undefined;
}

const openAPITypes = ["array", "boolean", "integer", "number", "object", "string"];

export interface SchemaOptions extends Tolerance {
  /** The schema is structural, so that its expressions can be compiled. */
  readonly structural: boolean;
}

/** Validates schemas of custom resources, except for their structure. */
export function checkSchema(
  errors: Errors,
  path: string,
  schema: Schema,
  { structural, ...tolerance }: SchemaOptions,
): void {
  const walk = new Walk(tolerance);
  const declared = lazily(() => declaredType(schema, true));
  const rules = structural ? { cardinality: 1n, declared } : undefined;
  walk.schema(schema, path, { isRoot: true, insideMetadata: false, rules });
  for (const { list } of [walk.shape, walk.expressions]) for (const each of list) errors.list.push(each);
  if (structural) walk.costs.checkTotal(errors, path);
}

class Walk {
  /** Errors of the schema itself, and of its expressions, which come last. */
  readonly shape = new FieldErrors();
  readonly expressions = new FieldErrors();
  readonly costs = new RuleCosts();
  readonly #tolerance: Tolerance;

  constructor(tolerance: Tolerance) {
    this.#tolerance = tolerance;
  }

  schema(schema: Schema, path: string, place: Place): void {
    const before = this.shape.list.length;
    this.#unsupported(schema, path, place);
    if (schema.uniqueItems) {
      this.shape.forbidden(
        `${path}.uniqueItems`,
        "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
      );
    }
    this.#below(schema, path, place);
    checkLists(this.shape, path, schema, this.#tolerance);
    this.#ruleFields(schema, path);
    // Expressions are compiled only if the schema is valid.
    if (this.shape.list.length === before) this.#compile(schema, path, place);
  }

  #unsupported(schema: Schema, path: string, place: Place): void {
    const { type = "" } = schema;
    const errors = this.shape;
    if (type !== "" && !this.#tolerance.anyType && !openAPITypes.includes(type)) {
      errors.notSupported(`${path}.type`, type, openAPITypes);
    }
    if (schema.default !== undefined && schema.default !== null && place.noDefaults !== undefined) {
      errors.forbidden(`${path}.default`, `must not be set ${place.noDefaults}`);
    }
    const forbid = (field: string, set: boolean): void => {
      if (set) errors.forbidden(`${path}.${field}`, `${field} is not supported`);
    };
    forbid("id", Boolean(schema.id));
    forbid("additionalItems", schema.additionalItems !== undefined);
    forbid("patternProperties", Object.keys(schema.patternProperties ?? {}).length > 0);
    forbid("definitions", Object.keys(schema.definitions ?? {}).length > 0);
    forbid("dependencies", schema.dependencies !== undefined);
    forbid("$ref", schema.$ref !== undefined);
    if (type === "null") {
      errors.forbidden(`${path}.type`, "type cannot be set to null, use nullable as an alternative");
    }
    if (Array.isArray(schema.items) && schema.items.length > 0) {
      errors.forbidden(`${path}.items`, "items must be a schema object and not an array");
    }
    if (place.insideMetadata && isEmbedded(schema)) {
      errors.forbidden(`${path}.x-kubernetes-embedded-resource`, "must not be used inside of resource meta");
    }
  }

  #below(schema: Schema, path: string, place: Place): void {
    const inner: Place = { ...place, isRoot: false };
    const rules = (declared: (type: DeclaredType | undefined) => DeclaredType | undefined, of: Schema) =>
      place.rules && {
        cardinality: cardinalityBelow(schema, place.rules.cardinality),
        declared: lazily(() => declared(place.rules!.declared()) ?? declaredType(of, isEmbedded(of))),
      };
    const additional = additionalOf(schema);
    if (schema.additionalProperties !== undefined) {
      const restricts = schema.additionalProperties !== true;
      if (Object.keys(schema.properties ?? {}).length > 0 && restricts) {
        this.shape.forbidden(
          `${path}.additionalProperties`,
          "additionalProperties and properties are mutual exclusive",
        );
      }
      const noDefaults = "inside additionalProperties applying to object metadata";
      const values = place.insideMetadata ? { ...inner, noDefaults } : inner;
      if (additional !== undefined) {
        const own = rules((type) => type?.item, additional);
        this.schema(additional, `${path}.additionalProperties`, { ...values, rules: own });
      }
    }
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      const metadata = (place.isRoot || isEmbedded(schema)) && metaFields.has(name);
      const escaped = escapeName(name);
      this.schema(property, `${path}.properties[${name}]`, {
        ...inner,
        ...(metadata ? { insideMetadata: true } : {}),
        ...(metadata && place.isRoot ? { noDefaults: `in top-level ${name}` } : {}),
        rules: rules((type) => (escaped === undefined ? undefined : type?.fields?.get(escaped)), property),
      });
    }
    const alternative = { ...inner, rules: undefined };
    if (schema.not !== undefined) this.schema(schema.not, `${path}.not`, alternative);
    for (const junctor of ["allOf", "oneOf", "anyOf"] as const) {
      schema[junctor]?.forEach((one, index) => {
        this.schema(one, `${path}.${junctor}[${index}]`, alternative);
      });
    }
    for (const [name, one] of Object.entries(schema.definitions ?? {})) {
      this.schema(one, `${path}.definitions[${name}]`, alternative);
    }
    const items = itemsOf(schema);
    if (items !== undefined) {
      const correlates = schema["x-kubernetes-list-type"] === "map" || place.uncorrelated !== undefined;
      this.schema(items, `${path}.items`, {
        ...inner,
        ...(correlates ? {} : { uncorrelated: path }),
        rules: rules((type) => type?.item, items),
      });
    }
  }

  /** Validates rules, messages, reasons and paths as texts. */
  #ruleFields(schema: Schema, path: string): void {
    const lines = /[\n\r]/;
    schema["x-kubernetes-validations"]?.forEach((rule, index) => {
      const errors = this.shape;
      const at = (field: string): string => `${path}.x-kubernetes-validations[${index}].${field}`;
      const { message = "", messageExpression = "", reason, fieldPath: where = "" } = rule;
      const [text, shown] = [rule.rule.trim(), message.trim()];
      if (text === "") errors.required(at("rule"), "rule is not specified");
      else if (message !== "" && shown === "") {
        errors.invalid(at("message"), message, "must be non-empty if specified");
      } else if (lines.test(shown)) errors.invalid(at("message"), message, "must not contain line breaks");
      else if (lines.test(text) && shown === "") {
        errors.required(at("message"), "message must be specified if rule contains line breaks");
      }
      if (messageExpression !== "" && messageExpression.trim() === "") {
        errors.required(at("messageExpression"), "messageExpression must be non-empty if specified");
      }
      if (reason !== undefined && !reasons.includes(reason))
        errors.notSupported(at("reason"), reason, reasons);
      if (where !== "" && where.trim() === "") {
        errors.invalid(at("fieldPath"), where, "must be non-empty if specified");
      }
      if (lines.test(where)) errors.invalid(at("fieldPath"), where, "must not contain line breaks");
      // Without a structural schema the path cannot be resolved.
      if (where !== "" && !hasUnsupported(schema) && typeof fieldPath(where, schema) === "string") {
        errors.invalid(at("fieldPath"), where, "must be a valid path");
      }
    });
  }

  #compile(schema: Schema, path: string, place: Place): void {
    const rules = schema["x-kubernetes-validations"] ?? [];
    if (rules.length === 0 || place.rules === undefined) return;
    const errors = this.expressions;
    const declared = place.rules.declared();
    const where = `${path}.x-kubernetes-validations`;
    if (declared === undefined) {
      errors.internal(
        where,
        "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations",
      );
      return;
    }
    const { unchanged } = this.#tolerance;
    compileRules(schema, declared).forEach((compiled, index) => {
      const { rule } = compiled;
      const at = (field: string): string => `${where}[${index}].${field}`;
      const cost = costOver(compiled.maxCost, place.rules!.cardinality, declared.minBytes);
      this.costs.add(errors, at("rule"), { name: "rule", cost, unchanged });
      this.costs.observe(at("rule"), cost);
      if (compiled.error !== undefined) errors.invalid(at("rule"), goRule(rule), compiled.error);
      if (compiled.messageError !== undefined) {
        errors.invalid(at("messageExpression"), goRule(rule), compiled.messageError);
      } else if (compiled.message !== undefined) {
        const cost = compiled.messageMaxCost;
        this.costs.add(errors, at("messageExpression"), { name: "messageExpression", cost, unchanged });
        this.costs.observe(at("messageExpression"), compiled.messageMaxCost);
      }
      if (compiled.usesOldSelf) {
        if (place.uncorrelated !== undefined) {
          const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.uncorrelated}`;
          errors.invalid(at("rule"), rule.rule, detail);
        }
      } else if (rule.optionalOldSelf !== undefined) {
        const detail = "may not be set if oldSelf is not used in rule";
        errors.invalid(at("optionalOldSelf"), rule.optionalOldSelf, detail);
      }
    });
  }
}

/** Allowed reasons of a rule (FieldValueErrorReason). */
const reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

function lazily<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
