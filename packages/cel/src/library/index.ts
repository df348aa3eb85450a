import { parseDuration, parseTimestamp } from "../values/time.ts";
import { type CelType, dynType, optionalType } from "../values/types.ts";
import { CelError, type Value } from "../values/value.ts";
import { authorizerLibrary } from "./authorizer.ts";
import type { FunctionDeclaration } from "./declarations.ts";
import { formatLibrary } from "./format/format.ts";
import { listsLibrary, mapInsertLibrary } from "./lists.ts";
import { formatsLibrary } from "./named-formats.ts";
import { cidrType, ipType, networkLibrary } from "./network.ts";
import { optionalLibrary } from "./optional.ts";
import { quantityLibrary } from "./quantity.ts";
import { patternProblem, regexLibrary } from "./regex/regex.ts";
import { semverLibrary } from "./semver.ts";
import { setsLibrary } from "./sets.ts";
import { standardLibrary } from "./standard.ts";
import { stringsLibrary } from "./strings.ts";
import { timesLibrary } from "./time.ts";
import { urlsLibrary } from "./url/url.ts";

export { findPatchType, patchLibrary } from "./patch/types.ts";
export { includesLibrary } from "./quantity.ts";

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
