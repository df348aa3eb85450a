import { quoted } from "../text/quoted.ts";

const number = "(0|[1-9]\\d*)";
const preRelease = "(0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)";
const build = "[0-9a-zA-Z-]+";
const form = new RegExp(
  `^${number}\\.${number}\\.${number}(-${preRelease}(\\.${preRelease})*)?(\\+${build}(\\.${build})*)?$`,
);

/** True for a semantic version 2.0.0 (semver.org), which is what `version` attributes of devices hold. */
export function isSemanticVersion(text: string): boolean {
  return form.test(text);
}

/** A semantic version 2.0.0. Build metadata takes no part in comparisons. */
export interface SemanticVersion {
  readonly major: bigint;
  readonly minor: bigint;
  readonly patch: bigint;
  readonly prerelease: readonly string[];
  readonly build: readonly string[];
}

const digits = /^[0-9]*$/;
const identifiers = /^[0-9A-Za-z-]*$/;

/** Reads a version, or returns why it is invalid, in the words of the library that Kubernetes uses. */
export function parseSemanticVersion(text: string): SemanticVersion | string {
  if (text === "") return "Version string empty";
  const [major, minor, ...others] = text.split(".");
  if (major === undefined || minor === undefined || others.length === 0) {
    return "No Major.Minor.Patch elements found";
  }
  const [beforeBuild, build] = cut(others.join("."), "+");
  const [patch, prerelease] = cut(beforeBuild, "-");
  const wrong =
    badNumber(major, "major") ??
    badNumber(minor, "minor") ??
    badNumber(patch, "patch") ??
    firstProblem(prerelease, badPrerelease) ??
    firstProblem(build, badBuild);
  if (wrong !== undefined) return wrong;
  return { major: BigInt(major), minor: BigInt(minor), patch: BigInt(patch), prerelease, build };
}

/** The canonical text, build metadata included. */
export function semanticVersionText({ major, minor, patch, prerelease, build }: SemanticVersion): string {
  const suffix = (sign: string, parts: readonly string[]): string =>
    parts.length === 0 ? "" : sign + parts.join(".");
  return `${major}.${minor}.${patch}${suffix("-", prerelease)}${suffix("+", build)}`;
}

/** The text before the first such character, and the parts of the text after it. */
function cut(text: string, at: string): [string, readonly string[]] {
  const index = text.indexOf(at);
  return index < 0 ? [text, []] : [text.slice(0, index), text.slice(index + 1).split(".")];
}

function firstProblem(
  parts: readonly string[],
  test: (part: string) => string | undefined,
): string | undefined {
  for (const part of parts) {
    const problem = test(part);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const leadingZero = (text: string): boolean => text.length > 1 && text.startsWith("0");

function badNumber(text: string, name: string): string | undefined {
  if (!digits.test(text)) return `Invalid character(s) found in ${name} number ${quoted(text)}`;
  if (leadingZero(text)) {
    return `${name[0]!.toUpperCase()}${name.slice(1)} number must not contain leading zeroes "${text}"`;
  }
  return badUint64(text);
}

function badUint64(text: string): string | undefined {
  if (text === "") return 'strconv.ParseUint: parsing "": invalid syntax';
  return BigInt(text) >= 2n ** 64n ? `strconv.ParseUint: parsing "${text}": value out of range` : undefined;
}

function badPrerelease(part: string): string | undefined {
  if (part === "") return "Prerelease is empty";
  if (!digits.test(part)) {
    return identifiers.test(part) ? undefined : `Invalid character(s) found in prerelease ${quoted(part)}`;
  }
  if (leadingZero(part)) return `Numeric PreRelease version must not contain leading zeroes "${part}"`;
  return badUint64(part);
}

function badBuild(part: string): string | undefined {
  if (part === "") return "Build meta data is empty";
  return identifiers.test(part) ? undefined : `Invalid character(s) found in build meta data ${quoted(part)}`;
}

/** -1, 0 or 1. */
export function compareSemanticVersions(a: SemanticVersion, b: SemanticVersion): -1 | 0 | 1 {
  if (a.major !== b.major) return a.major < b.major ? -1 : 1;
  if (a.minor !== b.minor) return a.minor < b.minor ? -1 : 1;
  if (a.patch !== b.patch) return a.patch < b.patch ? -1 : 1;
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
