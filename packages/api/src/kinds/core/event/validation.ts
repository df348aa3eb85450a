/** Event: one kind with the old rules of core/v1, and stricter ones for writes as events.k8s.io/v1. */

import type { ValidationContext } from "../../../checks/context.ts";
import { checkImmutable, type FieldErrors, sameValue } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "../../../checks/metadata.ts";
import type { Event } from "../../../generated/core/v1.ts";
import { byteLength, dnsSubdomain, qualifiedName } from "../../../values/names.ts";

/** In bytes, which upstream calls characters. */
const longest = { reportingInstance: 128, action: 128, reason: 128, message: 1024 } as const;

function checkLength(errors: FieldErrors, event: Event, name: keyof typeof longest): void {
  if (byteLength(event[name] ?? "") > longest[name])
    errors.at(name).invalid("", `can have at most ${longest[name]} characters`);
}

/** Checks of events of both forms. An event with `eventTime` is of the newer form. */
function checkAnyForm(errors: FieldErrors, event: Event, strict: boolean): void {
  const about = event.involvedObject?.namespace ?? "";
  const own = event.metadata.namespace ?? "";
  const mismatch = (): void =>
    errors.at("involvedObject.namespace").invalid(about, "does not match event.namespace");
  if (!event.eventTime) {
    // Events of cluster-scoped objects are in `default`.
    const wanted = about === "" ? ["default", ""] : [about];
    if (!wanted.includes(own)) mismatch();
  } else {
    if (about === "" && own !== "default" && own !== "kube-system") mismatch();
    const controller = strict ? "reportingController" : "reportingComponent";
    const reporter = event.reportingComponent ?? "";
    if (reporter === "") errors.at(controller).required();
    errors.at(controller).check(qualifiedName, reporter);
    for (const name of ["reportingInstance", "action", "reason"] as const) {
      if (!event[name]) errors.at(name).required();
      checkLength(errors, event, name);
    }
    checkLength(errors, event, "message");
  }
  errors.at("namespace").check(dnsSubdomain, own);
}

function checkSeries(errors: FieldErrors, { series }: Event): void {
  if (!series) return;
  if ((series.count ?? 0) < 2) errors.at("series.count").invalid("", "should be at least 2");
  if (!series.lastObservedTime) errors.at("series.lastObservedTime").required();
}

const isStrict = ({ requestGroup }: ValidationContext): boolean => requestGroup === "events.k8s.io";

/** Fields that a client of events.k8s.io never changes, in upstream's order; `reason` is there twice. */
const fixed = [
  "involvedObject",
  "reason",
  "message",
  "source",
  "firstTimestamp",
  "lastTimestamp",
  "count",
  "reason",
  "type",
  "eventTime",
  "action",
  "related",
  "reportingComponent",
  "reportingInstance",
] as const;

const types: Readonly<Record<string, string>> = {
  involvedObject: "core/v1.ObjectReference",
  related: "core/v1.ObjectReference",
  source: "core/v1.EventSource",
};

/** The value of a field in Go: an unset field that is not a pointer has its zero value. */
function printed(errors: FieldErrors, event: Event, name: (typeof fixed)[number]): unknown {
  const value: unknown = event[name];
  const type = types[name];
  if (type !== undefined) {
    const given = name === "related" ? value : (value ?? {});
    return internalForm(type, given, errors);
  }
  if (name === "count") return value ?? 0;
  return value ?? (name.endsWith("Timestamp") || name === "eventTime" ? null : "");
}

export const eventValidation = {
  create(errors: FieldErrors, event: Event, context: ValidationContext): void {
    const strict = isStrict(context);
    checkAnyForm(errors, event, strict);
    if (!strict) return;
    checkMetadata(errors.at("metadata"), event.metadata, dnsSubdomain, true);
    checkFinalizerNames(errors.at("metadata"), event.metadata);
    checkSeries(errors, event);
    if (!event.eventTime) errors.at("eventTime").required();
    if (event.type !== "Normal" && event.type !== "Warning")
      errors.at("type").invalid("", `has invalid value: ${event.type ?? ""}`);
    const unset = "needs to be unset";
    if (event.firstTimestamp) errors.at("firstTimestamp").invalid("", unset);
    if (event.lastTimestamp) errors.at("lastTimestamp").invalid("", unset);
    if (event.count) errors.at("count").invalid("", unset);
    if (event.source?.component || event.source?.host) errors.at("source").invalid("", unset);
  },

  update(errors: FieldErrors, event: Event, old: Event, context: ValidationContext): void {
    const strict = isStrict(context);
    checkAnyForm(errors, event, strict);
    if (!strict) return;
    checkMetadataUpdate(errors.at("metadata"), event.metadata, old.metadata);
    checkFinalizerNames(errors.at("metadata"), event.metadata);
    if (!sameValue(event.series, old.series)) checkSeries(errors, event);
    for (const name of fixed) {
      const here = name === "reportingComponent" ? errors.at("reportingController") : errors.at(name);
      const shown = (of: Event): unknown => printed(errors, of, name);
      checkImmutable(here, shown(event), shown(old));
    }
  },
};
