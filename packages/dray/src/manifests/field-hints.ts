import { kubernetesVersions } from "@dray/api";
import { decodeBody, type Field, type FieldType, type StructType, structType } from "@dray/api/codec";
import type { KindRow } from "@dray/api/schema";
import { didYouMean } from "../text/similar.ts";

/** Suggestion for an unknown field: a field of another release, or the correct spelling. */
export function fieldHints(
  row: KindRow,
  tree: Readonly<Record<string, unknown>>,
  path: string,
  version: string,
): string[] {
  const unknown = `unknown field ${JSON.stringify(path)}`;
  const known = kubernetesVersions.filter((release) => !problemsIn(row, tree, release).includes(unknown));
  const [first] = known;
  if (first !== undefined) {
    const releases = first > version ? `${first} and newer` : `${known.at(-1)} and older`;
    return [`Kubernetes ${version} does not have this field; ${releases} do`];
  }
  const meant = meantBy(structType(row.type), path);
  return meant === undefined ? [] : [meant];
}

function problemsIn(
  row: KindRow,
  tree: Readonly<Record<string, unknown>>,
  release: string,
): readonly string[] {
  return decodeBody({ tree, duplicates: [], typed: false }, row, release).problems;
}

/** `did you mean x?`, from the fields of the struct that lacks the last part of the path. */
function meantBy(type: StructType, path: string): string | undefined {
  let fields: ReadonlyMap<string, Field> = type.fields;
  let rest = path;
  for (;;) {
    const name = rest.slice(0, rest.search(/[.[]|$/));
    const field = fields.get(name);
    if (field === undefined) return rest === name ? didYouMean(name, fields.keys()) : undefined;
    let { type: inner }: { type: FieldType } = field;
    rest = rest.slice(name.length);
    while (inner.form === "list" || inner.form === "map") {
      const step = inner.form === "list" ? /^\[\d+\]/.exec(rest) : /^\.[^.[]*/.exec(rest);
      if (step === null) return undefined;
      rest = rest.slice(step[0].length);
      inner = inner.form === "list" ? inner.element : inner.value;
    }
    if (inner.form !== "struct") return undefined;
    fields = inner.struct.fields;
    rest = rest.replace(/^\./, "");
  }
}
