import type { ValidationContext } from "../../../checks/context.ts";
import type { FieldErrors } from "../../../checks/field.ts";
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

function checkPorts(errors: FieldErrors, { ports }: Container): void {
  const names = new Set<string>();
  (ports ?? []).forEach((port, index) => {
    const here = errors.index(index);
    if (port.name) {
      const problems = isPortName(port.name);
      here.at("name").check(isPortName, port.name);
      if (problems.length === 0 && names.has(port.name)) here.at("name").duplicate(port.name);
      names.add(port.name);
    }
    if (!port.containerPort) here.at("containerPort").required();
    else checkPort(here.at("containerPort"), port.containerPort);
    if (port.hostPort) checkPort(here.at("hostPort"), port.hostPort);
    here.at("protocol").oneOf(port.protocol, protocols);
  });
}

/** No two containers of a list take one port of the host. */
function checkHostPorts(errors: FieldErrors, containers: readonly Container[]): void {
  const taken = new Set<string>();
  containers.forEach(({ ports }, index) => {
    (ports ?? []).forEach(({ protocol, hostIP = "", hostPort }, place) => {
      if (!hostPort) return;
      const key = `${protocol}/${hostIP}/${hostPort}`;
      if (taken.has(key)) errors.index(index).at("ports").index(place).at("hostPort").duplicate(key);
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

function checkContainer(errors: FieldErrors, container: Container, around: Surroundings): void {
  const { spec, volumes, claims } = around;
  errors.at("name").checkRequired(dnsLabel, container.name);
  if (!container.image) errors.at("image").required();
  errors
    .at("terminationMessagePolicy")
    .oneOf(container.terminationMessagePolicy, ["File", "FallbackToLogsOnError"]);
  checkPorts(errors.at("ports"), container);
  checkEnvironment(errors, container);
  checkMounts(errors.at("volumeMounts"), container, volumes);
  checkDevices(errors.at("volumeDevices"), container, volumes);
  errors.at("imagePullPolicy").oneOf(container.imagePullPolicy, ["Always", "IfNotPresent", "Never"]);
  checkResources(errors.at("resources"), container.resources, claims);
  checkResizePolicy(errors.at("resizePolicy"), container, spec);
  const hostUsers = spec.hostUsers !== false;
  checkContainerSecurity(errors.at("securityContext"), container, hostUsers);
}

function checkMainContainers(errors: FieldErrors, around: Surroundings): void {
  const containers = around.spec.containers ?? [];
  if (containers.length === 0) {
    errors.required();
    return;
  }
  const names = new Set<string>();
  for (const [index, container] of containers.entries()) {
    if (errors.full) return;
    const here = errors.index(index);
    checkContainer(here, container, around);
    if (names.has(container.name)) here.at("name").duplicate(container.name);
    names.add(container.name);
    checkProbes(here, container, around.spec);
    checkRestart(here, container, around.context);
  }
  checkHostPorts(errors, containers);
}

const notInit = "may not be set for init containers without restartPolicy=Always";

function checkInitContainers(errors: FieldErrors, around: Surroundings): void {
  const { spec } = around;
  const names = new Set((spec.containers ?? []).map(({ name }) => name));
  (spec.initContainers ?? []).forEach((container, index) => {
    const here = errors.index(index);
    checkContainer(here, container, around);
    checkInitRestart(here, container, around.context);
    if (names.has(container.name)) here.at("name").duplicate(container.name);
    else if (container.name) names.add(container.name);
    checkHostPorts(errors, [container]);
    const sidecar = isSidecar(container);
    if (sidecar) checkProbes(here, container, spec);
    else {
      for (const name of ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] as const) {
        if (container[name]) here.at(name).forbidden(notInit);
      }
      (container.resizePolicy ?? []).forEach(({ restartPolicy }, place) => {
        if (restartPolicy !== "RestartContainer") return;
        const detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
        here.at("resizePolicy").index(place).at("restartPolicy").invalid(restartPolicy, detail);
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

function checkEphemeralContainers(errors: FieldErrors, around: Surroundings): void {
  const { spec } = around;
  const others = new Set(
    [...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(({ name }) => name),
  );
  const names = new Set(others);
  (spec.ephemeralContainers ?? []).forEach((container, index) => {
    const here = errors.index(index);
    checkContainer(here, container, around);
    if (names.has(container.name)) here.at("name").duplicate(container.name);
    names.add(container.name);
    const target = container.targetContainerName;
    if (target && !others.has(target)) here.at("targetContainerName").notFound(target);
    for (const name of notEphemeral) {
      const value: unknown = container[name];
      if ((value === undefined || value === null) && !errors.provenance.cameEmpty(container, name)) continue;
      // In Go, `resources` is not a pointer: empty resources are unset.
      if (name === "resources" && Object.keys(value ?? {}).length === 0) continue;
      here.at(name).forbidden("cannot be set for an Ephemeral Container");
    }
    (container.volumeMounts ?? []).forEach((mount, place) => {
      for (const name of ["subPath", "subPathExpr"] as const) {
        if (!mount[name]) continue;
        here.at("volumeMounts").index(place).at(name).forbidden("cannot be set for an Ephemeral Container");
      }
    });
  });
}

/** Containers of all three sorts. */
export function checkContainers(errors: FieldErrors, around: Surroundings): void {
  checkMainContainers(errors.at("containers"), around);
  checkInitContainers(errors.at("initContainers"), around);
  checkEphemeralContainers(errors.at("ephemeralContainers"), around);
}
