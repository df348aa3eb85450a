import { type CelType, dynType, optionalType } from "../values/types.ts";
import { authorizerLibrary } from "./authorizer.ts";
import type { FunctionDeclaration } from "./declarations.ts";
import { formatLibrary } from "./format/format.ts";
import { listsLibrary, mapInsertLibrary } from "./lists.ts";
import { formatsLibrary } from "./named-formats.ts";
import { cidrType, ipType, networkLibrary } from "./network.ts";
import { optionalLibrary } from "./optional.ts";
import { quantityLibrary } from "./quantity.ts";
import { regexLibrary } from "./regex/regex.ts";
import { semverLibrary } from "./semver.ts";
import { setsLibrary } from "./sets.ts";
import { standardLibrary } from "./standard.ts";
import { stringsLibrary } from "./strings.ts";
import { timeLibrary } from "./time.ts";
import { urlsLibrary } from "./url/url.ts";

export { includesLibrary } from "./includes.ts";
export { findPatchType, patchLibrary } from "./patch/types.ts";

/** All functions of Kubernetes' CEL except `includes()`. Overloads of one name are tried in this order. */
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
  timeLibrary,
];

/**
 * Types of libraries that expressions can name. The types of quantities, versions, URLs and formats have no
 * name.
 */
export const libraryTypes: readonly CelType[] = [ipType, cidrType, optionalType(dynType)];
