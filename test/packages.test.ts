/** The packages that npm would publish are complete, contain nothing else, and work without a clone. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { dirname, join, normalize } from "node:path";
import { after, before, describe, test } from "node:test";
import { createContext, runInContext } from "node:vm";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { build } from "esbuild";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { repository } from "./harness.ts";
import { expected, programs } from "./packages/browser-programs.ts";
import { environment, node20, type Place, run } from "./packages/programs.ts";
import { packAll, type Tarball } from "./packages/tarballs.ts";

let folder: string;
let tarballs: Tarball[];
/** All packages, installed where nothing else is; Node 24 and Node 20 there. */
let place: Place;
let oldPlace: Place;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "dray-packages-"));
  tarballs = packAll(join(folder, "tarballs"));
  const user = join(folder, "user");
  const home = join(folder, "home");
  mkdirSync(user);
  mkdirSync(home);
  writeFileSync(join(user, "package.json"), '{ "private": true, "type": "module" }');
  cpSync(join(import.meta.dirname, "packages", "consumer"), user, { recursive: true });
  // npm has its cache and its settings in the real home: only Dray is a newcomer here.
  const env = {
    HOME: home,
    npm_config_cache: process.env["npm_config_cache"] ?? join(homedir(), ".npm"),
    npm_config_userconfig: process.env["npm_config_userconfig"] ?? join(homedir(), ".npmrc"),
    npm_config_update_notifier: "false",
  };
  place = { folder: user, node: process.execPath, env: { ...env, XDG_CACHE_HOME: join(home, "cache") } };
  const { devDependencies } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8"));
  const types = `@types/node@${devDependencies["@types/node"]}`;
  const options = ["--no-audit", "--no-fund", "--loglevel=error", "--prefer-offline"];
  await run(place, "npm", "install", ...options, types, ...tarballs.map(({ file }) => file));
  oldPlace = { ...place, node: await node20(join(folder, "home")) };
});

// Not after all tests: on a busy disk it takes longer than their process is given to end.
after(() => rm(folder, { recursive: true, force: true }));

/** Returns the entry points that can be imported, with the Node version that they need. */
const entryPoints = (): { name: string; node: string; of: string }[] =>
  tarballs.flatMap(({ manifest }) =>
    Object.entries(manifest.exports)
      .filter(([path, target]) => typeof target !== "string" && !path.includes("*"))
      .map(([path]) => ({
        name: `${manifest.name}${path.slice(1)}`,
        node: manifest.engines.node,
        of: manifest.name,
      })),
  );

test("a tarball has the version, license and links of the repository, and its own description", () => {
  const root = JSON.parse(readFileSync(join(repository, "package.json"), "utf8"));
  const versions = new Map(tarballs.map(({ manifest }) => [manifest.name, manifest.version]));
  for (const { manifest, directory, files } of tarballs) {
    const { name } = manifest;
    assert.equal(manifest.version, versions.get("dray"), name);
    assert.deepEqual(manifest.repository, { ...root.repository, directory }, name);
    assert.equal(manifest.homepage, root.homepage.replace("#", `/tree/main/${directory}#`), name);
    assert.equal(manifest.bugs, root.bugs, name);
    assert.equal(manifest.license, "Apache-2.0", name);
    assert.equal(manifest.type, "module", name);
    assert.match(manifest.engines.node, /^>=2[04]$/, name);
    assert.ok(manifest.description.length > 0 && manifest.keywords.includes("kubernetes"), name);
    // Else a bundler would leave the check of Node's version out.
    const effects = manifest.engines.node === ">=24" ? ["./dist/node-version.js"] : false;
    if (!files.some((file) => /^bin\/|^dist\/main\.js$/.test(file)))
      assert.deepEqual(manifest.sideEffects, effects, name);
    for (const file of ["LICENSE", "README.md"]) assert.ok(files.includes(file), `${name} has no ${file}`);
    for (const [dependency, version] of Object.entries(manifest.dependencies ?? {})) {
      assert.match(version, /^\d+\.\d+\.\d+$/, `${name} needs ${dependency} ${version}`);
      if (dependency.startsWith("@dray/"))
        assert.equal(version, versions.get(dependency), `${name}, ${dependency}`);
    }
  }
});

test("a tarball has the files that its exports and its program name", () => {
  for (const { manifest, files } of tarballs) {
    const targets = Object.values(manifest.exports).flatMap((target) =>
      typeof target === "string" ? [target] : Object.values(target),
    );
    for (const target of [...targets, ...Object.values(manifest.bin ?? {})]) {
      const [start = "", end = ""] = normalize(target).split("*");
      const found = files.some((file) => file.startsWith(start) && file.endsWith(end));
      assert.ok(found, `${manifest.name} has no ${target}`);
    }
  }
});

test("a tarball has maps whose sources are there, and no sources but those: no tests, nor what tests need", () => {
  for (const { manifest, folder, files } of tarballs) {
    const sources = new Set<string>();
    for (const map of files.filter((file) => file.endsWith(".map"))) {
      const { sources: own } = JSON.parse(readFileSync(join(folder, map), "utf8")) as {
        sources: string[];
      };
      for (const source of own) sources.add(join(dirname(map), source));
    }
    const found = files.filter((file) => file.startsWith("src/"));
    const hint = `${manifest.name}: "files" of its package.json says what is published of src`;
    assert.deepEqual(found, [...sources].sort(), hint);
    const code = files.filter((file) => file.startsWith("dist/") && file.endsWith(".js"));
    if (manifest.bin === undefined) {
      const made = (file: string) => /\.json\.js$|^dist\/node-version\.js$/.test(file);
      for (const file of code.filter((file) => !made(file)))
        for (const other of [`${file}.map`, file.replace(/\.js$/, ".d.ts")])
          assert.ok(files.includes(other), `${manifest.name} has no ${other}`);
    }
    const strange = files.filter((file) => !/\.(?:m?[jt]s|cjs|map|proto|yaml|md|txt)$|^LICENSE$/.test(file));
    const schemas = ["cost", "explain", "explain-list", "top"].map((name) => `schema/${name}.json`);
    const known = ["package.json", "bin/node-packages.json", ...schemas];
    assert.deepEqual(
      strange.filter((file) => !known.includes(file)),
      [],
      manifest.name,
    );
    assert.deepEqual(
      files.filter((file) => /\.test\.|testdata|fixture/.test(file)),
      [],
      manifest.name,
    );
  }
});

test("a tarball passes publint and arethetypeswrong", async () => {
  for (const { file, manifest } of tarballs) {
    const data = new Uint8Array(readFileSync(file));
    const { messages, pkg } = await publint({
      pack: { tarball: data.buffer },
      level: "suggestion",
      strict: true,
    });
    assert.deepEqual(
      messages.map((message) => formatMessage(message, pkg)),
      [],
      manifest.name,
    );
    const analysis = await checkPackage(createPackageFromTarballData(data));
    if (analysis.types === false) {
      assert.ok(manifest.bin !== undefined, `${manifest.name} has no types`);
      continue;
    }
    // Its profile for packages of modules only: there is no other form for old resolutions to find.
    const problems = analysis.problems.filter(
      (problem) => !("resolutionKind" in problem && /^node10$|^node16-cjs$/.test(problem.resolutionKind)),
    );
    assert.deepEqual(problems, [], manifest.name);
  }
});

describe("a program written against the packages alone", () => {
  const strictest = {
    ...JSON.parse(readFileSync(join(repository, "tsconfig.json"), "utf8")).compilerOptions,
    target: "es2023",
    lib: ["es2023"],
    customConditions: [],
    skipLibCheck: false,
    allowImportingTsExtensions: false,
    noEmit: false,
  };
  const resolutions = [
    { module: "nodenext", moduleResolution: "nodenext" },
    { module: "esnext", moduleResolution: "bundler" },
  ];
  const compile = async (name: string, files: readonly string[], options: object): Promise<void> => {
    const compilerOptions = { ...strictest, ...options, outDir: `out/${name}`, rootDir: "." };
    writeFileSync(join(place.folder, `${name}.json`), JSON.stringify({ compilerOptions, files }));
    await run(place, join(repository, "node_modules", ".bin", "tsc"), "-p", `${name}.json`);
  };

  test("passes the strictest checks of types, however packages are resolved", async () => {
    const all = entryPoints().map(({ name }, index) => `export type * as entry${index} from "${name}";\n`);
    writeFileSync(join(place.folder, "all.ts"), all.join(""));
    const programs = ["driver.ts", "informer.ts", "selector.ts", "allocation.ts", "all.ts"];
    for (const resolution of resolutions) await compile(resolution.moduleResolution, programs, resolution);
    // Code for browsers does not depend on the types of Node, nor on a resolution.
    const browser = { ...resolutions[1], types: [], lib: ["es2023", "dom"] };
    await compile("browser", ["selector.ts", "allocation.ts"], browser);
  });

  test("evaluates a selector and allocates a device on Node 20", async () => {
    for (const { moduleResolution } of resolutions) {
      const out = (name: string) => run(oldPlace, "node", `out/${moduleResolution}/${name}.js`);
      assert.deepEqual(JSON.parse(await out("selector")), { matches: true, cost: 5 });
      assert.deepEqual(JSON.parse(await out("allocation")), { type: "allocated", devices: ["gpu-1"] });
    }
  });

  test("publishes and watches devices on Node 20 against a cluster of `dray up`", async () => {
    const data = join(folder, "data");
    const kubeconfig = join(data, "kubeconfig");
    const children: ChildProcess[] = [];
    await run(place, "npx", "dray", "up", "--detach", "--nodes", "1", "--data-dir", data);
    try {
      const here: Place = { ...oldPlace, env: { ...oldPlace.env, KUBECONFIG: kubeconfig } };
      const kubelet = join(folder, "kubelet");
      const driver = spawn("node", ["out/nodenext/driver.js", kubelet, "worker-1"], {
        cwd: place.folder,
        env: environment(here),
        stdio: ["pipe", "ignore", "pipe"],
      });
      children.push(driver);
      let said = "";
      driver.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
      const devices = await Promise.race([
        run(here, "node", "out/nodenext/informer.js"),
        once(driver, "exit").then(() => Promise.reject(new Error(`the driver has ended:\n${said}`))),
      ]);
      assert.deepEqual(JSON.parse(devices), ["lamp-0", "lamp-1"]);
      assert.ok(existsSync(join(kubelet, "plugins", "lamp.example.com", "dra.sock")), said);
      const exit = once(driver, "exit");
      driver.stdin.end();
      assert.deepEqual(await exit, [0, null], said);
    } finally {
      for (const child of children) child.kill("SIGKILL");
      await run(place, "npx", "dray", "down", "--data-dir", data, "--delete-data");
    }
  });
});

describe("in a browser", () => {
  for (const name of ["cel", "allocator"] as const) {
    test(`@dray/${name} runs, and its bundle asks for nothing of Node`, async () => {
      const { outputFiles } = await build({
        stdin: { contents: programs[name], resolveDir: place.folder },
        bundle: true,
        write: false,
        platform: "browser",
        format: "iife",
        logLevel: "silent",
      });
      const context = createContext({ TextEncoder, TextDecoder, URL });
      runInContext(outputFiles[0]!.text, context);
      const answer = JSON.parse(runInContext("JSON.stringify(answer)", context) as string) as unknown;
      assert.deepEqual(answer, expected[name]);
    });
  }
});

describe("on Node 20", () => {
  test("every entry point of a library loads without output, or names the Node that it needs", async () => {
    const names = entryPoints().filter(({ name }) => !name.endsWith("/main"));
    assert.ok(names.length > 20);
    // One process for each package: it takes longer to start than to load one.
    const script = `process.on("warning", (warning) => { throw warning; });
    const load = (name) => import(name).then(() => "loaded", (error) => error.message);
    process.stdout.write(JSON.stringify(await Promise.all(process.argv.slice(1).map(load))));`;
    for (const [of, entries] of Map.groupBy(names, ({ of }) => of)) {
      const args = ["--input-type=module", "--eval", script, "--", ...entries.map(({ name }) => name)];
      const said = JSON.parse(await run(oldPlace, "node", ...args)) as string[];
      for (const [index, { name, node }] of entries.entries())
        if (node === ">=20") assert.equal(said[index], "loaded", name);
        else
          assert.match(
            said[index] ?? "",
            new RegExp(`^${of} needs Node 24 or later, and this is Node 20\\.`),
            name,
          );
    }
  });

  test("`npx dray` fetches a newer Node once, as the lockfile of this repository has it", async () => {
    const wanted = JSON.parse(readFileSync(join(repository, "package-lock.json"), "utf8")).packages;
    const pins = readFileSync(join(repository, "packages/dray/bin/node-packages.json"), "utf8");
    const pinned = JSON.parse(pins) as Record<string, { name: string; version: string }>;
    assert.deepEqual(
      Object.values(pinned),
      Object.entries(wanted["runtime"].optionalDependencies).map(([name]) => {
        const { version, integrity, bin } = wanted[`node_modules/${name}`];
        return { name, version, file: bin.node, integrity };
      }),
    );
    const cache = join(folder, "home", "cache", "dray");
    const facts = JSON.parse(await run(oldPlace, "npx", "dray", "version", "-o", "json"));
    const platform = `${process.platform}-${process.arch}`;
    assert.equal(facts.node, pinned[platform]?.version);
    const fetched = readdirSync(cache).filter((name) => name.startsWith("node-"));
    assert.deepEqual(fetched, [`node-${pinned[platform]?.version}-${platform}`]);
    assert.deepEqual(readdirSync(join(cache, fetched[0]!)), ["node"]);
    assert.deepEqual(
      readdirSync(cache).filter((name) => name.startsWith(".")),
      [],
    );
    // Now without npm, and without a word.
    const bin = join(place.folder, "node_modules", "dray", "bin", "dray.js");
    const offline = { ...oldPlace, env: { ...oldPlace.env, PATH: "/nowhere" } };
    assert.match(await run(offline, oldPlace.node, bin, "--version"), /^dray \d/);
  });
});

describe("npx dray", () => {
  test("brings one package, without dependencies, and on Node 24 fetches nothing", async () => {
    const { manifest } = tarballs.find(({ manifest }) => manifest.bin !== undefined)!;
    assert.equal(manifest.dependencies, undefined);
    const cache = join(folder, "none");
    const fresh = { ...place, env: { ...place.env, XDG_CACHE_HOME: cache } };
    assert.equal(await run(fresh, "npx", "dray", "--version"), `dray ${manifest.version}\n`);
    assert.deepEqual(readdirSync(join(cache, "dray")), ["compile-cache"]);
  });

  test("runs the demo, and leaves nothing behind", async () => {
    const output = await run(place, "npx", "dray", "demo");
    assert.match(output, /some-gpu +allocated,reserved/);
    assert.match(output, /That was the tutorial in/);
    assert.doesNotMatch(output, /Warning/);
  });
});
