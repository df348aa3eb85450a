import { CdiError } from "./spec.ts";

export interface QualifiedName {
  readonly vendor: string;
  readonly class: string;
  readonly device: string;
}

const kindPart = /^[A-Za-z](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?$/;
const devicePart = /^[A-Za-z0-9](?:[A-Za-z0-9_.:-]*[A-Za-z0-9])?$/;

/** Describes the problem of a device name; undefined if it is valid. */
export function deviceNameProblem(name: string): string | undefined {
  if (devicePart.test(name)) return undefined;
  return `${JSON.stringify(name)} is no device name: it must begin and end with a letter or digit and may have "_", "-", "." and ":" between`;
}

/** Describes the problem of a `vendor/class`; undefined if it is valid. */
export function kindProblem(kind: string): string | undefined {
  const [vendor = "", type, ...rest] = kind.split("/");
  if (type === undefined || rest.length > 0) return `${JSON.stringify(kind)} must have the form vendor/class`;
  for (const [what, part] of [
    ["vendor", vendor],
    ["class", type],
  ] as const) {
    if (!kindPart.test(part)) {
      return `${JSON.stringify(part)} is no ${what}: it must begin with a letter, end with a letter or digit, and may have "_", "-" and "." between`;
    }
  }
  return undefined;
}

/** Parses `vendor/class=device`. Throws a CdiError that describes the problem. */
export function parseQualifiedName(name: string): QualifiedName {
  const equals = name.indexOf("=");
  if (equals < 0)
    throw new CdiError(`CDI device ${JSON.stringify(name)} must have the form vendor/class=device`);
  const kind = name.slice(0, equals);
  const device = name.slice(equals + 1);
  const problem = kindProblem(kind) ?? deviceNameProblem(device);
  if (problem !== undefined) throw new CdiError(`CDI device ${JSON.stringify(name)}: ${problem}`);
  const [vendor = "", type = ""] = kind.split("/");
  return { vendor, class: type, device };
}

/** Returns the name of a device for runtimes: `vendor/class=device`. */
export function qualifiedName(kind: string, device: string): string {
  return `${kind}=${device}`;
}
