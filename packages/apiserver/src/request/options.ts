import { codePointOf, type FieldError, invalid, quoted } from "@dray/api";
import { queryBoolean, type RequestInfo } from "./info.ts";
import { integerOption } from "./values.ts";

/** Validation of unknown and duplicate fields. */
export type FieldValidation = "Ignore" | "Warn" | "Strict";

/** Query options of a write (CreateOptions, UpdateOptions, PatchOptions). */
export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  /** Server-side apply: take ownership of conflicting fields. */
  readonly force: boolean;
}

export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly gracePeriodSeconds?: number;
  /** Includes `orphanDependents`. */
  readonly propagationPolicy?: "Foreground" | "Background" | "Orphan";
  /** The deprecated option as sent: with false, the response has status 202 while the object still exists. */
  readonly orphanDependents?: boolean;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

export interface ListOptions {
  readonly labelSelector: string;
  readonly fieldSelector: string;
  readonly limit: number;
  readonly continue: string;
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  readonly watch: boolean;
  readonly allowWatchBookmarks: boolean;
  readonly sendInitialEvents?: boolean;
  readonly timeoutSeconds?: number;
}

const optionsGroup = "meta.k8s.io";

function refuse(kind: string, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid({ group: optionsGroup, kind }, "", errors);
}

/** Values of a list are printed as JSON, others with Go's %q. */
const quote = JSON.stringify;

/** Parses the options of a create, update or patch; `apply` is server-side apply. Throws 422. */
export function writeOptions(
  query: URLSearchParams,
  kind: "CreateOptions" | "UpdateOptions" | "PatchOptions",
  userAgent: string | undefined,
  apply = false,
): WriteOptions {
  const errors: FieldError[] = [];
  const fieldManager = query.get("fieldManager") ?? "";
  for (const each of fieldManagerErrors(fieldManager, apply)) errors.push(each);
  const force = query.get("force");
  if (kind === "PatchOptions" && force !== null && !apply) {
    errors.push({ type: "Forbidden", path: "force", detail: "may not be specified for non-apply patch" });
  }
  const dryRun = dryRunOption(query.getAll("dryRun"), errors);
  const validation = query.get("fieldValidation") ?? "";
  if (!["", "Ignore", "Warn", "Strict"].includes(validation)) {
    errors.push({
      type: "NotSupported",
      path: "fieldValidation",
      value: quoted(validation),
      detail: `supported values: "", "Ignore", "Strict", "Warn"`,
    });
  }
  refuse(kind, errors);
  return {
    dryRun,
    fieldManager: fieldManager === "" ? defaultManager(userAgent) : fieldManager,
    fieldValidation: validation === "" ? "Warn" : (validation as FieldValidation),
    force: force !== null && queryBoolean(query, "force"),
  };
}

/**
 * Returns the options of a write for admission: CreateOptions or UpdateOptions (meta/v1) with the options of
 * the query. A patch is an update.
 */
export function admissionOptions({ verb, query }: Pick<RequestInfo, "verb" | "query">): object {
  const text = (name: string): object => (query.get(name) ? { [name]: query.get(name) } : {});
  const dryRun = query.getAll("dryRun");
  return {
    kind: verb === "create" ? "CreateOptions" : "UpdateOptions",
    apiVersion: "meta.k8s.io/v1",
    ...(dryRun.length === 0 ? {} : { dryRun }),
    ...text("fieldManager"),
    ...text("fieldValidation"),
  };
}

function fieldManagerErrors(manager: string, apply: boolean): FieldError[] {
  const errors: FieldError[] = [];
  const path = "fieldManager";
  if (manager === "" && apply) errors.push({ type: "Required", path, detail: "is required for apply patch" });
  if (Buffer.byteLength(manager) > 128) {
    errors.push({ type: "TooLong", path, detail: "may not be more than 128 bytes" });
  }
  let position = 0;
  for (const character of manager) {
    if (!/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character)) {
      const code = codePointOf(character).toString(16).toUpperCase().padStart(4, "0");
      errors.push({
        type: "Invalid",
        path,
        value: quoted(manager),
        detail: `invalid character U+${code} (at position ${position})`,
      });
    }
    position++;
  }
  return errors;
}

function dryRunOption(values: readonly string[], errors: FieldError[]): boolean {
  if (values.length === 0) return false;
  if (values.every((value) => value === "All")) return true;
  errors.push({
    type: "NotSupported",
    path: "dryRun",
    value: `[${values.map((value) => quote(value)).join(",")}]`,
    detail: `supported values: "All"`,
  });
  return false;
}

/** Returns the default field manager: the User-Agent up to the first slash. */
function defaultManager(userAgent: string | undefined): string {
  const name = (userAgent ?? "").split("/", 1)[0]!;
  return name === "" ? "unknown" : name.slice(0, 128);
}

/**
 * Returns the options of a DELETE: from its body (already decoded) if it has one, otherwise from the query.
 * Throws 400 and 422.
 */
export function deleteOptions(
  query: URLSearchParams,
  body: Record<string, unknown> | undefined,
): DeleteOptions {
  const errors: FieldError[] = [];
  const source = body ?? {};
  const grace = body
    ? (source["gracePeriodSeconds"] as number | bigint | undefined)
    : integerOption(query, "gracePeriodSeconds");
  const policy = body
    ? (source["propagationPolicy"] as string | undefined)
    : (query.get("propagationPolicy") ?? undefined);
  const orphan = body
    ? (source["orphanDependents"] as boolean | undefined)
    : query.has("orphanDependents")
      ? queryBoolean(query, "orphanDependents")
      : undefined;
  if (policy !== undefined && orphan !== undefined) {
    errors.push({
      type: "Invalid",
      path: "propagationPolicy",
      value: quote(policy),
      detail: "orphanDependents and deletionPropagation cannot be both set",
    });
  }
  if (policy !== undefined && !["Foreground", "Background", "Orphan"].includes(policy)) {
    errors.push({
      type: "NotSupported",
      path: "propagationPolicy",
      value: quote(policy),
      detail: `supported values: "Foreground", "Background", "Orphan", "nil"`,
    });
  }
  const dryRun = dryRunOption(
    body ? ((source["dryRun"] as string[] | undefined) ?? []) : query.getAll("dryRun"),
    errors,
  );
  refuse("DeleteOptions", errors);
  const propagation = policy || (orphan === undefined ? undefined : orphan ? "Orphan" : "Background");
  const preconditions = source["preconditions"] as DeleteOptions["preconditions"] | undefined;
  return {
    dryRun,
    ...(grace === undefined ? {} : { gracePeriodSeconds: Number(grace) }),
    ...(orphan === undefined ? {} : { orphanDependents: orphan }),
    ...(propagation ? { propagationPolicy: propagation as "Foreground" | "Background" | "Orphan" } : {}),
    ...(preconditions === undefined ? {} : { preconditions }),
  };
}

/** Parses the options of a list or watch. Throws 400 and 422. */
export function listOptions(query: URLSearchParams, watch: boolean): ListOptions {
  const limit = integerOption(query, "limit") ?? 0;
  const timeoutSeconds = integerOption(query, "timeoutSeconds");
  const options: ListOptions = {
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: query.get("fieldSelector") ?? "",
    limit: Math.max(0, limit),
    continue: query.get("continue") ?? "",
    resourceVersion: query.get("resourceVersion") ?? "",
    resourceVersionMatch: query.get("resourceVersionMatch") ?? "",
    watch,
    allowWatchBookmarks: queryBoolean(query, "allowWatchBookmarks"),
    ...(query.has("sendInitialEvents")
      ? { sendInitialEvents: queryBoolean(query, "sendInitialEvents") }
      : {}),
    ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
  };
  const errors = watch ? watchErrors(options) : listErrors(options);
  refuse("ListOptions", errors);
  return options;
}

const matchPath = "resourceVersionMatch";

function listErrors(options: ListOptions): FieldError[] {
  const errors: FieldError[] = [];
  const { resourceVersion, resourceVersionMatch: match } = options;
  const forbid = (detail: string): void => {
    errors.push({ type: "Forbidden", path: matchPath, detail });
  };
  if (match !== "") {
    if (resourceVersion === "")
      forbid("resourceVersionMatch is forbidden unless resourceVersion is provided");
    if (options.continue !== "") forbid("resourceVersionMatch is forbidden when continue is provided");
    if (match !== "Exact" && match !== "NotOlderThan") {
      errors.push({
        type: "NotSupported",
        path: matchPath,
        value: quote(match),
        detail: `supported values: "Exact", "NotOlderThan", ""`,
      });
    }
    if (match === "Exact" && resourceVersion === "0") {
      forbid(`resourceVersionMatch "exact" is forbidden for resourceVersion "0"`);
    }
  }
  if (options.sendInitialEvents !== undefined) {
    errors.push({
      type: "Forbidden",
      path: "sendInitialEvents",
      detail: "sendInitialEvents is forbidden for list",
    });
  }
  return errors;
}

function watchErrors(options: ListOptions): FieldError[] {
  const errors: FieldError[] = [];
  const { resourceVersionMatch: match, sendInitialEvents } = options;
  const forbid = (detail: string): void => {
    errors.push({ type: "Forbidden", path: matchPath, detail });
  };
  if (sendInitialEvents !== undefined) {
    if (match !== "NotOlderThan")
      forbid("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  } else if (match !== "") {
    forbid("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  }
  if (match !== "" && match !== "NotOlderThan") {
    errors.push({
      type: "NotSupported",
      path: matchPath,
      value: quote(match),
      detail: `supported values: "NotOlderThan"`,
    });
  }
  if (options.continue !== "") forbid("resourceVersionMatch is forbidden when continue is provided");
  return errors;
}
