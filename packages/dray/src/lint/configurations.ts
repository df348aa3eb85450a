import type { DeviceClass, ResourceSlice } from "@dray/api/resource/v1";
import { deviceEnvironment } from "@dray/cel";
import { names } from "../text/words.ts";
import { type Finding, finding } from "./finding.ts";
import { claimSpecOf, requestsOf } from "./requests.ts";
import { type LintContext, objectOf, type Subject } from "./subjects.ts";

/**
 * Finds opaque configuration for drivers that cannot get it: a driver gets the configuration of a claim or
 * class with devices of its own only (resource.k8s.io/v1, OpaqueDeviceConfiguration).
 */
export function checkConfigurations(context: LintContext): Finding[] {
  const drivers = new DriversOfClasses(context);
  return context.subjects.flatMap((subject) => {
    const object = objectOf(subject);
    if (subject.stored || object === undefined) return [];
    if (object.kind === "DeviceClass") return checkClass(subject, object as DeviceClass, drivers);
    return checkClaim(subject, drivers);
  });
}

function checkClass(
  subject: Subject,
  { metadata: { name }, spec }: DeviceClass,
  drivers: DriversOfClasses,
): Finding[] {
  const known = drivers.of(name);
  return (spec.config ?? []).flatMap(({ opaque }, i) => {
    if (known === undefined || opaque === undefined || known.has(opaque.driver)) return [];
    return [report(subject, `spec.config[${i}].opaque.driver`, opaque.driver, { classes: [name], known })];
  });
}

function checkClaim(subject: Subject, drivers: DriversOfClasses): Finding[] {
  const object = objectOf(subject);
  const placed = object && claimSpecOf(object);
  if (placed === undefined) return [];
  const requests = requestsOf(placed.spec, placed.path);
  return (placed.spec.devices?.config ?? []).flatMap(({ opaque, requests: wanted = [] }, i) => {
    if (opaque === undefined) return [];
    // It may name a request with all of its alternatives, or one of them; without names it is for all.
    const meant = requests.filter(
      ({ name }) => wanted.length === 0 || wanted.includes(name) || wanted.includes(name.split("/")[0] ?? ""),
    );
    const classes = [...new Set(meant.map(({ body }) => body.deviceClassName))];
    const known = new Set<string>();
    for (const name of classes) {
      const own = drivers.of(name);
      if (own === undefined) return [];
      for (const driver of own) known.add(driver);
    }
    if (classes.length === 0 || known.has(opaque.driver)) return [];
    const path = `${placed.path}.devices.config[${i}].opaque.driver`;
    return [report(subject, path, opaque.driver, { classes, known })];
  });
}

function report(
  subject: Subject,
  path: string,
  driver: string,
  { classes, known }: { readonly classes: readonly string[]; readonly known: ReadonlySet<string> },
): Finding {
  const what = classes.length === 1 ? `class ${classes[0]} has` : `classes ${names(classes)} have`;
  const message = `${what} no devices of driver ${driver}: the configuration has no effect`;
  const details = known.size === 0 ? [] : [`their drivers are ${names([...known])}`];
  return finding("config-without-driver", subject, path, { message, details });
}

/** A selector that is true for devices of one driver only. */
const ofOneDriver = /^\s*device\.driver\s*==\s*(["'])([^"']+)\1\s*(?:&&(?!.*\|\|).*)?$/s;

/** The drivers whose devices classes have. */
class DriversOfClasses {
  readonly #context: LintContext;
  readonly #slices: readonly ResourceSlice[];
  readonly #known = new Map<string, ReadonlySet<string> | undefined>();

  constructor(context: LintContext) {
    this.#context = context;
    this.#slices = context.world.all("ResourceSlice").map(({ object }) => object);
  }

  /**
   * Returns the drivers that selectors of the class name or, with slices, that have devices of the class;
   * undefined if that is not known.
   */
  of(name: string): ReadonlySet<string> | undefined {
    if (!this.#known.has(name)) this.#known.set(name, this.#find(name));
    return this.#known.get(name);
  }

  #find(name: string): ReadonlySet<string> | undefined {
    const deviceClass = this.#context.world.find("DeviceClass", name);
    if (deviceClass === undefined) return undefined;
    const expressions = (deviceClass.spec.selectors ?? []).map(({ cel }) => cel?.expression ?? "");
    for (const expression of expressions) {
      const driver = ofOneDriver.exec(expression)?.[2];
      if (driver !== undefined) return new Set([driver]);
    }
    const found = this.#driversWith(expressions);
    // Without its devices any driver may have some.
    return found.size === 0 ? undefined : found;
  }

  #driversWith(expressions: readonly string[]): ReadonlySet<string> {
    const environment = deviceEnvironment({ stored: true });
    const compiled = expressions.map((expression) => environment.compile(expression));
    const drivers = new Set<string>();
    for (const { spec } of this.#slices)
      for (const device of spec.devices ?? []) {
        if (drivers.has(spec.driver)) break;
        const each = { ...device, driver: spec.driver };
        if (compiled.every((one) => one.ok && one.evaluate(each).matches)) drivers.add(spec.driver);
      }
    return drivers;
  }
}
