import type { Container, EnvVar, PodSpec, VolumeMount } from "../../generated/core/v1.ts";
import { dnsLabel, isEnvironmentName, isPortName } from "../../names.ts";
import type { FieldErrors } from "../field.ts";
import { checkLifecycle, checkPort, checkProbe } from "./probes.ts";
import { checkResources } from "./resources.ts";

const pullPolicies = ["Always", "IfNotPresent", "Never"];
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
    if (!port.protocol) errors.required(`${at}.protocol`);
    else if (!protocols.includes(port.protocol))
      errors.notSupported(`${at}.protocol`, port.protocol, protocols);
  });
}

const fieldPaths = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];

function checkValueFrom(errors: FieldErrors, path: string, variable: EnvVar): void {
  const source = variable.valueFrom;
  if (!source) return;
  const given = [
    source.fieldRef,
    source.resourceFieldRef,
    source.configMapKeyRef,
    source.secretKeyRef,
    source.fileKeyRef,
  ].filter((each) => each !== undefined && each !== null);
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef } = source;
  if (fieldRef) {
    const at = `${path}.fieldRef`;
    const known =
      fieldPaths.includes(fieldRef.fieldPath ?? "") ||
      /^metadata\.(labels|annotations)\['.+'\]$/.test(fieldRef.fieldPath);
    if (!fieldRef.fieldPath) errors.required(`${at}.fieldPath`);
    else if (!known) errors.notSupported(`${at}.fieldPath`, fieldRef.fieldPath, [...fieldPaths].sort());
  }
  if (resourceFieldRef && !resourceFieldRef.resource) errors.required(`${path}.resourceFieldRef.resource`);
  for (const [name, ref] of Object.entries({ configMapKeyRef, secretKeyRef })) {
    if (!ref) continue;
    if (!ref.name) errors.required(`${path}.${name}.name`);
    if (!ref.key) errors.required(`${path}.${name}.key`);
  }
  if (given.length === 0) {
    const detail =
      "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
    errors.invalid(path, "", detail);
  } else if (variable.value) errors.invalid(path, "", "may not be specified when `value` is not empty");
  else if (given.length > 1) errors.invalid(path, "", "may not have more than one field specified at a time");
}

function checkMounts(
  errors: FieldErrors,
  path: string,
  mounts: readonly VolumeMount[] | undefined,
  spec: PodSpec,
): void {
  const paths = new Set<string>();
  (mounts ?? []).forEach((mount, index) => {
    const at = `${path}[${index}]`;
    if (!mount.name) errors.required(`${at}.name`);
    if (!(spec.volumes ?? []).some(({ name }) => name === mount.name)) {
      errors.notFound(`${at}.name`, mount.name ?? "");
    }
    if (!mount.mountPath) errors.required(`${at}.mountPath`);
    if (paths.has(mount.mountPath)) errors.invalid(`${at}.mountPath`, mount.mountPath, "must be unique");
    paths.add(mount.mountPath);
    for (const name of ["subPath", "subPathExpr"] as const) {
      const value = mount[name];
      if (!value) continue;
      if (value.startsWith("/")) errors.invalid(`${at}.${name}`, value, "must be a relative path");
      else if (value.split("/").includes(".."))
        errors.invalid(`${at}.${name}`, value, "must not contain '..'");
    }
    if (mount.subPath && mount.subPathExpr) {
      errors.invalid(
        `${at}.subPathExpr`,
        mount.subPathExpr,
        "subPathExpr and subPath are mutually exclusive",
      );
    }
  });
}

function checkContainer(errors: FieldErrors, path: string, container: Container, spec: PodSpec): void {
  if (!container.image) errors.required(`${path}.image`);
  else if (container.image !== container.image.trim()) {
    errors.invalid(`${path}.image`, container.image, "must not have leading or trailing whitespace");
  }
  const policies = ["File", "FallbackToLogsOnError"];
  const policy = container.terminationMessagePolicy;
  if (!policy) errors.required(`${path}.terminationMessagePolicy`);
  else if (!policies.includes(policy)) {
    errors.notSupported(`${path}.terminationMessagePolicy`, policy, [...policies].sort());
  }
  checkPorts(errors, `${path}.ports`, container);
  (container.env ?? []).forEach((variable, index) => {
    const at = `${path}.env[${index}]`;
    if (!variable.name) errors.required(`${at}.name`);
    else errors.check(isEnvironmentName, `${at}.name`, variable.name);
    checkValueFrom(errors, `${at}.valueFrom`, variable);
  });
  checkMounts(errors, `${path}.volumeMounts`, container.volumeMounts, spec);
  const pull = container.imagePullPolicy;
  if (!pull) errors.required(`${path}.imagePullPolicy`);
  else if (!pullPolicies.includes(pull)) errors.notSupported(`${path}.imagePullPolicy`, pull, pullPolicies);
  checkResources(errors, `${path}.resources`, container.resources, spec.resourceClaims ?? []);
}

function checkName(errors: FieldErrors, path: string, name: string | undefined, seen: Set<string>): void {
  if (!name) errors.required(`${path}.name`);
  else errors.check(dnsLabel, `${path}.name`, name);
  if (name && seen.has(name)) errors.duplicate(`${path}.name`, name);
  seen.add(name ?? "");
}

/** Containers and init containers of a pod: their names are unique among both. */
export function checkContainers(errors: FieldErrors, path: string, spec: PodSpec): void {
  const seen = new Set<string>();
  const containers = spec.containers ?? [];
  if (containers.length === 0) errors.required(`${path}.containers`);
  containers.forEach((container, index) => {
    const at = `${path}.containers[${index}]`;
    checkName(errors, at, container.name, seen);
    checkContainer(errors, at, container, spec);
    checkLifecycle(errors, `${at}.lifecycle`, container);
    checkProbe(errors, `${at}.livenessProbe`, container.livenessProbe, true);
    checkProbe(errors, `${at}.readinessProbe`, container.readinessProbe, false);
    checkProbe(errors, `${at}.startupProbe`, container.startupProbe, true);
  });
  (spec.initContainers ?? []).forEach((container, index) => {
    const at = `${path}.initContainers[${index}]`;
    checkContainer(errors, at, container, spec);
    checkName(errors, at, container.name, seen);
    const sidecar = container.restartPolicy === "Always";
    for (const name of ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] as const) {
      if (container[name] && !sidecar) {
        errors.forbidden(`${at}.${name}`, "may not be set for init containers without restartPolicy=Always");
      }
    }
  });
}
