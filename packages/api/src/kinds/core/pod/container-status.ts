/** Validation of container statuses: users (KEP-3619) and the health of devices (KEP-4680). */

import { asTyped, byName, type FieldErrors } from "../../../checks/field.ts";
import type { Container, ContainerStatus, Pod, ResourceStatus } from "../../../generated/core/v1.ts";
import { byteLength } from "../../../values/names.ts";

/** In bytes. Upstream: k8s.io/api/core/v1, ResourceHealthMessageMaxLength. */
const maxMessageLength = 1024;
const healthValues = ["Healthy", "Unhealthy", "Unknown"];
const maxId = 2 ** 31 - 1;

function checkId(errors: FieldErrors, id: number | bigint): void {
  if (id < 0 || id > maxId) errors.invalid(id, `must be between 0 and ${maxId}, inclusive`);
}

function checkUser(errors: FieldErrors, { user }: ContainerStatus, system: string): void {
  const linux = user?.linux;
  if (!linux) return;
  if (system === "windows") errors.forbidden("cannot be set for a windows pod");
  if (system !== "linux") return;
  checkId(errors.at("uid"), linux.uid ?? 0);
  checkId(errors.at("gid"), linux.gid ?? 0);
  (linux.supplementalGroups ?? []).forEach((group, index) => {
    checkId(errors.at("supplementalGroups").index(index), group);
  });
}

/** The claims of a container as its status names them. */
function claimNames(container: Container | undefined): ReadonlySet<string> {
  const names = (container?.resources?.claims ?? []).map(({ name, request }) =>
    request ? `claim:${name}/${request}` : `claim:${name}`,
  );
  return new Set(names);
}

/**
 * Checks that a resource of a status is one that the container requests, or one of its claims. Statuses of
 * containers that no longer exist are not checked.
 */
function checkResourceName(
  errors: FieldErrors,
  name: string,
  container: Container,
  claims: ReadonlySet<string>,
): void {
  const { requests = {} } = container.resources ?? {};
  if (name.startsWith("claim:")) {
    const detail =
      "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty";
    if (!claims.has(name)) errors.invalid(asTyped(name), detail);
  } else if (!Object.hasOwn(requests ?? {}, name)) {
    errors.invalid(asTyped(name), "must match one of the container's resource requests");
  }
}

function checkDevices(errors: FieldErrors, { resources }: ResourceStatus): void {
  const seen = new Set<string>();
  (resources ?? []).forEach(({ resourceID = "", health = "", message }, index) => {
    const here = errors.at("resources").index(index);
    if (!healthValues.includes(health)) here.at("health").notSupported(health, healthValues);
    if (message === "") here.at("message").required("must be non-empty if specified");
    else if (message && byteLength(message) > maxMessageLength) here.at("message").tooLong(maxMessageLength);
    if (seen.has(resourceID)) here.at("resourceID").duplicate(asTyped(resourceID));
    seen.add(resourceID);
  });
}

const lists = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] as const;

export function checkContainerStatuses(errors: FieldErrors, { spec, status }: Pod): void {
  for (const list of lists) {
    (status?.[list] ?? []).forEach((each, index) => {
      checkUser(errors.at("status").at(list).index(index).at("user.linux"), each, spec?.os?.name ?? "linux");
    });
  }
  for (const [list, containers] of [
    ["containerStatuses", spec?.containers],
    ["initContainerStatuses", spec?.initContainers],
  ] as const) {
    const named = byName(containers ?? []);
    // Several statuses may name the same container.
    const claims = new Map<Container | undefined, ReadonlySet<string>>();
    (status?.[list] ?? []).forEach(({ name, allocatedResourcesStatus }, index) => {
      const container = named.get(name);
      const known = claims.get(container) ?? claimNames(container);
      claims.set(container, known);
      (allocatedResourcesStatus ?? []).forEach((resource, place) => {
        const here = errors.at("status").at(list).index(index).at("allocatedResourcesStatus").index(place);
        if (container !== undefined)
          checkResourceName(here.at("name"), resource.name ?? "", container, known);
        checkDevices(here, resource);
      });
    });
  }
  (status?.ephemeralContainerStatuses ?? []).forEach(({ allocatedResourcesStatus }, index) => {
    if ((allocatedResourcesStatus ?? []).length === 0) return;
    const here = errors.at("status.ephemeralContainerStatuses").index(index).at("allocatedResourcesStatus");
    here.forbidden("must not be specified in container status");
  });
}
