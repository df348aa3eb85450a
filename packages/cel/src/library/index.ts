import type { FunctionDeclaration } from "../declarations.ts";
import { type CelType, dynType, optionalType } from "../types.ts";
import { CelError, type Value } from "../values.ts";
import { authorizerLibrary } from "./authorizer.ts";
import { parseDuration, parseTimestamp } from "./conversions.ts";
import { formatLibrary } from "./format.ts";
import { formatsLibrary } from "./formats.ts";
import { quantityLibrary } from "./kubernetes.ts";
import { listsLibrary, mapInsertLibrary } from "./lists.ts";
import { cidrType, ipType, networkLibrary } from "./network.ts";
import { optionalLibrary } from "./optional.ts";
import { patternProblem, regexLibrary } from "./regex.ts";
import { semverLibrary } from "./semver.ts";
import { setsLibrary } from "./sets.ts";
import { standardLibrary } from "./standard.ts";
import { stringsLibrary } from "./strings.ts";
import { timesLibrary } from "./times.ts";
import { urlsLibrary } from "./urls.ts";

export { checkFormats } from "./format-check.ts";
export { includesLibrary } from "./kubernetes.ts";
export { findPatchType, patchLibrary } from "./patch-types.ts";

/** All functions of Kubernetes' CEL but `includes()`. Forms of one name are tried in this order. */
export const libraries: readonly (readonly FunctionDeclaration[])[] = [
  standardLibrary,
  urlsLibrary,
  regexLibrary,
  authorizerLibrary,
  optionalLibrary,
  quantityLibrary,
  stringsLibrary,
  formatLibrary,
  setsLibrary,
  networkLibrary,
  formatsLibrary,
  mapInsertLibrary,
  semverLibrary,
  listsLibrary,
  timesLibrary,
];

/** Types of libraries that expressions can name. Quantities, versions, URLs and formats they cannot. */
export const libraryTypes: readonly CelType[] = [ipType, cidrType, optionalType(dynType)];

/** Readers of arguments that are looked at when they are constant; an error says that the text cannot be read. */
export const readers: ReadonlyMap<string, (text: string) => Value> = new Map<string, (text: string) => Value>(
  [
    ["duration", (text) => parseDuration(text) ?? new CelError("")],
    ["timestamp", parseTimestamp],
    ["matches", (text) => (patternProblem(text) === undefined ? null : new CelError(""))],
  ],
);
