/**
 * Single changes that might help, listed without asking `dray explain`: where it says that nothing helps,
 * none may.
 */
import type { Pod } from "@dray/api/core/v1";
import type { SimulatedCluster } from "./cluster.ts";
import type { Part } from "./doing.ts";
import type { Manifest, Stored } from "./draft.ts";

const amounts = ["5", "10", "20", "30", "40", "50", "60", "70", "80", "90"];

export function singleChanges(cluster: SimulatedCluster, subject: string): Part[] {
  const pod = cluster.find<Pod>("Pod", `default/${subject}`)!;
  const open = cluster.claimsOf(pod).filter(({ status }) => status?.allocation === undefined);
  return [
    ...open.flatMap(({ metadata, spec }) => ofClaim(cluster, `default/${metadata.name}`, spec as Manifest)),
    ...ofPod(cluster, pod),
    ...ofNodes(cluster, pod),
  ];
}

const part = (kind: Part["kind"], about: Part["about"]): Part => ({
  kind,
  text: `${kind} ${JSON.stringify(about)}`,
  about,
});

function taintsOf(cluster: SimulatedCluster): string[] {
  const slices = cluster.all<Stored>("ResourceSlice");
  const rules = cluster.all<Stored>("DeviceTaintRule").map(({ spec }) => spec.taint);
  const taints = slices.flatMap(({ spec }) =>
    (spec.devices ?? []).flatMap((each: Manifest) => each.taints ?? []),
  );
  return [...new Set([...taints, ...rules].map(taintText))];
}

const taintText = ({ key, value, effect }: Manifest): string => `${key}${value ? `=${value}` : ""}:${effect}`;

function ofClaim(cluster: SimulatedCluster, claim: string, { devices }: Manifest): Part[] {
  const bodies = (devices.requests as Manifest[]).flatMap(({ name, exactly, firstAvailable = [] }) => [
    ...(exactly === undefined ? [] : [{ request: name, body: exactly }]),
    ...firstAvailable.map((body: Manifest) => ({ request: `${name}/${body.name}`, body })),
  ]);
  const ofBody = ({ request, body }: { request: string; body: Manifest }): Part[] => {
    const at = { claim, request };
    const { count = 1, selectors = [], capacity, allocationMode } = body;
    const counts = allocationMode === "All" ? [] : Array.from({ length: Number(count) - 1 }, (_, i) => i + 1);
    return [
      ...taintsOf(cluster).map((taint) => part("toleration", { ...at, taint })),
      ...selectors.map(({ cel }: Manifest) => part("selector", { ...at, selector: cel.expression })),
      ...counts.map((fewer) => part("count", { ...at, count: fewer })),
      ...Object.entries(capacity?.requests ?? {}).flatMap(([key, asked]) =>
        amounts
          .filter((amount) => Number(amount) < Number(asked))
          .map((amount) => part("capacity", { ...at, capacity: key, amount })),
      ),
    ];
  };
  return [
    ...bodies.flatMap(ofBody),
    ...(devices.constraints ?? []).map(({ matchAttribute, distinctAttribute }: Manifest) =>
      part("constraint", {
        claim,
        ...(matchAttribute && { matchAttribute }),
        ...(distinctAttribute && { distinctAttribute }),
      }),
    ),
  ];
}

function ofPod(cluster: SimulatedCluster, { spec }: Pod): Part[] {
  const nodes = cluster.all<Stored>("Node");
  const taints = new Set(nodes.flatMap((node) => (node.spec.taints ?? []).map(taintText)));
  const kinds = (["podAffinity", "podAntiAffinity"] as const).filter(
    (kind) => spec.affinity?.[kind] !== undefined,
  );
  const [main] = spec.containers;
  const lower: Readonly<Record<string, readonly string[]>> = {
    cpu: ["100m", "1", "2", "4", "6"],
    memory: ["100Mi", "2Gi", "4Gi", "8Gi"],
    "example.com/gpu": ["1"],
  };
  const requests = Object.entries(main?.resources?.requests ?? {}).flatMap(([resource]) =>
    (lower[resource] ?? []).map((amount) =>
      part("requests", { requests: [`${main?.name}/${resource}=${amount}`] }),
    ),
  );
  return [
    ...[...taints].map((taint) => part("toleration", { taint })),
    ...(spec.nodeSelector || spec.affinity?.nodeAffinity ? [part("node-selector", {})] : []),
    ...kinds.map((kind) => part("affinity", { affinity: [kind] })),
    ...(spec.topologySpreadConstraints ? [part("spread", {})] : []),
    ...(main?.ports ? [part("host-port", { ports: ["8080/TCP"] })] : []),
    ...requests.filter(({ about }) => isLower(main as Manifest, about)),
  ];
}

/** Larger requests are left out: they never help. */
function isLower({ resources }: Manifest, { requests }: Part["about"]): boolean {
  const [, resource = "", amount = ""] = /\/(.+)=(.+)$/.exec((requests as string[])[0]!)!;
  const value = (text: string): number => {
    const [, digits = "0", unit = ""] = /^(\d+)(\w*)$/.exec(text) ?? [];
    return Number(digits) * ({ m: 0.001, Mi: 2 ** 20, Gi: 2 ** 30 }[unit] ?? 1);
  };
  return value(amount) < value(String(resources.requests[resource]));
}

function ofNodes(cluster: SimulatedCluster, subject: Pod): Part[] {
  const group = subject.spec.schedulingGroup?.podGroupName;
  const nodes = cluster.all<Stored>("Node");
  const pods = cluster
    .all<Pod>("Pod")
    .filter(
      (pod) =>
        pod.metadata.uid !== subject.metadata.uid &&
        pod.spec.nodeName &&
        (group === undefined || pod.spec.schedulingGroup?.podGroupName !== group),
    );
  const nameOf = ({ metadata }: Pod): string => `default/${metadata.name}`;
  const byNode = nodes.map(({ metadata }) =>
    pods.filter(({ spec }) => spec.nodeName === metadata.name).map(nameOf),
  );
  return [
    ...nodes.flatMap(({ metadata, spec }) =>
      spec.unschedulable ? [part("uncordon", { node: metadata.name })] : [],
    ),
    ...nodes.flatMap(({ metadata, spec }) =>
      (spec.taints ?? []).some(({ key }: Manifest) => key.startsWith("node.kubernetes.io/"))
        ? [part("node-ready", { node: metadata.name })]
        : [],
    ),
    ...cluster.all("DeviceTaintRule").map(({ metadata }) => part("taint-rule", { rule: metadata.name })),
    ...pods.map((pod) => part("pods", { pods: [nameOf(pod)] })),
    ...byNode.filter((names) => names.length > 1).map((names) => part("pods", { pods: names })),
    ...nodes.map(({ metadata }) => part("node", { like: metadata.name })),
  ];
}
