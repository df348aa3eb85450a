/**
 * A deliberately simple allocator that defines the right answer, for tests only. Plain recursion over
 * immutable picks, without pruning, indexes or caches: each check is computed anew from the picks so far. It
 * takes exponential time where the rules do, so it is for small inputs.
 */
import { type Allocated, type Answer, AttemptError, type Question, variantOf } from "./reference/model.ts";
import { gatherPools } from "./reference/pools.ts";
import { prepareClaims } from "./reference/requests.ts";
import { allocationsOf } from "./reference/result.ts";
import { Search } from "./reference/search.ts";

export type { Allocated, Answer, Question };
export { variantOf };

/** Allocates the claims of a question on its node: the first solution in upstream's order, or its error. */
export function referenceAllocate(question: Question): Answer {
  try {
    const pools = gatherPools(question);
    const claims = prepareClaims(question, pools);
    const solution = new Search(question, pools, claims).run();
    if (solution !== undefined) return { allocations: allocationsOf(question, claims, solution) };
    return pools.some((pool) => pool.state === "invalid")
      ? { nodeError: "invalid resource pools were encountered" }
      : { allocations: null };
  } catch (error) {
    if (error instanceof AttemptError) return { error: error.message };
    throw error;
  }
}
