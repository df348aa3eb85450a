import type { Field } from "../../schema/types.ts";
import { DecodeError } from "../decode-error.ts";
import { thaw } from "../thaw.ts";
import { Findings } from "./findings.ts";
import type { Read, ReaderOf } from "./read.ts";
import { isTree } from "./values.ts";

/**
 * Reads one of several types. Go reads unions with decoders of their own, which report neither unknown nor
 * duplicate fields, and end the reading at a value of a wrong type.
 */
export function unionReader(alternatives: readonly Field[], readerOf: ReaderOf): Read {
  const choices = alternatives.map(({ type }) => ({ type, read: readerOf(type) }));
  const strict = alternatives.some(({ type }) => type.form === "scalar");
  return (value, findings, known) => {
    if (value === known && typeof value === "object") return thaw(value);
    for (const { type, read } of choices) {
      const fits =
        type.form === "list"
          ? Array.isArray(value)
          : type.form === "struct"
            ? isTree(value)
            : typeof value === "boolean";
      if (!fits) continue;
      // To Go an empty list is not one of the alternatives, and is written as null.
      if (Array.isArray(value) && value.length === 0) return null;
      const inner = new Findings(findings.options);
      const result = read(value, inner, undefined, undefined);
      const fault = inner.stop ?? inner.wrong;
      if (fault === undefined) return result;
      fault.steps.push(type);
      findings.stopAt(fault);
      return undefined;
    }
    if (strict) throw new DecodeError("boolean or JSON schema expected");
    return null;
  };
}
