import { type KubeObject, qualifiedName, quoted } from "@dray/api";

const standard = new Set(["orphan", "foregroundDeletion", "kubernetes"]);

/** Returns the warnings for the names of new finalizers. */
export function finalizerWarnings(object: KubeObject, old: KubeObject | undefined): string[] {
  const known = new Set(old?.metadata.finalizers ?? []);
  const added = (object.metadata.finalizers ?? []).filter((name) => !known.has(name));
  return [...new Set(added)].sort().flatMap((name) => {
    const shown = `metadata.finalizers: ${quoted(name)}`;
    const texts = qualifiedName(name).map((problem) => `${shown}: ${problem}`);
    if (name.includes("/") || standard.has(name)) return texts;
    const path = name.includes(".") ? " including a path (/)" : "";
    return [
      ...texts,
      `${shown}: prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`,
    ];
  });
}
