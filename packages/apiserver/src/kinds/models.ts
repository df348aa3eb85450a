import { apiVersionOf, type FieldError, type KubeObject, type Provenance, type Wire } from "@dray/api";
import { type DecodedBody, decodeBody, kindOf, type RawBody } from "@dray/api/codec";
import { type DefaultsContext, setDefaults } from "@dray/api/defaults";
import type { KindRow } from "@dray/api/schema";
import {
  type ValidationContext,
  validateCreate,
  validateStatusUpdate,
  validateUpdate,
  viewValidation,
  warningsFor,
} from "@dray/api/validation";
import { builtInType, type ObjectType } from "../patch/index.ts";
import type { Printer } from "../tables/column.ts";
import { plain } from "../tables/plain.ts";
import type { ApiVersion, StrategyParts } from "./define.ts";
import type { ModelledKind, ResourceModel, UpdateFindings } from "./model.ts";
import { servedKind } from "./registry.ts";
import type { StoredRow } from "./resources.ts";
import type { Strategy } from "./strategy.ts";

/** Kinds of the meta group: their types are known to every group. */
const metaKinds = new Set(["DeleteOptions"]);

/** Returns a kind's own model, or that of the schema table. Throws a TypeError for an unknown kind. */
export function modelOf(kind: ModelledKind): ResourceModel {
  return kind.model ?? builtInModel(kind);
}

/** Returns the row of a kind in the schema table. Throws a TypeError if it has no such row. */
function rowOf(kind: ModelledKind): KindRow {
  const row = kindOf(kind.group, kind.version, kind.kind);
  if (row) return row;
  if (!metaKinds.has(kind.kind)) throw new TypeError(`the schema has no ${apiVersionOf(kind)} ${kind.kind}`);
  return { ...kind, type: `meta/v1.${kind.kind}`, resource: "", namespaced: false };
}

const models = new Map<string, BuiltInModel>();
/** Memo by the object that the caller asks with: callers mostly ask with the same ones. */
const known = new WeakMap<ModelledKind, BuiltInModel>();

/** Returns the model of a built-in kind. Throws a TypeError if the schema table does not have it. */
export function builtInModel(kind: ModelledKind): ResourceModel {
  let model = known.get(kind);
  if (model !== undefined) return model;
  const key = `${apiVersionOf(kind)}/${kind.kind}`;
  model = models.get(key) ?? new BuiltInModel(rowOf(kind));
  models.set(key, model);
  known.set(kind, model);
  return model;
}

/** Returns the model of a kind with other columns. */
export function printedAs(kind: ModelledKind, printer: Printer<KubeObject>): ResourceModel {
  return new BuiltInModel(rowOf(kind), printer);
}

/** A kind in one version. */
interface KindVersion extends ApiVersion {
  readonly kind: string;
}

/** Converts an object to another version of a built-in kind. The result shares unchanged parts. */
export function convertBuiltIn(
  object: KubeObject,
  from: KindVersion,
  to: KindVersion,
  provenance?: Provenance,
): KubeObject {
  if (from.group === to.group && from.version === to.version) return object;
  const renamed: KubeObject = { ...object, apiVersion: apiVersionOf(to), kind: to.kind };
  provenance?.keepEmpty(renamed, object);
  return servedKind(to)?.convert?.(renamed, from, to, provenance) ?? renamed;
}

const general: Strategy = {};

/**
 * Returns a function that finds the strategy of a kind: that of its model, or that of its definition. Without
 * either the general rules hold.
 */
export function strategyLookup(parts: StrategyParts): (kind: StoredRow) => Strategy {
  const made = new Map<string, Strategy>();
  return ({ model, group, kind }) => {
    if (model?.strategy !== undefined) return model.strategy;
    const served = servedKind({ group, kind });
    if (served?.strategyOf === undefined) return served?.strategy ?? general;
    const key = `${group}/${kind}`;
    const strategy = made.get(key) ?? served.strategyOf(parts);
    made.set(key, strategy);
    return strategy;
  };
}

class BuiltInModel implements ResourceModel {
  readonly #row: KindRow;
  readonly #printer: Printer<KubeObject>;

  constructor(row: KindRow, printer: Printer<KubeObject> = servedKind(row)?.columns ?? plain) {
    this.#row = row;
    this.#printer = printer;
  }

  decode(raw: RawBody, release: string | undefined): DecodedBody {
    return decodeBody(metaKinds.has(this.#row.kind) ? anyVersion(raw) : raw, this.#row, release);
  }

  setDefaults(object: Wire<KubeObject>, context: DefaultsContext): void {
    servedKind(this.#row)?.normalise?.(object);
    setDefaults(this.#row, object, context);
  }

  convert(object: KubeObject, to: ModelledKind): KubeObject {
    return convertBuiltIn(object, this.#row, to);
  }

  get objectType(): ObjectType {
    const { group, version, kind } = this.#row;
    const type = builtInType(apiVersionOf({ group, version }), kind);
    if (type === undefined) throw new TypeError(`the schema has no ${apiVersionOf(this.#row)} ${kind}`);
    return type;
  }

  validateCreate(object: KubeObject, context: ValidationContext): readonly FieldError[] {
    return validateCreate(this.#row, object, context);
  }

  validateUpdate(
    object: KubeObject,
    old: KubeObject,
    subresource: string,
    context: ValidationContext,
  ): UpdateFindings {
    const validate = subresource === "status" ? validateStatusUpdate : validateUpdate;
    const errors =
      viewValidation(this.#row, subresource)?.(object, old, context) ??
      validate(this.#row, object, old, context);
    return { errors, tolerated: [] };
  }

  warnings(object: KubeObject, old: KubeObject | undefined, subresource: string): readonly string[] {
    return warningsFor(this.#row, object, old, subresource);
  }

  get printer(): Printer<KubeObject> {
    return this.#printer;
  }
}

/** Clients send options in the version of the object that they are for. */
function anyVersion(raw: RawBody): RawBody {
  if (typeof raw.tree !== "object" || raw.tree === null) return raw;
  const { apiVersion: _, ...tree } = raw.tree as { apiVersion?: unknown };
  return { ...raw, tree };
}
