/** Upstream: pkg/apis/flowcontrol/validation/validation.go, ValidatePriorityLevelConfiguration */

import { asTyped, type FieldErrors, sameValue } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "../../../checks/metadata.ts";
import type { KubernetesVersion } from "../../../features/features.ts";
import type {
  LimitedPriorityLevelConfiguration,
  LimitResponse,
  PriorityLevelConfiguration,
  QueuingConfiguration,
} from "../../../generated/flowcontrol/v1.ts";
import { dnsSubdomain } from "../../../values/names.ts";
import { checkConditions } from "../conditions.ts";
import { mandatoryFlowControl } from "../mandatory.ts";

const maxQueues = 10_000_000;

/** Bits of the hash value of a flow (MaxHashBits). */
const maxHashBits = 60;
const fixedLevels = mandatoryFlowControl.priorityLevelConfigurations;

/** Upstream: k8s.io/apiserver/pkg/util/shufflesharding, RequiredEntropyBits */
const entropyBits = (queues: number, handSize: number): number => Math.ceil(Math.log2(queues) * handSize);

function checkQueuing(errors: FieldErrors, queuing: QueuingConfiguration): void {
  const { queueLengthLimit = 0, queues = 0, handSize = 0 } = queuing;
  if (queueLengthLimit <= 0) errors.at("queueLengthLimit").invalid(queueLengthLimit, "must be positive");
  if (queues <= 0) errors.at("queues").invalid(queues, "must be positive");
  else if (queues > maxQueues) errors.at("queues").invalid(queues, `must not be greater than ${maxQueues}`);
  const here = errors.at("handSize");
  if (handSize <= 0) here.invalid(handSize, "must be positive");
  else if (handSize > queues) here.invalid(handSize, `should not be greater than queues (${queues})`);
  else if (entropyBits(queues, handSize) > maxHashBits) {
    const detail = `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${maxHashBits}`;
    here.invalid(handSize, detail);
  }
}

/**
 * Errors of fields that do not fit the type of their struct: from 1.37 on they come last, and say no more
 * than the path.
 */
class UnionErrors {
  readonly #release: KubernetesVersion;
  readonly #deferred: (() => void)[] = [];

  constructor(release: KubernetesVersion) {
    this.#release = release;
  }

  forbidden(errors: FieldErrors, detail: string): void {
    this.#add((text) => errors.forbidden(text), detail);
  }

  required(errors: FieldErrors, detail: string): void {
    this.#add((text) => errors.required(text), detail);
  }

  report(): void {
    for (const add of this.#deferred) add();
  }

  #add(add: (detail: string) => void, detail: string): void {
    if (this.#release < "1.37") add(detail);
    else this.#deferred.push(() => add(""));
  }
}

function checkLimitResponse(
  errors: FieldErrors,
  union: UnionErrors,
  { type = "", queuing }: Partial<LimitResponse>,
): void {
  const here = errors.at("queuing");
  if (type === "") union.required(errors.at("type"), "");
  else if (type === "Reject") {
    if (queuing) union.forbidden(here, "must be nil if limited.limitResponse.type is not Limited");
  } else if (type === "Queue") {
    if (!queuing) union.required(here, "must not be empty if limited.limitResponse.type is Limited");
    else checkQueuing(here, queuing);
  } else errors.at("type").notSupported(type, ["Queue", "Reject"]);
}

function checkShares(errors: FieldErrors, shares: number | undefined): void {
  if ((shares ?? 0) < 0)
    errors.at("nominalConcurrencyShares").invalid(shares, "must be a non-negative integer");
}

function checkLendable(errors: FieldErrors, percent: number | undefined): void {
  if (percent !== undefined && percent !== null && (percent < 0 || percent > 100))
    errors.at("lendablePercent").invalid(percent, "must be between 0 and 100, inclusive");
}

function checkLimited(
  errors: FieldErrors,
  union: UnionErrors,
  limited: LimitedPriorityLevelConfiguration,
): void {
  const here = errors.at("spec.limited");
  checkShares(here, limited.nominalConcurrencyShares);
  checkLimitResponse(here.at("limitResponse"), union, limited.limitResponse ?? {});
  checkLendable(here, limited.lendablePercent);
  const borrowing = limited.borrowingLimitPercent;
  if ((borrowing ?? 0) < 0) {
    const detail = "if specified, must be a non-negative integer";
    here.at("borrowingLimitPercent").invalid(borrowing, detail);
  }
}

function checkLevelSpec(
  errors: FieldErrors,
  union: UnionErrors,
  { metadata, spec }: PriorityLevelConfiguration,
): void {
  const { type = "", limited, exempt } = spec ?? {};
  if ((metadata.name === "exempt") !== (type === "Exempt")) {
    const detail = "must be 'Exempt' if and only if `name` is 'exempt'";
    errors.at("spec.type").invalid(asTyped(type), detail);
  }
  if (type === "") union.required(errors.at("spec.type"), "");
  else if (type === "Exempt") {
    if (limited) union.forbidden(errors.at("spec.limited"), "must be nil if the type is not Limited");
    if (!exempt) return;
    checkShares(errors.at("spec.exempt"), exempt.nominalConcurrencyShares);
    checkLendable(errors.at("spec.exempt"), exempt.lendablePercent);
  } else if (type === "Limited") {
    if (exempt) union.forbidden(errors.at("spec.exempt"), "must be nil if the type is Limited");
    if (!limited) union.required(errors.at("spec.limited"), "must not be empty when type is Limited");
    else checkLimited(errors, union, limited);
  } else errors.at("spec.type").notSupported(type, ["Exempt", "Limited"]);
}

/**
 * An administrator may change the seats of `exempt`, and what it lends; everything else of mandatory objects
 * is fixed.
 */
function checkFixedLevel(errors: FieldErrors, { metadata, spec }: PriorityLevelConfiguration): void {
  const { name } = metadata;
  const fixed = Object.hasOwn(fixedLevels, name) ? fixedLevels[name] : undefined;
  if (fixed === undefined) return;
  const isExempt = name === "exempt";
  const { exempt: _, ...others } = spec ?? {};
  const { exempt: __, ...fixedOthers } = fixed;
  if (isExempt ? sameValue(others, fixedOthers) : sameValue(spec, fixed)) return;
  const shown = internalForm("flowcontrol/v1.PriorityLevelConfigurationSpec", spec, errors);
  const but = isExempt ? " except the 'spec.exempt' field" : "";
  errors.at("spec").invalid(shown, `spec of '${name}'${but} must equal the fixed value`);
}

const zeroShares = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

function checkPriorityLevel(errors: FieldErrors, object: PriorityLevelConfiguration): void {
  checkMetadata(errors.at("metadata"), object.metadata, dnsSubdomain, false);
  checkFinalizerNames(errors.at("metadata"), object.metadata);
  if (object.metadata.annotations?.[zeroShares] !== undefined)
    errors.at("metadata.annotations").forbidden(`annotation '${zeroShares}' is forbidden`);
  const union = new UnionErrors(errors.release);
  checkLevelSpec(errors, union, object);
  checkFixedLevel(errors, object);
  checkConditions(errors, object.status?.conditions);
  union.report();
}

export const priorityLevelValidation = {
  create: checkPriorityLevel,
  update(errors: FieldErrors, object: PriorityLevelConfiguration, old: PriorityLevelConfiguration): void {
    checkMetadataUpdate(errors.at("metadata"), object.metadata, old.metadata);
    checkPriorityLevel(errors, object);
  },
  status(errors: FieldErrors, object: PriorityLevelConfiguration): void {
    checkConditions(errors, object.status?.conditions);
  },
};
