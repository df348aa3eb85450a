import { type Position, positionOf } from "../manifests/place.ts";
import type { Problem } from "../manifests/problem.ts";
import { type RuleId, rules, type Severity } from "./rules.ts";
import type { Subject } from "./subjects.ts";

/** One thing that is wrong, as data. */
export interface Finding extends Position {
  readonly rule: RuleId;
  readonly severity: Severity;
  /** `Pod default/a`; absent where there is no object. */
  readonly object?: string;
  /** Path of the field, as the API server writes it. */
  readonly path?: string;
  readonly message: string;
  /** Why: what there is instead, and what became of nodes and devices. */
  readonly details: readonly string[];
  /** Suggestion and advice. */
  readonly hints: readonly string[];
}

/** A finding about a field of an object. */
export function finding(
  rule: RuleId,
  subject: Pick<Subject, "place" | "label">,
  path: string,
  message: string,
  { details = [], hints = [] }: Partial<Pick<Finding, "details" | "hints">> = {},
): Finding {
  const { place, label } = subject;
  const { severity } = rules[rule];
  return {
    rule,
    severity,
    ...positionOf(place, path),
    object: label,
    ...(path !== "" && { path }),
    message,
    details,
    hints,
  };
}

/** A mistake that was found while reading. */
export function fromProblem({ hints = [], ...problem }: Problem): Finding {
  return { ...problem, severity: rules[problem.rule].severity, details: [], hints };
}
