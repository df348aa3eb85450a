// The rules of the house for which there is no linter, over all sources of the repository. Where a rule does
// not hold, allowances.json says why.
import { globSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { type Allowance, judge } from "./allowances.ts";
import { ambientState } from "./ambient-state.ts";
import { assertions } from "./assertions.ts";
import { casts } from "./casts.ts";
import { deadExports } from "./dead-exports.ts";
import { dependencies, type Manifest } from "./dependencies.ts";
import { language } from "./language.ts";
import { lengths } from "./lengths.ts";
import { parsedJson } from "./parsed-json.ts";
import { podClaims } from "./pod-claims.ts";
import { type Finding, readSources } from "./source.ts";
import { texts } from "./texts.ts";

const repository = join(import.meta.dirname, "..", "..");

interface PackageJson {
  readonly name: string;
  readonly dependencies?: object;
  readonly devDependencies?: object;
  readonly exports?: Readonly<Record<string, string | { readonly "dray-source"?: string }>>;
}

const manifests = globSync(["package.json", "*/package.json", "{packages,drivers}/*/package.json"], {
  cwd: repository,
}).map((path) => {
  const manifest = JSON.parse(readFileSync(join(repository, path), "utf8")) as PackageJson;
  return { folder: relative(repository, join(repository, path, "..")), ...manifest };
});

const sources = readSources(repository);

function entryPoints(): Set<string> {
  const patterns = manifests.flatMap(({ folder, exports = {} }) =>
    Object.values(exports).flatMap((target) => {
      const source = typeof target === "string" ? undefined : target["dray-source"];
      return source === undefined ? [] : [join(folder, source)];
    }),
  );
  return new Set(patterns.flatMap((pattern) => globSync(pattern, { cwd: repository })));
}

const named = manifests.map(
  ({ folder, name, dependencies, devDependencies }): Manifest => ({
    folder,
    name,
    dependencies: Object.keys({ ...dependencies, ...devDependencies }),
  }),
);
const handWritten = sources.filter(({ isGenerated }) => !isGenerated);
const rules: Readonly<Record<string, () => Finding[]>> = {
  "ambient state": () => ambientState(sources),
  "dead exports": () => deadExports(sources, entryPoints()),
  assertions: () => assertions(handWritten),
  casts: () => casts(handWritten),
  "parsed JSON": () => parsedJson(handWritten),
  dependencies: () => dependencies(sources, named),
  lengths: () => lengths(handWritten),
  language: () => language(handWritten),
  "pod claims": () => podClaims(handWritten),
  texts: () => texts(handWritten),
};
const allowances = JSON.parse(readFileSync(join(import.meta.dirname, "allowances.json"), "utf8")) as Readonly<
  Record<string, readonly Allowance[]>
>;

let failed = false;
for (const [rule, find] of Object.entries(rules)) {
  const problems = judge(rule, find(), allowances[rule] ?? []);
  for (const problem of problems) console.error(`${rule}: ${problem}`);
  failed ||= problems.length > 0;
}
process.exit(failed ? 1 : 0);
