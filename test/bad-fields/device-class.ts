import { many, opaque, rows, selectors } from "./rows.ts";

export const deviceClassValues = rows([
  ["selectors", many(33, () => selectors[0]), "TooMany"],
  ["selectors[0].cel", undefined, "Required"],
  ["selectors[0].cel.expression", "1", "Invalid"],
  ["config", many(33, () => ({ opaque })), "TooMany"],
  ["config[0].opaque", undefined, "Required"],
  ["config[0].opaque.driver", "a_b", "Invalid"],
  ["config[0].opaque.driver", undefined, "Required"],
  ["config[0].opaque.parameters", undefined, "Required"],
  ["config[0].opaque.parameters", [1], "Invalid"],
  ["extendedResourceName", "cpu", "Invalid"],
]);
