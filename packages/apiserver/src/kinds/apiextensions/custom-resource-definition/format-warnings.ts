import { quoted } from "@dray/api";
import { knownFormat } from "../../../structural-schemas/formats.ts";
import { type Schema, someSchema } from "../../../structural-schemas/schema.ts";
import type { Definition } from "./types.ts";

/** Warns of new formats that are not supported. */
export function newFormatWarnings(definition: Definition, old: Definition | undefined): string[] {
  const known = new Set(old === undefined ? [] : unknownFormats(old));
  return unknownFormats(definition)
    .filter((format) => !known.has(format))
    .map((format) => `unrecognized format ${quoted(format)}`);
}

function unknownFormats({ spec }: Definition): string[] {
  const formats: string[] = [];
  const look = (schema: Schema): boolean => {
    if (schema.format && knownFormat(schema) === undefined) formats.push(schema.format);
    return false;
  };
  for (const { schema } of spec.versions ?? []) someSchema(schema?.openAPIV3Schema, look);
  return formats;
}
