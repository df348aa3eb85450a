import { deviceNameProblem, kindProblem } from "./names.ts";
import { CdiError, hookNames, type Spec } from "./spec.ts";
import { minimumAccepted, versionOrder, versions } from "./version.ts";

/** Checks one value at `path`; throws a CdiError. */
type Check = (value: unknown, path: string) => void;

function fail(path: string, problem: string): never {
  throw new CdiError(`${path}: ${problem}`);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text === undefined ? String(value) : text.length > 80 ? `${text.slice(0, 80)}...` : text;
}

const text: Check = (value, path) => {
  if (typeof value !== "string") fail(path, `${shown(value)} must be a string`);
};
const filled: Check = (value, path) => {
  if (typeof value !== "string" || value === "")
    fail(path, `${shown(value)} must be a string that is not empty`);
};
const flag: Check = (value, path) => {
  if (typeof value !== "boolean") fail(path, `${shown(value)} must be true or false`);
};
const integer =
  (lowest: number, highest: number): Check =>
  (value, path) => {
    if (!Number.isInteger(value) || (value as number) < lowest || (value as number) > highest) {
      fail(path, `${shown(value)} must be an integer from ${lowest} to ${highest}`);
    }
  };
const unsigned32 = integer(0, 2 ** 32 - 1);
const int64 = integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
const oneOf =
  (values: readonly string[]): Check =>
  (value, path) => {
    if (!values.includes(value as string)) {
      fail(
        path,
        `${shown(value)} is not supported, supported are ${values.map((v) => JSON.stringify(v)).join(", ")}`,
      );
    }
  };
const list =
  (check: Check): Check =>
  (value, path) => {
    if (!Array.isArray(value)) fail(path, `${shown(value)} must be a list`);
    for (let i = 0; i < value.length; i++) check(value[i], `${path}[${i}]`);
  };
const named =
  (name: (value: string) => string | undefined): Check =>
  (value, path) => {
    text(value, path);
    const problem = name(value as string);
    if (problem !== undefined) fail(path, problem);
  };

interface Field {
  readonly check: Check;
  readonly required?: true;
}

function object(fields: Readonly<Record<string, Field>>): Check {
  return (value, path) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      fail(path, `${shown(value)} must be an object`);
    }
    for (const [name, one] of Object.entries(value)) {
      const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
      const at = path === "" ? name : `${path}.${name}`;
      if (field === undefined) fail(at, `unknown field; known are ${Object.keys(fields).join(", ")}`);
      if (one !== undefined) field.check(one, at);
    }
    for (const [name, field] of Object.entries(fields)) {
      if (field.required && (value as Record<string, unknown>)[name] === undefined) {
        fail(path === "" ? name : `${path}.${name}`, "required");
      }
    }
  };
}

const env: Check = (value, path) => {
  text(value, path);
  if ((value as string).indexOf("=") <= 0) fail(path, `${shown(value)} must have the form NAME=value`);
};
const permissions: Check = (value, path) => {
  text(value, path);
  if (value !== "none" && !/^[rwm]*$/.test(value as string)) {
    fail(path, `${shown(value)} must be letters of "rwm", or "none"`);
  }
};
const closID: Check = (value, path) => {
  text(value, path);
  const id = value as string;
  if (id.length >= 4096 || id === "." || id === ".." || /[/\n]/.test(id)) {
    fail(path, `${shown(value)} must be the name of a folder`);
  }
};

/** Any keys: the specification requires those of Kubernetes, but no reader enforces that. */
const annotations: Check = (value, path) => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    fail(path, `${shown(value)} must be an object`);
  }
  for (const [key, one] of Object.entries(value)) text(one, `${path}[${JSON.stringify(key)}]`);
};

const netDevices: Check = (value, path) => {
  list(
    object({ hostInterfaceName: { check: filled, required: true }, name: { check: filled, required: true } }),
  )(value, path);
  for (const key of ["hostInterfaceName", "name"] as const) {
    const seen = new Set<string>();
    (value as Record<string, string>[]).forEach((one, i) => {
      if (seen.has(one[key]!)) fail(`${path}[${i}].${key}`, `duplicate ${shown(one[key])}`);
      seen.add(one[key]!);
    });
  }
};

const containerEdits = object({
  env: { check: list(env) },
  deviceNodes: {
    check: list(
      object({
        path: { check: filled, required: true },
        hostPath: { check: text },
        type: { check: oneOf(["b", "c", "u", "p", ""]) },
        major: { check: int64 },
        minor: { check: int64 },
        fileMode: { check: unsigned32 },
        permissions: { check: permissions },
        uid: { check: unsigned32 },
        gid: { check: unsigned32 },
      }),
    ),
  },
  netDevices: { check: netDevices },
  mounts: {
    check: list(
      object({
        hostPath: { check: filled, required: true },
        containerPath: { check: filled, required: true },
        options: { check: list(text) },
        type: { check: text },
      }),
    ),
  },
  hooks: {
    check: list(
      object({
        hookName: { check: oneOf(hookNames), required: true },
        path: { check: filled, required: true },
        args: { check: list(text) },
        env: { check: list(env) },
        timeout: { check: int64 },
      }),
    ),
  },
  intelRdt: {
    check: object({
      closID: { check: closID },
      l3CacheSchema: { check: text },
      memBwSchema: { check: text },
      schemata: { check: list(text) },
      enableMonitoring: { check: flag },
    }),
  },
  additionalGids: { check: list(unsigned32) },
});

function isEmpty(edits: object): boolean {
  return Object.values(edits).every((value) => Array.isArray(value) && value.length === 0);
}

const deviceEdits: Check = (value, path) => {
  containerEdits(value, path);
  if (isEmpty(value as object)) fail(path, "a device must change something: at least one edit is required");
};

const devices: Check = (value, path) => {
  list(
    object({
      name: { check: named(deviceNameProblem), required: true },
      annotations: { check: annotations },
      containerEdits: { check: deviceEdits, required: true },
    }),
  )(value, path);
  const names = (value as { name: string }[]).map((device) => device.name);
  if (names.length === 0) fail(path, "at least one device is required");
  names.forEach((name, i) => {
    if (names.indexOf(name) < i) fail(`${path}[${i}].name`, `duplicate ${shown(name)}`);
  });
};

const spec = object({
  cdiVersion: { check: text, required: true },
  kind: { check: named(kindProblem), required: true },
  annotations: { check: annotations },
  devices: { check: devices, required: true },
  containerEdits: { check: containerEdits },
});

/**
 * Returns `value` as a spec. Throws a CdiError that names the first invalid field, its value and what is
 * accepted. Rejects unknown fields, and a version that is too low for the content.
 */
export function validateSpec(value: unknown): Spec {
  spec(value, "");
  const checked = value as Spec;
  const needed = minimumAccepted(checked);
  if (versionOrder(checked.cdiVersion) < 0) {
    fail("cdiVersion", `${shown(checked.cdiVersion)} is not known, known are ${versions.join(", ")}`);
  }
  if (versionOrder(checked.cdiVersion) < versionOrder(needed)) {
    fail("cdiVersion", `${shown(checked.cdiVersion)} is too low: what this spec uses needs ${needed}`);
  }
  return checked;
}
