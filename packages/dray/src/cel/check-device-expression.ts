import { byteLength, type Features } from "@dray/api";
import { costLimit, deviceEnvironment, type Reads, type Selector } from "@dray/cel";

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
  /** Only of a device selector. */
  readonly selector?: Selector;
}

export interface Rejected {
  readonly valid: false;
  readonly error: string;
  readonly hints: readonly string[];
}

/** Checks an expression without a server. */
export type DeviceExpressionKind = "selector" | "attribute";

const rejected = (error: string, hints: readonly string[] = []): Rejected => ({ valid: false, error, hints });

/**
 * Checks a device selector or the expression of a derived attribute as the API server does. `fresh`: as a new
 * one.
 */
export function checkDeviceExpression(
  expression: string,
  features: Features,
  fresh: boolean,
  kind: DeviceExpressionKind = "selector",
): Verdict {
  const bytes = byteLength(expression);
  if (bytes > maxLength)
    return rejected(`too long: it has ${bytes} bytes, and may have no more than ${maxLength}`);
  const environment = deviceEnvironment({
    stored: !fresh,
    features: {
      consumableCapacity: features.enabled("DRAConsumableCapacity"),
      listTypeAttributes: features.enabled("DRAListTypeAttributes"),
    },
  });
  const compiled =
    kind === "selector" ? environment.compile(expression) : environment.compileAttribute(expression);
  if (!compiled.ok) return rejected(compiled.error, compiled.hints);
  const { maxCost, reads } = compiled;
  const selector = "type" in compiled ? compiled : undefined;
  const warnings = selector?.warnings ?? [];
  if (maxCost > costLimit) {
    const limit = `its estimated cost is ${maxCost}, and may be no more than ${costLimit}`;
    return rejected(`too complex: ${limit}`, warnings);
  }
  const type = selector?.type ?? "attribute value";
  return { valid: true, type, maxCost, reads, warnings, ...(selector && { selector }) };
}
