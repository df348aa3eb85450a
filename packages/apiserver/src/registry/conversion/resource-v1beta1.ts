import type { KubeObject } from "@dray/api";

type Plain = Record<string, unknown>;

/** Fields that a v1beta1 request holds itself and that v1 holds under `exactly`. */
const exactFields = [
  "deviceClassName",
  "selectors",
  "allocationMode",
  "count",
  "adminAccess",
  "tolerations",
  "capacity",
];

/** From v1 to v1beta1: `exactly` of requests and the fields of devices move (`basic`). */
export function flatten(object: KubeObject): KubeObject {
  return changed(object, flattenRequest, (device) => {
    const { name, ...basic } = device;
    return { name, basic };
  });
}

/** From v1beta1 to v1. */
export function unflatten(object: KubeObject): KubeObject {
  return changed(object, unflattenRequest, (device) => {
    const { name, basic } = device;
    return { name, ...(basic as Plain | undefined) };
  });
}

function flattenRequest(request: Plain): Plain {
  const { exactly, ...rest } = request;
  if (exactly === undefined) return { deviceClassName: "", ...rest };
  return { ...rest, ...(exactly as Plain) };
}

function unflattenRequest(request: Plain): Plain {
  const rest: Plain = {};
  const exactly: Plain = {};
  for (const [key, value] of Object.entries(request)) {
    if (exactFields.includes(key)) exactly[key] = value;
    else rest[key] = value;
  }
  const empty = Object.values(exactly).every((value) => value === undefined || value === "");
  return empty ? rest : { ...rest, exactly };
}

function changed(
  object: KubeObject,
  request: (request: Plain) => Plain,
  device: (device: Plain) => Plain,
): KubeObject {
  const spec = (object as unknown as { spec?: Plain }).spec;
  if (spec === undefined) return object;
  switch (object.kind) {
    case "ResourceClaim":
      return { ...object, spec: changedClaim(spec, request) } as KubeObject;
    case "ResourceClaimTemplate": {
      const inner = spec["spec"] as Plain | undefined;
      if (inner === undefined) return object;
      return { ...object, spec: { ...spec, spec: changedClaim(inner, request) } } as KubeObject;
    }
    case "ResourceSlice": {
      const devices = spec["devices"] as Plain[] | undefined;
      if (devices === undefined) return object;
      return { ...object, spec: { ...spec, devices: devices.map(device) } } as KubeObject;
    }
    default:
      return object;
  }
}

function changedClaim(spec: Plain, request: (request: Plain) => Plain): Plain {
  const devices = spec["devices"] as Plain | undefined;
  const requests = devices?.["requests"] as Plain[] | undefined;
  if (requests === undefined) return spec;
  return { ...spec, devices: { ...devices, requests: requests.map(request) } };
}
