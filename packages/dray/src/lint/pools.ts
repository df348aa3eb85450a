import { checkPools } from "../manifests/pools.ts";
import { type Finding, finding } from "./finding.ts";
import type { LintContext } from "./subjects.ts";

/** Pools of which a manifest describes a part. Those of a cluster may be on their way. */
export function checkSlices({ world, features, subjects }: LintContext): Finding[] {
  const own = new Map(subjects.map((subject) => [subject.place, subject]));
  return checkPools(world, features).flatMap(({ state, slice, path, message }) => {
    const subject = own.get(slice.place);
    if (subject === undefined) return [];
    const rule = state === "invalid" ? "pool-invalid" : "pool-incomplete";
    return [finding(rule, subject, path, `${message}: its devices are not used`)];
  });
}
