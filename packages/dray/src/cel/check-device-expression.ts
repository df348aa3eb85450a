import { byteLength, type Features } from "@dray/api";
import { costLimit, type DeviceEnvironment, deviceEnvironment, type Reads, type Selector } from "@dray/cel";

/** Maximum length of an expression in bytes (resource.k8s.io CELSelectorExpressionMaxLength). */
const maxLength = 10 * 1024;

/** Result of the check of one expression. */
export type Verdict = Accepted | Rejected;

export interface Accepted {
  readonly valid: true;
  readonly type: string;
  readonly maxCost: number | bigint;
  readonly reads: Reads;
  readonly warnings: readonly string[];
}

export interface AcceptedSelector extends Accepted {
  readonly selector: Selector;
}

export interface Rejected {
  readonly valid: false;
  readonly error: string;
  readonly hints: readonly string[];
}

export type DeviceExpressionKind = "selector" | "attribute";

const rejected = (error: string, hints: readonly string[] = []): Rejected => ({ valid: false, error, hints });

/** Checks an expression about devices as the API server does. `fresh`: as a new one. */
export function checkDeviceExpression(
  expression: string,
  features: Features,
  fresh: boolean,
  kind: DeviceExpressionKind,
): Verdict {
  if (kind === "attribute") return checkAttribute(expression, features, fresh);
  const verdict = checkSelector(expression, features, fresh);
  if (!verdict.valid) return verdict;
  const { selector: _, ...accepted } = verdict;
  return accepted;
}

/** Checks a device selector as the API server does. `fresh`: as a new one. */
export function checkSelector(
  expression: string,
  features: Features,
  fresh: boolean,
): AcceptedSelector | Rejected {
  const tooLong = lengthProblem(expression);
  if (tooLong !== undefined) return rejected(tooLong);
  const selector = environmentOf(features, fresh).compile(expression);
  if (!selector.ok) return rejected(selector.error, selector.hints);
  const { type, maxCost, reads, warnings } = selector;
  if (maxCost > costLimit) return rejected(complexity(maxCost), warnings);
  return { valid: true, type, maxCost, reads, warnings, selector };
}

/** Checks the expression of a derived attribute. */
function checkAttribute(expression: string, features: Features, fresh: boolean): Verdict {
  const tooLong = lengthProblem(expression);
  if (tooLong !== undefined) return rejected(tooLong);
  const compiled = environmentOf(features, fresh).compileAttribute(expression);
  if (!compiled.ok) return rejected(compiled.error, compiled.hints);
  const { maxCost, reads } = compiled;
  if (maxCost > costLimit) return rejected(complexity(maxCost));
  return { valid: true, type: "attribute value", maxCost, reads, warnings: [] };
}

function lengthProblem(expression: string): string | undefined {
  const bytes = byteLength(expression);
  return bytes > maxLength
    ? `too long: it has ${bytes} bytes, and may have no more than ${maxLength}`
    : undefined;
}

const complexity = (cost: number | bigint): string =>
  `too complex: its estimated cost is ${cost}, and may be no more than ${costLimit}`;

function environmentOf(features: Features, fresh: boolean): DeviceEnvironment {
  return deviceEnvironment({
    stored: !fresh,
    features: {
      consumableCapacity: features.enabled("DRAConsumableCapacity"),
      listTypeAttributes: features.enabled("DRAListTypeAttributes"),
    },
  });
}
