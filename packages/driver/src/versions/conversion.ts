import { group, type Version } from "./served.ts";

type Plain = Readonly<Record<string, unknown>>;

export function toV1<T extends object>(object: T, from: Version): T {
  if (from === "v1") return object;
  const v1 = { ...object, apiVersion: `${group}/v1` };
  return from === "v1beta2" ? v1 : changed(v1, nest, ({ name, basic }) => ({ name, ...(basic as Plain) }));
}

export function fromV1<T extends object>(object: T, to: Version): T {
  if (to === "v1") return object;
  const old = { ...object, apiVersion: `${group}/${to}` };
  return to === "v1beta2" ? old : changed(old, flatten, ({ name, ...basic }) => ({ name, basic }));
}

function nest({ name, firstAvailable, ...exactly }: Plain): Plain {
  return firstAvailable === undefined ? { name, exactly } : { name, firstAvailable };
}

function flatten({ exactly, ...rest }: Plain): Plain {
  return { ...rest, ...(exactly as Plain | undefined) };
}

/** `object` with its requests or devices changed, whichever it has. */
function changed<T extends object>(
  object: T,
  request: (request: Plain) => Plain,
  device: (device: Plain) => Plain,
): T {
  const { spec } = object as { readonly spec?: Plain & { devices?: unknown } };
  const devices = spec?.devices;
  if (Array.isArray(devices)) return { ...object, spec: { ...spec, devices: devices.map(device) } };
  const requests = (devices as { requests?: Plain[] } | undefined)?.requests;
  if (requests === undefined) return object;
  return {
    ...object,
    spec: { ...spec, devices: { ...(devices as Plain), requests: requests.map(request) } },
  };
}
