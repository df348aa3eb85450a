import { createRequire } from "node:module";
import { CdiError, type Spec } from "./spec.ts";
import { validateSpec } from "./validate.ts";

/** Go, in which the other readers of these files are written, takes null for "not set". */
function dropNull(_key: unknown, value: unknown): unknown {
  return value === null ? undefined : value;
}

/**
 * A spec from the text of its file, JSON or YAML. Throws a CdiError. The YAML library is loaded by the first text
 * that is no JSON.
 */
export function parseSpec(text: string): Spec {
  return validateSpec(parse(text));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text, dropNull);
  } catch {
    return parseYaml(text);
  }
}

function parseYaml(text: string): unknown {
  const yaml = createRequire(import.meta.url)("yaml") as typeof import("yaml");
  try {
    return yaml.parse(text, dropNull);
  } catch (error) {
    throw new CdiError(`neither JSON nor YAML: ${(error as Error).message.split("\n")[0]}`);
  }
}
