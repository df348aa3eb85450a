import { currentSlices, devicesOf } from "../inventory/devices.ts";
import type { World } from "../manifests/world.ts";
import { checkAllocations } from "./allocations.ts";
import { checkClaims } from "./claims.ts";
import { checkClasses, checkDevicePlugins, checkMissingClasses } from "./classes.ts";
import { checkCapacity, checkCounters, checkGivenTwice, checkPublished } from "./devices.ts";
import { checkFields } from "./fields.ts";
import { type Finding, labelOfName, type Patient } from "./finding.ts";
import { checkPods } from "./pods.ts";
import { type RuleId, ruleIds, rules, type Source } from "./rules.ts";
import { checkDriverPods, checkRegistration, checkSlices } from "./slices.ts";
import { checkVersions } from "./versions.ts";

/** A rule that nothing can be said about. */
export interface NotJudged {
  readonly rule: RuleId;
  readonly why: string;
}

export interface Diagnosis {
  /** In the order of the rules, and of the objects' names. */
  readonly findings: readonly Finding[];
  readonly notJudged: readonly NotJudged[];
  readonly objects: number;
}

const checks: readonly ((patient: Patient) => Finding[])[] = [
  checkGivenTwice,
  (patient) => {
    const devices = devicesOf(patient.world, patient.features);
    return [
      ...checkCapacity(devices),
      ...checkCounters(devices, currentSlices(patient.world)),
      ...checkPublished(patient, devices),
    ];
  },
  checkAllocations,
  checkPods,
  checkClaims,
  checkSlices,
  checkRegistration,
  checkDriverPods,
  checkDevicePlugins,
  checkClasses,
  checkMissingClasses,
  checkFields,
  checkVersions,
];

/** What is wrong by these rules. Reads nothing: the same input gives the same answer. */
export function diagnose(patient: Patient, wanted: ReadonlySet<RuleId>): Diagnosis {
  const notJudged = ruleIds.flatMap((rule): NotJudged[] => {
    if (!wanted.has(rule)) return [];
    const lacking = rules[rule].needs.filter((source) => !isKnown(source, patient));
    return lacking.length === 0 ? [] : [{ rule, why: lacking.map(lackText).join(", ") }];
  });
  const silent = new Set(notJudged.map(({ rule }) => rule));
  const rank = new Map(ruleIds.map((rule, i) => [rule, i]));
  const findings = checks
    .flatMap((check) => check(patient))
    .filter(({ rule }) => wanted.has(rule) && !silent.has(rule))
    .map((finding) => ({ finding, label: labelOfName(finding.object) }))
    .toSorted(
      (a, b) =>
        rank.get(a.finding.rule)! - rank.get(b.finding.rule)! ||
        a.label.localeCompare(b.label, "en", { numeric: true }),
    )
    .map(({ finding }) => finding);
  return { findings, notJudged, objects: patient.world.objects.length };
}

function isKnown(source: Source, { world, events, server }: Patient): boolean {
  if (source === "Event") return events !== undefined;
  if (source === "server") return server !== undefined;
  return world.isReadable(source as Parameters<World["isReadable"]>[0]);
}

const lackText = (source: Source): string =>
  source === "server" ? "there is no server to ask" : `not all objects of kind ${source} can be read`;

/** What stands in both: a cluster that changes shows for a moment what is not wrong. */
export function lasting(first: Diagnosis, second: Diagnosis): Diagnosis {
  const key = ({ rule, object }: Finding): string => `${rule} ${labelOfName(object)}`;
  const before = new Set(first.findings.map(key));
  return { ...second, findings: second.findings.filter((finding) => before.has(key(finding))) };
}
