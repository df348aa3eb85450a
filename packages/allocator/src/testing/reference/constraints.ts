import type { DeviceAttribute, DeviceConstraint } from "@dray/api/resource/v1";
import { deviceEnvironment } from "@dray/cel";
import {
  type Alternative,
  AttemptError,
  type Candidate,
  entry,
  fullName,
  isOn,
  type Pick,
  type Question,
} from "./model.ts";
import { inputOf } from "./selectors.ts";

const environment = deviceEnvironment({ stored: true });

/**
 * Reports whether a constraint holds with the candidate in addition to the picks of its claim. Throws
 * AttemptError.
 */
export function holds(
  question: Question,
  constraint: DeviceConstraint,
  picks: readonly Pick[],
  { alternative, candidate }: { readonly alternative: Alternative; readonly candidate: Candidate },
): boolean {
  if (!covers(constraint, alternative)) return true;
  const name = constraint.matchAttribute ?? constraint.distinctAttribute ?? "";
  const value = attributeOf(question, name, alternative, candidate);
  if (value === undefined) return false;
  const before = picks
    .filter((pick) => covers(constraint, pick.alternative))
    .map((pick) => attributeOf(question, name, pick.alternative, pick.candidate)!);
  const match = constraint.matchAttribute !== undefined;
  if (isOn(question, "ListTypeAttributes")) {
    const set = setOf(value);
    if (set === undefined) return false;
    const sets = before.map((other) => setOf(other)!);
    if (match) return sets.reduce((common, other) => common.intersection(other), set).size > 0;
    return sets.every((other) => set.isDisjointFrom(other));
  }
  if (before.length === 0) return true;
  const scalar = scalarOf(value);
  if (scalar === undefined) return false;
  return match ? scalar === scalarOf(before[0]!) : before.every((other) => scalar !== scalarOf(other));
}

function covers({ requests }: DeviceConstraint, alternative: Alternative): boolean {
  if (requests === undefined || requests.length === 0) return true;
  return requests.includes(alternative.request) || requests.includes(fullName(alternative));
}

/** Returns type and value as text; undefined for lists. */
function scalarOf({ int, bool, string, version }: DeviceAttribute): string | undefined {
  if (string !== undefined) return `string ${string}`;
  if (int !== undefined) return `int ${int}`;
  if (bool !== undefined) return `bool ${bool}`;
  return version === undefined ? undefined : `version ${version}`;
}

/** Returns the values of a list, a scalar as a list of one, and undefined for no value. */
function setOf(attribute: DeviceAttribute): Set<string> | undefined {
  const lists = [
    attribute.ints?.map((int) => ({ int })),
    attribute.bools?.map((bool) => ({ bool })),
    attribute.strings?.map((string) => ({ string })),
    attribute.versions?.map((version) => ({ version })),
  ];
  const list = lists.find((items) => items !== undefined && items.length > 0) ?? [attribute];
  const values = list.flatMap((item) => scalarOf(item) ?? []);
  return values.length === 0 ? undefined : new Set(values);
}

/**
 * A derived attribute of the request hides one of the device; a name without a domain is in that of the
 * driver.
 */
function attributeOf(
  question: Question,
  name: string,
  alternative: Alternative,
  candidate: Candidate,
): DeviceAttribute | undefined {
  const derived = alternative.spec.derivedAttributes?.find((other) => other.name === name);
  if (derived !== undefined) return evaluate(question, name, derived.expression, candidate);
  const { attributes } = candidate.device;
  const slash = name.indexOf("/");
  const own = slash >= 0 && name.slice(0, slash) === candidate.pool.driver;
  return entry(attributes, name) ?? (own ? entry(attributes, name.slice(slash + 1)) : undefined);
}

function evaluate(question: Question, name: string, text: string, candidate: Candidate): DeviceAttribute {
  const expression = environment.compileAttribute(text);
  if (!expression.ok) {
    throw new AttemptError(`compile derived attribute ${name} failed: ${expression.error}`);
  }
  const result = expression.evaluate(inputOf(question, candidate));
  if (result.error !== undefined) {
    throw new AttemptError(
      `evaluate derived attribute ${name} on device ${candidate.id} failed: ${result.error}`,
    );
  }
  return result.attribute;
}
