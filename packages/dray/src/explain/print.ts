import { humanDuration } from "@dray/api";
import { reasonLines, requestLines } from "../plan/reason.ts";
import { facts, plainFormat, type TableFormat, table } from "../text/table.ts";
import { counted, names } from "../text/words.ts";
import {
  type AllocatedDevice,
  type ChangeKind,
  type ClaimData,
  type Explained,
  maxRivals,
  type NodeData,
  type PlacementData,
  type Wait,
} from "./data.ts";

/** Maximum number of printed changes, and of devices. */
const maxChanges = 6;
const maxDevices = 20;

/** Formats one screen, the most important part first. */
export function explainText(explained: Explained, now: number, format: TableFormat = plainFormat): string {
  const { summary, waits, placement, claims, devices, headroom } = explained;
  const blocks = [
    [
      `${summary[0]?.toUpperCase() ?? ""}${summary.slice(1)}${waits.length === 1 ? sinceText(waits[0]!.since, now) : ""}`,
    ],
    waitLines(waits, now),
    placement === null ? [] : placementLines(placement, waits),
    claims.filter(isShown).flatMap(claimLines),
    factLines(explained.facts, format),
    evictionLines(explained, format),
    deviceLines(devices, explained.kind === "Device" ? explained.name : "", format),
    headroomLines(headroom),
  ];
  return blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.map((line) => `${line.trimEnd()}\n`).join(""))
    .join("\n");
}

/** Only claims with devices: for the others the nodes explain all. */
const isShown = ({ podClaim, devices }: ClaimData): boolean => podClaim === null || devices.length > 0;

/** Formats the waits. The summary has the first one, which is repeated only if there are others. */
function waitLines(waits: readonly Wait[], now: number): string[] {
  if (waits.length < 2) return [];
  const lines = waits.map(({ for: what, message, object, since }) => {
    const about = object === null || message.includes(object.split(" ")[1] ?? object) ? "" : ` [${object}]`;
    return `  ${what}: ${message}${about}${sinceText(since, now)}`;
  });
  return ["It waits for", ...lines];
}

function sinceText(since: string | null, now: number): string {
  const age = since === null ? Number.NaN : now - Date.parse(since);
  return Number.isNaN(age) || age < 0 ? "" : ` (for ${humanDuration(age)})`;
}

function placementLines(placement: PlacementData, waits: readonly Wait[]): string[] {
  const { fits, message, nodes, refusals, promising, blockedBy, changes, tried, triedKinds } = placement;
  if (fits !== null) return fitsLines(fits, waits);
  if (refusals.length === 0 && tried === 0) return [];
  const said = message ?? "";
  const overview = refusals.map(({ claims: _, ...refusal }) => refusal);
  const [best] = promising;
  const whose = blockedBy === null ? "it" : `pod ${blockedBy} of its group`;
  return [
    `Nodes: none of ${nodes} can take ${whose}`,
    ...(overview.length > 1
      ? reasonLines({ nodes, refusals: overview }, said).map((line) => `  ${line}`)
      : []),
    ...(best === undefined ? [] : bestLines(best, promising.slice(1), nodes)),
    ...changeLines(changes, tried, triedKinds),
    ...emptyNodeLines(placement.emptyNode, best),
  ];
}

/** The scheduler's words count where it sees more than the trial. */
function fitsLines(fits: string, waits: readonly Wait[]): string[] {
  if (waits.length === 0) return [];
  if (waits.some(({ for: what }) => what === "scheduler"))
    return [
      `As far as can be read it would fit on node ${fits} now: the scheduler has not tried it since, or knows more`,
    ];
  if (waits.some(({ for: what }) => what === "volume"))
    return [`Apart from its volumes it would fit on node ${fits}`];
  return [`Otherwise it would fit on node ${fits}`];
}

/** Nodes without any device of the class lack it all: none of them lacks least. */
function bestLines(best: NodeData, others: readonly NodeData[], nodes: number): string[] {
  const lines = [...shortageLines(best), ...nodeLines(best)];
  if (lines.length === 0) return [];
  const title =
    nodes === 1
      ? `Node ${best.node}`
      : hasClass(best)
        ? `Node ${best.node} lacks least${others.length > 0 ? ` (then ${names(others.map(({ node }) => node))}; -o json has all)` : ""}`
        : `No node has a device of each class that it requests. Node ${best.node}, for example`;
  return [title, ...lines];
}

/** Reports whether the node has a device for each request, suitable or not. */
const hasClass = ({ claims }: NodeData): boolean =>
  claims.every(({ requests }) =>
    requests.some(
      ({ suitable, refused }) => suitable > 0 || refused.some(({ check }) => check !== "class-selector"),
    ),
  );

function shortageLines({ shortages }: NodeData): string[] {
  return shortages.map(({ resource, asked, left, total, holders }) =>
    holders === undefined
      ? `  ${resource}: ${asked} asked, ${left} left of ${total}`
      : `  ${resource}: in use by ${podsText(holders)}`,
  );
}

/** Reasons that were printed of the best node are not repeated. */
function emptyNodeLines(empty: PlacementData["emptyNode"], best: NodeData | undefined): string[] {
  if (empty === null) return [];
  const { node, reasons } = empty;
  const lines = [...shortageLines(empty), ...nodeLines(empty)];
  const known = best === undefined ? [] : [...shortageLines(best), ...nodeLines(best)];
  if (lines.length > 0 && lines.join("\n") === known.join("\n"))
    return [`An empty node like ${node} would not take it either`];
  return [`An empty node like ${node} would not take it either: ${reasons.join(", ")}`, ...lines];
}

/** Formats each refused device with its holder. Requests that the node can serve are left out. */
function nodeLines({ claims }: NodeData): string[] {
  return claims.flatMap(({ claim, requests }) =>
    requests.flatMap(({ refused, ...request }) => {
      const { suitable, wanted, exactWanted } = request;
      if (refused.length === 0 && exactWanted === undefined && suitable >= wanted) return [];
      const groups = refused.map(({ pods = [], rules = [], ...group }) => ({
        ...group,
        cause: pods.length === 0 ? group.cause : `${group.cause} of ${podsText(pods)}`,
        nodes: 1,
        ...(rules.length > 0 && { rules }),
      }));
      return requestLines(claim, { ...request, mostOnOneNode: request.suitable, refused: groups }, 1).map(
        (line) =>
          line
            .slice(2)
            .replace("the nodes can reach", "the node can reach")
            .replace(/^( +\d+) on 1 node:/, "$1"),
      );
    }),
  );
}

const podsText = (pods: readonly string[]): string => `${pods.length === 1 ? "pod" : "pods"} ${names(pods)}`;

const changeWords: Readonly<Record<ChangeKind, string>> = {
  toleration: "a toleration",
  selector: "one selector less",
  constraint: "one constraint less",
  capacity: "less capacity",
  count: "fewer devices",
  uncordon: "an uncordoned node",
  "node-ready": "a node that is ready again",
  "node-selector": "no node selector",
  device: "more devices on a node",
  pods: "the end of other pods",
  node: "one more node",
  "class-selector": "another selector of the class",
  "taint-rule": "one DeviceTaintRule less",
  affinity: "no pod affinity",
  spread: "no strict topology spread",
  requests: "lower requests",
  "host-port": "no host port",
  several: "several of these together",
};

function changeLines(
  changes: PlacementData["changes"],
  tried: number,
  triedKinds: PlacementData["triedKinds"],
): string[] {
  if (tried === 0) return [];
  if (changes.length === 0) {
    const kinds = triedKinds.map((kind) => changeWords[kind]).join(", ");
    return [`None of these would help (${counted(tried, "change")} tried): ${kinds}`];
  }
  const shown = changes.slice(0, maxChanges);
  const rest = changes.length - shown.length;
  return [
    `Any of these would help (${counted(tried, "change")} tried)`,
    ...shown.map(({ text, node, rivals }) => `  ${text}: it lands on ${node}${rivalsText(rivals)}`),
    ...(rest === 0 ? [] : [`  and ${rest} more (-o json has all)`]),
  ];
}

function rivalsText(rivals: readonly string[]): string {
  if (rivals.length === 0) return "";
  const [first] = rivals;
  const others = rivals.length - 1;
  const least = rivals.length >= maxRivals ? "at least " : "";
  const more = others === 0 ? "" : ` and ${least}${counted(others, "other")}`;
  return `, unless a waiting pod of the same priority gets it first (${first}${more})`;
}

function claimLines(data: ClaimData): string[] {
  const { claim, podClaim, template, state, devices, reservedFor, configuration, prepared } = data;
  const from = template === null ? "" : `, from template ${template}`;
  const own = podClaim === null ? "" : ` (${podClaim} of the pod${from})`;
  const users = podClaim !== null || reservedFor.length === 0 ? "" : ` for ${names(reservedFor)}`;
  return [
    `Claim ${claim}${own}: ${state}${users}`,
    ...devices.map(allocatedText),
    ...configuration.map(
      ({ source, requests, driver, parameters }) =>
        `  configuration ${source === "FromClass" ? "of the class" : "of the claim"} for ${driver}${requests.length === 0 ? "" : ` (${requests.join(", ")})`}: ${JSON.stringify(parameters)}`,
    ),
    ...prepared.map(
      ({ container, resource, health, message }) =>
        `  container ${container} has ${resource}, health ${health}${message === null ? "" : `: ${message}`}`,
    ),
  ];
}

function allocatedText(device: AllocatedDevice): string {
  const { device: id, request, alternative, deviceClass, adminAccess, consumedCapacity, health } = device;
  const from =
    alternative === null
      ? `request ${request}`
      : `request ${request} (alternative ${alternative.rank} of ${alternative.of})`;
  const amounts = Object.entries(consumedCapacity ?? {}).map(([key, amount]) => `${amount} of ${key}`);
  const conditions = device.conditions.map(({ type, status, message }) => {
    return `${type}=${status}${message === "" ? "" : ` (${message})`}`;
  });
  const remarks = [
    ...(device.isPublished ? [] : ["no slice publishes it any more"]),
    ...(adminAccess ? ["admin access"] : []),
    ...amounts,
    ...(health === null ? [] : [`health ${health}`]),
    ...device.taints.map((taint) => `tainted ${taint}`),
    ...conditions,
    ...(device.network === null ? [] : [`network ${device.network}`]),
    ...(device.data === null ? [] : [`data ${JSON.stringify(device.data)}`]),
  ];
  const of = deviceClass === null ? "" : `, class ${deviceClass}`;
  return `  ${id}: ${from}${of}${remarks.length === 0 ? "" : `; ${remarks.join("; ")}`}`;
}

function factLines(list: Explained["facts"], format: TableFormat): string[] {
  if (list.length === 0) return [];
  return facts(
    list.map(({ name, value }) => [name, value]),
    format,
  )
    .trimEnd()
    .split("\n");
}

function deviceLines(devices: Explained["devices"], self: string, format: TableFormat): string[] {
  const others = devices.filter(({ device }) => device !== self);
  if (others.length === 0) return [];
  const shown = others.slice(0, maxDevices);
  const rows = shown.map(({ device, state, heldBy, reason }) => [
    device,
    state,
    heldBy.map(({ claim }) => claim).join(", ") || "-",
    state === "allocated" ? "-" : (reason ?? "-"),
  ]);
  const rest = others.length - shown.length;
  return [
    ...(self === "" ? [] : ["It shares counters with"]),
    ...table(
      [
        { title: "DEVICE", wraps: true },
        "STATE",
        { title: "HELD BY", wraps: true },
        { title: "REMARK", wraps: true },
      ],
      rows,
      format,
    )
      .trimEnd()
      .split("\n"),
    ...(rest === 0 ? [] : [`and ${counted(rest, "more device")} (-o json has all)`]),
  ];
}

function evictionLines({ kind, state, evictions = [] }: Explained, format: TableFormat): string[] {
  if (kind !== "DeviceTaintRule") return [];
  if (evictions.length === 0) return ["No pod has one of these devices."];
  const rows = evictions.map(({ pod, node, devices, claims, until, toleratedSeconds }) => [
    pod,
    node,
    until === null
      ? "never: tolerated"
      : toleratedSeconds === 0
        ? "at once"
        : `at ${until.replace(".000Z", "Z")} (tolerated ${toleratedSeconds}s)`,
    devices.join(", "),
    claims.join(", "),
  ]);
  return [
    state === "evicts" ? "Pods with these devices" : "Pods with these devices, with effect NoExecute",
    ...table(
      ["POD", "NODE", "GOES", { title: "DEVICES", wraps: true }, { title: "CLAIMS", drop: 1 }],
      rows,
      format,
    )
      .trimEnd()
      .split("\n"),
  ];
}

function headroomLines(headroom: Explained["headroom"]): string[] {
  const parts = Object.entries(headroom).map(([name, room]) => {
    const count = room === null ? "any number" : `${room.isLowerBound ? "at least " : ""}${room.count}`;
    return `${name} ${count}`;
  });
  return parts.length === 0 ? [] : [`More devices that fit: ${parts.join(", ")}`];
}
