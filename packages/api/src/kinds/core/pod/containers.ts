import type { ValidationContext } from "../../../checks/context.ts";
import type { FieldErrors } from "../../../checks/field.ts";
import { cameEmpty } from "../../../codec/empty.ts";
import type { Container, PodSpec } from "../../../generated/core/v1.ts";
import { isSidecar } from "../../../pod/containers.ts";
import { dnsLabel, isPortName } from "../../../values/names.ts";
import { checkEnvironment } from "./environment.ts";
import { checkDevices, checkMounts, type Volumes } from "./mounts.ts";
import { checkPort, checkProbes } from "./probes.ts";
import { checkResources } from "./resources.ts";
import { checkInitRestart, checkResizePolicy, checkRestart } from "./restarts.ts";
import { checkContainerSecurity } from "./security.ts";

const protocols = ["SCTP", "TCP", "UDP"];

function checkPorts(errors: FieldErrors, path: string, { ports }: Container): void {
  const names = new Set<string>();
  (ports ?? []).forEach((port, index) => {
    const at = `${path}[${index}]`;
    if (port.name) {
      const problems = isPortName(port.name);
      errors.check(isPortName, `${at}.name`, port.name);
      if (problems.length === 0 && names.has(port.name)) errors.duplicate(`${at}.name`, port.name);
      names.add(port.name);
    }
    if (!port.containerPort) errors.required(`${at}.containerPort`);
    else checkPort(errors, `${at}.containerPort`, port.containerPort);
    if (port.hostPort) checkPort(errors, `${at}.hostPort`, port.hostPort);
    errors.oneOf(`${at}.protocol`, port.protocol, protocols);
  });
}

/** No two containers of a list take one port of the host. */
function checkHostPorts(errors: FieldErrors, path: string, containers: readonly Container[]): void {
  const taken = new Set<string>();
  containers.forEach(({ ports }, index) => {
    (ports ?? []).forEach(({ protocol, hostIP = "", hostPort }, place) => {
      if (!hostPort) return;
      const key = `${protocol}/${hostIP}/${hostPort}`;
      if (taken.has(key)) errors.duplicate(`${path}[${index}].ports[${place}].hostPort`, key);
      taken.add(key);
    });
  });
}

/** Data of the pod that the checks of a container use. */
export interface Surroundings {
  readonly spec: PodSpec;
  readonly volumes: Volumes;
  /** The names of its claims. */
  readonly claims: ReadonlySet<string>;
  readonly context: ValidationContext;
}

function checkContainer(errors: FieldErrors, path: string, container: Container, around: Surroundings): void {
  const { spec, volumes, claims, context } = around;
  errors.checkRequired(dnsLabel, `${path}.name`, container.name);
  if (!container.image) errors.required(`${path}.image`);
  errors.oneOf(`${path}.terminationMessagePolicy`, container.terminationMessagePolicy, [
    "File",
    "FallbackToLogsOnError",
  ]);
  checkPorts(errors, `${path}.ports`, container);
  checkEnvironment(errors, path, container);
  checkMounts(errors, `${path}.volumeMounts`, container, volumes);
  checkDevices(errors, `${path}.volumeDevices`, container, volumes);
  errors.oneOf(`${path}.imagePullPolicy`, container.imagePullPolicy, ["Always", "IfNotPresent", "Never"]);
  checkResources(errors, `${path}.resources`, container.resources, claims);
  checkResizePolicy(errors, `${path}.resizePolicy`, container, spec);
  const hostUsers = spec.hostUsers !== false;
  checkContainerSecurity(errors, `${path}.securityContext`, container, hostUsers, context.features.version);
}

function checkMainContainers(errors: FieldErrors, path: string, around: Surroundings): void {
  const containers = around.spec.containers ?? [];
  if (containers.length === 0) {
    errors.required(path);
    return;
  }
  const names = new Set<string>();
  for (const [index, container] of containers.entries()) {
    if (errors.full) return;
    const at = `${path}[${index}]`;
    checkContainer(errors, at, container, around);
    if (names.has(container.name)) errors.duplicate(`${at}.name`, container.name);
    names.add(container.name);
    checkProbes(errors, at, container, around.spec);
    checkRestart(errors, at, container, around.context);
  }
  checkHostPorts(errors, path, containers);
}

const notInit = "may not be set for init containers without restartPolicy=Always";

function checkInitContainers(errors: FieldErrors, path: string, around: Surroundings): void {
  const { spec } = around;
  const names = new Set((spec.containers ?? []).map(({ name }) => name));
  (spec.initContainers ?? []).forEach((container, index) => {
    const at = `${path}[${index}]`;
    checkContainer(errors, at, container, around);
    checkInitRestart(errors, at, container, around.context);
    if (names.has(container.name)) errors.duplicate(`${at}.name`, container.name);
    else if (container.name) names.add(container.name);
    checkHostPorts(errors, path, [container]);
    const sidecar = isSidecar(container);
    if (sidecar) checkProbes(errors, at, container, spec);
    else {
      for (const name of ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] as const) {
        if (container[name]) errors.forbidden(`${at}.${name}`, notInit);
      }
      (container.resizePolicy ?? []).forEach(({ restartPolicy }, place) => {
        if (restartPolicy !== "RestartContainer") return;
        const detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
        errors.invalid(`${at}.resizePolicy[${place}].restartPolicy`, restartPolicy, detail);
      });
    }
  });
}

/** Fields that ephemeral containers may not set, by the names of the server's internal type. */
const notEphemeral = [
  "ports",
  "resources",
  "resizePolicy",
  "restartPolicy",
  "restartPolicyRules",
  "livenessProbe",
  "readinessProbe",
  "startupProbe",
  "lifecycle",
] as const;

function checkEphemeralContainers(errors: FieldErrors, path: string, around: Surroundings): void {
  const { spec } = around;
  const others = new Set(
    [...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(({ name }) => name),
  );
  const names = new Set(others);
  (spec.ephemeralContainers ?? []).forEach((container, index) => {
    const at = `${path}[${index}]`;
    checkContainer(errors, at, container, around);
    if (names.has(container.name)) errors.duplicate(`${at}.name`, container.name);
    names.add(container.name);
    const target = container.targetContainerName;
    if (target && !others.has(target)) errors.notFound(`${at}.targetContainerName`, target);
    for (const name of notEphemeral) {
      const value: unknown = container[name];
      if ((value === undefined || value === null) && !cameEmpty(container, name)) continue;
      // In Go, `resources` is not a pointer: empty resources are unset.
      if (name === "resources" && Object.keys(value ?? {}).length === 0) continue;
      errors.forbidden(`${at}.${name}`, "cannot be set for an Ephemeral Container");
    }
    (container.volumeMounts ?? []).forEach((mount, place) => {
      for (const name of ["subPath", "subPathExpr"] as const) {
        if (!mount[name]) continue;
        errors.forbidden(`${at}.volumeMounts[${place}].${name}`, "cannot be set for an Ephemeral Container");
      }
    });
  });
}

/** Containers of all three sorts. */
export function checkContainers(errors: FieldErrors, path: string, around: Surroundings): void {
  checkMainContainers(errors, `${path}.containers`, around);
  checkInitContainers(errors, `${path}.initContainers`, around);
  checkEphemeralContainers(errors, `${path}.ephemeralContainers`, around);
}
