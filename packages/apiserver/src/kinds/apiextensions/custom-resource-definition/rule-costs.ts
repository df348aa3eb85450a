import type { FieldErrors } from "@dray/api/validation";
import type { Schema } from "../../../structural-schemas/schema.ts";

/** Maximum estimated cost of one rule, and of all rules of a schema together. */
const maxRuleCost = 10_000_000n;
const maxSchemaCost = 100_000_000n;
const unlimited = 2n ** 64n - 1n;

interface ExpressionCost {
  readonly name: "rule" | "messageExpression";
  readonly cost: bigint;
  /** The schema is unchanged. */
  readonly unchanged: boolean;
}

/** Adds up the estimated costs of the rules of one schema. */
export class RuleCosts {
  #total = 0n;
  /** The most expensive rules, four at most, in descending order. */
  #largestCosts: { errors: FieldErrors; cost: bigint }[] = [];

  /**
   * Adds one expression at a path; an error if it exceeds the limit by itself, unless the schema is
   * unchanged.
   */
  add(errors: FieldErrors, { name, cost, unchanged }: ExpressionCost): void {
    if (!unchanged && cost > maxRuleCost)
      errors.forbidden(tooExpensive(`estimated ${name} cost`, cost, maxRuleCost));
  }

  observe(errors: FieldErrors, cost: bigint): void {
    const total = this.#total + cost;
    this.#total = total > unlimited ? unlimited : total;
    if (cost < maxSchemaCost / 100n) return;
    this.#largestCosts.push({ errors, cost });
    this.#largestCosts.sort((a, b) => (a.cost > b.cost ? -1 : a.cost < b.cost ? 1 : 0));
    this.#largestCosts = this.#largestCosts.slice(0, 4);
  }

  checkTotal(errors: FieldErrors): void {
    if (this.#total <= maxSchemaCost) return;
    for (const { errors: rule } of this.#largestCosts) {
      rule
        .into(errors)
        .forbidden(
          "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
        );
    }
    const name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
    errors.forbidden(tooExpensive(name, this.#total, maxSchemaCost));
  }
}

function tooExpensive(name: string, cost: bigint, limit: bigint): string {
  const times = Number(cost) / Number(limit);
  const factor =
    times > 100 ? "more than 100x" : times < 1.5 ? `${times.toFixed(6)}x` : `${times.toFixed(1)}x`;
  return `${name} exceeds budget by factor of ${factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}

/**
 * Maximum number of occurrences of a value in an object; undefined: limited only by the size of a request.
 */
export type Cardinality = bigint | undefined;

/** Returns the cardinality of values directly below a schema. */
export function cardinalityBelow(schema: Schema, own: Cardinality): Cardinality {
  if (own === undefined) return undefined;
  const { type, additionalProperties, maxProperties, maxItems } = schema;
  const maxCount =
    type === "object" && additionalProperties !== undefined ? maxProperties : type === "array" ? maxItems : 1;
  return maxCount === undefined ? undefined : times(own, BigInt(Math.max(0, Number(maxCount))));
}

/** Returns the cost of an expression over a whole object. `minBytes`: minimum size of the value. */
export function costOver(cost: bigint, cardinality: Cardinality, minBytes: number): bigint {
  return times(cost, cardinality ?? BigInt(Math.trunc((3 * 1024 * 1024) / (minBytes + 1))));
}

function times(a: bigint, b: bigint): bigint {
  const product = a * b;
  return product > unlimited ? unlimited : product;
}
