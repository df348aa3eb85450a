/** Troubles of pods that have ended, that end again and again, or that are being deleted. */
import { type Draft, type Failure, type Manifest, pod, subjectClaim } from "../draft.ts";
import type { Trouble } from "./devices.ts";

const failures: readonly Failure[] = [
  { exitCode: 1, reason: "Error" },
  { exitCode: 137, reason: "OOMKilled" },
  { exitCode: 128, reason: "StartError" },
];

function fail({ random, facts, subject }: Draft, restartPolicy: string): boolean {
  subject.spec.restartPolicy = restartPolicy;
  return facts.failing.set("main", random.pick(failures)).size > 0;
}

function remove({ facts, subject }: Draft): boolean {
  return facts.deleted.add(subject.metadata.name).size > 0;
}

/** They come last: they change the subject and not the other pods of its group. */
export const endTroubles: Readonly<Record<string, Trouble>> = {
  "container fails": (draft) => fail(draft, "Never"),
  "container fails again and again": (draft) => fail(draft, "Always"),
  "time is up": ({ subject }) => {
    subject.spec.activeDeadlineSeconds = 60;
    return true;
  },
  "node evicts": ({ facts, subject }) => facts.evicted.add(subject.metadata.name).size > 0,
  "deleted, with a finalizer": (draft) => {
    draft.subject.metadata.finalizers = ["example.com/keep"];
    return remove(draft);
  },
  "deleted, and does not end": (draft) => draft.facts.stubborn.add("main").size > 0 && remove(draft),
  "deleted, and unprepare fails": (draft) => {
    for (const name of ["gpu", "nic", "part"])
      draft.facts.unprepareErrors.set(`${name}.example.com`, "device is stuck");
    draft.subject.metadata.finalizers = draft.random.chance(0.3) ? ["example.com/keep"] : [];
    return remove(draft);
  },
  "deleted on a node that is not ready": (draft) => {
    for (const node of draft.nodes) draft.facts.notReady.add(node);
    return remove(draft);
  },
  "put on a node by hand": (draft) => {
    // Another pod decides about the node of a claim that it shares.
    const isShared = draft.subject.spec.resourceClaims?.[0]?.resourceClaimName === "shared";
    if (isShared || subjectClaim(draft) === undefined || draft.subject.spec.schedulingGates !== undefined)
      return false;
    draft.subject.spec.nodeName = draft.random.pick(draft.nodes);
    return true;
  },
  "waits for victims": ({ random, objects, nodes, facts, subject }) => {
    const nodeName = random.pick(nodes);
    const containers = [{ name: "main", image: "main:v1", resources: { requests: { cpu: "5" } } }];
    const metadata = { finalizers: ["example.com/keep"] };
    const victim: Manifest = pod("victim", { containers, nodeName, priority: 0 }, metadata);
    objects.push(victim);
    facts.deleted.add("victim");
    const { resources } = subject.spec.containers[0];
    subject.spec.containers[0].resources = { ...resources, requests: { ...resources.requests, cpu: "5" } };
    subject.spec.nodeSelector = { "kubernetes.io/hostname": nodeName };
    subject.status = { nominatedNodeName: nodeName };
    return subject.spec.schedulingGroup === undefined;
  },
};
