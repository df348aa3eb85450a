import type { KubeObject } from "@dray/api";
import type {
  DeviceSubRequest,
  ExactDeviceRequest,
  ResourceClaim,
  ResourceClaimSpec,
  ResourceClaimTemplate,
} from "@dray/api/resource/v1";

/** A request of a claim, or one alternative of it. */
export interface PlacedRequest {
  /** `request`, or `request/subrequest`. */
  readonly name: string;
  readonly body: ExactDeviceRequest | DeviceSubRequest;
  /** The path of the body. */
  readonly path: string;
  /** Another alternative may replace it. */
  readonly alternative: boolean;
}

/** Returns the spec of a claim or of a template for claims, and its path. */
export function claimSpecOf(
  object: KubeObject,
): { readonly spec: ResourceClaimSpec; readonly path: string } | undefined {
  if (object.kind === "ResourceClaim") return { spec: (object as ResourceClaim).spec, path: "spec" };
  if (object.kind === "ResourceClaimTemplate")
    return { spec: (object as ResourceClaimTemplate).spec.spec, path: "spec.spec" };
  return undefined;
}

export function requestsOf({ devices }: ResourceClaimSpec, path: string): PlacedRequest[] {
  return (devices?.requests ?? []).flatMap(({ name, exactly, firstAvailable = [] }, i): PlacedRequest[] => {
    const at = `${path}.devices.requests[${i}]`;
    if (exactly !== undefined) return [{ name, body: exactly, path: `${at}.exactly`, alternative: false }];
    return firstAvailable.map((body, j) => ({
      name: `${name}/${body.name}`,
      body,
      path: `${at}.firstAvailable[${j}]`,
      alternative: true,
    }));
  });
}
