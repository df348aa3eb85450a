// `npm run build`: makes `dist` of every package: JavaScript, declarations and maps of what its entry points
// reach, or the bundle of a program. A package of which nothing has changed is left as it is. Runs on Node >=
// 20.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle, prune } from "./bundle.js";
import { repository } from "./node24.js";
import { entryPoints, filesIn, packages } from "./packages.js";
import { setup } from "./setup.js";

/** Digests of what the packages were built of. They are lost with node_modules, as are the tools. */
const cache = join(repository, "node_modules", ".cache", "dray-build");

/** Packages that browsers run, too: they are compiled without Node's types. */
const forBrowsers = new Set(["@dray/cel", "@dray/allocator"]);

/** The file in `dist` that every entry point of a package for Node 24 imports first. */
const nodeCheck = "node-version.js";

const runsOnNode20 = ({ engines }) => engines.node === ">=20";

/** Builds the packages with these names, which must include every package that one of them depends on. */
export async function build(names) {
  const digests = new Map();
  for (const each of packages().filter(({ manifest }) => names.includes(manifest.name))) {
    const { folder, manifest, dependencies } = each;
    const digest = digestOf(
      each,
      dependencies.map((name) => digests.get(name)),
    );
    digests.set(manifest.name, digest);
    copyLicense(folder);
    if (manifest.bin !== undefined) await buildProgram(folder);
    if (entryPoints(each).length > 0) buildLibrary(each, digest);
  }
}

/** Writes only a change, so that a user who can only read the repository can pack what has been built. */
function copyLicense(folder) {
  const [license, copy] = [repository, folder].map((one) => join(one, "LICENSE"));
  if (!existsSync(copy) || !readFileSync(copy).equals(readFileSync(license))) cpSync(license, copy);
}

/** A digest of all that a build follows from. */
function digestOf({ folder }, ofDependencies) {
  const hash = createHash("sha256");
  const source = join(folder, "src");
  const files = [
    ...(existsSync(source) ? filesIn(source).filter((file) => !file.endsWith(".test.ts")) : []),
    join(folder, "package.json"),
    join(repository, "package-lock.json"),
    join(repository, "tsconfig.json"),
    fileURLToPath(import.meta.url),
  ];
  for (const file of files) hash.update(`${file}\n`).update(readFileSync(file));
  for (const other of ofDependencies) hash.update(other);
  return hash.digest("hex");
}

async function buildProgram(folder) {
  const dist = join(folder, "dist");
  await bundle(repository, join(folder, "src", "main.ts"), dist);
  prune(dist);
  const examples = join(folder, "examples");
  rmSync(examples, { recursive: true, force: true });
  // Examples of tests are to be read in the repository: a package has no tests.
  const tests = join(repository, "examples", "tests");
  cpSync(join(repository, "examples"), examples, { recursive: true, filter: (path) => path !== tests });
}

function buildLibrary(each, digest) {
  const { folder, manifest } = each;
  const dist = join(folder, "dist");
  const record = join(cache, `${manifest.name.replace("/", "-")}.digest`);
  if (existsSync(dist) && existsSync(record) && readFileSync(record, "utf8") === digest) return;
  process.stderr.write(`building ${manifest.name}\n`);
  rmSync(record, { force: true });
  rmSync(dist, { recursive: true, force: true });
  compile(each, dist);
  for (const file of filesIn(dist)) {
    if (file.endsWith(".json")) dataAsModule(file);
    if (file.endsWith(".js")) importDataModules(file);
  }
  if (!runsOnNode20(manifest)) checkNodeFirst(each, dist);
  writeFileSync(record, digest);
}

/** Runs tsc on the entry points: it writes what they reach, and nothing else. */
function compile(each, dist) {
  const { folder, manifest } = each;
  const old = runsOnNode20(manifest);
  const types = forBrowsers.has(manifest.name)
    ? { types: [], lib: ["es2023", "es2024.string", "dom"] }
    : old
      ? { types: ["node"], typeRoots: [typesOfNode20()], lib: ["es2023", "es2024.string"] }
      : {};
  const config = {
    extends: join(repository, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      rootDir: join(folder, "src"),
      outDir: dist,
      declaration: true,
      declarationMap: true,
      sourceMap: true,
      rewriteRelativeImportExtensions: true,
      allowImportingTsExtensions: false,
      // Other packages are what their `dist` says, as for those who install them.
      customConditions: [],
      ...(old ? { target: "es2023" } : {}),
      ...types,
    },
    include: [],
    files: entryPoints(each),
  };
  const file = join(cache, `tsconfig.${process.pid}.json`);
  mkdirSync(cache, { recursive: true });
  writeFileSync(file, JSON.stringify(config, undefined, 2));
  const tsc = join(repository, "node_modules", ".bin", "tsc");
  const { status } = spawnSync(tsc, ["-p", file], { cwd: repository, stdio: ["ignore", 2, 2] });
  rmSync(file);
  if (status !== 0) {
    process.stderr.write(`${relative(repository, folder)}: cannot be built; the lines above say why\n`);
    process.exit(1);
  }
}

/** A folder in which the types of Node are those of Node 20. */
function typesOfNode20() {
  const folder = join(cache, "types-of-node-20");
  const link = join(folder, "node");
  mkdirSync(folder, { recursive: true });
  if (!existsSync(link)) {
    rmSync(link, { force: true });
    symlinkSync(join(repository, "node_modules", "types-node-20"), link, "junction");
  }
  return folder;
}

/** Node 20 warns about each import of JSON, and not every bundler knows it: data becomes a module. */
function dataAsModule(file) {
  const text = JSON.stringify(JSON.stringify(JSON.parse(readFileSync(file, "utf8"))));
  writeFileSync(`${file}.js`, `export default JSON.parse(${text});\n`);
  rmSync(file);
}

function importDataModules(file) {
  const before = readFileSync(file, "utf8");
  const after = before.replaceAll(/ from "(\.[^"]*\.json)" with \{ type: "json" \}/g, ' from "$1.js"');
  if (after !== before) writeFileSync(file, after);
}

/**
 * Has every entry point say at once that it needs a newer Node, before anything in it fails for the lack of
 * it.
 */
function checkNodeFirst(each, dist) {
  const { name } = each.manifest;
  writeFileSync(
    join(dist, nodeCheck),
    `if (Number(process.versions.node.split(".")[0]) < 24) {
  throw new Error(
    \`${name} needs Node 24 or later, and this is Node \${process.versions.node} (\${process.execPath}): install Node 24 and run again\`,
  );
}
export {};
`,
  );
  for (const source of entryPoints(each)) {
    const file = join(dist, relative(join(each.folder, "src"), source)).replace(/\.ts$/, ".js");
    const path = relative(dirname(file), join(dist, nodeCheck)).replaceAll("\\", "/");
    const specifier = path.startsWith(".") ? path : `./${path}`;
    // On the first line, so that the map stays right.
    writeFileSync(file, `import "${specifier}"; ${readFileSync(file, "utf8")}`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  setup();
  await build(packages().map(({ manifest }) => manifest.name));
}
