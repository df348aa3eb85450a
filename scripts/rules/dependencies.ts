import { dynamicImports, type Finding, type Source } from "./source.ts";

/** A package.json. */
export interface Manifest {
  /** Relative to the repository: `""` for its root. */
  readonly folder: string;
  readonly name: string;
  readonly dependencies: readonly string[];
}

/**
 * A file imports only packages that the nearest package.json names, and a package.json of a package names
 * only packages that a file below it imports. The package.json of the repository names the packages for tests
 * of all. It is not checked for unused ones: it names programs, too.
 */
export function dependencies(sources: readonly Source[], manifests: readonly Manifest[]): Finding[] {
  const nearestFirst = manifests.toSorted((a, b) => b.folder.length - a.folder.length);
  const imported = new Map<Manifest, Set<string>>(manifests.map((manifest) => [manifest, new Set()]));
  const root = manifests.find(({ folder }) => folder === "");
  // npm links every package of the workspace into the node_modules of the repository.
  const workspace = new Set([...(root?.dependencies ?? []), ...manifests.map(({ name }) => name)]);
  const findings: Finding[] = [];
  for (const source of sources) {
    const manifest = nearestFirst.find(({ folder }) => folder === "" || source.path.startsWith(`${folder}/`));
    if (manifest === undefined) continue;
    for (const { name, offset } of importedPackages(source)) {
      imported.get(manifest)!.add(name);
      if (name === manifest.name || manifest.dependencies.includes(name)) continue;
      if (manifest === root ? workspace.has(name) : source.isTest && root?.dependencies.includes(name))
        continue;
      findings.push({
        path: source.path,
        line: source.lineAt(offset),
        text: `imports ${name}, which ${fileOf(manifest)} does not name`,
      });
    }
  }
  for (const manifest of manifests) {
    if (manifest.folder === "") continue;
    for (const name of manifest.dependencies)
      if (!imported.get(manifest)!.has(name.replace(/^@types\//, "")))
        findings.push({ path: fileOf(manifest), text: `names ${name}, which no file below it imports` });
  }
  return findings;
}

const fileOf = ({ folder }: Manifest): string => (folder === "" ? "package.json" : `${folder}/package.json`);

function importedPackages(source: Source): { readonly name: string; readonly offset: number }[] {
  const { staticImports, staticExports } = source.module;
  const specifiers = [
    ...staticImports.map(({ moduleRequest }) => moduleRequest),
    ...staticExports.flatMap(({ entries }) => entries.flatMap(({ moduleRequest }) => moduleRequest ?? [])),
    ...dynamicImports(source),
  ];
  return specifiers
    .filter(({ value }) => !/^(?:\.|node:|data:)/.test(value))
    .map(({ value, start }) => ({
      name: value
        .split("/")
        .slice(0, value.startsWith("@") ? 2 : 1)
        .join("/"),
      offset: start,
    }));
}
