import { quoted, StatusError, type StatusReason } from "@dray/api";
import type { Status, StatusDetails } from "@dray/api/meta/v1";

/** Returns a Status for the wire: with Kubernetes' order of fields and omitted empty fields. */
export function statusObject(status: Partial<Status>): Status {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: status.metadata ?? {},
    ...(status.status === undefined ? {} : { status: status.status }),
    ...(status.message ? { message: status.message } : {}),
    ...(status.reason ? { reason: status.reason } : {}),
    ...(status.details === undefined ? {} : { details: withoutEmpty(status.details) }),
    ...(status.code ? { code: status.code } : {}),
  } as Status;
}

function withoutEmpty(details: StatusDetails): StatusDetails {
  const entries = Object.entries(details).filter(([, value]) => value !== "" && value !== undefined);
  return Object.fromEntries(entries) as StatusDetails;
}

/** Creates an error with a code but no reason, or whose reason has an unusual code. */
function statusError(code: number, message: string, rest: Partial<Status> = {}): StatusError {
  return new StatusError(statusObject({ status: "Failure", message, code, ...rest }));
}

/** Creates the error to which Kubernetes converts a plain Go error: code 500 and no reason. */
export function serverError(message: string): StatusError {
  return statusError(500, message);
}

/** Creates an error with empty details, for paths that are not served. */
export function genericError(reason: StatusReason, message: string): StatusError {
  return StatusError.of(reason, message, {});
}

export const notServed = (): StatusError =>
  genericError("NotFound", "the server could not find the requested resource");

export const methodNotAllowed = (): StatusError =>
  genericError("MethodNotAllowed", "the server does not allow this method on the requested resource");

export function notFound(resource: { group: string; resource: string }, name: string): StatusError {
  return StatusError.of("NotFound", `${qualified(resource)} ${quoted(name)} not found`, {
    name,
    ...groupOf(resource),
    kind: resource.resource,
  });
}

export function alreadyExists(resource: { group: string; resource: string }, name: string): StatusError {
  return StatusError.of("AlreadyExists", `${qualified(resource)} ${quoted(name)} already exists`, {
    name,
    ...groupOf(resource),
    kind: resource.resource,
  });
}

export function conflict(
  resource: { group: string; resource: string },
  name: string,
  detail: string,
): StatusError {
  return StatusError.of(
    "Conflict",
    `Operation cannot be fulfilled on ${qualified(resource)} ${quoted(name)}: ${detail}`,
    {
      name,
      ...groupOf(resource),
      kind: resource.resource,
    },
  );
}

/** Creates a 403 of admission or authorization; `why` follows a colon. */
export function forbidden(
  resource: { group: string; resource: string },
  name: string,
  detail: string,
  details: object = {},
): StatusError {
  const subject = name === "" ? qualified(resource) : `${qualified(resource)} ${quoted(name)}`;
  return StatusError.of("Forbidden", `${subject} is forbidden: ${detail}`, {
    ...(name === "" ? {} : { name }),
    ...groupOf(resource),
    kind: resource.resource,
    ...details,
  });
}

/** `resourceclaims.resource.k8s.io`, `pods` */
export function qualified(resource: { group: string; resource: string }): string {
  return resource.group === "" ? resource.resource : `${resource.resource}.${resource.group}`;
}

function groupOf(resource: { group: string }): { group?: string } {
  return resource.group === "" ? {} : { group: resource.group };
}
