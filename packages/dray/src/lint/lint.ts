import type { Features } from "@dray/api";
import type { SchedulerConfiguration } from "@dray/scheduler";
import { checkDeviceExpression } from "../cel/check-device-expression.ts";
import { expressionsOf } from "../cel/expressions.ts";
import { type DecodeOptions, groupOf } from "../manifests/decode.ts";
import { type Draft, readAllDrafts } from "../manifests/documents.ts";
import { faultProblem } from "../manifests/fault-problem.ts";
import { awaitWithoutFaults } from "../manifests/faults.ts";
import type { Sources } from "../manifests/files.ts";
import { fleetGroup } from "../manifests/fleet-group.ts";
import { jsonText } from "../manifests/json-text.ts";
import { positionOf, positionText } from "../manifests/place.ts";
import { type Existing, inOrder } from "../manifests/read.ts";
import { updateProblems } from "../manifests/update.ts";
import { World, worldKind } from "../manifests/world.ts";
import type { TrialServer } from "../trial-server/server.ts";
import { checkAcceptance } from "./acceptance.ts";
import { checkAdminAccess } from "./admin-access.ts";
import { checkConfigurations } from "./configurations.ts";
import { checkDevices } from "./devices.ts";
import { type Finding, finding, fromProblem, unreadableFinding } from "./finding.ts";
import { checkPods } from "./pods.ts";
import { checkSlices } from "./pools.ts";
import { checkReferences } from "./references.ts";
import { checkServed, definedKinds, type Served } from "./served.ts";
import { type LintContext, type Subject, subjectOf, worldOf } from "./subjects.ts";

export interface LintInput {
  readonly sources: Sources;
  /** Objects of the cluster; undefined without one. */
  readonly cluster: Existing | undefined;
  /** The cluster runs: its lists are complete, but for kinds that are unreadable. */
  readonly isLive?: boolean;
  readonly served: Served;
  readonly options: DecodeOptions;
  /** The profiles of the scheduler; the default one if absent. */
  readonly configuration?: SchedulerConfiguration | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly server: TrialServer;
  /** Receives the progress. */
  readonly onProgress?: (text: string) => void;
}

export interface LintResult {
  /** In the order of the files, and from top to bottom. */
  readonly findings: readonly Finding[];
  readonly objects: number;
  /** Objects of custom kinds without a definition among the manifests. */
  readonly unchecked: readonly Subject[];
}

/** Finds manifests that would be rejected or would hang. */
export async function lint(input: LintInput): Promise<LintResult> {
  const { sources, cluster, served, options, server, now, onProgress = () => {} } = input;
  const { features } = options;
  const read = readAllDrafts(sources.sources, options.progress);
  const drafts = read.flatMap(({ drafts }) =>
    drafts.filter(({ apiVersion }) => groupOf(apiVersion) !== fleetGroup),
  );
  const { subjects, repeated } = distinct(
    drafts.map((draft, i) => {
      onProgress(`Reading the objects: ${i} of ${drafts.length}`);
      return subjectOf(draft, options);
    }),
  );
  const defined = definedKinds(subjects);
  const unserved = subjects.flatMap((subject) => {
    const answer = checkServed(subject, served, defined);
    return typeof answer === "string" ? [] : [answer];
  });
  const reported = new Set(unserved.map(({ object }) => object));
  const clusterWorld = new World(cluster?.objects ?? [], cluster?.unreadable);
  const context: LintContext = {
    features,
    subjects,
    world: worldOf(subjects, clusterWorld),
    cluster: clusterWorld,
    isLive: input.isLive ?? false,
    configuration: input.configuration,
    now,
  };
  const unasked: Subject[] = [];
  const { answer: ofWorld, faults } = await awaitWithoutFaults(context.world, (world) =>
    checkWorld({ ...context, world, subjects: subjectsIn(context, world) }, onProgress),
  );
  const findings = [
    ...sources.problems.map(fromProblem),
    ...read.flatMap(({ problems }) => problems.map(fromProblem)),
    ...repeated,
    ...unserved,
    ...faults.map((fault) => fromProblem(faultProblem(context.world, fault))),
    ...subjects.flatMap((subject) =>
      guarded(subject, () => [
        ...subject.problems.filter(({ rule }) => rule !== "unserved-version").map(fromProblem),
        ...droppedFields(subject, features),
        ...suspicions(subject, options),
        ...changes(subject, context, options),
      ]),
    ),
    // Versions that are not served are another finding.
    ...(await checkAcceptance(context, server, unasked, onProgress)).filter(
      ({ rule, object }) => rule !== "deprecated-version" || !reported.has(object),
    ),
    ...ofWorld,
  ];
  const files = sources.sources.map(({ file }) => file);
  return {
    findings: inOrder(withoutFollowUps(withoutRepetitions(findings)), files),
    objects: subjects.length,
    unchecked: unasked.filter(({ label }) => !reported.has(label)),
  };
}

/** Checks the manifests together with the other objects of the world. */
async function checkWorld(context: LintContext, onProgress: (text: string) => void): Promise<Finding[]> {
  onProgress("Looking for devices");
  const devices = checkDevices(context);
  const blamed = new Set(
    devices.flatMap(({ object, severity }) => (severity === "error" ? (object ?? []) : [])),
  );
  return [
    ...checkReferences(context),
    ...checkAdminAccess(context),
    ...checkConfigurations(context),
    ...devices,
    ...(await checkPods(context, blamed, onProgress)),
    ...checkSlices(context),
  ];
}

/** Returns the manifests without those whose objects a world lacks. */
function subjectsIn({ subjects, world: whole }: LintContext, world: World): readonly Subject[] {
  const left = new Set(world.objects);
  return subjects.filter(({ decoded }) => {
    const located = decoded && whole.located(decoded.object);
    return located === undefined || left.has(located);
  });
}

/** Runs the checks of one manifest. An exception is a finding about it, and does not end the others. */
function guarded(subject: Subject, check: () => Finding[]): Finding[] {
  try {
    return check();
  } catch (error) {
    return [unreadableFinding(subject, error)];
  }
}

/** Returns the manifests, each object once; of different ones the first counts. */
function distinct(all: readonly Subject[]): { subjects: readonly Subject[]; repeated: readonly Finding[] } {
  const seen = new Map<string, Subject>();
  const repeated: Finding[] = [];
  for (const subject of all) {
    const { draft, label, place } = subject;
    const named = typeof (draft.tree["metadata"] as { name?: unknown } | null | undefined)?.name === "string";
    const key = named ? `${groupless(draft)} ${label}` : positionText(positionOf(place));
    const first = seen.get(key);
    if (first === undefined) seen.set(key, subject);
    else if (jsonText(first.draft.tree) !== jsonText(draft.tree)) {
      const message = `was given before, and differs: ${positionText(positionOf(first.place))}`;
      repeated.push(finding("duplicate-object", subject, "", { message }));
    }
  }
  return { subjects: [...seen.values()], repeated };
}

const groupless = ({ apiVersion }: Draft): string =>
  apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";

function droppedFields(subject: Subject, { version }: Features): Finding[] {
  return (subject.decoded?.dropped ?? []).map(({ path, gates }) => {
    const what = gates.length === 1 ? `feature gate ${gates[0]} is` : `feature gates ${gates.join(", ")} are`;
    return finding("dropped-field", subject, path, {
      message: `Kubernetes ${version} drops this field: its ${what} off`,
    });
  });
}

/** Warns about expressions that compile but are probably mistakes. */
function suspicions({ draft, ...subject }: Subject, { features, namespace }: DecodeOptions): Finding[] {
  return expressionsOf(draft, namespace).flatMap(({ path, kind, expression, fresh }) => {
    // The server reports everything about other expressions.
    if (kind !== "selector" && kind !== "attribute") return [];
    const verdict = checkDeviceExpression(expression, features, fresh, kind);
    const warnings = verdict.valid ? verdict.warnings : [];
    return warnings.map((warning) => finding("suspicious-selector", subject, path, { message: warning }));
  });
}

/** Returns changes of existing objects that the API server rejects. */
function changes(
  { decoded, draft, stored }: Subject,
  { cluster }: LintContext,
  options: DecodeOptions,
): Finding[] {
  if (decoded === undefined || stored || worldKind(draft) === undefined) return [];
  return updateProblems(decoded, cluster, options).map(fromProblem);
}

/** Words of the server about a field that is missing. */
const isMissing = /Required value|must specify (?:exactly )?one of|is required/;

/** A field that stands in the wrong place is missing in the right one: that it is there is one mistake. */
function withoutFollowUps(findings: readonly Finding[]): Finding[] {
  const misplaced = findings.flatMap(({ rule, object, path = "", hints }) => {
    const [target] = hints.flatMap((hint) =>
      / has this field, /.test(hint) ? path : (/ belongs? (?:at|in) ([^\s]+)/.exec(hint)?.[1] ?? []),
    );
    const parent = path.slice(0, Math.max(0, path.lastIndexOf(".")));
    return rule === "unknown-field" && target !== undefined ? [{ object, parent, target }] : [];
  });
  const isFollowUp = ({ rule, object, path = "", message }: Finding): boolean =>
    rule === "invalid" &&
    isMissing.test(message) &&
    misplaced.some(
      (each) =>
        each.object === object &&
        (path === each.parent ||
          (path.startsWith(`${each.parent}.`) && `${each.target}.`.startsWith(`${path}.`))),
    );
  return findings.filter((each) => !isFollowUp(each));
}

/** Reading and the server may report the same problem. */
function withoutRepetitions(findings: readonly Finding[]): Finding[] {
  const seen = new Set<string>();
  return findings.filter(({ rule, file, document, item, object, path, message }) => {
    const key = jsonText([rule, file, document, item, object, path, message]);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}
