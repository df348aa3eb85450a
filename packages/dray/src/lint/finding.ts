import { type Position, positionOf } from "../manifests/place.ts";
import { type Problem, unreadableText } from "../manifests/problem.ts";
import { type RuleId, rules, type Severity } from "./rules.ts";
import type { Subject } from "./subjects.ts";

/** A problem, as data. */
export interface Finding extends Position {
  readonly rule: RuleId;
  readonly severity: Severity;
  /** `Pod default/a`; absent without an object. */
  readonly object?: string;
  /** Path of the field, as the API server writes it. */
  readonly path?: string;
  readonly message: string;
  /** Reasons: the existing names, and the results for nodes and devices. */
  readonly details: readonly string[];
  /** Suggestions. */
  readonly hints: readonly string[];
}

/** Makes a finding about a field of an object. */
export function finding(
  rule: RuleId,
  subject: Pick<Subject, "place" | "label">,
  path: string,
  {
    message,
    details = [],
    hints = [],
  }: Pick<Finding, "message"> & Partial<Pick<Finding, "details" | "hints">>,
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

/** Makes a finding about an object whose checks have thrown. */
export function unreadableFinding(subject: Pick<Subject, "place" | "label">, error: unknown): Finding {
  return finding("unreadable", subject, "", { message: unreadableText(error) });
}

/** Converts a problem of reading. */
export function fromProblem({ hints = [], ...problem }: Problem): Finding {
  return { ...problem, severity: rules[problem.rule].severity, details: [], hints };
}
