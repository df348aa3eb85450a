import { dirname, join } from "node:path/posix";
import { dynamicImports, type Finding, type Source } from "./source.ts";

interface Exported {
  readonly line: number;
  /** A type or class that another export of the file mentions: it is part of that one's signature. */
  readonly isNamed: boolean;
  /** For an export from elsewhere: that file, and the name there; no name for all of it. */
  readonly from?: { readonly path: string; readonly name: string | undefined };
}

interface Exports {
  readonly byName: Map<string, Exported>;
  /** Files of `export * from`. */
  readonly stars: string[];
}

/**
 * An export that no other file imports, and that no entry point of a package offers, is either dead or
 * private. `entryPoints` are paths of sources.
 */
export function deadExports(sources: readonly Source[], entryPoints: ReadonlySet<string>): Finding[] {
  const exportsOf = new Map(sources.map((source) => [source.path, readExports(source)]));
  const used = new Map<string, Set<string>>(sources.map(({ path }) => [path, new Set()]));
  const use = (path: string, name: string): boolean => {
    const exports = exportsOf.get(path);
    if (exports === undefined) return false;
    const exported = exports.byName.get(name);
    if (exported === undefined) return exports.stars.map((star) => use(star, name)).includes(true);
    if (used.get(path)!.has(name)) return true;
    used.get(path)!.add(name);
    if (exported.from !== undefined) {
      if (exported.from.name === undefined) useAll(exported.from.path);
      else use(exported.from.path, exported.from.name);
    }
    return true;
  };
  const useAll = (path: string): void => {
    const exports = exportsOf.get(path);
    if (exports === undefined) return;
    for (const name of exports.byName.keys()) use(path, name);
    for (const star of exports.stars) useAll(star);
  };
  for (const path of entryPoints) useAll(path);
  for (const source of sources) {
    for (const { moduleRequest, entries } of source.module.staticImports) {
      const target = resolve(source, moduleRequest.value);
      for (const { importName } of entries) {
        if (importName.kind === "NamespaceObject") useAll(target);
        else use(target, importName.name ?? "default");
      }
    }
    // Of a dynamic import and of `import("...")` in a type, every name counts as used.
    for (const { value } of dynamicImports(source)) useAll(resolve(source, value));
  }
  return sources.flatMap(({ path, isGenerated }) =>
    isGenerated
      ? []
      : [...exportsOf.get(path)!.byName]
          .filter(([name, { isNamed }]) => !isNamed && !used.get(path)!.has(name))
          .map(([name, { line }]) => ({
            path,
            line,
            text: `no other file imports ${name}: remove it, or its export`,
          })),
  );
}

function readExports(source: Source): Exports {
  const exports: Exports = { byName: new Map(), stars: [] };
  const statements = source.module.staticExports.map(({ start, end }) => source.text.slice(start, end));
  for (const [index, { entries }] of source.module.staticExports.entries()) {
    for (const { moduleRequest, importName, exportName, isType, start } of entries) {
      const isNamed =
        (isType || /^[A-Z]/.test(exportName.name ?? "")) &&
        statements.some((text, i) => i !== index && text.match(/[$\w]+/g)!.includes(exportName.name!));
      const line = source.lineAt(exportName.start ?? start);
      const name = exportName.kind === "Default" ? "default" : exportName.name;
      const path = moduleRequest === null ? undefined : resolve(source, moduleRequest.value);
      if (name === null) exports.stars.push(path!);
      else if (path === undefined) exports.byName.set(name, { line, isNamed });
      else {
        const imported = importName.name ?? undefined;
        exports.byName.set(name, { line, isNamed, from: { path, name: imported } });
      }
    }
  }
  return exports;
}

/** Packages are reached by their entry points, all of whose exports are used. */
function resolve({ path }: Source, specifier: string): string {
  return specifier.startsWith(".") ? join(dirname(path), specifier) : specifier;
}
