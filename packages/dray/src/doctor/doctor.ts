import { currentSlices, devicesOf } from "../inventory/devices.ts";
import type { World } from "../manifests/world.ts";
import { checkAllocations } from "./allocations.ts";
import { checkClaims } from "./claims.ts";
import { checkClasses, checkDevicePlugins, checkMissingClasses } from "./classes.ts";
import { checkCapacity, checkCounters, checkGivenTwice, checkPublished } from "./devices.ts";
import { checkFields } from "./fields.ts";
import { type Finding, labelOfName, type Snapshot } from "./finding.ts";
import { checkPods } from "./pods.ts";
import { type RuleId, ruleIds, rules, type Source } from "./rules.ts";
import { checkDriverPods, checkRegistration, checkSlices } from "./slices.ts";
import { checkVersions } from "./versions.ts";

/** A rule that could not be checked. */
export interface NotJudged {
  readonly rule: RuleId;
  readonly why: string;
}

export interface Diagnosis {
  /** In the order of the rules, then of the objects' names. */
  readonly findings: readonly Finding[];
  readonly notJudged: readonly NotJudged[];
  readonly objects: number;
}

const checks: readonly ((snapshot: Snapshot) => Finding[])[] = [
  checkGivenTwice,
  (snapshot) => {
    const devices = devicesOf(snapshot.world, snapshot.features);
    return [
      ...checkCapacity(devices),
      ...checkCounters(devices, currentSlices(snapshot.world)),
      ...checkPublished(snapshot, devices),
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

/** Returns what is wrong by these rules. Pure: the same snapshot gives the same findings. */
export function diagnose(snapshot: Snapshot, wanted: ReadonlySet<RuleId>): Diagnosis {
  const notJudged = ruleIds.flatMap((rule): NotJudged[] => {
    if (!wanted.has(rule)) return [];
    const lacking = rules[rule].needs.filter((source) => !isKnown(source, snapshot));
    return lacking.length === 0 ? [] : [{ rule, why: lacking.map(lackText).join(", ") }];
  });
  const silent = new Set(notJudged.map(({ rule }) => rule));
  const findings = checks
    .flatMap((check) => check(snapshot))
    .filter(({ rule }) => wanted.has(rule) && !silent.has(rule))
    .map((finding) => ({ finding, label: labelOfName(finding.object) }))
    .toSorted(
      (a, b) =>
        ruleIds.indexOf(a.finding.rule) - ruleIds.indexOf(b.finding.rule) ||
        a.label.localeCompare(b.label, "en", { numeric: true }),
    )
    .map(({ finding }) => finding);
  return { findings, notJudged, objects: snapshot.world.objects.length };
}

function isKnown(source: Source, { world, events, server }: Snapshot): boolean {
  if (source === "Event") return events !== undefined;
  if (source === "server") return server !== undefined;
  return world.isReadable(source as Parameters<World["isReadable"]>[0]);
}

const lackText = (source: Source): string =>
  source === "server" ? "there is no server to ask" : `not all objects of kind ${source} can be read`;

/**
 * Returns the findings of both looks: a cluster that changes while it is read is inconsistent for a moment.
 */
export function confirmed(first: Diagnosis, second: Diagnosis): Diagnosis {
  const key = ({ rule, object }: Finding): string => `${rule} ${labelOfName(object)}`;
  const before = new Set(first.findings.map(key));
  return { ...second, findings: second.findings.filter((finding) => before.has(key(finding))) };
}
