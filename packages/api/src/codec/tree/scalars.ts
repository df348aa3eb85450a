import type { ScalarName } from "../../schema/types.ts";
import { wrongBase64 } from "../../text/base64.ts";
import { canonicalQuantity } from "../../values/quantity.ts";
import { readTime, TimeError } from "../../values/time.ts";
import { DecodeError } from "../decode-error.ts";
import { thaw } from "../thaw.ts";
import type { Findings } from "./findings.ts";
import type { Read } from "./read.ts";
import { formOf } from "./values.ts";

const bounds = {
  int32: { min: -(2n ** 31n), max: 2n ** 31n - 1n },
  int64: { min: -(2n ** 63n), max: 2n ** 63n - 1n },
} as const;

/** A whole number within bounds, or undefined. */
function wholeNumber(value: unknown, name: keyof typeof bounds, literal: string | undefined): unknown {
  if (literal !== undefined) return undefined;
  if (typeof value !== "bigint" && (typeof value !== "number" || !Number.isInteger(value))) return undefined;
  const { min, max } = bounds[name];
  if (value < min || value > max) return undefined;
  return value === 0 ? 0 : value;
}

const isNumber = (value: unknown): value is number | bigint =>
  typeof value === "number" || typeof value === "bigint";

/** Go's name for a value that a number field rejects; of a number, with its digits. */
const numberForm = (value: unknown, literal: string | undefined): string =>
  isNumber(value) ? `number ${literal ?? value}` : formOf(value);

const readAny: Read = (value, _findings, known) =>
  value === known && typeof value === "object" ? thaw(value) : value;

/** Kubernetes compares raw JSON by its text. */
const readRaw: Read = (value, { options: { notes, provenance } }, known) => {
  if (typeof value !== "object" || value === null) return value;
  if (value === known) return thaw(value);
  const text = notes.looseText(value);
  if (text !== undefined) provenance.noteRawText(value, text);
  return value;
};

const readString: Read = (value, findings) =>
  typeof value === "string" ? value : findings.mismatch(formOf(value));

const readInteger =
  (name: keyof typeof bounds): Read =>
  (value, findings, _known, literal) =>
    wholeNumber(value, name, literal) ?? findings.mismatch(numberForm(value, literal));

/** Times end the reading where Go's other scalars go on: they read themselves. */
const readTimeAs =
  (name: "Time" | "MicroTime"): Read =>
  (value, findings) => {
    if (typeof value !== "string") return findings.refuse(formOf(value), "string");
    try {
      return readTime(value, name);
    } catch (error) {
      if (error instanceof TimeError) throw new DecodeError(error.message);
      throw error;
    }
  };

/** Readers of the scalars by name. */
export const scalarReaders: Readonly<Record<ScalarName, Read>> = {
  any: readAny,
  RawExtension: readRaw,
  FieldsV1: readAny,
  string: readString,
  Duration: readString,
  bool: (value, findings) => (typeof value === "boolean" ? value : findings.mismatch(formOf(value))),
  int32: readInteger("int32"),
  int64: readInteger("int64"),
  double: (value, findings) => (isNumber(value) ? Number(value) : findings.mismatch(formOf(value))),
  bytes: readBytes,
  Quantity: readQuantity,
  Time: readTimeAs("Time"),
  MicroTime: readTimeAs("MicroTime"),
  IntOrString: (value, findings, _known, literal) => {
    if (typeof value === "string") return value;
    return wholeNumber(value, "int32", literal) ?? findings.refuse(numberForm(value, literal), "int32");
  },
};

/** Base64 of which nothing is skipped or dropped. */
const canonicalBase64 =
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/;
/** Longer texts are as fast to decode as to test. */
const maxTestedLength = 256;

/** Base64, or a list of bytes, which Go takes as well. Line ends within are skipped. */
function readBytes(value: unknown, findings: Findings): string | undefined {
  if (Array.isArray(value)) {
    const bytes = value.map((byte: unknown) => {
      if (Number.isInteger(byte) && (byte as number) >= 0 && (byte as number) < 256) return byte as number;
      if (byte !== null) {
        findings.mismatch(typeof byte === "number" ? `number ${byte}` : formOf(byte), "uint8");
      }
      return 0;
    });
    return Buffer.from(bytes).toString("base64");
  }
  if (typeof value !== "string") return findings.mismatch(formOf(value));
  if (value.length <= maxTestedLength && canonicalBase64.test(value)) return value;
  const wrong = wrongBase64(value);
  if (wrong !== undefined) return findings.wrongValue(`illegal base64 data at input byte ${wrong}`);
  // Bits that are left over are dropped, as Go drops them.
  return Buffer.from(value, "base64").toString("base64");
}

function readQuantity(value: unknown, _findings: Findings, _known: unknown, literal?: string): string {
  // Go tries the text of any value; no object or list looks like a quantity.
  const text = typeof value === "object" ? "{}" : String(value);
  try {
    return canonicalQuantity(literal ?? text);
  } catch (error) {
    throw new DecodeError((error as Error).message);
  }
}
