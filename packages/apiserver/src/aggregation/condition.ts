import type { APIService, APIServiceCondition } from "@dray/api/apiregistration/v1";
import type { ServedResource } from "../kinds/resources.ts";
import type { OwnObjects } from "../write/own-objects.ts";

/** The result of a check of an APIService. */
export type Availability = Pick<APIServiceCondition, "reason" | "message"> & {
  readonly status: "True" | "False" | "Unknown";
};

const conditionType = "Available";

export function availableCondition({ status }: APIService): APIServiceCondition | undefined {
  return status?.conditions?.find(({ type }) => type === conditionType);
}

export function isAvailable(service: APIService): boolean {
  return availableCondition(service)?.status === "True";
}

/**
 * Returns the conditions with this one set; undefined if nothing changes. lastTransitionTime changes only
 * with the status. `now`: RFC 3339, whole seconds.
 *
 * Upstream: staging/src/k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper, SetAPIServiceCondition
 */
function withAvailability(
  service: APIService,
  { status, reason, message }: Availability,
  now: string,
): APIServiceCondition[] | undefined {
  const conditions = service.status?.conditions ?? [];
  const old = availableCondition(service);
  if (old?.status === status && old.reason === reason && old.message === message) return undefined;
  const lastTransitionTime = old?.status === status ? old.lastTransitionTime : now;
  const next: APIServiceCondition = {
    type: conditionType,
    status,
    ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }),
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
  };
  return old === undefined ? [...conditions, next] : conditions.map((each) => (each === old ? next : each));
}

/**
 * Writes the result of a check, unless the APIService has it already. Rejects with NotFound if it is gone.
 */
export async function reportAvailability(
  own: OwnObjects,
  served: ServedResource,
  service: APIService,
  found: Availability,
): Promise<void> {
  if (withAvailability(service, found, own.now()) === undefined) return;
  await own.change(
    served,
    service,
    (draft) => {
      const current = draft as APIService;
      const conditions = withAvailability(current, found, own.now());
      if (conditions !== undefined) current.status = { ...current.status, conditions };
    },
    { fieldManager: "kube-apiserver", subresource: "status" },
  );
}
