import type { DeviceAttribute, DeviceConstraint } from "@dray/api/resource/v1";
import type { Candidate } from "./inventory.ts";

/** A rule over several devices of one claim, with what it has seen so far. */
export interface Constraint {
  /** Takes a device of a request; false: the rule would not hold, and nothing is taken. */
  add(request: string, subrequest: string | undefined, candidate: Candidate): boolean;
  /** Takes back the device that was added last. */
  remove(request: string, subrequest: string | undefined): void;
}

/** A rule that makes all its devices have one value of an attribute, or all different ones. */
export class AttributeConstraint implements Constraint {
  readonly #requests: ReadonlySet<string>;
  readonly #attribute: string;
  readonly #distinct: boolean;
  readonly #values: DeviceAttribute[] = [];

  constructor(constraint: DeviceConstraint, attribute: string, distinct: boolean) {
    this.#requests = new Set(constraint.requests);
    this.#attribute = attribute;
    this.#distinct = distinct;
  }

  #covers(request: string, subrequest: string | undefined): boolean {
    if (this.#requests.size === 0 || this.#requests.has(request)) return true;
    return subrequest !== undefined && this.#requests.has(`${request}/${subrequest}`);
  }

  add(request: string, subrequest: string | undefined, candidate: Candidate): boolean {
    if (!this.#covers(request, subrequest)) return true;
    const value = attributeOf(candidate, this.#attribute);
    if (value === undefined) return false;
    const holds = this.#distinct
      ? this.#values.every((known) => differ(known, value))
      : this.#values.length === 0 || sameScalar(this.#values[0]!, value);
    if (!holds) return false;
    this.#values.push(value);
    return true;
  }

  remove(request: string, subrequest: string | undefined): void {
    if (this.#covers(request, subrequest)) this.#values.pop();
  }
}

/** By its full name, else, in the driver's own domain, by its short one. */
function attributeOf(candidate: Candidate, name: string): DeviceAttribute | undefined {
  const attributes = candidate.device.attributes ?? {};
  const slash = name.indexOf("/");
  const full = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
  if (full !== undefined || slash < 0 || name.slice(0, slash) !== candidate.driver) return full;
  const short = name.slice(slash + 1);
  return Object.hasOwn(attributes, short) ? attributes[short] : undefined;
}

const scalars = ["string", "int", "bool", "version"] as const;

function sameScalar(a: DeviceAttribute, b: DeviceAttribute): boolean {
  return scalars.some((kind) => a[kind] !== undefined && b[kind] !== undefined && equal(a[kind], b[kind]));
}

/** Scalars of one kind and value do not differ; a list that comes second is never known to differ. */
function differ(known: DeviceAttribute, value: DeviceAttribute): boolean {
  if (!scalars.some((kind) => value[kind] !== undefined)) return false;
  return !sameScalar(known, value);
}

function equal(a: unknown, b: unknown): boolean {
  if (typeof a === "bigint" || typeof b === "bigint") return BigInt(a as bigint) === BigInt(b as bigint);
  return a === b;
}
