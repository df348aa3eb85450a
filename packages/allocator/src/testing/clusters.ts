/** Random small clusters with claims: all features, and enough contention for the search to backtrack. */
import type { ResourceSlice } from "@dray/api/resource/v1";
import fc from "fast-check";
import { claimOf, claimShape } from "./clusters/claims.ts";
import { classes, nodes } from "./clusters/objects.ts";
import { poolShape, slicesOf } from "./clusters/pools.ts";
import { features, often, theme, withinFeatures } from "./clusters/theme.ts";
import { tries } from "./clusters/tries.ts";
import type { Allocated, Question } from "./reference.ts";

export { hardQuestions } from "./clusters/hard.ts";
export { limitQuestions } from "./clusters/limits.ts";
export { matchingQuestions } from "./clusters/matching.ts";
export {
  classes,
  driver,
  makeClaim,
  makeClass,
  makeNode,
  makeSlice,
  nodes,
} from "./clusters/objects.ts";
export { allFeatures } from "./clusters/theme.ts";

/** Allocates some of the devices to other claims: as a whole, or as shares where the device allows that. */
function allocatedOf(slices: readonly ResourceSlice[], held: readonly number[], shares: boolean): Allocated {
  const devices: string[] = [];
  const shared: string[] = [];
  const capacity: Record<string, Record<string, string>> = {};
  const all = slices.flatMap(({ spec }) =>
    (spec.devices ?? []).map((device) => ({ device, id: `${spec.driver}/${spec.pool.name}/${device.name}` })),
  );
  const seen = new Set<string>();
  for (const n of held) {
    const one = all[n];
    if (one === undefined || seen.has(one.id)) continue;
    seen.add(one.id);
    if (shares && one.device.allowMultipleAllocations === true && n % 3 > 0) {
      shared.push(`${one.id}/share-of-others`);
      if (n % 3 === 1) capacity[one.id] = { memory: "1Gi" };
    } else devices.push(one.id);
  }
  return { devices, shared, capacity };
}

/** A cluster, claims and a node, of a size that the reference can search. */
export function questions(maxTries = 20_000): fc.Arbitrary<Question> {
  return fc
    .record({
      features,
      theme,
      pools: fc.uniqueArray(poolShape, {
        minLength: 1,
        maxLength: 3,
        selector: (p) => `${p.driver}/${p.name}`,
      }),
      claims: fc.array(claimShape, { minLength: 1, maxLength: 2 }),
      held: fc.array(fc.nat(20), { maxLength: 4 }),
      node: often(nodes[0]!, fc.constant(nodes[1]!), 9),
    })
    .map(({ features, theme: all, pools, claims, held, node }) => {
      const theme = all.errors ? all : withinFeatures(all, features);
      const slices = pools.flatMap((pool, i) => slicesOf(pool, theme, `slice-${i}`));
      return {
        features,
        node,
        claims: claims.map((claim, i) => claimOf(claim, theme, i)),
        classes,
        slices,
        allocated: allocatedOf(slices, held, features.includes("ConsumableCapacity")),
      };
    })
    .filter((question) => tries(question) <= maxTries);
}
