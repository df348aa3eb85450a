import { devicesOf } from "../inventory/devices.ts";
import { answerWithoutFaults, type Fault, type Readable } from "../manifests/faults.ts";
import { checkAllocations } from "./allocations.ts";
import { checkClaims } from "./claims.ts";
import { checkClassSelectors } from "./class-selectors.ts";
import { checkClasses, checkDevicePlugins, checkMissingClasses } from "./classes.ts";
import { checkCapacity, checkCounters, checkGivenTwice, checkPublished } from "./devices.ts";
import { checkDriverReadiness } from "./driver-readiness.ts";
import { checkDriverSets } from "./driver-sets.ts";
import { checkFields } from "./fields.ts";
import { type Finding, finding, kubectl, labelOfName, type Snapshot } from "./finding.ts";
import { checkHealth } from "./health.ts";
import { checkPods } from "./pods.ts";
import { checkPreparing } from "./preparing.ts";
import { checkPublishers } from "./publishers.ts";
import { type RuleId, ruleIds, rules, type Source } from "./rules.ts";
import { checkServices } from "./services.ts";
import { checkDriverPods, checkRegistration, checkSlices } from "./slices.ts";
import { checkVersions } from "./versions.ts";
import { checkWebhooks } from "./webhooks.ts";

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
      ...checkCapacity(snapshot, devices),
      ...checkCounters(snapshot, devices),
      ...checkPublished(snapshot, devices),
    ];
  },
  checkAllocations,
  checkHealth,
  checkPods,
  checkPreparing,
  checkClaims,
  checkSlices,
  checkPublishers,
  checkRegistration,
  checkDriverPods,
  checkDriverReadiness,
  checkDriverSets,
  checkDevicePlugins,
  checkClasses,
  checkClassSelectors,
  checkMissingClasses,
  checkFields,
  checkServices,
  checkWebhooks,
  checkVersions,
];

/** Returns the findings of a check, and the objects that it cannot read. */
function findingsOf(check: (snapshot: Snapshot) => Finding[], snapshot: Snapshot): Readable<Finding[]> {
  return answerWithoutFaults(snapshot.world, (world) => check({ ...snapshot, world }));
}

/** Reports each object that some check cannot read, once. */
function unreadable(faults: readonly Fault[]): Finding[] {
  return [...Map.groupBy(faults, ({ label }) => label).values()].flatMap(([fault]) => {
    if (fault === undefined) return [];
    const { object, message } = fault;
    const evidence = [message, "the rules that read it are judged without it"];
    const fix = [kubectl("get", object, "-o", "yaml")];
    return finding("unreadable-object", object, "has values that cannot be read", { evidence, fix });
  });
}

/** Returns what is wrong by these rules. Pure: the same snapshot gives the same findings. */
export function diagnose(snapshot: Snapshot, wanted: ReadonlySet<RuleId>): Diagnosis {
  const notJudged = ruleIds.flatMap((rule): NotJudged[] => {
    if (!wanted.has(rule)) return [];
    const lacking = rules[rule].needs.filter((source) => !isKnown(source, snapshot));
    return lacking.length === 0 ? [] : [{ rule, why: lackText(lacking) }];
  });
  const silent = new Set(notJudged.map(({ rule }) => rule));
  const answers = checks.map((check) => findingsOf(check, snapshot));
  const findings = [
    ...answers.flatMap(({ answer }) => answer),
    ...unreadable(answers.flatMap(({ faults }) => faults)),
  ]
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

function isKnown(source: Source, { world, server }: Snapshot): boolean {
  if (source === "server") return server !== undefined;
  return world.isReadable(source);
}

function lackText(sources: readonly Source[]): string {
  const kinds = sources.filter((source) => source !== "server");
  return [
    ...(kinds.length === 0 ? [] : [`not all objects of kind ${kinds.join(", ")} can be read`]),
    ...(kinds.length === sources.length ? [] : ["there is no server to ask"]),
  ].join("; ");
}

/**
 * Returns the findings of both looks: a cluster that changes while it is read is inconsistent for a moment.
 */
export function confirmed(first: Diagnosis, second: Diagnosis): Diagnosis {
  const key = ({ rule, object }: Finding): string => `${rule} ${labelOfName(object)}`;
  const before = new Set(first.findings.map(key));
  return { ...second, findings: second.findings.filter((finding) => before.has(key(finding))) };
}
