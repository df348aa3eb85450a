import { compareSemanticVersions, parseSemanticVersion } from "@dray/api";
import { boolType, intType, semverType, stringType } from "../values/types.ts";
import { CelError, SemverValue, type Value } from "../values/value.ts";
import { traversal } from "./costs/cost.ts";
import {
  declare,
  type FunctionDeclaration,
  type Implementation,
  method,
  overload,
  priced,
} from "./declarations.ts";

function parse(text: string): Value {
  const version = parseSemanticVersion(text);
  return typeof version === "string" ? new CelError(version) : new SemverValue(version);
}

/** `semver(text, true)` allows a leading `v`, missing parts and leading zeroes. */
function normalized(text: string): Value {
  const [major = "", minor, ...patch] = text.replace(/^v/, "").split(".");
  const parts = [major, minor, patch.length === 0 ? undefined : patch.join(".")].filter(
    (part) => part !== undefined,
  );
  const plain = parts.map((part) => {
    // Upstream leaves a part of one byte unchanged.
    if (part.length < 2 && part < "\x80") return part;
    const rest = part.replace(/^0+/, "");
    return /^[0-9]/.test(rest) ? rest : `0${rest}`;
  });
  if (plain.length < 3 && plain.slice(-1).some((last) => /[+-]/.test(last))) {
    return new CelError("short version cannot contain PreRelease/Build meta data");
  }
  while (plain.length < 3) plain.push("0");
  return parse(plain.join("."));
}

const version = (value: Value): SemverValue["version"] => (value as SemverValue).version;
const two = (name: string, result: typeof boolType, invoke: Implementation): FunctionDeclaration =>
  declare(name, [method(`semver_${name}`, [semverType, semverType], result, invoke)]);
const part = (name: "major" | "minor" | "patch"): FunctionDeclaration =>
  declare(name, [
    method(`semver_${name}`, [semverType], intType, (a) => BigInt.asIntN(64, version(a)[name])),
  ]);

/** Semantic versions (Kubernetes CEL library of 1.33). */
export const semverLibrary: readonly FunctionDeclaration[] = [
  priced(traversal, {
    ...declare("semver", [
      overload("string_to_semver", [stringType], semverType, (a) => parse(a as string)),
      overload("string_bool_to_semver", [stringType, boolType], semverType, (a, b) =>
        b === true ? normalized(a as string) : parse(a as string),
      ),
    ]),
    parsesConstants: true,
  }),
  priced(traversal, {
    ...declare("isSemver", [
      overload("is_semver_string", [stringType], boolType, (a) => !(parse(a as string) instanceof CelError)),
      overload(
        "is_semver_string_bool",
        [stringType, boolType],
        boolType,
        (a, b) => !((b === true ? normalized(a as string) : parse(a as string)) instanceof CelError),
      ),
    ]),
    parsesConstants: true,
  }),
  two("isGreaterThan", boolType, (a, b) => compareSemanticVersions(version(a), version(b)) > 0),
  two("isLessThan", boolType, (a, b) => compareSemanticVersions(version(a), version(b)) < 0),
  two("compareTo", intType, (a, b) => BigInt(compareSemanticVersions(version(a), version(b)))),
  part("major"),
  part("minor"),
  part("patch"),
];
