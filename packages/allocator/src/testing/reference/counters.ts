import { Quantity } from "@dray/api";
import type { Device } from "@dray/api/resource/v1";
import { type Candidate, isOn, type Pick, type Pool, type Question, variantOf } from "./model.ts";

/** Reports whether other claims have the device or a share of it. */
function isAllocated({ features, allocated }: Question, id: string): boolean {
  if (allocated?.devices?.includes(id)) return true;
  return variantOf(features) !== "stable" && isShared(allocated, id);
}

/** Reports whether other claims have a share of the device. */
export function isShared(allocated: Question["allocated"], id: string): boolean {
  const shares = allocated?.shared ?? [];
  return shares.some((share) => share.startsWith(`${id}/`)) || Object.hasOwn(allocated?.capacity ?? {}, id);
}

/** Returns the devices that consume counters: the allocated ones of all nodes, and the picks. */
function chargedDevices(question: Question, pool: Pool, picks: readonly Pick[]): Device[] {
  return [...allocatedDevices(question, pool), ...chargedPicks(pool, picks)];
}

function allocatedDevices(question: Question, pool: Pool): Device[] {
  return [...pool.slices, ...pool.elsewhere]
    .flatMap(({ spec }) => spec.devices ?? [])
    .filter(({ name }) => isAllocated(question, `${pool.driver}/${pool.name}/${name}`));
}

function chargedPicks(pool: Pool, picks: readonly Pick[]): Device[] {
  return picks
    .filter((pick) => pick.charged && pick.candidate.pool === pool)
    .map((pick) => pick.candidate.device);
}

/**
 * Reports whether the candidate overdraws no counter of the pool (KEP-4815), also of those that it does not
 * consume.
 */
export function countersSuffice(question: Question, candidate: Candidate, picks: readonly Pick[]): boolean {
  const { pool, device } = candidate;
  const uses = [...chargedDevices(question, pool, picks), device].flatMap(
    ({ consumesCounters }) => consumesCounters ?? [],
  );
  return [...pool.counters].every(([set, counters]) =>
    [...counters].every(([counter, total]) => {
      const left = uses
        .filter(({ counterSet }) => counterSet === set)
        .flatMap((use) => (Object.hasOwn(use.counters ?? {}, counter) ? [use.counters![counter]!] : []))
        .reduce((rest, { value }) => rest.sub(Quantity.parse(value)), Quantity.parse(total));
      return left.sign >= 0;
    }),
  );
}

/**
 * Reports whether the candidate is compatible with the devices on its counter sets: all have a group in
 * common, or none has groups (KEP-5963). Whether the allocated ones agree is not checked.
 */
export function groupsAgree(question: Question, candidate: Candidate, picks: readonly Pick[]): boolean {
  if (!isOn(question, "CompatibilityGroups")) return true;
  const { pool, device } = candidate;
  const others = chargedDevices(question, pool, picks);
  return (device.consumesCounters ?? []).every((use) => {
    const own = new Set(use.compatibilityGroups);
    const lists = others
      .flatMap(({ consumesCounters }) => consumesCounters ?? [])
      .filter(({ counterSet }) => counterSet === use.counterSet)
      .map(({ compatibilityGroups }) => new Set(compatibilityGroups));
    const first = lists[0];
    if (first === undefined) return true;
    if (first.size === 0 || own.size === 0) return first.size === own.size;
    // Without groups it is not compatible with the first one: if it is allocated all the same, it is ignored.
    return (
      lists.filter(({ size }) => size > 0).reduce((common, list) => common.intersection(list), own).size > 0
    );
  });
}
