import { encodeJSON, type Features } from "@dray/api";
import type { Fleet } from "@dray/driver-simulated";
import { uidOf } from "./decode.ts";
import { readAllDrafts } from "./documents.ts";
import type { Sources } from "./files.ts";
import { fleetGroup } from "./fleet-group.ts";
import type { Located } from "./place.ts";
import type { Problem } from "./problem.ts";
import type { Source } from "./source.ts";

const isFleetJSON = (text: string): boolean => /^\s*\{[^{[]*"apiVersion":\s*"dray\.dev\//.test(text);
const isFleetYAML = (part: string): boolean => /^apiVersion:\s*["']?dray\.dev\//m.test(part);

/** Returns the text with only its Fleet documents, each in its lines; undefined without any. */
function fleetText(text: string): string | undefined {
  if (text.trimStart().startsWith("{")) return isFleetJSON(text) ? text : undefined;
  if (!text.includes(`${fleetGroup}/`)) return undefined;
  const parts = text.split(/^(?=---(?:\s|$))/m);
  if (!parts.some(isFleetYAML)) return undefined;
  return parts.map((part) => (isFleetYAML(part) ? part : part.replaceAll(/[^\n]+/g, ""))).join("");
}

/**
 * Adds the objects that the Fleet documents among the sources (docs/fleet.md) describe: Nodes with their
 * labels and capacity, the ResourceSlices of their drivers, and DeviceClasses. Patterns apply to the other
 * Nodes of the sources and of `existing`, too. An object that is among them already stays as it is.
 */
export async function withFleets(
  given: Sources,
  features: Features,
  existing: readonly Located[] = [],
): Promise<Sources> {
  const fleets = given.sources.flatMap(({ file, text }) => {
    const own = fleetText(text);
    return own === undefined ? [] : [{ file, text: own }];
  });
  if (fleets.length === 0) return given;
  const { FleetError, readFleet } = await import("@dray/driver-simulated");
  let fleet: Fleet;
  try {
    fleet = readFleet(fleets, { features });
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    const problems = error.problems.map(({ file, line, path, message }): Problem => {
      const at = { file, ...(line !== undefined && { line }), ...(path !== "" && { path }) };
      return { rule: "invalid", ...at, object: "Fleet", message };
    });
    return { ...given, problems: [...given.problems, ...problems] };
  }
  const file = fleets.map((each) => each.file).join(", ");
  const items = await objectsOf(fleet, namesOf(given.sources, existing));
  return { ...given, sources: [...given.sources, sourceOfObjects(file, items)] };
}

/** Names of objects, by kind. */
type Names = (kind: string) => ReadonlySet<string>;

function namesOf(sources: readonly Source[], existing: readonly Located[]): Names {
  const names = new Map<string, Set<string>>();
  const add = (kind: string, name: unknown): void => {
    if (typeof name !== "string") return;
    const known = names.get(kind) ?? new Set();
    names.set(kind, known.add(name));
  };
  for (const { drafts } of readAllDrafts(sources))
    for (const { kind, tree } of drafts)
      add(kind, (tree["metadata"] as { name?: unknown } | null | undefined)?.name);
  for (const { object } of existing) add(object.kind, object.metadata.name);
  return (kind) => names.get(kind) ?? new Set();
}

async function objectsOf(fleet: Fleet, names: Names): Promise<readonly object[]> {
  const [{ fleetObjects }, { defaultCapacity, nodeLabels }] = await Promise.all([
    import("@dray/driver-simulated"),
    import("@dray/kubelet/simulated"),
  ]);
  const all = new Set([...fleet.nodes.map(({ name }) => name), ...names("Node")]);
  const { deviceClasses, slices } = fleetObjects(fleet, [...all]);
  const nodes = fleet.nodes.map(({ name, labels: own, capacity: given, simulated }) => {
    const { "dray.dev/simulated": mark, ...labels } = nodeLabels({ name, labels: own });
    const capacity = { ...defaultCapacity, ...given };
    return {
      metadata: { name, labels: { ...labels, ...(simulated && { "dray.dev/simulated": mark }) } },
      status: { capacity, allocatable: capacity },
    };
  });
  const resource = "resource.k8s.io/v1";
  const objects = [
    ...nodes.map((object) => ({ apiVersion: "v1", kind: "Node", ...object })),
    ...slices.map((object) => ({ apiVersion: resource, kind: "ResourceSlice", ...object })),
    ...deviceClasses.map((object) => ({ apiVersion: resource, kind: "DeviceClass", ...object })),
  ];
  return objects
    .filter(({ kind, metadata }) => !names(kind).has(metadata?.name ?? ""))
    .map(({ metadata, ...object }) => ({
      ...object,
      // As stored: the fleet was checked as a whole.
      metadata: { ...metadata, uid: uidOf(object.kind, undefined, metadata?.name) },
    }));
}

const sourceOfObjects = (file: string, items: readonly object[]): Source => ({
  file,
  text: encodeJSON({ apiVersion: "v1", kind: "List", items }),
  // The objects have no lines of their own in the file.
  lineOf: () => undefined,
});
