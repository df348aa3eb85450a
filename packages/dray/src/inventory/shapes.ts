import type { DeviceRequest, DeviceSubRequest, ResourceClaim } from "@dray/api/resource/v1";
import { nameOf } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";

/** The shape of a claim: one device of a class, or the requests of a template. */
export interface Shape {
  readonly kind: "DeviceClass" | "ResourceClaimTemplate";
  /** `namespace/name` of a template. */
  readonly name: string;
  readonly requests: readonly DeviceRequest[];
  readonly constraints: NonNullable<NonNullable<ResourceClaim["spec"]["devices"]>["constraints"]>;
}

export const shapeKey = ({ kind, name }: Pick<Shape, "kind" | "name">): string => `${kind} ${name}`;

/** Returns the shapes of a cluster: its classes by name, then its templates. */
export function shapesOf(world: World): Shape[] {
  const classes = world.all("DeviceClass").map(({ object }) => classShape(object.metadata.name));
  const templates = world.all("ResourceClaimTemplate").map(({ object }): Shape => {
    const { requests = [], constraints = [] } = object.spec.spec.devices ?? {};
    return { kind: "ResourceClaimTemplate", name: nameOf(object), requests, constraints };
  });
  const byName = (a: Shape, b: Shape): number => (a.name < b.name ? -1 : 1);
  return [...classes.toSorted(byName), ...templates.toSorted(byName)];
}

/** Returns the shape of one device of a class. */
export const classShape = (name: string): Shape => ({
  kind: "DeviceClass",
  name,
  requests: [
    { name: "device", exactly: { deviceClassName: name, allocationMode: "ExactCount", count: 1 } },
  ] as DeviceRequest[],
  constraints: [],
});

/** Returns a claim of that shape, which is not in the cluster; `index` distinguishes copies. */
export function claimOf({ name, requests, constraints }: Shape, index = 0): ResourceClaim {
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: {
      namespace: "",
      name: `${name}#${index}`,
      uid: `${name}#${index}`,
      resourceVersion: "1",
      creationTimestamp: "1970-01-01T00:00:00Z",
    },
    spec: { devices: { requests: [...requests], constraints: [...constraints] } },
  };
}

/**
 * Returns its requests and alternatives, each as a claim for one device, to find the devices that serve any
 * of them.
 */
export function singleClaims(shape: Shape): ResourceClaim[] {
  const single = (name: string, body: DeviceSubRequest | NonNullable<DeviceRequest["exactly"]>) =>
    claimOf({
      ...shape,
      constraints: [],
      requests: [{ name, exactly: { ...body, allocationMode: "ExactCount", count: 1 } }] as DeviceRequest[],
    });
  return shape.requests.flatMap(({ name, exactly, firstAvailable = [] }) =>
    exactly === undefined
      ? firstAvailable.map(({ name: sub, ...body }) => single(sub, body as DeviceSubRequest))
      : [single(name, exactly)],
  );
}

/** Claims with admin access allocate no device (KEP-5018), so their number is not limited. */
export const takesNothing = ({ requests }: Shape): boolean =>
  requests.every(({ exactly }) => exactly?.adminAccess === true);
