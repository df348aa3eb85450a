import { checkPools } from "../manifests/pools.ts";
import { type Finding, finding } from "./finding.ts";
import type { LintContext } from "./subjects.ts";

/** Finds pools that manifests describe in part. Those of a cluster may be incomplete for a moment. */
export function checkSlices({ world, features, subjects }: LintContext): Finding[] {
  const own = new Map(subjects.map((subject) => [subject.place, subject]));
  return checkPools(world, features).flatMap(({ state, slice, path, message }) => {
    const subject = own.get(slice.place);
    if (subject === undefined) return [];
    const rule = state === "invalid" ? "pool-invalid" : "pool-incomplete";
    return [finding(rule, subject, path, { message: `${message}: its devices are not used` })];
  });
}
