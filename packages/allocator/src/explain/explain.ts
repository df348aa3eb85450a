import type { Node } from "@dray/api/core/v1";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { AllocationError } from "../devices/allocation-error.ts";
import { claimName } from "../rules/claim-name.ts";
import { AllocatingState } from "../search/allocating-state.ts";
import { checkSolution } from "../search/allocation-result.ts";
import type { Option, Problem } from "../search/problem.ts";
import { Search, type Solution } from "../search/search.ts";
import type { ExplainOptions, Explanation, RequestExplanation } from "./explanation.ts";
import { RefusalGroups } from "./refusal-groups.ts";
import { correctionNotes, limitRefusal, type Refusal, selectorRefusal, staticRefusal } from "./refusals.ts";
import { type OptionTrace, SearchTrace } from "./search-trace.ts";

/** Maximum number of devices of a group, unless all are requested. */
const maxDevices = 5;
/** Maximum number of steps of the traced search. */
const maxSteps = 500;

/**
 * Explains for every request which devices of the node it gets, and the check that ruled out each of the
 * others.
 */
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
    const { message } = error;
    return { node: name, outcome: "error", message, claims: unsearched(claims, node, problemOf, message) };
  }
  const { outcome, message, solution } = searchNode(problem, shouldStop);
  const traceOf =
    solution === null
      ? traceFailure(problemOf(node, claims))
      : (claim: number, option: Option): OptionTrace => ({
          chosen: solution[claim]!.picks.filter((pick) => pick.option === option).map(
            ({ position }) => position,
          ),
          refusals: new Map(),
        });
  const explained = problem.claims.map(({ prepared, requests }, claim) => ({
    claim: prepared.name,
    requests: requests.flatMap(({ options }, request) =>
      options.map((option, alternative) =>
        explainOption(problem, option, traceOf(claim, option, request, alternative), {
          limit: limitRefusal(problem, claim, request, option),
          allDevices,
        }),
      ),
    ),
  }));
  return { node: name, outcome, ...(message !== undefined && { message }), claims: explained };
}

type TraceOf = (claim: number, option: Option, request: number, alternative: number) => OptionTrace;

/** Needs a separate problem: a search that was stopped leaves its picks in the constraints. */
function traceFailure(problem: Problem): TraceOf {
  const trace = new SearchTrace(problem);
  trace.run(maxSteps);
  return (claim, _, request, alternative) => trace.of(claim, request, alternative);
}

function searchNode(
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

/**
 * Explains an attempt that failed before it checked devices: in mode All, while it counted them. The devices
 * on which a selector fails are found with requests for one device instead.
 */
function unsearched(
  claims: readonly ResourceClaim[],
  node: Node,
  problemOf: (node: Node, claims: readonly ResourceClaim[]) => Problem,
  message: string,
): Explanation["claims"] {
  const explained = unsearchedClaims(claims, message);
  let problem: Problem;
  try {
    problem = problemOf(node, claims.map(withoutModeAll));
  } catch (error) {
    if (!(error instanceof AllocationError)) throw error;
    return explained;
  }
  const allocating = new AllocatingState(problem);
  return explained.map((claim, c) => {
    const options = problem.claims[c]!.requests.flatMap((each) => each.options);
    return {
      ...claim,
      requests: claim.requests.map((request, r) => {
        const groups = new RefusalGroups(maxDevices);
        const unusable = addUnusableDevices(problem, options[r]!, groups);
        let suitable = 0;
        for (let position = 0; position < problem.devices.length; position++) {
          const refusal = staticRefusal(problem, options[r]!, position, allocating);
          if (refusal === undefined) suitable++;
          else groups.add(refusal, problem.devices[position]!.id);
        }
        const seen = problem.devices.length + unusable;
        return { ...request, seen, suitable, refused: [...request.refused, ...groups.list()] };
      }),
    };
  });
}

/** Returns the claim with requests for one device in the place of those for all. */
function withoutModeAll(claim: ResourceClaim): ResourceClaim {
  const single = <T extends { readonly allocationMode?: string }>(body: T): T =>
    body.allocationMode === "All" ? { ...body, allocationMode: "ExactCount", count: 1 } : body;
  const requests = (claim.spec.devices?.requests ?? []).map(({ exactly, firstAvailable, ...request }) => ({
    ...request,
    ...(exactly && { exactly: single(exactly) }),
    ...(firstAvailable && { firstAvailable: firstAvailable.map(single) }),
  }));
  return { ...claim, spec: { ...claim.spec, devices: { ...claim.spec.devices, requests } } };
}

/** Explains an attempt that failed before it checked devices. */
function unsearchedClaims(claims: readonly ResourceClaim[], message: string): Explanation["claims"] {
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
        ...wantedOf(body.allocationMode === "All" ? 0 : (body.count ?? 1)),
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

function wantedOf(count: number | bigint | string): Pick<RequestExplanation, "wanted" | "exactWanted"> {
  const wanted = Number(count);
  return Number.isSafeInteger(wanted) ? { wanted } : { wanted, exactWanted: String(count) };
}

function allModeNote(body: { readonly allocationMode?: string }, message: string): { note?: string } {
  const isPoolError =
    body.allocationMode === "All" && /resource pool .* is currently (being updated|invalid)$/.test(message);
  return isPoolError ? { note: correctionNotes.allModeRefusesNode } : {};
}

function explainOption(
  problem: Problem,
  option: Option,
  { chosen, refusals }: OptionTrace,
  { limit, allDevices }: { readonly limit: Refusal | undefined; readonly allDevices: boolean },
): RequestExplanation {
  const { alternative } = option;
  const groups = new RefusalGroups(allDevices ? Number.POSITIVE_INFINITY : maxDevices);
  if (limit !== undefined) groups.add(limit, undefined);
  const unusable = addUnusableDevices(problem, option, groups);
  const suitable: string[] = [];
  const allocating = new AllocatingState(problem);
  for (let position = 0; position < problem.devices.length; position++) {
    const { id } = problem.devices[position]!;
    const refusal = staticRefusal(problem, option, position, allocating);
    if (refusal === undefined) suitable.push(id);
    if (chosen.includes(position)) continue;
    const reason = refusal ?? refusals.get(position);
    if (reason !== undefined) groups.add(reason, id);
  }
  const request =
    alternative.subrequest === undefined
      ? alternative.request
      : `${alternative.request}/${alternative.subrequest}`;
  return {
    request,
    deviceClass: alternative.deviceClass.metadata.name,
    ...(option.all === undefined ? wantedOf(option.alternative.countText) : { wanted: option.count }),
    seen: problem.devices.length + unusable,
    suitable: suitable.length,
    ...(allDevices && { suitableDevices: suitable }),
    chosen: chosen.map((position) => problem.devices[position]!.id),
    refused: groups.list(),
  };
}

/**
 * Adds the devices of incomplete and invalid pools, and returns their number. Those that the selectors rule
 * out were never meant: their pool is not the reason.
 */
function addUnusableDevices(problem: Problem, option: Option, groups: RefusalGroups): number {
  let total = 0;
  for (const pool of problem.view.pools) {
    const { there, announced } = pool.slices;
    const state = pool.incomplete
      ? `is incomplete: its driver has published ${there} of ${announced} slices`
      : `is invalid: ${pool.invalid}`;
    total += pool.unusableDevices.length;
    const counts = new Set(pool.unusableDevices.map(({ slice }) => slice.spec.pool.resourceSliceCount));
    const note = counts.size > 1 ? { note: correctionNotes.sliceCountsMustAgree } : {};
    const refusal = { check: "pool" as const, cause: `pool ${pool.driver}/${pool.name} ${state}`, ...note };
    for (const record of pool.unusableDevices) {
      const unmatched = selectorRefusal(option, record);
      groups.add(unmatched === undefined || unmatched.check === "error" ? refusal : unmatched, record.id);
    }
  }
  return total;
}
