import { podSpecsOf } from "@dray/api/pod";
import { createOfflineScheduler } from "@dray/scheduler";
import { uidOf } from "../manifests/decode.ts";
import { World } from "../manifests/world.ts";
import { explainError, explainRefusal } from "../plan/explain.ts";
import { preparePods } from "../plan/plan.ts";
import { reasonLines } from "../plan/reason.ts";
import { isBound } from "../plan/units.ts";
import { type Finding, finding } from "./finding.ts";
import { type LintContext, objectOf, type Subject } from "./subjects.ts";

/** Workloads whose pods may go to any node; the pods of a DaemonSet are bound to theirs. */
const anywhere: ReadonlySet<string> = new Set(["Pod", "Deployment", "ReplicaSet", "StatefulSet", "Job"]);

/**
 * Finds pods that do not fit into an empty cluster of the given nodes, with all their room and devices.
 * `blamed`: objects with findings that keep their pods off every node; their pods are skipped.
 */
export async function checkPods(
  context: LintContext,
  blamed: ReadonlySet<string>,
  onProgress: (text: string) => void,
): Promise<Finding[]> {
  const { world, features, configuration, now } = context;
  const nodes = world.all("Node").map(({ object }) => object);
  const subjects = context.subjects.filter(
    (subject) => anywhere.has(subject.draft.kind) && !subject.stored && !usesBlamed(subject, blamed),
  );
  if (nodes.length === 0 || subjects.length === 0) return [];
  let ids = 0;
  const scheduler = createOfflineScheduler({
    features,
    configuration,
    now,
    newId: () => uidOf("share", undefined, String(ids++)),
  });
  const kinds = ["Namespace", "DeviceClass", "DeviceTaintRule", "ResourceSlice", "Node"] as const;
  for (const { object } of world.all(...kinds)) scheduler.add(object);
  // One pod of each, and its claims without devices.
  const alone = new World([
    ...world.all("Node", "ResourceClaimTemplate", "PriorityClass"),
    ...world.all("ResourceClaim").map(({ object: { status: _, ...object }, place }) => ({ object, place })),
    ...subjects.flatMap(({ decoded }) => (decoded === undefined ? [] : [decoded])),
  ]);
  const { pods, claims } = preparePods(alone, { features, now });
  for (const claim of claims) scheduler.add(claim);
  const names = nodes.map(({ metadata }) => metadata.name).toSorted();
  const byLabel = new Map(subjects.map((subject) => [subject.label, subject]));
  const seen = new Set<string>();
  const findings: Finding[] = [];
  for (const { object: pod, origin, path, refusal } of pods) {
    const subject = byLabel.get(origin);
    if (subject === undefined || seen.has(origin) || refusal !== undefined || isBound(pod)) continue;
    seen.add(origin);
    onProgress(`Looking for nodes: ${seen.size} of ${subjects.length}`);
    const placement = await scheduler.preview(pod);
    // Missing claims, and claims that fail on every node, are other findings; claims for extended resources
    // are only found here.
    if (placement.type !== "refused" && placement.type !== "error") continue;
    if (placement.type === "error" && (pod.spec.resourceClaims ?? []).length > 0) continue;
    if (/does not exist/.test(placement.message)) continue;
    const explain = (node: string) => scheduler.explain(pod, node);
    const explanation =
      placement.type === "error"
        ? explainError(placement.message, names, explain)
        : explainRefusal(placement, names, explain);
    findings.push(
      finding("pod-never-fits", subject, path, {
        message: `no node takes the pod, even an empty one: ${placement.message}`,
        details: reasonLines(explanation, placement.message).map((line) => line.trim()),
      }),
    );
  }
  return findings;
}

function usesBlamed(subject: Subject, blamed: ReadonlySet<string>): boolean {
  const object = objectOf(subject);
  if (object === undefined || blamed.has(subject.label)) return true;
  return podSpecsOf(object).some(({ spec }) =>
    (spec.resourceClaims ?? []).some(({ resourceClaimName: claim, resourceClaimTemplateName: template }) =>
      claim === undefined
        ? blamed.has(`ResourceClaimTemplate ${subject.namespace}/${template}`)
        : blamed.has(`ResourceClaim ${subject.namespace}/${claim}`),
    ),
  );
}
