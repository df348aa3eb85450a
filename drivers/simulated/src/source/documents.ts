import { JSONError, parseJSONTree, type TextNotes } from "@dray/api/codec";
import { lineFinder, parseYAMLDocuments, YAMLError } from "@dray/api/yaml";
import { collect, FleetError, Value } from "./value.ts";

/** A text with a fleet. */
export interface FleetSource {
  /** As errors name it. */
  readonly file: string;
  /** YAML with any number of documents, or JSON. */
  readonly text: string;
}

export const fleetVersion = "dray.dev/v1alpha1";

/** All objects of a text, those of lists one by one. */
export function documents({ file, text }: FleetSource): Value[] {
  const fail = (message: string, line?: number): never => {
    throw new FleetError([{ file, path: "", message, ...(line !== undefined && { line }) }]);
  };
  const lineOf = lineFinder(text);
  let trees: { readonly value: unknown; readonly document: number; readonly notes?: TextNotes }[];
  try {
    if (file.endsWith(".json")) trees = [{ ...parseJSONTree(text), document: 1 }];
    else {
      const read = parseYAMLDocuments(text);
      const [duplicate] = read.flatMap(({ duplicates }) => duplicates);
      const [, line, message = duplicate] = /^line (\d+): (.*)$/s.exec(duplicate ?? "") ?? [];
      if (message !== undefined) return fail(message, line === undefined ? undefined : Number(line));
      trees = read;
    }
  } catch (error) {
    if (error instanceof JSONError)
      return fail(`is not JSON: ${error.message}`, text.slice(0, error.at).split("\n").length);
    if (!(error instanceof YAMLError)) throw error;
    return fail(`is not YAML: ${error.message.replace(/^yaml: (?:line \d+: )?/, "")}`, error.line);
  }
  return trees.flatMap(({ value, document, notes }) =>
    objectsOf(new Value({ file, lineOf: (path) => lineOf(document, path), notes }, "", value)),
  );
}

function objectsOf(value: Value, listKind?: { readonly apiVersion: string; readonly kind: string }): Value[] {
  const tree = value.object();
  const own = { ...listKind, ...tree };
  const kind = value.with(own).at("kind").text("the kind of an object, such as Fleet or ResourceSlice");
  const apiVersion = value.with(own).at("apiVersion").text(`an API version, such as ${fleetVersion}`);
  if (!kind.endsWith("List") || !("items" in tree)) return [value.with(own)];
  // A list of the API names the kind of its items only once.
  const itemKind = kind === "List" ? undefined : { apiVersion, kind: kind.slice(0, -"List".length) };
  return value
    .at("items")
    .list((item) => objectsOf(item, itemKind))
    .flat();
}

/** The objects of a fleet by their kind. */
export interface Kinds {
  readonly fleets: readonly Value[];
  readonly slices: readonly Value[];
  readonly nodes: readonly Value[];
  readonly classes: readonly Value[];
}

export function sortKinds(objects: readonly Value[], notes: string[]): Kinds {
  const kinds = {
    fleets: [] as Value[],
    slices: [] as Value[],
    nodes: [] as Value[],
    classes: [] as Value[],
  };
  const aside = new Map<string, number>();
  collect(objects, (object) => {
    const { apiVersion, kind } = object.object() as { apiVersion: string; kind: string };
    const group = apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
    if (group === "dray.dev") {
      object.at("apiVersion").oneOf([fleetVersion]);
      object.at("kind").oneOf(["Fleet"]);
      kinds.fleets.push(object);
    } else if (group === "resource.k8s.io" && kind === "ResourceSlice") kinds.slices.push(object);
    else if (group === "resource.k8s.io" && kind === "DeviceClass") kinds.classes.push(object);
    else if (apiVersion === "v1" && kind === "Node") kinds.nodes.push(object);
    else {
      const key = `${object.origin.file}: ${kind} (${apiVersion})`;
      aside.set(key, (aside.get(key) ?? 0) + 1);
    }
  });
  for (const [what, count] of aside)
    notes.push(`${what} is left aside: ${count === 1 ? "1 object" : `${count} objects`}`);
  return kinds;
}
