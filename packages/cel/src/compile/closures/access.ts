import { CelError, Optional, type Value } from "../../values/value.ts";
import { type Frame, spend } from "../frame.ts";
import type { Chain, Presence } from "../ir.ts";
import { keyError, lookup, lookupField, qualify, qualifyField } from "../runtime.ts";
import type { Plan, Step } from "./step.ts";

export function chain(node: Chain, plan: Plan): Step {
  const { base, own, qualifiers } = node;
  if (qualifiers.length === 0) {
    const value = plan(base);
    if (own === 0) return value;
    return (frame) => {
      const result = value(frame);
      spend(frame, 1);
      return result;
    };
  }
  return walk(node, plan, (frame, value, optional) => {
    spend(frame, own);
    if (value === undefined) return Optional.none;
    return optional && !(value instanceof CelError) ? new Optional(value) : value;
  });
}

/** Continues with the result of a chain: undefined if an optional qualifier found nothing. */
type Continuation = (frame: Frame, value: Value | undefined, optional: boolean) => Value;

/**
 * Follows the qualifiers of a chain. After an optional qualifier, or an optional base, all qualifiers are
 * optional.
 */
function walk({ base, qualifiers }: Chain, plan: Plan, then: Continuation): Step {
  const start = plan(base);
  const keys = qualifiers.map(({ key, optional, declared }) => ({
    key: plan(key),
    optional,
    get: declared ? qualifyField : qualify,
  }));
  return (frame) => {
    let value: Value | undefined = start(frame);
    let optional = value instanceof Optional;
    if (value instanceof Optional) value = value.value;
    for (const qualifier of keys) {
      if (value === undefined || value instanceof CelError) break;
      optional ||= qualifier.optional;
      const key = qualifier.key(frame);
      value = keyError(key) ?? (optional ? lookup(value, key) : qualifier.get(value, key));
      if (value !== undefined && !(optional && value instanceof CelError)) spend(frame, 1);
    }
    return then(frame, value, optional);
  };
}

export function presence({ chain, field, own, declared }: Presence, plan: Plan): Step {
  const find = declared ? lookupField : lookup;
  return walk(chain, plan, (frame, value, optional) => {
    if (value instanceof CelError) {
      frame.cost += own;
      return value;
    }
    const found = value === undefined ? undefined : find(value, field);
    const counts = optional ? found !== undefined && !(found instanceof CelError) : true;
    // A negative `own` is subtracted after the check of the limit.
    spend(frame, counts ? 1 : 0);
    frame.cost += own;
    return found instanceof CelError ? found : found !== undefined;
  });
}
