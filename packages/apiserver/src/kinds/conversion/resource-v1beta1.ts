import { cameEmpty, type KubeObject, keepEmpty, noteEmpty } from "@dray/api";
import { typeRows } from "@dray/api/schema";

type Plain = Record<string, unknown>;

/** Fields that a v1beta1 request holds itself and that v1 holds under `exactly`. */
const exactFields: readonly string[] = typeRows.get("resource/v1.ExactDeviceRequest")!.map(([name]) => name);

/** From v1 to v1beta1: `exactly` of requests and the fields of devices move (`basic`). */
export function flatten(object: KubeObject): KubeObject {
  return changed(object, flattenRequest, (device) => {
    const { name, ...basic } = device;
    return { name, basic: keepEmpty(basic, device) };
  });
}

/** From v1beta1 to v1. */
export function unflatten(object: KubeObject): KubeObject {
  return changed(object, unflattenRequest, (device) => {
    const { name, basic } = device as { name: unknown; basic?: Plain };
    return keepEmpty({ name, ...basic }, basic ?? {});
  });
}

function flattenRequest(request: Plain): Plain {
  const { exactly, ...rest } = request as { exactly?: Plain };
  if (exactly === undefined) return keepEmpty({ deviceClassName: "", ...rest }, request);
  return keepEmpty(keepEmpty({ ...rest, ...exactly }, exactly), request);
}

function unflattenRequest(request: Plain): Plain {
  const rest: Plain = {};
  const exactly: Plain = {};
  for (const [key, value] of Object.entries(request)) {
    if (exactFields.includes(key)) exactly[key] = value;
    else rest[key] = value;
  }
  // A list that came empty is something, as it is to upstream; only selectors stay empty lists.
  const empty =
    Object.values(exactly).every((value) => value === undefined || value === "" || value === 0) &&
    !exactFields.some((field) => cameEmpty(request, field));
  if (cameEmpty(request, "selectors")) noteEmpty(exactly, "selectors");
  return keepEmpty(empty ? rest : { ...rest, exactly }, request);
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
      return {
        ...object,
        spec: keepEmpty({ ...spec, spec: changedClaim(inner, request) }, spec),
      } as KubeObject;
    }
    case "ResourceSlice": {
      const devices = spec["devices"] as Plain[] | undefined;
      if (!devices) return object;
      return { ...object, spec: keepEmpty({ ...spec, devices: devices.map(device) }, spec) } as KubeObject;
    }
    default:
      return object;
  }
}

function changedClaim(spec: Plain, request: (request: Plain) => Plain): Plain {
  const devices = spec["devices"] as Plain | undefined;
  const requests = devices?.["requests"] as Plain[] | undefined;
  if (!requests) return spec;
  return { ...spec, devices: keepEmpty({ ...devices, requests: requests.map(request) }, devices ?? {}) };
}
