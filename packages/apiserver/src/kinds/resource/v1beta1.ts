/** v1beta1 of resource.k8s.io: the one version whose fields differ from those of v1. */
import { type KubeObject, Provenance } from "@dray/api";
import { typeRows } from "@dray/api/schema";
import type { ApiVersion } from "../define.ts";

type Plain = Record<string, unknown>;

/** Fields that a v1beta1 request holds itself and that v1 holds under `exactly`. */
const exactFields: readonly string[] = typeRows
  // The schema has the types of all releases.
  .get("resource/v1.ExactDeviceRequest")!
  .map(([name]) => name);

/** Conversion of the parts of a spec that differ, in one direction. */
interface Conversion {
  request(request: Plain, provenance: Provenance): Plain;
  device(device: Plain, provenance: Provenance): Plain;
}

/** `exactly` of requests and the fields of devices move (`basic`). */
const toV1beta1: Conversion = {
  request: flattenRequest,
  device(device, provenance) {
    const { name, ...basic } = device;
    return { name, basic: provenance.keepEmpty(basic, device) };
  },
};

const fromV1beta1: Conversion = {
  request: unflattenRequest,
  device(device, provenance) {
    const { name, basic } = device as { name: unknown; basic?: Plain };
    return provenance.keepEmpty({ name, ...basic }, basic ?? {});
  },
};

/** Undefined between versions whose fields are the same. */
function conversionOf(from: string, to: string): Conversion | undefined {
  if (from === "v1beta1") return fromV1beta1;
  return to === "v1beta1" ? toV1beta1 : undefined;
}

const specOf = (object: KubeObject): Plain | undefined => (object as { spec?: Plain }).spec;

/** Converts a ResourceClaim between versions. */
export function convertClaim(
  object: KubeObject,
  from: ApiVersion,
  to: ApiVersion,
  provenance = new Provenance(),
): KubeObject {
  const conversion = conversionOf(from.version, to.version);
  const spec = specOf(object);
  if (conversion === undefined || spec === undefined) return object;
  return { ...object, spec: changedClaim(spec, conversion, provenance) } as KubeObject;
}

/** Converts a ResourceClaimTemplate between versions. */
export function convertClaimTemplate(
  object: KubeObject,
  from: ApiVersion,
  to: ApiVersion,
  provenance = new Provenance(),
): KubeObject {
  const conversion = conversionOf(from.version, to.version);
  const spec = specOf(object);
  const inner = spec?.["spec"] as Plain | undefined;
  if (conversion === undefined || spec === undefined || inner === undefined) return object;
  return {
    ...object,
    spec: provenance.keepEmpty({ ...spec, spec: changedClaim(inner, conversion, provenance) }, spec),
  } as KubeObject;
}

/** Converts a ResourceSlice between versions. */
export function convertSlice(
  object: KubeObject,
  from: ApiVersion,
  to: ApiVersion,
  provenance = new Provenance(),
): KubeObject {
  const conversion = conversionOf(from.version, to.version);
  const spec = specOf(object);
  const devices = spec?.["devices"] as Plain[] | undefined;
  if (conversion === undefined || spec === undefined || !devices) return object;
  return {
    ...object,
    spec: provenance.keepEmpty(
      { ...spec, devices: devices.map((device) => conversion.device(device, provenance)) },
      spec,
    ),
  } as KubeObject;
}

function flattenRequest(request: Plain, provenance: Provenance): Plain {
  const { exactly, ...rest } = request as { exactly?: Plain };
  if (exactly === undefined) return provenance.keepEmpty({ deviceClassName: "", ...rest }, request);
  return provenance.keepEmpty(provenance.keepEmpty({ ...rest, ...exactly }, exactly), request);
}

function unflattenRequest(request: Plain, provenance: Provenance): Plain {
  const rest: Plain = {};
  const exactly: Plain = {};
  for (const [key, value] of Object.entries(request)) {
    if (exactFields.includes(key)) exactly[key] = value;
    else rest[key] = value;
  }
  // As upstream, an empty list counts as set; only selectors stay empty lists.
  const empty =
    Object.values(exactly).every((value) => value === undefined || value === "" || value === 0) &&
    !exactFields.some((field) => provenance.cameEmpty(request, field));
  if (provenance.cameEmpty(request, "selectors")) provenance.noteEmpty(exactly, "selectors");
  return provenance.keepEmpty(empty ? rest : { ...rest, exactly }, request);
}

function changedClaim(spec: Plain, conversion: Conversion, provenance: Provenance): Plain {
  const devices = spec["devices"] as Plain | undefined;
  const requests = devices?.["requests"] as Plain[] | undefined;
  if (!requests) return spec;
  const changed = requests.map((request) => conversion.request(request, provenance));
  return { ...spec, devices: provenance.keepEmpty({ ...devices, requests: changed }, devices ?? {}) };
}
