import type { IntOrString } from "@dray/api";

/** The number that `25%` or 2 means of `total`. */
export function scaledValue(value: IntOrString | undefined, total: number, round: "up" | "down"): number {
  if (value === undefined) return 0;
  if (typeof value === "number") return value;
  const percent = /^([0-9]+)%$/.exec(value)?.[1];
  if (percent === undefined) {
    throw new Error(`${JSON.stringify(value)} is neither a number nor a percentage such as "25%"`);
  }
  const share = (Number(percent) * total) / 100;
  return round === "up" ? Math.ceil(share) : Math.floor(share);
}
