import { quoted } from "@dray/api";

const largest = 2n ** 64n;

/** Returns the error of a resourceVersion, in Go's words; undefined for a valid one, including "". */
export function versionProblem(text: string): string | undefined {
  if (text === "") return undefined;
  const digits = /^\d+$/.test(text);
  if (digits && BigInt(text) < largest) return undefined;
  const reason = digits ? "value out of range" : "invalid syntax";
  return `resourceVersion: Invalid value: ${quoted(text)}: strconv.ParseUint: parsing ${quoted(text)}: ${reason}`;
}
