import type { FieldErrors } from "@dray/api/validation";
import { escapeFieldName } from "@dray/cel";
import { isEmpty } from "../../../json/values.ts";
import type { Step } from "../../../request/pieces.ts";
import { fieldPath } from "../../../structural-schemas/field-path.ts";
import { compileRules } from "../../../structural-schemas/rules/compile.ts";
import { type DeclaredType, declaredType } from "../../../structural-schemas/rules/declared-type.ts";
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
  readonly noDefaults?: string | undefined;
  readonly insideMetadata: boolean;
  /** The part of the schema below which old and new values cannot be correlated. */
  readonly uncorrelated?: FieldErrors | undefined;
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
  /** The schema is one step, and each rule. */
  readonly step: Step;
}

/** A part of the schema whose rules are compiled after the whole schema has been looked at. */
interface RuledPart {
  readonly errors: FieldErrors;
  readonly schema: Schema;
  readonly place: Place;
  readonly rules: RulePlace;
}

/** Validates schemas of custom resources, except for their structure. */
export function checkSchema(
  errors: FieldErrors,
  schema: Schema,
  { structural, step, ...tolerance }: SchemaOptions,
): void {
  const { shape, parts } = step(() => {
    const walk = new Walk(tolerance);
    const declared = lazily(() => declaredType(schema, true));
    const rules = structural ? { cardinality: 1n, declared } : undefined;
    const own = errors.detached();
    walk.schema(own, schema, { isRoot: true, insideMetadata: false, rules });
    return { shape: own.list, parts: walk.parts };
  });
  errors.addAll(shape);
  const costs = new RuleCosts();
  for (const part of parts) checkRules(errors, part, { costs, unchanged: tolerance.unchanged, step });
  if (structural) costs.checkTotal(errors);
}

class Walk {
  readonly parts: RuledPart[] = [];
  readonly #tolerance: Tolerance;

  constructor(tolerance: Tolerance) {
    this.#tolerance = tolerance;
  }

  schema(errors: FieldErrors, schema: Schema, place: Place): void {
    const before = errors.list.length;
    this.#unsupported(errors, schema, place);
    if (schema.uniqueItems) {
      errors
        .at("uniqueItems")
        .forbidden("uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
    }
    this.#below(errors, schema, place);
    checkLists(errors, schema, this.#tolerance);
    this.#ruleFields(errors, schema);
    // Expressions are compiled only if the schema is valid.
    const { rules } = place;
    if (errors.list.length === before && rules !== undefined && schema["x-kubernetes-validations"]?.length)
      this.parts.push({ errors, schema, place, rules });
  }

  #unsupported(errors: FieldErrors, schema: Schema, place: Place): void {
    const { type = "" } = schema;
    if (type !== "" && !this.#tolerance.anyType && !openAPITypes.includes(type)) {
      errors.at("type").notSupported(type, openAPITypes);
    }
    if (schema.default !== undefined && schema.default !== null && place.noDefaults !== undefined) {
      errors.at("default").forbidden(`must not be set ${place.noDefaults}`);
    }
    const forbid = (field: string): void => errors.at(field).forbidden(`${field} is not supported`);
    if (schema.id) forbid("id");
    if (schema.additionalItems !== undefined) forbid("additionalItems");
    if (hasKeys(schema.patternProperties)) forbid("patternProperties");
    if (hasKeys(schema.definitions)) forbid("definitions");
    if (schema.dependencies !== undefined) forbid("dependencies");
    if (schema.$ref !== undefined) forbid("$ref");
    if (type === "null") {
      errors.at("type").forbidden("type cannot be set to null, use nullable as an alternative");
    }
    if (Array.isArray(schema.items) && schema.items.length > 0) {
      errors.at("items").forbidden("items must be a schema object and not an array");
    }
    if (place.insideMetadata && isEmbedded(schema)) {
      errors.at("x-kubernetes-embedded-resource").forbidden("must not be used inside of resource meta");
    }
  }

  #below(errors: FieldErrors, schema: Schema, place: Place): void {
    const inner: Place = { ...place, isRoot: false };
    const outer = place.rules;
    const rules = (declared: (type: DeclaredType | undefined) => DeclaredType | undefined, of: Schema) =>
      outer && {
        cardinality: cardinalityBelow(schema, outer.cardinality),
        declared: lazily(() => declared(outer.declared()) ?? declaredType(of, isEmbedded(of))),
      };
    const additional = additionalOf(schema);
    if (schema.additionalProperties !== undefined) {
      const restricts = schema.additionalProperties !== true;
      if (hasKeys(schema.properties) && restricts) {
        errors
          .at("additionalProperties")
          .forbidden("additionalProperties and properties are mutual exclusive");
      }
      const noDefaults = "inside additionalProperties applying to object metadata";
      const values = place.insideMetadata ? { ...inner, noDefaults } : inner;
      if (additional !== undefined) {
        const own = rules((type) => type?.item, additional);
        this.schema(errors.at("additionalProperties"), additional, { ...values, rules: own });
      }
    }
    const properties = errors.at("properties");
    const isObject = place.isRoot || isEmbedded(schema);
    for (const name in schema.properties) {
      const property = schema.properties[name]!;
      const metadata = isObject && metaFields.has(name);
      // Not spread: a schema may have thousands of properties.
      this.schema(properties.key(name), property, {
        isRoot: false,
        noDefaults: metadata && place.isRoot ? `in top-level ${name}` : place.noDefaults,
        insideMetadata: metadata || place.insideMetadata,
        uncorrelated: place.uncorrelated,
        rules: rules((type) => fieldTypeOf(type, name), property),
      });
    }
    const alternative = { ...inner, rules: undefined };
    if (schema.not !== undefined) this.schema(errors.at("not"), schema.not, alternative);
    for (const junctor of ["allOf", "oneOf", "anyOf"] as const) {
      schema[junctor]?.forEach((one, index) => {
        this.schema(errors.at(junctor).index(index), one, alternative);
      });
    }
    for (const [name, one] of Object.entries(schema.definitions ?? {})) {
      this.schema(errors.at("definitions").key(name), one, alternative);
    }
    const items = itemsOf(schema);
    if (items !== undefined) {
      const correlates = schema["x-kubernetes-list-type"] === "map" || place.uncorrelated !== undefined;
      this.schema(errors.at("items"), items, {
        ...inner,
        ...(correlates ? {} : { uncorrelated: errors }),
        rules: rules((type) => type?.item, items),
      });
    }
  }

  /** Validates rules, messages, reasons and paths as texts. */
  #ruleFields(errors: FieldErrors, schema: Schema): void {
    const lines = /[\n\r]/;
    schema["x-kubernetes-validations"]?.forEach((rule, index) => {
      const here = errors.at("x-kubernetes-validations").index(index);
      const { message = "", messageExpression = "", reason, fieldPath: where = "" } = rule;
      const [text, shown] = [rule.rule.trim(), message.trim()];
      if (text === "") here.at("rule").required("rule is not specified");
      else if (message !== "" && shown === "") {
        here.at("message").invalid(message, "must be non-empty if specified");
      } else if (lines.test(shown)) here.at("message").invalid(message, "must not contain line breaks");
      else if (lines.test(text) && shown === "") {
        here.at("message").required("message must be specified if rule contains line breaks");
      }
      if (messageExpression !== "" && messageExpression.trim() === "") {
        here.at("messageExpression").required("messageExpression must be non-empty if specified");
      }
      if (reason !== undefined && !reasons.includes(reason)) here.at("reason").notSupported(reason, reasons);
      if (where !== "" && where.trim() === "") {
        here.at("fieldPath").invalid(where, "must be non-empty if specified");
      }
      if (lines.test(where)) here.at("fieldPath").invalid(where, "must not contain line breaks");
      // Without a structural schema the path cannot be resolved.
      if (where !== "" && !hasUnsupported(schema) && typeof fieldPath(where, schema) === "string") {
        here.at("fieldPath").invalid(where, "must be a valid path");
      }
    });
  }
}

interface RuleOptions {
  readonly costs: RuleCosts;
  readonly unchanged: boolean;
  readonly step: Step;
}

/** Compiles the rules of a part, and adds their errors and costs. */
function checkRules(
  errors: FieldErrors,
  { errors: at, schema, place, rules }: RuledPart,
  { costs, unchanged, step }: RuleOptions,
): void {
  const here = at.into(errors).at("x-kubernetes-validations");
  const declared = step(rules.declared);
  if (declared === undefined) {
    here.internal(
      "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations",
    );
    return;
  }
  compileRules(schema, declared, step).forEach((compiled, index) => {
    const { rule } = compiled;
    const own = here.index(index);
    const cost = costOver(compiled.maxCost, rules.cardinality, declared.minBytes);
    costs.add(own.at("rule"), { name: "rule", cost, unchanged });
    costs.observe(own.at("rule"), cost);
    if (compiled.error !== undefined) own.at("rule").invalid(goRule(rule), compiled.error);
    if (compiled.messageError !== undefined) {
      own.at("messageExpression").invalid(goRule(rule), compiled.messageError);
    } else if (compiled.message !== undefined) {
      const cost = compiled.messageMaxCost;
      costs.add(own.at("messageExpression"), { name: "messageExpression", cost, unchanged });
      costs.observe(own.at("messageExpression"), compiled.messageMaxCost);
    }
    if (compiled.usesOldSelf) {
      if (place.uncorrelated !== undefined) {
        const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.uncorrelated.path}`;
        own.at("rule").invalid(rule.rule, detail);
      }
    } else if (rule.optionalOldSelf !== undefined) {
      const detail = "may not be set if oldSelf is not used in rule";
      own.at("optionalOldSelf").invalid(rule.optionalOldSelf, detail);
    }
  });
}

const hasKeys = (map: object | undefined): boolean => map !== undefined && !isEmpty(map);

function fieldTypeOf(type: DeclaredType | undefined, name: string): DeclaredType | undefined {
  const escaped = escapeFieldName(name);
  return escaped === undefined ? undefined : type?.fields?.get(escaped);
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
