/** Upstream: pkg/apis/flowcontrol/v1/defaults.go */
import type { PriorityLevelConfiguration } from "../../../generated/flowcontrol/v1.ts";
import type { Wire } from "../../../objects/wire.ts";

export function defaultPriorityLevel({ spec }: Wire<PriorityLevelConfiguration>): void {
  const { exempt, limited } = spec ?? {};
  if (exempt) {
    exempt.nominalConcurrencyShares ??= 0;
    exempt.lendablePercent ??= 0;
  }
  if (!limited) return;
  limited.nominalConcurrencyShares ??= 30;
  limited.lendablePercent ??= 0;
  const queuing = limited.limitResponse?.queuing;
  if (!queuing) return;
  queuing.handSize ||= 8;
  queuing.queues ||= 64;
  queuing.queueLengthLimit ||= 50;
}
