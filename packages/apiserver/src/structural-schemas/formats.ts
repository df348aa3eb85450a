import { dnsLabel, dnsSubdomain } from "@dray/api";
import { isAddress, isNetwork, isRequestUri, parseDuration } from "@dray/cel";
import type { Schema } from "./schema.ts";

/** Supported formats of strings (apiextensions.k8s.io/v1, `format`); dashes in their names are ignored. */
const formats: Readonly<Record<string, (text: string) => boolean>> = {
  bsonobjectid: matches(/^[0-9a-fA-F]{24}$/),
  uri: isRequestUri,
  email: isEmail,
  hostname: isHostname,
  ipv4: (text) => text.includes(".") && isAddress(withoutZeros(text)),
  ipv6: (text) => text.includes(":") && isAddress(text),
  cidr: (text) => isNetwork(withoutZeros(text)),
  mac: isMac,
  uuid: matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i),
  uuid3: matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i),
  uuid4: matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i),
  uuid5: matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i),
  isbn: (text) => isIsbn10(text) || isIsbn13(text),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  creditcard: isCreditCard,
  ssn: matches(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/),
  hexcolor: matches(/^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/),
  rgbcolor: matches(
    /^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$/,
  ),
  byte: matches(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/),
  password: () => true,
  date: isDate,
  duration: (text) => durationOf(text) !== undefined,
  datetime: isDateTime,
  k8sshortname: (text) => dnsLabel(text).length === 0,
  k8slongname: (text) => dnsSubdomain(text).length === 0,
};

function matches(pattern: RegExp): (text: string) => boolean {
  return (text) => pattern.test(text);
}

/** Formats of numbers, by type. */
const numbers: ReadonlyMap<string, readonly string[]> = new Map([
  ["integer", ["int32", "int64"]],
  ["number", ["float", "double"]],
]);

/** Returns the format without dashes; undefined if it is absent or not supported for the type. */
export function knownFormat({ type = "", format = "", ...rest }: Schema): string | undefined {
  if (format === "") return undefined;
  if (rest["x-kubernetes-int-or-string"]) return undefined;
  if (type === "" || type === "string") {
    const name = format.replaceAll("-", "");
    return Object.hasOwn(formats, name) ? name : undefined;
  }
  return numbers.get(type)?.includes(format) ? format : undefined;
}

/** Reports whether a text has this format; true for unsupported formats. */
export function hasFormat(name: string, text: string): boolean {
  return Object.hasOwn(formats, name) ? formats[name]!(text) : true;
}

/** Leading zeros of the numbers of an address are ignored. */
const withoutZeros = (text: string): string => text.replace(/(^|\.)0+(?=\d)/g, "$1");

function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (match === null) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

function isDateTime(text: string): boolean {
  const [date = "", time] = text.toLowerCase().split("t");
  if (text.length < 4 || time === undefined || !isDate(date)) return false;
  const match = /^(\d{2}):(\d{2}):(\d{2})([^\n]\d+)?(z|([+-]\d{2}:\d{2}))$/.exec(time);
  return match !== null && match[1]! <= "23" && match[2]! <= "59" && match[3]! <= "59";
}

const units: readonly (readonly [bigint, readonly string[]])[] = [
  [1n, ["ns", "nano"]],
  [1_000n, ["us", "µs", "micro"]],
  [1_000_000n, ["ms", "milli"]],
  [1_000_000_000n, ["s", "sec"]],
  [60_000_000_000n, ["m", "min"]],
  [3_600_000_000_000n, ["h", "hr", "hour"]],
  [86_400_000_000_000n, ["d", "day"]],
  [604_800_000_000_000n, ["w", "wk", "week"]],
];

/** Parses a duration of Go or Scala (`1h30m`, `2 days`) to nanoseconds; undefined if it is invalid. */
export function durationOf(text: string): bigint | undefined {
  const go = parseDuration(text);
  if (go !== undefined) return go.nanoseconds;
  let sum: bigint | undefined;
  // A unit may be missing: digits are not looked at again from each of them.
  for (const [, count = "", name = ""] of text.matchAll(/(\d+)\s*([A-Za-zµ]*)/g)) {
    if (name === "") continue;
    // Upstream: strfmt.ParseDuration, by strconv.Atoi
    if (count.length > 19) return undefined;
    const unit = name.toLowerCase();
    for (const [factor, variants] of units) {
      variants.forEach((variant, index) => {
        const last = index === variants.length - 1;
        if (unit === variant || (last && unit.startsWith(variant)))
          sum = (sum ?? 0n) + BigInt(count) * factor;
      });
    }
  }
  return sum;
}

function isHostname(text: string): boolean {
  const pattern =
    /^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$/u;
  if (Buffer.byteLength(text) > 255 || text.split(".").some((part) => Buffer.byteLength(part) > 63))
    return false;
  return pattern.test(text);
}

/** Accepts an address of RFC 5322, with or without a display name. */
function isEmail(text: string): boolean {
  const address = /<([^<>]*)>\s*$/.exec(text)?.[1] ?? text.trim();
  if (text.includes("<") !== text.trimEnd().endsWith(">")) return false;
  const atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\u0080-\\uffff-]+";
  const local = `(?:${atom}(?:\\.${atom})*|"(?:[^"\\\\]|\\\\.)*")`;
  return new RegExp(`^${local}@(?:${atom}(?:\\.${atom})*|\\[[^\\]\\[]*\\])$`).test(address);
}

function isMac(text: string): boolean {
  return (
    /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$|^[0-9a-f]{2}(:[0-9a-f]{2}){7}$|^[0-9a-f]{2}(:[0-9a-f]{2}){19}$/i.test(
      text,
    ) ||
    /^[0-9a-f]{2}(-[0-9a-f]{2}){5}$|^[0-9a-f]{2}(-[0-9a-f]{2}){7}$|^[0-9a-f]{2}(-[0-9a-f]{2}){19}$/i.test(
      text,
    ) ||
    /^[0-9a-f]{4}(\.[0-9a-f]{4}){2}$|^[0-9a-f]{4}(\.[0-9a-f]{4}){3}$|^[0-9a-f]{4}(\.[0-9a-f]{4}){9}$/i.test(
      text,
    )
  );
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\s-]+/g, "");
  if (!/^(?:[0-9]{9}X|[0-9]{10})$/.test(digits)) return false;
  const sum = [...digits].reduce(
    (total, digit, index) => total + (index + 1) * (digit === "X" ? 10 : Number(digit)),
    0,
  );
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\s-]+/g, "");
  if (!/^[0-9]{13}$/.test(digits)) return false;
  const sum = [...digits].reduce(
    (total, digit, index) => total + (index % 2 === 0 ? 1 : 3) * Number(digit),
    0,
  );
  return sum % 10 === 0;
}

function isCreditCard(text: string): boolean {
  const digits = text.replace(/[^0-9]+/g, "");
  const card =
    /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$/;
  if (!card.test(digits)) return false;
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}
