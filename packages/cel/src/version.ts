/** A semantic version 2.0.0. Build metadata takes no part in comparisons. */
export interface Version {
  readonly major: bigint;
  readonly minor: bigint;
  readonly patch: bigint;
  readonly prerelease: readonly string[];
}

const digits = /^[0-9]*$/;
const identifiers = /^[0-9A-Za-z-]*$/;

/** Reads a version, or answers why it is none, in the words of the library that Kubernetes uses. */
export function parseVersion(text: string): Version | string {
  if (text === "") return "Version string empty";
  const parts = splitParts(text);
  if (parts === undefined) return "No Major.Minor.Patch elements found";
  const [major, minor, rest] = parts;
  const first = number(major, "major") ?? number(minor, "minor");
  if (first !== undefined) return first;
  const plus = rest.indexOf("+");
  const build = plus < 0 ? undefined : rest.slice(plus + 1);
  const beforeBuild = plus < 0 ? rest : rest.slice(0, plus);
  const dash = beforeBuild.indexOf("-");
  const prerelease = dash < 0 ? [] : beforeBuild.slice(dash + 1).split(".");
  const patch = dash < 0 ? beforeBuild : beforeBuild.slice(0, dash);
  const wrong = number(patch, "patch") ?? badPrerelease(prerelease) ?? badBuild(build?.split(".") ?? []);
  if (wrong !== undefined) return wrong;
  return { major: BigInt(major), minor: BigInt(minor), patch: BigInt(patch), prerelease };
}

function splitParts(text: string): [string, string, string] | undefined {
  const first = text.indexOf(".");
  const second = first < 0 ? -1 : text.indexOf(".", first + 1);
  if (second < 0) return undefined;
  return [text.slice(0, first), text.slice(first + 1, second), text.slice(second + 1)];
}

function number(text: string, name: string): string | undefined {
  if (!digits.test(text)) return `Invalid character(s) found in ${name} number "${text}"`;
  if (text.length > 1 && text.startsWith("0"))
    return `${title(name)} number must not contain leading zeroes "${text}"`;
  if (text === "") return 'strconv.ParseUint: parsing "": invalid syntax';
  if (BigInt(text) >= 2n ** 64n) return `strconv.ParseUint: parsing "${text}": value out of range`;
  return undefined;
}

const title = (name: string): string => name[0]!.toUpperCase() + name.slice(1);

function badPrerelease(parts: readonly string[]): string | undefined {
  for (const part of parts) {
    if (part === "") return "Prerelease is empty";
    if (digits.test(part)) {
      if (part.length > 1 && part.startsWith("0")) {
        return `Numeric PreRelease version must not contain leading zeroes "${part}"`;
      }
    } else if (!identifiers.test(part)) return `Invalid character(s) found in prerelease "${part}"`;
  }
  return undefined;
}

function badBuild(parts: readonly string[]): string | undefined {
  for (const part of parts) {
    if (part === "") return "Build meta data is empty";
    if (!identifiers.test(part)) return `Invalid character(s) found in build meta data "${part}"`;
  }
  return undefined;
}

/** -1, 0 or 1. */
export function compareVersions(a: Version, b: Version): -1 | 0 | 1 {
  for (const part of ["major", "minor", "patch"] as const) {
    if (a[part] !== b[part]) return a[part] < b[part] ? -1 : 1;
  }
  if (a.prerelease.length === 0 || b.prerelease.length === 0) {
    return a.prerelease.length === b.prerelease.length ? 0 : a.prerelease.length === 0 ? 1 : -1;
  }
  for (let i = 0; ; i++) {
    const x = a.prerelease[i];
    const y = b.prerelease[i];
    if (x === undefined || y === undefined) return x === y ? 0 : x === undefined ? -1 : 1;
    const order = compareIdentifiers(x, y);
    if (order !== 0) return order;
  }
}

function compareIdentifiers(x: string, y: string): -1 | 0 | 1 {
  if (x === y) return 0;
  const numericX = digits.test(x);
  const numericY = digits.test(y);
  if (numericX !== numericY) return numericX ? -1 : 1;
  if (numericX) return BigInt(x) < BigInt(y) ? -1 : BigInt(x) > BigInt(y) ? 1 : 0;
  return x < y ? -1 : 1;
}
