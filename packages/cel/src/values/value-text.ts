import { floatText } from "@dray/api";
import { CelError, typeName, Uint, type Value } from "./value.ts";

/** A scalar in the text of an error, as Go's `%v` formats it; for other values the name of the type. */
export function scalarText(value: Value): string {
  if (typeof value === "number") return floatText(value, 21);
  if (value === null) return "NULL_VALUE";
  if (value instanceof Uint) return String(value.value);
  return typeof value === "object" ? typeName(value) : String(value);
}

/**
 * A finite double without an exponent, in the fewest digits that identify it (Go's `%f` with precision -1).
 */
export function plainDouble(value: number): string {
  const [digits = "", exponent = "0"] = Math.abs(value).toExponential().split("e");
  const [first = "", rest = ""] = digits.split(".");
  const power = Number(exponent);
  const all = power < 0 ? "0".repeat(-power) + first + rest : first + rest.padEnd(power, "0");
  const point = Math.max(power, 0) + 1;
  const fraction = all.slice(point);
  return (value < 0 ? "-" : "") + all.slice(0, point) + (fraction === "" ? "" : `.${fraction}`);
}

/** Decodes UTF-8; returns an error for invalid bytes. */
export function bytesText(value: Uint8Array): string | CelError {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(value);
  } catch {
    return new CelError("invalid UTF-8 in bytes, cannot convert to string");
  }
}
