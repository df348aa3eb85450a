import type { DeviceRequest, DeviceSubRequest, DeviceToleration, ResourceClaim } from "@dray/api/resource/v1";

/** The fields of a request of one alternative, or of the only one. */
export type RequestBody = NonNullable<DeviceRequest["exactly"]> | DeviceSubRequest;

/** The body of `request`, or of `request/subrequest`. */
export function bodyOf(claim: ResourceClaim, name: string): RequestBody | undefined {
  const [request, sub] = name.split("/");
  const found = claim.spec.devices?.requests?.find((each) => each.name === request);
  return sub === undefined ? found?.exactly : found?.firstAvailable?.find((each) => each.name === sub);
}

/** Returns the claim with another body of that request. */
function withBody(
  claim: ResourceClaim,
  name: string,
  change: (body: RequestBody) => RequestBody,
): ResourceClaim {
  const [wanted, sub] = name.split("/");
  const requests = (claim.spec.devices?.requests ?? []).map((request): DeviceRequest => {
    if (request.name !== wanted) return request;
    if (sub === undefined)
      return request.exactly === undefined
        ? request
        : { ...request, exactly: change(request.exactly) as NonNullable<DeviceRequest["exactly"]> };
    const firstAvailable = (request.firstAvailable ?? []).map((each) =>
      each.name === sub ? (change(each) as DeviceSubRequest) : each,
    );
    return { ...request, firstAvailable };
  });
  return withDevices(claim, { requests });
}

export function withToleration(
  claim: ResourceClaim,
  name: string,
  toleration: DeviceToleration,
): ResourceClaim {
  return withBody(claim, name, (body) => ({
    ...body,
    tolerations: [...(body.tolerations ?? []), toleration],
  }));
}

/** Returns the claim without the selectors with that expression; without any if it is absent. */
export function withoutSelector(claim: ResourceClaim, name: string, expression?: string): ResourceClaim {
  return withBody(claim, name, ({ selectors = [], ...body }) => {
    const kept = selectors.filter(({ cel }) => expression !== undefined && cel?.expression !== expression);
    return kept.length === 0 ? body : { ...body, selectors: kept };
  });
}

/** Returns the claim with another expression in the place of a selector. */
export function withSelector(
  claim: ResourceClaim,
  name: string,
  expression: string,
  replacement: string,
): ResourceClaim {
  return withBody(claim, name, ({ selectors = [], ...body }) => ({
    ...body,
    selectors: selectors.map((selector) =>
      selector.cel?.expression === expression ? { cel: { expression: replacement } } : selector,
    ),
  }));
}

export function withoutConstraint(claim: ResourceClaim, kind: string, attribute: string): ResourceClaim {
  const constraints = (claim.spec.devices?.constraints ?? []).filter(
    ({ matchAttribute, distinctAttribute }) =>
      (kind === "matchAttribute" ? matchAttribute : distinctAttribute) !== attribute,
  );
  return withDevices(claim, { constraints });
}

export const withCount = (claim: ResourceClaim, name: string, count: number): ResourceClaim =>
  withBody(claim, name, (body) => ({ ...body, count }));

export function withCapacity(claim: ResourceClaim, name: string, key: string, amount: string): ResourceClaim {
  return withBody(claim, name, (body) => ({
    ...body,
    capacity: { ...body.capacity, requests: { ...body.capacity?.requests, [key]: amount } },
  }));
}

/** Returns the claim without a consumer; an unused claim releases its devices. */
export function withoutConsumer(claim: ResourceClaim, uid: string): ResourceClaim {
  const reservedFor = (claim.status?.reservedFor ?? []).filter((consumer) => consumer.uid !== uid);
  if (reservedFor.length > 0) return { ...claim, status: { ...claim.status, reservedFor } };
  const { allocation: _a, reservedFor: _r, devices: _d, ...status } = claim.status ?? {};
  return { ...claim, status };
}

function withDevices(
  claim: ResourceClaim,
  more: Partial<NonNullable<ResourceClaim["spec"]["devices"]>>,
): ResourceClaim {
  return { ...claim, spec: { ...claim.spec, devices: { ...claim.spec.devices, ...more } } };
}
