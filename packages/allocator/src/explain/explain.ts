import type { Node } from "@dray/api/core/v1";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { AllocationError } from "../rules/allocation-error.ts";
import { claimName } from "../rules/claim-name.ts";
import { Taken } from "../search/allocating-state.ts";
import { checkSolution } from "../search/allocation-result.ts";
import type { Option, Problem } from "../search/problem.ts";
import { Search, type Solution } from "../search/search.ts";
import type { ExplainOptions, Explanation, RefusalGroup, RequestExplanation } from "./explanation.ts";
import { limitRefusal, notes, type Refusal, staticRefusal } from "./refusals.ts";
import { Witness } from "./search-trace.ts";

/** Maximum number of devices that a group names, unless all are wanted. */
const maxDevices = 5;
/** How many devices a search for people looks at before it makes do with what it has seen. */
const mostSteps = 500;

/** For every request what became of the devices that a node can reach, by the first check that ruled them out. */
export function explainNode(
  node: Node,
  claims: readonly ResourceClaim[],
  problemOf: (node: Node, claims: readonly ResourceClaim[]) => Problem,
  { allDevices = false, shouldStop }: ExplainOptions = {},
): Explanation {
  const name = node.metadata.name;
  let problem: Problem;
  try {
    problem = problemOf(node, claims);
  } catch (error) {
    if (!(error instanceof AllocationError)) throw error;
    return {
      node: name,
      outcome: "error",
      message: error.message,
      claims: unsearched(claims, error.message),
    };
  }
  const { outcome, message, solution } = outcomeOf(problem, shouldStop);
  const witness = new Witness();
  if (solution === null) witness.watch(problemOf(node, claims), mostSteps);
  const requests = problem.claims.map(({ prepared, requests }, claim) => ({
    claim: prepared.name,
    requests: requests.flatMap(({ options }, request) =>
      options.map((option, alternative) => {
        const seen = witness.of(claim, request, alternative);
        const chosen =
          solution === null
            ? seen.chosen
            : solution[claim]!.picks.filter((pick) => pick.option === option).map(({ position }) => position);
        return explainOption(
          problem,
          option,
          chosen,
          seen.refusals,
          limitRefusal(problem, claim, request, option),
          allDevices,
        );
      }),
    ),
  }));
  return { node: name, outcome, ...(message !== undefined && { message }), claims: requests };
}

function outcomeOf(
  problem: Problem,
  shouldStop: (() => boolean) | undefined,
): Pick<Explanation, "outcome" | "message"> & { solution: Solution | null } {
  try {
    const solution = new Search(problem).run(shouldStop) ?? null;
    if (solution !== null) {
      checkSolution(problem, solution);
      return { outcome: "allocated", solution };
    }
    const message = problem.view.invalid
      ? "invalid resource pools were encountered"
      : "cannot allocate all claims";
    return { outcome: "refused", message, solution };
  } catch (error) {
    if (!(error instanceof AllocationError)) throw error;
    return { outcome: "error", message: error.message, solution: null };
  }
}

/** The attempt failed before any device was looked at. */
function unsearched(claims: readonly ResourceClaim[], message: string): Explanation["claims"] {
  return claims.map((claim) => ({
    claim: claimName(claim),
    requests: (claim.spec.devices?.requests ?? []).flatMap((request) => {
      const bodies =
        request.exactly === undefined
          ? (request.firstAvailable ?? []).map((sub) => ({ name: `${request.name}/${sub.name}`, body: sub }))
          : [{ name: request.name, body: request.exactly }];
      return bodies.map(({ name, body }) => ({
        request: name,
        deviceClass: body.deviceClassName,
        wanted: body.allocationMode === "All" ? 0 : Number(body.count ?? 1),
        seen: 0,
        suitable: 0,
        chosen: [],
        refused: [
          { check: "error" as const, cause: message, count: 0, devices: [], ...allModeNote(body, message) },
        ],
      }));
    }),
  }));
}

function allModeNote(body: { readonly allocationMode?: string }, message: string): { note?: string } {
  const pool =
    body.allocationMode === "All" && /resource pool .* is currently (being updated|invalid)$/.test(message);
  return pool ? { note: notes.allModeRefusesNode } : {};
}

function explainOption(
  problem: Problem,
  option: Option,
  chosen: readonly number[],
  dynamic: ReadonlyMap<number, Refusal>,
  limit: Refusal | undefined,
  allDevices: boolean,
): RequestExplanation {
  const { alternative } = option;
  const groups = new Groups(allDevices ? Number.POSITIVE_INFINITY : maxDevices);
  if (limit !== undefined) groups.add(limit, undefined);
  let seen = problem.devices.length;
  for (const pool of problem.view.pools) {
    const state = pool.incomplete ? "is being updated" : `is invalid: ${pool.invalid}`;
    seen += pool.withheld.length;
    for (const record of pool.withheld) {
      const counts = new Set(pool.withheld.map(({ slice }) => slice.spec.pool.resourceSliceCount));
      const note = counts.size > 1 ? { note: notes.sliceCountsMustAgree } : {};
      groups.add({ check: "pool", cause: `pool ${pool.driver}/${pool.name} ${state}`, ...note }, record.id);
    }
  }
  const suitable: string[] = [];
  const taken = new Taken(problem);
  for (let position = 0; position < problem.devices.length; position++) {
    const { id } = problem.devices[position]!;
    const refusal = staticRefusal(problem, option, position, taken);
    if (refusal === undefined) suitable.push(id);
    if (chosen.includes(position)) continue;
    const reason = refusal ?? dynamic.get(position);
    if (reason !== undefined) groups.add(reason, id);
  }
  const request =
    alternative.subrequest === undefined
      ? alternative.request
      : `${alternative.request}/${alternative.subrequest}`;
  return {
    request,
    deviceClass: alternative.deviceClass.metadata.name,
    wanted: option.count,
    seen,
    suitable: suitable.length,
    ...(allDevices && { suitableDevices: suitable }),
    chosen: chosen.map((position) => problem.devices[position]!.id),
    refused: groups.list(),
  };
}

/** Refusals with the devices that they befell, the most frequent first. */
class Groups {
  readonly #groups = new Map<
    string,
    { readonly refusal: Refusal; count: number; readonly devices: string[] }
  >();
  readonly #maxDevices: number;

  constructor(maxDevices: number) {
    this.#maxDevices = maxDevices;
  }

  add(refusal: Refusal, device: string | undefined): void {
    const key = JSON.stringify(refusal);
    let group = this.#groups.get(key);
    if (group === undefined) {
      group = { refusal, count: 0, devices: [] };
      this.#groups.set(key, group);
    }
    if (device === undefined) return;
    group.count++;
    if (group.devices.length < this.#maxDevices) group.devices.push(device);
  }

  list(): RefusalGroup[] {
    return [...this.#groups.values()]
      .sort((a, b) => b.count - a.count)
      .map(({ refusal, count, devices }) => ({ ...refusal, count, devices }));
  }
}
