/** v1beta1 of resource.k8s.io: the one version whose fields differ from those of v1. */
import { cameEmpty, type KubeObject, keepEmpty, noteEmpty } from "@dray/api";
import { typeRows } from "@dray/api/schema";
import type { ApiVersion } from "../define.ts";

type Plain = Record<string, unknown>;

/** Fields that a v1beta1 request holds itself and that v1 holds under `exactly`. */
const exactFields: readonly string[] = typeRows.get("resource/v1.ExactDeviceRequest")!.map(([name]) => name);

/** How the parts of a spec that differ are converted in one direction. */
interface Conversion {
  request(request: Plain): Plain;
  device(device: Plain): Plain;
}

/** `exactly` of requests and the fields of devices move (`basic`). */
const toV1beta1: Conversion = {
  request: flattenRequest,
  device(device) {
    const { name, ...basic } = device;
    return { name, basic: keepEmpty(basic, device) };
  },
};

const fromV1beta1: Conversion = {
  request: unflattenRequest,
  device(device) {
    const { name, basic } = device as { name: unknown; basic?: Plain };
    return keepEmpty({ name, ...basic }, basic ?? {});
  },
};

/** Undefined between versions whose fields are the same. */
function conversionOf(from: string, to: string): Conversion | undefined {
  if (from === "v1beta1") return fromV1beta1;
  return to === "v1beta1" ? toV1beta1 : undefined;
}

const specOf = (object: KubeObject): Plain | undefined => (object as { spec?: Plain }).spec;

/** Converts a ResourceClaim between versions. */
export function convertClaim(object: KubeObject, from: ApiVersion, to: ApiVersion): KubeObject {
  const conversion = conversionOf(from.version, to.version);
  const spec = specOf(object);
  if (conversion === undefined || spec === undefined) return object;
  return { ...object, spec: changedClaim(spec, conversion) } as KubeObject;
}

/** Converts a ResourceClaimTemplate between versions. */
export function convertClaimTemplate(object: KubeObject, from: ApiVersion, to: ApiVersion): KubeObject {
  const conversion = conversionOf(from.version, to.version);
  const spec = specOf(object);
  const inner = spec?.["spec"] as Plain | undefined;
  if (conversion === undefined || spec === undefined || inner === undefined) return object;
  return {
    ...object,
    spec: keepEmpty({ ...spec, spec: changedClaim(inner, conversion) }, spec),
  } as KubeObject;
}

/** Converts a ResourceSlice between versions. */
export function convertSlice(object: KubeObject, from: ApiVersion, to: ApiVersion): KubeObject {
  const conversion = conversionOf(from.version, to.version);
  const spec = specOf(object);
  const devices = spec?.["devices"] as Plain[] | undefined;
  if (conversion === undefined || spec === undefined || !devices) return object;
  return {
    ...object,
    spec: keepEmpty({ ...spec, devices: devices.map((device) => conversion.device(device)) }, spec),
  } as KubeObject;
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

function changedClaim(spec: Plain, { request }: Conversion): Plain {
  const devices = spec["devices"] as Plain | undefined;
  const requests = devices?.["requests"] as Plain[] | undefined;
  if (!requests) return spec;
  return { ...spec, devices: keepEmpty({ ...devices, requests: requests.map(request) }, devices ?? {}) };
}
