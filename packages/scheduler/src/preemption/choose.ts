import type { Pod } from "@dray/api/core/v1";
import type { Candidate } from "../framework/candidate.ts";
import { priorityOf } from "../framework/priority.ts";
import { startTime } from "./units.ts";

/**
 * Added to priorities before they are summed: many pods of a negative priority must not count less than few.
 */
const priorityOffset = 2 ** 31;

/**
 * The candidate that disturbs least: fewest violated budgets, lowest highest priority, lowest sum of
 * priorities, fewest victims, latest start of the most important victims; then the first.
 * Upstream: framework/preemption/preemption.go, pickOneNodeForPreemption.
 */
export function leastDisruptive(candidates: readonly Candidate[], now: number): Candidate | undefined {
  const costs: ((candidate: Candidate) => number)[] = [
    ({ violations }) => violations,
    ({ victims }) => priorityOf(victims[0]!),
    ({ victims }) => victims.reduce((sum, victim) => sum + priorityOf(victim) + priorityOffset, 0),
    ({ victims }) => victims.length,
    ({ victims }) => -earliestStart(victims, now),
  ];
  let best = candidates;
  for (const cost of costs) {
    if (best.length <= 1) break;
    const all = best.map(cost);
    const lowest = all.reduce((a, b) => Math.min(a, b));
    best = best.filter((_, i) => all[i] === lowest);
  }
  return best[0];
}

/** When the first of the most important victims has started. */
function earliestStart(victims: readonly Pod[], now: number): number {
  const highest = priorityOf(victims[0]!);
  return victims
    .filter((victim) => priorityOf(victim) === highest)
    .reduce((earliest, victim) => Math.min(earliest, startTime(victim, now)), Number.POSITIVE_INFINITY);
}
