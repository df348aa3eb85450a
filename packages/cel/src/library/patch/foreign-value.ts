import { goNativeType } from "../../values/go-types.ts";
import { LiteralMap } from "../../values/maps.ts";
import { durationText, timestampText } from "../../values/time.ts";
import { Duration, Timestamp, typeName, Uint, type Value } from "../../values/value.ts";

/** A value as Go formats it. */
interface Printed {
  /** `%T` */
  readonly type: string;
  /** `%v` */
  readonly text: string;
  /** `%#v` */
  readonly syntax: string;
  /** JSON form in protobuf, if any. */
  readonly marshalled?: string | number;
}

/** A value without a JSON form in an object that an expression makes. It matches no schema. */
export class ForeignValue implements Printed {
  readonly type: string;
  readonly text: string;
  readonly syntax: string;
  readonly marshalled?: string | number;

  constructor({ type, text, syntax, marshalled }: Printed) {
    this.type = type;
    this.text = text;
    this.syntax = syntax;
    if (marshalled !== undefined) this.marshalled = marshalled;
  }
}

export const base64 = (bytes: Uint8Array): string =>
  btoa([...bytes].map((byte) => String.fromCharCode(byte)).join(""));

export function foreign(value: Value): ForeignValue {
  const type = goNativeType(value);
  return new ForeignValue({ type, ...printed(value, type) });
}

function printed(value: Value, type: string): Omit<Printed, "type"> {
  if (value === null) return { text: "NULL_VALUE", syntax: "0" };
  if (value instanceof Uint) {
    const { value: whole } = value;
    return { text: String(whole), syntax: `0x${whole.toString(16)}`, marshalled: Number(whole) };
  }
  if (value instanceof Uint8Array) {
    const bytes = [...value];
    const syntax = `${type}{${bytes.map((byte) => `0x${byte.toString(16)}`).join(", ")}}`;
    return { text: `[${bytes.join(" ")}]`, syntax, marshalled: base64(value) };
  }
  if (value instanceof Duration) return { text: durationText(value), syntax: String(value.nanoseconds) };
  if (value instanceof Timestamp) return { text: timestampText(value), syntax: timestampText(value) };
  if (value instanceof LiteralMap) {
    const entries = [...value.entries()].map(([key, inner]) => `${shown(key)}:${shown(inner)}`);
    return { text: `map[${entries.sort().join(" ")}]`, syntax: type };
  }
  return { text: type, syntax: type };
}

const shown = (value: Value): string => (typeof value === "object" ? typeName(value) : String(value));
